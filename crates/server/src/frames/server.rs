//! Frames from the server.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::snapshot::Snapshot;

/// A frame from the server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "payload")]
pub enum ServerFrame {
    /// Answers `chat:hello`.
    #[serde(rename = "chat:welcome")]
    Welcome(Welcome),
    /// Everything that was missed has been sent: questions may be answered.
    #[serde(rename = "chat:ready")]
    Ready(Ready),
    /// A message was taken.
    #[serde(rename = "chat:accepted")]
    Accepted(Accepted),
    /// A turn begins.
    #[serde(rename = "chat:stream-start")]
    StreamStart(StreamStart),
    /// The user said something.
    #[serde(rename = "chat:user-message")]
    UserMessage(UserMessage),
    /// A piece of the answer.
    #[serde(rename = "chat:text-delta")]
    TextDelta(TextDelta),
    /// A piece of the model's thinking.
    #[serde(rename = "chat:thinking-delta")]
    ThinkingDelta(TextDelta),
    /// An answer is complete.
    #[serde(rename = "chat:message")]
    Message(Message),
    /// A call arrived.
    #[serde(rename = "chat:tool-received")]
    ToolReceived(ToolReceived),
    /// A call was planned.
    #[serde(rename = "chat:tool-planned")]
    ToolPlanned(ToolPlanned),
    /// A call needs approval.
    #[serde(rename = "chat:tool-confirm")]
    ToolConfirm(Box<Confirm>),
    /// A question is over.
    #[serde(rename = "chat:approval-resolved")]
    ApprovalResolved(ApprovalResolved),
    /// A call begins to run.
    #[serde(rename = "chat:tool-start")]
    ToolStart(ToolStart),
    /// A piece of a call's output.
    #[serde(rename = "chat:tool-delta")]
    ToolDelta(ToolDelta),
    /// A call has its result.
    #[serde(rename = "chat:tool-result")]
    ToolResult(Box<ToolResultFrame>),
    /// A turn is over.
    #[serde(rename = "chat:stream-end")]
    StreamEnd(StreamEnd),
    /// An entry of the journal cannot be read any more.
    #[serde(rename = "chat:entry-missing")]
    EntryMissing(EntryMissing),
    /// The state of a conversation.
    #[serde(rename = "chat:snapshot")]
    Snapshot(Box<Snapshot>),
    /// Everything that waits for an answer.
    #[serde(rename = "chat:inbox")]
    Inbox(Inbox),
    /// The server is there.
    #[serde(rename = "chat:ping")]
    Ping(Ping),
    /// Something was refused or went wrong.
    #[serde(rename = "chat:error")]
    Error(ErrorFrame),
}

/// What a client has to know.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Welcome {
    /// The version of the protocol.
    pub protocol: u32,
    /// Changes with every start of the server.
    pub epoch: String,
    /// How often `chat:ping` comes. A client that hears nothing for 2.5 times as long reconnects.
    pub heartbeat_ms: u64,
    /// Whose token this is.
    pub name: String,
    /// What it may do.
    pub role: crate::auth::Role,
    /// What is accepted.
    pub limits: WelcomeLimits,
}

/// What is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WelcomeLimits {
    /// The most bytes of a frame.
    pub frame_bytes: usize,
    /// The most conversations that one connection follows.
    pub subscriptions: usize,
}

/// What was caught up with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ready {
    /// The conversations.
    pub conversation_ids: Vec<String>,
}

/// A message was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Accepted {
    /// The conversation.
    pub conversation_id: String,
    /// The turn that it began.
    pub turn: u64,
    /// The client's name of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// A turn begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamStart {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The turn, as a message; its answers have names of their own.
    pub message_id: String,
    /// The turn's number.
    pub turn: u64,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
}

/// The user said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UserMessage {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The words.
    pub content: String,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TextDelta {
    /// The conversation.
    pub conversation_id: String,
    /// The answer.
    pub message_id: String,
    /// How many bytes came before.
    pub offset: u64,
    /// The piece.
    pub content: String,
}

/// An answer is complete.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Message {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer.
    pub message_id: String,
    /// All of its text.
    pub content: String,
    /// All of its thinking.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// Why the model stopped.
    pub stop: String,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
}

/// A call arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolReceived {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// The tool as the model named it.
    pub tool_name: String,
}

/// A call was planned.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolPlanned {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// The tool's canonical name.
    pub tool_name: String,
    /// What it will do, as a title.
    pub summary: String,
    /// How much harm it can do.
    pub risk: String,
    /// What the rules say: `allow`, `ask` or `deny`.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// What an answer is bound to.
    pub plan_hash: String,
}

/// A call that needs approval. The texts are what an approver decides by; only `model_reason`
/// is the model's own words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Confirm {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// The tool's canonical name.
    pub tool_name: String,
    /// The arguments.
    pub input: Value,
    /// The question that the call belongs to.
    pub approval_id: String,
    /// Which call of the question this is, from 0.
    pub index: usize,
    /// How many calls the question has.
    pub count: usize,
    /// What the answer is bound to.
    pub plan_hash: String,
    /// Whether it waits: a question of an earlier run, and one that was answered, does not.
    pub pending: bool,
    /// Whether this client may answer.
    pub may_answer: bool,
    /// When it expires whoever watches, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// How long it waits while no approver watches the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_unwatched_ms: Option<u64>,
    /// What the call will do, as a title.
    pub summary: String,
    /// Every argument that the preview does not show, whole.
    pub whole: String,
    /// The diff or text to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether something is missing from the preview because it was too long.
    pub preview_cut: bool,
    /// How much harm it can do.
    pub risk: String,
    /// What it touches.
    pub locations: Vec<String>,
    /// Why the user is asked.
    pub why: String,
    /// What the model says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_reason: Option<String>,
    /// What it does, in words, the gravest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// What the sandbox will refuse of it after a plain yes, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_fail: Vec<String>,
    /// Directories beyond the sandbox that the call would need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub could_open: Vec<String>,
    /// What "always" would remember.
    pub would_remember: Vec<String>,
    /// Examples of calls that the remembered rule would allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_cover: Vec<String>,
}

/// A question is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalResolved {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The question.
    pub approval_id: String,
    /// `approved`, `denied`, `partly_approved` or `unanswered`.
    pub outcome: String,
    /// Who answered.
    pub by: String,
    /// The calls that may run.
    pub approved: Vec<String>,
    /// The calls that may not.
    pub denied: Vec<String>,
    /// How long the answer is remembered.
    pub scope: String,
    /// The approver's words, or why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A call begins to run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolStart {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// The tool's canonical name.
    pub tool_name: String,
    /// The arguments.
    pub input: Value,
}

/// A piece of a call's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolDelta {
    /// The conversation.
    pub conversation_id: String,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// How many bytes of the call's output came before.
    pub offset: u64,
    /// The piece.
    pub chunk: String,
}

/// A call has its result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolResultFrame {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The answer that has the call.
    pub message_id: String,
    /// The call.
    pub tool_id: String,
    /// The tool's canonical name.
    pub tool_name: String,
    /// `success` or `error`.
    pub status: String,
    /// Why not, where the status is `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What the model gets.
    pub result: String,
    /// What the user sees, short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// Facts about the run.
    pub metadata: Value,
    /// Whether the result was cut.
    pub truncated: bool,
    /// The whole output, for `read_output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_handle: Option<String>,
    /// How long it ran.
    pub duration_ms: u64,
}

/// A turn is over.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamEnd {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The turn, as in `chat:stream-start`.
    pub message_id: String,
    /// The turn's number.
    pub turn: u64,
    /// `done`, `results_wanted`, `max_iterations`, `cancelled` or `failed`.
    pub outcome: String,
    /// Whether the answer breaks off: the turn was cancelled or failed.
    pub partial: bool,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What all answers cost together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
}

/// An entry of the journal cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntryMissing {
    /// The conversation.
    pub conversation_id: String,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The entry's kind.
    pub entry: String,
    /// Why.
    pub reason: String,
}

/// Everything that waits for an answer and that this client may see.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Inbox {
    /// The calls, in the order of their questions.
    pub approvals: Vec<Confirm>,
    /// How many there are; more than are listed where there are very many.
    pub total: usize,
}

/// The server is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ping {
    /// The last `seq` that was sent of each conversation that is followed.
    pub seqs: std::collections::BTreeMap<String, u64>,
}

/// Something was refused or went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorFrame {
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The client's name of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What kind of error.
    pub kind: String,
    /// What happened, and what to do.
    pub message: String,
}
