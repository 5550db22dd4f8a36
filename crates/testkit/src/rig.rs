//! A gate with everything around it.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toolgate_gate::approve::{Answer, Approver, GrantStore};
use toolgate_gate::execute::EventSink;
use toolgate_gate::journal::Journal;
use toolgate_gate::middleware::Middleware;
use toolgate_gate::output::Redactor;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Tool;
use toolgate_gate::{BatchContext, Entropy, Gate, Rules, Settings};
use toolgate_model::{Call, ToolCall, ToolResult};
use toolgate_policy::{LayerSpec, LayerTrust, RuleSpec};

use crate::{CountingEntropy, FakeClock, FaultyJournal, ScriptedApprover, Workspace};

/// A whole call from a JSON object of arguments.
pub fn call(id: &str, name: &str, args: Value) -> Call {
    Call::Whole(raw_call(id, name, args))
}

/// A whole call with the model's words about it.
pub fn call_because(id: &str, name: &str, args: Value, reason: &str) -> Call {
    let mut call = raw_call(id, name, args);
    call.reason = Some(reason.to_owned());
    Call::Whole(call)
}

/// As [`call`], before it is wrapped.
pub fn raw_call(id: &str, name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else {
        panic!("arguments are an object, not {args}")
    };
    ToolCall::new(id, name, args)
}

/// Collects the parts of a gate for a test. Every part has a default.
pub struct Rig {
    workspace: Workspace,
    registry: Arc<Registry>,
    settings: Settings,
    rules: Rules,
    middleware: Vec<Arc<dyn Middleware>>,
    grants: Option<Arc<dyn GrantStore>>,
    journal: FaultyJournal,
    entropy: Option<Arc<dyn Entropy>>,
    redactor: Option<Redactor>,
    session: Session,
}

impl Default for Rig {
    fn default() -> Self {
        Self::new()
    }
}

impl Rig {
    /// An empty workspace, no tools, default settings, default rules.
    pub fn new() -> Self {
        Self {
            workspace: Workspace::new(),
            registry: Arc::new(Registry::new()),
            settings: Settings::default(),
            rules: Rules::default(),
            middleware: Vec::new(),
            grants: None,
            journal: FaultyJournal::sound(),
            entropy: None,
            redactor: None,
            session: Session::new("test"),
        }
    }

    /// With another workspace.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = workspace;
        self
    }

    /// With one more tool.
    #[must_use]
    pub fn tool(self, tool: impl Into<Arc<dyn Tool>>) -> Self {
        self.registry.register(tool.into()).expect("a usable tool");
        self
    }

    /// With changed settings.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// With changed rules.
    #[must_use]
    pub fn rules(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    /// With no policy to check.
    #[must_use]
    pub fn without_rules(mut self) -> Self {
        self.rules = Rules::nothing_to_check();
        self
    }

    /// With one more trusted rule.
    #[must_use]
    pub fn rule(mut self, rule: RuleSpec) -> Self {
        let layers = &mut self.rules.layers;
        match layers.last_mut() {
            Some(layer) => layer.rules.push(rule),
            None => layers.push(LayerSpec::new("user", LayerTrust::Trusted, vec![rule])),
        }
        self
    }

    /// With one more middleware, inside the others.
    #[must_use]
    pub fn middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.middleware.push(middleware);
        self
    }

    /// With a place for a project's grants.
    #[must_use]
    pub fn grants(mut self, grants: Arc<dyn GrantStore>) -> Self {
        self.grants = Some(grants);
        self
    }

    /// With another journal.
    #[must_use]
    pub fn journal(mut self, journal: FaultyJournal) -> Self {
        self.journal = journal;
        self
    }

    /// With another source of ids.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = Some(entropy);
        self
    }

    /// With secrets to look for.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// With another conversation.
    #[must_use]
    pub fn session(mut self, session: Session) -> Self {
        self.session = session;
        self
    }

    /// Puts the gate together.
    pub fn build(self) -> Bench {
        let (clock, counting) = (FakeClock::default(), CountingEntropy::default());
        let journal: Arc<dyn Journal> = Arc::new(self.journal.clone());
        let sandbox = self.workspace.sandbox().clone();
        let mut builder = Gate::builder(Arc::clone(&self.registry), self.rules, sandbox, journal)
            .settings(self.settings)
            .clock(Arc::new(clock.clone()))
            .entropy(self.entropy.unwrap_or_else(|| Arc::new(counting.clone())));
        for middleware in self.middleware {
            builder = builder.middleware(middleware);
        }
        if let Some(grants) = self.grants {
            builder = builder.grants(grants);
        }
        builder = builder.redactor(self.redactor.unwrap_or_else(shapes_only));
        Bench {
            gate: builder.build().expect("a gate"),
            session: Arc::new(self.session),
            registry: self.registry,
            journal: self.journal,
            workspace: self.workspace,
            clock,
            entropy: counting,
        }
    }
}

/// Secrets by their shape alone. Made once: it takes longer than most tests.
fn shapes_only() -> Redactor {
    static MADE: OnceLock<Redactor> = OnceLock::new();
    let make = || Redactor::new(std::iter::empty::<(&str, &str)>()).expect("a redactor");
    MADE.get_or_init(make).clone()
}

/// A gate, a conversation, and what can be looked at afterwards.
pub struct Bench {
    /// The gate.
    pub gate: Gate,
    /// The conversation.
    pub session: Arc<Session>,
    /// The tools.
    pub registry: Arc<Registry>,
    /// The record.
    pub journal: FaultyJournal,
    /// The files.
    pub workspace: Workspace,
    /// The time.
    pub clock: FakeClock,
    /// The ids, unless the rig was given other ones.
    pub entropy: CountingEntropy,
}

impl Bench {
    /// Runs a batch with nobody to ask.
    pub async fn run(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        self.run_through(calls, &BatchContext::default()).await
    }

    /// Runs a batch.
    pub async fn run_through(&self, calls: Vec<Call>, passage: &BatchContext) -> Vec<ToolResult> {
        self.gate.run(&self.session, calls, passage).await
    }

    /// Runs a batch with a person who says this to the only question.
    pub async fn run_asked(&self, calls: Vec<Call>, answer: Answer) -> Vec<ToolResult> {
        let approver = ScriptedApprover::new([answer]);
        self.run_through(calls, &asking(approver)).await
    }

    /// Runs one call with nobody to ask.
    pub async fn one(&self, name: &str, args: Value) -> ToolResult {
        let mut results = self.run(vec![call("one", name, args)]).await;
        assert_eq!(results.len(), 1, "one result per call");
        results.remove(0)
    }
}

/// A passage with somebody to ask and nobody who listens.
pub fn asking(approver: impl Approver + 'static) -> BatchContext {
    BatchContext {
        approver: Some(Arc::new(approver)),
        events: EventSink::none(),
        ..BatchContext::default()
    }
}
