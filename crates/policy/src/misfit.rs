//! Rules that nothing a tool does can ever fit.

use toolgate_model::nearest::nearest;

use crate::check::{Finding, FindingKind};
use crate::decide::Policy;
use crate::index::Rule;
use crate::text;

/// What is known of a tool before anybody calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTool {
    /// Its canonical name.
    pub name: String,
    /// Its arguments under their canonical names; nothing where it may take others too.
    pub params: Option<Vec<String>>,
    /// Whether it changes anything.
    pub side_effects: bool,
    /// Whether it runs commands.
    pub runs_commands: bool,
}

/// Rules with conditions on arguments that no tool has, or about what their tool never does.
pub fn misfits(policy: &Policy, tools: &[KnownTool]) -> Vec<Finding> {
    let rules = policy.layers.iter().flat_map(|layer| &layer.rules);
    let found = rules.filter_map(|rule| {
        let meant: Vec<&KnownTool> = tools
            .iter()
            .filter(|tool| rule.tool.as_ref().is_none_or(|name| *name == tool.name))
            .collect();
        // A tool that nobody knows is told apart from this.
        let message = (!meant.is_empty())
            .then(|| misfit(rule, &meant))
            .flatten()?;
        Some(Finding {
            kind: FindingKind::NeverFits,
            rule: rule.text.clone(),
            source: rule.spec.source.clone(),
            message,
        })
    });
    found.collect()
}

fn misfit(rule: &Rule, meant: &[&KnownTool]) -> Option<String> {
    let unknown = rule.spec.when.iter().find_map(|condition| {
        let mut params = Vec::new();
        for tool in meant {
            params.extend(tool.params.as_ref()?);
        }
        let known = params.iter().any(|param| **param == condition.param);
        (!known).then(|| unknown_param(&condition.param, &params))
    });
    unknown.or_else(|| never_done(rule, meant))
}

fn unknown_param(param: &str, params: &[&String]) -> String {
    let near = nearest(param, params.iter().map(|param| param.as_str()));
    let hint = near.map_or_else(
        || "conditions go by the canonical names of arguments".to_owned(),
        |near| format!("`{near}` is the nearest name"),
    );
    format!("no argument is called `{}`; {hint}", text::shown(param))
}

/// A rule whose every key is about something that its tool does not do.
fn never_done(rule: &Rule, meant: &[&KnownTool]) -> Option<String> {
    let changes = meant.iter().any(|tool| tool.side_effects);
    let runs = meant.iter().any(|tool| tool.runs_commands);
    let spec = &rule.spec;
    let done = spec.reads.is_some()
        || spec.connects.is_some()
        || (changes && (spec.writes.is_some() || spec.deletes.is_some()))
        || (runs && spec.command.is_some());
    if done || !spec.has_fact_keys() {
        return None;
    }
    let what = if spec.command.is_some() {
        "runs no commands"
    } else {
        "changes no files"
    };
    Some(format!("`{}` {what}", text::shown(&spec.tool)))
}
