//! A directory with sandbox, tools and gate.

use std::path::PathBuf;
use std::sync::Arc;

use toolgate_gate::journal::{Journal, MemoryJournal};
use toolgate_gate::middleware::{Middleware, RepetitionGuard};
use toolgate_gate::output::Redactor;
use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_gate::session::Session;
use toolgate_gate::tool::Tool;
use toolgate_gate::{BuildError, Gate, Settings};
use toolgate_model::ConversationId;
use toolgate_policy::{Finding, Rules, in_vain};
use toolgate_sandbox::paths::{PathRules, PathSandbox, RulesError};

#[cfg(feature = "sandbox")]
mod commands;

#[cfg(feature = "sandbox")]
use commands::Commands;

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The directory or a path rule cannot be used.
    #[error(transparent)]
    Paths(#[from] RulesError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The gate cannot be built from these rules.
    #[error(transparent)]
    Gate(#[from] BuildError),
    /// A rule denies or asks and can never apply: no tool has its name, or no command fits it.
    #[error("{0}")]
    Rule(Finding),
}

/// A directory with sandbox, tools and gate.
///
/// Calls of its gate can touch this directory and nothing else. Many conversations can share a
/// workspace: each has a [`Session`].
///
/// With the features `tools` and `sandbox`, commands run in the command sandbox if the program
/// called [`crate::sandbox`]'s `init` first thing in `main`. Otherwise they are refused,
/// [`command_sandbox`](Self::command_sandbox) says why, and everything else works.
#[derive(Clone)]
pub struct Workspace {
    gate: Gate,
    no_commands: Option<Arc<str>>,
}

impl Workspace {
    /// Opens a directory with the default rules, which ask before every side effect, the
    /// built-in tools, and a journal in memory.
    ///
    /// # Errors
    /// The directory does not exist or cannot be opened.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, WorkspaceError> {
        Self::builder(directory, Rules::default()).open()
    }

    /// Begins a workspace with rules of your own.
    pub fn builder(directory: impl Into<PathBuf>, rules: Rules) -> WorkspaceBuilder {
        WorkspaceBuilder {
            paths: PathRules::new(directory),
            rules,
            settings: Settings::default(),
            journal: None,
            builtin: true,
            tools: Vec::new(),
            middleware: Vec::new(),
            redactor: None,
            #[cfg(feature = "tools")]
            tool_settings: toolgate_tools::ToolSettings::default(),
            #[cfg(feature = "sandbox")]
            commands: Commands::default(),
            no_commands: Some("this program has no tools that run commands".into()),
        }
    }

    /// The gate that calls go through.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The tools.
    pub fn registry(&self) -> &Arc<Registry> {
        self.gate.registry()
    }

    /// Whether commands can run, and why they cannot.
    ///
    /// # Errors
    /// Why there is no command sandbox: [`crate::sandbox`]'s `init` was not called first thing in
    /// `main`, this machine lacks something, or the library was built without it.
    pub fn command_sandbox(&self) -> Result<(), &str> {
        match &self.no_commands {
            None => Ok(()),
            Some(reason) => Err(reason),
        }
    }

    /// The path sandbox.
    pub fn paths(&self) -> &PathSandbox {
        self.gate.sandbox()
    }

    /// Begins a conversation. The name is what the journal knows it by.
    ///
    /// For a session with a scope, followers or outputs of its own, use
    /// [`Session::new`] and its setters, and put it into an [`Arc`].
    pub fn session(&self, conversation: impl Into<ConversationId>) -> Arc<Session> {
        Arc::new(Session::new(conversation))
    }

    /// The surroundings of a turn: this gate and its journal, no approver, no listener. Set
    /// `approver`, `events` and `cancel` as needed.
    #[cfg(feature = "providers")]
    pub fn turn_context(&self, session: &Arc<Session>) -> toolgate_engine::TurnContext {
        toolgate_engine::TurnContext {
            gate: self.gate.clone(),
            session: Arc::clone(session),
            clock: Arc::new(toolgate_gate::SystemClock),
            approver: None,
            events: toolgate_gate::execute::EventSink::none(),
            cancel: tokio_util::sync::CancellationToken::new(),
        }
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

/// Puts a workspace together. See [`Workspace::builder`].
pub struct WorkspaceBuilder {
    paths: PathRules,
    rules: Rules,
    settings: Settings,
    journal: Option<Arc<dyn Journal>>,
    builtin: bool,
    tools: Vec<Arc<dyn Tool>>,
    middleware: Vec<Arc<dyn Middleware>>,
    redactor: Option<Redactor>,
    #[cfg(feature = "tools")]
    tool_settings: toolgate_tools::ToolSettings,
    #[cfg(feature = "sandbox")]
    commands: Commands,
    no_commands: Option<Arc<str>>,
}

impl WorkspaceBuilder {
    /// Changes the rules of the path sandbox: more roots, denied and protected paths, own files.
    #[must_use]
    pub fn path_rules(mut self, change: impl FnOnce(PathRules) -> PathRules) -> Self {
        self.paths = change(self.paths);
        self
    }

    /// Sets limits, timeouts and modes. Whether the command sandbox is up is found out when the
    /// workspace is opened.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the journal. Name a journal file inside the directory with
    /// [`path_rules`](Self::path_rules) and `PathRules::close`, so that no tool reads or changes
    /// it.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Leaves the built-in tools out.
    #[must_use]
    pub fn without_builtin_tools(mut self) -> Self {
        self.builtin = false;
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a middleware inside those that were added before.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Sets which values count as secrets, beside what looks like one.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Sets the settings of the built-in tools. Those of commands are set when the workspace
    /// is opened.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn tool_settings(mut self, settings: toolgate_tools::ToolSettings) -> Self {
        self.tool_settings = settings;
        self
    }

    /// Sets what commands may use of the network. The default is nothing.
    #[cfg(feature = "sandbox")]
    #[must_use]
    pub fn command_network(mut self, network: toolgate_sandbox::command::Network) -> Self {
        self.commands.network = network;
        self
    }

    /// Sets the variables that commands get. Those that may hold a secret are removed.
    #[cfg(feature = "sandbox")]
    #[must_use]
    pub fn command_environment(
        mut self,
        variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    ) -> Self {
        self.commands.environment = variables.into_iter().collect();
        self
    }

    /// Opens the directory, starts the command sandbox and builds the gate.
    ///
    /// # Errors
    /// The directory cannot be opened, a tool's name is taken, or a rule cannot be understood or
    /// denies in vain. Tools that such a rule names are there before it: see [`tool`](Self::tool).
    /// A command sandbox that cannot start is no error: commands are refused then.
    pub fn open(mut self) -> Result<Workspace, WorkspaceError> {
        let paths = PathSandbox::open(&self.paths)?;
        let registry = Arc::new(Registry::new());
        if self.builtin {
            self.register_builtin(&registry, &paths)?;
        }
        for tool in std::mem::take(&mut self.tools) {
            registry.register(tool)?;
        }
        let repeatable = registry.list();
        let repeatable = repeatable.iter().map(|entry| entry.spec());
        let repeatable = repeatable.filter(|spec| spec.repeatable);
        let guard = RepetitionGuard::new(repeatable.map(|spec| spec.name.clone()));
        let journal = self.journal;
        let journal = journal.unwrap_or_else(|| Arc::new(MemoryJournal::new()));
        if let Some(finding) = vain_rule(&registry, &self.rules) {
            return Err(WorkspaceError::Rule(finding));
        }
        let no_commands = self.no_commands;
        let mut builder = Gate::builder(registry, self.rules, paths, journal)
            .settings(self.settings)
            .middleware(Arc::new(guard));
        for middleware in self.middleware {
            builder = builder.middleware(middleware);
        }
        if let Some(redactor) = self.redactor {
            builder = builder.redactor(redactor);
        }
        Ok(Workspace {
            gate: builder.build()?,
            no_commands,
        })
    }

    #[cfg(feature = "tools")]
    fn register_builtin(
        &mut self,
        registry: &Registry,
        paths: &PathSandbox,
    ) -> Result<(), RegistryError> {
        let mut settings = self.tool_settings.clone();
        #[cfg(feature = "sandbox")]
        {
            let started = self.commands.start(paths, &settings.commands);
            self.no_commands = started.missing();
            self.settings.command_sandbox = started.is_up();
            self.settings.network_closed = started.network_is_closed();
            self.middleware.extend(started.asks());
            settings.commands = Arc::new(started.settings);
        }
        #[cfg(not(feature = "sandbox"))]
        let _ = (paths, &mut settings);
        toolgate_tools::register_all(registry, &settings)
    }

    #[cfg(not(feature = "tools"))]
    fn register_builtin(&mut self, _: &Registry, _: &PathSandbox) -> Result<(), RegistryError> {
        Ok(())
    }
}

/// The first rule that denies or asks and can never apply.
fn vain_rule(registry: &Registry, rules: &Rules) -> Option<Finding> {
    let tools = registry.list();
    let known: Vec<&str> = tools
        .iter()
        .map(|entry| entry.spec().name.as_str())
        .collect();
    let found = in_vain(&rules.layers, &known, &|name| registry.canonical(name));
    found.into_iter().next()
}
