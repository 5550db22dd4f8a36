//! Everything that the assembly takes from outside.
//!
//! ```
//! use toolgate_app::{AppOptions, Approval, Environment, Home};
//!
//! let environment = Environment::of([("HOME", "/home/me"), ("LANG", "pt_BR.UTF-8")]);
//! let home = Home::from_environment(&environment)?;
//! let options = AppOptions::new(home, "/home/me/project")
//!     .environment(environment)
//!     .approval(Approval::Pending);
//! # drop(options);
//! # Ok::<(), toolgate_app::AppError>(())
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolgate_gate::approve::Approver;
use toolgate_gate::middleware::Metrics;
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_gate::{Clock, SystemClock};

use crate::home::Home;

/// The environment variables that the app knows.
#[derive(Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

/// Values may be secrets: only the names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Environment {
    /// These variables.
    pub fn of<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        Self(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.as_os_str());
        value.filter(|value| !value.is_empty())
    }

    /// The same as text; nothing if the value is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        self.0.iter()
    }
}

/// Where the configuration says that a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretSource<'a> {
    /// In an environment variable.
    Variable(&'a str),
    /// In the output of a program with its arguments.
    Command(&'a [String]),
}

/// Looks a key up. `Ok(None)` if it is not set; an error says why a command gave none.
pub type SecretLookup =
    Arc<dyn Fn(SecretSource<'_>) -> Result<Option<String>, String> + Send + Sync>;

/// Takes notices for the user: one line each, about the machine or the configuration.
pub type Notices = Arc<dyn Fn(&str) + Send + Sync>;

/// Who approves calls that need it.
#[derive(Clone, Default)]
pub enum Approval {
    /// No approver: such calls do not run.
    #[default]
    Nobody,
    /// Everything that may be approved is.
    Everything,
    /// Questions wait as pending approvals until a face answers them by id.
    Pending,
    /// This approver.
    Ask(Arc<dyn Approver>),
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::Everything => "Everything",
            Self::Pending => "Pending",
            Self::Ask(_) => "Ask(…)",
        })
    }
}

/// What [`App::open`](crate::App::open) starts from.
#[derive(Clone)]
pub struct AppOptions {
    pub(crate) home: Home,
    pub(crate) workspace: PathBuf,
    pub(crate) only_here: bool,
    pub(crate) config: Option<PathBuf>,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) trust: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) tools_mode: Option<ToolsMode>,
    pub(crate) environment: Environment,
    pub(crate) secrets: Option<SecretLookup>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) approval: Approval,
    pub(crate) notices: Notices,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) audit: bool,
}

impl fmt::Debug for AppOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppOptions")
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .field("config", &self.config)
            .field("journal", &self.journal)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}

impl AppOptions {
    /// Toolgate's own files in this place, and the directory that tools may use.
    pub fn new(home: Home, workspace: impl Into<PathBuf>) -> Self {
        Self {
            home,
            workspace: workspace.into(),
            only_here: false,
            config: None,
            journal: None,
            trust: None,
            profile: None,
            tools_mode: None,
            environment: Environment::default(),
            secrets: None,
            clock: Arc::new(SystemClock),
            approval: Approval::Nobody,
            notices: Arc::new(|_| {}),
            metrics: None,
            audit: false,
        }
    }

    /// Refuses conversations about other workspaces: the user named this one.
    #[must_use]
    pub const fn only_here(mut self, only_here: bool) -> Self {
        self.only_here = only_here;
        self
    }

    /// A configuration file above the user's and the project's.
    #[must_use]
    pub fn config_file(mut self, file: Option<PathBuf>) -> Self {
        self.config = file;
        self
    }

    /// The journal's file, if it is not the configured one.
    #[must_use]
    pub fn journal(mut self, file: Option<PathBuf>) -> Self {
        self.journal = file;
        self
    }

    /// The trust level, above what the configuration says.
    #[must_use]
    pub fn trust(mut self, level: Option<String>) -> Self {
        self.trust = level;
        self
    }

    /// The profile of tool names, above what the configuration says.
    #[must_use]
    pub fn profile(mut self, name: Option<String>) -> Self {
        self.profile = name;
        self
    }

    /// Whether tools run, are left to the user, or are off, above what the configuration says.
    #[must_use]
    pub const fn tools_mode(mut self, mode: Option<ToolsMode>) -> Self {
        self.tools_mode = mode;
        self
    }

    /// The environment that commands inherit from, and whose secrets are redacted.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// How keys of providers are looked up. Without it, they are looked up in the environment
    /// that was passed in, and commands give none.
    #[must_use]
    pub fn secrets(mut self, lookup: SecretLookup) -> Self {
        self.secrets = Some(lookup);
        self
    }

    /// The clock of journal entries.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Who approves calls.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Takes notices for the user.
    #[must_use]
    pub fn on_notice(mut self, notices: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices = Arc::new(notices);
        self
    }

    /// Counts calls here.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Emits a tracing event for every call that settles.
    #[must_use]
    pub const fn audit(mut self, audit: bool) -> Self {
        self.audit = audit;
        self
    }

    pub(crate) fn notice(&self, text: impl AsRef<str>) {
        (self.notices)(text.as_ref());
    }

    pub(crate) fn secret(&self, source: SecretSource<'_>) -> Result<Option<String>, String> {
        match (&self.secrets, source) {
            (Some(lookup), _) => lookup(source),
            (None, SecretSource::Variable(name)) => {
                Ok(self.environment.text(name).map(str::to_owned))
            }
            (None, SecretSource::Command(_)) => {
                Err("cannot be started: this program runs no commands for keys".to_owned())
            }
        }
    }
}
