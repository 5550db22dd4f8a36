//! Finding the one place that an edit means.

use std::ops::Range;

use super::splices::{Edited, line_start};
use crate::change::Ending;

/// Why there is no such place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The text is nowhere.
    Nowhere,
    /// It is in several places; the bytes at which they start, some of them.
    Several {
        count: usize,
        starts: Vec<usize>,
        /// Two are equally near to the line that was hinted at.
        tie: bool,
    },
}

/// How the place was told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    /// There is only one.
    Exact,
    /// The hint chose it.
    LineHint,
    /// All of them are meant.
    Everywhere,
}

/// Places of an ambiguous target that are remembered.
const REMEMBERED: usize = 10;

/// Places, and how they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// In order and apart from each other; one, unless all are meant.
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) strategy: Strategy,
    /// The target had other line endings than the file.
    pub(super) other_endings: bool,
}

/// Finds the place. The hint counts lines of the old text, as the model read it.
pub(super) fn find(
    edited: &Edited,
    old: &str,
    target: &str,
    hint: Option<u64>,
    ending: Option<Ending>,
) -> Result<Found, Miss> {
    match place(edited, old, target, hint) {
        Ok((range, strategy)) => Ok(Found {
            ranges: vec![range],
            strategy,
            other_endings: false,
        }),
        Err(Miss::Nowhere) => {
            let other = ending.and_then(|ending| with_ending(target, ending));
            let other = other.ok_or(Miss::Nowhere)?;
            let (range, strategy) = place(edited, old, &other, hint)?;
            Ok(Found {
                ranges: vec![range],
                strategy,
                other_endings: true,
            })
        }
        Err(several) => Err(several),
    }
}

/// Finds every place, from the start on; places that overlap one before are passed over.
pub(super) fn find_all(
    edited: &Edited,
    target: &str,
    ending: Option<Ending>,
) -> Result<Found, Miss> {
    let all = |target: &str| -> Vec<Range<usize>> {
        let starts = memchr::memmem::find_iter(edited.text.as_bytes(), target);
        starts.map(|start| start..start + target.len()).collect()
    };
    let mut ranges = all(target);
    let mut other_endings = false;
    if ranges.is_empty()
        && let Some(other) = ending.and_then(|ending| with_ending(target, ending))
    {
        ranges = all(&other);
        other_endings = true;
    }
    if ranges.is_empty() {
        return Err(Miss::Nowhere);
    }
    Ok(Found {
        ranges,
        strategy: Strategy::Everywhere,
        other_endings,
    })
}

fn place(
    edited: &Edited,
    old: &str,
    target: &str,
    hint: Option<u64>,
) -> Result<(Range<usize>, Strategy), Miss> {
    let finder = memchr::memmem::Finder::new(target);
    let text = edited.text.as_bytes();
    // Overlapping places count as several: which of them is meant is not clear either.
    let mut next = 0;
    let mut starts = std::iter::from_fn(|| {
        let rest = text.get(next..)?;
        let start = next + finder.find(rest)?;
        next = start + 1;
        Some(start)
    });
    let first = starts.next().ok_or(Miss::Nowhere)?;
    let range = |start: usize| start..start + target.len();
    let Some(second) = starts.next() else {
        return Ok((range(first), Strategy::Exact));
    };
    let all = [first, second].into_iter().chain(starts);
    let Some(hint) = hint else {
        let mut remembered = Vec::new();
        let count = all
            .inspect(|start| {
                if remembered.len() < REMEMBERED {
                    remembered.push(*start);
                }
            })
            .count();
        return Err(Miss::Several {
            count,
            starts: remembered,
            tie: false,
        });
    };
    let mut near: Vec<(u64, usize)> = all
        .map(|start| {
            let line = line_number(old, edited.origin(start));
            (line.abs_diff(hint), start)
        })
        .collect();
    near.sort_unstable();
    match near.as_slice() {
        [(least, _), (other, _), ..] if least == other => Err(Miss::Several {
            count: near.len(),
            starts: near
                .iter()
                .take(REMEMBERED)
                .map(|(_, start)| *start)
                .collect(),
            tie: true,
        }),
        [(_, start), ..] => Ok((range(*start), Strategy::LineHint)),
        [] => Err(Miss::Nowhere),
    }
}

/// The number of the line in which a byte stands, counted from 1.
pub(super) fn line_number(text: &str, at: usize) -> u64 {
    let start = line_start(text, at.min(text.len()));
    let before = text.as_bytes().get(..start).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() as u64 + 1
}

/// The one line ending of a text; nothing if it has none, or several.
pub(super) fn one_ending(text: &str) -> Option<Ending> {
    let lf = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let crlf = memchr::memmem::find_iter(text.as_bytes(), "\r\n").count();
    match (lf, crlf) {
        (0, _) => None,
        (_, 0) => Some(Ending::Lf),
        _ if lf == crlf => Some(Ending::CrLf),
        _ => None,
    }
}

/// The same text with this line ending; nothing if it has it already.
pub(super) fn with_ending(text: &str, ending: Ending) -> Option<String> {
    let plain = text.replace("\r\n", "\n");
    let other = match ending {
        Ending::Lf => plain,
        Ending::CrLf => plain.replace('\n', "\r\n"),
    };
    (other != text).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, target: &str, hint: Option<u64>) -> Result<usize, Miss> {
        let edited = Edited::of(text.to_owned());
        let found = find(&edited, text, target, hint, one_ending(text))?;
        Ok(found.ranges[0].start)
    }

    #[test]
    fn one_place_is_found_and_several_are_told() {
        assert_eq!(found("a b c", "b", None), Ok(2));
        assert_eq!(found("a b c", "d", None), Err(Miss::Nowhere));
        for (text, target, count) in [("x\nx\nx\n", "x", 3), ("aaa", "aa", 2)] {
            let Err(Miss::Several { count: all, .. }) = found(text, target, None) else {
                panic!("{text}");
            };
            assert_eq!(all, count);
        }
    }

    #[test]
    fn a_hint_chooses_the_nearest_and_never_guesses() {
        let text = "x\n\nx\n\n\nx\n";
        for (hint, start) in [(1, 0), (3, 3), (4, 3), (5, 7), (6, 7), (99, 7)] {
            assert_eq!(found(text, "x", Some(hint)), Ok(start), "{hint}");
        }
        assert!(matches!(
            found(text, "x", Some(2)),
            Err(Miss::Several { tie: true, .. })
        ));
    }

    #[test]
    fn every_place_is_found_where_all_are_meant() {
        for (text, target, starts) in [
            ("x y x\n", "x", vec![0, 4]),
            ("aaa", "aa", vec![0]),
            ("a\r\nb\r\na\r\nb\r\n", "a\nb\n", vec![0, 6]),
            ("é é", "é", vec![0, 3]),
        ] {
            let found = find_all(&Edited::of(text.to_owned()), target, one_ending(text)).unwrap();
            let found: Vec<usize> = found.ranges.iter().map(|range| range.start).collect();
            assert_eq!(found, starts, "{text:?}");
        }
        let edited = Edited::of("abc".to_owned());
        assert_eq!(find_all(&edited, "d", None), Err(Miss::Nowhere));
    }

    #[test]
    fn line_endings_of_the_file_are_tried_where_the_targets_own_fit_nowhere() {
        assert_eq!(found("a\r\nb\r\nc\r\n", "a\nb", None), Ok(0));
        assert_eq!(found("a\nb\nc\n", "b\r\nc", None), Ok(2));
        assert_eq!(found("a\r\nb\nc\n", "a\nb", None), Err(Miss::Nowhere));
    }
}
