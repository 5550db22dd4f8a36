//! One trait for a model behind HTTP, a recording, and what wraps them.
//!
//! ```text
//! push(Message)… ──▶ ask(Tools) ──▶ hear() ──▶ StreamEvent … StreamEvent::End
//!                        └─ Refused: no byte of an answer came
//! ```
//!
//! A provider is one conversation with one model. It keeps the messages in its own form,
//! so that a message is written once. Whoever stops listening asks again or lets it go:
//! what is left of an answer is dropped with the next question.

mod fenced;
mod played;
mod recorded;

use std::time::Duration;

use futures::future::BoxFuture;

use crate::event::StreamEvent;
use crate::fault::StreamError;
use crate::message::{Content, Message};
use crate::request::{HistoryError, Tools};

pub use fenced::{Fenced, fenced_system};
pub use played::Played;
pub use recorded::Recorded;

/// One conversation with one model.
pub trait Provider: Send {
    /// Adds a message to the conversation. One that does not fit changes nothing.
    fn push(&mut self, message: &Message) -> Result<(), HistoryError>;

    /// Asks for an answer to everything pushed so far. Drops what is left of the last one.
    fn ask(&mut self, tools: Tools) -> BoxFuture<'_, Result<(), Refused>>;

    /// Waits for the next event of the answer. After [`StreamEvent::End`] nothing comes.
    ///
    /// It may be dropped at any time: an event that was not handed out comes the next time,
    /// or the answer ends as cut off.
    fn hear(&mut self) -> BoxFuture<'_, StreamEvent>;
}

/// Why there is no answer at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Refused {
    /// What went wrong.
    pub fault: StreamError,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl From<StreamError> for Refused {
    fn from(fault: StreamError) -> Self {
        Self {
            fault,
            retry_after: None,
        }
    }
}

impl<P: Provider + ?Sized> Provider for Box<P> {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        (**self).push(message)
    }

    fn ask(&mut self, tools: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        (**self).ask(tools)
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        (**self).hear()
    }
}

/// How many calls a message makes: ids that a wire does not give are counted on from there.
pub(crate) fn calls_in(message: &Message) -> u64 {
    let Message::Assistant { content } = message else {
        return 0;
    };
    let calls = content
        .iter()
        .filter(|part| Content::call_id(part).is_some());
    u64::try_from(calls.count()).unwrap_or(u64::MAX)
}

/// What a provider says that is asked nothing, or more than it answered.
pub(crate) fn nothing_asked() -> BoxFuture<'static, StreamEvent> {
    Box::pin(std::future::ready(StreamEvent::End(Err(StreamError::Cut))))
}
