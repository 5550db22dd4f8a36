//! OpenAI Chat Completions, which many servers speak.
//!
//! ```text
//! chunk (delta: content, refusal, tool_calls)… ─▶ chunk (finish_reason) ─▶ chunk (usage) ─▶ [DONE]
//! ```
//!
//! A call comes in fragments that name it by `index`; id and name stand in the
//! first of them, officially. Servers that speak this wire differ: some send no
//! index, some the same index for every call and tell them apart by id, some
//! repeat id and name, some send the name late. All of these are read; what
//! contradicts itself becomes a damaged call. Results go back as one message
//! each, in the order of the calls.
//!
//! **What can go wrong**: an `error` object instead of a chunk, an end without
//! `finish_reason`.

mod request;
mod stream;

pub(crate) use request::OpenAiChat;
pub(crate) use stream::Stream;
