//! The steps of planning, one call at a time.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolgate_model::{
    Action, BadCall, Call, Decision, ErrorKind, Facts, Openings, PlanRecord, ToolCall, ToolError,
    json,
};
use toolgate_policy::{Policy, Stage, Validator};
use toolgate_sandbox::paths::{PathSandbox, check_text};

use super::judge::tightened;
use super::{
    Authorized, CallLimits, Exact, Live, ManualCall, Mode, NeedsApproval, Plan, Planned, Refusal,
    Seen, beyond, canonical, plan_hash,
};
use crate::execute;
use crate::gate::Gate;
use crate::middleware::Chain;
use crate::output::{Redactor, approval_text, preview_text};
use crate::panics::payload_text;
use crate::preconditions;
use crate::registry::{self, Registry};
use crate::session::Session;
use crate::tool::{Preview, View, path_error};

/// What the specification says where everything is switched off.
const DISABLED: &str = "Tool execution disabled by policy";

/// Everything planning looks at.
pub(crate) struct Planner<'a> {
    pub(crate) gate: &'a Gate,
    /// Ends what a tool does while its call is planned.
    pub(crate) stop: execute::Stop<'a>,
    pub(crate) mode: Mode,
    pub(crate) limits: CallLimits,
    pub(crate) registry: &'a Registry,
    pub(crate) policy: &'a Arc<Policy>,
    pub(crate) validators: &'a [Arc<dyn Validator>],
    pub(crate) chain: &'a Chain,
    pub(crate) sandbox: &'a PathSandbox,
    pub(crate) redactor: &'a Redactor,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) command_sandbox: bool,
    pub(crate) network_closed: bool,
}

impl Planner<'_> {
    /// Plans a batch. Every call gets a plan; a failure settles its own call only.
    pub(crate) async fn plan(&self, calls: Vec<Call>) -> Planned {
        let mut taken = HashSet::new();
        let mut slots = Vec::with_capacity(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let fresh = taken.insert(call.id().clone());
            let plan = match self.intake(index, fresh, &call) {
                Ok(whole) => self.one(whole).await,
                Err(refusal) => Err(refusal),
            };
            slots.push((call, plan.unwrap_or_else(Plan::Settled)));
        }
        Planned { slots }
    }

    /// Plans again a call whose ground has changed. Middleware has rewritten it already.
    pub(crate) async fn again(&self, call: &ToolCall) -> Plan {
        let plan = self.planned(call.clone()).await;
        plan.unwrap_or_else(Plan::Settled)
    }

    /// What can be said without looking at the tool.
    fn intake(&self, index: usize, fresh: bool, call: &Call) -> Result<ToolCall, Box<Refusal>> {
        let refuse = |error| Box::new(Refusal::of_call(call, error));
        let stop = |kind, message: String| refuse(ToolError::new(kind, message));
        if self.mode == Mode::Disabled {
            return Err(stop(ErrorKind::Disabled, DISABLED.into()));
        }
        if index >= self.limits.max_calls {
            let most = self.limits.max_calls;
            return Err(stop(
                ErrorKind::LimitExceeded,
                format!(
                    "this is call {} of the batch and at most {most} are taken; send it again in the next one",
                    index + 1
                ),
            ));
        }
        if !fresh {
            let id = call.id();
            return Err(stop(
                ErrorKind::DuplicateCallId,
                format!(
                    "another call of this batch has the id {:?}; the first one is taken",
                    id.as_str()
                ),
            ));
        }
        let whole = match call {
            Call::Whole(whole) => whole,
            Call::Bad(BadCall { error, .. }) => return Err(refuse(error.clone())),
        };
        let (bytes, most) = (whole.args_bytes(), self.limits.max_args_bytes);
        if bytes > most {
            return Err(stop(
                ErrorKind::LimitExceeded,
                format!(
                    "the arguments have {bytes} bytes and at most {most} are taken; send less at once"
                ),
            ));
        }
        let deep = whole.args.values().map(json::depth).max().unwrap_or(0) + 1;
        if deep > self.limits.max_depth {
            let most = self.limits.max_depth;
            return Err(stop(
                ErrorKind::LimitExceeded,
                format!("the arguments are {deep} levels deep and at most {most} are taken"),
            ));
        }
        Ok(whole.clone())
    }

    async fn one(&self, call: ToolCall) -> Result<Plan, Box<Refusal>> {
        let (id, name) = (call.id.clone(), call.name.clone());
        let rewritten = self
            .chain
            .rewrite(call)
            .map_err(|error| Box::new(Refusal::new(id, self.registry.canonical(&name), error)))?;
        self.planned(rewritten).await
    }

    async fn planned(&self, call: ToolCall) -> Result<Plan, Box<Refusal>> {
        let ToolCall {
            id,
            name,
            args,
            reason,
        } = call;
        let refuse = |tool: &str, error| Box::new(Refusal::new(id.clone(), tool, error));
        let resolved = self
            .registry
            .resolve(&name, args)
            .map_err(|error| refuse(&self.registry.canonical(&name), error))?;
        let tool = resolved.entry.spec().name.clone();
        resolved.check().map_err(|error| refuse(&tool, error))?;
        let entry = resolved.entry;
        let mut args = resolved.args;
        canonical::args(self.sandbox, &entry.spec().paths, &mut args);
        let call = ToolCall {
            id: id.clone(),
            name: tool.clone(),
            args,
            reason,
        };
        if self.mode == Mode::ParseOnly {
            return Ok(Plan::Manual(self.manual(call, &entry)));
        }
        let live = self
            .understand(call, entry)
            .map_err(|error| refuse(&tool, error))?;
        self.decide(live).await
    }

    /// A call for a person to answer. What it would touch is that person's to know.
    fn manual(&self, call: ToolCall, entry: &registry::Entry) -> ManualCall {
        let args = serde_json::to_string(&call.args).unwrap_or_default();
        let summary = format!("{} {args}", call.name);
        let (summary, _) = self.redactor.redact(&summary);
        let decision = Decision {
            action: Action::Ask,
            kind: None,
            ..Decision::denied(
                ErrorKind::Disabled,
                "tools.mode",
                "tools are in parse_only mode: the call is read and checked, and a person supplies its result",
            )
        };
        ManualCall {
            shown: Arc::new(PlanRecord {
                conversation: self.session.id().clone(),
                tool: call.name.clone(),
                summary: approval_text(&summary),
                risk: entry.spec().risk,
                locations: Vec::new(),
                facts: Facts::opaque(),
                plan_hash: self.hash(entry, &call, Seen::default()),
                decision,
                call,
                preview: None,
                previewed: Vec::new(),
                preview_cut: false,
                whole: None,
                rests_on: Vec::new(),
                leads_to: Vec::new(),
                opens: Vec::new(),
            }),
        }
    }

    /// Lets the tool read its arguments and say what it will do. Foreign code: it may panic.
    fn understand(&self, call: ToolCall, entry: Arc<registry::Entry>) -> Result<Live, ToolError> {
        let spec = entry.spec();
        let read = AssertUnwindSafe(|| {
            let invocation = entry.tool().parse(&call.args)?;
            let summary = invocation.summary();
            let mut facts = invocation.facts().clone();
            check_names(&facts)?;
            canonical::facts(self.sandbox, &mut facts);
            let risk = invocation.risk().unwrap_or(spec.risk);
            let asks = spec.requires_approval || invocation.requires_approval();
            let timeout = invocation.timeout();
            let opens = invocation.opens();
            let mut places = invocation.locations();
            places.extend(locations(&facts));
            places.dedup();
            Ok::<_, ToolError>((
                invocation, summary, facts, risk, asks, timeout, opens, places,
            ))
        });
        let read = catch_unwind(read).unwrap_or_else(|payload| {
            let message = format!(
                "Tool panicked while it read its arguments: {}",
                payload_text(&*payload)
            );
            Err(ToolError::new(ErrorKind::Panicked, message))
        });
        let (invocation, summary, facts, risk, asks, timeout, opens, locations) = read?;
        let opens = beyond::offered(opens, self.sandbox);
        let seen = Seen {
            opens: &opens,
            ..Seen::default()
        };
        let record = PlanRecord {
            conversation: self.session.id().clone(),
            tool: spec.name.clone(),
            summary: approval_text(&self.redactor.redact(&summary).0),
            risk,
            locations,
            plan_hash: self.hash(&entry, &call, seen),
            decision: Decision::denied(
                ErrorKind::PolicyDenied,
                "undecided",
                "policy has not decided yet",
            ),
            facts,
            call,
            preview: None,
            previewed: Vec::new(),
            preview_cut: false,
            whole: None,
            rests_on: Vec::new(),
            leads_to: Vec::new(),
            opens,
        };
        Ok(Live {
            exact: Exact {
                summary,
                ..Exact::default()
            },
            record: Arc::new(record),
            entry,
            invocation,
            requires_approval: asks,
            timeout,
            own_writes: self.session.reads(|log| log.own_writes()),
            policy: Arc::clone(self.policy),
            real: None,
            network: self.session.opened().network,
            opened: Openings::default(),
            not_remembered: None,
        })
    }

    pub(super) fn hash(
        &self,
        entry: &registry::Entry,
        call: &ToolCall,
        seen: Seen<'_>,
    ) -> toolgate_model::PlanHash {
        plan_hash(
            self.session.id().as_str(),
            &entry.spec().name,
            entry.digest(),
            &call.args,
            &working_directory(self.sandbox).to_string_lossy(),
            seen,
        )
    }

    async fn decide(&self, mut live: Live) -> Result<Plan, Box<Refusal>> {
        self.leave_out_denied(&mut live);
        let stage = self.judge(&mut live);
        // A default that denies comes after the sandbox: what they refuse is told first.
        let is_denied = live.record.decision.action == Action::Deny;
        if !is_denied || stage == Stage::Default {
            self.before_running(&mut live);
        }
        let record = Arc::make_mut(&mut live.record);
        let exact = live.exact.decision.take();
        let mut exact = exact.unwrap_or_else(|| record.decision.clone());
        if record.decision.action != Action::Deny
            && let Some(review) = self.chain.review(self.session, record)
        {
            exact = tightened(exact, review.clone());
            record.decision = tightened(record.decision.clone(), review);
        }
        match record.decision.action {
            Action::Deny => Err(denied(&live.record)),
            Action::Allow => Ok(Plan::Go(Authorized { live })),
            Action::Ask => {
                let preview = self.preview(&live).await;
                let preview =
                    preview.map_err(|error| Box::new(Refusal::of_plan(&live.record, error)))?;
                let record = Arc::make_mut(&mut live.record);
                let redactor = self.redactor;
                live.exact.reason =
                    redactor.reason_for_approver(&exact, &record.tool, &record.facts);
                let text = preview.text.as_deref();
                record.preview =
                    text.map(|text| preview_text(&redactor.redact(text).0).into_owned());
                live.exact.preview = preview.text;
                let shows = record.preview.as_ref().map_or(&[][..], |_| preview.shows);
                record.previewed = shows.iter().map(|name| (*name).to_owned()).collect();
                record.preview_cut = record.preview.is_some() && preview.cut;
                live.exact.files = preconditions::lines_of(self.sandbox, &preview.rests_on).await;
                record.rests_on = preview.rests_on;
                record.plan_hash = self.hash(&live.entry, &record.call, Seen::by(record));
                Ok(Plan::Ask(NeedsApproval { live }))
            }
        }
    }

    /// What a person is shown. It has the time of the call itself, and ends with the line.
    pub(crate) async fn preview(&self, live: &Live) -> Result<Preview, ToolError> {
        use futures::FutureExt;
        let view = View::new(self.sandbox, self.session, &self.gate.inner.redactor);
        // Foreign code from the first word on: it may panic before there is a future.
        let look = AssertUnwindSafe(async { live.invocation.preview(&view).await });
        let spec = live.entry.spec();
        let limit = self.gate.time_limit(spec, live.timeout, self.session);
        tokio::select! {
            biased;
            seen = look.catch_unwind() => seen.unwrap_or_else(|payload| {
                let message = format!(
                    "Tool panicked while it made its preview: {}",
                    payload_text(&*payload)
                );
                Err(ToolError::new(ErrorKind::Panicked, message))
            }),
            () = self.stop.set() => Err(execute::cancelled()),
            () = tokio::time::sleep(limit) => Err(ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "the preview was not ready after {}; approval was not requested and nothing was run",
                    execute::shown(limit)
                ),
            )),
        }
    }
}

/// The directory that relative paths mean.
fn working_directory(sandbox: &PathSandbox) -> &std::path::Path {
    sandbox.roots().get(0).map_or(
        std::path::Path::new("/"),
        toolgate_sandbox::paths::Root::path,
    )
}

/// Whether what a call names can be paths at all: the text of one is looked at here, for every
/// tool, and before policy. What a command claims is no path yet.
fn check_names(facts: &Facts) -> Result<(), ToolError> {
    if facts.claimed {
        return Ok(());
    }
    let mut paths = facts.paths();
    paths.try_for_each(|(_, path)| check_text(path).map_err(|error| path_error(&error)))
}

pub(super) fn locations(facts: &Facts) -> Vec<String> {
    let mut all: Vec<String> = facts.paths().map(|(_, path)| path.to_owned()).collect();
    all.extend(facts.connects.iter().cloned());
    all.dedup();
    all
}

fn denied(record: &Arc<PlanRecord>) -> Box<Refusal> {
    let decision = &record.decision;
    let kind = decision.kind.unwrap_or(ErrorKind::PolicyDenied);
    let error = ToolError::new(kind, decision.reason.clone());
    Box::new(Refusal::of_plan(record, error))
}
