//! The configuration that counts: all layers as one, each value with its origin.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::catalog::{Join, Key, ROOT, Shape};
use crate::key_path::KeyPath;
use crate::layer::{Ignored, Layer, LayerName, Origin};
use crate::merge::{Merged, Setting, disagreements};
use crate::options::Options;
use crate::picture::visible;
use crate::policy::{self, Layers};
use crate::read::Found;
use crate::setting_error::{ConfigError, SettingError, SettingErrorKind, SettingErrors};
use crate::settings::Settings;
use crate::source::Source;
use crate::{read, sandboxes};

/// The file of a project, and whether the user trusts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The file.
    pub source: Source,
    /// Whether it may widen; see [`crate::TrustStore`].
    pub trusted: bool,
}

/// Where a configuration comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The directory that is worked in; relative roots start here.
    pub workspace: PathBuf,
    /// The user's own file.
    pub user: Option<Source>,
    /// The project's file.
    pub project: Option<Project>,
    /// The file of `--config`.
    pub config: Option<Source>,
    /// The command line.
    pub options: Options,
    /// The profiles that tools can be offered under; without them no name of one is a mistake.
    pub profiles: Option<Vec<String>>,
}

/// All layers as one.
#[derive(Clone, Debug)]
pub struct Effective {
    pub(crate) workspace: PathBuf,
    pub(crate) merged: Merged,
    pub(crate) layers: Layers,
    settings: Settings,
}

/// A value that counts, for `config show`. A list that several layers add to has a row for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// The key with its sections.
    pub key: String,
    /// The value; null if nobody set it.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// What is shown instead of a value that may hold a secret.
const HIDDEN: &str = "(hidden)";

impl Effective {
    /// Reads all layers and makes them one.
    ///
    /// # Errors
    /// Every mistake of every file.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let layers = layers(sources).map_err(wrong)?;
        let merged = Merged::of(&layers, &sources.workspace);
        let mut mistakes = disagreements(&merged);
        mistakes.extend(sandboxes::bad_patterns(&merged, &sources.workspace));
        if !mistakes.is_empty() {
            return Err(wrong(mistakes));
        }
        let layers =
            policy::layers(&merged, &sources.workspace).map_err(|mistake| wrong(vec![*mistake]))?;
        let mut settings: Settings = serde_json::from_value(tree(&merged)).map_err(|error| {
            // The catalog and the types disagree: nothing that a file could say.
            let everything = Source::new("built-in", Vec::new());
            let fault = SettingErrorKind::Unusable {
                key: "settings".to_owned(),
                message: error.to_string(),
            };
            match everything {
                Ok(source) => wrong(vec![SettingError::new(&source, 0..0, fault)]),
                Err(error) => ConfigError::Read(error),
            }
        })?;
        if let Some(journal) = &sources.options.journal {
            // Exactly this path, also where it is not text.
            settings.journal.path = Some(journal.clone());
        }
        Ok(Self {
            workspace: sources.workspace.clone(),
            merged,
            layers,
            settings,
        })
    }

    /// The values as types.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The directory that is worked in.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// What the file of an untrusted project says in vain, in the order of its lines.
    pub fn ignored(&self) -> &[Ignored] {
        &self.merged.ignored
    }

    /// Where the value of a key comes from; nothing if there is no such key.
    ///
    /// For a list that several layers add to: the latest of them.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        let setting = self.merged.settings.get(&KeyPath::of(key.split('.')))?;
        setting.origins().pop()
    }

    /// Whether nobody has said anything about a key.
    pub fn is_built_in(&self, key: &str) -> bool {
        self.origin(key)
            .is_some_and(|origin| origin.layer == LayerName::BuiltIn)
    }

    /// Every key with its value and origin, in the order of the sections.
    pub fn show(&self) -> Vec<Shown> {
        let mut rows = Vec::new();
        self.show_section(&KeyPath::default(), ROOT, &mut rows);
        rows
    }

    fn show_section(&self, path: &KeyPath, keys: &'static [Key], rows: &mut Vec<Shown>) {
        for key in keys {
            let path = path.with(key.name);
            match key.shape {
                Shape::Table(inner) => self.show_section(&path, inner, rows),
                Shape::Named(inner) => {
                    let depth = path.names().len();
                    let mut names: Vec<&String> = self
                        .merged
                        .settings
                        .keys()
                        .filter(|other| other.names().starts_with(path.names()))
                        .filter_map(|other| other.names().get(depth))
                        .collect();
                    names.dedup();
                    for name in names {
                        self.show_section(&path.with(name), inner, rows);
                    }
                }
                _ => {
                    if let Some(setting) = self.merged.settings.get(&path) {
                        rows.extend(shown(&path, setting));
                    }
                }
            }
        }
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = match toml::Value::try_from(&self.value) {
            Ok(value) => value.to_string(),
            Err(_) => "(unset)".to_owned(),
        };
        write!(f, "{} = {}  # {}", self.key, visible(&value), self.origin)
    }
}

/// The rows of a key: one for each place that its value comes from.
fn shown(path: &KeyPath, setting: &Setting) -> Vec<Shown> {
    let row = |value: Value, origin: Origin| Shown {
        key: path.to_string(),
        value: if setting.key.secret {
            hidden(value)
        } else {
            value
        },
        origin,
    };
    let mut rows = Vec::new();
    for part in &setting.parts {
        match (&part.value, &part.places) {
            (Value::Array(rules), Some((source, places))) if setting.key.name == "rules" => {
                rows.extend(rules.iter().enumerate().map(|(at, rule)| {
                    let line = Some(source.line(places.entry(at).span.start));
                    row(
                        rule.clone(),
                        Origin {
                            line,
                            ..part.origin.clone()
                        },
                    )
                }));
            }
            (Value::Array(list), _) if list.is_empty() && setting.key.join == Join::Add => {}
            (value, _) => rows.push(row(value.clone(), part.origin.clone())),
        }
    }
    if rows.is_empty() {
        let unset = if setting.key.join == Join::Add {
            json!([])
        } else {
            Value::Null
        };
        rows.push(row(unset, Origin::BUILT_IN));
    }
    rows
}

/// Which names there are, without what stands under them.
fn hidden(value: Value) -> Value {
    match value {
        Value::Object(values) => Value::Object(
            values
                .into_iter()
                .map(|(name, _)| (name, json!(HIDDEN)))
                .collect(),
        ),
        other => other,
    }
}

fn layers(sources: &Sources) -> Result<Vec<Layer>, Vec<SettingError>> {
    let project = sources.project.as_ref();
    let files = [
        (LayerName::User, sources.user.as_ref(), true),
        (
            LayerName::Project,
            project.map(|project| &project.source),
            project.is_some_and(|project| project.trusted),
        ),
        (LayerName::Config, sources.config.as_ref(), true),
    ];
    let mut layers = Vec::new();
    let mut mistakes = Vec::new();
    for (name, source, trusted) in files {
        let Some(source) = source else { continue };
        match read::layer(source, name, trusted) {
            Ok(layer) => {
                let known = sources.profiles.as_deref();
                mistakes.extend(
                    known
                        .into_iter()
                        .flat_map(|known| unknown_profiles(&layer, known)),
                );
                layers.push(layer);
            }
            Err(more) => mistakes.extend(more),
        }
    }
    layers.push(sources.options.layer());
    if mistakes.is_empty() {
        Ok(layers)
    } else {
        Err(mistakes)
    }
}

/// Names of profiles that there are not, also where the file of a project is ignored.
fn unknown_profiles(layer: &Layer, known: &[String]) -> Vec<SettingError> {
    let names_one = |path: &KeyPath| match path.names() {
        [section, key] => section == "tools" && key == "profile",
        [section, _, key] => section == "presets" && key == "profile",
        _ => false,
    };
    let known = known.iter().map(String::as_str);
    let unknown = |found: &Found| {
        let name = found.value.as_str()?;
        if !names_one(&found.path) || known.clone().any(|one| one == name) {
            return None;
        }
        let fault = SettingErrorKind::unknown_value(found.path.to_string(), name, known.clone());
        let source = layer.source.as_ref()?;
        Some(SettingError::new(source, found.places.span.clone(), fault))
    };
    layer.found.iter().filter_map(unknown).collect()
}

fn wrong(all: Vec<SettingError>) -> ConfigError {
    ConfigError::SettingErrors(SettingErrors { all })
}

/// The merged values as one tree, without what stands for rules.
fn tree(merged: &Merged) -> Value {
    let mut root = Map::new();
    for (path, setting) in &merged.settings {
        if path.names() == ["tools", "rules"] {
            continue;
        }
        let mut value = setting.value();
        let mut at = &mut root;
        let Some((last, sections)) = path.names().split_last() else {
            continue;
        };
        for section in sections {
            let next = at
                .entry(section.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            match next {
                Value::Object(map) => at = map,
                // A key is never a section as well.
                _ => return Value::Null,
            }
        }
        at.extend(value.take().map(|value| (last.clone(), value)));
    }
    Value::Object(root)
}
