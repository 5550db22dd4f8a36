//! A model's whole answer, put together from its events.

use serde::Serialize;
use serde_json::{Value, json};
use toolgate_model::Call;

use crate::event::{Seal, StopReason, StreamEvent, Usage};
use crate::fault::StreamError;
use crate::message::{Content, Message};

/// What an answer came to, however it was cut into events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Text, thinking and calls in their order; what belongs together is one part.
    pub content: Vec<Content>,
    /// What it cost, if the wire said so.
    pub usage: Option<Usage>,
    /// How it ended, once it has.
    pub end: Option<Result<StopReason, StreamError>>,
}

impl Reply {
    /// Takes the next event.
    pub fn push(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text(more) => self.words(more, false),
            StreamEvent::Refusal(more) => self.words(more, true),
            StreamEvent::Thinking(more) => match self.content.last_mut() {
                Some(Content::Thinking { text, seal: None }) => text.push_str(&more),
                _ => self.content.push(Content::Thinking {
                    text: more,
                    seal: None,
                }),
            },
            StreamEvent::Sealed(seal) => self.seal(seal),
            StreamEvent::Call(call) => self.content.push(call.into()),
            // Fragments are for the screen; the call itself follows.
            StreamEvent::CallStarted { .. } | StreamEvent::CallFragment { .. } => {}
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::End(end) => self.end = Some(end),
        }
    }

    fn words(&mut self, more: String, refuses: bool) {
        match self.content.last_mut() {
            Some(Content::Text { text, refusal }) if *refusal == refuses => text.push_str(&more),
            _ => self.content.push(Content::Text {
                text: more,
                refusal: refuses,
            }),
        }
    }

    fn seal(&mut self, seal: Seal) {
        match (self.content.last_mut(), &seal) {
            // A redacted block is one of its own, with nothing to show.
            (_, Seal::Redacted(_)) => {}
            (Some(Content::Thinking { seal: open, .. }), _) if open.is_none() => {
                *open = Some(seal);
                return;
            }
            _ => {}
        }
        self.content.push(Content::Thinking {
            text: String::new(),
            seal: Some(seal),
        });
    }

    /// The calls in their order.
    pub fn calls(&self) -> impl Iterator<Item = Call> {
        self.content.iter().filter_map(|part| match part {
            Content::Call { call } => Some(Call::Whole(call.clone())),
            Content::BadCall { call } => Some(Call::Bad(call.clone())),
            Content::Text { .. } | Content::Thinking { .. } => None,
        })
    }

    /// The answer as the message that goes into the history.
    pub fn into_message(self) -> Message {
        Message::Assistant {
            content: self.content,
        }
    }

    /// The answer as JSON lines: `{"type":"text"|"thinking"|"call"|"bad_call"|"usage"|"end", …}`.
    pub fn lines(&self) -> Vec<Value> {
        let mut lines: Vec<Value> = self.content.iter().map(value).collect();
        if let Some(usage) = &self.usage {
            let mut line = value(usage);
            if let Some(fields) = line.as_object_mut() {
                fields.insert("type".into(), "usage".into());
            }
            lines.push(line);
        }
        match &self.end {
            Some(Ok(stop)) => lines.push(json!({"type": "end", "stop": stop.as_str()})),
            Some(Err(fault)) => lines.push(json!({
                "type": "end",
                "stop": "error",
                "error": {
                    "kind": fault.kind(),
                    "message": fault.to_string(),
                    "retryable": fault.is_retryable(),
                },
            })),
            None => {}
        }
        lines
    }
}

impl Extend<StreamEvent> for Reply {
    fn extend<I: IntoIterator<Item = StreamEvent>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl FromIterator<StreamEvent> for Reply {
    fn from_iter<I: IntoIterator<Item = StreamEvent>>(events: I) -> Self {
        let mut reply = Self::default();
        reply.extend(events);
        reply
    }
}

fn value(part: &impl Serialize) -> Value {
    // Strings, numbers and maps of them always serialize; were it otherwise, the line says nothing.
    serde_json::to_value(part).unwrap_or_default()
}
