//! Compiled policies, each made once.
//!
//! ```text
//! rules, grants of the project ──▶ one policy for all conversations (the gate's)
//!   + grants and scope of a conversation ──▶ its own policy (the session's)
//! ```
//!
//! A policy is compiled again when the registry's names, the grants of the project or those of
//! the conversation change, and not before. A grant store that cannot be read grants nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolgate_model::{Action, Args, ErrorKind, NetworkAccess, ToolError};
use toolgate_policy::{LayerSpec, Policy, Question};

use crate::approve::{Grant, GrantStamp};
use crate::gate::Gate;
use crate::session::Session;
use crate::sync::{Mutex, lock};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// What a policy was compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// The gate, whose rules never change.
    gate: u64,
    /// The registry's names.
    names: u64,
    /// The grants of the project.
    project: u64,
    /// The grants of the conversation; zero where there are none.
    conversation: u64,
}

/// The policy that was compiled last.
#[derive(Default)]
pub(crate) struct Compiled(Mutex<Option<(Key, Arc<Policy>)>>);

impl Compiled {
    fn get(
        &self,
        key: Key,
        compile: impl FnOnce() -> Result<Arc<Policy>, ToolError>,
    ) -> Result<Arc<Policy>, ToolError> {
        let mut last = lock(&self.0);
        if let Some((_, policy)) = last.as_ref().filter(|(of, _)| *of == key) {
            return Ok(Arc::clone(policy));
        }
        let policy = compile()?;
        *last = Some((key, Arc::clone(&policy)));
        Ok(policy)
    }

    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }
}

/// What a gate knows of policies.
pub(crate) struct Policies {
    gate: u64,
    shared: Compiled,
    granted: Mutex<Granted>,
}

/// The grants of the project as they were read last.
#[derive(Default)]
struct Granted {
    stamp: Option<GrantStamp>,
    grants: Arc<[Grant]>,
    changes: u64,
}

impl Granted {
    /// The grants, if this is the stamp that they were read under.
    fn known(&self, stamp: Option<GrantStamp>) -> Option<(u64, Arc<[Grant]>)> {
        (stamp.is_some() && stamp == self.stamp).then(|| (self.changes, Arc::clone(&self.grants)))
    }

    /// Takes up a list. A batch that read an older one meanwhile leaves its older stamp, and the
    /// next batch reads again.
    fn read(&mut self, stamp: Option<GrantStamp>, list: Option<Vec<Grant>>) -> (u64, Arc<[Grant]>) {
        self.stamp = stamp.filter(|_| list.is_some());
        let list = list.unwrap_or_default();
        if *self.grants != *list {
            self.grants = list.into();
            self.changes += 1;
        }
        (self.changes, Arc::clone(&self.grants))
    }
}

impl Policies {
    pub(crate) fn new() -> Self {
        Self {
            gate: NEXT.fetch_add(1, Ordering::Relaxed),
            shared: Compiled::default(),
            granted: Mutex::default(),
        }
    }
}

impl Gate {
    /// Scopes, grants and rules of a conversation as one policy. With `extra` grants it is
    /// compiled for this one question.
    pub(crate) async fn policy_for(
        &self,
        session: &Session,
        extra: &[Grant],
    ) -> Result<Arc<Policy>, ToolError> {
        let policies = &self.inner.policies;
        let names = self.inner.registry.names_generation();
        let (project, of_project) = self.granted().await;
        let (conversation, own) = session.numbered_grants();
        let all = || [&of_project[..], &own, extra].concat();
        let shared = own.is_empty() && session.scopes().is_empty();
        let key = Key {
            gate: policies.gate,
            names,
            project,
            conversation: if shared { 0 } else { conversation },
        };
        if !extra.is_empty() {
            self.compile(session, &all())
        } else if shared {
            policies.shared.get(key, || self.compile(session, &all()))
        } else {
            let compile = || self.compile(session, &all());
            session.compiled().get(key, compile)
        }
    }

    /// The rules of a conversation as one policy, with these grants of the project, for
    /// [`expected`](Self::expected).
    pub fn policy_with(
        &self,
        session: &Session,
        project: &[Grant],
    ) -> Result<Arc<Policy>, ToolError> {
        self.compile(session, &[project, &session.grants()].concat())
    }

    /// What policy says about a call before anything is looked at: no path, no link, no network.
    /// Nothing for a call that cannot be understood.
    pub fn expected(
        &self,
        session: &Session,
        policy: &Policy,
        tool: &str,
        args: Args,
    ) -> Option<Action> {
        let resolved = self.inner.registry.resolve(tool, args).ok()?;
        resolved.check().ok()?;
        let invocation = resolved.entry.tool().parse(&resolved.args).ok()?;
        let spec = resolved.entry.spec();
        let verdict = policy.judge(Question {
            tool: &spec.name,
            args: &resolved.args,
            facts: invocation.facts(),
            side_effects: spec.side_effects,
            requires_approval: spec.requires_approval || invocation.requires_approval(),
            risk: invocation.risk().unwrap_or(spec.risk),
            command_sandbox: self.inner.settings.command_sandbox,
            network_closed: self.network_closed(session),
            sandbox_from_facts: false,
        });
        Some(verdict.decision.action)
    }

    /// Whether commands of a conversation have no network but a loopback of their own.
    pub(crate) fn network_closed(&self, session: &Session) -> bool {
        self.inner.settings.network_closed && session.opened().network != Some(NetworkAccess::On)
    }

    /// The grants of the project, and a number that changes with them.
    async fn granted(&self) -> (u64, Arc<[Grant]>) {
        let store = &self.inner.grants;
        let granted = &self.inner.policies.granted;
        // Looked at before the list is read: a change in between is seen by the next batch.
        let stamp = store.stamp().await;
        if let Some(known) = lock(granted).known(stamp) {
            return known;
        }
        let list = store.list().await;
        lock(granted).read(stamp, list.ok())
    }

    fn compile(&self, session: &Session, grants: &[Grant]) -> Result<Arc<Policy>, ToolError> {
        let rules = &self.inner.rules;
        let mut layers: Vec<LayerSpec> = rules.layers.clone();
        if !grants.is_empty() || !session.scopes().is_empty() {
            layers.push(Grant::layer(grants));
        }
        for scope in session.scopes() {
            let all = self.inner.registry.list();
            let read_only = all
                .iter()
                .map(|entry| entry.spec())
                .filter(|spec| !spec.side_effects);
            layers.push(scope.layer("scope", &read_only.map(|spec| spec.name.clone()).collect()));
        }
        let policy = self.inner.registry.policy(rules.settings.clone(), &layers);
        policy
            .map(Arc::new)
            .map_err(|error| ToolError::new(ErrorKind::PolicyDenied, error.to_string()))
    }
}
