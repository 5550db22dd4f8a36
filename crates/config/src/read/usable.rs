//! Values that have the right shape and still cannot be used.

use std::collections::HashSet;

use serde_json::Value;
use toolgate_gate::schema::Schema;
use toolgate_policy::{
    LayerSpec, LayerTrust, Listed, Policy, PolicyError, RuleError, RuleSpec, Settings, faults,
};

use super::{Found, Places, Reader};
use crate::layer::LayerName;
use crate::picture::quoted;
use crate::setting_error::SettingErrorKind;

/// How many regular expressions the rules of a file may have.
///
/// Each may take a mebibyte when it is compiled, and a project's file is compiled
/// before anybody trusts it.
const MOST_EXPRESSIONS: usize = 100;

impl Reader<'_> {
    /// Looks for what only policy and the tools themselves can find wrong.
    pub(super) fn check_usable(&mut self, name: LayerName, trusted: bool) {
        let found = std::mem::take(&mut self.found);
        for found in &found {
            let Value::Array(entries) = &found.value else {
                continue;
            };
            match found.path.to_string().as_str() {
                "tools.rules" => self.rules(entries, found, name),
                // An untrusted file's are ignored, and compiling them is work that it could demand.
                "tools.definitions" if trusted => self.definitions(entries, found),
                "tools.approval.allowed_commands"
                | "tools.approval.blocked_commands"
                | "tools.approval.allowed_paths"
                | "tools.approval.blocked_paths" => self.short_form(entries, found),
                _ => {}
            }
        }
        self.found = found;
    }

    fn rules(&mut self, entries: &[Value], found: &Found, name: LayerName) {
        let expressions = entries.iter().map(expressions).sum::<usize>();
        if expressions > MOST_EXPRESSIONS {
            let message = format!(
                "it has {expressions} regular expressions, and {MOST_EXPRESSIONS} are the most"
            );
            return self.unusable(found, &found.places, &message);
        }
        let mut rules = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let places = found.places.entry(at);
            // The rule itself cannot tell an empty list from none.
            if entry
                .get("when")
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty)
            {
                let fault = SettingErrorKind::Rule(RuleError::EmptyList { key: "when" });
                self.mistake(places.key("when").span.clone(), fault);
                continue;
            }
            match serde_json::from_value::<RuleSpec>(entry.clone()) {
                Ok(rule) => {
                    let layer = LayerSpec::new("", LayerTrust::Trusted, vec![rule.clone()]);
                    for error in faults(&[layer], &same) {
                        self.rule_fault(&rule, places, error);
                    }
                    rules.push(rule);
                }
                Err(error) => self.unusable(found, places, &error.to_string()),
            }
        }
        let layer = LayerSpec::new(name.as_str(), LayerTrust::Trusted, rules);
        self.together(layer, found);
    }

    /// What cannot be compiled although every entry can.
    fn together(&mut self, layer: LayerSpec, found: &Found) {
        if let Err(error @ PolicyError::Layer { .. }) =
            Policy::compile(Settings::default(), &[layer], &same)
        {
            self.unusable(found, &found.places, &error.to_string());
        }
    }

    fn rule_fault(&mut self, rule: &RuleSpec, places: &Places, error: PolicyError) {
        let PolicyError::Rule { fault, .. } = error else {
            return;
        };
        let at = |key: &str, list: Option<&Vec<String>>, pattern: &str| {
            let position = list.and_then(|list| list.iter().position(|text| text == pattern));
            let places = places.key(key);
            position.map_or(places, |at| places.entry(at)).span.clone()
        };
        let span = match &fault {
            RuleError::Tool { .. } => places.key("tool").span.clone(),
            RuleError::EmptyList { key: "value" } => places.key("when").span.clone(),
            RuleError::EmptyList { key } => places.key(key).span.clone(),
            RuleError::Path { key, pattern, .. } => {
                let list = match *key {
                    "reads" => rule.reads.as_ref(),
                    "writes" => rule.writes.as_ref(),
                    _ => rule.deletes.as_ref(),
                };
                at(key, list, pattern)
            }
            RuleError::Host { pattern } => at("connects", rule.connects.as_ref(), pattern),
            RuleError::Regex { pattern, .. } => {
                let position = rule
                    .when
                    .iter()
                    .position(|test| test.value.list().contains(pattern));
                let places = places.key("when");
                position
                    .map_or(places, |at| places.entry(at).key("value"))
                    .span
                    .clone()
            }
            RuleError::OpaqueWithPaths => places.key("opaque").span.clone(),
        };
        self.mistake(span, SettingErrorKind::Rule(fault));
    }

    /// A list that stands for rules: if they cannot be compiled, the entries that are to blame.
    fn short_form(&mut self, entries: &[Value], found: &Found) {
        let texts: Vec<String> = entries
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let layer = |entries: Vec<String>| {
            let list = Listed {
                entries,
                ..Listed::default()
            };
            let mut layer = LayerSpec::new("", LayerTrust::Trusted, Vec::new());
            match found.key.name {
                "allowed_commands" => layer.short.allowed_commands = list,
                "blocked_commands" => layer.short.blocked_commands = list,
                "allowed_paths" => layer.short.allowed_paths = list,
                _ => layer.short.blocked_paths = list,
            }
            layer
        };
        if faults(&[layer(texts.clone())], &same).is_empty() {
            return self.together(layer(texts), found);
        }
        for (at, text) in texts.into_iter().enumerate() {
            if let Some(PolicyError::Rule { fault, .. }) =
                faults(&[layer(vec![text])], &same).into_iter().next()
            {
                let fault = match fault {
                    RuleError::Path {
                        pattern, message, ..
                    } => SettingErrorKind::BadText {
                        key: found.path.to_string(),
                        found: quoted(&pattern),
                        problem: message,
                    },
                    other => SettingErrorKind::Rule(other),
                };
                self.mistake(found.places.entry(at).span.clone(), fault);
            }
        }
    }

    fn definitions(&mut self, entries: &[Value], found: &Found) {
        let mut names = HashSet::new();
        for (at, entry) in entries.iter().enumerate() {
            let places = found.places.entry(at);
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !names.insert(name) {
                let problem = format!("the tool `{}` is defined twice", quoted(name));
                self.mistake(
                    places.key("name").span.clone(),
                    SettingErrorKind::Conflict { problem },
                );
            }
            let parameters = entry.get("parameters").unwrap_or(&Value::Null);
            if let Err(fault) = Schema::compile(name, parameters) {
                self.unusable(found, places.key("parameters"), &fault.to_string());
            }
        }
    }

    fn unusable(&mut self, found: &Found, places: &Places, message: &str) {
        let fault = SettingErrorKind::Unusable {
            key: found.path.to_string(),
            message: quoted(message),
        };
        self.mistake(places.span.clone(), fault);
    }
}

/// How many regular expressions a rule has.
fn expressions(rule: &Value) -> usize {
    let conditions = rule.get("when").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition.get("operator").and_then(Value::as_str) == Some("matches"))
        .map(|condition| {
            let value = condition.get("value");
            value.and_then(Value::as_array).map_or(1, Vec::len)
        })
        .sum()
}

/// Aliases belong to the registry; what is wrong with a rule does not depend on them.
fn same(name: &str) -> String {
    name.to_owned()
}
