//! A conversation that was held elsewhere, from the JSON that [`export`](crate::export) writes.
//!
//! ```
//! use toolgate_app::carried;
//!
//! let text = br#"{"messages": [{"role": "user", "content": "hello"}]}"#;
//! assert_eq!(carried::read(text)?.len(), 1);
//! assert!(carried::read(b"[]").is_err());
//! # Ok::<(), String>(())
//! ```

use serde::Deserialize;
use serde::de::IgnoredAny;
use toolgate_engine::History;
use toolgate_model::{ToolCall, ToolResult};
use toolgate_providers::Content;

pub use toolgate_providers::Message;

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

/// The messages of an exported conversation, as a turn can follow them. The error says why it
/// is none.
pub fn read(text: &[u8]) -> Result<Vec<Message>, String> {
    // A list would be read as the fields of a structure in their order.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err("it is no JSON object with `messages` in it".to_owned());
    }
    let exported: Exported = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let mut messages = Vec::new();
    for message in exported.messages {
        messages.extend(message_of(message));
    }
    History::carried_in(messages).map_err(|error| error.to_string())
}

/// Thinking is left out: its seals are not exported, and without them no provider takes it.
fn message_of(message: Exchanged) -> Option<Message> {
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
