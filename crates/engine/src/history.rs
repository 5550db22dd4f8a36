//! A conversation read back from its record.

use std::collections::VecDeque;

use serde_json::Value;
use toolgate_gate::Gate;
use toolgate_gate::journal::Record;
use toolgate_gate::session::Session;
use toolgate_model::{Call, CallId, ErrorKind, ToolError, ToolResult};
use toolgate_providers::request::HistoryError;
use toolgate_providers::{Content, Message, Reply, StreamEvent};

use crate::discarded::discarded;
use crate::turn::Outcome;

/// What stands for words that are no longer on record.
const PRUNED: &str = "(this message is no longer on record)";

/// The messages of a conversation, each call with its one result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// How many turns it has had.
    pub turns: u64,
    /// The calls of the last answer, in their order, and their results so far.
    open: Vec<(CallId, String, Option<ToolResult>)>,
    /// An answer that is not known to have come to its end.
    streamed: Streamed,
}

impl History {
    /// Reads a conversation from its entries, in order. `None` is one whose body is gone.
    pub fn read<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Record>)>) -> Self {
        let mut history = Self::default();
        for (kind, record) in entries {
            history.take(kind, record);
        }
        history.close();
        history
    }

    /// Takes the next entry.
    pub fn take(&mut self, kind: &str, record: Option<Record>) {
        match (kind, record) {
            // It does not end the calls before it: it may begin with their results.
            ("turn_started", _) => self.turns += 1,
            ("user_message", Some(Record::UserMessage { text })) => self.said(Message::user(text)),
            ("user_message", _) => self.said(Message::user(PRUNED)),
            ("carried_in", record) => self.carried(record),
            ("streamed", record) => self.streamed.take(record),
            // It was asked for again: the model never hears of it.
            ("assistant_message", Some(Record::AssistantMessage { stop, .. }))
                if stop == Outcome::WITHDRAWN =>
            {
                self.streamed = Streamed::default();
            }
            // It says again what was streamed.
            ("assistant_message", Some(Record::AssistantMessage { content, .. })) => {
                self.streamed = Streamed::default();
                self.said(Message::Assistant {
                    content: read_content(content),
                });
            }
            ("assistant_message", _) => {
                self.streamed = Streamed::default();
                self.said(Message::Assistant {
                    content: vec![Content::text(PRUNED)],
                });
            }
            ("turn_finished", Some(Record::TurnFinished { outcome, .. }))
                if outcome == Outcome::DISCARDED =>
            {
                for (id, tool, result) in &mut self.open {
                    *result = Some(discarded(id.clone(), tool.clone(), result.take()));
                }
            }
            (_, Some(Record::Finished { result })) => {
                // The user's own calls between two turns are no part of what was said.
                self.settled(*result);
            }
            _ => {}
        }
    }

    /// A conversation that was held elsewhere, as it can be gone on with: every call has its
    /// one result, in call order. A call without one gets one that says so; a result without
    /// a call is a mistake of whoever carries it in.
    pub fn carried_in(messages: Vec<Message>) -> Result<Vec<Message>, HistoryError> {
        let mut history = Self::default();
        for message in messages {
            match message {
                Message::Tool { results } => {
                    for result in results {
                        let call = result.call_id.clone();
                        if !history.settled(result) {
                            return Err(HistoryError::UnknownResult { call });
                        }
                    }
                }
                said => history.said(said),
            }
        }
        history.close();
        Ok(history.messages)
    }

    fn carried(&mut self, record: Option<Record>) {
        self.close();
        let messages = match record {
            Some(Record::CarriedIn { messages }) => serde_json::from_value(messages).ok(),
            _ => None,
        };
        let gone = || vec![Message::user(PRUNED)];
        self.messages
            .extend::<Vec<Message>>(messages.unwrap_or_else(gone));
    }

    /// Whether nothing was ever said.
    pub const fn is_empty(&self) -> bool {
        self.turns == 0 && self.messages.is_empty()
    }

    /// Gives every call that has no result one that says so, and a cut-off answer its end.
    pub fn close(&mut self) {
        let content = std::mem::take(&mut self.streamed).into_content();
        if !content.is_empty() {
            self.said(Message::Assistant { content });
        }
        if self.open.is_empty() {
            return;
        }
        let results = self.open.drain(..).map(|(id, tool, result)| {
            result.unwrap_or_else(|| {
                let message =
                    "the program ended before this call had a result; it was not run again";
                ToolResult::failed(id, tool, ToolError::new(ErrorKind::Interrupted, message))
            })
        });
        let results = results.collect();
        self.messages.push(Message::Tool { results });
    }

    /// The tool of a call whose result is not there yet, before the history is closed.
    pub fn tool_of(&self, call: &CallId) -> Option<&str> {
        let mut open = self.open.iter();
        let found = open.find(|(id, _, result)| id == call && result.is_none());
        found.map(|(_, tool, _)| tool.as_str())
    }

    /// Takes the user's results for the calls that wait; or names the calls for which one
    /// is still missing. A result that nobody waits for is not taken.
    pub fn supplied(&mut self, results: Vec<ToolResult>) -> Result<Supplied, Vec<CallId>> {
        let waited = |(.., result): &(CallId, String, Option<ToolResult>)| result.is_none();
        let by_person: Vec<bool> = self.open.iter().map(waited).collect();
        for result in results {
            self.settled(result);
        }
        let open = self.open.iter().filter(|(.., result)| result.is_none());
        let missing: Vec<CallId> = open.map(|(id, ..)| id.clone()).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let all = self.open.drain(..).zip(by_person);
        let all = all.filter_map(|((.., result), by_person)| Some((result?, by_person)));
        Ok(Supplied(all.collect()))
    }

    fn said(&mut self, message: Message) {
        self.close();
        if let Message::Assistant { content } = &message {
            self.open = content
                .iter()
                .filter_map(|part| match part {
                    Content::Call { call } => Some((call.id.clone(), call.name.clone(), None)),
                    Content::BadCall { call } => {
                        Some((call.id.clone(), call.name.clone().unwrap_or_default(), None))
                    }
                    Content::Text { .. } | Content::Thinking { .. } => None,
                })
                .collect();
        }
        self.messages.push(message);
    }

    /// A result belongs to the first call of its id that has none. Whether there is one.
    fn settled(&mut self, result: ToolResult) -> bool {
        // Of two equal ids the second is refused before the first one ends.
        let refused = result.kind() == Some(ErrorKind::DuplicateCallId);
        let mut open: VecDeque<_> = self.open.iter_mut().collect();
        if refused {
            open = open.into_iter().rev().collect();
        }
        let place = open
            .into_iter()
            .find(|(id, _, there)| *id == result.call_id && there.is_none());
        match place {
            Some((.., there)) => {
                *there = Some(result);
                true
            }
            None => false,
        }
    }
}

/// All results of an answer whose calls waited for the user, in call order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Supplied(Vec<(ToolResult, bool)>);

impl Supplied {
    /// All of them.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.0.iter().map(|(result, _)| result)
    }

    /// What the user gave; the rest was on record before.
    pub fn by_person(&self) -> impl Iterator<Item = &ToolResult> {
        let given = self.0.iter().filter(|(_, by_person)| *by_person);
        given.map(|(result, _)| result)
    }

    /// The same, with what the user gave made fit to be seen.
    pub(crate) async fn cleaned(self, gate: &Gate, session: &Session) -> Self {
        let mut all = Vec::with_capacity(self.0.len());
        for (result, by_person) in self.0 {
            all.push(match by_person {
                true => (gate.clean(session, result).await, true),
                false => (result, false),
            });
        }
        Self(all)
    }
}

/// What there is of an answer, from the parts that were noted while it came in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Streamed(Reply);

impl Streamed {
    /// Takes the next part; nothing is one whose body is gone.
    pub fn take(&mut self, part: Option<Record>) {
        let content = match part {
            Some(Record::Streamed { content }) => read_content(content),
            _ => vec![Content::text(PRUNED)],
        };
        for part in content {
            self.0.extend(events(part));
        }
    }

    /// All of it, as one answer.
    pub fn into_content(self) -> Vec<Content> {
        self.0.content
    }
}

/// The events that a part of an answer was made of.
fn events(part: Content) -> Vec<StreamEvent> {
    match part {
        Content::Text {
            text,
            refusal: false,
        } => vec![StreamEvent::Text(text)],
        Content::Text {
            text,
            refusal: true,
        } => vec![StreamEvent::Refusal(text)],
        Content::Thinking { text, seal } => {
            // A seal can come without words.
            let words = seal.is_none() || !text.is_empty();
            let words = words.then_some(StreamEvent::Thinking(text));
            words
                .into_iter()
                .chain(seal.map(StreamEvent::Sealed))
                .collect()
        }
        Content::Call { call } => vec![StreamEvent::Call(Call::Whole(call))],
        Content::BadCall { call } => vec![StreamEvent::Call(Call::Bad(call))],
    }
}

fn read_content(content: Value) -> Vec<Content> {
    serde_json::from_value(content).unwrap_or_else(|_| vec![Content::text(PRUNED)])
}
