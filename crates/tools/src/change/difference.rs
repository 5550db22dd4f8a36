//! What changes between two texts, as a person is shown it.

use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use toolgate_gate::output::preview_name;
use toolgate_gate::session::LineRanges;

/// Comparing costs lines times changes: beyond this many lines nobody reads the answer anyway.
const MOST_LINES: usize = 10_000;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// Lines of an old text, counted from 0, and those of a new text that stand there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// One place of a difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a, 't> {
    pub(crate) gone: &'a [&'t str],
    pub(crate) new: &'a [&'t str],
    /// Whether nothing that says anything stands between it and the place before.
    pub(crate) touches_last: bool,
}

/// The difference between an old text and a new one, line by line.
#[derive(Debug)]
pub(crate) struct Difference<'t> {
    old: Window<'t>,
    new: Window<'t>,
    changes: Vec<Region>,
}

impl<'t> Difference<'t> {
    /// Compares two texts.
    pub(crate) fn between(old: &'t str, new: &'t str) -> Self {
        let all = 0..usize::MAX;
        let (lines, others) = (Window::of(old, all.clone()), Window::of(new, all));
        let whole = Region {
            old: 0..lines.total,
            new: 0..others.total,
        };
        Self::within(lines, others, vec![whole])
    }

    /// Compares two texts that are known to differ in these regions only.
    pub(crate) fn of(old: &'t str, new: &'t str, regions: Vec<Region>) -> Self {
        let shown = |side: fn(&Region) -> &Range<usize>| {
            let start = regions.first().map_or(0, |region| side(region).start);
            let end = regions.last().map_or(0, |region| side(region).end);
            start.saturating_sub(CONTEXT)..end + CONTEXT
        };
        let lines = Window::of(old, shown(|region| &region.old));
        let others = Window::of(new, shown(|region| &region.new));
        Self::within(lines, others, regions)
    }

    fn within(old: Window<'t>, new: Window<'t>, regions: Vec<Region>) -> Self {
        let mut changes = Vec::new();
        for region in regions {
            refine(&old, &new, region, &mut changes);
        }
        Self { old, new, changes }
    }

    /// How many lines are new.
    pub(crate) fn added(&self) -> usize {
        self.changes.iter().map(|change| change.new.len()).sum()
    }

    /// How many lines are gone.
    pub(crate) fn removed(&self) -> usize {
        self.changes.iter().map(|change| change.old.len()).sum()
    }

    /// Each place that changes: the lines that go, those that come, and whether nothing but
    /// braces and blanks is between it and the place before.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place<'_, 't>> {
        let mut end = None;
        self.changes.iter().map(move |change| {
            let between = end.map(|end: usize| self.new.get(end..change.new.start));
            end = Some(change.new.end);
            let is_thin = |line: &&str| !line.contains(char::is_alphanumeric);
            Place {
                gone: self.old.get(change.old.clone()),
                new: self.new.get(change.new.clone()),
                touches_last: between.is_some_and(|lines| lines.iter().all(is_thin)),
            }
        })
    }

    /// Both in short.
    pub(crate) fn counts(&self) -> String {
        format!("+{} -{}", self.added(), self.removed())
    }

    /// The old lines that are touched, counted from 1, each as first and last.
    ///
    /// What is put between two lines touches whichever of them is known, so it is
    /// returned as the pair; at the start and the end of a text nothing is touched.
    pub(crate) fn touched(&self) -> impl Iterator<Item = Touch> + '_ {
        self.changes.iter().filter_map(|change| {
            let Range { start, end } = change.old;
            if start < end {
                Some(Touch::Lines(start as u64 + 1, end as u64))
            } else if start == 0 || start == self.old.total {
                None
            } else {
                Some(Touch::Between(start as u64, start as u64 + 1))
            }
        })
    }

    /// The lines of the new text that are known to whoever knows these of the old one
    /// and wrote what is new.
    pub(crate) fn known_after(&self, before: &LineRanges) -> LineRanges {
        let mut known = LineRanges::default();
        let end = Region {
            old: self.old.total..self.old.total,
            new: self.new.total..self.new.total,
        };
        let (mut old, mut new) = (0, 0);
        for change in self.changes.iter().chain([&end]) {
            let (first, last) = (old as u64 + 1, change.old.start as u64);
            for &(from, to) in before.as_slice() {
                let (from, to) = (from.max(first), to.min(last));
                if from <= to {
                    known.add(from - first + 1 + new as u64, to - first + 1 + new as u64);
                }
            }
            known.add(change.new.start as u64 + 1, change.new.end as u64);
            (old, new) = (change.old.end, change.new.end);
        }
        known
    }

    /// The difference as a unified diff. A name in it is one line, whatever is in it.
    pub(crate) fn unified(&self, from: &str, to: &str) -> String {
        let (from, to) = (preview_name(from), preview_name(to));
        let mut text = format!("--- {from}\n+++ {to}\n");
        let mut rest = self.changes.as_slice();
        while let Some((first, _)) = rest.split_first() {
            let near = rest.windows(2).take_while(|pair| match pair {
                [left, right] => right.old.start - left.old.end <= 2 * CONTEXT,
                _ => false,
            });
            let (hunk, further) = rest.split_at((near.count() + 1).min(rest.len()));
            let last = hunk.last().unwrap_or(first);
            self.hunk(hunk, first, last, &mut text);
            rest = further;
        }
        text
    }

    fn hunk(&self, changes: &[Region], first: &Region, last: &Region, text: &mut String) {
        let before = CONTEXT.min(first.old.start);
        let after = CONTEXT.min(self.old.total - last.old.end);
        let old = first.old.start - before..last.old.end + after;
        let new = first.new.start - before..last.new.end + after;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "@@ -{} +{} @@", numbers(&old), numbers(&new));
        let mut at = old.start;
        for change in changes {
            lines(text, ' ', &self.old, at..change.old.start);
            lines(text, '-', &self.old, change.old.clone());
            lines(text, '+', &self.new, change.new.clone());
            at = change.old.end;
        }
        lines(text, ' ', &self.old, at..old.end);
    }
}

/// Old lines that a change touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// These are gone or replaced.
    Lines(u64, u64),
    /// Something is put between these two.
    Between(u64, u64),
}

/// Some lines of a text, with their newlines, under the numbers they have in the whole.
#[derive(Debug)]
struct Window<'t> {
    first: usize,
    lines: Vec<&'t str>,
    /// How many lines the whole text has.
    total: usize,
}

impl<'t> Window<'t> {
    fn of(text: &'t str, range: Range<usize>) -> Self {
        let mut lines = Vec::new();
        let (mut at, mut total) = (0, 0);
        let mut line = |end: usize| {
            if range.contains(&total) {
                lines.push(text.get(at..end).unwrap_or_default());
            }
            at = end;
            total += 1;
        };
        for newline in memchr::memchr_iter(b'\n', text.as_bytes()) {
            line(newline + 1);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            line(text.len());
        }
        Self {
            first: range.start,
            lines,
            total,
        }
    }

    fn get(&self, range: Range<usize>) -> &[&'t str] {
        let shifted = |at: usize| at.checked_sub(self.first);
        let range = shifted(range.start).zip(shifted(range.end));
        let lines = range.and_then(|(start, end)| self.lines.get(start..end));
        lines.unwrap_or_default()
    }

    fn line(&self, at: usize) -> Option<&'t str> {
        let at = at.checked_sub(self.first)?;
        self.lines.get(at).copied()
    }
}

/// Leaves out what is the same in a region, and compares what is left of it.
fn refine(old: &Window<'_>, new: &Window<'_>, region: Region, changes: &mut Vec<Region>) {
    let Region {
        old: mut gone,
        new: mut come,
    } = region;
    let same = |left: usize, right: usize| old.line(left) == new.line(right);
    while !gone.is_empty() && !come.is_empty() && same(gone.start, come.start) {
        gone.start += 1;
        come.start += 1;
    }
    while !gone.is_empty() && !come.is_empty() && same(gone.end - 1, come.end - 1) {
        gone.end -= 1;
        come.end -= 1;
    }
    if gone.is_empty() && come.is_empty() {
        return;
    }
    let (left, right) = (old.get(gone.clone()), new.get(come.clone()));
    if gone.is_empty() || come.is_empty() || left.len() + right.len() > MOST_LINES {
        changes.push(Region {
            old: gone,
            new: come,
        });
        return;
    }
    for op in capture_diff_slices(Algorithm::Myers, left, right) {
        if op.tag() != DiffTag::Equal {
            let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
            changes.push(Region {
                old: shift(op.old_range(), gone.start),
                new: shift(op.new_range(), come.start),
            });
        }
    }
}

/// A range of lines in the header of a hunk.
fn numbers(range: &Range<usize>) -> String {
    match range.len() {
        // Of no lines, the one before them is named.
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn lines(text: &mut String, sign: char, all: &Window<'_>, range: Range<usize>) {
    for line in all.get(range) {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::*;

    #[test]
    fn lines_are_counted_and_shown() {
        let difference = Difference::between("a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!((difference.added(), difference.removed()), (2, 1));
        let text = difference.unified("f.txt", "f.txt");
        assert_eq!(
            text,
            "--- f.txt\n+++ f.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n"
        );
    }

    #[test]
    fn what_takes_too_long_is_not_compared_line_by_line() {
        let text = |from: usize| {
            (from..from + MOST_LINES)
                .map(|n| format!("{n}\n"))
                .collect()
        };
        let (old, new): (String, String) = (text(0), text(1_000_000));
        let difference = Difference::between(&old, &new);
        assert_eq!(difference.changes.len(), 1);
        // A long text with a small change is no trouble.
        let longer = format!("{old}{new}");
        let other = longer.replacen("\n5000\n", "\nx\n", 1);
        assert_eq!(Difference::between(&longer, &other).counts(), "+1 -1");
    }

    #[test]
    fn touched_lines_are_those_that_go_and_the_neighbours_of_those_that_come() {
        for (old, new, touched) in [
            ("a\nb\nc\n", "a\nx\nc\n", vec![Touch::Lines(2, 2)]),
            ("a\nb\n", "a\nx\nb\n", vec![Touch::Between(1, 2)]),
            ("a\nb\n", "x\na\nb\n", vec![]),
            ("a\nb\n", "a\nb\nx\n", vec![]),
            ("a\nb", "a\nb\n", vec![Touch::Lines(2, 2)]),
            ("a\n", "", vec![Touch::Lines(1, 1)]),
        ] {
            let difference = Difference::between(old, new);
            assert_eq!(
                difference.touched().collect::<Vec<_>>(),
                touched,
                "{old:?} {new:?}"
            );
        }
    }

    #[test]
    fn lines_stay_known_where_they_move_to() {
        let mut seen = LineRanges::default();
        seen.add(1, 2);
        seen.add(5, 5);
        let difference = Difference::between("1\n2\n3\n4\n5\n6\n", "1\nx\ny\n3\n4\n5\n6\n");
        let known = difference.known_after(&seen);
        assert_eq!(known.as_slice(), [(1, 3), (6, 6)]);
        let known = difference.known_after(&LineRanges::all());
        assert_eq!(known.as_slice(), [(1, 7)]);
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn a_diff_reads_like_everybody_elses(
            old in prop::collection::vec("[a-c]\n", 0..30),
            new in prop::collection::vec("[a-c]\n", 0..30),
            cut in any::<bool>(),
        ) {
            let (mut old, new) = (old.concat(), new.concat());
            if cut {
                old.pop();
            }
            let ours = Difference::between(&old, &new);
            let diff = TextDiff::from_lines(&old, &new);
            let changed = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
            // The same number of lines; which of several equal ones may differ.
            prop_assert_eq!(ours.added(), changed(similar::ChangeTag::Insert));
            prop_assert_eq!(ours.removed(), changed(similar::ChangeTag::Delete));
        }
    }
}
