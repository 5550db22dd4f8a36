//! The stages of the line, as a person sees them go by.

use toolgate_model::{Action, CallId, Event, Status, ToolResult};

use crate::out::style::{BOLD, CYAN, DIM, GREEN, RED, RESET, YELLOW};

/// How much of a result is shown below its first line.
const MORE_LINES: usize = 8;

/// A line about an event, if it is one of a stage.
pub(super) fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::CallReceived { call_id, tool } => {
            let tool = if tool.is_empty() {
                "a damaged block"
            } else {
                tool
            };
            format!("{CYAN}assemble{RESET}  {call_id}  {BOLD}{tool}{RESET}")
        }
        Event::CallPlanned { plan } => {
            let (colour, word) = match plan.decision.action {
                Action::Allow => (GREEN, "allow"),
                Action::Ask => (YELLOW, "ask"),
                Action::Deny => (RED, "deny"),
            };
            format!(
                "{CYAN}plan{RESET}      {}  {}  {colour}{word}{RESET}  {DIM}{}{RESET}",
                plan.call.id, plan.summary, plan.decision.reason
            )
        }
        Event::ApprovalRequested { call_ids, risk, .. } => {
            let ids: Vec<&str> = call_ids.iter().map(CallId::as_str).collect();
            format!(
                "{CYAN}approve{RESET}   {YELLOW}the person is asked{RESET} about {} ({risk} risk)",
                ids.join(", ")
            )
        }
        Event::ApprovalAnswered { approved, .. } => {
            let ids: Vec<&str> = approved.iter().map(CallId::as_str).collect();
            format!(
                "{CYAN}approve{RESET}   {GREEN}yes{RESET} to {} {DIM}(scripted here; on your terminal it is you){RESET}",
                ids.join(", ")
            )
        }
        Event::CallStarted { call_id, tool } => format!("{CYAN}execute{RESET}   {call_id}  {tool}"),
        Event::CallFinished { result } => settled(result),
        _ => return None,
    })
}

fn settled(result: &ToolResult) -> String {
    let (colour, word) = match result.status() {
        Status::Ok => (GREEN, "ok"),
        Status::Error => (RED, "error"),
        Status::Denied => (RED, "denied"),
        Status::Cancelled => (YELLOW, "cancelled"),
    };
    let kind = result
        .kind()
        .map(|kind| format!(" {kind}"))
        .unwrap_or_default();
    let mut lines = result.display.lines();
    let first = lines.next().unwrap_or_default();
    let mut told = format!(
        "{CYAN}settle{RESET}    {}  {colour}{word}{kind}{RESET}  {first} {DIM}{} ms{RESET}",
        result.call_id, result.duration_ms
    );
    for line in lines.filter(|line| !line.is_empty()).take(MORE_LINES) {
        told.push_str("\n            ");
        told.push_str(line);
    }
    told
}
