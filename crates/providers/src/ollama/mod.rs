//! Ollama's own chat.
//!
//! ```text
//! line (message: content, thinking, tool_calls)… ─▶ line (done, done_reason, counts)
//! ```
//!
//! Lines of JSON. A call comes whole in one line, its arguments as an object;
//! older servers give it no id, and get one from us. Results go back as one
//! message each, named by tool and by id, in the order of the calls.
//!
//! **What can go wrong**: a line `{"error": "…"}` in the middle, an end without
//! `done`.

mod request;
mod stream;

pub(crate) use request::Ollama;
pub(crate) use stream::Stream;
