//! Anthropic Messages.
//!
//! ```text
//! message_start ─▶ (content_block_start ─▶ content_block_delta… ─▶ content_block_stop)… ─▶ message_delta ─▶ message_stop
//! ```
//!
//! A content block is text, thinking or a call, and has an index. Arguments of
//! a call come as pieces of JSON text; thinking ends with its signature, which
//! has to go back unchanged with the next request. All results of a message's
//! calls go back in one user message, in the order of the calls.
//!
//! **What can go wrong**: an `error` event in the middle, blocks that nobody
//! opened or closed, an end without `message_stop`. Event and block types this
//! version does not know are read over, as the wire's versioning asks for.

mod request;
mod stream;
mod thinking;

pub(crate) use request::Anthropic;
pub(crate) use stream::Stream;
