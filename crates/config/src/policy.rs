//! From values to the rules of the gate.

use std::path::Path;

use serde_json::Value;
use toolgate_gate::Rules;
use toolgate_model::Action;
use toolgate_policy::{LayerSpec, LayerTrust, Listed, RuleSpec, Settings, ShortForms};
use toolgate_sandbox::paths::RootAccess;

use crate::effective::Effective;
use crate::key_path::KeyPath;
use crate::layer::{LayerName, Origin};
use crate::merge::{Merged, Part, tidy};
use crate::setting_error::{SettingError, SettingErrorKind};
use crate::settings::ConfiguredDirectory;

/// The layers of rules, the lowest first.
pub(crate) type Layers = Vec<LayerSpec>;

impl Effective {
    /// What decides where no rule matches.
    pub fn policy_settings(&self) -> Settings {
        let approval = &self.settings().tools.approval;
        Settings {
            enabled: approval.enabled,
            trust: approval.trust,
            mode: approval.mode,
            mode_alone: self.is_mode_alone(),
            default_action: approval.default_action,
            prompt_side_effects: approval.prompt_side_effects,
        }
    }

    /// Whether the mode was named and the trust was not. A mode that somebody untrusted named
    /// does not make the trust column silent: it can only tighten.
    fn is_mode_alone(&self) -> bool {
        let parts = |key| {
            let setting = self
                .merged
                .settings
                .get(&KeyPath::of(["tools", "approval", key]));
            let parts = setting.into_iter().flat_map(|setting| &setting.parts);
            parts.filter(|part| part.origin.layer != LayerName::BuiltIn)
        };
        parts("trust").next().is_none()
            && parts("mode").next().is_some()
            && parts("mode").all(|part| part.trusted)
    }

    /// The rules of all layers, each with its file and line.
    pub fn rules(&self) -> Rules {
        Rules {
            settings: self.policy_settings(),
            layers: self.layers.clone(),
            validators: Vec::new(),
        }
    }
}

/// The rules and lists of every layer.
///
/// # Errors
/// A rule that was read and cannot be made into one; dropping it could lift a denial.
pub(crate) fn layers(merged: &Merged, workspace: &Path) -> Result<Layers, Box<SettingError>> {
    let mut layers = Vec::new();
    for name in [
        LayerName::BuiltIn,
        LayerName::User,
        LayerName::Project,
        LayerName::Config,
    ] {
        let parts = PartsOf { merged, name };
        let trust = match parts.trusted() {
            true => LayerTrust::Trusted,
            false => LayerTrust::Untrusted,
        };
        let mut layer = LayerSpec::new(name.as_str(), trust, parts.rules()?);
        layer.short = ShortForms {
            allowed_commands: parts.listed("allowed_commands").unwrap_or_default(),
            blocked_commands: parts.listed("blocked_commands").unwrap_or_default(),
            allowed_paths: parts.listed("allowed_paths").unwrap_or_default(),
            blocked_paths: parts.listed("blocked_paths").unwrap_or_default(),
        };
        layer.allowlist = parts.listed("allowlist");
        layer.denylist = parts.listed("denylist").unwrap_or_default();
        if name == LayerName::BuiltIn {
            layer
                .rules
                .extend(merged.unsandboxed.as_ref().map(unsandboxed));
        }
        layers.push(layer);
    }
    layers.extend(root_fence(merged, workspace));
    Ok(layers)
}

/// The lowest trusted word on commands where the user has switched their sandbox off: without
/// it they would be refused for want of a sandbox, and any rule of the user's still comes
/// before it. A project that wants the sandbox back does not make anybody less careful.
fn unsandboxed(origin: &Origin) -> RuleSpec {
    let mut rule = RuleSpec::new("*", Action::Ask);
    rule.command = Some(Vec::new());
    rule.message = Some("Commands run without a sandbox: `command_sandbox` is `off`.".to_owned());
    rule.origin = Some("command_sandbox = \"off\"".to_owned());
    rule.source = origin.rule_source();
    rule
}

/// What one layer says.
struct PartsOf<'m> {
    merged: &'m Merged,
    name: LayerName,
}

impl<'m> PartsOf<'m> {
    fn part(&self, path: &[&str]) -> Option<&'m Part> {
        let setting = self
            .merged
            .settings
            .get(&KeyPath::of(path.iter().copied()))?;
        setting
            .parts
            .iter()
            .find(|part| part.origin.layer == self.name)
    }

    /// Whether everything that counts of this layer may widen.
    fn trusted(&self) -> bool {
        let mut all = self
            .merged
            .settings
            .values()
            .flat_map(|setting| &setting.parts);
        all.all(|part| part.trusted || part.origin.layer != self.name)
    }

    fn listed(&self, key: &str) -> Option<Listed> {
        let part = self.part(&["tools", "approval", key])?;
        let entries = part.value.as_array().map(Vec::as_slice).unwrap_or_default();
        Some(Listed {
            entries: entries
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            source: part.origin.rule_source(),
        })
    }

    fn rules(&self) -> Result<Vec<RuleSpec>, Box<SettingError>> {
        let Some(Part {
            value: Value::Array(entries),
            places: Some((source, places)),
            origin,
            ..
        }) = self.part(&["tools", "rules"])
        else {
            return Ok(Vec::new());
        };
        let rule = |(at, entry): (usize, &Value)| {
            let span = places.entry(at).span.clone();
            match serde_json::from_value::<RuleSpec>(entry.clone()) {
                Ok(mut rule) => {
                    rule.source = origin.rule_source();
                    rule.source.line = Some(source.line(span.start));
                    Ok(rule)
                }
                Err(error) => {
                    let fault = SettingErrorKind::Unusable {
                        key: "tools.rules".to_owned(),
                        message: error.to_string(),
                    };
                    Err(Box::new(SettingError::new(source, span, fault)))
                }
            }
        };
        entries.iter().enumerate().map(rule).collect()
    }
}

/// The roots of an untrusted project as a fence of rules.
///
/// They do not become roots of the sandbox: the first root is the directory that paths
/// in rules start from, and moving it would change what the user's rules mean.
fn root_fence(merged: &Merged, workspace: &Path) -> Option<LayerSpec> {
    let setting = merged
        .settings
        .get(&KeyPath::of(["tools", "sandbox", "allowed_roots"]))?;
    let part = setting.parts.iter().find(|part| !part.trusted)?;
    let base = setting
        .value()
        .as_ref()
        .map(directories)
        .unwrap_or_default();
    let base = tidy(&workspace.join(base.first()?.path()));
    let narrowed = directories(&part.value);
    let pattern =
        |directory: &ConfiguredDirectory| pattern(&tidy(&workspace.join(directory.path())), &base);
    let readable: Vec<String> = narrowed.iter().filter_map(pattern).collect();
    let writable: Vec<String> = narrowed
        .iter()
        .filter(|directory| directory.access(RootAccess::ReadWrite) == RootAccess::ReadWrite)
        .filter_map(pattern)
        .collect();
    let rule = |action| {
        let mut rule = RuleSpec::new("*", action);
        rule.origin = Some("allowed_roots".to_owned());
        rule.source = part.origin.rule_source();
        rule
    };
    let everywhere = || Some(vec!["**".to_owned()]);
    let mut rules = Vec::new();
    if !readable.is_empty() {
        let mut inside = rule(Action::Allow);
        inside.reads = Some(readable);
        rules.push(inside);
    }
    if !writable.is_empty() {
        let mut inside = rule(Action::Allow);
        inside.writes = Some(writable.clone());
        inside.deletes = Some(writable);
        rules.push(inside);
    }
    let mut outside = rule(Action::Deny);
    outside.reads = everywhere();
    outside.writes = everywhere();
    outside.deletes = everywhere();
    outside.message = Some("The project's file keeps tools inside its `allowed_roots`.".to_owned());
    rules.push(outside);
    Some(LayerSpec::new(
        LayerName::Project.as_str(),
        LayerTrust::Untrusted,
        rules,
    ))
}

fn directories(value: &Value) -> Vec<ConfiguredDirectory> {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

/// A directory and everything in it, as paths of calls are written; nothing if it is no text.
fn pattern(directory: &Path, base: &Path) -> Option<String> {
    let (text, start) = match directory.strip_prefix(base) {
        Ok(inside) => (inside.to_str()?, ""),
        Err(_) => (directory.to_str()?.trim_start_matches('/'), "/"),
    };
    let mut pattern = start.to_owned();
    for c in text.chars() {
        if "*?[]{}\\~!".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    if !text.is_empty() {
        pattern.push('/');
    }
    Some(pattern + "**")
}
