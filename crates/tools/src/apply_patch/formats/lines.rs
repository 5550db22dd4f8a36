//! The lines of a patch, one after the other, with their numbers.

use std::fmt;

/// Lines that are still to be read.
#[derive(Clone, Debug)]
pub(super) struct Lines<'t> {
    lines: Vec<&'t str>,
    at: usize,
}

impl<'t> Lines<'t> {
    /// Lines without their `\n`; a `\r` stays.
    pub(super) fn of(text: &'t str) -> Self {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let lines = if text.is_empty() {
            Vec::new()
        } else {
            body.split('\n').collect()
        };
        Self { lines, at: 0 }
    }

    /// Takes one `\r` from the end of every line.
    pub(super) fn without_cr(mut self) -> Self {
        for line in &mut self.lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
        self
    }

    /// Whether every line that has an end ends with `\r\n`.
    pub(super) fn all_cr(text: &str) -> bool {
        let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).peekable();
        let before = |at: usize| at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        ends.peek().is_some() && ends.all(|at| before(at) == Some(&b'\r'))
    }

    /// The number of the next line, counted from 1.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    /// The next line, which stays the next.
    pub(super) fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    /// The line after the next.
    pub(super) fn second(&self) -> Option<&'t str> {
        self.lines.get(self.at + 1).copied()
    }

    /// The next line with its number.
    pub(super) fn next(&mut self) -> Option<(usize, &'t str)> {
        let line = self.peek()?;
        self.at += 1;
        Some((self.at, line))
    }

    /// Passes over the next line.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }
}

/// The text of a line, printed so that [`Lines::without_cr`] gives it back.
pub(super) struct Printed<'t>(pub(super) &'t str);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        if self.0.ends_with('\r') {
            f.write_str("\r")?;
        }
        Ok(())
    }
}
