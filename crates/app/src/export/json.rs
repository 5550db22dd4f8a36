//! The documented form, for other programs.

use serde::Serialize;
use toolgate_model::characters::escape_json;
use toolgate_model::{ToolCall, ToolResult};
use toolgate_providers::Usage;

use super::transcript::{Message, PRUNED, Said, Transcript};
use crate::time as clock;

#[derive(Serialize)]
struct Exported<'a> {
    conversation: &'a str,
    workspace: Option<&'a str>,
    model: Option<&'a str>,
    messages: Vec<Entry<'a>>,
    usage: Option<&'a Usage>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: String,
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    timestamp: String,
    #[serde(skip_serializing_if = "<[ToolCall]>::is_empty")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_result: Option<&'a ToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approved<'a>>,
    /// Where a turn did not end as it should: how, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_ended: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Approved<'a> {
    by: &'a str,
    decision: &'static str,
    scope: &'a str,
    at: String,
}

pub(super) fn render(transcript: &Transcript) -> String {
    let exported = Exported {
        conversation: &transcript.conversation,
        workspace: transcript.workspace.as_deref(),
        model: transcript.model.as_deref(),
        messages: transcript.messages.iter().map(entry).collect(),
        usage: transcript.usage.as_ref(),
    };
    // Text, numbers and lists of them always serialize.
    let page = serde_json::to_string_pretty(&exported).unwrap_or_default();
    format!("{}\n", escape_json(&page))
}

fn entry(message: &Message) -> Entry<'_> {
    let mut entry = Entry {
        id: format!("m{}", message.seq),
        role: "user",
        content: "",
        thinking: None,
        timestamp: clock::stamp(message.at_ms),
        tool_calls: &[],
        tool_result: None,
        approval: None,
        turn_ended: None,
        error: None,
    };
    match &message.said {
        Said::User { text } => entry.content = text,
        Said::Assistant {
            text,
            thinking,
            calls,
            ..
        } => {
            entry.role = "assistant";
            entry.content = text;
            entry.thinking = thinking.as_deref();
            entry.tool_calls = calls;
        }
        Said::Ended { outcome, error } => {
            entry.role = "assistant";
            entry.turn_ended = Some(outcome);
            entry.error = error.as_deref();
        }
        Said::Tool(story) => {
            entry.role = "tool";
            // Two messages can come from one entry where a call never arrived.
            entry.id = format!("m{}_{}", message.seq, story.call.id);
            // A result that was there and is gone is not the same as none.
            let gone = story.finished_ms.map_or("", |_| PRUNED);
            entry.content = story.result.as_ref().map_or(gone, |result| &result.content);
            entry.tool_result = story.result.as_ref();
            entry.approval = story.approval.as_ref().map(|approval| Approved {
                by: &approval.by,
                decision: if approval.approved {
                    "approved"
                } else {
                    "denied"
                },
                scope: &approval.scope,
                at: clock::stamp(approval.at_ms),
            });
        }
    }
    entry
}
