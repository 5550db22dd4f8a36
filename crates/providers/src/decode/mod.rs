//! The two framings that wires use, in any chunking and within bounds.
//!
//! ```text
//! chunks ──▶ SseDecoder    ──▶ SseEvent (name, data)   server-sent events
//!        └─▶ NdjsonDecoder ──▶ &str, a line            newline-delimited JSON
//! ```
//!
//! Both take LF, CR LF and a lone CR as line ends, drop one byte order mark at
//! the very start, and hand out what is whole at once. A character that is cut
//! by a chunk is put together again: lines are looked at when they are whole.
//!
//! **What can go wrong** is a [`DecodeError`]: a line or an event that is
//! larger than the limits, or bytes that are not UTF-8. After a fault a decoder
//! stays at that fault; what came before it was handed out. An end in the
//! middle of something is no fault, it is [`Ended::Cut`].
//!
//! The work for a chunk does not depend on what came before it: nothing that
//! was looked at is looked at again.

mod lines;
mod ndjson;
mod sse;

pub use ndjson::NdjsonDecoder;
pub use sse::{SseDecoder, SseEvent};

/// Bounds of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// The most bytes of one line, without its end.
    pub max_line: usize,
    /// The most bytes of one event: its name and its data.
    pub max_event: usize,
}

impl Default for DecodeLimits {
    /// 8 MiB each: the last event of some wires repeats the whole answer.
    fn default() -> Self {
        Self {
            max_line: 8 * 1024 * 1024,
            max_event: 8 * 1024 * 1024,
        }
    }
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line is longer than allowed.
    #[error("a line of the stream has more than {max} bytes")]
    LineTooLong {
        /// How many it may have.
        max: usize,
    },
    /// An event is longer than allowed.
    #[error("an event of the stream has more than {max} bytes")]
    EventTooLong {
        /// How many it may have.
        max: usize,
    },
    /// Bytes are not UTF-8.
    #[error("line {line} of the stream is not UTF-8")]
    NotUtf8 {
        /// Which line, from 1.
        line: u64,
    },
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// After a whole line or event.
    Whole,
    /// Inside one.
    Cut,
}
