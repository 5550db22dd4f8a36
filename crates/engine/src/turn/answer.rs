//! An answer while it comes in.

use std::collections::BTreeMap;

use toolgate_gate::journal::Record;
use toolgate_gate::output::Sanitizer;
use toolgate_model::{BadCall, Call, CallId, ErrorKind, MessageId, ToolError};
use toolgate_providers::{Content, Message, Reply, StreamEvent, Usage};

use super::{Effect, Outcome, Part};

/// So many bytes of a part are left of an answer that was too long.
const MOST_OF_TOO_MUCH: usize = 16 * 1024;

/// What has come so far. People see it without what a terminal would obey.
pub(super) struct Answer {
    id: MessageId,
    reply: Reply,
    text: Sanitizer,
    thinking: Sanitizer,
    /// What came since the last note of it.
    unkept: Reply,
    /// Calls that have begun and are not whole yet, by their number.
    open: BTreeMap<u64, (CallId, String)>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Answer").field(&self.reply).finish()
    }
}

impl Answer {
    pub(super) fn new(id: MessageId) -> Self {
        Self {
            id,
            reply: Reply::default(),
            text: Sanitizer::default(),
            thinking: Sanitizer::default(),
            unkept: Reply::default(),
            open: BTreeMap::new(),
        }
    }

    pub(super) fn take(&mut self, event: StreamEvent) -> Vec<Effect> {
        let mut shown = String::new();
        let show = match &event {
            StreamEvent::Text(text) | StreamEvent::Refusal(text) => {
                self.text.push(text.as_bytes(), &mut shown);
                self.show(Part::Text, shown)
            }
            StreamEvent::Thinking(text) => {
                self.thinking.push(text.as_bytes(), &mut shown);
                self.show(Part::Thinking, shown)
            }
            _ => None,
        };
        match &event {
            StreamEvent::CallStarted { number, id, name } => {
                self.open.insert(*number, (id.clone(), name.clone()));
            }
            StreamEvent::Call(call) => {
                let whole = self.open.iter().find(|(_, (id, _))| id == call.id());
                let whole = whole.map(|(number, _)| *number);
                whole.and_then(|number| self.open.remove(&number));
            }
            _ => {}
        }
        self.unkept.push(event.clone());
        self.reply.push(event);
        show.into_iter().collect()
    }

    fn show(&self, part: Part, text: String) -> Option<Effect> {
        (!text.is_empty()).then(|| Effect::Show {
            message_id: self.id.clone(),
            part,
            text,
        })
    }

    /// Nobody listens any more: calls that are not whole are damaged ones, and not forgotten.
    pub(super) fn break_off(&mut self) {
        for (id, name) in std::mem::take(&mut self.open).into_values() {
            let message = "the answer broke off before the call was whole; it was not run";
            let error = ToolError::new(ErrorKind::BadCall, message);
            let name = Some(name);
            self.reply
                .push(StreamEvent::Call(Call::Bad(BadCall { id, name, error })));
        }
    }

    /// Leaves so much of its words that the history can still be sent: it was longer than
    /// anybody takes. What came of it is on record.
    pub(super) fn shorten(&mut self) {
        for part in &mut self.reply.content {
            let (Content::Text { text, .. } | Content::Thinking { text, .. }) = part else {
                continue;
            };
            if text.len() > MOST_OF_TOO_MUCH {
                text.truncate(text.floor_char_boundary(MOST_OF_TOO_MUCH));
                text.push_str("\n[the answer was too long; the rest of it is left out]");
                // What a seal was for is no longer there.
                if let Content::Thinking { seal, .. } = part {
                    *seal = None;
                }
            }
        }
    }

    /// Whether something came that is not noted yet.
    pub(super) const fn is_unkept(&self) -> bool {
        !self.unkept.content.is_empty()
    }

    /// A note of what came since the last one.
    pub(super) fn noted(&mut self) -> Vec<Effect> {
        if !self.is_unkept() {
            return Vec::new();
        }
        let part = std::mem::take(&mut self.unkept);
        let content = written(&part.content);
        vec![Effect::Record(Record::Streamed { content }), Effect::Keep]
    }

    pub(super) const fn usage(&self) -> Option<Usage> {
        self.reply.usage
    }

    /// Whether a call of it is whole.
    pub(super) fn has_call(&self) -> bool {
        self.reply.calls().next().is_some()
    }

    /// The answer does not count: it stays on record under a word that says so, and is not said.
    pub(super) fn withdrawn(self) -> Vec<Effect> {
        let (mut effects, ..) = self.said(Outcome::WITHDRAWN);
        effects.retain(|effect| !matches!(effect, Effect::Say(_)));
        if !effects.is_empty() {
            effects.push(Effect::Keep);
        }
        effects
    }

    /// The answer is over: what is shown last, noted and said, the calls and the words.
    pub(super) fn said(mut self, stop: &str) -> (Vec<Effect>, Vec<Call>, String) {
        let mut effects = Vec::new();
        let mut rest = String::new();
        self.thinking.finish(&mut rest);
        effects.extend(self.show(Part::Thinking, std::mem::take(&mut rest)));
        self.text.finish(&mut rest);
        effects.extend(self.show(Part::Text, rest));
        let calls: Vec<Call> = self.reply.calls().collect();
        let words = self.reply.content.iter().filter_map(|part| match part {
            Content::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let text = words.collect::<Vec<_>>().concat();
        let usage = self.reply.usage;
        if !self.reply.content.is_empty() || usage.is_some() {
            effects.push(Effect::Record(Record::AssistantMessage {
                message_id: Some(self.id.clone()),
                content: written(&self.reply.content),
                stop: stop.to_owned(),
                usage: usage.and_then(|usage| serde_json::to_value(usage).ok()),
            }));
        }
        if !self.reply.content.is_empty() {
            let message: Message = self.reply.into_message();
            effects.push(Effect::Say(message));
        }
        (effects, calls, text)
    }
}

fn written(content: &[Content]) -> serde_json::Value {
    // Text, maps of text and lists of them always serialize.
    serde_json::to_value(content).unwrap_or_default()
}
