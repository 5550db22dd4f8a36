//! One authorized call: run, settle, record, tell.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolgate_model::{
    Category, ErrorKind, FileDigest, Openings, PlanRecord, ToolError, ToolResult,
};

use super::{Chunks, Claim, Job, PathGuard, Runner, Stop};
use crate::gate::Gate;
use crate::pipeline::BatchContext;
use crate::plan::composed::{Lines, is_same_change};
use crate::plan::{Authorized, Live, beyond};
use crate::preconditions;
use crate::session::Session;
use crate::settle::Unsettled;
use crate::tool::{Ahead, ContextParts, Permit, RunCtx};

/// What is open to a call beyond its sandbox. A directory that was opened for the conversation
/// counts as long as its name leads to the same directory. A network counts if it was open when
/// the call was planned: policy decided by that.
pub(crate) fn opened(live: &Live, session: &Session) -> Openings {
    let mut all = live.opened.clone();
    let mut more = session.opened();
    more.network = live.network;
    more.directories
        .retain(|opened| beyond::holds(&opened.directory));
    all.add(&more);
    all
}

impl Gate {
    /// What a call locks.
    pub(crate) fn claim(&self, session: &Session, record: &PlanRecord) -> Claim {
        let (facts, leads_to) = (&record.facts, &record.leads_to);
        Claim::within(&self.inner.sandbox, session.number(), facts, leads_to)
    }

    /// Has a call get ready while its start is put on record.
    pub(crate) fn prepare(
        &self,
        session: &Session,
        authorized: &mut Authorized,
    ) -> Result<(), ToolError> {
        let live = &mut authorized.live;
        let opened = opened(live, session);
        Runner::prepare(
            &mut *live.invocation,
            &Ahead::new(&self.inner.sandbox, &opened, session),
        )
    }

    pub(crate) async fn one(
        &self,
        session: &Arc<Session>,
        authorized: Authorized,
        paths: PathGuard,
        passage: &BatchContext,
        stop: Stop<'_>,
    ) -> ToolResult {
        let live = authorized.live;
        let rests_on = self.shown_again(session, &live, stop).await;
        let opened_to_it = opened(&live, session);
        let record = live.record;
        let alone = session.stoppable(&record.call.id);
        let chunks = Arc::new(Chunks::new(
            session,
            record.call.id.clone(),
            passage.events.clone(),
            &self.inner.redactor,
        ));
        let parts = ContextParts {
            call_id: record.call.id.clone(),
            sandbox: self.inner.sandbox.clone(),
            session: Arc::clone(session),
            cancel: CancellationToken::new(),
            chunks: Arc::clone(&chunks),
            limits: self.output_limits(session),
            redactor: Arc::clone(&self.inner.redactor),
            clock: Arc::clone(&self.inner.clock),
            entropy: Arc::clone(&self.inner.entropy),
            opened: opened_to_it,
            plan: Arc::clone(&record),
            policy: live.policy,
            journal: Arc::clone(&self.inner.journal),
        };
        let span = span(&record);
        let is_command = live.entry.spec().category == Category::Exec;
        let job = Job {
            invocation: live.invocation,
            paths,
            cx: RunCtx::new(parts, Permit::issue()),
            limit: self.time_limit(live.entry.spec(), live.timeout, session),
            stop: stop.or_alone(alone.token()),
            span: span.clone(),
        };
        let opened = live.opened;
        let ground = async {
            directories_hold(&opened)?;
            self.ground_holds(session, &record, &rests_on?, live.own_writes)
                .await
        };
        let begun = self.inner.clock.now_ms();
        let ending = self.inner.runner.run(job, ground).await;
        if is_command {
            let ended = self.inner.clock.now_ms();
            session.reads(|log| log.ran(record.call.id.as_str(), begun, ended));
        }
        if let Some(kind) = ending.outcome.kind() {
            span.record("error.type", kind.as_str());
        }
        let unsettled = Unsettled {
            call_id: record.call.id.clone(),
            tool: record.tool.clone(),
            plan: Some(&record),
            outcome: ending.outcome,
            ran_for: ending.ran_for,
            still_running: ending.still_running,
            not_remembered: live.not_remembered,
        };
        let mut result = self.settler(session).settle(session, unsettled).await;
        // The last pieces come before the end, and what happened is on record before a listener
        // is waited for.
        let ended = chunks.finish_now();
        let hold = (!ended).then(|| session.hub().ticket());
        let entry = self.finished(session, &result);
        let recorded = self.record(session, vec![entry], &passage.events).await;
        if let Err(error) = &recorded {
            // The effect has happened and the model has to know; the user is told as well. The
            // session offers the entry again.
            result
                .metadata
                .insert("journal".into(), error.to_string().into());
        }
        if hold.is_some() {
            chunks.finish(&passage.events, stop).await;
        }
        drop(hold);
        passage.caught_up(session).await;
        result
    }

    /// The files that a call rests on. Where Toolgate itself changed one since its preview was
    /// shown, the preview is made again and has to show the same change.
    async fn shown_again(
        &self,
        session: &Arc<Session>,
        live: &Live,
        stop: Stop<'_>,
    ) -> Result<Vec<FileDigest>, ToolError> {
        let record = &live.record;
        let sandbox = &self.inner.sandbox;
        let shown = live.exact.preview.as_ref();
        // Where the preview stands for no argument, the arguments themselves were shown.
        let Some(shown) = shown.filter(|_| !record.previewed.is_empty()) else {
            return Ok(record.rests_on.clone());
        };
        let mut rests_on = record.rests_on.clone();
        let mut changed = Vec::new();
        let found = preconditions::look_at(sandbox, &rests_on).await?;
        let files = rests_on.iter_mut().zip(&live.exact.files);
        for ((file, before), now) in files.zip(found) {
            let own = || session.reads(|log| log.wrote_since(&now, live.own_writes));
            if now.sha256 != file.sha256 && own() {
                if file.sha256.is_none() {
                    // All of a new file was shown.
                    file.sha256 = now.sha256;
                    continue;
                }
                let now = FileDigest {
                    path: file.path.clone(),
                    sha256: now.sha256,
                };
                let before = before.clone().ok_or_else(not_as_shown)?;
                changed.push((before, now));
            }
        }
        if changed.is_empty() {
            return Ok(rests_on);
        }
        let (before, now): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
        let after = preconditions::lines_of(sandbox, &now).await;
        let changed = before.into_iter().zip(after);
        let changed = changed.map(|(before, after)| {
            Some(Lines {
                before,
                after: after?,
            })
        });
        let changed: Option<Vec<Lines>> = changed.collect();
        let changed = changed.ok_or_else(not_as_shown)?;
        let planner = self.planner(session, &live.policy, stop);
        let again = planner.preview(live).await?;
        let text = again.text.unwrap_or_default();
        if again.cut || record.preview_cut || !is_same_change(shown, &text, &changed) {
            return Err(not_as_shown());
        }
        Ok(again.rests_on)
    }

    /// What a person was shown is still so, or Toolgate itself changed it since.
    async fn ground_holds(
        &self,
        session: &Session,
        record: &PlanRecord,
        rests_on: &[FileDigest],
        own_writes: u64,
    ) -> Result<(), ToolError> {
        let leads = crate::plan::leads_of(&self.inner.sandbox, &record.facts);
        if leads != record.leads_to {
            let mut changed = leads.iter().filter(|lead| !record.leads_to.contains(lead));
            let message = match changed.next() {
                Some(toolgate_model::Lead { path, to, .. }) => format!(
                    "{path} leads to {to} since the call was checked; it was not run, try again"
                ),
                None => "a link on the way changed after the call was checked; it was not run, try again".into(),
            };
            return Err(ToolError::new(ErrorKind::StaleFile, message));
        }
        let found = preconditions::look_at(&self.inner.sandbox, rests_on).await?;
        for (file, now) in rests_on.iter().zip(found) {
            // Otherwise the preview was made again.
            let by_arguments = || {
                let own = || session.reads(|log| log.wrote_since(&now, own_writes));
                record.previewed.is_empty() && own()
            };
            if now.sha256 == file.sha256 || by_arguments() {
                continue;
            }
            let by = now
                .modified_ms
                .and_then(|changed| session.reads(|log| log.ran_at(changed).map(str::to_owned)));
            let path = &file.path;
            let message = match by {
                Some(call) => format!(
                    "{path}: the command of call `{call}` changed the file after this change was shown; read it and send this call again"
                ),
                None => format!(
                    "{path}: the file changed after this change was shown; read it and send this call again"
                ),
            };
            return Err(ToolError::new(ErrorKind::StaleFile, message));
        }
        Ok(())
    }
}

fn not_as_shown() -> ToolError {
    ToolError::new(
        ErrorKind::StaleFile,
        "an earlier call of this batch changed the same part of the file, so this would not do what was shown; read the file and send the call again",
    )
}

/// The directories that an approver opened to a call are those that were shown.
fn directories_hold(opened: &Openings) -> Result<(), ToolError> {
    let mut directories = opened.directories.iter().map(|opened| &opened.directory);
    match directories.find(|directory| !beyond::holds(directory)) {
        Some(changed) => Err(ToolError::new(
            ErrorKind::StaleFile,
            format!(
                "{} is another directory since it was opened to the call; it was not run, try again",
                changed.path
            ),
        )),
        None => Ok(()),
    }
}

/// OpenTelemetry's names for generative AI tools; never arguments or content, which may hold secrets.
fn span(record: &PlanRecord) -> tracing::Span {
    tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {}", record.tool),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %record.tool,
        gen_ai.tool.r#type = "function",
        gen_ai.tool.call.id = %record.call.id,
        gen_ai.conversation.id = %record.conversation,
        error.r#type = tracing::field::Empty,
    )
}
