//! The stage itself: from plans to what may run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use toolgate_model::{
    ApprovalId, ApprovalOutcome, ApprovalQuestion, Call, CallId, ErrorKind, Openings, PlanRecord,
    ToolError,
};

use super::remembering::openings;
use super::request::{Offer, item_for_clients};
use super::{Answer, ApprovalRequest, Approver, Remember, Unanswered};
use crate::execute::Stop;
use crate::gate::Gate;
use crate::journal::{Entry, Lasting, Record};
use crate::output::approval_text;
use crate::pipeline::{BatchContext, Fate, Ready};
use crate::plan::{Authorized, ManualCall, NeedsApproval, Plan, Planned, Refusal, beyond};
use crate::preconditions;
use crate::session::Session;

/// A plan whose ground keeps changing is asked so many times, then given up.
const ROUNDS: usize = 3;

impl Gate {
    /// Asks for everything that needs a yes, in one question, before anything of the batch runs.
    pub async fn approve(
        &self,
        session: &Arc<Session>,
        planned: Planned,
        passage: &BatchContext,
    ) -> Ready {
        let mut opening = self.opening(session, &planned);
        let stop = Stop::of(passage, session);
        let mut fates = Vec::with_capacity(planned.slots.len());
        let mut asked = Vec::new();
        for (index, (_, plan)) in planned.slots.into_iter().enumerate() {
            let fate = match plan {
                Plan::Settled(refusal) => Fate::Refused(refusal),
                Plan::Manual(manual) => Fate::Refused(Box::new(unsupplied(&manual))),
                Plan::Go(authorized) => Fate::Run(Box::new(authorized)),
                Plan::Ask(needs) => {
                    // Its fate is not known yet; until it is, the answer is no.
                    let fate = refused(
                        &needs.live.record,
                        ToolError::new(ErrorKind::NoApprover, "not answered"),
                    );
                    asked.push((index, needs));
                    fate
                }
            };
            fates.push(fate);
        }
        for _ in 0..ROUNDS {
            if asked.is_empty() {
                break;
            }
            let answered = self.ask(session, &asked, &mut opening, passage).await;
            asked = self
                .apply(session, asked, &answered, stop, &mut fates, &mut opening)
                .await;
        }
        for (index, needs) in asked {
            let error = ToolError::new(
                ErrorKind::StaleFile,
                "what the person was shown changed again and again before the answer; nothing was run",
            );
            place(&mut fates, index, refused(&needs.live.record, error));
        }
        Ready { fates, opening }
    }

    /// What has to be on record before anything else happens.
    pub(crate) fn opening(&self, session: &Session, planned: &Planned) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(planned.slots.len() * 2);
        for (call, plan) in &planned.slots {
            let received = match call {
                Call::Whole(call) => Record::Received { call: call.clone() },
                Call::Bad(call) => Record::ReceivedBad { call: call.clone() },
            };
            entries.push(self.entry(session, call.id(), received));
            entries.extend(
                plan.shared()
                    .map(|record| self.planned_entry(session, record)),
            );
        }
        entries
    }

    fn planned_entry(&self, session: &Session, record: &Arc<PlanRecord>) -> Entry {
        let planned = Record::Planned {
            plan: Arc::clone(record),
        };
        self.entry(session, &record.call.id, planned)
    }

    async fn ask(
        &self,
        session: &Arc<Session>,
        asked: &[(usize, NeedsApproval)],
        opening: &mut Vec<Entry>,
        passage: &BatchContext,
    ) -> Result<Answer, ToolError> {
        let Some(approver) = &passage.approver else {
            return Err(nobody());
        };
        let id = self
            .inner
            .entropy
            .bits()
            .map(ApprovalId::from_bits)
            .ok_or_else(|| {
                ToolError::new(
                    ErrorKind::NoApprover,
                    "no randomness for a question's id; nobody was asked",
                )
            })?;
        let mut items = Vec::with_capacity(asked.len());
        for (_, needs) in asked {
            // Trying means compiling rules: only where somebody reads it.
            let offer = match approver.is_seen() {
                true => self.offer(session, &needs.live).await,
                false => Offer::default(),
            };
            items.push(needs.live.approval_item(&offer, &self.inner.redactor));
        }
        let request = ApprovalRequest {
            id,
            conversation: session.id().clone(),
            items,
            expires_after: self.inner.settings.approval_timeout,
        };
        let mut entries = opening.clone();
        let mut question = Some(Arc::new(self.question(&request, asked)));
        let asked_about = request.items.iter().rev().map(|item| {
            let record = Record::Asked {
                approval_id: id,
                plan_hash: item.plan_hash.clone(),
                question: question.take(),
            };
            self.entry(session, &item.call_id, record)
        });
        let mut asked_about: Vec<Entry> = asked_about.collect();
        asked_about.reverse();
        entries.append(&mut asked_about);
        // Durable before a question is shown. What could not be written stays for the next commit.
        if approver.is_seen() {
            let committed = self.commit(session, entries, &passage.events).await;
            committed.map_err(|error| {
                // The session offers these again under their key.
                if error.is_unknown() {
                    opening.clear();
                }
                ToolError::new(ErrorKind::Journal, format!("{error}; nobody was asked"))
            })?;
            opening.clear();
            passage.caught_up(session).await;
        } else {
            *opening = entries;
        }
        let call_ids: Vec<CallId> = request
            .items
            .iter()
            .map(|item| item.call_id.clone())
            .collect();
        let answer = tokio::select! {
            biased;
            () = passage.cancel.cancelled() => Err(Unanswered::Cancelled),
            () = session.cancel().cancelled() => Err(Unanswered::Cancelled),
            () = expiry(request.expires_after) => Err(Unanswered::Expired),
            answer = heard(&**approver, &request) => answer,
        };
        let outcome = Arc::new(self.outcome(id, &call_ids, &answer));
        for (index, call) in call_ids.iter().enumerate() {
            let opened = answer.as_ref().map(|answer| opened(asked, call, answer));
            let reason = outcome.reasons.get(call).or(outcome.reason.as_ref());
            let record = Record::Answered {
                approval_id: id,
                approved: outcome.approved.contains(call),
                scope: outcome.scope.clone(),
                by: outcome.by.clone(),
                reason: reason.cloned(),
                opened: opened.unwrap_or_default().in_words(),
                lasting: Box::default(),
                outcome: (index + 1 == call_ids.len()).then(|| Arc::clone(&outcome)),
            };
            opening.push(self.entry(session, call, record));
        }
        answer.map_err(unanswered)
    }

    /// The whole question, as it is journalled and sent to clients: like plans and results it
    /// holds nothing that has the shape of a secret. An approver decides by the request.
    fn question(
        &self,
        request: &ApprovalRequest,
        asked: &[(usize, NeedsApproval)],
    ) -> ApprovalQuestion {
        let redactor = &self.inner.redactor;
        let records = asked.iter().map(|(_, needs)| needs.record());
        let items = request.items.iter().zip(records);
        let items = items.map(|(item, plan)| item_for_clients(item, plan, redactor));
        let now_ms = self.inner.clock.now_ms();
        let after = |time: std::time::Duration| {
            let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            now_ms.saturating_add(ms)
        };
        ApprovalQuestion {
            approval_id: request.id,
            risk: request.risk(),
            items: items.collect(),
            expires_at: request.expires_after.map(after),
        }
    }

    /// The whole answer to a question, as it is journalled and sent to clients.
    fn outcome(
        &self,
        approval_id: ApprovalId,
        calls: &[CallId],
        answer: &Result<Answer, Unanswered>,
    ) -> ApprovalOutcome {
        let allowed = |call: &&CallId| answer.as_ref().is_ok_and(|answer| answer.allows(call));
        let (approved, denied): (Vec<&CallId>, Vec<&CallId>) = calls.iter().partition(allowed);
        let redacted = |reason: &str| self.inner.redactor.redact(reason).0.into_owned();
        let (scope, by, reason) = match answer {
            Ok(answer) => {
                let reason = answer.reason.as_deref().map(redacted);
                (answer.remember, answer.by.clone(), reason)
            }
            Err(why) => (Remember::Once, "nobody".into(), Some(why.to_string())),
        };
        // Words about calls that nobody asked about are not kept.
        let reasons = answer.iter().flat_map(|answer| &answer.reasons);
        let reasons = reasons
            .filter(|(call, _)| calls.contains(call))
            .map(|(call, reason)| (call.clone(), redacted(reason)))
            .collect();
        ApprovalOutcome {
            approval_id,
            approved: approved.into_iter().cloned().collect(),
            denied: denied.into_iter().cloned().collect(),
            by,
            scope: scope.as_str().to_owned(),
            reason,
            reasons,
        }
    }

    /// Gives every asked call its fate. What changed under the person's eyes is returned, to be asked again.
    async fn apply(
        &self,
        session: &Arc<Session>,
        asked: Vec<(usize, NeedsApproval)>,
        answered: &Result<Answer, ToolError>,
        stop: Stop<'_>,
        fates: &mut [Fate],
        opening: &mut Vec<Entry>,
    ) -> Vec<(usize, NeedsApproval)> {
        let mut again = Vec::new();
        for (index, needs) in asked {
            let answer = match answered {
                Ok(answer) => answer,
                Err(error) => {
                    let mut error = error.clone();
                    if error.kind == ErrorKind::NoApprover {
                        let why = &needs.record().decision.reason;
                        error.message = format!("{}. Why it asks: {why}", error.message);
                    }
                    place(fates, index, refused(&needs.live.record, error));
                    continue;
                }
            };
            if !answer.allows(&needs.record().call.id) {
                place(
                    fates,
                    index,
                    refused(
                        &needs.live.record,
                        user_denied(answer.reason_for(&needs.record().call.id)),
                    ),
                );
                continue;
            }
            match self.fresh(session, needs, stop).await {
                Ok(mut needs) => {
                    needs.live.opened = openings(&needs.live, answer);
                    let mut lasting = Lasting::default();
                    if answer.open.for_conversation {
                        lasting.opened = needs.live.opened.clone();
                        // A link can be pointed elsewhere afterwards.
                        let directories = &mut lasting.opened.directories;
                        directories.retain(|opened| !opened.directory.is_through_link());
                        session.open(&lasting.opened);
                    }
                    // A text is cut for people after its secrets are out: half of one is not known.
                    let shown = |why: String| approval_text(&self.inner.redactor.shown(&why));
                    let remembered = self.remember(session, &needs.live, answer.remember);
                    match remembered.await {
                        Ok(grants) => lasting.grants = grants,
                        Err(why) => needs.live.not_remembered = Some(shown(why)),
                    }
                    self.keep_lasting(lasting, &needs.record().call.id, opening);
                    place(
                        fates,
                        index,
                        Fate::Run(Box::new(Authorized { live: needs.live })),
                    );
                }
                Err(plan) => {
                    opening.extend(
                        plan.shared()
                            .map(|record| self.planned_entry(session, record)),
                    );
                    match *plan {
                        Plan::Ask(needs) => again.push((index, needs)),
                        Plan::Go(authorized) => {
                            place(fates, index, Fate::Run(Box::new(authorized)))
                        }
                        Plan::Settled(refusal) => place(fates, index, Fate::Refused(refusal)),
                        Plan::Manual(manual) => {
                            place(fates, index, Fate::Refused(Box::new(unsupplied(&manual))));
                        }
                    }
                }
            }
        }
        again
    }

    /// The plan as it was shown, or a new one if its ground has changed since.
    async fn fresh(
        &self,
        session: &Arc<Session>,
        needs: NeedsApproval,
        stop: Stop<'_>,
    ) -> Result<NeedsApproval, Box<Plan>> {
        let record = needs.record();
        let leads = crate::plan::leads_of(&self.inner.sandbox, &record.facts);
        let holds = leads == record.leads_to
            && record.opens.iter().all(beyond::holds)
            && preconditions::hold(&self.inner.sandbox, &record.rests_on).await;
        if holds {
            return Ok(needs);
        }
        match self.policy_for(session, &[]).await {
            Ok(policy) => Err(Box::new(
                self.planner(session, &policy, stop)
                    .again(&needs.record().call)
                    .await,
            )),
            Err(error) => Err(Box::new(Plan::Settled(Box::new(Refusal::of_plan(
                &needs.live.record,
                error,
            ))))),
        }
    }
}

/// What an answer opens to a call of a question.
fn opened(asked: &[(usize, NeedsApproval)], call: &CallId, answer: &Answer) -> Openings {
    let mut lives = asked.iter().map(|(_, needs)| &needs.live);
    let live = lives.find(|live| live.record.call.id == *call);
    let live = live.filter(|_| answer.allows(call));
    live.map(|live| openings(live, answer)).unwrap_or_default()
}

/// Asks. An approver that panics has not answered.
async fn heard(approver: &dyn Approver, request: &ApprovalRequest) -> Result<Answer, Unanswered> {
    let ask = AssertUnwindSafe(async { approver.ask(request).await });
    ask.catch_unwind().await.unwrap_or(Err(Unanswered::Failed))
}

async fn expiry(after: Option<std::time::Duration>) {
    match after {
        Some(after) => tokio::time::sleep(after).await,
        None => std::future::pending().await,
    }
}

fn place(fates: &mut [Fate], index: usize, fate: Fate) {
    if let Some(slot) = fates.get_mut(index) {
        *slot = fate;
    }
}

fn refused(record: &Arc<PlanRecord>, error: ToolError) -> Fate {
    Fate::Refused(Box::new(Refusal::of_plan(record, error)))
}

/// A call of a gate in `parse_only` mode that nobody was asked to answer.
fn unsupplied(manual: &ManualCall) -> Refusal {
    let call = manual.call();
    let message = "the call was read and checked; tools are in parse_only mode, so a person has to supply its result";
    let error = ToolError::new(ErrorKind::Disabled, message);
    Refusal::new(call.id.clone(), call.name.as_str(), error)
}

fn nobody() -> ToolError {
    ToolError::new(
        ErrorKind::NoApprover,
        "this needs a person's yes and nobody is there to ask; it was not run",
    )
}

fn unanswered(why: Unanswered) -> ToolError {
    match why {
        Unanswered::NobodyThere => nobody(),
        Unanswered::Failed => ToolError::new(
            ErrorKind::NoApprover,
            "this needs a person's yes and asking for it failed; it was not run",
        ),
        Unanswered::Expired => ToolError::new(
            ErrorKind::ApprovalExpired,
            "Confirmation request timed out: nobody answered in time; it was not run",
        ),
        Unanswered::Cancelled => ToolError::new(
            ErrorKind::Cancelled,
            "Confirmation request cancelled. Cancelled by user; it was not run",
        ),
    }
}

fn user_denied(reason: Option<&str>) -> ToolError {
    let message = match reason
        .map(str::trim)
        .filter(|reason| !reason.is_empty())
        .map(approval_text)
    {
        Some(reason) => format!("the person said no: {reason}"),
        None => {
            "the person said no; do not try the same again, ask what is wanted instead".to_owned()
        }
    };
    ToolError::new(ErrorKind::UserDenied, message)
}
