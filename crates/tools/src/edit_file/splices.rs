//! A text that is edited piece by piece and still knows which piece was which.

use std::ops::Range;

use crate::change::Region;

/// Bytes of the old text, and those of the new text that stand there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    old: Range<usize>,
    new: Range<usize>,
}

/// A text on its way from an old form to a new one.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    /// Sorted and apart from each other.
    splices: Vec<Splice>,
    /// What differs in lines, where that is known and the splices are those of another text.
    lines: Option<Vec<Region>>,
}

impl Edited {
    pub(super) fn of(text: String) -> Self {
        Self {
            text,
            splices: Vec::new(),
            lines: None,
        }
    }

    /// The same with other text in the same lines, of which these differ.
    pub(super) fn becomes(self, text: String, regions: Vec<Region>) -> Self {
        Self {
            text,
            lines: Some(regions),
            ..self
        }
    }

    /// Puts other text in the place of these bytes.
    pub(super) fn replace(&mut self, range: Range<usize>, with: &str) {
        self.text.replace_range(range.clone(), with);
        let touches =
            |splice: &Splice| splice.new.end >= range.start && splice.new.start <= range.end;
        let first = self
            .splices
            .partition_point(|splice| splice.new.end < range.start);
        let count = self
            .splices
            .iter()
            .skip(first)
            .take_while(|splice| touches(splice))
            .count();
        let mut merged = Splice {
            old: self.before(range.start, first)..self.before(range.end, first + count),
            new: range.clone(),
        };
        for splice in self.splices.drain(first..first + count) {
            merged.old.start = merged.old.start.min(splice.old.start);
            merged.old.end = merged.old.end.max(splice.old.end);
            merged.new.start = merged.new.start.min(splice.new.start);
            merged.new.end = merged.new.end.max(splice.new.end);
        }
        let shifted = |at: usize| at - range.len() + with.len();
        merged.new.end = shifted(merged.new.end);
        for splice in self.splices.iter_mut().skip(first) {
            splice.new = shifted(splice.new.start)..shifted(splice.new.end);
        }
        self.splices.insert(first, merged);
    }

    /// Puts the same text in each of these places, which are in order and apart.
    pub(super) fn replace_each(&mut self, ranges: &[Range<usize>], with: &str) {
        if !self.splices.is_empty() || ranges.len() < 2 {
            // From the end on, so that the places before stay where they are.
            for range in ranges.iter().rev() {
                self.replace(range.clone(), with);
            }
            return;
        }
        // In one pass: each of many replacements would move all of the text behind it.
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for range in ranges {
            text.push_str(self.text.get(at..range.start).unwrap_or_default());
            let start = text.len();
            text.push_str(with);
            match self.splices.last_mut() {
                Some(last) if last.old.end == range.start => {
                    last.old.end = range.end;
                    last.new.end = text.len();
                }
                _ => self.splices.push(Splice {
                    old: range.clone(),
                    new: start..text.len(),
                }),
            }
            at = range.end;
        }
        text.push_str(self.text.get(at..).unwrap_or_default());
        self.text = text;
    }

    /// Where bytes after the first `splices` splices stood in the old text.
    fn before(&self, at: usize, splices: usize) -> usize {
        match splices
            .checked_sub(1)
            .and_then(|last| self.splices.get(last))
        {
            // Inside a splice: it is clamped by the merge.
            Some(last) => (at + last.old.end).saturating_sub(last.new.end),
            None => at,
        }
    }

    /// Where a byte stood in the old text; for new text, where it was put in.
    pub(super) fn origin(&self, at: usize) -> usize {
        let after = self
            .splices
            .partition_point(|splice| splice.new.start <= at);
        match after.checked_sub(1).and_then(|last| self.splices.get(last)) {
            Some(splice) if at < splice.new.end => splice.old.start,
            Some(splice) => at - splice.new.end + splice.old.end,
            None => at,
        }
    }

    /// What differs from the old text, in whole lines.
    pub(super) fn regions(&self, old: &str) -> Vec<Region> {
        if let Some(lines) = &self.lines {
            return lines.clone();
        }
        let mut whole: Vec<Splice> = Vec::new();
        for splice in &self.splices {
            let start = line_start(old, splice.old.start);
            let tail = line_end(old, splice.old.end) - splice.old.end;
            let (old_end, new_end) = (splice.old.end + tail, splice.new.end + tail);
            match whole.last_mut() {
                Some(last) if start < last.old.end => {
                    last.old.end = old_end;
                    last.new.end = new_end;
                }
                _ => {
                    // Nothing differs in its line before it.
                    let head = splice.old.start - start;
                    whole.push(Splice {
                        old: start..old_end,
                        new: splice.new.start - head..new_end,
                    });
                }
            }
        }
        let (mut olds, mut news) = (Lines::of(old), Lines::of(&self.text));
        let numbered = whole.into_iter().map(|splice| Region {
            old: olds.number(splice.old.start)..olds.number(splice.old.end),
            new: news.number(splice.new.start)..news.number(splice.new.end),
        });
        numbered.collect()
    }
}

/// The byte at which the line of this byte starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)
}

/// The byte after the newline that ends the line in which text up to here ends.
fn line_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', after).map_or(text.len(), |newline| at + newline + 1)
}

/// Counts lines up to places that come in order.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    lines: usize,
}

impl<'t> Lines<'t> {
    const fn of(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            lines: 0,
        }
    }

    /// How many lines start before this byte, which is a start or the end.
    fn number(&mut self, at: usize) -> usize {
        let piece = self.text.as_bytes().get(self.at..at).unwrap_or_default();
        self.lines += memchr::memchr_iter(b'\n', piece).count();
        self.at = self.at.max(at);
        // A last line without a newline is a line too.
        let open = at == self.text.len() && !self.text.is_empty() && !self.text.ends_with('\n');
        self.lines + usize::from(open)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::change::Difference;

    proptest! {
        #![proptest_config(toolgate_testkit::laws(1024))]

        #[test]
        fn a_text_and_its_regions_lead_from_the_old_to_the_new(
            old in "[ab\n]{0,24}",
            edits in prop::collection::vec((0_usize..30, 0_usize..6, "[xy\n]{0,4}"), 0..6),
        ) {
            let mut edited = Edited::of(old.clone());
            let mut plain = old.clone();
            for (start, length, with) in edits {
                let start = start.min(plain.len());
                let end = (start + length).min(plain.len());
                plain.replace_range(start..end, &with);
                edited.replace(start..end, &with);
            }
            prop_assert_eq!(&edited.text, &plain);
            let olds: Vec<&str> = old.split_inclusive('\n').collect();
            let news: Vec<&str> = plain.split_inclusive('\n').collect();
            let (mut made, mut at) = (String::new(), 0);
            let regions = edited.regions(&old);
            for region in &regions {
                made += &olds[at..region.old.start].concat();
                made += &news[region.new.clone()].concat();
                at = region.old.end;
            }
            made += &olds[at..].concat();
            prop_assert_eq!(&made, &plain, "{:?}", regions);
            let whole = Difference::between(&old, &plain);
            let parts = Difference::of(&old, &plain, regions);
            prop_assert!(parts.added() >= whole.added());
        }
    }
}
