//! A text as lines that remember where they stood.

use std::ops::Range;

use super::Region;

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Lf,
    CrLf,
}

impl Ending {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// What it says, without its end.
    pub(crate) text: String,
    /// How it ends; on the last line only if the sheet has a final newline.
    pub(crate) ending: Ending,
    /// The line it was in the old text, counted from 0; nothing if it is new.
    origin: Option<usize>,
}

impl Row {
    /// A line that was not there before.
    pub(crate) fn new(text: impl Into<String>, ending: Ending) -> Self {
        Self {
            text: text.into(),
            ending,
            origin: None,
        }
    }
}

/// What is wrong with the line endings of a text that may have one kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEndingError {
    /// Both kinds, with the first line that differs from the one before, counted from 1.
    Mixed(usize),
    /// A carriage return that ends nothing, with its line.
    LoneCr(usize),
}

/// A text on which lines can be exchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub(crate) rows: Vec<Row>,
    /// Whether the last line ends with a newline.
    pub(crate) final_newline: bool,
    /// How its lines ended at first, for when there are none left to tell.
    usual: Ending,
}

impl Sheet {
    /// Takes a text apart. Empty text has no lines.
    pub(crate) fn of(text: &str) -> Self {
        let final_newline = text.ends_with('\n');
        let mut rows: Vec<Row> = Vec::new();
        if !text.is_empty() {
            let body = text.strip_suffix('\n').unwrap_or(text);
            let last = body.matches('\n').count();
            for (at, line) in body.split('\n').enumerate() {
                let ended = at < last || final_newline;
                let (text, ending) = match line.strip_suffix('\r') {
                    Some(text) if ended => (text, Ending::CrLf),
                    _ if ended => (line, Ending::Lf),
                    // It would end like the line above it.
                    _ => (line, rows.last().map_or(Ending::Lf, |above| above.ending)),
                };
                rows.push(Row {
                    text: text.to_owned(),
                    ending,
                    origin: Some(at),
                });
            }
        }
        let usual = rows.first().map_or(Ending::Lf, |first| first.ending);
        Self {
            rows,
            final_newline,
            usual,
        }
    }

    /// A text of new lines, each with its newline.
    pub(crate) fn new<'l>(lines: impl IntoIterator<Item = &'l String>) -> Self {
        let rows = lines.into_iter().map(|line| Row::new(line, Ending::Lf));
        Self {
            rows: rows.collect(),
            final_newline: true,
            usual: Ending::Lf,
        }
    }

    /// The text again.
    pub(crate) fn text(&self) -> String {
        let size = self.rows.iter().map(|row| row.text.len() + 2).sum();
        let mut text = String::with_capacity(size);
        let last = self.rows.len().saturating_sub(1);
        for (at, row) in self.rows.iter().enumerate() {
            text.push_str(&row.text);
            if at < last || self.final_newline {
                text.push_str(row.ending.as_str());
            }
        }
        text
    }

    /// Takes all lines for new ones.
    pub(crate) fn forget_origins(&mut self) {
        for row in &mut self.rows {
            row.origin = None;
        }
    }

    /// The one kind of line ending, or what stands against it.
    pub(crate) fn one_ending(&self) -> Result<Ending, LineEndingError> {
        let last = self.rows.len().saturating_sub(1);
        let mut kind: Option<Ending> = None;
        for (at, row) in self.rows.iter().enumerate() {
            if row.text.contains('\r') {
                return Err(LineEndingError::LoneCr(at + 1));
            }
            if at < last || self.final_newline {
                match kind {
                    Some(kind) if kind != row.ending => return Err(LineEndingError::Mixed(at + 1)),
                    _ => kind = Some(row.ending),
                }
            }
        }
        Ok(kind.unwrap_or(self.usual))
    }

    /// How a line put between these would end: like what it replaces, or like its neighbour.
    pub(crate) fn ending_at(&self, range: &Range<usize>) -> Ending {
        let near = if range.is_empty() {
            range.start.checked_sub(1).unwrap_or(range.start)
        } else {
            range.start
        };
        let row = self.rows.get(near).or_else(|| self.rows.last());
        row.map_or(self.usual, |row| row.ending)
    }

    /// Exchanges lines for others. Those that come back the same are known as such.
    pub(crate) fn splice(&mut self, range: Range<usize>, new: Vec<Row>) {
        let end = range.end.min(self.rows.len());
        let start = range.start.min(end);
        self.rows.splice(start..end, new);
    }

    /// Where these lines stand, from `from` on, under a notion of being the same.
    pub(crate) fn places<'a, T>(
        &'a self,
        wanted: &'a [T],
        from: usize,
        same: impl Fn(&Row, &T) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let last = (self.rows.len() + 1).saturating_sub(wanted.len());
        (from..last).filter(move |&at| {
            let rows = self.rows.iter().skip(at);
            rows.zip(wanted).all(|(row, wanted)| same(row, wanted))
        })
    }

    /// What differs from the old text, in lines.
    pub(crate) fn regions(&self, old_text: &str) -> Vec<Region> {
        let old_lines = usize::try_from(crate::lines::count(old_text)).unwrap_or(usize::MAX);
        let old_final = old_text.ends_with('\n');
        let mut regions = Vec::new();
        let (mut old, mut new) = (0, 0);
        for (at, row) in self.rows.iter().enumerate() {
            let Some(origin) = row.origin else { continue };
            // A line that gains or loses its newline is another line.
            let was_ended = origin + 1 < old_lines || old_final;
            let is_ended = at + 1 < self.rows.len() || self.final_newline;
            if was_ended != is_ended {
                continue;
            }
            if origin > old || at > new {
                regions.push(Region {
                    old: old..origin,
                    new: new..at,
                });
            }
            (old, new) = (origin + 1, at + 1);
        }
        if old < old_lines || new < self.rows.len() {
            regions.push(Region {
                old: old..old_lines,
                new: new..self.rows.len(),
            });
        }
        regions
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_taken_as_the_format_says() {
        for (text, lines, final_newline) in [
            ("", &[][..], false),
            ("a", &["a"], false),
            ("a\n", &["a"], true),
            ("a\nb", &["a", "b"], false),
            ("\n", &[""], true),
            ("\n\n", &["", ""], true),
            ("a\r\nb\r", &["a", "b\r"], false),
        ] {
            let sheet = Sheet::of(text);
            let rows: Vec<&str> = sheet.rows.iter().map(|row| row.text.as_str()).collect();
            assert_eq!(
                (rows.as_slice(), sheet.final_newline),
                (lines, final_newline)
            );
        }
    }

    #[test]
    fn one_kind_of_ending_is_told_from_two() {
        for (text, found) in [
            ("", Ok(Ending::Lf)),
            ("a", Ok(Ending::Lf)),
            ("a\r\nb", Ok(Ending::CrLf)),
            ("a\nb\r\n", Err(LineEndingError::Mixed(2))),
            ("a\r\nb\n", Err(LineEndingError::Mixed(2))),
            ("a\rb\n", Err(LineEndingError::LoneCr(1))),
            ("a\r\nb\r", Err(LineEndingError::LoneCr(2))),
        ] {
            assert_eq!(Sheet::of(text).one_ending(), found, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn taking_apart_and_putting_together_changes_nothing(text in "[a\r\n ]{0,20}") {
            prop_assert_eq!(Sheet::of(&text).text(), text);
        }

        #[test]
        fn regions_tell_what_was_exchanged(
            lines in prop::collection::vec("[a-c]", 0..8),
            splices in prop::collection::vec((0_usize..9, 0_usize..3, 0_usize..3), 0..5),
        ) {

            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut sheet = Sheet::of(&text);
            for (at, less, more) in splices {
                let rows = (0..more).map(|_| Row::new("x", Ending::Lf)).collect();
                let at = at.min(sheet.rows.len());
                sheet.splice(at..at + less, rows);
            }
            // Taking the regions over from the new text gives the new text.
            let new: Vec<&str> = sheet.rows.iter().map(|row| row.text.as_str()).collect();
            let mut made = String::new();
            let mut at = 0;
            for Region { old: gone, new: come } in sheet.regions(&text) {
                made += &lines[at..gone.start].concat();
                made += &new[come].concat();
                at = gone.end;
            }
            made += &lines[at..].concat();
            prop_assert_eq!(made, new.concat());
        }
    }
}
