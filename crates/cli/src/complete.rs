//! Completion of values: tools, providers, presets and conversations, as they are now.
//!
//! ```text
//! toolgate completions SHELL ──▶ a script ── a key is pressed ──▶ toolgate, with a variable set
//!                                                                 └─▶ answer ──▶ candidates
//! ```
//!
//! What cannot be known, for example because the configuration has errors, is no candidate: a
//! shell has no place for a message.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use toolgate_app::listing::Which;
use toolgate_app::{App, AppOptions, Asked, Purpose, presets};

use crate::args::Cli;
use crate::assembly;
use crate::clean::Clean;
use crate::failure::CliError;

/// The variable by which a shell asks.
const ASKED_BY: &str = "TOOLGATE_COMPLETE";

/// The most conversations that are offered, the newest.
const MOST: usize = 50;

/// Answers a shell that asks for candidates; nothing if none does.
pub(crate) fn answer(args: &[OsString]) -> Option<ExitCode> {
    let shells = CompleteEnv::with_factory(Cli::command).var(ASKED_BY);
    let directory = std::env::current_dir().ok();
    match shells.try_complete(args.iter().cloned(), directory.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// The script that has a shell ask.
pub(crate) fn script(shell: clap_complete::Shell) -> Result<Clean, CliError> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string());
    let completer =
        completer.ok_or_else(|| CliError::usage(format!("{shell} is not a known shell")))?;
    let mut script = Vec::new();
    let written =
        completer.write_registration(ASKED_BY, "toolgate", "toolgate", "toolgate", &mut script);
    written.map_err(|error| CliError::internal(format!("no script for {shell}: {error}")))?;
    Ok(Clean::lines(String::from_utf8_lossy(&script)))
}

/// The names of tools.
pub(crate) fn tools() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let definitions = app().and_then(|app| {
            let project = app.project(Purpose::Look).ok()?;
            project.definitions().ok()
        });
        let tools = definitions.into_iter().flatten().map(|tool| {
            let about = tool.description.split(['.', '\n']).next();
            (tool.name, about.unwrap_or_default().to_owned())
        });
        candidates(typed, tools)
    })
}

/// The names of providers.
pub(crate) fn providers() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let names = app().map(|app| app.provider_names()).unwrap_or_default();
        candidates(typed, names.into_iter().map(|name| (name, String::new())))
    })
}

/// The models that the configuration names.
pub(crate) fn models() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let providers = app().and_then(|app| app.providers(&Asked::default()).ok());
        let named = providers.into_iter().flatten().filter_map(|provider| {
            let model = provider.model()?.to_owned();
            Some((model, provider.name().to_owned()))
        });
        candidates(typed, named)
    })
}

/// The names of presets.
pub(crate) fn presets() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let all = app().map(|app| presets::all(app.config()));
        let named = all.into_iter().flatten();
        candidates(
            typed,
            named.map(|(name, about)| (name, about.unwrap_or_default())),
        )
    })
}

/// The ids of conversations, the newest first, with their first words.
pub(crate) fn conversations() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let listed = app().and_then(|app| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let which = Which {
                most: Some(MOST),
                ..Which::default()
            };
            runtime.ok()?.block_on(app.list(which)).ok()
        });
        let named = listed.into_iter().flatten().map(|one| {
            let words = one.first_words.unwrap_or_default();
            (one.conversation.id.as_str().to_owned(), words)
        });
        candidates(typed, named)
    })
}

fn app() -> Option<App> {
    let home = assembly::home().ok()?;
    App::open(AppOptions::new(home, ".").environment(assembly::environment())).ok()
}

/// Those that begin with what was typed. A shell writes them to the terminal.
fn candidates(
    typed: &OsStr,
    all: impl Iterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let meant = all.filter(|(value, _)| value.starts_with(&*typed));
    let candidate = |(at, (value, about)): (usize, (String, String))| {
        let about = Some(about).filter(|about| !about.is_empty());
        let about = about.map(|about| Clean::line(about).as_str().to_owned().into());
        CompletionCandidate::new(Clean::line(value).as_str())
            .help(about)
            .display_order(Some(at))
    };
    meant.enumerate().map(candidate).collect()
}
