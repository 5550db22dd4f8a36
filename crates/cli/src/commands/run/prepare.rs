//! Everything a turn needs, from options, configuration and record.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toolgate_config::Effective;
use toolgate_config::settings::Preset;
use toolgate_engine::{CODER, History, Prompt, TurnSettings};
use toolgate_gate::session::Session;
use toolgate_model::CallId;
use toolgate_providers::provider::Recorded;
use toolgate_providers::replay::Script;
use toolgate_providers::{Message, Provider};

use crate::app::App;
use crate::args::{Common, RunArgs};
use crate::configured;
use crate::failure::CliError;
use crate::home::Home;
use crate::input;
use crate::orphans::{self, Noted};
use crate::out::Out;
use crate::presets;

use super::asker::Asker;
use super::before;
use super::carried::carried_in;
use super::supplied::supplied;
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
) -> Result<Prepared, CliError> {
    let (common, args) = before::go_on(common, args).await?;
    let args = &args;
    let recorded = args.record.as_deref().map(Recording::to).transpose()?;
    let home = Home::find()?;
    let workspace = configured::workspace(&common)?;
    let (common, config, preset) = with_preset(&common, args, &home, &workspace)?;
    let asker = Asker::choose(&config, args, &preset)?;
    let runs = home.runs();
    orphans::end(&runs, out);
    let app = App::load_for(&common, out, (workspace, config), asker.asked_with())?;
    let noted = orphans::note(&runs);
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
        app.record
            .mend(app.gate.sandbox(), &app.workspace, out)
            .await;
        app.record.begin(&session, &app.workspace).await;
    }
    for message in &history.messages {
        provider.push(message).map_err(|fault| {
            CliError::internal(format!("the conversation cannot be taken up: {fault}"))
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

/// The preset, the options with what it says where the command line says nothing, and the
/// configuration under these options.
fn with_preset(
    common: &Common,
    args: &RunArgs,
    home: &Home,
    workspace: &Path,
) -> Result<(Common, Effective, Preset), CliError> {
    let config = configured::configuration(common, home, workspace)?;
    let preset = presets::named(&config, args.preset.as_deref().unwrap_or(CODER))?;
    let mut with = common.clone();
    let trust = preset.trust.map(|trust| trust.as_str().to_owned());
    with.trust = with.trust.or(trust);
    with.profile = with.profile.or_else(|| preset.profile.clone());
    let is_same = with.trust == common.trust && with.profile == common.profile;
    let config = if is_same {
        config
    } else {
        configured::configuration(&with, home, workspace)?
    };
    Ok((with, config, preset))
}

/// What the turn begins with. Results of the person complete the history's last answer.
fn read_prompt(args: &RunArgs, history: &mut History) -> Result<Prompt, CliError> {
    if let Some(path) = &args.results {
        let results = supplied(path, history)?;
        let results = history.supplied(results).map_err(|missing| {
            let missing: Vec<&str> = missing.iter().map(CallId::as_str).collect();
            CliError::usage(format!(
                "a result is still wanted for {}",
                missing.join(", ")
            ))
        })?;
        return Ok(Prompt::Results(results));
    }
    let carried = args.history.as_deref().map(carried_in).transpose()?;
    history.close();
    let text = match (&args.prompt, &args.file) {
        (Some(prompt), _) if prompt != "-" => prompt.clone(),
        (_, file) => {
            let bytes = input::file(file.as_deref(), INPUT)?;
            String::from_utf8(bytes)
                .map_err(|error| CliError::usage(format!("the prompt is no text: {error}")))?
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
        _ => Err(CliError::usage("the prompt is empty; say what to do")),
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
    fn to(path: &Path) -> Result<Self, CliError> {
        let told = |why: &dyn std::fmt::Display| {
            CliError::usage(format!("cannot record to {}: {why}", path.display()))
        };
        if path.is_dir() {
            return Err(told(&"it is a directory"));
        }
        // A script that somebody wrote is not lost by a slip.
        if path
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() > 0)
        {
            return Err(told(
                &"it is there and not empty; name another file, or remove it",
            ));
        }
        tempfile::NamedTempFile::new_in(directory_of(path)).map_err(|error| told(&error))?;
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
            let mut file =
                tempfile::NamedTempFile::new_in(directory_of(&self.path)).map_err(told)?;
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

fn directory_of(file: &Path) -> &Path {
    let directory = file.parent();
    let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}
