//! Everything a turn needs, from options, configuration and record.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use toolgate_config::settings::{Preset, ProviderKind};
use toolgate_engine::{
    CODER, Context, History, Prompt, Retry, ToolsFor, TurnSettings, context_of, system_prompt,
};
use toolgate_gate::plan::Mode;
use toolgate_gate::session::Session;
use toolgate_gate::{Entropy, SystemEntropy};
use toolgate_journal::Trouble;
use toolgate_model::{CallId, ErrorKind, ToolError, ToolResult};
use toolgate_providers::fenced::{Definition, Language};
use toolgate_providers::http::HttpProvider;
use toolgate_providers::provider::{Fenced, Played, Recorded, fenced_system};
use toolgate_providers::replay::Script;
use toolgate_providers::request::{Frame, RequestOptions};
use toolgate_providers::{Message, Provider, StreamLimits};

use crate::app::{self, App, Purpose};
use crate::args::{Common, RunArgs};
use crate::asked::Source;
use crate::failure::Failure;
use crate::home::Home;
use crate::input;
use crate::orphans::{self, Noted};
use crate::out::Out;
use crate::record::Record;

use super::before;
use super::carried::carried_in;
use super::taken_up;

/// The most bytes of a prompt, a script or a file of results.
pub(super) const INPUT: usize = 16 * 1024 * 1024;

/// A turn that can begin.
pub(super) struct Prepared {
    pub(super) app: App,
    pub(super) session: Arc<Session>,
    pub(super) provider: Box<dyn Provider>,
    pub(super) settings: TurnSettings,
    pub(super) turn: u64,
    pub(super) prompt: Prompt,
    pub(super) recorded: Option<Recording>,
    /// What this run has started, for whoever starts after it was killed.
    pub(super) noted: Option<Noted>,
}

pub(super) async fn prepare(
    common: &Common,
    out: &Out,
    args: &RunArgs,
) -> Result<Prepared, Failure> {
    let (common, args) = before::go_on(common, args)?;
    let args = &args;
    let recorded = args.record.as_deref().map(Recording::to).transpose()?;
    let (common, preset) = with_preset(&common, args)?;
    let runs = Home::find()?.runs();
    orphans::end(&runs, out);
    let app = App::load(&common, out, Purpose::RunAll)?;
    let noted = orphans::note(&runs);
    if let Record::Broken(newer @ Trouble::Newer { .. }) = &app.record {
        // Nothing is broken, so nothing is lost by using the newer program.
        return Err(Failure::internal(newer.to_string()));
    }
    let asker = Asker::choose(&app, args, &preset)?;
    let mut provider = asker.provider(&app, &preset, out)?;
    if let Some(recording) = &recorded {
        let keep = recording.clone();
        let model = Some(asker.model.clone());
        provider = Box::new(Recorded::new(provider, model, move |script: &Script| {
            keep.write(script);
        }));
    }
    let id = match &args.conversation {
        Some(id) => id.clone(),
        None => app.fresh_id("run")?,
    };
    let session = Arc::new(app.session(id));
    let mut history = History::default();
    if args.conversation.is_some() {
        let supplies = args.results.is_some();
        history = taken_up::take_up(&common, &app, &session, supplies, out).await?;
    }
    let prompt = read_prompt(args, &mut history)?;
    if args.conversation.is_none() {
        // Not before everything is in order: a mistake leaves no empty conversation.
        app.record.mend(app.gate.wall(), &app.workspace, out).await;
        app.record.begin(&session, &app.workspace).await;
    }
    for message in &history.messages {
        provider.push(message).map_err(|fault| {
            Failure::internal(format!("the conversation cannot be taken up: {fault}"))
        })?;
    }
    Ok(Prepared {
        settings: TurnSettings {
            conversation: session.id().clone(),
            preset: args.preset.clone(),
            ..asker.settings(&app)
        },
        turn: history.turns + 1,
        app,
        session,
        provider,
        prompt,
        recorded,
        noted,
    })
}

/// The preset, and the options with what it says where the command line says nothing.
fn with_preset(common: &Common, args: &RunArgs) -> Result<(Common, Preset), Failure> {
    let mut common = common.clone();
    let Some(name) = &args.preset else {
        return Ok((common, Preset::default()));
    };
    let config = app::configuration(&common, &Home::find()?, &app::workspace(&common)?)?;
    let presets = &config.settings().presets;
    let preset = match presets.get(name) {
        Some(preset) => preset.clone(),
        None if name == CODER => Preset::default(),
        None => {
            let known: Vec<&str> = presets.keys().map(String::as_str).collect();
            return Err(Failure::usage(format!(
                "there is no preset {name:?}; known are {CODER}{}{}",
                if known.is_empty() { "" } else { ", " },
                known.join(", ")
            )));
        }
    };
    let trust = preset.trust.map(|trust| trust.as_str().to_owned());
    common.trust = common.trust.or(trust);
    common.profile = common.profile.or_else(|| preset.profile.clone());
    Ok((common, preset))
}

/// Who is asked, and for which model.
struct Asker {
    name: String,
    model: String,
    /// Nothing where a recording plays.
    source: Option<Source>,
    script: Option<Script>,
}

impl Asker {
    fn choose(app: &App, args: &RunArgs, preset: &Preset) -> Result<Self, Failure> {
        let wanted = args.asked.model.clone().or_else(|| preset.model.clone());
        let source = match &args.script {
            Some(_) => None,
            None => Some(Source::chosen(&app.config, &args.asked)?),
        };
        let of_source = source
            .as_ref()
            .filter(|source| source.kind == ProviderKind::Replay);
        let played = match (&args.script, of_source) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(source)) => Some(source.script.clone().ok_or_else(|| {
                Failure::usage(format!("provider {} has no script to play", source.name))
            })?),
            (None, None) => None,
        };
        let script = played.as_deref().map(read_script).transpose()?;
        let name = source
            .as_ref()
            .map_or("replay", |source| source.name.as_str());
        let recorded = script.as_ref().map(|script| {
            let model = script.model.clone();
            model.unwrap_or_else(|| "replay".to_owned())
        });
        let configured = source.as_ref().and_then(|source| source.model.clone());
        let model = wanted.or(configured).or(recorded).ok_or_else(|| {
            Failure::usage(format!(
                "say which model of {name} is asked: --model NAME, or `model` in [providers.{name}]; `toolgate models` lists them"
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            model,
            source: source.filter(|_| script.is_none()),
            script,
        })
    }

    fn provider(
        &self,
        app: &App,
        preset: &Preset,
        out: &Out,
    ) -> Result<Box<dyn Provider>, Failure> {
        let limits = app.limits();
        let (source, wire) = match (&self.script, &self.source) {
            (Some(script), _) => return Ok(Box::new(Played::new(script.clone(), limits))),
            (None, Some(source)) => match source.wire() {
                Some(wire) => (source, wire),
                None => return Err(Failure::internal("a recording has no wire")),
            },
            (None, None) => return Err(Failure::internal("there is nobody to ask")),
        };
        let tools = app.definitions()?;
        let workspace = app.workspace.display().to_string();
        let language = language();
        let system = match &preset.system_prompt {
            Some(words) => words.clone(),
            None => system_prompt(&tools, &workspace, language),
        };
        let definitions: Vec<Definition> = tools
            .into_iter()
            .map(|tool| Definition {
                name: tool.name,
                description: tool.description,
                schema: tool.input_schema,
                requires_approval: tool.requires_approval,
            })
            .collect();
        let fenced = source.kind == ProviderKind::Fenced;
        let mut options = RequestOptions::new(&self.model);
        let (system, offered) = if fenced {
            (
                fenced_system(Some(&system), &definitions, language),
                Vec::new(),
            )
        } else {
            (system, definitions)
        };
        options.system = Some(system);
        let frame = Frame::new(wire, &options, &offered)
            .map_err(|fault| Failure::usage(fault.to_string()))?;
        let stream = StreamLimits {
            args: limits,
            ..StreamLimits::default()
        };
        let provider = HttpProvider::new(source.client(wire, out)?, frame, stream);
        Ok(if fenced {
            Box::new(Fenced::new(provider, limits))
        } else {
            Box::new(provider)
        })
    }

    fn settings(&self, app: &App) -> TurnSettings {
        let tools = &app.config.settings().tools;
        let most = tools.max_tool_iterations_per_user_turn;
        TurnSettings {
            provider: self.name.clone(),
            model: self.model.clone(),
            tools: match tools.mode {
                Mode::Enabled => ToolsFor::Gate,
                Mode::ParseOnly => ToolsFor::Person,
                Mode::Disabled => ToolsFor::Nobody,
            },
            max_iterations: u32::try_from(most).unwrap_or(u32::MAX),
            context: context_of(&self.model).map(|tokens| Context::new(tokens, None)),
            retry: Retry {
                seed: seed(),
                ..Retry::default()
            },
            ..TurnSettings::default()
        }
    }
}

/// A number of this run's own; without randomness there are not many runs to tell apart.
fn seed() -> u64 {
    let bits = SystemEntropy.bits().unwrap_or_default();
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
}

fn read_script(path: &Path) -> Result<Script, Failure> {
    let bytes = input::file(Some(path), INPUT)?;
    let told = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("the script {}: {error}", path.display()))
    };
    let text = String::from_utf8(bytes).map_err(|error| told(&error))?;
    Script::from_toml(&text).map_err(|fault| told(&fault))
}

/// The language of the person's machine, as far as there are words in it.
fn language() -> Language {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = set("LC_ALL")
        .or_else(|| set("LC_MESSAGES"))
        .or_else(|| set("LANG"));
    match named {
        Some(name) if name.starts_with("pt") => Language::Portuguese,
        _ => Language::English,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Supplied {
    call_id: CallId,
    #[serde(default)]
    content: String,
    /// What went wrong, where the call failed.
    error: Option<String>,
}

/// What the turn begins with. Results of the person complete the history's last answer.
fn read_prompt(args: &RunArgs, history: &mut History) -> Result<Prompt, Failure> {
    if let Some(path) = &args.results {
        let bytes = input::file(Some(path), INPUT)?;
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let mut results = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let Supplied {
                call_id,
                content,
                error,
            } = serde_json::from_slice(line)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            let tool = history.tool_of(&call_id).ok_or_else(|| {
                Failure::usage(format!(
                    "no result is wanted for a call {:?}",
                    call_id.as_str()
                ))
            })?;
            results.push(match error {
                None => ToolResult::ok(call_id, tool, content),
                Some(error) => {
                    let error = ToolError::new(ErrorKind::Failed, error);
                    ToolResult::failed(call_id, tool, error)
                }
            });
        }
        let results = history.supplied(results).map_err(|missing| {
            let missing: Vec<&str> = missing.iter().map(CallId::as_str).collect();
            Failure::usage(format!(
                "a result is still wanted for {}",
                missing.join(", ")
            ))
        })?;
        return Ok(Prompt::Results(results));
    }
    let carried = args.history.as_deref().map(carried_in).transpose()?;
    history.close();
    let text = match (&args.prompt, &args.file) {
        (Some(prompt), _) => prompt.clone(),
        (None, file) => {
            let bytes = input::file(file.as_deref(), INPUT)?;
            String::from_utf8(bytes)
                .map_err(|error| Failure::usage(format!("the prompt is no text: {error}")))?
        }
    };
    if !text.trim().is_empty() {
        return Ok(match carried {
            None => Prompt::Message(text),
            Some(history) => Prompt::After {
                history,
                message: text,
            },
        });
    }
    // Nothing new to say, and something is still to be answered: the question is asked again.
    match history.messages.last() {
        Some(Message::User { .. } | Message::Tool { .. }) => Ok(Prompt::GoOn),
        _ => Err(Failure::usage("the prompt is empty; say what to do")),
    }
}

/// Where a recording goes.
#[derive(Clone)]
pub(super) struct Recording {
    path: PathBuf,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Recording {
    /// A recording to this file. Whether it can be written is known before anybody is asked.
    fn to(path: &Path) -> Result<Self, Failure> {
        let told = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("cannot record to {}: {why}", path.display()))
        };
        if path.is_dir() {
            return Err(told(&"it is a folder"));
        }
        tempfile::NamedTempFile::new_in(folder_of(path)).map_err(|error| told(&error))?;
        Ok(Self {
            path: path.to_path_buf(),
            trouble: Arc::default(),
        })
    }

    /// Writes the script so far, whole or not at all.
    fn write(&self, script: &Script) {
        let written = (|| {
            let text = script.to_toml().map_err(|fault| fault.to_string())?;
            let told = |error: std::io::Error| error.to_string();
            let mut file = tempfile::NamedTempFile::new_in(folder_of(&self.path)).map_err(told)?;
            std::io::Write::write_all(&mut file, text.as_bytes()).map_err(told)?;
            file.persist(&self.path)
                .map_err(|error| told(error.error))?;
            Ok::<(), String>(())
        })();
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = written
            .err()
            .map(|error| format!("{} could not be recorded: {error}", self.path.display()));
    }

    /// Why nothing was recorded, if so.
    pub(super) fn trouble(self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

fn folder_of(file: &Path) -> &Path {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
