//! The wire formats of language models.
//!
//! ```text
//! bytes, in any chunking ──▶ decode ──▶ StreamDecoder ──▶ StreamEvent… ──▶ Reply
//! Message…, Definition…  ──▶ Conversation in a Frame  ──▶ Request, the bytes of a body
//! ```
//!
//! In: what a model streams. Out: text, thinking, and whole or damaged calls
//! ([`toolgate_model::Call`]) in the order the model emitted them, what it
//! cost, and how it ended. The way back is here too: messages, results and tool
//! definitions in the form each wire wants them. The parsers know no network:
//! bytes come in from the caller, and [`http`] is one.
//!
//! - [`decode`]: the framings, bounded: server-sent events and lines of JSON.
//! - [`Wire`] names the formats, [`StreamDecoder`] reads them, [`request`] writes them.
//! - [`fenced`]: calls as fenced blocks in plain text, for models without native tool calls.
//! - [`replay`]: recorded conversations.
//! - [`Provider`]: a conversation with a model, behind [`http`] or played from a recording.

mod anthropic;
mod calls;
pub mod decode;
mod event;
mod fault;
pub mod fenced;
pub mod http;
mod machine;
mod message;
mod ollama;
mod openai_chat;
mod openai_responses;
pub mod provider;
pub mod replay;
mod reply;
pub mod request;
mod wire;

pub use event::{Seal, StopReason, StreamEvent, Usage};
pub use fault::{ProviderError, ProviderErrorKind, StreamError};
pub use fenced::Definition;
pub use message::{Content, Message, Role};
pub use provider::{Provider, Refused};
pub use reply::Reply;
pub use wire::{StreamDecoder, StreamLimits, UnknownWire, Wire};
