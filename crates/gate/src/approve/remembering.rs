//! What an answer leaves behind: grants, and what stays open.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolgate_model::{Action, CallId, CallKind, OpenedDirectory, Openings};

use super::request::Offer;
use super::{Answer, Grant, Remember};
use crate::execute::{self, Stop};
use crate::gate::Gate;
use crate::journal::{Entry, Lasting, Record};
use crate::plan::Live;
use crate::session::Session;

impl Gate {
    /// What an approver can be offered beside a plain yes.
    pub(super) async fn offer(&self, session: &Arc<Session>, live: &Live) -> Offer {
        let opened = execute::call::opened(live, session);
        let foreign = AssertUnwindSafe(|| {
            let invocation = &live.invocation;
            (invocation.could_connect(), invocation.would_fail(&opened))
        });
        // Foreign code: it may panic.
        let (mut could_connect, would_fail) = catch_unwind(foreign).unwrap_or_default();
        could_connect.retain(|network| Some(*network) > opened.network);
        let mut kinds = Vec::new();
        for kind in [CallKind::Edits, CallKind::Commands] {
            let grants = Grant::of_kind(kind, &self.inner.registry);
            if grants.iter().any(|grant| grant.tool == live.record.tool)
                && self.allowed_by(session, live, &grants).await.is_ok()
            {
                kinds.push(kind);
            }
        }
        Offer {
            grants: self.tried(session, live).await.unwrap_or_default(),
            kinds,
            could_connect,
            would_fail,
        }
    }

    /// What "always" would save for a call, if that would have allowed this very call.
    async fn tried(&self, session: &Arc<Session>, live: &Live) -> Result<Vec<Grant>, String> {
        let grants = Grant::proposed(&live.record);
        if grants.is_empty() {
            return Err(Grant::unproposed(&live.record).into());
        }
        self.allowed_by(session, live, &grants).await?;
        Ok(grants)
    }

    /// Whether a call would have been allowed with these grants, or why not.
    async fn allowed_by(
        &self,
        session: &Arc<Session>,
        live: &Live,
        grants: &[Grant],
    ) -> Result<(), String> {
        let policy = self
            .policy_for(session, grants)
            .await
            .map_err(|error| error.message)?;
        let stop = Stop::of_conversation(session);
        let (mut decision, ..) = self.planner(session, &policy, stop).policy_says(live);
        if let Some(review) = self.inner.chain.review(session, &live.record) {
            decision = decision.stricter(review);
        }
        if decision.action != Action::Allow {
            let record = &live.record;
            let redactor = &self.inner.redactor;
            redactor.redact_atoms(&mut decision, &record.tool, &record.facts);
            return Err(format!(
                "it would not have allowed this very call: {}",
                decision.reason
            ));
        }
        Ok(())
    }

    /// Puts what outlives a call on record with its answer. A grant that holds something secret
    /// is not: redacted, it would match something else.
    pub(super) fn keep_lasting(&self, mut lasting: Lasting, call: &CallId, opening: &mut [Entry]) {
        let redactor = &self.inner.redactor;
        lasting
            .grants
            .retain(|grant| grant.for_approver(redactor) == *grant);
        let mut entries = opening.iter_mut().rev().filter(|entry| entry.call == *call);
        let answered = entries.find_map(|entry| match &mut entry.record {
            Record::Answered { lasting, .. } => Some(lasting),
            _ => None,
        });
        if let Some(kept) = answered {
            **kept = lasting;
        }
    }

    /// Saves what "always" means for this call, after trying it on this very call. Returns what
    /// the conversation remembers.
    pub(super) async fn remember(
        &self,
        session: &Arc<Session>,
        live: &Live,
        remember: Remember,
    ) -> Result<Vec<Grant>, String> {
        let mut grants = match (remember, remember.kind()) {
            (Remember::Once, _) => return Ok(Vec::new()),
            (_, None) => self.tried(session, live).await?,
            (_, Some(kind)) => {
                let grants = Grant::of_kind(kind, &self.inner.registry);
                if !grants.iter().any(|grant| grant.tool == live.record.tool) {
                    return Err(format!("it is none of the {}", remember.as_str()));
                }
                self.allowed_by(session, live, &grants).await?;
                grants
            }
        };
        let kept = match remember {
            Remember::Project => {
                let kept = self.inner.grants.list().await;
                kept.map_err(|error| error.message)?
            }
            _ => session.grants(),
        };
        // What is remembered already is not remembered twice: one revocation has to be enough.
        grants.retain(|new| {
            let same = |old: &Grant| old.tool == new.tool && old.scope == new.scope;
            !kept.iter().any(same)
        });
        for grant in &mut grants {
            let bits = self.inner.entropy.bits().ok_or("no randomness for an id")?;
            grant.id = format!("g{:012x}", bits & 0xffff_ffff_ffff);
            grant.at_ms = self.inner.clock.now_ms();
        }
        if remember == Remember::Project {
            let added = self.inner.grants.add(&grants).await;
            return added.map(|()| Vec::new()).map_err(|error| error.message);
        }
        session.grant(grants.clone());
        Ok(grants)
    }
}

/// What an answer opens to a call that it approves.
pub(super) fn openings(live: &Live, answer: &Answer) -> Openings {
    if answer.open.is_nothing() {
        return Openings::default();
    }
    let directories = answer.open.directories.map(|access| {
        let needed = live.record.opens.iter().cloned();
        needed.map(move |directory| OpenedDirectory { directory, access })
    });
    // Foreign code: it may panic. Then nothing was offered.
    let offered = AssertUnwindSafe(|| live.invocation.could_connect());
    let offered = catch_unwind(offered).unwrap_or_default();
    Openings {
        directories: directories.into_iter().flatten().collect(),
        network: answer
            .open
            .network
            .filter(|network| offered.contains(network)),
    }
}
