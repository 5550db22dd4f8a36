//! The way back: a conversation as the body of a request.
//!
//! ```text
//! RequestOptions, Definitions ──▶ Frame          written once
//! Message ──▶ Conversation                       each written once, when it comes
//! Frame + Conversation ──▶ Request               pieces side by side
//! ```
//!
//! A message is serialized when it is pushed, in the form of its wire, and
//! never again: what a step costs does not grow with the history, beyond
//! sending its bytes.
//!
//! **What can go wrong** is said before anything is sent: calls without
//! results, results without calls ([`HistoryError`]), settings that contradict
//! each other ([`RequestError`]). A conversation that took its messages is one
//! that the wire accepts: results stand in call order, names and ids have the
//! form it wants, no id is used twice.

mod conversation;
mod frame;
mod names;
mod options;
mod told;
mod written;

pub use conversation::{Conversation, HistoryError};
pub use frame::{Frame, Request, RequestError, Tools};
pub use options::{Effort, Reasoning, RequestOptions};

pub(crate) use conversation::{Said, Settled};
pub(crate) use told::{Images, told};

use serde_json::{Map, Value};
use toolgate_model::ImageKind;

use crate::fenced::Definition;

/// How one wire writes requests.
pub(crate) trait Form: Send + Sync {
    /// Which field holds the messages.
    fn messages_field(&self) -> &'static str {
        "messages"
    }

    /// Whether names of tools may only have letters, digits, `_` and `-`.
    fn plain_names(&self) -> bool;

    /// Whether ids of calls may only have them too.
    fn plain_ids(&self) -> bool {
        false
    }

    /// The images that its results can carry.
    fn image_kinds(&self) -> &'static [ImageKind] {
        &ImageKind::ALL
    }

    /// Whether the results of failed calls can carry them too.
    fn images_in_errors(&self) -> bool {
        true
    }

    /// Everything but the messages.
    fn fields(&self, options: &RequestOptions) -> Result<Map<String, Value>, RequestError>;

    /// What stands before all messages, where the system prompt is one of them.
    fn first_message(&self, _options: &RequestOptions) -> Option<Value> {
        None
    }

    /// A tool as the model gets to know it.
    fn definition(&self, definition: &Definition) -> Value;

    /// Fields of a request that offers no tools although calls were made before.
    fn without_tools(&self) -> Option<Map<String, Value>> {
        None
    }

    /// Writes what the user says.
    fn user(&self, text: &str, out: &mut Pieces) -> serde_json::Result<()>;

    /// Writes what the model said. Nothing to write means no message.
    fn assistant(&self, said: &[Said<'_>], out: &mut Pieces) -> serde_json::Result<()>;

    /// Writes the results of its calls, in their order.
    fn results(&self, results: &[Settled<'_>], out: &mut Pieces) -> serde_json::Result<()>;
}

/// The elements of a JSON array under construction.
#[derive(Default)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    /// Whether elements stand before these.
    after_others: bool,
}

impl Pieces {
    pub(crate) fn after(bytes: usize) -> Self {
        Self {
            after_others: bytes > 0,
            ..Self::default()
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes one more element.
    pub(crate) fn add(&mut self, element: &impl serde::Serialize) -> serde_json::Result<()> {
        if self.after_others || !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
        serde_json::to_writer(&mut self.bytes, element)
    }
}
