//! A conversation read back from its record.

use std::collections::VecDeque;

use serde_json::Value;
use toolgate_gate::journal::Record;
use toolgate_model::{CallId, ErrorKind, ToolError, ToolResult};
use toolgate_providers::{Content, Message};

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
            ("turn_started", _) => {
                self.close();
                self.turns += 1;
            }
            ("user_message", Some(Record::UserMessage { text })) => self.said(Message::user(text)),
            ("user_message", _) => self.said(Message::user(PRUNED)),
            ("assistant_message", Some(Record::AssistantMessage { content, .. })) => {
                self.said(Message::Assistant {
                    content: read_content(content),
                });
            }
            ("assistant_message", _) => self.said(Message::Assistant {
                content: vec![Content::text(PRUNED)],
            }),
            (_, Some(Record::Finished { result })) => self.settled(*result),
            _ => {}
        }
    }

    /// Whether nothing was ever said.
    pub const fn is_empty(&self) -> bool {
        self.turns == 0 && self.messages.is_empty()
    }

    /// Gives every call that has no result one that says so.
    pub fn close(&mut self) {
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

    /// Takes a person's results for the calls that wait, and hands all of the last answer's
    /// results out in call order; or the calls for which one is still missing.
    pub fn supplied(&mut self, results: Vec<ToolResult>) -> Result<Vec<ToolResult>, Vec<CallId>> {
        results.into_iter().for_each(|result| self.settled(result));
        let open = self.open.iter().filter(|(.., result)| result.is_none());
        let missing: Vec<CallId> = open.map(|(id, ..)| id.clone()).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        Ok(self
            .open
            .drain(..)
            .filter_map(|(.., result)| result)
            .collect())
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

    /// A result belongs to the first call of its id that has none; other calls, such as a
    /// person's own between two turns, are no part of what was said.
    fn settled(&mut self, result: ToolResult) {
        // Of two equal ids the second is refused before the first one ends.
        let refused = result.kind() == Some(ErrorKind::DuplicateCallId);
        let mut open: VecDeque<_> = self.open.iter_mut().collect();
        if refused {
            open = open.into_iter().rev().collect();
        }
        let place = open
            .into_iter()
            .find(|(id, _, there)| *id == result.call_id && there.is_none());
        if let Some((.., there)) = place {
            *there = Some(result);
        }
    }
}

fn read_content(content: Value) -> Vec<Content> {
    serde_json::from_value(content).unwrap_or_else(|_| vec![Content::text(PRUNED)])
}
