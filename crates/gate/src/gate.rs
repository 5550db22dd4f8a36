//! The gate: everything the middle of the pipeline needs, in one place.

use std::sync::Arc;
use std::time::Duration;

use toolgate_model::Category;
use toolgate_policy::{PolicyError, Rules};
use toolgate_sandbox::paths::PathSandbox;

use crate::approve::{GrantStore, NoGrants};
use crate::clock::{Clock, Entropy, SystemClock, SystemEntropy};
use crate::execute::Runner;
use crate::journal::Journal;
use crate::middleware::{Chain, Middleware};
use crate::output::{BlockLimits, Redactor, RedactorError};
use crate::plan::{CallLimits, Mode};
use crate::policies::Policies;
use crate::registry::Registry;
use crate::session::Session;
use crate::tool::{OutputLimits, ToolSpec};

/// How long calls may take where neither the call nor the tool says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Everything else; 30 seconds by default.
    pub default: Duration,
    /// File tools; 30 seconds by default.
    pub file: Duration,
    /// Commands; 300 seconds by default.
    pub exec: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            default: seconds(30),
            file: seconds(30),
            exec: seconds(300),
        }
    }
}

/// What happens to the rest of a batch when a call fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The others run.
    #[default]
    Continue,
    /// What has not started settles as cancelled; what runs is let finish.
    Stop,
}

/// Settings of the pipeline.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What tools are for. By default they run.
    pub mode: Mode,
    /// Bounds of a batch.
    pub limits: CallLimits,
    /// How long calls may take.
    pub timeouts: Timeouts,
    /// The most bytes of a result; 100 KiB by default. What is cut stays readable.
    pub max_output_bytes: usize,
    /// The most lines of a result; no limit by default.
    pub max_output_lines: Option<usize>,
    /// How large the blocks of a result may be.
    pub blocks: BlockLimits,
    /// How many calls of one batch may run side by side; 1 by default. Conversations do not wait
    /// for each other.
    pub max_concurrent: usize,
    /// How many commands of all conversations may run at once; further ones wait for their
    /// turn before they start; 32 by default. A command takes processes and descriptors.
    pub max_commands: usize,
    /// What happens after a failure. By default the others run.
    pub on_error: OnError,
    /// How long a question waits for its answer, 60 seconds by default; nothing means for ever.
    pub approval_timeout: Option<Duration>,
    /// Whether commands run in a sandbox on this machine.
    pub command_sandbox: bool,
    /// Whether commands have no network but a loopback of their own.
    pub network_closed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Enabled,
            limits: CallLimits::default(),
            timeouts: Timeouts::default(),
            max_output_bytes: 100 * 1024,
            max_output_lines: None,
            blocks: BlockLimits::default(),
            max_concurrent: 1,
            max_commands: 32,
            on_error: OnError::Continue,
            approval_timeout: Some(Duration::from_secs(60)),
            command_sandbox: false,
            network_closed: false,
        }
    }
}

/// Setters, to be chained after [`Settings::default`].
///
/// ```
/// use toolgate_gate::{OnError, Settings};
///
/// let settings = Settings::default().max_concurrent(4).on_error(OnError::Stop);
/// assert_eq!(settings.max_concurrent, 4);
/// ```
impl Settings {
    /// Sets what tools are for.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the bounds of a batch.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how long calls may take.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how large the blocks of a result may be.
    #[must_use]
    pub fn blocks(mut self, limits: BlockLimits) -> Self {
        self.blocks = limits;
        self
    }

    /// Sets the most bytes of a result.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Sets how many calls may run side by side.
    #[must_use]
    pub fn max_concurrent(mut self, calls: usize) -> Self {
        self.max_concurrent = calls;
        self
    }

    /// Sets what happens after a failure.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Sets how long a question waits for its answer; `None` means for ever.
    #[must_use]
    pub fn approval_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.approval_timeout = timeout;
        self
    }
}

/// The middle of the pipeline. Cheap to clone; all clones are one gate.
///
/// A call that runs keeps the gate. It ends with its passage, with its conversation, or when
/// whoever waits for it goes away.
#[derive(Clone)]
pub struct Gate {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) sandbox: PathSandbox,
    pub(crate) rules: Rules,
    pub(crate) policies: Policies,
    pub(crate) grants: Arc<dyn GrantStore>,
    pub(crate) chain: Arc<Chain>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) runner: Runner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// Why there is no gate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A rule cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The secrets cannot be looked for.
    #[error(transparent)]
    Redactor(#[from] RedactorError),
}

/// Puts a gate together. Registry, rules, path sandbox and journal have no default.
pub struct Builder {
    settings: Settings,
    registry: Arc<Registry>,
    sandbox: PathSandbox,
    journal: Arc<dyn Journal>,
    rules: Rules,
    grants: Arc<dyn GrantStore>,
    chain: Chain,
    redactor: Option<Redactor>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Builder {
    /// Sets limits, timeouts and modes.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets where a project's remembered approvals are kept.
    #[must_use]
    pub fn grants(mut self, grants: Arc<dyn GrantStore>) -> Self {
        self.grants = grants;
        self
    }

    /// Adds a middleware inside those that were added before.
    #[must_use]
    pub fn middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.chain.push(middleware);
        self
    }

    /// Sets what counts as a secret.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of ids.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Makes the gate. Rules that cannot be compiled are an error here, not at the first call.
    pub fn build(self) -> Result<Gate, BuildError> {
        let rules = self.rules;
        self.registry
            .policy(rules.settings.clone(), &rules.layers)?;
        let redactor = match self.redactor {
            Some(redactor) => redactor,
            None => Redactor::new(std::iter::empty::<(&str, &str)>())?,
        };
        let max_commands = self.settings.max_commands;
        Ok(Gate {
            inner: Arc::new(Inner {
                settings: self.settings,
                registry: self.registry,
                sandbox: self.sandbox,
                rules,
                policies: Policies::new(),
                grants: self.grants,
                chain: Arc::new(self.chain),
                journal: self.journal,
                redactor: Arc::new(redactor),
                runner: Runner::new(max_commands),
                clock: self.clock,
                entropy: self.entropy,
            }),
        })
    }
}

impl Gate {
    /// Begins a gate over these tools, under these rules, behind this path sandbox, with this
    /// journal.
    ///
    /// The rules have no default: [`Rules::default`] asks before every side effect, and a gate
    /// whose policy checks nothing has to name [`Rules::nothing_to_check`].
    pub fn builder(
        registry: Arc<Registry>,
        rules: Rules,
        sandbox: PathSandbox,
        journal: Arc<dyn Journal>,
    ) -> Builder {
        Builder {
            settings: Settings::default(),
            registry,
            sandbox,
            journal,
            rules,
            grants: Arc::new(NoGrants),
            chain: Chain::default(),
            redactor: None,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// The tools.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.inner.registry
    }

    /// The path sandbox.
    pub fn sandbox(&self) -> &PathSandbox {
        &self.inner.sandbox
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// What counts as a secret here, for whoever shows what is on record.
    pub fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    /// How many tools were given up on and have not ended yet.
    pub fn still_running(&self) -> usize {
        self.inner.runner.still_running()
    }

    pub(crate) fn output_limits(&self, session: &Session) -> OutputLimits {
        OutputLimits {
            max_bytes: self.inner.settings.max_output_bytes,
            max_lines: self.inner.settings.max_output_lines,
            available_capacity: session.available_capacity(),
            blocks: self.inner.settings.blocks,
        }
    }

    /// The call's own timeout, else the tool's, else the category's; a scope can only shorten it.
    pub(crate) fn time_limit(
        &self,
        spec: &ToolSpec,
        call: Option<Duration>,
        session: &Session,
    ) -> Duration {
        let timeouts = &self.inner.settings.timeouts;
        let by_category = match spec.category {
            Category::File => timeouts.file,
            Category::Exec => timeouts.exec,
            _ => timeouts.default,
        };
        let limit = call.or(spec.timeout).unwrap_or(by_category);
        let canonical = |name: &str| self.inner.registry.canonical(name);
        let scopes = session.scopes().iter();
        let scoped = scopes.filter_map(|scope| scope.timeout(&spec.name, &canonical));
        scoped.min().map_or(limit, |scoped| limit.min(scoped))
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("registry", &self.inner.registry)
            .finish_non_exhaustive()
    }
}
