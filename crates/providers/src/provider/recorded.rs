//! A provider whose answers are recorded.

use futures::FutureExt;
use futures::future::BoxFuture;
use toolgate_model::ToolResult;

use super::{Provider, Refused};
use crate::event::StreamEvent;
use crate::fault::StreamError;
use crate::message::Message;
use crate::replay::{Recorder, Script};
use crate::request::{HistoryError, Tools};

/// Passes everything on and notes what comes.
///
/// It stands between messages and events, so it never sees a header or a key.
pub struct Recorded<P, K: FnMut(&Script) + Send> {
    provider: P,
    recorder: Recorder,
    results: Vec<ToolResult>,
    keep: K,
    /// Whether an answer is under way.
    open: bool,
}

impl<P: Provider, K: FnMut(&Script) + Send> Recorded<P, K> {
    /// Records what a provider says; `keep` gets the script so far after every answer.
    pub fn new(provider: P, model: Option<String>, keep: K) -> Self {
        Self {
            provider,
            recorder: Recorder::new(model),
            results: Vec::new(),
            keep,
            open: false,
        }
    }

    fn note(&mut self, event: &StreamEvent) {
        self.recorder.event(event);
        self.open = !matches!(event, StreamEvent::End(_));
        if matches!(event, StreamEvent::End(_)) {
            (self.keep)(self.recorder.script());
        }
    }
}

impl<P: Provider, K: FnMut(&Script) + Send> Provider for Recorded<P, K> {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.provider.push(message)?;
        match message {
            Message::Tool { results } => self.results.clone_from(results),
            Message::User { .. } => self.results.clear(),
            Message::Assistant { .. } => {}
        }
        Ok(())
    }

    fn ask(&mut self, tools: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        async move {
            self.recorder.request(&self.results);
            let asked = self.provider.ask(tools).await;
            if let Err(refused) = &asked {
                self.note(&StreamEvent::End(Err(refused.fault.clone())));
            }
            asked
        }
        .boxed()
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        async move {
            let event = self.provider.hear().await;
            self.note(&event);
            event
        }
        .boxed()
    }
}

/// Whoever stops listening in the middle of an answer has recorded what came of it.
impl<P, K: FnMut(&Script) + Send> Drop for Recorded<P, K> {
    fn drop(&mut self) {
        if self.open {
            self.recorder
                .event(&StreamEvent::End(Err(StreamError::Cut)));
            (self.keep)(self.recorder.script());
        }
    }
}
