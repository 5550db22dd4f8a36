//! Known secret values in text.
//!
//! ```text
//! values ─▶ KnownValues ─┬▶ found: where they stand, also where they overlap
//!                        ├▶ hide: the text with a marker in place of each
//!                        └▶ cut_off: from where on a text may be the start of one
//! ```
//!
//! The gate looks for the values of environment variables in what tools print, the providers
//! for their keys in what a server answers. A text that arrives in pieces is decided up to
//! [`cut_off`](KnownValues::cut_off); the rest waits for the next piece.
//!
//! ```
//! use toolgate_redact::KnownValues;
//!
//! let known = KnownValues::new(["correct horse"]).unwrap();
//! assert_eq!(known.hide("a correct horse!", "[key]"), "a [key]!");
//! assert_eq!(known.cut_off("say corr"), 4);
//! ```
//!
//! **What can go wrong**: more or longer values than one automaton can hold.

mod known;
mod prefixes;

pub use known::{Found, KnownValues, TooManyValues};
pub use prefixes::Prefixes;

/// Shorter values are not looked for: they would be found in the middle of ordinary words.
pub const MIN_CHARS: usize = 8;
