//! A scope handed in by a caller: which tools, on which paths, for how long.
//!
//! A scope is an untrusted layer. It takes away and gives nothing: what it
//! permits is still answered by the user's own rules and defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use toolgate_model::Action;

use crate::layer::{LayerSpec, LayerTrust};
use crate::rule::RuleSpec;

/// What a caller permits, tool by tool; nothing at all means reading only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Permissions by a tool's name or alias. A tool that is not in it is not permitted.
    pub permissions: BTreeMap<String, Permission>,
}

/// What a scope says about one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// Whether the tool may be used.
    pub allowed: bool,
    /// Patterns of the only paths it may touch; none means no limit. A plain path is it and all in it.
    pub paths: Vec<String>,
    /// The longest a call may take.
    pub timeout: Option<Duration>,
}

impl Scope {
    /// Whether a tool is offered at all. `read_only` are the tools that an empty scope permits.
    pub fn permits(
        &self,
        tool: &str,
        read_only: &BTreeSet<String>,
        canonical: &dyn Fn(&str) -> String,
    ) -> bool {
        if self.permissions.is_empty() {
            return read_only.contains(&canonical(tool));
        }
        let mut named = self.named(tool, canonical).peekable();
        named.peek().is_some() && named.all(|permission| permission.allowed)
    }

    /// The shortest time that the scope gives to a call of this tool.
    pub fn timeout(&self, tool: &str, canonical: &dyn Fn(&str) -> String) -> Option<Duration> {
        self.named(tool, canonical)
            .filter_map(|permission| permission.timeout)
            .min()
    }

    /// The scope as a layer of rules.
    pub fn layer(&self, name: &str, read_only: &BTreeSet<String>) -> LayerSpec {
        let mut rules = Vec::new();
        if self.permissions.is_empty() {
            rules.extend(read_only.iter().map(|tool| passed(tool)));
        }
        // Denials first: a tool that is named twice, by an alias and by its name, needs both.
        let (allowed, denied): (Vec<_>, Vec<_>) =
            self.permissions.iter().partition(|(_, p)| p.allowed);
        rules.extend(denied.iter().map(|(tool, _)| {
            refused(tool, "The scope of this session does not permit this tool.")
        }));
        for (tool, permission) in allowed {
            if !permission.paths.is_empty() {
                rules.extend(fenced(tool, &permission.paths));
            }
            rules.push(passed(tool));
        }
        rules.push(refused(
            "*",
            "The scope of this session does not name this tool.",
        ));
        for rule in &mut rules {
            rule.origin = Some("scope".to_owned());
        }
        LayerSpec::new(name, LayerTrust::Untrusted, rules)
    }

    fn named<'s>(
        &'s self,
        tool: &str,
        canonical: &'s dyn Fn(&str) -> String,
    ) -> impl Iterator<Item = &'s Permission> {
        let tool = canonical(tool);
        self.permissions
            .iter()
            .filter(move |(name, _)| canonical(name) == tool)
            .map(|(_, permission)| permission)
    }
}

/// Not stopped here: in an untrusted layer an allow is silence.
fn passed(tool: &str) -> RuleSpec {
    let mut rule = RuleSpec::new(tool, Action::Allow);
    rule.opaque = true;
    rule
}

fn refused(tool: &str, message: &str) -> RuleSpec {
    let mut rule = RuleSpec::new(tool, Action::Deny);
    rule.message = Some(message.to_owned());
    rule
}

/// The rules that keep a tool on its paths.
fn fenced(tool: &str, paths: &[String]) -> [RuleSpec; 4] {
    let patterns: Vec<String> = paths.iter().map(|path| directory(path)).collect();
    let mut inside = RuleSpec::new(tool, Action::Allow);
    inside.reads = Some(patterns.clone());
    inside.writes = Some(patterns.clone());
    inside.deletes = Some(patterns);
    let mut outside = refused(
        tool,
        "The scope of this session keeps this tool on its paths.",
    );
    outside.reads = Some(vec!["**".to_owned()]);
    outside.writes = Some(vec!["**".to_owned()]);
    outside.deletes = Some(vec!["**".to_owned()]);
    let mut unknown = refused(
        tool,
        "The scope limits the paths of this tool, and those of this call are not known.",
    );
    unknown.opaque = true;
    // The paths of a command are what it claims: no list can keep it on them.
    let mut command = RuleSpec::new(tool, Action::Ask);
    command.command = Some(Vec::new());
    command.message = Some(
        "The scope limits the paths of this tool, and a command's are only claimed.".to_owned(),
    );
    [inside, outside, unknown, command]
}

/// A plain path stands for what is in it too.
fn directory(path: &str) -> String {
    if path.contains(['*', '?', '[', '{']) || path.ends_with('/') {
        path.to_owned()
    } else {
        format!("{path}/")
    }
}
