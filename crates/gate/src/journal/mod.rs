//! What the gate needs of a record: that it holds before an effect happens.
//!
//! ```text
//! Entry, Entry, … ──▶ Journal::commit ──▶ durable, all of them
//! Intended, …     ──▶ Journal::intend ──▶ durable, with the files as they were (Image)
//! ```
//!
//! What can go wrong: the record cannot be written. Then nothing is asked, started or
//! renamed, and the call settles with kind `journal`.

mod files;
mod intent;
mod memory;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_model::{
    ApprovalId, BadCall, CallId, ConversationId, PlanHash, PlanRecord, ToolCall, ToolResult,
};

pub use files::{FileProblem, Files};
pub use intent::{Image, Intended, IntendedFile, Recovered, RecoveredFile};
pub use memory::MemoryJournal;

/// Something that happened to a call, or in a conversation.
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
        plan: Arc<PlanRecord>,
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
        /// Folders beyond the walls that were opened to the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<String>,
    },
    /// It begins to run, now.
    Started,
    /// It is about to change files: everything that is needed to finish or to undo that.
    Intended {
        /// Every file of the change.
        files: Vec<IntendedFile>,
    },
    /// A change that a crash had cut short was finished, undone, or left as it was found.
    Recovered {
        /// What was done.
        outcome: Recovered,
        /// What was found of each file.
        files: Vec<RecoveredFile>,
    },
    /// It has its result.
    Finished {
        /// The one result.
        result: Box<ToolResult>,
    },
    /// A turn begins. Belongs to no call, like the kinds after it.
    TurnStarted {
        /// Its number in the conversation; the first is 1.
        turn: u64,
        /// Who is asked.
        provider: String,
        /// Which model is asked.
        model: String,
        /// How it works, where that has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preset: Option<String>,
    },
    /// The person said something.
    UserMessage {
        /// The words.
        text: String,
    },
    /// What was said before this conversation came here, as whoever carries it in tells it.
    /// None of its calls ran here.
    CarriedIn {
        /// The messages, in their order.
        messages: Value,
    },
    /// A part of an answer that is still coming in. The whole answer, when it is there,
    /// says all of it again.
    Streamed {
        /// What came since the last part: text, thinking and whole calls, in their order.
        content: Value,
    },
    /// The model answered.
    AssistantMessage {
        /// Text, thinking with its seals, and calls, in their order.
        content: Value,
        /// Why it stopped.
        stop: String,
        /// What it cost, if the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// A turn is over.
    TurnFinished {
        /// Its number in the conversation.
        turn: u64,
        /// How it ended, in one word.
        outcome: String,
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl Record {
    /// Its name, as it stands in the record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Received { .. } => "received",
            Self::ReceivedBad { .. } => "received_bad",
            Self::Planned { .. } => "planned",
            Self::Asked { .. } => "asked",
            Self::Answered { .. } => "answered",
            Self::Started => "started",
            Self::Intended { .. } => "intended",
            Self::Recovered { .. } => "recovered",
            Self::Finished { .. } => "finished",
            Self::TurnStarted { .. } => "turn_started",
            Self::UserMessage { .. } => "user_message",
            Self::CarriedIn { .. } => "carried_in",
            Self::Streamed { .. } => "streamed",
            Self::AssistantMessage { .. } => "assistant_message",
            Self::TurnFinished { .. } => "turn_finished",
        }
    }

    /// Whether an entry of this kind belongs to no call.
    pub fn is_of_no_call(kind: &str) -> bool {
        matches!(
            kind,
            "turn_started"
                | "user_message"
                | "carried_in"
                | "streamed"
                | "assistant_message"
                | "turn_finished"
        )
    }
}

/// One line of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call; empty where the entry belongs to none.
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

impl JournalError {
    /// An error that says what went wrong and how to go on.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A place where entries are kept for good.
pub trait Journal: Send + Sync {
    /// Writes all of the entries, or none; they are durable when this returns.
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Writes an intent and the contents it would replace, together or not at all;
    /// durable when this returns. A journal that has no place for contents refuses, and
    /// the change does not happen.
    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        let _ = (entry, images);
        let message = "this journal keeps no contents of files, so a change of files \
                       could not be undone after a crash";
        Box::pin(std::future::ready(Err(JournalError {
            message: message.to_owned(),
        })))
    }
}
