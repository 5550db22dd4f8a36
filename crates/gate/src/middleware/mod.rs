//! What stands around every call.
//!
//! The stated order: `rewrite`, `review` and `before_start` run first to last, `after` and
//! `end` last to first, so that the first middleware is the outermost. A middleware can
//! tighten and cannot loosen: a review that allows changes nothing, and a failed call
//! cannot be made to look well. One that panics fails its call closed.
//!
//! A batch is reviewed as a whole before anything of it runs. A middleware that counts what
//! was used looks at its count in `before_start`: it is called for one call after the other,
//! right before each starts, and after the results of all calls that the call waited for.
//!
//! State of a conversation belongs into the session ([`Session::resource`]).

mod ask_always;
mod audit;
mod metrics;
mod repetition;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use toolgate_model::{Action, Decision, ErrorKind, PlanRecord, ToolCall, ToolError, ToolResult};

pub use ask_always::AskAlways;
pub use audit::{Audit, AuditLine, AuditSink};
pub use metrics::Metrics;
pub use repetition::RepetitionGuard;

use crate::panics::payload_text;
use crate::session::Session;

/// A refusal of a middleware, before a call is planned or before it starts. The call's result is
/// [`ErrorKind::PolicyDenied`], and its text begins with `denied by` and the middleware's name.
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

    /// Looks at a planned call. `Some` can only tighten what policy decided. A plan that is
    /// made again because a file changed is reviewed again.
    fn review(&self, session: &Session, plan: &PlanRecord) -> Option<Decision> {
        let _ = (session, plan);
        None
    }

    /// Looks at a call that is about to start, with its locks held. It can still be refused.
    /// `after` follows in either case.
    fn before_start(&self, session: &Session, plan: &PlanRecord) -> Result<(), Denied> {
        let _ = (session, plan);
        Ok(())
    }

    /// Looks at a result, before redaction. Every call that was planned gets here, also one that
    /// was refused before it began: [`Ended::ran_for`] tells them apart.
    fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let _ = ended;
        result
    }

    /// Called once when a conversation ends that had a call here. Calls that are being stopped
    /// may still settle after it.
    fn end(&self, session: &Session) {
        let _ = session;
    }
}

/// A call that has its result.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Its conversation.
    pub session: &'a Session,
    /// What is known about it; missing if it was never planned.
    pub plan: Option<&'a PlanRecord>,
    /// How long its tool ran; nothing if the tool never began.
    pub ran_for: Option<Duration>,
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
                Ok(Err(refused)) => return Err(denied(&**middleware, &refused)),
                Err(payload) => return Err(panicked(&**middleware, payload)),
            };
        }
        // The result has to find its way back, whatever was rewritten.
        call.id = id;
        Ok(call)
    }

    pub(crate) fn review(&self, session: &Session, plan: &PlanRecord) -> Option<Decision> {
        let mut strictest: Option<Decision> = None;
        for middleware in &self.0 {
            let opinion = match catch_unwind(AssertUnwindSafe(|| middleware.review(session, plan)))
            {
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

    pub(crate) fn before_start(
        &self,
        session: &Session,
        plan: &PlanRecord,
    ) -> Result<(), ToolError> {
        for middleware in &self.0 {
            let step = AssertUnwindSafe(|| middleware.before_start(session, plan));
            match catch_unwind(step) {
                Ok(Ok(())) => {}
                Ok(Err(refused)) => return Err(denied(&**middleware, &refused)),
                Err(payload) => return Err(panicked(&**middleware, payload)),
            }
        }
        Ok(())
    }

    /// Tells every middleware that a conversation is over. A panic of one stops no other.
    pub(crate) fn end(&self, session: &Session) {
        for middleware in self.0.iter().rev() {
            let step = AssertUnwindSafe(|| middleware.end(session));
            if catch_unwind(step).is_err() {
                let name = middleware.name();
                tracing::error!(name, "middleware panicked at the end of a conversation");
            }
        }
    }

    pub(crate) fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let mut result = result;
        for middleware in self.0.iter().rev() {
            let kept = (
                result.call_id.clone(),
                result.tool.clone(),
                result.error.clone(),
                result.duration_ms,
            );
            let step = AssertUnwindSafe(|| middleware.after(ended, result));
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

fn denied(middleware: &dyn Middleware, denied: &Denied) -> ToolError {
    let message = format!("denied by {}: {}", middleware.name(), denied.reason);
    ToolError::new(ErrorKind::PolicyDenied, message)
}

fn panicked(middleware: &dyn Middleware, payload: Box<dyn std::any::Any + Send>) -> ToolError {
    let message = format!(
        "{} panicked: {}",
        middleware.name(),
        payload_text(&*payload)
    );
    ToolError::new(ErrorKind::Panicked, message)
}
