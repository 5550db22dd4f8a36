//! Who asked for what, what was decided and how it ended: one line per call.

use std::sync::Arc;

use serde::Serialize;
use toolgate_model::{Action, CallId, ConversationId, ErrorKind, Risk, Status, ToolResult};

use super::{Ended, Middleware};

/// One call for the audit. It has no arguments and no content, only what was touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditLine {
    /// The conversation, if the call was planned.
    pub conversation: Option<ConversationId>,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// What it was going to do.
    pub summary: Option<String>,
    /// How much harm it could do.
    pub risk: Option<Risk>,
    /// What it touches.
    pub locations: Vec<String>,
    /// What policy decided.
    pub decision: Option<Action>,
    /// The rule that decided and its place.
    pub rule: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Why, if not well.
    pub error: Option<ErrorKind>,
    /// How long it ran.
    pub duration_ms: u64,
}

/// Takes audit lines.
pub trait AuditSink: Send + Sync {
    /// Takes one line.
    fn line(&self, line: AuditLine);
}

impl<F: Fn(AuditLine) + Send + Sync> AuditSink for F {
    fn line(&self, line: AuditLine) {
        self(line);
    }
}

/// Writes an audit line for every call that settles, also the ones that never ran.
#[derive(Clone)]
pub struct Audit {
    sink: Arc<dyn AuditSink>,
}

impl Audit {
    /// Audits into a sink.
    pub fn new(sink: impl AuditSink + 'static) -> Self {
        Self {
            sink: Arc::new(sink),
        }
    }
}

impl Middleware for Audit {
    fn name(&self) -> &str {
        "audit"
    }

    fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let plan = ended.plan;
        self.sink.line(AuditLine {
            conversation: plan.map(|plan| plan.conversation.clone()),
            call_id: result.call_id.clone(),
            tool: result.tool.clone(),
            summary: plan.map(|plan| plan.summary.clone()),
            risk: plan.map(|plan| plan.risk),
            locations: plan.map(|plan| plan.locations.clone()).unwrap_or_default(),
            decision: plan.map(|plan| plan.decision.action),
            rule: plan.map(|plan| format!("{} [{}]", plan.decision.rule, plan.decision.source)),
            status: result.status(),
            error: result.kind(),
            duration_ms: result.duration_ms,
        });
        result
    }
}
