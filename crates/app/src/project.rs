//! A workspace that calls can run in: its configuration, gate, tools and stores.
//!
//! ```
//! use toolgate_app::Purpose;
//!
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! let project = app.project(Purpose::Look)?;
//! assert!(project.definitions()?.iter().any(|tool| tool.name == "read_file"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolgate_config::{Effective, GrantFile};
use toolgate_gate::execute::EventSink;
use toolgate_gate::middleware::{AskAlways, RepetitionGuard};
use toolgate_gate::output::Redactor;
use toolgate_gate::plan::Mode;
use toolgate_gate::registry::{Definition, Registry};
use toolgate_gate::session::{KeptOnDisk, Session};
use toolgate_gate::tool::{Described, ToolSpec};
use toolgate_gate::{BatchContext, Gate, Settings};
use toolgate_model::json::JsonLimits;
use toolgate_model::{BadCall, Call, ConversationId, ErrorKind, ToolError, ToolResult};
use toolgate_policy::{Scope, Trust, in_vain};
use toolgate_sandbox::paths::PathSandbox;
use toolgate_tools::CommandSettings;

use crate::app::App;
use crate::audit;
use crate::command_context::{CommandContext, tell_unreported};
use crate::error::AppError;
use crate::options::Approval;
use crate::own_places;
use crate::record::Record;
use crate::secrets;
use crate::tool_settings::tool_settings;

/// A workspace with everything that its calls need.
pub struct Project {
    pub(crate) app: App,
    pub(crate) gate: Gate,
    pub(crate) grants: Arc<GrantFile>,
    pub(crate) config: Effective,
    outputs: Arc<KeptOnDisk>,
    commands: Arc<CommandSettings>,
    pub(crate) record: Arc<Record>,
    pub(crate) workspace: PathBuf,
    scopes: Vec<Scope>,
}

impl std::fmt::Debug for Project {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Project")
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

/// The tool that runs commands.
const RUN_COMMAND: &str = "run_command";

/// What a project is opened for. Only what this needs is started: the command sandbox takes
/// some milliseconds, and a journal is a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// To look at tools and rules; nothing runs.
    Look,
    /// To plan a call of this tool.
    Plan(&'a str),
    /// To run a call of this tool.
    Run(&'a str),
    /// To run any call.
    RunAll,
}

impl Purpose<'_> {
    /// Whether calls run.
    const fn runs(self) -> bool {
        matches!(self, Self::Run(_) | Self::RunAll)
    }

    /// Whether it has to be known how commands would run. What an autonomous model needs
    /// approval for depends on their sandbox too.
    fn needs_commands(self, trust: Trust) -> bool {
        let runs = |tool: &str| {
            let mut aliases = toolgate_tools::aliases().into_iter();
            tool == RUN_COMMAND
                || aliases.any(|alias| alias.name == tool && alias.tool == RUN_COMMAND)
        };
        match self {
            Self::Look => false,
            Self::Plan(tool) | Self::Run(tool) => trust == Trust::Autonomous || runs(tool),
            Self::RunAll => true,
        }
    }

    const fn needs_record(self) -> bool {
        matches!(self, Self::Run(_) | Self::RunAll)
    }
}

/// Arguments of a call as text, which is bounded before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgsText {
    /// All of it.
    Whole(Vec<u8>),
    /// More than [`Project::limits`] allows.
    TooLarge,
}

/// Calls to run, and how.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The conversation they belong to.
    pub conversation: ConversationId,
    /// Whether files may have changed since the conversation read them: calls of a user, who
    /// knows what is in the files, are not checked for that.
    pub by_user: bool,
    /// Stops the batch.
    pub cancel: CancellationToken,
}

impl Batch {
    /// Calls of a model, in this conversation.
    pub fn new(conversation: ConversationId, calls: Vec<Call>) -> Self {
        Self {
            calls,
            conversation,
            by_user: false,
            cancel: CancellationToken::new(),
        }
    }
}

/// The tools of which only the definitions are known, where the user answers the calls. They
/// take the place of the others.
fn described(config: &Effective) -> Vec<Described> {
    let tools = &config.settings().tools;
    let definitions = tools.definitions.iter();
    let definitions = definitions.filter(|_| tools.mode == Mode::ParseOnly);
    definitions
        .map(|tool| {
            Described::new(ToolSpec {
                side_effects: true,
                ..ToolSpec::new(&tool.name, &tool.description, tool.parameters.clone())
            })
        })
        .collect()
}

/// What a project is built from.
pub(crate) struct Plan<'a> {
    pub(crate) purpose: Purpose<'a>,
    pub(crate) workspace: PathBuf,
    pub(crate) config: Effective,
    /// Secrets with which a provider is asked: they are redacted.
    pub(crate) asked_with: Vec<(String, String)>,
    /// What the caller permits, beside the rules.
    pub(crate) scopes: Vec<Scope>,
}

impl Project {
    /// Builds it, with a last word about the gate's settings.
    pub(crate) fn build(
        app: &App,
        plan: Plan<'_>,
        last_word: impl FnOnce(&mut Settings),
    ) -> Result<Self, AppError> {
        let Plan {
            purpose,
            workspace,
            config,
            asked_with,
            scopes,
        } = plan;
        let options = app.options();
        for ignored in config.ignored() {
            options.notice(format!("{ignored}; `toolgate trust` lets this file widen"));
        }
        let registry = Arc::new(Registry::new());
        let rules = own_places::path_rules(options, &config, app.journal_file())?;
        let sandbox = PathSandbox::open(&rules).map_err(AppError::usage)?;
        let around = CommandContext::new(options, &config, &sandbox);
        let trust = config.rules().settings.trust;
        let (record, redactor) = std::thread::scope(|scope| {
            if purpose.needs_commands(trust) || (purpose.runs() && around.was_interrupted()) {
                scope.spawn(|| around.start());
            }
            let record = if purpose.needs_record() {
                app.record(&config)
            } else {
                Arc::new(Record::Passing)
            };
            let known = secrets::of_environment(&options.environment, &config)
                .into_iter()
                .chain(secrets::of_headers(&config))
                .chain(asked_with);
            let redactor = Redactor::new(known).map_err(AppError::internal)?;
            let commands = Arc::clone(&around.settings);
            let tools = tool_settings(options, &config, commands, record.store())?;
            let described = described(&config);
            if described.is_empty() {
                toolgate_tools::register_all(&registry, &tools).map_err(AppError::usage)?;
            }
            for tool in described {
                registry.register(Arc::new(tool)).map_err(AppError::usage)?;
            }
            Ok::<_, AppError>((record, redactor))
        })?;
        around.tell_earlier(options);
        around.tell_left_out(options, &config);
        if purpose != Purpose::Look {
            tell_in_vain(&config, &registry, app);
        }
        let grants = GrantFile::at(options.home.grants(), &workspace).map_err(AppError::usage)?;
        let grants = Arc::new(grants);
        let mut settings = config.gate_settings(around.sandbox().is_some());
        last_word(&mut settings);
        let repeatable = registry
            .list()
            .iter()
            .filter(|entry| entry.spec().repeatable)
            .map(|entry| entry.spec().name.clone())
            .collect::<Vec<_>>();
        let mut builder = Gate::builder(registry, config.rules(), sandbox, record.journal());
        // The first is the outermost: these see the results of everything else.
        if let Some(metrics) = &options.metrics {
            builder = builder.middleware(Arc::new(metrics.clone()));
        }
        if options.audit {
            builder = builder.middleware(Arc::new(audit::audit()));
        }
        builder = builder
            .settings(settings)
            .clock(Arc::clone(&options.clock))
            .grants(Arc::clone(&grants) as Arc<_>)
            .middleware(Arc::new(RepetitionGuard::new(repeatable)))
            .redactor(redactor);
        if let Some(reason) = around.asks() {
            builder = builder.middleware(Arc::new(AskAlways::about(RUN_COMMAND, reason)));
        }
        let output = config.settings().tools.output;
        let place = options.home.outputs();
        let outputs = KeptOnDisk::at(place, output.keep_bytes, output.keep_total_bytes);
        Ok(Self {
            app: app.clone(),
            gate: builder.build().map_err(AppError::usage)?,
            grants,
            config,
            outputs: Arc::new(outputs),
            commands: around.settings,
            record,
            workspace,
            scopes,
        })
    }

    /// The directory that its tools may use, with links resolved.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Its configuration.
    pub const fn config(&self) -> &Effective {
        &self.config
    }

    /// Whether a command sandbox stands here: commands are refused without one.
    pub fn has_command_sandbox(&self) -> bool {
        self.gate.settings().command_sandbox
    }

    /// The bounds of a call's arguments as text.
    pub fn limits(&self) -> JsonLimits {
        let limits = &self.gate.settings().limits;
        JsonLimits {
            max_bytes: limits.max_args_bytes,
            max_depth: limits.max_depth,
        }
    }

    /// One call from a name and the text of its arguments. Text that is no JSON object or too
    /// large becomes a call that settles as an error.
    pub fn call_from(&self, id: &str, tool: &str, args: ArgsText) -> Call {
        let limits = self.limits();
        match args {
            ArgsText::Whole(text) => Call::from_text(id, tool, &text, limits),
            ArgsText::TooLarge => {
                let message = format!(
                    "the arguments have more than {} bytes; send less at once",
                    limits.max_bytes
                );
                let error = ToolError::new(ErrorKind::LimitExceeded, message);
                Call::Bad(BadCall {
                    id: id.into(),
                    name: Some(tool.to_owned()),
                    error,
                })
            }
        }
    }

    pub(crate) fn session(&self, id: impl Into<ConversationId>) -> Session {
        let session = Session::new(id).keeping_in(Arc::clone(&self.outputs) as Arc<_>);
        let scopes = self.scopes.iter().cloned();
        scopes.fold(session, Session::scoped)
    }

    /// Ends a conversation: its calls, its entries that wait, and its lease. What was read in it
    /// is stored if it can be resumed.
    pub(crate) async fn end(&self, session: &Session) {
        let options = self.app.options();
        session.end().await;
        tell_unreported(&self.commands, options);
        self.record
            .remember(session, &self.workspace, options)
            .await;
        if let Err(error) = self.gate.end(session).await {
            options.notice(format!("the conversation ended with an error: {error}"));
        }
    }

    /// Brings changes of files to an end that a crash interrupted in this workspace.
    pub(crate) async fn mend(&self) {
        self.record
            .mend(self.gate.sandbox(), &self.workspace, &self.app)
            .await;
    }

    /// Runs calls through the pipeline, journaled from the first to the last: one result each,
    /// in call order.
    pub async fn run(&self, batch: Batch) -> Vec<ToolResult> {
        let approval = self.app.options().approval.clone();
        self.run_with(batch, approval).await
    }

    pub(crate) async fn run_with(&self, batch: Batch, approval: Approval) -> Vec<ToolResult> {
        let session = self.session(batch.conversation);
        let session = Arc::new(match batch.by_user {
            true => session.without_staleness(),
            false => session,
        });
        let context = BatchContext {
            approver: self.app.approver(&approval),
            events: EventSink::none(),
            cancel: batch.cancel,
        };
        self.mend().await;
        let _working = self.app.work_on(session.id()).await;
        self.record.begin(&session, &self.workspace).await;
        let results = self.gate.run(&session, batch.calls, &context).await;
        self.end(&session).await;
        for result in &results {
            if let Some(why) = result.metadata.get("not_remembered") {
                let why = why.as_str().unwrap_or_default();
                let options = self.app.options();
                options.notice(format!("the yes was not remembered: {why}"));
            }
        }
        results
    }

    /// The JSON Schema of a tool's arguments, by its name or an alias.
    pub fn schema(&self, tool: &str) -> Option<Value> {
        let definitions = self.definitions().unwrap_or_default();
        let offered = definitions.into_iter().find(|one| one.name == tool);
        let by_profile = offered.map(|definition| definition.input_schema);
        let registry = self.gate.registry();
        by_profile.or_else(|| {
            let entry = registry.get(&registry.canonical(tool))?;
            Some(entry.spec().schema.clone())
        })
    }

    /// The tools that a model is offered: none where tools are off, the configured ones where
    /// the user answers, and those alone that every scope permits.
    pub fn definitions(&self) -> Result<Vec<Definition>, AppError> {
        let tools = &self.config.settings().tools;
        if tools.mode == Mode::Disabled {
            return Ok(Vec::new());
        }
        let own = !described(&self.config).is_empty();
        let profile = tools.profile.as_deref().filter(|_| !own);
        let profile = profile.unwrap_or_default();
        let registry = self.gate.registry();
        let mut found = registry
            .definitions(profile)
            .map_err(AppError::usage)?
            .to_vec();
        for scope in &self.scopes {
            let permitted = registry.list_for_scope(Some(scope));
            let names = permitted.iter().map(|entry| entry.spec().name.as_str());
            let names: BTreeSet<&str> = names.collect();
            found.retain(|tool| names.contains(registry.canonical(&tool.name).as_str()));
        }
        Ok(found)
    }
}

/// A rule that denies or asks and can never apply is reported before anything runs: its author
/// counts on it.
fn tell_in_vain(config: &Effective, registry: &Registry, app: &App) {
    let tools = registry.list();
    let known: Vec<&str> = tools
        .iter()
        .map(|entry| entry.spec().name.as_str())
        .collect();
    let canonical = |name: &str| registry.canonical(name);
    for finding in in_vain(&config.rules().layers, &known, &canonical) {
        app.options().notice(finding.to_string());
    }
}
