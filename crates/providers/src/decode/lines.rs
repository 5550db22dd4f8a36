//! Bytes into lines of bounded length.

use super::DecodeError;

/// What a buffer may keep when it is empty again: a huge line is not paid for ever.
const KEPT: usize = 64 * 1024;

/// Holds the part of a line whose end has not come yet.
#[derive(Debug)]
pub(super) struct Lines {
    held: Vec<u8>,
    max: usize,
    /// The last line ended with CR: a LF that follows at once belongs to it.
    after_cr: bool,
    number: u64,
}

/// A whole line: its number from 1, and its bytes without end and byte order mark.
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
}

impl Line<'_> {
    pub(super) fn text(&self) -> Result<&str, DecodeError> {
        std::str::from_utf8(self.bytes).map_err(|_| DecodeError::NotUtf8 { line: self.number })
    }
}

impl Lines {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            held: Vec::new(),
            max,
            after_cr: false,
            number: 0,
        }
    }

    /// Whether a line has begun and not ended.
    pub(super) const fn inside(&self) -> bool {
        !self.held.is_empty()
    }

    /// Hands out the lines that end in this chunk, up to the first that is refused.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(Line<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at_checked(at).unwrap_or((rest, &[]));
            rest = match tail.split_first() {
                Some((b'\r', [])) => {
                    self.after_cr = true;
                    &[]
                }
                Some((b'\r', after)) => after.strip_prefix(b"\n").unwrap_or(after),
                Some((_, after)) => after,
                None => &[],
            };
            self.fits(line)?;
            if self.held.is_empty() {
                each(self.line(line))?;
            } else {
                self.held.extend_from_slice(line);
                self.hand_out(&mut each)?;
            }
        }
        self.fits(rest)?;
        self.held.extend_from_slice(rest);
        Ok(())
    }

    /// Hands out a last line that has no end.
    pub(super) fn finish(
        &mut self,
        mut each: impl FnMut(Line<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.hand_out(&mut each)
    }

    fn fits(&self, more: &[u8]) -> Result<(), DecodeError> {
        if self.held.len().saturating_add(more.len()) > self.max {
            return Err(DecodeError::LineTooLong { max: self.max });
        }
        Ok(())
    }

    fn hand_out(
        &mut self,
        each: &mut impl FnMut(Line<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut held = std::mem::take(&mut self.held);
        let done = each(self.line(&held));
        held.clear();
        held.shrink_to(KEPT);
        self.held = held;
        done
    }

    fn line<'a>(&mut self, bytes: &'a [u8]) -> Line<'a> {
        self.number = self.number.saturating_add(1);
        let marked = if self.number == 1 {
            bytes.strip_prefix(b"\xEF\xBB\xBF")
        } else {
            None
        };
        Line {
            number: self.number,
            bytes: marked.unwrap_or(bytes),
        }
    }
}
