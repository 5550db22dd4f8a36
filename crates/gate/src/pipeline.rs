//! The pipeline itself: plan, approve, execute, settle, in this order, for every call.
//!
//! Each stage takes what the stage before it made, and only that stage can make it:
//! [`Gate::plan`] makes [`Planned`], [`Gate::approve`] turns it into [`Ready`], and
//! [`Gate::execute`] turns that into results.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolgate_model::{Call, Category, ErrorKind, ToolError, ToolResult};

use crate::approve::Approver;
use crate::execute::{
    CallHandle, Claim, EventSink, PathGuard, Readiness, Schedule, SideBySide, Stop,
};
use crate::gate::{Gate, OnError};
use crate::journal::{Entry, Record};
use crate::plan::{Authorized, Mode, Plan, Planned, Planner, Refusal};
use crate::session::Session;
use crate::settle::{Outcome, Settler, Unsettled};

/// So long the end of a batch waits for events that another batch of the conversation holds.
const HELD: Duration = Duration::from_secs(1);

/// How one batch goes through the pipeline.
#[derive(Clone, Default)]
pub struct BatchContext {
    /// Answers questions; without one, calls that need approval settle as `no_approver`.
    pub approver: Option<Arc<dyn Approver>>,
    /// Gets the events.
    pub events: EventSink,
    /// Stops the running call and settles the remaining ones.
    pub cancel: CancellationToken,
}

impl BatchContext {
    /// A context whose questions go to this approver.
    ///
    /// ```
    /// use toolgate_gate::{BatchContext, approve::DenyAll};
    ///
    /// assert!(BatchContext::asking(DenyAll).approver.is_some());
    /// ```
    pub fn asking(approver: impl Approver + 'static) -> Self {
        Self {
            approver: Some(Arc::new(approver)),
            ..Self::default()
        }
    }

    /// Waits until the listener has room for what was sent. Once the pipeline is cancelled, it is
    /// not waited for long.
    pub(crate) async fn caught_up(&self, session: &Session) {
        let over = Stop::of(self, session).set();
        self.events.caught_up(over).await;
    }

    /// The same at the end of a batch. Events can be held by another batch of the conversation
    /// that is being written; it is not waited for long.
    async fn ended(&self, session: &Session) {
        let went_out = session.hub().went_out();
        if self.events.is_open() && tokio::time::timeout(HELD, went_out).await.is_err() {
            tracing::warn!("a slow journal holds events back");
        }
        self.caught_up(session).await;
    }
}

/// A batch in which everything that may run is known.
#[derive(Debug)]
pub struct Ready {
    /// What becomes of each call, in call order.
    pub(crate) fates: Vec<Fate>,
    /// Entries that have to be durable before the first effect.
    pub(crate) opening: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) enum Fate {
    Refused(Box<Refusal>),
    Run(Box<Authorized>),
}

/// What is known of a batch while it runs.
struct Batch {
    results: Vec<Option<ToolResult>>,
    schedule: Schedule,
    on_error: OnError,
    /// Whether a call failed after which no other starts.
    stopped: bool,
}

impl Batch {
    fn has_to_wait(&self, claim: &Claim) -> bool {
        self.schedule.ready(claim) == Readiness::AfterOne
    }

    /// Whether another call may start.
    fn goes_on(&self, stop: Stop<'_>) -> Result<(), ToolError> {
        if stop.is_set() {
            Err(crate::execute::cancelled())
        } else if self.stopped {
            Err(after_failure())
        } else {
            Ok(())
        }
    }

    fn ended(&mut self, (index, result): (usize, ToolResult)) {
        self.schedule.ended(index);
        self.place(index, result);
    }

    fn place(&mut self, index: usize, result: ToolResult) {
        self.stopped |= result.error.is_some() && self.on_error == OnError::Stop;
        if let Some(slot) = self.results.get_mut(index) {
            *slot = Some(result);
        }
    }
}

impl std::fmt::Debug for Authorized {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Authorized").field(self.record()).finish()
    }
}

impl Gate {
    /// The whole pipeline for one batch: exactly one result per call, in call order.
    pub async fn run(
        &self,
        session: &Arc<Session>,
        calls: Vec<Call>,
        context: &BatchContext,
    ) -> Vec<ToolResult> {
        let planned = self.plan_until(session, calls, Stop::of(context, session));
        let planned = planned.await;
        let ready = self.approve(session, planned, context).await;
        self.execute(session, ready, context).await
    }

    /// Plans a batch. Writes nothing and contacts nothing.
    pub async fn plan(&self, session: &Arc<Session>, calls: Vec<Call>) -> Planned {
        let stop = Stop::of_conversation(session);
        self.plan_until(session, calls, stop).await
    }

    async fn plan_until(
        &self,
        session: &Arc<Session>,
        calls: Vec<Call>,
        stop: Stop<'_>,
    ) -> Planned {
        let mode = self.inner.settings.mode;
        self.plan_in(mode, session, calls, stop).await
    }

    pub(crate) async fn plan_in(
        &self,
        mode: Mode,
        session: &Arc<Session>,
        calls: Vec<Call>,
        stop: Stop<'_>,
    ) -> Planned {
        session.passes(&self.inner.chain);
        match self.policy_for(session, &[]).await {
            Ok(policy) => {
                let planner = self.planner(session, &policy, stop);
                Planner { mode, ..planner }.plan(calls).await
            }
            // A policy that cannot be compiled denies everything and says why.
            Err(error) => denied_all(calls, &error),
        }
    }

    pub(crate) fn planner<'a>(
        &'a self,
        session: &'a Arc<Session>,
        policy: &'a Arc<toolgate_policy::Policy>,
        stop: Stop<'a>,
    ) -> Planner<'a> {
        let inner = &*self.inner;
        Planner {
            gate: self,
            stop,
            mode: inner.settings.mode,
            limits: inner.settings.limits,
            registry: &inner.registry,
            policy,
            validators: &inner.rules.validators,
            chain: &inner.chain,
            sandbox: &inner.sandbox,
            redactor: &inner.redactor,
            session,
            command_sandbox: inner.settings.command_sandbox,
            network_closed: self.network_closed(session),
        }
    }

    /// Runs what may run and settles the rest.
    pub async fn execute(
        &self,
        session: &Arc<Session>,
        ready: Ready,
        context: &BatchContext,
    ) -> Vec<ToolResult> {
        let Ready { fates, opening } = ready;
        let stop = Stop::of(context, session);
        let mut batch = Batch {
            results: fates.iter().map(|_| None).collect(),
            schedule: Schedule::new(self.inner.settings.max_concurrent),
            on_error: self.inner.settings.on_error,
            stopped: false,
        };
        let mut pending = opening;
        let mut running = SideBySide::new();
        for (index, fate) in fates.into_iter().enumerate() {
            let refusal = match fate {
                Fate::Refused(refusal) => *refusal,
                Fate::Run(mut authorized) => {
                    let begun = self.begin(
                        session,
                        &mut authorized,
                        &mut batch,
                        &mut running,
                        &mut pending,
                        context,
                    );
                    match begun.await {
                        Ok((claim, paths)) => {
                            batch.schedule.started(index, claim);
                            running.push(async move {
                                let result =
                                    self.one(session, *authorized, paths, context, stop).await;
                                (index, result)
                            });
                            continue;
                        }
                        Err(why) => Refusal::of_plan(&authorized.live.record, why),
                    }
                }
            };
            let result = self.refuse(session, refusal, &mut pending).await;
            batch.place(index, result);
        }
        while let Some(done) = running.next().await {
            batch.ended(done);
        }
        let unwritten = self.record(session, pending, &context.events).await;
        context.ended(session).await;
        let mut results: Vec<ToolResult> = batch.results.into_iter().flatten().collect();
        if let Err(error) = unwritten {
            for result in &mut results {
                result
                    .metadata
                    .entry("journal")
                    .or_insert_with(|| error.to_string().into());
            }
        }
        results
    }

    /// Brings a call to its start: waits for its turn and its locks, gives middleware the last
    /// word, and puts the start on record. After an error nothing was run.
    async fn begin<F: Future<Output = (usize, ToolResult)>>(
        &self,
        session: &Session,
        authorized: &mut Authorized,
        batch: &mut Batch,
        running: &mut SideBySide<F>,
        pending: &mut Vec<Entry>,
        context: &BatchContext,
    ) -> Result<(Claim, PathGuard), ToolError> {
        let stop = Stop::of(context, session);
        let claim = self.claim(session, authorized.record());
        while !running.is_empty() && batch.has_to_wait(&claim) {
            if let Some(done) = running.next().await {
                batch.ended(done);
            }
        }
        batch.goes_on(stop)?;
        let live = &authorized.live;
        let spec = live.entry.spec();
        let facts = &live.record.facts;
        let is_opaque_command = spec.category == Category::Exec && !facts.complete;
        let is_command = is_opaque_command || !facts.runs.is_empty();
        let limit = self.time_limit(spec, live.timeout, session);
        let runner = &self.inner.runner;
        let locked = runner.locked(&claim, is_command, limit, stop);
        let paths = running.beside(locked, |done| batch.ended(done)).await?;
        batch.goes_on(stop)?;
        self.inner
            .chain
            .before_start(session, authorized.record())?;
        // Getting ready has no effect, and what it begins goes on beside the record.
        self.prepare(session, authorized)?;
        // Durable before the effect: everything received and decided so far, and that this one
        // starts. What could not be written stays pending: no later call starts without it.
        let mut entries = pending.clone();
        entries.push(self.entry(session, &authorized.record().call.id, Record::Started));
        let commit = self.commit(session, entries, &context.events);
        // A slow record holds neither the deadlines of what runs nor its cancellation.
        let kept = running.beside(commit, |done| batch.ended(done)).await;
        kept.map_err(|error| {
            // The session offers these again under their key; a second copy would repeat them.
            if error.is_unknown() {
                pending.clear();
            }
            ToolError::new(ErrorKind::Journal, format!("{error}; nothing was run"))
        })?;
        pending.clear();
        Ok((claim, paths))
    }

    /// Settles a call that ended before it ran, and adds the entry of its result.
    pub(crate) async fn refuse(
        &self,
        session: &Session,
        refusal: Refusal,
        entries: &mut Vec<Entry>,
    ) -> ToolResult {
        let unsettled = Unsettled {
            call_id: refusal.call_id,
            tool: refusal.tool,
            plan: refusal.record.as_deref(),
            outcome: Outcome::Stopped(refusal.error),
            ran_for: None,
            still_running: false,
            not_remembered: None,
        };
        let result = self.settler(session).settle(session, unsettled).await;
        entries.push(self.finished(session, &result));
        result
    }

    /// The entry of a result.
    pub(crate) fn finished(&self, session: &Session, result: &ToolResult) -> Entry {
        let result = Box::new(result.clone());
        let call = result.call_id.clone();
        self.entry(session, &call, Record::Finished { result })
    }

    pub(crate) fn settler(&self, session: &Session) -> Settler<'_> {
        Settler {
            chain: &self.inner.chain,
            redactor: &self.inner.redactor,
            limits: self.output_limits(session),
        }
    }

    pub(crate) fn entry(
        &self,
        session: &Session,
        call: &toolgate_model::CallId,
        record: Record,
    ) -> Entry {
        Entry {
            conversation: session.id().clone(),
            call: call.clone(),
            at_ms: self.inner.clock.now_ms(),
            record,
        }
    }

    /// Starts one call in the background.
    pub fn start(&self, session: &Arc<Session>, call: Call, context: &BatchContext) -> CallHandle {
        let (events, listening) = EventSink::channel(64);
        let cancel = context.cancel.child_token();
        let context = BatchContext {
            approver: context.approver.clone(),
            events,
            cancel: cancel.clone(),
        };
        let (gate, session) = (self.clone(), Arc::clone(session));
        let (id, tool) = (
            call.id().clone(),
            call.name().unwrap_or_default().to_owned(),
        );
        let lost = ToolResult::failed(
            id.clone(),
            tool.clone(),
            ToolError::new(ErrorKind::Interrupted, "the line ended without a result"),
        );
        let task = tokio::spawn(async move {
            gate.run(&session, vec![call], &context)
                .await
                .pop()
                .unwrap_or(lost)
        });
        CallHandle::new(id, tool, cancel, listening, task)
    }
}

/// The plans of a batch whose policy cannot be compiled.
fn denied_all(calls: Vec<Call>, error: &ToolError) -> Planned {
    let slots = calls.into_iter().map(|call| {
        let refusal = Refusal::of_call(&call, error.clone());
        (call, Plan::Settled(Box::new(refusal)))
    });
    Planned {
        slots: slots.collect(),
    }
}

fn after_failure() -> ToolError {
    ToolError::new(
        ErrorKind::Cancelled,
        "not run: an earlier call of the batch failed and on_error is \"stop\"",
    )
}
