//! How a rule looks at the text after its place.

/// A rule cannot decide before more of the text has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NeedMore;

/// What a rule sees: the character in front of its place, and the text from it on,
/// at most as much as a stream keeps back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    /// The character in front of the place.
    pub(super) before: Option<char>,
    text: &'t str,
    at: usize,
    more: bool,
}

impl<'t> Cursor<'t> {
    /// `more`: the text goes on behind what is seen, and that has not arrived.
    pub(super) fn new(before: Option<char>, text: &'t str, more: bool) -> Self {
        Self {
            before,
            text,
            at: 0,
            more,
        }
    }

    /// How many bytes the rule has gone past.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next character; `None` at the end.
    pub(super) fn peek(&self) -> Result<Option<char>, NeedMore> {
        match self.rest().chars().next() {
            None if self.more => Err(NeedMore),
            next => Ok(next),
        }
    }

    /// Goes past `literal` if it comes next.
    pub(super) fn eat(&mut self, literal: &str) -> Result<bool, NeedMore> {
        let rest = self.rest();
        if rest.starts_with(literal) {
            self.at += literal.len();
            return Ok(true);
        }
        if self.more && literal.starts_with(rest) {
            Err(NeedMore)
        } else {
            Ok(false)
        }
    }

    /// Goes past the characters that fit, at most `max` of them, and returns them.
    pub(super) fn run(
        &mut self,
        max: usize,
        mut fits: impl FnMut(char) -> bool,
    ) -> Result<&'t str, NeedMore> {
        let start = self.at;
        for _ in 0..max {
            match self.peek()? {
                Some(c) if fits(c) => self.at += c.len_utf8(),
                _ => break,
            }
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }
}
