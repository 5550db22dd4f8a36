//! The lines that are returned, and which of them the model then knows.

use toolgate_gate::output::{Limits, bound};
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::OutputLimits;

use crate::lines::{Selection, newlines};
use crate::secrets::Secrets;

/// The longest name an output can get: a longer marker leaves fewer lines.
const LONGEST_HANDLE: &str = "out_18446744073709551615";

/// Selected lines as the model gets them.
pub(super) struct Shown {
    pub(super) content: String,
    /// How many secrets were taken out.
    pub(super) secrets: usize,
    selection: Selection,
    /// The lines in which something was taken out.
    masked: Vec<u64>,
}

impl Shown {
    pub(super) fn new(
        text: &str,
        selection: Selection,
        secrets: &Secrets,
        line_numbers: bool,
    ) -> Self {
        let Selection { start, end, .. } = selection;
        let found = secrets.within(start, end).len();
        let mut shown = Self {
            content: String::new(),
            secrets: found,
            selection,
            masked: Vec::new(),
        };
        let piece = text.get(start..end).unwrap_or_default();
        if found == 0 && !line_numbers {
            shown.content = piece.to_owned();
            return shown;
        }
        let lines = usize::try_from(selection.count()).unwrap_or(usize::MAX);
        let mut at = start;
        for (number, line) in (selection.first..).zip(piece.split('\n').take(lines)) {
            let body = at + line.len();
            // The newline belongs to its line, and a secret can reach over it.
            let next = end.min(body + 1);
            if !secrets.within(at, next).is_empty() {
                shown.masked.push(number);
            }
            if line_numbers {
                shown.content.push_str(&format!("{number:>6}\t"));
            }
            shown.content.push_str(&secrets.masked(text, at, body));
            if body < next {
                shown.content.push('\n');
            }
            at = next;
        }
        shown
    }

    /// The lines the model has seen as they are once the result is cut to its limits.
    pub(super) fn seen(&self, limits: OutputLimits) -> LineRanges {
        let Selection { first, last, .. } = self.selection;
        let mut seen = LineRanges::default();
        let cut = bound(&self.content, cut_to(limits), Some(LONGEST_HANDLE));
        if !cut.truncated {
            seen.add(first, last);
        } else {
            let (head, tail) = self.kept(&cut.text);
            seen.add(first, (first + head).saturating_sub(1));
            seen.add((last + 1).saturating_sub(tail), last);
        }
        for &line in &self.masked {
            seen.remove(line, line);
        }
        seen
    }

    /// How many whole lines the head and the tail of the cut text have.
    fn kept(&self, cut: &str) -> (u64, u64) {
        let (whole, cut) = (self.content.as_bytes(), cut.as_bytes());
        let same = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| {
            pairs.take_while(|(left, right)| left == right).count()
        };
        let head = same(&mut whole.iter().zip(cut));
        let tail = same(&mut whole.iter().rev().zip(cut.iter().rev()));
        let head = self.content.get(..head).map_or(0, newlines);
        let tail = whole.len() - tail;
        let tail = self.content.get(tail..).map_or(0, |tail| {
            // Up to the first newline it may be the end of a line whose start is gone.
            let lines = newlines(tail);
            if tail.ends_with('\n') {
                lines.saturating_sub(1)
            } else {
                lines
            }
        });
        (head, tail)
    }
}

/// The limits a result is cut to on its way out.
const fn cut_to(limits: OutputLimits) -> Limits {
    Limits {
        max_bytes: limits.max_bytes,
        max_lines: limits.max_lines,
        capacity: Some(limits.available_capacity),
    }
}

#[cfg(test)]
mod tests {
    use toolgate_gate::output::BlockLimits;

    use super::*;
    use crate::lines::{LineRange, select};

    #[test]
    fn what_was_cut_out_was_not_seen() {
        let text: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
        let range = LineRange {
            first: 1,
            last: None,
        };
        let selection = select(&text, range).unwrap();
        let shown = Shown::new(&text, selection, &Secrets::default(), false);
        let limits = OutputLimits {
            max_lines: None,
            max_bytes: 1000,
            available_capacity: 4000,
            blocks: BlockLimits::default(),
        };
        let seen = shown.seen(limits);
        let [(1, head), (tail, 1000)] = *seen.as_slice() else {
            panic!("{seen:?}")
        };
        let cut = bound(&text, Limits::bytes(1000), Some("out_1")).text;
        assert!(cut.contains(&format!("line {head}\n")) && cut.contains(&format!("line {tail}\n")));
        assert!(head > 40 && tail < 960 && head < tail);
        let whole = OutputLimits {
            max_lines: None,
            max_bytes: 100_000,
            available_capacity: 100_000,
            blocks: BlockLimits::default(),
        };
        assert_eq!(shown.seen(whole).as_slice(), [(1, 1000)]);
        let lines = OutputLimits {
            max_lines: Some(100),
            ..whole
        };
        let seen = shown.seen(lines);
        assert!(seen.covers(1, 10) && seen.covers(990, 1000) && !seen.covers(1, 500));
    }
}
