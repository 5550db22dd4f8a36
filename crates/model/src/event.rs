//! What happens, told to whoever listens: one enum for terminal, socket and journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ApprovalId, CallId, ConversationId};
use crate::plan::{PlanRecord, Risk};
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

/// Something that happened. Per call: started before any chunk, finished after the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The person said something and the model begins.
    TurnStarted {
        /// The conversation.
        conversation: ConversationId,
        /// The turn's number in it.
        turn: u64,
        /// Who is asked.
        provider: String,
        /// Which model is asked.
        model: String,
    },
    /// A piece of the answer's text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of the model's thinking.
    ThinkingDelta {
        /// The piece.
        text: String,
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
    /// A person is asked.
    ApprovalRequested {
        /// The question's single-use name.
        approval_id: ApprovalId,
        /// The calls it is about.
        call_ids: Vec<CallId>,
        /// The highest risk among them.
        risk: Risk,
    },
    /// A person, a rule or the clock answered.
    ApprovalAnswered {
        /// The question's name.
        approval_id: ApprovalId,
        /// The calls that may run.
        approved: Vec<CallId>,
        /// The calls that may not.
        denied: Vec<CallId>,
    },
    /// A call begins to run.
    CallStarted {
        /// The call.
        call_id: CallId,
        /// The tool's canonical name.
        tool: String,
    },
    /// A piece of output, for the screen; not stored.
    OutputChunk {
        /// The call.
        call_id: CallId,
        /// Where it came from.
        stream: Stream,
        /// The piece, sanitized and redacted.
        text: String,
    },
    /// A call has its result.
    CallFinished {
        /// The one result.
        result: Box<ToolResult>,
    },
    /// The answer is complete.
    TurnFinished {
        /// The turn's number.
        turn: u64,
        /// How it ended: `done`, `results_wanted`, `max_iterations`, `cancelled`, `failed`.
        outcome: String,
        /// Why the model stopped, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
        /// What all its answers cost together, as far as the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// Something went wrong that is not the result of a call.
    Error {
        /// What.
        message: String,
    },
}

impl Event {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_carry_their_type_and_call() {
        let event = Event::OutputChunk {
            call_id: "c".into(),
            stream: Stream::Stderr,
            text: "x".into(),
        };
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["type"], "output_chunk");
        assert_eq!(json["stream"], "stderr");
        assert_eq!(event.call_id().unwrap().as_str(), "c");
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
        let finished = Event::CallFinished {
            result: Box::new(ToolResult::ok("d".into(), "t", "")),
        };
        assert_eq!(finished.call_id().unwrap().as_str(), "d");
        let message = "x".to_owned();
        assert!(Event::Error { message }.call_id().is_none());
    }
}
