//! Everything of a request but its messages, written once.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{Conversation, RequestOptions};
use crate::fenced::Definition;
use crate::message::Role;
use crate::wire::Wire;

/// Whether the model may call tools in its next answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// It may.
    Offered,
    /// It has to answer without.
    Withheld,
}

/// What stands around the messages of every request of a conversation.
#[derive(Clone, Debug)]
pub struct Frame {
    wire: Wire,
    offering: Bytes,
    withholding: Bytes,
    /// Some wires refuse a history with calls and no tools at all.
    withholding_after_calls: Bytes,
    /// Whether a message of the frame's own stands before all others.
    has_first: bool,
}

/// The body of one request: pieces to be sent one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pieces: Vec<Bytes>,
}

/// Why no request can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// An extra field is one that is written anyway.
    #[error("the extra field {field:?} is written by Toolgate itself; use the setting for it")]
    ReservedField {
        /// Which field.
        field: String,
    },
    /// The thinking does not fit into the answer.
    #[error(
        "a thinking budget of {budget} tokens, which has to be at least {least} and less than the \
         {max} tokens of the whole answer; change one of the two"
    )]
    Budget {
        /// What was asked for.
        budget: u64,
        /// What the wire wants at least.
        least: u64,
        /// What the whole answer may have.
        max: u64,
    },
    /// The settings cannot be written as JSON.
    #[error("the request cannot be written: {message}")]
    Unwritable {
        /// What the writer stumbled over.
        message: String,
    },
    /// The conversation is written for another wire.
    #[error("a conversation written for {conversation} in a request of {frame}")]
    OtherWire {
        /// The conversation's wire.
        conversation: Wire,
        /// The request's wire.
        frame: Wire,
    },
    /// There is nothing to answer: nobody but the model said something since.
    #[error("nothing to answer: the last message has to be the person's or the tools'")]
    NothingToAnswer,
}

impl Frame {
    /// Writes the frame.
    pub fn new(
        wire: Wire,
        options: &RequestOptions,
        definitions: &[Definition],
    ) -> Result<Self, RequestError> {
        let form = wire.form();
        let mut fields = form.fields(options)?;
        let reserved = ["tools", "tool_choice", form.messages_field()];
        for (field, value) in &options.extra {
            if fields.contains_key(field) || reserved.contains(&field.as_str()) {
                return Err(RequestError::ReservedField {
                    field: field.clone(),
                });
            }
            fields.insert(field.clone(), value.clone());
        }
        let first = form.first_message(options);
        let write = |fields: &Map<String, Value>| {
            opening(fields, form.messages_field(), first.as_ref())
                .map(Bytes::from)
                .map_err(|error| RequestError::Unwritable {
                    message: error.to_string(),
                })
        };
        let withholding = write(&fields)?;
        let tools: Vec<Value> = definitions.iter().map(|one| form.definition(one)).collect();
        let mut with_tools = fields;
        if !tools.is_empty() {
            with_tools.insert("tools".into(), Value::Array(tools));
        }
        let offering = write(&with_tools)?;
        let withholding_after_calls = match form.without_tools() {
            Some(more) if with_tools.contains_key("tools") => {
                with_tools.extend(more);
                write(&with_tools)?
            }
            _ => withholding.clone(),
        };
        Ok(Self {
            wire,
            offering,
            withholding,
            withholding_after_calls,
            has_first: first.is_some(),
        })
    }

    /// Puts the conversation into the frame.
    pub fn request(
        &self,
        conversation: &Conversation,
        tools: Tools,
    ) -> Result<Request, RequestError> {
        if conversation.wire() != self.wire {
            return Err(RequestError::OtherWire {
                conversation: conversation.wire(),
                frame: self.wire,
            });
        }
        if !matches!(conversation.last(), Some(Role::User | Role::Tool)) {
            return Err(RequestError::NothingToAnswer);
        }
        let opening = match tools {
            Tools::Offered => &self.offering,
            Tools::Withheld if conversation.has_calls() => &self.withholding_after_calls,
            Tools::Withheld => &self.withholding,
        };
        let blocks = conversation.written();
        let mut pieces = Vec::with_capacity(blocks.len() + 3);
        pieces.push(opening.clone());
        if self.has_first {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.extend_from_slice(blocks);
        pieces.push(Bytes::from_static(b"]}"));
        Ok(Request { pieces })
    }
}

impl Request {
    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    pub(crate) fn into_pieces(self) -> Vec<Bytes> {
        self.pieces
    }

    /// The body as one.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// An object up to the opening of its array of messages.
fn opening(
    fields: &Map<String, Value>,
    messages: &str,
    first: Option<&Value>,
) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(fields)?;
    bytes.pop();
    if !fields.is_empty() {
        bytes.push(b',');
    }
    serde_json::to_writer(&mut bytes, messages)?;
    bytes.extend_from_slice(b":[");
    if let Some(first) = first {
        serde_json::to_writer(&mut bytes, first)?;
    }
    Ok(bytes)
}
