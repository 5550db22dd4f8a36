//! Events: one enum for terminal, socket and journal.
//!
//! ```text
//!  journalled  seq                    turn_started, user_message, assistant_message, call_*, approval_*,
//!                                     turn_finished: sent when the entry is durable, and the same on replay
//!  streamed    (message_id, offset)   text_delta, thinking_delta
//!              (call_id, offset)      output_chunk
//!  neither                            error
//! ```
//!
//! A client applies a piece whose `offset` is the number of bytes that it holds, ignores one
//! below, and reads the journal again if there is a gap.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{ApprovalOutcome, ApprovalQuestion};
use crate::call::Args;
use crate::ids::{CallId, ConversationId, MessageId};
use crate::plan::PlanRecord;
use crate::result::ToolResult;

/// Which of a command's two outputs a chunk came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output, or the only output a tool has.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something that happened in a conversation.
///
/// ```
/// use toolgate_model::{Event, EventKind};
///
/// let kind = EventKind::Error { message: "disk full".into() };
/// let json = serde_json::to_value(Event::unnumbered("c", kind)).unwrap();
/// assert_eq!(json, serde_json::json!({
///     "conversation_id": "c", "type": "error", "message": "disk full",
/// }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The number of the journal entry that records it. It never repeats in a conversation.
    /// Absent for streamed pieces and errors, and for an event whose entry is not durable yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. Per call: started before any chunk, finished after the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn begins.
    TurnStarted {
        /// The turn's number in the conversation.
        turn: u64,
        /// The provider.
        provider: String,
        /// The model.
        model: String,
    },
    /// The user said something.
    UserMessage {
        /// The words.
        text: String,
    },
    /// A piece of the answer's text.
    TextDelta {
        /// The answer.
        message_id: MessageId,
        /// How many bytes of its text were sent before.
        offset: u64,
        /// The piece, sanitized and redacted.
        text: String,
    },
    /// A piece of the model's thinking.
    ThinkingDelta {
        /// The answer.
        message_id: MessageId,
        /// How many bytes of its thinking were sent before.
        offset: u64,
        /// The piece, sanitized and redacted.
        text: String,
    },
    /// An answer is complete. Its text is what the deltas said, unless it was too long.
    AssistantMessage {
        /// The answer; absent in entries of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        /// All of its text, sanitized and redacted.
        text: String,
        /// All of its thinking, sanitized and redacted.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// Why the model stopped; `withdrawn` where the answer broke off and was asked for again, so
        /// that nothing in it counts.
        stop: String,
        /// What it cost, if the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// A call arrived, whole or damaged.
    CallReceived {
        /// The call.
        call_id: CallId,
        /// The tool as the model named it.
        tool: String,
    },
    /// A call was planned.
    CallPlanned {
        /// Everything known about it before it runs.
        plan: Arc<PlanRecord>,
    },
    /// It needs approval.
    ApprovalRequested {
        /// The whole question.
        #[serde(flatten)]
        question: Arc<ApprovalQuestion>,
    },
    /// An approver, a rule or the clock answered.
    ApprovalAnswered {
        /// The whole answer.
        #[serde(flatten)]
        outcome: Arc<ApprovalOutcome>,
    },
    /// A call begins to run.
    CallStarted {
        /// The call.
        call_id: CallId,
        /// The tool's canonical name.
        tool: String,
        /// Its arguments, sanitized and redacted.
        input: Args,
    },
    /// A piece of output, for the screen; not stored.
    OutputChunk {
        /// The call.
        call_id: CallId,
        /// Where it came from.
        stream: Stream,
        /// How many bytes of the call's output, of both streams, were sent before.
        offset: u64,
        /// The piece, sanitized and redacted.
        text: String,
    },
    /// A call has its result.
    CallFinished {
        /// The one result.
        result: Box<ToolResult>,
    },
    /// A turn is over.
    TurnFinished {
        /// The turn's number.
        turn: u64,
        /// How it ended: `done`, `results_wanted`, `max_iterations`, `cancelled`, `failed`.
        outcome: String,
        /// Why the model stopped, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What all its answers cost together, as far as the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// An entry is on record whose content cannot be read any more.
    EntryMissing {
        /// The entry's kind in the journal.
        entry: String,
        /// Why: `pruned`, or what is wrong with it.
        reason: String,
    },
    /// Something went wrong that is not the result of a call. Not journalled.
    Error {
        /// What.
        message: String,
    },
}

impl Event {
    /// An event without an entry in the journal.
    pub fn unnumbered(conversation_id: impl Into<ConversationId>, kind: EventKind) -> Self {
        Self {
            conversation_id: conversation_id.into(),
            seq: None,
            kind,
        }
    }

    /// The call it belongs to, if it belongs to exactly one.
    pub fn call_id(&self) -> Option<&CallId> {
        self.kind.call_id()
    }
}

impl EventKind {
    /// The call it belongs to, if it belongs to exactly one.
    pub fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::CallReceived { call_id, .. }
            | Self::CallStarted { call_id, .. }
            | Self::OutputChunk { call_id, .. } => Some(call_id),
            Self::CallPlanned { plan } => Some(&plan.call.id),
            Self::CallFinished { result } => Some(&result.call_id),
            _ => None,
        }
    }

    /// Whether it is a streamed piece, which is sent once and not stored.
    pub const fn is_streamed(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::OutputChunk { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ApprovalId;
    use crate::plan::Risk;

    #[test]
    fn events_carry_their_type_and_call() {
        let chunk = EventKind::OutputChunk {
            call_id: "c".into(),
            stream: Stream::Stderr,
            offset: 7,
            text: "x".into(),
        };
        let event = Event::unnumbered("talk", chunk);
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["type"], "output_chunk");
        assert_eq!(json["stream"], "stderr");
        assert_eq!(
            (&json["conversation_id"], &json["offset"]),
            (&"talk".into(), &7.into())
        );
        assert!(json.get("seq").is_none());
        assert_eq!(event.call_id().unwrap().as_str(), "c");
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
        let finished = EventKind::CallFinished {
            result: Box::new(ToolResult::ok("d".into(), "t", "")),
        };
        assert_eq!(finished.call_id().unwrap().as_str(), "d");
        let message = "x".to_owned();
        assert!(EventKind::Error { message }.call_id().is_none());
    }

    #[test]
    fn a_question_is_flat_and_whole() {
        let question = ApprovalQuestion {
            approval_id: ApprovalId::from_bits(7),
            risk: Risk::High,
            items: Vec::new(),
            expires_at: Some(60_000),
        };
        let event = Event {
            conversation_id: "talk".into(),
            seq: Some(9),
            kind: EventKind::ApprovalRequested {
                question: Arc::new(question),
            },
        };
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!((&json["seq"], &json["risk"]), (&9.into(), &"high".into()));
        assert_eq!(json["expires_at"], 60_000);
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
    }
}
