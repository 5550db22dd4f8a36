//! Frames from clients.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_model::json::{self, JsonLimits};
use utoipa::ToSchema;

/// The most arrays and objects inside each other.
const MAX_DEPTH: usize = 32;

/// A frame from a client. Unknown types and fields are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "payload", deny_unknown_fields)]
pub enum ClientFrame {
    /// Begins a session and catches up.
    #[serde(rename = "chat:hello")]
    Hello(Hello),
    /// Follows a conversation, or the questions of all.
    #[serde(rename = "chat:subscribe")]
    Subscribe(Subscribe),
    /// Follows a conversation no longer.
    #[serde(rename = "chat:unsubscribe")]
    Unsubscribe(Select),
    /// Says something; a conversation that does not exist begins.
    #[serde(rename = "chat:send")]
    Send(Send),
    /// Stops the turn that runs.
    #[serde(rename = "chat:cancel")]
    Cancel(Cancel),
    /// Answers a question.
    #[serde(rename = "chat:tool-approve")]
    ToolApprove(ToolApprove),
    /// Asks for the whole state of a conversation.
    #[serde(rename = "chat:snapshot")]
    Snapshot(SnapshotOf),
    /// Settles what a crash left of the last turn.
    #[serde(rename = "chat:resume")]
    Resume(Resume),
}

/// What a client knows when it comes (back).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version it speaks.
    pub protocol: u32,
    /// The conversations it goes on with.
    #[serde(default)]
    pub resume: Vec<ResumeAt>,
}

/// How far a client knows a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeAt {
    /// The conversation.
    pub conversation_id: String,
    /// The last `seq` that it applied.
    #[serde(default)]
    pub after_seq: u64,
    /// The epoch of the server that told it so.
    #[serde(default)]
    pub epoch: Option<String>,
}

/// What is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// The conversation.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// The last `seq` that is known [default: 0].
    #[serde(default)]
    pub after_seq: u64,
    /// Whether the questions of all conversations are sent.
    #[serde(default)]
    pub inbox: bool,
}

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// The conversation.
    pub conversation_id: String,
}

/// Whose turn stops.
pub type Cancel = Select;
/// Whose state is wanted.
pub type SnapshotOf = Select;

/// Words of the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The conversation.
    pub conversation_id: String,
    /// The words.
    pub message: String,
    /// What was said before, where the conversation begins here. The journal of one that is
    /// there already has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<ChatMessage>,
    /// A name of this request: sent again, it has the same answer and nothing is said twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// A message of a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// The words.
    #[serde(default)]
    pub content: String,
    /// The calls of an assistant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Value>,
    /// The result of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<Value>,
}

/// An answer: to one call by `tool_id` and `approved`, or to a whole question by `approval_id`
/// and `approve`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolApprove {
    /// The conversation; needed where two questions have a call of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// Whether it may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The plan that was shown of this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// Which of its calls may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approve>,
    /// The plans that were shown, by call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plan_hashes: BTreeMap<String, String>,
    /// How long a yes is remembered: `once`, `conversation` or `project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    /// What the model is told about a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A name of this request, repeated in its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Which calls may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(untagged)]
pub enum Approve {
    /// All or none.
    Word(ApproveWord),
    /// These.
    Calls(Vec<String>),
}

/// All calls or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApproveWord {
    /// All of them.
    All,
    /// None of them.
    None,
}

/// What becomes of a turn that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The conversation.
    pub conversation_id: String,
    /// `keep`: the model is told what is known of each call. `discard`: that nothing counts.
    #[serde(default)]
    pub choice: Option<String>,
}

/// Why a frame was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FrameError(pub String);

impl ClientFrame {
    /// Reads a frame of at most so many bytes.
    ///
    /// ```
    /// use toolgate_server::frames::ClientFrame;
    ///
    /// let text = br#"{"type": "chat:cancel", "payload": {"conversation_id": "c"}}"#;
    /// assert!(matches!(ClientFrame::read(text, 1024), Ok(ClientFrame::Cancel(_))));
    /// assert!(ClientFrame::read(br#"{"type": "chat:stop", "payload": {}}"#, 1024).is_err());
    /// ```
    pub fn read(text: &[u8], max_bytes: usize) -> Result<Self, FrameError> {
        let limits = JsonLimits {
            max_bytes,
            max_depth: MAX_DEPTH,
        };
        let value = json::parse(text, limits).map_err(|error| FrameError(error.to_string()))?;
        serde_json::from_value(value).map_err(|error| FrameError(error.to_string()))
    }
}
