//! From an event of a conversation to the frames that say it.

use toolgate_app::approvals::{ApprovalItem, ApprovalRequest};
use toolgate_model::{ApprovalOutcome, ApprovalQuestion, Event, EventKind, PlanRecord, ToolResult};

use super::server::{
    ApprovalResolved, Confirm, EntryMissing, ErrorFrame, Message, ServerFrame, StreamEnd,
    StreamStart, TextDelta, ToolDelta, ToolPlanned, ToolReceived, ToolResultFrame, ToolStart,
    UserMessage,
};

/// Makes frames of the events of one conversation, in their order. It remembers which answer
/// the calls belong to.
#[derive(Clone, Debug)]
pub struct Frames {
    conversation: String,
    message: String,
}

/// How a question is shown to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Whether it waits.
    pub(crate) pending: bool,
    /// Whether the client may answer.
    pub(crate) may_answer: bool,
    /// When it expires whoever watches.
    pub(crate) expires_at: Option<u64>,
    /// How long it waits while nobody watches.
    pub(crate) unwatched_ms: Option<u64>,
}

impl Frames {
    /// For the conversation of this id.
    pub fn of(conversation: impl Into<String>) -> Self {
        Self {
            conversation: conversation.into(),
            message: String::new(),
        }
    }

    /// The frame of an event that is not a question.
    ///
    /// ```
    /// use toolgate_model::{Event, EventKind};
    /// use toolgate_server::frames::Frames;
    ///
    /// let kind = EventKind::UserMessage { text: "Hello.".into() };
    /// let event = Event { seq: Some(2), ..Event::unnumbered("c", kind) };
    /// let frame = Frames::of("c").frame(&event).unwrap();
    /// assert_eq!(serde_json::to_value(frame).unwrap(), serde_json::json!({
    ///     "type": "chat:user-message",
    ///     "payload": {"conversation_id": "c", "seq": 2, "content": "Hello."},
    /// }));
    /// ```
    pub fn frame(&mut self, event: &Event) -> Option<ServerFrame> {
        let (conversation_id, seq) = (self.conversation.clone(), event.seq);
        Some(match &event.kind {
            EventKind::TurnStarted {
                turn,
                provider,
                model,
            } => {
                self.message = turn_message(*turn);
                ServerFrame::StreamStart(StreamStart {
                    conversation_id,
                    seq,
                    message_id: self.message.clone(),
                    turn: *turn,
                    provider: provider.clone(),
                    model: model.clone(),
                })
            }
            EventKind::UserMessage { text } => ServerFrame::UserMessage(UserMessage {
                conversation_id,
                seq,
                content: text.clone(),
            }),
            EventKind::TextDelta {
                message_id,
                offset,
                text,
            } => ServerFrame::TextDelta(self.delta(message_id.as_str(), *offset, text)),
            EventKind::ThinkingDelta {
                message_id,
                offset,
                text,
            } => ServerFrame::ThinkingDelta(self.delta(message_id.as_str(), *offset, text)),
            EventKind::AssistantMessage {
                message_id,
                text,
                thinking,
                stop,
                usage,
            } => {
                if let Some(id) = message_id {
                    self.message = id.as_str().to_owned();
                }
                ServerFrame::Message(Message {
                    conversation_id,
                    seq,
                    message_id: self.message.clone(),
                    content: text.clone(),
                    thinking: thinking.clone(),
                    stop: stop.clone(),
                    usage: usage.clone(),
                })
            }
            EventKind::CallReceived { call_id, tool } => ServerFrame::ToolReceived(ToolReceived {
                conversation_id,
                seq,
                message_id: self.message.clone(),
                tool_id: call_id.as_str().to_owned(),
                tool_name: tool.clone(),
            }),
            EventKind::CallPlanned { plan } => ServerFrame::ToolPlanned(self.planned(seq, plan)),
            EventKind::ApprovalRequested { .. } => return None,
            EventKind::ApprovalAnswered { outcome } => {
                ServerFrame::ApprovalResolved(resolved(conversation_id, seq, outcome))
            }
            EventKind::CallStarted {
                call_id,
                tool,
                input,
            } => ServerFrame::ToolStart(ToolStart {
                conversation_id,
                seq,
                message_id: self.message.clone(),
                tool_id: call_id.as_str().to_owned(),
                tool_name: tool.clone(),
                input: input.clone().into(),
            }),
            EventKind::OutputChunk {
                call_id,
                stream,
                offset,
                text,
            } => ServerFrame::ToolDelta(ToolDelta {
                conversation_id,
                message_id: self.message.clone(),
                tool_id: call_id.as_str().to_owned(),
                stream: match stream {
                    toolgate_model::Stream::Stdout => "stdout",
                    toolgate_model::Stream::Stderr => "stderr",
                }
                .to_owned(),
                offset: *offset,
                chunk: text.clone(),
            }),
            EventKind::CallFinished { result } => {
                ServerFrame::ToolResult(Box::new(self.result(seq, result)))
            }
            EventKind::TurnFinished {
                turn,
                outcome,
                stop,
                error,
                usage,
            } => ServerFrame::StreamEnd(StreamEnd {
                conversation_id,
                seq,
                message_id: turn_message(*turn),
                turn: *turn,
                outcome: outcome.clone(),
                partial: matches!(outcome.as_str(), "cancelled" | "failed"),
                stop: stop.clone(),
                error: error.clone(),
                usage: usage.clone(),
            }),
            EventKind::EntryMissing { entry, reason } => ServerFrame::EntryMissing(EntryMissing {
                conversation_id,
                seq,
                entry: entry.clone(),
                reason: reason.clone(),
            }),
            EventKind::Error { message } => ServerFrame::Error(ErrorFrame {
                conversation_id: Some(conversation_id),
                request_id: None,
                kind: "failed".to_owned(),
                message: message.clone(),
            }),
            // The enum is open: what this version does not know is not sent.
            _ => return None,
        })
    }

    /// The frames of a question as it is in the journal.
    pub(crate) fn question(
        &self,
        seq: Option<u64>,
        question: &ApprovalQuestion,
        shown: Shown,
    ) -> Vec<Confirm> {
        let id = question.approval_id.to_string();
        self.items(seq, &id, &question.items, shown)
    }

    /// The frames of a question as its approver sees it.
    pub(crate) fn request(
        &self,
        seq: Option<u64>,
        request: &ApprovalRequest,
        shown: Shown,
    ) -> Vec<Confirm> {
        self.items(seq, &request.id.to_string(), &request.items, shown)
    }

    fn items(
        &self,
        seq: Option<u64>,
        approval_id: &str,
        items: &[ApprovalItem],
        shown: Shown,
    ) -> Vec<Confirm> {
        let count = items.len();
        let confirm = |(index, item): (usize, &ApprovalItem)| Confirm {
            conversation_id: self.conversation.clone(),
            seq,
            message_id: self.message.clone(),
            tool_id: item.call_id.as_str().to_owned(),
            tool_name: item.tool.clone(),
            input: item.args.clone().into(),
            approval_id: approval_id.to_owned(),
            index,
            count,
            plan_hash: item.plan_hash.as_str().to_owned(),
            pending: shown.pending,
            may_answer: shown.pending && shown.may_answer,
            expires_at: shown.expires_at,
            expires_unwatched_ms: shown.unwatched_ms,
            summary: item.summary.clone(),
            whole: item.whole.clone(),
            preview: item.preview.clone(),
            preview_cut: item.preview_cut,
            risk: word(&item.risk),
            locations: item.locations.clone(),
            why: item.why.clone(),
            model_reason: item.model_reason.clone(),
            effects: item.effects.clone(),
            would_fail: item.would_fail.clone(),
            could_open: item.could_open.clone(),
            would_remember: item.would_remember.clone(),
            would_cover: item.would_cover.clone(),
        };
        items.iter().enumerate().map(confirm).collect()
    }

    fn delta(&self, message_id: &str, offset: u64, content: &str) -> TextDelta {
        TextDelta {
            conversation_id: self.conversation.clone(),
            message_id: message_id.to_owned(),
            offset,
            content: content.to_owned(),
        }
    }

    fn planned(&self, seq: Option<u64>, plan: &PlanRecord) -> ToolPlanned {
        ToolPlanned {
            conversation_id: self.conversation.clone(),
            seq,
            message_id: self.message.clone(),
            tool_id: plan.call.id.as_str().to_owned(),
            tool_name: plan.tool.clone(),
            summary: plan.summary.clone(),
            risk: word(&plan.risk),
            decision: word(&plan.decision.action),
            reason: plan.decision.reason.clone(),
            plan_hash: plan.plan_hash.as_str().to_owned(),
        }
    }

    fn result(&self, seq: Option<u64>, result: &ToolResult) -> ToolResultFrame {
        let kind = result.kind().map(|kind| kind.as_str().to_owned());
        ToolResultFrame {
            conversation_id: self.conversation.clone(),
            seq,
            message_id: self.message.clone(),
            tool_id: result.call_id.as_str().to_owned(),
            tool_name: result.tool.clone(),
            status: if kind.is_none() { "success" } else { "error" }.to_owned(),
            kind,
            result: result.content.clone(),
            display: Some(result.display.clone()).filter(|text| !text.is_empty()),
            metadata: serde_json::to_value(&result.metadata).unwrap_or_default(),
            truncated: result.truncated,
            output_handle: result
                .output_handle
                .as_ref()
                .map(|handle| handle.as_str().to_owned()),
            duration_ms: result.duration_ms,
        }
    }
}

/// The name of a turn as a message.
fn turn_message(turn: u64) -> String {
    format!("turn_{turn}")
}

/// A value that is one word in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn resolved(
    conversation_id: String,
    seq: Option<u64>,
    outcome: &ApprovalOutcome,
) -> ApprovalResolved {
    let names = |calls: &[toolgate_model::CallId]| -> Vec<String> {
        calls.iter().map(|call| call.as_str().to_owned()).collect()
    };
    let said = match (
        outcome.by == "nobody",
        outcome.approved.is_empty(),
        outcome.denied.is_empty(),
    ) {
        (true, _, _) => "unanswered",
        (_, true, _) => "denied",
        (_, false, true) => "approved",
        (_, false, false) => "partly_approved",
    };
    ApprovalResolved {
        conversation_id,
        seq,
        approval_id: outcome.approval_id.to_string(),
        outcome: said.to_owned(),
        by: outcome.by.clone(),
        approved: names(&outcome.approved),
        denied: names(&outcome.denied),
        scope: outcome.scope.clone(),
        reason: outcome.reason.clone(),
    }
}
