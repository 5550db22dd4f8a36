//! The messages of a conversation, the same for every wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_model::{BadCall, Call, CallId, ToolCall, ToolResult};

use crate::event::Seal;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The tools.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// What the user says.
    User {
        /// The words.
        text: String,
    },
    /// What the model said, in its order.
    Assistant {
        /// Its parts.
        content: Vec<Content>,
    },
    /// The results of all calls of the message before, in any order.
    Tool {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// Words of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Who says it.
    pub const fn role(&self) -> Role {
        match self {
            Self::User { .. } => Role::User,
            Self::Assistant { .. } => Role::Assistant,
            Self::Tool { .. } => Role::Tool,
        }
    }

    /// The same message in other words: everything that was said, and what calls were made with.
    #[must_use]
    pub fn in_other_words(mut self, other: &impl Fn(&str) -> String) -> Self {
        let say = |text: &mut String| *text = other(text);
        match &mut self {
            Self::User { text } => say(text),
            Self::Assistant { content } => {
                for part in content {
                    part.in_other_words(other);
                }
            }
            Self::Tool { results } => {
                for result in results {
                    say(&mut result.content);
                    say(&mut result.display);
                    for block in &mut result.blocks {
                        block.each_text(&mut |text| say(text));
                    }
                    if let Some(error) = &mut result.error {
                        say(&mut error.message);
                    }
                }
            }
        }
        self
    }
}

/// A part of what a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// Words to the user.
    Text {
        /// The words.
        text: String,
        /// Whether they say that the model does not want to answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refusal: bool,
    },
    /// Words to itself.
    Thinking {
        /// The words, as far as they are shown.
        text: String,
        /// What the wire needs to take them back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Seal>,
    },
    /// A whole call.
    Call {
        /// The call.
        call: ToolCall,
    },
    /// A damaged call: it is answered too.
    BadCall {
        /// The call, as far as it could be read.
        call: BadCall,
    },
}

impl Content {
    fn in_other_words(&mut self, other: &impl Fn(&str) -> String) {
        match self {
            Self::Text { text, .. } => *text = other(text),
            Self::Thinking { text, seal } => {
                let said = other(text);
                if said != *text {
                    // It was for the words that were there.
                    (*text, *seal) = (said, None);
                }
            }
            Self::Call { call } => call.args.values_mut().for_each(|value| say(value, other)),
            Self::BadCall { call } => call.error.message = other(&call.error.message),
        }
    }

    /// Plain words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            refusal: false,
        }
    }

    /// The id of the call, if it is one.
    pub const fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::Call { call } => Some(&call.id),
            Self::BadCall { call } => Some(&call.id),
            Self::Text { .. } | Self::Thinking { .. } => None,
        }
    }
}

/// A value with other words in it.
fn say(value: &mut Value, other: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = other(text),
        Value::Array(items) => items.iter_mut().for_each(|item| say(item, other)),
        Value::Object(fields) => fields.values_mut().for_each(|item| say(item, other)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl From<Call> for Content {
    fn from(call: Call) -> Self {
        match call {
            Call::Whole(call) => Self::Call { call },
            Call::Bad(call) => Self::BadCall { call },
        }
    }
}
