//! What the gate needs of a record: that it holds before an effect happens.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    ApprovalId, BadCall, CallId, ConversationId, PlanHash, PlanRecord, ToolCall, ToolResult,
};

/// Something that happened to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// It arrived.
    Received {
        /// The call as it came.
        call: ToolCall,
    },
    /// It arrived damaged.
    ReceivedBad {
        /// What could be read of it.
        call: BadCall,
    },
    /// It was planned and policy decided.
    Planned {
        /// Everything known about it.
        plan: Box<PlanRecord>,
    },
    /// A person was asked.
    Asked {
        /// The question.
        approval_id: ApprovalId,
        /// What the answer is bound to.
        plan_hash: PlanHash,
    },
    /// The question was answered.
    Answered {
        /// The question.
        approval_id: ApprovalId,
        /// Whether the call may run.
        approved: bool,
        /// How long the answer is remembered: `once`, `conversation`, `project`.
        scope: String,
        /// Who answered.
        by: String,
        /// What the person said about it.
        reason: Option<String>,
    },
    /// It begins to run, now.
    Started,
    /// It has its result.
    Finished {
        /// The one result.
        result: Box<ToolResult>,
    },
}

/// One line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call.
    pub call: CallId,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What.
    pub record: Record,
}

/// Why the record could not be written. No tool runs then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal cannot be written: {message}")]
pub struct JournalError {
    /// What went wrong and how to go on.
    pub message: String,
}

/// A place where entries are kept for good.
pub trait Journal: Send + Sync {
    /// Writes all of the entries, or none; they are durable when this returns.
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>>;
}
