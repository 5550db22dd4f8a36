//! From calls to plans, without touching anything.
//!
//! ```text
//! Call ──limits──▶ rewrite ──▶ tool? ──▶ schema ──▶ parse ──▶ facts ──▶ policy ──▶ sandboxes' preflight ──▶ review ──▶ preview
//!   └─ any failure settles this call and leaves the others alone                         └─▶ Plan::{Settled, Manual, Ask, Go}
//! ```
//!
//! Parsing and policy are pure; preflight and preview read through the path sandbox.
//! Nothing is written and no host is contacted.

pub(crate) mod beyond;
mod canonical;
pub(crate) mod composed;
mod hash;
mod judge;
mod leads;
mod left_out;
mod planner;
mod preflight;

use std::sync::Arc;
use std::time::Duration;

use toolgate_model::{
    Call, CallId, Decision, NetworkAccess, Openings, PlanRecord, ToolCall, ToolError,
};
use toolgate_policy::Policy;

pub(crate) use hash::{Seen, plan_hash};
pub(crate) use leads::{leads_for_approver, leads_of, leads_text};
pub(crate) use planner::Planner;

use crate::registry;
use crate::tool::Invocation;
use leads::RealFacts;

/// How far the pipeline takes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No tool is offered and every call is refused.
    Disabled,
    /// Calls are read and checked; the user supplies the results.
    ParseOnly,
    /// Calls are planned, approved and run.
    #[default]
    Enabled,
}

/// Bounds of a batch and its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The most calls of one batch; further ones settle as `limit_exceeded`. 64 by default.
    pub max_calls: usize,
    /// The most bytes of one call's arguments as JSON; 256 KiB by default.
    pub max_args_bytes: usize,
    /// The most arrays and objects inside each other; 64 by default.
    pub max_depth: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_calls: 64,
            max_args_bytes: 256 * 1024,
            max_depth: 64,
        }
    }
}

/// A call that needs approval. It cannot be copied and cannot run.
pub struct NeedsApproval {
    pub(crate) live: Live,
}

/// A call that may run, once.
pub struct Authorized {
    pub(crate) live: Live,
}

/// A call whose result the user supplies. [`Gate::hand_over`](crate::Gate::hand_over) asks for it.
#[derive(Debug)]
pub struct ManualCall {
    /// The call as the user is shown it. The journal has the call and no plan of it.
    pub(crate) shown: Arc<PlanRecord>,
}

/// The parsed call behind a plan.
pub(crate) struct Live {
    /// The texts that an approver decides from.
    pub(crate) exact: Exact,
    /// Shared with the entry that puts it on record.
    pub(crate) record: Arc<PlanRecord>,
    pub(crate) entry: Arc<registry::Entry>,
    pub(crate) invocation: Box<dyn Invocation>,
    /// Whether approval is needed even where a default would allow.
    pub(crate) requires_approval: bool,
    /// How long this very call may take, if its arguments say so.
    pub(crate) timeout: Option<Duration>,
    /// How many writes of Toolgate itself the plan has seen.
    pub(crate) own_writes: u64,
    /// The rules that allowed it.
    pub(crate) policy: Arc<Policy>,
    /// The facts with real names in place of the requested ones, where any differs.
    pub(crate) real: Option<RealFacts>,
    /// The network that was open to the conversation when the call was planned.
    pub(crate) network: Option<NetworkAccess>,
    /// What an approver opened to this call.
    pub(crate) opened: Openings,
    /// Why an approval is not remembered although the user wanted that.
    pub(crate) not_remembered: Option<String>,
}

/// The texts of a plan before redaction. Those of the record are redacted by shape.
#[derive(Default)]
pub(crate) struct Exact {
    pub(crate) summary: String,
    /// Why approval is needed; its known values are hidden already.
    pub(crate) reason: String,
    pub(crate) preview: Option<String>,
    /// The files that the preview rests on, as lines, where they are not too large.
    pub(crate) files: Vec<Option<Vec<String>>>,
    /// What policy decided, while the plan is made.
    pub(crate) decision: Option<Decision>,
}

impl NeedsApproval {
    /// What is known about the call.
    pub fn record(&self) -> &PlanRecord {
        &self.live.record
    }
}

impl Authorized {
    /// What is known about the call.
    pub fn record(&self) -> &PlanRecord {
        &self.live.record
    }
}

impl ManualCall {
    /// The call, checked.
    pub fn call(&self) -> &ToolCall {
        &self.shown.call
    }
}

/// What planning made of a call.
pub enum Plan {
    /// It ends here, with this error.
    Settled(Box<Refusal>),
    /// The user supplies its result.
    Manual(ManualCall),
    /// It needs approval.
    Ask(NeedsApproval),
    /// It may run.
    Go(Authorized),
}

/// A call that ended while it was planned.
#[derive(Debug)]
pub struct Refusal {
    /// The call.
    pub call_id: CallId,
    /// The tool's canonical name where it was found, else the name that was called.
    pub tool: String,
    /// Why.
    pub error: ToolError,
    /// As much of the plan as there was.
    pub record: Option<Arc<PlanRecord>>,
}

impl Refusal {
    /// A call that ended before it had a plan.
    pub(crate) fn new(call_id: CallId, tool: impl Into<String>, error: ToolError) -> Self {
        Self {
            call_id,
            tool: tool.into(),
            error,
            record: None,
        }
    }

    /// The same under the name that was called.
    pub(crate) fn of_call(call: &Call, error: ToolError) -> Self {
        Self::new(call.id().clone(), call.name().unwrap_or_default(), error)
    }

    /// A planned call that ended before it ran.
    pub(crate) fn of_plan(plan: &Arc<PlanRecord>, error: ToolError) -> Self {
        Self {
            record: Some(Arc::clone(plan)),
            ..Self::new(plan.call.id.clone(), plan.tool.as_str(), error)
        }
    }
}

impl Plan {
    /// What is known about the call, if it got that far.
    pub fn record(&self) -> Option<&PlanRecord> {
        self.shared().map(Arc::as_ref)
    }

    /// The same, to be kept.
    pub(crate) fn shared(&self) -> Option<&Arc<PlanRecord>> {
        match self {
            Self::Settled(refusal) => refusal.record.as_ref(),
            Self::Manual(_) => None,
            Self::Ask(asked) => Some(&asked.live.record),
            Self::Go(authorized) => Some(&authorized.live.record),
        }
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settled(refusal) => f.debug_tuple("Settled").field(refusal).finish(),
            Self::Manual(call) => f.debug_tuple("Manual").field(call).finish(),
            Self::Ask(asked) => f.debug_tuple("Ask").field(asked.record()).finish(),
            Self::Go(authorized) => f.debug_tuple("Go").field(authorized.record()).finish(),
        }
    }
}

/// A batch of calls with their plans, in call order.
#[derive(Debug)]
pub struct Planned {
    pub(crate) slots: Vec<(Call, Plan)>,
}

impl Planned {
    /// The plans, in call order.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.slots.iter().map(|(_, plan)| plan)
    }
}
