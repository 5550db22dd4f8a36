//! The stages of the line, as a person sees them go by.

use toolgate_model::{Action, CallId, Event, EventKind, Status, ToolResult};

use crate::clean::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};

/// How much of a result is shown below its first line.
const MORE_LINES: usize = 8;

/// A line about an event, if it is one of a stage.
pub(super) fn told(event: &Event) -> Option<Clean> {
    Some(match &event.kind {
        EventKind::CallReceived { call_id, tool } => {
            let tool = if tool.is_empty() {
                "a damaged block"
            } else {
                tool
            };
            say!("{}  {}  {}", CYAN.on("assemble"), call_id, BOLD.on(tool))
        }
        EventKind::CallPlanned { plan } => {
            let (colour, word) = match plan.decision.action {
                Action::Allow => (GREEN, "allow"),
                Action::Ask => (YELLOW, "ask"),
                Action::Deny => (RED, "deny"),
            };
            say!(
                "{}      {}  {}  {}  {}",
                CYAN.on("plan"),
                plan.call.id,
                plan.summary,
                colour.on(word),
                DIM.on(&plan.decision.reason)
            )
        }
        EventKind::ApprovalRequested { question } => {
            let items = question.items.iter();
            let ids: Vec<&str> = items.map(|item| item.call_id.as_str()).collect();
            say!(
                "{}   {} about {} ({} risk)",
                CYAN.on("approve"),
                YELLOW.on("the person is asked"),
                ids.join(", "),
                question.risk
            )
        }
        EventKind::ApprovalAnswered { outcome } => {
            let ids: Vec<&str> = outcome.approved.iter().map(CallId::as_str).collect();
            say!(
                "{}   {} to {} {}",
                CYAN.on("approve"),
                GREEN.on("yes"),
                ids.join(", "),
                DIM.on("(scripted here; on your terminal it is you)")
            )
        }
        EventKind::CallStarted { call_id, tool, .. } => {
            say!("{}   {}  {}", CYAN.on("execute"), call_id, tool)
        }
        EventKind::CallFinished { result } => settled(result),
        _ => return None,
    })
}

fn settled(result: &ToolResult) -> Clean {
    let (colour, word) = match result.status() {
        Status::Ok => (GREEN, "ok"),
        Status::Error => (RED, "error"),
        Status::Denied => (RED, "denied"),
        Status::Cancelled => (YELLOW, "cancelled"),
    };
    let kind = result.kind().map(|kind| say!(" {}", kind));
    let mut lines = result.display.lines();
    let first = lines.next().unwrap_or_default();
    let mut told = say!(
        "{}    {}  {}  {} {}",
        CYAN.on("settle"),
        result.call_id,
        colour.on(say!("{}{}", word, kind)),
        first,
        DIM.on(say!("{} ms", result.duration_ms))
    );
    for line in lines.filter(|line| !line.is_empty()).take(MORE_LINES) {
        told.push(say!("\n            {}", Clean::lines(line)));
    }
    told
}
