//! The wire formats of language models.
//!
//! In: what a model streams, in any chunking. Out: text, and whole or damaged
//! calls ([`toolgate_model::Call`]) in the order the model emitted them. The
//! way back is here too: results and tool definitions in the form each wire
//! wants them. There is no network in this crate's parsers: bytes come in from
//! the caller.
//!
//! - [`fenced`]: calls as fenced blocks in plain text, for models without native tool calls.

pub mod fenced;
