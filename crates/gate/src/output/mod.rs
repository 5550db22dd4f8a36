//! Text on its way out: to the model, to a terminal, to the user who has to decide.
//!
//! ```text
//!  bytes of a command ─▶ Sanitizer ─▶ RedactStream ─▶ Bounder ─▶ what the model gets
//!                        no control     no secrets      head, marker, tail
//!  words of a question ─▶ Redactor ─▶ approval_text ─▶ one line a person can trust
//!  arguments of a call ─▶ Redactor ─▶ whole_args ─▶ all of them, as lines a person can trust
//!  text of a preview   ─▶ Redactor ─▶ preview_text  ─▶ lines a person can trust
//!  message of an error ─▶ error_text ─▶ what the model gets instead of output
//!  blocks of a result  ─▶ BlockCleaner ─▶ checked, sanitized, redacted, bounded
//!  plans, calls, records ─▶ Redactor::shown_plan and its kin ─▶ events, explanations, exports
//! ```
//!
//! The order matters: a secret with an escape sequence in its middle is only
//! whole again after sanitizing, and half a secret at the place where text was
//! cut would no longer be recognized.
//!
//! Everything here is pure and works on pieces of any size: the same bytes give
//! the same text however they were cut into chunks, in memory that does not grow
//! with the stream. Nothing here can fail on any input; the one thing that can go
//! wrong is building a [`Redactor`] from more secrets than its automaton holds.

mod approval_text;
mod blocks;
mod bound;
mod chars;
mod error_text;
mod preview_text;
mod redact;
mod sanitize;
mod shown;
mod whole;

pub use approval_text::{
    APPROVAL_TEXT_CHARS, approval_sentence, approval_text, whole_line, whole_sentence,
};
pub use blocks::BlockLimits;
pub(crate) use blocks::{BlockCleaner, CleanBlocks};
pub use bound::{Bounded, Bounder, DEFAULT_MAX_BYTES, Limits, UNKNOWN_CAPACITY_BYTES, bound};
pub use error_text::error_text;
pub use preview_text::{preview_name, preview_text};
pub use redact::{
    HOLD_BACK_BYTES, MIN_ENV_VALUE_CHARS, RedactStream, RedactedSpan, Redactor, RedactorError,
    SecretClass,
};
pub use sanitize::{Sanitizer, sanitize};
pub use whole::{whole_args, whole_text, whole_value};
