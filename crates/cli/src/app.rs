//! Gate and stores of one run.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use toolgate_config::{Effective, GrantFile};
use toolgate_engine::TurnContext;
use toolgate_gate::approve::{ApproveAll, Approver};
use toolgate_gate::execute::EventSink;
use toolgate_gate::middleware::{AskAlways, RepetitionGuard};
use toolgate_gate::output::Redactor;
use toolgate_gate::plan::Mode;
use toolgate_gate::registry::{Definition, Registry};
use toolgate_gate::session::{KeptOnDisk, Session};
use toolgate_gate::store::Store;
use toolgate_gate::tool::{Described, ToolSpec};
use toolgate_gate::{BatchContext, Entropy, Gate, Settings, SystemClock, SystemEntropy};
use toolgate_model::json::JsonLimits;
use toolgate_model::{BadCall, Call, ConversationId, ErrorKind, Facts, ToolError, ToolResult};
use toolgate_policy::{Policy, Trust, misnamed};
use toolgate_sandbox::paths::PathSandbox;
use toolgate_shell::LineContext;
use toolgate_tools::web::{PrivateHosts, WebSettings};
use toolgate_tools::{
    Brave, CommandSettings, ListSettings, Notes, PatchSettings, ReadSettings, SearchProvider,
    Searxng, ToolSettings, WriteSettings,
};

use crate::args::{Approve, Common};
use crate::configured::{configuration, workspace};
use crate::failure::CliError;
use crate::home::Home;
use crate::input::{self, Input};
use crate::log;
use crate::out::Out;
use crate::own;
use crate::record::{self, Record};
use crate::sandboxes::{CommandContext, tell_unreported};
use crate::secrets;
use crate::signals;
use crate::terminal::Terminal;

/// Everything a command needs.
pub(crate) struct App {
    pub(crate) gate: Gate,
    pub(crate) grants: Arc<GrantFile>,
    pub(crate) config: Effective,
    outputs: Arc<KeptOnDisk>,
    commands: Arc<CommandSettings>,
    pub(crate) record: Record,
    pub(crate) workspace: PathBuf,
}

/// The tool that runs commands.
const RUN_COMMAND: &str = "run_command";

/// What a command is about to do, so that nothing is started that it does not need: the
/// command sandbox costs some milliseconds, and a record is a file.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// To look at tools and rules; nothing runs.
    Look,
    /// To plan a call of this tool.
    Plan(&'a str),
    /// To run a call of this tool.
    Run(&'a str),
    /// To run whatever comes.
    RunAll,
}

impl Purpose<'_> {
    /// Whether it has to be known how commands would run. What an autonomous model is asked
    /// about besides depends on their sandbox too.
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

/// The tools of which only the definitions are known, where a person answers the calls. They
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

/// Whoever denies or asks about a tool that is not there counts on it: a slip is told before
/// anything runs.
fn tell_misnamed(config: &Effective, registry: &Registry, out: &Out) {
    let tools = registry.list();
    let known: Vec<&str> = tools
        .iter()
        .map(|entry| entry.spec().name.as_str())
        .collect();
    let canonical = |name: &str| registry.canonical(name);
    for finding in misnamed(&config.rules().layers, &known, &canonical) {
        out.remark(finding.to_string());
    }
}

impl App {
    pub(crate) fn load(common: &Common, out: &Out, purpose: Purpose<'_>) -> Result<Self, CliError> {
        Self::load_with(common, out, purpose, |_| {})
    }

    /// The same with a last word about the line's settings.
    pub(crate) fn load_with(
        common: &Common,
        out: &Out,
        purpose: Purpose<'_>,
        last_word: impl FnOnce(&mut Settings),
    ) -> Result<Self, CliError> {
        Self::load_from(&Home::find()?, common, out, purpose, last_word)
    }

    /// The same for a conversation, from a configuration that was read already. What its
    /// provider is asked with is shown nowhere.
    pub(crate) fn load_for(
        common: &Common,
        out: &Out,
        (workspace, config): (PathBuf, Effective),
        asked_with: Vec<(String, String)>,
    ) -> Result<Self, CliError> {
        let home = Home::find()?;
        let purpose = Purpose::RunAll;
        Self::build(
            &home,
            common,
            out,
            purpose,
            (workspace, config),
            asked_with,
            |_| {},
        )
    }

    /// The same with Toolgate's own files in this place.
    pub(crate) fn load_from(
        home: &Home,
        common: &Common,
        out: &Out,
        purpose: Purpose<'_>,
        last_word: impl FnOnce(&mut Settings),
    ) -> Result<Self, CliError> {
        let workspace = workspace(common)?;
        let config = configuration(common, home, &workspace)?;
        Self::build(
            home,
            common,
            out,
            purpose,
            (workspace, config),
            Vec::new(),
            last_word,
        )
    }

    fn build(
        home: &Home,
        common: &Common,
        out: &Out,
        purpose: Purpose<'_>,
        (workspace, config): (PathBuf, Effective),
        asked_with: Vec<(String, String)>,
        last_word: impl FnOnce(&mut Settings),
    ) -> Result<Self, CliError> {
        for ignored in config.ignored() {
            out.remark(format!("{ignored}; `toolgate trust` lets this file widen"));
        }
        let usage = |error: &dyn std::fmt::Display| CliError::usage(error.to_string());
        let registry = Arc::new(Registry::new());
        let sandbox = PathSandbox::open(&own::path_rules(common, &config, home)?)
            .map_err(|error| usage(&error))?;
        let around = CommandContext::new(&config, home, &sandbox);
        let trust = config.rules().settings.trust;
        let (record, redactor) = std::thread::scope(|scope| {
            if purpose.needs_commands(trust) {
                scope.spawn(|| around.start());
            }
            let record = if purpose.needs_record() {
                Record::open(&record::path(common, &config, home), &config)
            } else {
                Record::Passing
            };
            let known = secrets::of_environment(&config)
                .into_iter()
                .chain(secrets::of_headers(&config))
                .chain(asked_with);
            let redactor = Redactor::new(known);
            let redactor = redactor.map_err(|error| CliError::internal(error.to_string()))?;
            let tools = tool_settings(&config, Arc::clone(&around.settings), record.store())?;
            let described = described(&config);
            if described.is_empty() {
                toolgate_tools::register_all(&registry, &tools).map_err(|error| usage(&error))?;
            }
            for tool in described {
                let tool = registry.register(Arc::new(tool));
                tool.map_err(|error| usage(&error))?;
            }
            Ok((record, redactor))
        })?;
        around.tell_earlier(out);
        if !matches!(purpose, Purpose::Look) {
            tell_misnamed(&config, &registry, out);
        }
        let grants =
            Arc::new(GrantFile::at(home.grants(), &workspace).map_err(|error| usage(&error))?);
        let mut settings = config.gate_settings(around.sandbox().is_some());
        last_word(&mut settings);
        let repeatable = registry
            .list()
            .iter()
            .filter(|entry| entry.spec().repeatable)
            .map(|entry| entry.spec().name.clone())
            .collect::<Vec<_>>();
        let mut builder = Gate::builder(registry, config.rules(), sandbox, record.journal());
        // The first is the outermost: these see what came of everything else.
        if common.metrics.is_some() {
            builder = builder.middleware(Arc::new(common.counted.0.clone()));
        }
        if common.log.is_some() {
            builder = builder.middleware(Arc::new(log::audit()));
        }
        builder = builder
            .settings(settings)
            .grants(Arc::clone(&grants) as Arc<_>)
            .middleware(Arc::new(RepetitionGuard::new(repeatable)))
            .redactor(redactor);
        if let Some(reason) = around.asks() {
            builder = builder.middleware(Arc::new(AskAlways::about(RUN_COMMAND, reason)));
        }
        let output = config.settings().tools.output;
        let outputs = KeptOnDisk::at(home.outputs(), output.keep_bytes, output.keep_total_bytes);
        Ok(Self {
            gate: builder.build().map_err(|error| usage(&error))?,
            grants,
            config,
            outputs: Arc::new(outputs),
            commands: around.settings,
            record,
            workspace,
        })
    }

    /// The bounds of a call's arguments as text.
    pub(crate) fn limits(&self) -> JsonLimits {
        let limits = &self.gate.settings().limits;
        JsonLimits {
            max_bytes: limits.max_args_bytes,
            max_depth: limits.max_depth,
        }
    }

    /// One call from a name and the text of its arguments.
    pub(crate) fn call_from(&self, id: &str, tool: &str, args: &OsStr) -> Result<Call, CliError> {
        let limits = self.limits();
        Ok(match input::arguments(args, limits.max_bytes)? {
            Input::Whole(text) => Call::from_text(id, tool, &text, limits),
            Input::TooLarge => {
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
        })
    }

    /// One call by a person, who knows what is in the files.
    pub(crate) fn person(&self, id: impl Into<ConversationId>) -> Session {
        self.session(id).without_staleness()
    }

    /// A conversation.
    pub(crate) fn session(&self, id: impl Into<ConversationId>) -> Session {
        Session::new(id).keeping_in(Arc::clone(&self.outputs) as Arc<_>)
    }

    /// What a turn of a conversation needs beside a model: the gate, the record, and these.
    pub(crate) fn around(
        &self,
        session: &Arc<Session>,
        approver: Option<Arc<dyn Approver>>,
        events: EventSink,
    ) -> Result<TurnContext, CliError> {
        Ok(TurnContext {
            gate: self.gate.clone(),
            session: Arc::clone(session),
            clock: Arc::new(SystemClock),
            approver,
            events,
            cancel: signals::stop_token()?,
        })
    }

    /// Ends a conversation: its calls, its entries that wait, and its lease. What was read in it
    /// is remembered if it can be taken up again.
    pub(crate) async fn end(&self, session: &Session, out: &Out) {
        session.end().await;
        tell_unreported(&self.commands, out);
        self.record.remember(session, &self.workspace, out).await;
        if let Err(error) = self.gate.end(session).await {
            out.remark(format!("the conversation ended with an error: {error}"));
        }
    }

    /// Runs calls through the line, on record from the first to the last.
    pub(crate) async fn run(
        &self,
        session: Session,
        calls: Vec<Call>,
        passage: &BatchContext,
        out: &Out,
    ) -> Vec<ToolResult> {
        let session = Arc::new(session);
        self.record
            .mend(self.gate.sandbox(), &self.workspace, out)
            .await;
        self.record.begin(&session, &self.workspace).await;
        let results = self.gate.run(&session, calls, passage).await;
        self.end(&session, out).await;
        for result in &results {
            if let Some(why) = result.metadata.get("not_remembered") {
                let why = why.as_str().unwrap_or_default();
                out.remark(format!("the yes was not remembered: {why}"));
            }
        }
        results
    }

    /// A conversation nobody had before.
    pub(crate) fn fresh_id(&self, kind: &str) -> Result<String, CliError> {
        let bits = SystemEntropy
            .bits()
            .ok_or_else(|| CliError::internal("the system has no randomness"))?;
        Ok(format!("{kind}_{bits:032x}"))
    }

    /// Who is asked.
    pub(crate) fn approver(&self, approve: Option<Approve>) -> Option<Arc<dyn Approver>> {
        match approve {
            Some(Approve::All) => Some(Arc::new(ApproveAll)),
            Some(Approve::None) => None,
            Some(Approve::Ask) => {
                Terminal::can_be_asked().then(|| Arc::new(Terminal) as Arc<dyn Approver>)
            }
            None => Terminal::is_there().then(|| Arc::new(Terminal) as Arc<dyn Approver>),
        }
    }

    /// What a model is offered: nothing where tools are off, the configured ones where a person answers.
    pub(crate) fn definitions(&self) -> Result<Vec<Definition>, CliError> {
        let tools = &self.config.settings().tools;
        if tools.mode == Mode::Disabled {
            return Ok(Vec::new());
        }
        let own = !described(&self.config).is_empty();
        let profile = tools.profile.as_deref().filter(|_| !own);
        let profile = profile.unwrap_or_default();
        let found = self.gate.registry().definitions(profile);
        found
            .map(|all| all.to_vec())
            .map_err(|error| CliError::usage(error.to_string()))
    }

    /// The rules as one policy.
    pub(crate) fn policy(&self) -> Result<Policy, CliError> {
        let rules = self.config.rules();
        let registry = self.gate.registry();
        registry
            .policy(rules.settings, &rules.layers)
            .map_err(|error| CliError::usage(error.to_string()))
    }

    /// What a command line would touch.
    pub(crate) fn command_facts(&self, line: &str) -> Facts {
        let roots: Vec<String> = self
            .gate
            .sandbox()
            .roots()
            .iter()
            .map(|root| root.path().to_string_lossy().into_owned())
            .collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        toolgate_shell::analyse(
            line,
            &LineContext {
                cwd: "",
                home: None,
                roots: &roots,
            },
        )
        .facts
    }
}

fn tool_settings(
    config: &Effective,
    commands: Arc<CommandSettings>,
    store: Arc<dyn Store>,
) -> Result<ToolSettings, CliError> {
    let tools = &config.settings().tools;
    let usage = |error: &dyn std::fmt::Display| CliError::usage(error.to_string());
    let private_hosts =
        PrivateHosts::new(&tools.web_fetch.private_hosts).map_err(|error| usage(&error))?;
    let search = &config.settings().search;
    let searxng = Searxng::at(&search.searxng.url).map_err(|error| usage(&error))?;
    let mut search_providers: Vec<Arc<dyn SearchProvider>> = vec![Arc::new(searxng)];
    let key = search.brave.api_key_env.as_ref();
    if let Some(key) = key.and_then(|name| std::env::var(name).ok()) {
        search_providers.push(Arc::new(Brave::new(key).map_err(|error| usage(&error))?));
    }
    Ok(ToolSettings {
        write: WriteSettings {
            max_file_bytes: tools.write_file.max_file_bytes,
        },
        patch: PatchSettings {
            max_patch_bytes: tools.apply_patch.max_patch_bytes,
        },
        web: WebSettings {
            private_hosts,
            ..WebSettings::default()
        },
        search_providers,
        notes: Notes::kept_in(store),
        read: ReadSettings {
            max_file_read_bytes: tools.read_file.max_file_read_bytes,
            max_scan_bytes: tools.read_file.max_scan_bytes,
        },
        list: ListSettings {
            max_entries: tools.list_directory.max_entries,
            max_depth: tools.list_directory.max_depth,
        },
        commands,
        ..ToolSettings::default()
    })
}
