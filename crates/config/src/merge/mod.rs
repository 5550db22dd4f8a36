//! From layers to one set of values, each with its origin.
//!
//! ```text
//! built in ─▶ user ─▶ project ─▶ --config ─▶ options ──▶ Merged { values, ignored }
//!                        └─ untrusted: tighten, or be ignored and say so
//! ```
//!
//! Scalars replace, lists that deny, strip or protect add up, other lists
//! replace. A layer only ever touches the keys it names: nothing replaces a
//! whole section. Nothing can go wrong here; what does not belong together is
//! found by `agree`, on the merged values.

mod agree;
mod tighten;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::Value;
use toolgate_policy::{Mode, Trust};

pub(crate) use agree::disagreements;
pub(crate) use tighten::tidy;

use crate::catalog::{Join, Key, Project, ROOT, Shape};
use crate::key_path::KeyPath;
use crate::layer::{Ignored, Layer, Origin};
use crate::read::{Found, Places};
use crate::source::Source;
use tighten::Verdict;

/// A value of one layer.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// Whether its layer may widen.
    pub(crate) trusted: bool,
    /// Where the entries stand, for values from files.
    pub(crate) places: Option<(Source, Places)>,
}

/// A key with the values that count: one, or for a list that adds up several.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    pub(crate) parts: Vec<Part>,
}

/// All keys with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    pub(crate) settings: BTreeMap<KeyPath, Setting>,
    pub(crate) ignored: Vec<Ignored>,
    /// Where the user switched the sandbox around commands off, whatever a project wants.
    pub(crate) unsandboxed: Option<Origin>,
}

impl Setting {
    /// The value of the trusted layers, or of all where lists add up.
    pub(crate) fn value(&self) -> Option<Value> {
        match self.key.join {
            Join::Replace => self.parts.last().map(|part| part.value.clone()),
            Join::Fence => self
                .parts
                .iter()
                .rfind(|part| part.trusted)
                .map(|part| part.value.clone()),
            Join::Add => {
                let mut seen = HashSet::new();
                let lists = self.parts.iter().filter_map(|part| part.value.as_array());
                let entries = lists.flatten().filter(|entry| seen.insert(*entry)).cloned();
                Some(Value::Array(entries.collect()))
            }
        }
    }

    /// The places that the value comes from, the latest last; never empty.
    pub(crate) fn origins(&self) -> Vec<Origin> {
        let filled = |part: &&Part| part.value.as_array().is_none_or(|list| !list.is_empty());
        let mut origins: Vec<Origin> = self
            .parts
            .iter()
            .filter(filled)
            .map(|part| part.origin.clone())
            .collect();
        if origins.is_empty() {
            let last = self
                .parts
                .last()
                .map_or(Origin::BUILT_IN, |part| part.origin.clone());
            origins.push(last);
        }
        origins
    }
}

impl Merged {
    /// Merges layers, the lowest first. Roots are relative to the workspace.
    pub(crate) fn of(layers: &[Layer], workspace: &Path) -> Self {
        let trusted = layers.iter().filter(|layer| layer.trusted);
        let persons = Self::all(trusted, Mode::default());
        let mut merged = Self::all(layers.iter(), persons.approval_mode());
        merged.unsandboxed = persons.sandbox_switched_off();
        merged.drop_foreign_roots(workspace);
        merged
    }

    fn all<'l>(layers: impl Iterator<Item = &'l Layer>, persons_mode: Mode) -> Self {
        let mut merged = Self::default();
        merged.fill(&KeyPath::default(), ROOT);
        for layer in layers {
            for found in &layer.found {
                if layer.trusted {
                    merged.take(layer, found, found.value.clone());
                    continue;
                }
                match merged.tighten(layer, found, persons_mode) {
                    Verdict::Takes(value) => merged.take(layer, found, value),
                    Verdict::Same => {}
                    Verdict::Ignored(why) => {
                        merged.ignore(layer, found, &found.places, &found.path.to_string(), why)
                    }
                }
            }
        }
        merged
    }

    /// Puts in the defaults of a section.
    fn fill(&mut self, path: &KeyPath, keys: &'static [Key]) {
        for key in keys {
            let path = path.with(key.name);
            match key.shape {
                Shape::Table(inner) => self.fill(&path, inner),
                Shape::Named(_) => {}
                _ if key.short_for.is_some() => {}
                _ => {
                    let part = key.default.value().map(|value| Part {
                        value,
                        origin: Origin::BUILT_IN,
                        trusted: true,
                        places: None,
                    });
                    let parts = part.into_iter().collect();
                    self.settings.insert(path, Setting { key, parts });
                }
            }
        }
    }

    /// Puts in the defaults of a named section when its first key turns up.
    fn fill_named(&mut self, found: &Found) {
        let [section, name, ..] = found.path.names() else {
            return;
        };
        let Some(Key {
            shape: Shape::Named(keys),
            ..
        }) = ROOT.iter().find(|key| key.name == section)
        else {
            return;
        };
        if !self.settings.contains_key(&found.path) {
            self.fill(&KeyPath::of([section.as_str(), name.as_str()]), keys);
        }
    }

    fn take(&mut self, layer: &Layer, found: &Found, value: Value) {
        self.fill_named(found);
        let Some(setting) = self.settings.get_mut(&found.path) else {
            return;
        };
        match setting.key.join {
            Join::Replace => setting.parts.clear(),
            Join::Add => {}
            Join::Fence if layer.trusted => setting.parts.retain(|part| !part.trusted),
            Join::Fence => {}
        }
        setting.parts.push(Part {
            value,
            origin: layer.origin(found, &found.places),
            trusted: layer.trusted,
            places: layer
                .source
                .clone()
                .map(|source| (source, found.places.clone())),
        });
    }

    fn ignore(&mut self, layer: &Layer, found: &Found, places: &Places, key: &str, why: String) {
        let origin = layer.origin(found, places);
        self.ignored.push(Ignored {
            file: origin.file.unwrap_or_default(),
            line: origin.line.unwrap_or_default(),
            key: key.to_owned(),
            why,
        });
    }

    /// The value of a key that is one value.
    pub(crate) fn value(&self, path: &[&str]) -> Option<Value> {
        self.settings
            .get(&KeyPath::of(path.iter().copied()))?
            .value()
    }

    fn sandbox_switched_off(&self) -> Option<Origin> {
        let path = KeyPath::of(["tools", "sandbox", "command_sandbox"]);
        let setting = self.settings.get(&path)?;
        let off = setting.value()? == "off";
        setting.origins().pop().filter(|_| off)
    }

    /// What the settings so far say is the default for tools without a rule.
    fn approval_mode(&self) -> Mode {
        let text = |key: &str| self.value(&["tools", "approval", key]);
        let trust = text("trust").and_then(|value| serde_json::from_value(value).ok());
        let mode = text("mode").and_then(|value| serde_json::from_value(value).ok());
        mode.unwrap_or(match trust {
            Some(Trust::Autonomous) => Mode::Auto,
            Some(Trust::Supervised | Trust::Guided) | None => Mode::Prompt,
        })
    }
}
