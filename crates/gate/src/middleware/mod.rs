//! What stands around every call.
//!
//! The stated order: `rewrite` and `review` run first to last, `after` last to
//! first, so that the first middleware is the outermost. A middleware can tighten
//! and cannot loosen: a review that allows changes nothing, and a failed call
//! cannot be made to look well. One that panics fails its call closed.

mod ask_always;
mod audit;
mod metrics;
mod repetition;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolgate_model::{Action, Decision, ErrorKind, PlanRecord, ToolCall, ToolError, ToolResult};

pub use ask_always::AskAlways;
pub use audit::{Audit, AuditLine, AuditSink};
pub use metrics::Metrics;
pub use repetition::RepetitionGuard;

use crate::panics::payload_text;

/// A refusal of a middleware before anything was planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Why, for the model.
    pub reason: String,
}

/// Something that stands around every call. Every method has a default that does nothing.
pub trait Middleware: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Changes a call before it is planned. Runs once per call.
    fn rewrite(&self, call: ToolCall) -> Result<ToolCall, Denied> {
        Ok(call)
    }

    /// Looks at a planned call. `Some` can only tighten what policy decided.
    fn review(&self, plan: &PlanRecord) -> Option<Decision> {
        let _ = plan;
        None
    }

    /// Looks at a result, before redaction. `plan` is missing if the call was never planned.
    fn after(&self, plan: Option<&PlanRecord>, result: ToolResult) -> ToolResult {
        let _ = plan;
        result
    }
}

/// Middlewares in their order.
#[derive(Clone, Default)]
pub struct Chain(Vec<Arc<dyn Middleware>>);

impl Chain {
    /// Adds one on the inside.
    pub fn push(&mut self, middleware: Arc<dyn Middleware>) {
        self.0.push(middleware);
    }

    pub(crate) fn rewrite(&self, call: ToolCall) -> Result<ToolCall, ToolError> {
        let id = call.id.clone();
        let mut call = call;
        for middleware in &self.0 {
            let step = AssertUnwindSafe(|| middleware.rewrite(call));
            call = match catch_unwind(step) {
                Ok(Ok(call)) => call,
                Ok(Err(denied)) => {
                    let message = format!("denied by {}: {}", middleware.name(), denied.reason);
                    return Err(ToolError::new(ErrorKind::PolicyDenied, message));
                }
                Err(payload) => return Err(panicked(&**middleware, payload)),
            };
        }
        // The result has to find its way back, whatever was rewritten.
        call.id = id;
        Ok(call)
    }

    pub(crate) fn review(&self, plan: &PlanRecord) -> Option<Decision> {
        let mut strictest: Option<Decision> = None;
        for middleware in &self.0 {
            let opinion = match catch_unwind(AssertUnwindSafe(|| middleware.review(plan))) {
                Ok(opinion) => opinion,
                Err(payload) => {
                    let error = panicked(&**middleware, payload);
                    Some(Decision::denied(
                        error.kind,
                        middleware.name(),
                        error.message,
                    ))
                }
            };
            let Some(opinion) = opinion.filter(|opinion| opinion.action > Action::Allow) else {
                continue;
            };
            strictest = Some(match strictest {
                Some(before) => before.stricter(opinion),
                None => opinion,
            });
        }
        strictest
    }

    pub(crate) fn after(&self, plan: Option<&PlanRecord>, result: ToolResult) -> ToolResult {
        let mut result = result;
        for middleware in self.0.iter().rev() {
            let kept = (
                result.call_id.clone(),
                result.tool.clone(),
                result.error.clone(),
                result.duration_ms,
            );
            let step = AssertUnwindSafe(|| middleware.after(plan, result));
            result = match catch_unwind(step) {
                Ok(result) => result,
                Err(payload) => {
                    let error = panicked(&**middleware, payload);
                    ToolResult::failed(kept.0.clone(), kept.1.clone(), error)
                }
            };
            (result.call_id, result.tool, result.duration_ms) = (kept.0, kept.1, kept.3);
            if result.error.is_none() {
                result.error = kept.2;
            }
        }
        result
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|middleware| middleware.name()))
            .finish()
    }
}

fn panicked(middleware: &dyn Middleware, payload: Box<dyn std::any::Any + Send>) -> ToolError {
    let message = format!(
        "{} panicked: {}",
        middleware.name(),
        payload_text(&*payload)
    );
    ToolError::new(ErrorKind::Panicked, message)
}
