//! The state of a conversation as one frame.

use schemars::JsonSchema;
use serde::Serialize;

use super::server::{Confirm, TextDelta, ToolStart};

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotState {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Running,
    /// A crash interrupted the last turn; `chat:resume` or the next message settles it.
    Interrupted,
}

/// The state of a conversation, where a replay alone does not give it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// The conversation.
    pub conversation_id: String,
    /// The epoch of this server.
    pub epoch: String,
    /// The last entry that this state contains.
    pub seq: u64,
    /// Whether the client was too slow and missed streamed pieces.
    pub behind: bool,
    /// Whether the client has to forget what it holds: the journal is another one.
    pub reset: bool,
    /// Where the conversation stands.
    pub state: SnapshotState,
    /// The turn that runs or ran last.
    pub turn: u64,
    /// The answer that comes in, from its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<TextDelta>,
    /// Its thinking, from its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<TextDelta>,
    /// The calls that run.
    pub calls: Vec<RunningCall>,
    /// The questions that wait, whole.
    pub approvals: Vec<Confirm>,
}

/// A call that runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunningCall {
    /// How it began.
    pub start: ToolStart,
    /// Where the output below begins, in bytes.
    pub offset: u64,
    /// The last of its output.
    pub tail: String,
}
