//! Newline-delimited JSON.

use super::lines::Lines;
use super::{DecodeError, DecodeLimits, Ended};

/// Reads lines of JSON in chunks of any size. Blank lines are read over.
#[derive(Debug)]
pub struct NdjsonDecoder {
    lines: Lines,
    failed: Option<DecodeError>,
}

impl NdjsonDecoder {
    /// A decoder at the start of a stream. A line is an event: the smaller limit counts.
    pub fn new(limits: DecodeLimits) -> Self {
        Self {
            lines: Lines::new(limits.max_line.min(limits.max_event)),
            failed: None,
        }
    }

    /// Takes the next bytes and hands out the lines that end in them.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&str)) -> Result<(), DecodeError> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        let done = self.lines.push(chunk, |line| {
            if !line.bytes.trim_ascii().is_empty() {
                each(line.text()?);
            }
            Ok(())
        });
        self.failed = done.err();
        done
    }

    /// Ends the stream. A last line without an end is handed out: whether it
    /// is whole, its JSON says.
    pub fn finish(&mut self, mut each: impl FnMut(&str)) -> Result<Ended, DecodeError> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        let mut ended = Ended::Whole;
        let done = self.lines.finish(|line| {
            if !line.bytes.trim_ascii().is_empty() {
                ended = Ended::Cut;
                each(line.text()?);
            }
            Ok(())
        });
        self.failed = done.err();
        done.map(|()| ended)
    }
}
