//! Configuration, gate and stores of one run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolgate_config::{ConfigError, Effective, GrantFile, Options, Source, Sources, TrustStore};
use toolgate_gate::approve::{ApproveAll, Approver};
use toolgate_gate::middleware::RepetitionGuard;
use toolgate_gate::output::Redactor;
use toolgate_gate::plan::Mode;
use toolgate_gate::registry::{Definition, Registry, RegistryError};
use toolgate_gate::session::Session;
use toolgate_gate::{Entropy, Gate, Settings, SystemEntropy};
use toolgate_journal::MemoryJournal;
use toolgate_model::json::JsonLimits;
use toolgate_model::{BadCall, Call, ErrorKind, Facts, ToolError};
use toolgate_policy::{Policy, Trust};
use toolgate_sandbox::paths::PathWall;
use toolgate_shell::LineContext;
use toolgate_tools::{ListSettings, ReadSettings, ToolSettings};

use crate::args::{Approve, Common};
use crate::commands::exec::CALL;
use crate::failure::Failure;
use crate::home::Home;
use crate::input::{self, Input};
use crate::out::Out;
use crate::secrets;
use crate::terminal::Terminal;

/// The file in which a project speaks for itself.
pub(crate) const PROJECT_FILE: &str = "toolgate.toml";

/// Everything a command needs.
pub(crate) struct App {
    pub(crate) gate: Gate,
    pub(crate) grants: Arc<GrantFile>,
    pub(crate) config: Effective,
}

/// The folder that tools may use, with links resolved.
pub(crate) fn workspace(common: &Common) -> Result<PathBuf, Failure> {
    let given = common
        .workspace
        .clone()
        .unwrap_or_else(|| PathBuf::from("."));
    let found = given
        .canonicalize()
        .map_err(|error| Failure::usage(format!("workspace {}: {error}", given.display())))?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(Failure::usage(format!(
            "workspace {} is no folder",
            given.display()
        )))
    }
}

/// Reads every layer of the configuration.
pub(crate) fn configuration(
    common: &Common,
    home: &Home,
    workspace: &Path,
) -> Result<Effective, Failure> {
    let trust = common.trust.as_deref().map(trust_level).transpose()?;
    let load = || -> Result<Effective, ConfigError> {
        Effective::load(&Sources {
            workspace: workspace.to_path_buf(),
            user: Source::read_if_there(&home.user_config())?,
            project: TrustStore::at(home.trust()).project(&workspace.join(PROJECT_FILE))?,
            config: common.config.as_deref().map(Source::read).transpose()?,
            options: Options {
                trust,
                profile: common.profile.clone(),
                ..Options::default()
            },
        })
    };
    load().map_err(|error| match error {
        ConfigError::Mistakes(mistakes) => Failure::usage(format!(
            "the configuration has mistakes\n{}",
            mistakes.pictures(Out::colours_on_stderr())
        )),
        other => Failure::usage(other.to_string()),
    })
}

fn trust_level(name: &str) -> Result<Trust, Failure> {
    let all = [Trust::Supervised, Trust::Guided, Trust::Autonomous];
    all.into_iter()
        .find(|level| level.as_str() == name)
        .ok_or_else(|| {
            Failure::usage(format!(
                "{name:?} is no trust level; known are supervised, guided and autonomous"
            ))
        })
}

impl App {
    pub(crate) fn load(common: &Common, out: &Out) -> Result<Self, Failure> {
        Self::load_with(common, out, |_| {})
    }

    /// The same with a last word about the line's settings.
    pub(crate) fn load_with(
        common: &Common,
        out: &Out,
        last_word: impl FnOnce(&mut Settings),
    ) -> Result<Self, Failure> {
        let home = Home::find()?;
        let workspace = workspace(common)?;
        let config = configuration(common, &home, &workspace)?;
        for ignored in config.ignored() {
            out.remark(&format!("{ignored}; `toolgate trust` lets this file widen"));
        }
        let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
        let registry = Arc::new(Registry::new());
        toolgate_tools::register_all(&registry, &tool_settings(&config))
            .map_err(|error| usage(&error))?;
        let wall = PathWall::open(&config.path_rules().map_err(|error| usage(&error))?)
            .map_err(|error| usage(&error))?;
        let grants =
            Arc::new(GrantFile::at(home.grants(), &workspace).map_err(|error| usage(&error))?);
        let redactor = Redactor::new(secrets::of_environment())
            .map_err(|error| Failure::internal(error.to_string()))?;
        // There is no wall for commands yet, and no command without one.
        let mut settings = config.gate_settings(false);
        last_word(&mut settings);
        let repeatable = registry
            .list()
            .iter()
            .filter(|entry| entry.spec().repeatable)
            .map(|entry| entry.spec().name.clone())
            .collect::<Vec<_>>();
        let gate = Gate::builder(registry, wall, Arc::new(MemoryJournal::new()))
            .settings(settings)
            .rules(config.rules())
            .grants(Arc::clone(&grants) as Arc<_>)
            .middleware(Arc::new(RepetitionGuard::new(repeatable)))
            .redactor(redactor)
            .build()
            .map_err(|error| usage(&error))?;
        Ok(Self {
            gate,
            grants,
            config,
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
    pub(crate) fn call_from(&self, tool: &str, args: &OsStr) -> Result<Call, Failure> {
        let limits = self.limits();
        Ok(match input::arguments(args, limits.max_bytes)? {
            Input::Whole(text) => Call::from_wire(CALL, tool, &text, limits),
            Input::TooLarge => {
                let message = format!(
                    "the arguments have more than {} bytes; send less at once",
                    limits.max_bytes
                );
                let error = ToolError::new(ErrorKind::LimitExceeded, message);
                Call::Bad(BadCall {
                    id: CALL.into(),
                    name: Some(tool.to_owned()),
                    error,
                })
            }
        })
    }

    /// One call by a person, who knows what is in the files.
    pub(crate) fn person(&self) -> Arc<Session> {
        Arc::new(Session::new("exec").without_staleness())
    }

    /// A conversation nobody had before.
    pub(crate) fn fresh_id(&self, kind: &str) -> Result<String, Failure> {
        let bits = SystemEntropy
            .bits()
            .ok_or_else(|| Failure::internal("the system has no randomness"))?;
        Ok(format!("{kind}_{bits:032x}"))
    }

    /// Who is asked.
    pub(crate) fn approver(&self, approve: Option<Approve>) -> Option<Arc<dyn Approver>> {
        match approve {
            Some(Approve::All) => Some(Arc::new(ApproveAll)),
            Some(Approve::None) => None,
            Some(Approve::Ask) | None => {
                Terminal::is_there().then(|| Arc::new(Terminal) as Arc<dyn Approver>)
            }
        }
    }

    /// What a model is offered: nothing where tools are off, the configured ones where a person answers.
    pub(crate) fn definitions(&self) -> Result<Vec<Definition>, Failure> {
        let tools = &self.config.settings().tools;
        if tools.mode == Mode::Disabled {
            return Ok(Vec::new());
        }
        if tools.mode == Mode::ParseOnly && !tools.definitions.is_empty() {
            let manual = tools.definitions.iter().map(|tool| Definition {
                name: tool.name.clone(),
                description: tool.description.clone(),
                input_schema: tool.parameters.clone(),
                tool: tool.name.clone(),
                read_only: false,
                requires_approval: false,
            });
            return Ok(manual.collect());
        }
        let profile = tools.profile.as_deref().unwrap_or_default();
        let found = self.gate.registry().definitions(profile);
        found.map(|all| all.to_vec()).map_err(|error| match error {
            RegistryError::NoSuchTool { name } => Failure::usage(format!(
                "there is no profile {name:?}; known are {}",
                self.gate.registry().profiles().join(", ")
            )),
            other => Failure::usage(other.to_string()),
        })
    }

    /// The rules as one policy.
    pub(crate) fn policy(&self) -> Result<Policy, Failure> {
        let rules = self.config.rules();
        let canonical = |name: &str| self.gate.registry().canonical(name);
        Policy::compile(rules.settings, &rules.layers, &canonical)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    /// What a command line would touch.
    pub(crate) fn command_facts(&self, line: &str) -> Facts {
        let roots: Vec<String> = self
            .gate
            .wall()
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

fn tool_settings(config: &Effective) -> ToolSettings {
    let tools = &config.settings().tools;
    ToolSettings {
        read: ReadSettings {
            max_file_read_bytes: tools.read_file.max_file_read_bytes,
            max_scan_bytes: tools.read_file.max_scan_bytes,
        },
        list: ListSettings {
            max_entries: tools.list_directory.max_entries,
            max_depth: tools.list_directory.max_depth,
        },
        ..ToolSettings::default()
    }
}
