//! Lines of a text, counted from 1.
//!
//! A line ends with its newline; a newline at the very end starts no further line.

use std::num::NonZeroU64;

use toolgate_model::ToolError;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRange {
    /// The first one.
    pub(crate) first: u64,
    /// The last one; nothing means up to the end.
    pub(crate) last: Option<u64>,
}

impl LineRange {
    /// The range that two optional bounds mean, if one is given.
    pub(crate) fn new(
        first: Option<NonZeroU64>,
        last: Option<NonZeroU64>,
    ) -> Result<Option<Self>, ToolError> {
        if first.is_none() && last.is_none() {
            return Ok(None);
        }
        let range = Self {
            first: first.map_or(1, NonZeroU64::get),
            last: last.map(NonZeroU64::get),
        };
        match range.last {
            Some(last) if last < range.first => Err(ToolError::bad_args(format!(
                "start_line {} comes after end_line {last}; swap them",
                range.first
            ))),
            _ => Ok(Some(range)),
        }
    }
}

/// Where the wanted lines stand in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The number of the first line.
    pub(crate) first: u64,
    /// The number of the last line; smaller than the first if there is none.
    pub(crate) last: u64,
    /// The byte at which the first line starts.
    pub(crate) start: usize,
    /// The byte after the last line. The last newline is left out, unless
    /// the range goes past it to the end of the text.
    pub(crate) end: usize,
}

impl Selection {
    /// How many lines they are.
    pub(crate) const fn count(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }
}

/// How many lines a text has.
pub(crate) fn count(text: &str) -> u64 {
    let open = !text.is_empty() && !text.ends_with('\n');
    newlines(text) + u64::from(open)
}

/// A number of lines in words.
pub(crate) fn said(lines: u64) -> String {
    if lines == 1 {
        "1 line".to_owned()
    } else {
        format!("{lines} lines")
    }
}

/// How many newlines a text has: the lines that are certainly whole if it goes on.
pub(crate) fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// Finds lines in a text; `None` if it ends before the first of them.
pub(crate) fn select(text: &str, range: LineRange) -> Option<Selection> {
    let nth = |line: u64| {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        memchr::memchr_iter(b'\n', text.as_bytes()).nth(index)
    };
    let start = match range.first {
        1 => 0,
        first => nth(first - 1)? + 1,
    };
    if start == text.len() && range.first > 1 {
        return None;
    }
    let total = count(text);
    let last = range.last.map_or(total, |last| last.min(total));
    let end = range.last.and_then(nth).unwrap_or(text.len());
    Some(Selection {
        first: range.first,
        last,
        start,
        end,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: u64, last: Option<u64>) -> LineRange {
        LineRange { first, last }
    }

    #[test]
    fn lines_are_counted_as_editors_do() {
        for (text, lines) in [
            ("", 0),
            ("a", 1),
            ("a\n", 1),
            ("a\nb", 2),
            ("\n", 1),
            ("\n\n", 2),
        ] {
            assert_eq!(count(text), lines, "{text:?}");
        }
        assert_eq!((said(0), said(1)), ("0 lines".into(), "1 line".into()));
    }

    #[test]
    fn ranges_end_where_the_text_ends() {
        let text = "a\nb\nc\n";
        for (first, last, expected) in [
            (1, None, Some("a\nb\nc\n")),
            (1, Some(1), Some("a")),
            (2, Some(3), Some("b\nc")),
            (2, Some(99), Some("b\nc\n")),
            (3, None, Some("c\n")),
            (4, None, None),
            (99, Some(100), None),
        ] {
            let found = select(text, range(first, last));
            assert_eq!(
                found.map(|s| text.get(s.start..s.end).unwrap()),
                expected,
                "{first} {last:?}"
            );
        }
        let empty = select("", range(1, Some(3))).unwrap();
        assert_eq!((empty.count(), empty.start, empty.end), (0, 0, 0));
        assert_eq!(select("", range(2, None)), None);
    }

    #[test]
    fn bounds_that_cross_are_refused() {
        let line = |n| NonZeroU64::new(n);
        assert_eq!(LineRange::new(None, None), Ok(None));
        assert_eq!(LineRange::new(line(2), None), Ok(Some(range(2, None))));
        assert_eq!(LineRange::new(None, line(2)), Ok(Some(range(1, Some(2)))));
        assert!(LineRange::new(line(3), line(2)).is_err());
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn selecting_is_slicing_the_list_of_lines(
            lines in prop::collection::vec("[a-c]{0,3}", 1..12), first in 1_usize..14, more in 0_usize..14
        ) {
            let text = lines.join("\n");
            let total = usize::try_from(count(&text)).unwrap();
            let last = first + more;
            let found = select(&text, range(first as u64, Some(last as u64)));
            if first > total.max(1) {
                prop_assert_eq!(found, None);
            } else {
                let found = found.unwrap();
                let expected = lines[first - 1..last.min(lines.len())].join("\n");
                prop_assert_eq!(text.get(found.start..found.end).unwrap(), expected);
                prop_assert_eq!(usize::try_from(found.count()).unwrap(), last.min(total) + 1 - first.min(total + 1));
            }
        }
    }
}
