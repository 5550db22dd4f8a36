//! OpenAI Responses.
//!
//! ```text
//! response.created ─▶ (output_item.added ─▶ …delta… ─▶ output_item.done)… ─▶ response.completed
//! ```
//!
//! An answer is a list of items: messages, reasoning, function calls. Each has
//! an `output_index`; a call has an id of its own beside its item's, and that
//! one is what its result goes back under. The provider is asked to keep
//! nothing (`store: false`): reasoning goes back with the next request as the
//! item it came as, encrypted.
//!
//! **What can go wrong**: an `error` event, `response.failed`,
//! `response.incomplete`, items that were never announced, pieces that differ
//! from the whole that follows them, an end without any of the last events.

mod request;
mod stream;

pub(crate) use request::OpenAiResponses;
pub(crate) use stream::Stream;
