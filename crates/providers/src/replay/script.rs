//! What a script says.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolgate_model::json::{self, JsonLimits};
use toolgate_model::{CallId, ErrorKind, Status, ToolResult};

use crate::event::{Seal, StopReason, Usage};
use crate::fault::{ProviderError, StreamError};

/// A recorded conversation: the model's answers, one step each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The model that was recorded.
    pub model: Option<String>,
    /// Its answers.
    pub steps: Vec<Step>,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The results that the request has to contain.
    pub expect: Vec<Expected>,
    /// What the model says, in its order.
    pub parts: Vec<Part>,
    /// In what pieces, and how fast.
    pub pace: Pace,
    /// What it cost.
    pub usage: Option<Usage>,
    /// How it ends.
    pub finish: Finish,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words to the user.
    Text(String),
    /// Words in which the model refuses.
    Refusal(String),
    /// Words to itself.
    Thinking {
        /// The words.
        text: String,
        /// What the wire needs to take them back.
        seal: Option<Seal>,
    },
    /// A call.
    Call(PlayedCall),
}

/// A call as it is streamed, whole or damaged.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedCall {
    /// Its id; one is counted where there is none.
    pub id: Option<String>,
    /// The tool it names; a call without a name is damaged.
    pub name: Option<String>,
    /// Its arguments.
    pub args: Arguments,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// An object.
    Object(Map<String, Value>),
    /// Text that is none, and makes the call a damaged one.
    Damaged(String),
}

impl Arguments {
    /// Reads the text of arguments.
    pub fn from_text(text: String) -> Self {
        match json::parse_object(text.as_bytes(), JsonLimits::default()) {
            Ok(object) => Self::Object(object),
            Err(_) => Self::Damaged(text),
        }
    }

    /// The text that is streamed.
    pub fn to_text(&self) -> String {
        match self {
            // A map of strings and values always serializes.
            Self::Object(object) => serde_json::to_string(object).unwrap_or_default(),
            Self::Damaged(text) => text.clone(),
        }
    }
}

/// In what pieces an answer is streamed, and how fast. Lists are gone through again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// How many bytes each piece has, at least one character; everything at once if empty.
    pub chunk_bytes: Vec<usize>,
    /// How long to wait before each piece; not at all if empty.
    pub delays: Vec<Duration>,
}

/// How an answer ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Finish {
    /// As it should: with its calls, or with its last word.
    #[default]
    Normal,
    /// For this reason.
    Stop(StopReason),
    /// With an error of the provider.
    Error(ProviderError),
    /// With the connection.
    Cut,
}

/// A result that a request has to contain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The call it answers.
    pub call_id: String,
    /// How that call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// What went wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// Texts its content holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
}

/// A request is not the one that the step was recorded for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unexpected {
    /// A result is missing.
    #[error("the request holds no result for {call_id}; it has {}", list(there))]
    Missing {
        /// The call whose result is missing.
        call_id: String,
        /// The calls that have one.
        there: Vec<CallId>,
    },
    /// A result is another.
    #[error("the result for {call_id} has {what} {got}, expected {expected}")]
    Other {
        /// The call whose result it is.
        call_id: String,
        /// What about it is other.
        what: &'static str,
        /// What it is.
        got: String,
        /// What it has to be.
        expected: String,
    },
}

fn list(ids: &[CallId]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    let ids: Vec<&str> = ids.iter().map(CallId::as_str).collect();
    ids.join(", ")
}

impl Step {
    /// Holds the results of a request against what the step expects.
    pub fn check(&self, results: &[ToolResult]) -> Result<(), Unexpected> {
        self.expect.iter().try_for_each(|one| one.check(results))
    }

    /// Why there is no answer at all, if nothing came before its error: such a question can be
    /// asked again.
    pub fn refusal(&self) -> Option<StreamError> {
        if !self.parts.is_empty() || self.usage.is_some() {
            return None;
        }
        match &self.finish {
            Finish::Error(error) => Some(StreamError::Provider(error.clone())),
            Finish::Cut => Some(StreamError::Nothing),
            Finish::Normal | Finish::Stop(_) => None,
        }
    }
}

impl Expected {
    fn check(&self, results: &[ToolResult]) -> Result<(), Unexpected> {
        let mut found = results.iter().rev();
        let found = found.find(|result| result.call_id.as_str() == self.call_id);
        let Some(result) = found else {
            return Err(Unexpected::Missing {
                call_id: self.call_id.clone(),
                there: results.iter().map(|one| one.call_id.clone()).collect(),
            });
        };
        let other = |what, got: String, expected: String| {
            Err(Unexpected::Other {
                call_id: self.call_id.clone(),
                what,
                got,
                expected,
            })
        };
        if let Some(status) = self.status
            && status != result.status()
        {
            let word = |status: Status| format!("{status:?}").to_lowercase();
            return other("status", word(result.status()), word(status));
        }
        if let Some(kind) = self.kind
            && Some(kind) != result.kind()
        {
            let got = result.kind().map_or("none", ErrorKind::as_str);
            return other("kind", got.to_owned(), kind.as_str().to_owned());
        }
        let missing = |text: &&String| !result.content.contains(text.as_str());
        match self.contains.iter().find(missing) {
            Some(text) => {
                let got = crate::fenced::head(&result.content);
                other("content", format!("{got:?}"), format!("{text:?} in it"))
            }
            None => Ok(()),
        }
    }
}
