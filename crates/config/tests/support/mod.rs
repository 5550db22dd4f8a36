//! What the tests share: files from text, and layers from files.
#![allow(dead_code)]

use std::path::PathBuf;

use toolgate_config::{ConfigError, Effective, Options, Project, Source, Sources};
use toolgate_model::{Action, Args, Facts, Risk};
use toolgate_policy::{Policy, Question};

pub(crate) fn source(name: &str, text: &str) -> Source {
    Source::new(name, text.as_bytes().to_vec()).expect("the text of a test is UTF-8 and small")
}

/// The layers of a test, as texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts<'t> {
    pub(crate) user: &'t str,
    pub(crate) project: &'t str,
    pub(crate) trusted: bool,
    pub(crate) config: &'t str,
    pub(crate) options: Options,
}

impl Texts<'_> {
    pub(crate) fn sources(&self) -> Sources {
        let file = |name, text: &str| (!text.is_empty()).then(|| source(name, text));
        Sources {
            workspace: workspace(),
            user: file("user.toml", self.user),
            project: file("toolgate.toml", self.project).map(|source| Project {
                source,
                trusted: self.trusted,
            }),
            config: file("config.toml", self.config),
            options: self.options.clone(),
            profiles: None,
        }
    }

    pub(crate) fn load(&self) -> Result<Effective, ConfigError> {
        Effective::load(&self.sources())
    }

    pub(crate) fn effective(&self) -> Effective {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The profiles of the tests.
pub(crate) fn profiles() -> Vec<String> {
    ["bash", "classic", "shell"].map(str::to_owned).into()
}

/// A directory that is there; nothing is written to it.
pub(crate) fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

pub(crate) fn user(text: &str) -> Effective {
    Texts {
        user: text,
        ..Texts::default()
    }
    .effective()
}

pub(crate) fn built_in() -> Effective {
    Texts::default().effective()
}

/// The rows of a key as `layer: value`.
pub(crate) fn rows(effective: &Effective, key: &str) -> Vec<String> {
    let rows = effective.show().into_iter().filter(|row| row.key == key);
    rows.map(|row| format!("{}: {}", row.origin.layer, row.value))
        .collect()
}

/// What policy says to a call that does these things.
pub(crate) fn decide(effective: &Effective, facts: &Facts, command_sandbox: bool) -> Action {
    let rules = effective.rules();
    let policy = Policy::compile(rules.settings, &rules.layers, &str::to_owned).unwrap();
    policy
        .decide(Question {
            tool: if facts.runs.is_empty() {
                "edit_file"
            } else {
                "run_command"
            },
            args: &Args::new(),
            facts,
            side_effects: facts.has_effects(),
            requires_approval: false,
            risk: Risk::Medium,
            command_sandbox,
            network_closed: command_sandbox,
            sandbox_from_facts: command_sandbox,
        })
        .action
}
