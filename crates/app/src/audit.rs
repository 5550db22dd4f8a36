//! A tracing event for every call that settles, also for those that never ran.

use toolgate_gate::middleware::{Audit, AuditLine};

/// The middleware that emits it. Arguments and content are no part of it.
pub(crate) fn audit() -> Audit {
    Audit::new(|line: AuditLine| {
        let planned = line.decision.is_some();
        tracing::info!(
            name: "call",
            conversation = line.conversation.as_ref().map(|id| id.as_str()),
            call_id = line.call_id.as_str(),
            // A name that is none of a tool's is the model's own words.
            tool = planned.then_some(line.tool.as_str()),
            decision = line.decision.map(|action| action.as_str()),
            risk = line.risk.map(word),
            status = word(line.status),
            error = line.error.map(|kind| kind.as_str()),
            duration_ms = line.duration_ms,
        );
    })
}

/// The one spelling of a kind.
fn word(kind: impl serde::Serialize) -> String {
    let spelt = serde_json::to_value(kind).unwrap_or_default();
    spelt.as_str().unwrap_or_default().to_owned()
}
