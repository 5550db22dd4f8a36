//! The messages of a conversation, written as they come.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use toolgate_model::{Args, CallId, Picture, Status, ToolResult};

use super::written::Written;
use super::{Form, Images, Pieces, names, told};
use crate::event::Seal;
use crate::message::{Content, Message, Role};
use crate::wire::Wire;

/// A conversation in the form of one wire.
///
/// It holds bytes, not messages: to go on with another wire, push the messages again.
#[derive(Debug)]
pub struct Conversation {
    wire: Wire,
    written: Written,
    last: Option<Role>,
    /// The calls that wait for their results, in their order.
    open: Vec<OpenCall>,
    ids: HashSet<String>,
    images: bool,
}

#[derive(Clone, Debug)]
struct OpenCall {
    id: CallId,
    written_id: String,
    written_name: String,
}

/// A part of what the model said, ready for writing.
pub(crate) enum Said<'a> {
    Text {
        text: &'a str,
        refusal: bool,
    },
    Thinking {
        text: &'a str,
        seal: Option<&'a Seal>,
    },
    Call {
        id: String,
        name: Cow<'a, str>,
        /// Nothing for a damaged call: what it had was no object.
        args: Option<&'a Args>,
    },
}

/// A result beside the call it answers, ready for writing.
pub(crate) struct Settled<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    /// Whether the call did not go well.
    pub(crate) failed: bool,
    /// The text, with a note for everything that does not go.
    pub(crate) text: Cow<'a, str>,
    /// The images that go.
    pub(crate) pictures: Vec<Picture<'a>>,
}

/// Why a message does not fit where it was put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Calls have no result yet.
    #[error(
        "calls without a result: {}; push a result for each of them first",
        list(calls)
    )]
    Unanswered {
        /// The ids of these calls.
        calls: Vec<CallId>,
    },
    /// A result answers no call of the message before.
    #[error("a result for {call}, which is no call of the message before; leave it out")]
    UnknownResult {
        /// The id in the result.
        call: CallId,
    },
    /// A message of the user or the tools says nothing.
    #[error("an empty message; wires refuse it, say something or leave it out")]
    Empty,
    /// A message cannot be written as JSON.
    #[error("a message cannot be written: {message}")]
    Unwritable {
        /// What the writer stumbled over.
        message: String,
    },
}

fn list(calls: &[CallId]) -> String {
    let ids: Vec<&str> = calls.iter().map(CallId::as_str).collect();
    ids.join(", ")
}

impl Conversation {
    /// A conversation in which nothing was said.
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            written: Written::default(),
            last: None,
            open: Vec::new(),
            ids: HashSet::new(),
            images: wire.takes_images(),
        }
    }

    /// The same with images in results, or with notes in their place. Without this it is as
    /// most models of the wire take it ([`Wire::takes_images`]).
    #[must_use]
    pub fn images(mut self, images: bool) -> Self {
        self.images = images;
        self
    }

    /// The wire it is written for.
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// Adds a message. One that does not fit changes nothing.
    pub fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        let form = self.wire.form();
        let mut out = Pieces::after(self.written.bytes());
        match message {
            Message::User { text } => self.user(form, text, &mut out),
            Message::Assistant { content } => self.assistant(form, content, &mut out),
            Message::Tool { results } => self.results(form, results, &mut out),
        }?;
        self.written.add(out.into_bytes());
        self.last = Some(message.role());
        Ok(())
    }

    /// The ids of the calls that wait for their results, in their order.
    pub fn unanswered(&self) -> Vec<CallId> {
        self.open.iter().map(|call| call.id.clone()).collect()
    }

    /// Who said the last message.
    pub const fn last(&self) -> Option<Role> {
        self.last
    }

    /// How many bytes its messages have.
    pub const fn bytes(&self) -> usize {
        self.written.bytes()
    }

    pub(super) fn written(&self) -> &[Bytes] {
        self.written.blocks()
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.ids.is_empty()
    }

    fn user(&self, form: &dyn Form, text: &str, out: &mut Pieces) -> Result<(), HistoryError> {
        self.answered()?;
        if text.trim().is_empty() {
            return Err(HistoryError::Empty);
        }
        form.user(text, out).map_err(unwritable)
    }

    fn assistant(
        &mut self,
        form: &dyn Form,
        content: &[Content],
        out: &mut Pieces,
    ) -> Result<(), HistoryError> {
        self.answered()?;
        let mut open = Vec::new();
        let mut said = Vec::with_capacity(content.len());
        for part in content {
            said.push(match part {
                Content::Text { text, refusal } => Said::Text {
                    text,
                    refusal: *refusal,
                },
                Content::Thinking { text, seal } => Said::Thinking {
                    text,
                    seal: seal.as_ref(),
                },
                Content::Call { call } => self.call(
                    form,
                    &call.id,
                    Some(&call.name),
                    Some(&call.args),
                    &mut open,
                ),
                Content::BadCall { call } => {
                    self.call(form, &call.id, call.name.as_deref(), None, &mut open)
                }
            });
        }
        form.assistant(&said, out).map_err(unwritable)?;
        self.open = open;
        Ok(())
    }

    fn call<'a>(
        &mut self,
        form: &dyn Form,
        id: &CallId,
        name: Option<&'a str>,
        args: Option<&'a Args>,
        open: &mut Vec<OpenCall>,
    ) -> Said<'a> {
        let written_id = names::call_id(id.as_str(), form.plain_ids(), &mut self.ids);
        let name = names::tool_name(name, form.plain_names());
        open.push(OpenCall {
            id: id.clone(),
            written_id: written_id.clone(),
            written_name: name.clone().into_owned(),
        });
        Said::Call {
            id: written_id,
            name,
            args,
        }
    }

    fn results(
        &mut self,
        form: &dyn Form,
        results: &[ToolResult],
        out: &mut Pieces,
    ) -> Result<(), HistoryError> {
        // Where two calls have one id, the first result is the first call's.
        let mut answers: Vec<Option<&ToolResult>> = vec![None; self.open.len()];
        for result in results {
            let mut places = self.open.iter().zip(&mut answers);
            let place = places.find(|(call, answer)| call.id == result.call_id && answer.is_none());
            match place {
                Some((_, answer)) => *answer = Some(result),
                None => {
                    return Err(HistoryError::UnknownResult {
                        call: result.call_id.clone(),
                    });
                }
            }
        }
        let mut settled = Vec::with_capacity(answers.len());
        let mut missing = Vec::new();
        for (call, answer) in self.open.iter().zip(answers) {
            match answer {
                Some(result) => {
                    let failed = result.status() != Status::Ok;
                    let images = if !self.images {
                        Images::NONE
                    } else if failed && !form.images_in_errors() {
                        Images::none("results of failed calls carry no images")
                    } else {
                        Images::of(form.image_kinds())
                    };
                    let told = told(result, images);
                    settled.push(Settled {
                        id: &call.written_id,
                        name: &call.written_name,
                        failed,
                        text: told.text,
                        pictures: told.pictures,
                    });
                }
                None => missing.push(call.id.clone()),
            }
        }
        if !missing.is_empty() {
            return Err(HistoryError::Unanswered { calls: missing });
        }
        if settled.is_empty() {
            return Err(HistoryError::Empty);
        }
        form.results(&settled, out).map_err(unwritable)?;
        self.open.clear();
        Ok(())
    }

    fn answered(&self) -> Result<(), HistoryError> {
        if self.open.is_empty() {
            return Ok(());
        }
        Err(HistoryError::Unanswered {
            calls: self.unanswered(),
        })
    }
}

fn unwritable(error: serde_json::Error) -> HistoryError {
    HistoryError::Unwritable {
        message: error.to_string(),
    }
}
