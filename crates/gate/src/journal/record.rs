//! What is written: records, each in an entry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_model::{
    ApprovalId, ApprovalOutcome, ApprovalQuestion, BadCall, CallId, ConversationId, MessageId,
    Openings, PlanHash, PlanRecord, ToolCall, ToolResult,
};

use super::{IntendedFile, Recovered, RecoveredFile};
use crate::approve::Grant;

/// What an answer opened or allowed until its conversation ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasting {
    /// The grants that were remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// What was opened beyond the sandbox.
    #[serde(default, skip_serializing_if = "Openings::is_empty")]
    pub opened: Openings,
}

impl Lasting {
    /// Whether nothing outlives the call.
    pub const fn is_empty(&self) -> bool {
        self.grants.is_empty() && self.opened.is_empty()
    }

    /// Adds what a later answer opened or allowed. A grant that is known counts once.
    pub fn add(&mut self, more: Self) {
        for grant in more.grants {
            if self.grants.iter().all(|known| known.id != grant.id) {
                self.grants.push(grant);
            }
        }
        self.opened.add(&more.opened);
    }

    /// Takes away what was revoked.
    pub fn remove(&mut self, revoked: &Self) {
        let is_revoked = |grant: &Grant| revoked.grants.iter().any(|gone| gone.id == grant.id);
        self.grants.retain(|grant| !is_revoked(grant));
        self.opened.remove(&revoked.opened);
    }
}

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
        /// The whole question as it was shown, in the entry of its last call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Arc<ApprovalQuestion>>,
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
        /// Directories and networks beyond the sandbox that were opened to the call, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<String>,
        /// What the answer opened or allowed until the conversation ends. It holds when the
        /// conversation is resumed.
        #[serde(default, skip_serializing_if = "Lasting::is_empty")]
        lasting: Box<Lasting>,
        /// The whole answer, in the entry of the question's last call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Arc<ApprovalOutcome>>,
    },
    /// What an answer had opened or allowed until the conversation ends was revoked. Belongs to no
    /// call.
    Revoked {
        /// The grants and openings that no longer hold.
        revoked: Box<Lasting>,
        /// Who revoked them.
        by: String,
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
        /// The file of the project that the model was told to follow, as it was told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<Box<Instructions>>,
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
        /// Its name in the conversation, as in the pieces that were streamed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
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
        /// Why the model stopped, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
        /// What all its answers cost together, as far as the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
}

/// Words of a project for every model that works in it. They are the project's, not the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The file, from the workspace.
    pub path: String,
    /// SHA-256 of the file, as far as it was read.
    pub sha256: String,
    /// What the model was told of it: sanitized and redacted.
    pub text: String,
    /// Whether the file is longer than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
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
            Self::Revoked { .. } => "revoked",
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

    /// Whether it is the result of a call.
    pub fn is_result(&self) -> bool {
        matches!(self, Self::Finished { .. })
    }

    /// Whether an entry of this kind belongs to no call.
    pub fn is_of_no_call(kind: &str) -> bool {
        matches!(
            kind,
            "revoked"
                | "turn_started"
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
