//! The configuration: every layer that there is, from files and from the options.

use std::path::{Path, PathBuf};

use toolgate_config::{ConfigError, Effective, Options, Source, Sources, TrustStore};
use toolgate_model::nearest::nearest;
use toolgate_policy::Trust;

use crate::error::AppError;
use crate::options::AppOptions;

/// The file in which a project speaks for itself.
pub(crate) const PROJECT_FILE: &str = "toolgate.toml";

/// The directory that tools may use, with links resolved.
pub(crate) fn workspace(given: &Path) -> Result<PathBuf, AppError> {
    let found = given
        .canonicalize()
        .map_err(|error| AppError::usage(format!("workspace {}: {error}", given.display())))?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(AppError::usage(format!(
            "workspace {} is no directory",
            given.display()
        )))
    }
}

/// Reads every layer of the configuration.
pub(crate) fn configuration(options: &AppOptions, workspace: &Path) -> Result<Effective, AppError> {
    let trust = options.trust.as_deref().map(trust_level).transpose()?;
    let profiles = profiles(options.profile.as_deref())?;
    let load = || -> Result<Effective, ConfigError> {
        Effective::load(&Sources {
            workspace: workspace.to_path_buf(),
            user: Source::read_if_there(&options.home.user_config())?,
            project: match workspace.join(PROJECT_FILE) {
                file if is_vacant(&file) => None,
                file => TrustStore::at(options.home.trust()).project(&file)?,
            },
            config: options.config.as_deref().map(Source::read).transpose()?,
            options: Options {
                trust,
                tools_mode: options.tools_mode,
                profile: options.profile.clone(),
                ..Options::default()
            },
            profiles: Some(profiles.clone()),
        })
    };
    load().map_err(AppError::Config)
}

/// The profiles there are; the one of the command line has to be among them.
fn profiles(wanted: Option<&str>) -> Result<Vec<String>, AppError> {
    let all = toolgate_tools::profiles().into_iter();
    let known: Vec<String> = all.map(|profile| profile.name).collect();
    let Some(unknown) = wanted.filter(|name| !known.iter().any(|one| one == name)) else {
        return Ok(known);
    };
    let near = nearest(unknown, known.iter().map(String::as_str));
    Err(AppError::usage(format!(
        "there is no profile {unknown:?}{}; known are {}",
        near.map(|name| format!(", did you mean {name:?}?"))
            .unwrap_or_default(),
        known.join(", ")
    )))
}

/// Whether a name is an empty directory: while commands run, the sandbox keeps the names of files
/// that do not exist vacant with such directories, and a killed run leaves them until the next.
fn is_vacant(file: &Path) -> bool {
    std::fs::read_dir(file).is_ok_and(|mut entries| entries.next().is_none())
}

fn trust_level(name: &str) -> Result<Trust, AppError> {
    let all = [Trust::Supervised, Trust::Guided, Trust::Autonomous];
    all.into_iter()
        .find(|level| level.as_str() == name)
        .ok_or_else(|| {
            AppError::usage(format!(
                "{name:?} is no trust level; known are supervised, guided and autonomous"
            ))
        })
}
