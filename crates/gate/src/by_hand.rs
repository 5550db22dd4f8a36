//! Calls that the user answers: checked like any other, and not run.

use std::sync::Arc;

use toolgate_model::{Call, ErrorKind, EventKind, ToolCall, ToolError, ToolResult};

use crate::execute::Stop;
use crate::gate::Gate;
use crate::journal::JournalErrorKind;
use crate::pipeline::BatchContext;
use crate::plan::{Authorized, ManualCall, Mode, NeedsApproval, Plan, Refusal};
use crate::session::Session;

/// A batch that the user answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByHand {
    /// The calls whose results the user supplies, in call order.
    pub wanted: Vec<ToolCall>,
    /// The results of the others: damaged calls, unknown tools, arguments that do not fit.
    pub refused: Vec<ToolResult>,
}

impl Gate {
    /// A result that no tool of this gate made, as it may be seen: like any other it is
    /// sanitized, without secrets, and bounded, with the rest kept under a handle.
    pub async fn clean(&self, session: &Session, result: ToolResult) -> ToolResult {
        self.settler(session).foreign(session, result).await
    }

    /// Checks a batch for the user who answers it, and puts it on record.
    ///
    /// Every call is either wanted or has its result: the user is never asked for the result
    /// of a call that no tool would take.
    pub async fn hand_over(
        &self,
        session: &Arc<Session>,
        calls: Vec<Call>,
        passage: &BatchContext,
    ) -> ByHand {
        let mode = match self.inner.settings.mode {
            Mode::Disabled => Mode::Disabled,
            Mode::ParseOnly | Mode::Enabled => Mode::ParseOnly,
        };
        let stop = Stop::of(passage, session);
        let planned = self.plan_in(mode, session, calls, stop).await;
        let mut entries = self.opening(session, &planned);
        let (mut wanted, mut refused) = (Vec::new(), Vec::new());
        for (_, plan) in planned.slots {
            match plan {
                Plan::Manual(ManualCall { shown }) => wanted.push(shown),
                // In these modes nothing is asked about and nothing may run.
                Plan::Ask(NeedsApproval { live }) | Plan::Go(Authorized { live }) => {
                    wanted.push(live.record);
                }
                Plan::Settled(refusal) => {
                    refused.push(self.refuse(session, *refusal, &mut entries).await);
                }
            }
        }
        if let Err(error) = self.record(session, entries, &passage.events).await {
            // The user's results would belong to no call on record.
            let lost = error.kind == JournalErrorKind::Rejected;
            let unwritten = error.clone();
            let error = ToolError::new(ErrorKind::Journal, error.to_string());
            for plan in wanted.drain(..) {
                // Its result follows the call on record, whenever that gets there.
                let refusal = Refusal::of_plan(&plan, error.clone());
                let mut entry = Vec::new();
                refused.push(self.refuse(session, refusal, &mut entry).await);
                session.hub().undurable(
                    entry.iter(),
                    &unwritten,
                    &self.inner.redactor,
                    &passage.events,
                );
                if !lost {
                    entry
                        .into_iter()
                        .for_each(|entry| session.pending().note_sent(entry));
                }
            }
        }
        // The journal has the call and no plan of it: nothing is run.
        for plan in wanted.iter().filter(|_| passage.events.is_open()) {
            let plan = Arc::new(self.inner.redactor.shown_plan(plan));
            let planned = EventKind::CallPlanned { plan };
            session.hub().report(planned, &passage.events);
        }
        passage.caught_up(session).await;
        ByHand {
            wanted: wanted.iter().map(|plan| plan.call.clone()).collect(),
            refused,
        }
    }
}
