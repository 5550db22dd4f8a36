//! A conversation that was held elsewhere, from the file that `journal export` writes.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toolgate_engine::History;
use toolgate_model::{ToolCall, ToolResult};
use toolgate_providers::{Content, Message};

use super::prepare::INPUT;
use crate::failure::CliError;
use crate::input;

/// An exported conversation. What is not read of it is for people; there is nothing else in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    #[serde(rename = "conversation")]
    _conversation: Option<IgnoredAny>,
    #[serde(rename = "workspace")]
    _workspace: Option<IgnoredAny>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(rename = "usage")]
    _usage: Option<IgnoredAny>,
    messages: Vec<Exchanged>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchanged {
    role: Who,
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    tool_result: Option<ToolResult>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "thinking")]
    _thinking: Option<IgnoredAny>,
    #[serde(rename = "timestamp")]
    _timestamp: Option<IgnoredAny>,
    #[serde(rename = "approval")]
    _approval: Option<IgnoredAny>,
    #[serde(rename = "turn_ended")]
    _turn_ended: Option<IgnoredAny>,
    #[serde(rename = "error")]
    _error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Who {
    User,
    Assistant,
    Tool,
}

/// The messages of the file, as they can be gone on with.
pub(super) fn carried_in(path: &Path) -> Result<Vec<Message>, CliError> {
    let told = |why: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "{}: {why}; a history is what `toolgate journal export --format json` writes",
            path.display()
        ))
    };
    let bytes = input::file(Some(path), INPUT)?;
    // A list would be read as the fields of a structure in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(told(&"it is no JSON object with `messages` in it"));
    }
    let exported: Exported = serde_json::from_slice(&bytes).map_err(|error| told(&error))?;
    let mut messages = Vec::new();
    for message in exported.messages {
        messages.extend(read(message));
    }
    History::carried_in(messages).map_err(|fault| told(&fault))
}

/// Thinking is left out: its seals are not exported, and without them no provider takes it.
fn read(message: Exchanged) -> Option<Message> {
    let words = Some(message.content).filter(|text| !text.trim().is_empty());
    match message.role {
        Who::User => words.map(Message::user),
        Who::Assistant => {
            let words = words.map(Content::text).into_iter();
            let calls = message.tool_calls.into_iter();
            let content: Vec<Content> = words
                .chain(calls.map(|call| Content::Call { call }))
                .collect();
            (!content.is_empty()).then_some(Message::Assistant { content })
        }
        Who::Tool => message.tool_result.map(|result| Message::Tool {
            results: vec![result],
        }),
    }
}
