//! Server-sent events, as the HTML standard interprets a stream of them.

use super::lines::{Line, Lines};
use super::{DecodeError, DecodeLimits, Ended};

/// What the buffer of an event may keep when it is empty again.
const KEPT: usize = 64 * 1024;

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// What the `event` field said, or `message`.
    pub name: &'a str,
    /// The `data` fields, joined by newlines.
    pub data: &'a str,
}

/// Reads server-sent events in chunks of any size.
///
/// Comments, `id`, `retry` and unknown fields are read over: no wire here
/// resumes a stream. An event without data is none, as the standard says.
#[derive(Debug)]
pub struct SseDecoder {
    lines: Lines,
    event: Gathered,
    failed: Option<DecodeError>,
}

/// The fields of the event whose blank line has not come yet.
#[derive(Debug)]
struct Gathered {
    max: usize,
    name: String,
    data: String,
    has_data: bool,
}

impl SseDecoder {
    /// A decoder at the start of a stream.
    pub const fn new(limits: DecodeLimits) -> Self {
        Self {
            lines: Lines::new(limits.max_line),
            event: Gathered {
                max: limits.max_event,
                name: String::new(),
                data: String::new(),
                has_data: false,
            },
            failed: None,
        }
    }

    /// Takes the next bytes and hands out the events that are whole with them.
    ///
    /// ```
    /// use toolgate_providers::decode::SseDecoder;
    ///
    /// let mut decoder = SseDecoder::new(Default::default());
    /// let mut seen = Vec::new();
    /// for chunk in ["event: gre", "eting\nda", "ta: hello\n", "\n"] {
    ///     decoder.push(chunk.as_bytes(), |event| seen.push(format!("{} {}", event.name, event.data)))?;
    /// }
    /// assert_eq!(seen, ["greeting hello"]);
    /// # Ok::<(), toolgate_providers::decode::DecodeError>(())
    /// ```
    pub fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(SseEvent<'_>),
    ) -> Result<(), DecodeError> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        let event = &mut self.event;
        let done = self.lines.push(chunk, |line| event.take(&line, &mut each));
        self.failed = done.err();
        done
    }

    /// Ends the stream. An event whose blank line never came is not handed out.
    pub const fn finish(&self) -> Ended {
        if self.lines.inside() || self.event.has_data || !self.event.name.is_empty() {
            Ended::Cut
        } else {
            Ended::Whole
        }
    }
}

impl Gathered {
    fn take(
        &mut self,
        line: &Line<'_>,
        each: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), DecodeError> {
        if line.bytes.is_empty() {
            self.dispatch(each);
            return Ok(());
        }
        let colon = memchr::memchr(b':', line.bytes);
        let field = colon.and_then(|at| line.bytes.get(..at));
        match field.unwrap_or(line.bytes) {
            b"data" => {
                let value = value(line, colon)?;
                let newline = usize::from(self.has_data);
                self.fits(self.name.len(), self.data.len() + newline, value)?;
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            b"event" => {
                let value = value(line, colon)?;
                self.fits(self.data.len(), 0, value)?;
                value.clone_into(&mut self.name);
            }
            _ => {}
        }
        Ok(())
    }

    fn fits(&self, one: usize, other: usize, more: &str) -> Result<(), DecodeError> {
        let bytes = one.saturating_add(other).saturating_add(more.len());
        if bytes > self.max {
            return Err(DecodeError::EventTooLong { max: self.max });
        }
        Ok(())
    }

    fn dispatch(&mut self, each: &mut impl FnMut(SseEvent<'_>)) {
        if self.has_data {
            let name = if self.name.is_empty() {
                "message"
            } else {
                &self.name
            };
            each(SseEvent {
                name,
                data: &self.data,
            });
        }
        self.has_data = false;
        self.name.clear();
        self.data.clear();
        self.data.shrink_to(KEPT);
    }
}

/// What stands after the colon, without the one blank that may follow it.
fn value<'a>(line: &'a Line<'_>, colon: Option<usize>) -> Result<&'a str, DecodeError> {
    let Some(at) = colon else { return Ok("") };
    let text = line.text()?;
    let value = text.get(at.saturating_add(1)..).unwrap_or_default();
    Ok(value.strip_prefix(' ').unwrap_or(value))
}
