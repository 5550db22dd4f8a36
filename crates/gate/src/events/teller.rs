//! From an entry to its event.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolgate_model::{CallId, EventKind, PlanRecord};

use crate::journal::{Body, Entry, Line, Record};
use crate::output::{Redactor, sanitize};
use crate::settle::shown_name;

/// Makes events of entries, in the order of their conversation. It knows the plans of calls
/// that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    plans: HashMap<CallId, Arc<PlanRecord>>,
}

impl Teller {
    /// Takes note of an entry.
    pub(crate) fn pass(&mut self, call: &CallId, record: &Record) {
        match record {
            Record::Planned { plan } => {
                self.plans.insert(call.clone(), Arc::clone(plan));
            }
            Record::Finished { .. } => {
                self.plans.remove(call);
            }
            _ => {}
        }
    }

    /// Whether an event of this record needs the plan of its call and there is none.
    pub(crate) fn lacks_plan(&self, call: &CallId, record: &Record) -> bool {
        matches!(record, Record::Started) && !self.plans.contains_key(call)
    }

    /// The event of an entry that was passed.
    pub(crate) fn event(&self, entry: &Entry, redactor: &Redactor) -> Option<EventKind> {
        let plan = self.plans.get(&entry.call).map(|plan| &**plan);
        kind_of(&entry.call, &entry.record, plan, redactor)
    }

    /// The event of an entry that was read.
    pub(crate) fn read(&mut self, line: &Line, redactor: &Redactor) -> Option<EventKind> {
        match &line.body {
            Body::Kept(record) => {
                self.pass(&line.call, record);
                let plan = self.plans.get(&line.call).map(|plan| &**plan);
                kind_of(&line.call, record, plan, redactor)
            }
            Body::Pruned => missing(line, "pruned".into()),
            Body::Unreadable(why) => missing(line, redactor.shown(why)),
        }
    }
}

fn missing(line: &Line, reason: String) -> Option<EventKind> {
    let is_event = !matches!(
        line.kind.as_str(),
        "intended" | "recovered" | "revoked" | "streamed" | "carried_in"
    );
    is_event.then(|| EventKind::EntryMissing {
        entry: line.kind.clone(),
        reason,
    })
}

/// The event of a record, if it has one.
fn kind_of(
    call: &CallId,
    record: &Record,
    plan: Option<&PlanRecord>,
    redactor: &Redactor,
) -> Option<EventKind> {
    let received = |name: &str| EventKind::CallReceived {
        call_id: call.clone(),
        tool: shown_name(name.to_owned()),
    };
    let shown = |text: &String| redactor.shown(text);
    Some(match record {
        Record::Received { call } => received(&call.name),
        Record::ReceivedBad { call } => received(call.name.as_deref().unwrap_or_default()),
        // The plan on record is exact; clients see it as they see results.
        Record::Planned { plan } => EventKind::CallPlanned {
            plan: Arc::new(redactor.shown_plan(plan)),
        },
        Record::Asked { question, .. } => EventKind::ApprovalRequested {
            question: Arc::clone(question.as_ref()?),
        },
        Record::Answered { outcome, .. } => EventKind::ApprovalAnswered {
            outcome: Arc::clone(outcome.as_ref()?),
        },
        Record::Started => {
            let mut input = plan.map(|plan| plan.call.args.clone()).unwrap_or_default();
            redactor.show_map(&mut input);
            EventKind::CallStarted {
                call_id: call.clone(),
                tool: plan.map(|plan| plan.tool.clone()).unwrap_or_default(),
                input,
            }
        }
        Record::Finished { result } => EventKind::CallFinished {
            result: result.clone(),
        },
        Record::TurnStarted {
            turn,
            provider,
            model,
            ..
        } => EventKind::TurnStarted {
            turn: *turn,
            provider: provider.clone(),
            model: model.clone(),
        },
        Record::UserMessage { text } => EventKind::UserMessage { text: shown(text) },
        Record::AssistantMessage {
            message_id,
            content,
            stop,
            usage,
        } => EventKind::AssistantMessage {
            message_id: message_id.clone(),
            text: redactor.shown(&said(content, "text")),
            thinking: redactor.shown(&said(content, "thinking")),
            stop: redactor.shown(stop),
            usage: usage.clone(),
        },
        Record::TurnFinished {
            turn,
            outcome,
            error,
            stop,
            usage,
        } => EventKind::TurnFinished {
            turn: *turn,
            outcome: outcome.clone(),
            stop: stop.as_ref().map(shown),
            error: error.as_ref().map(shown),
            usage: usage.clone(),
        },
        Record::Intended { .. }
        | Record::Recovered { .. }
        | Record::Revoked { .. }
        | Record::CarriedIn { .. }
        | Record::Streamed { .. } => return None,
    })
}

/// All text of one type in an answer, as it was streamed.
fn said(content: &Value, of: &str) -> String {
    let parts = content.as_array().into_iter().flatten();
    let parts = parts.filter(|part| part.get("type").and_then(Value::as_str) == Some(of));
    let texts = parts.filter_map(|part| part.get("text").and_then(Value::as_str));
    let texts: Vec<&str> = texts.collect();
    sanitize(&texts.concat()).into_owned()
}
