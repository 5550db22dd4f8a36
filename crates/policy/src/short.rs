//! Short forms for rules: lists of commands and paths.
//!
//! - `blocked_commands`: a deny of the leading words, never a search in text;
//!   a program is blocked by its bare name and where systems keep programs.
//! - `allowed_commands`: an allow each, and a deny of every other command.
//! - `blocked_paths`: a deny of reading, writing and deleting.
//! - `allowed_paths`: a fence. Paths outside it are denied; paths inside it are
//!   answered by the rules and defaults as if there were no list, because
//!   saying where a tool may work is not saying that it need not ask.
//!
//! An empty list means nothing, as in the specification.

use toolgate_model::Action;

use crate::layer::Listed;
use crate::rule::{RuleSpec, WordPattern};
use crate::text;

/// The tool whose commands `allowed_commands` allows.
pub(crate) const COMMAND_TOOL: &str = "run_command";

/// Where a system keeps its programs: a blocked program is blocked there too.
const PROGRAM_DIRECTORIES: [&str; 6] = [
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
];

/// The short forms of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortForms {
    /// Commands that run without a question; if there are any, no other command runs.
    pub allowed_commands: Listed,
    /// Commands that never run.
    pub blocked_commands: Listed,
    /// Patterns of the only paths that may be touched.
    pub allowed_paths: Listed,
    /// Patterns of paths that are never touched.
    pub blocked_paths: Listed,
}

/// Every rule that the short forms stand for, in the order in which they are tried.
pub fn short_forms(short: &ShortForms) -> Vec<RuleSpec> {
    [short.blocks(), short.fence(), short.allows()].concat()
}

impl ShortForms {
    /// The denies of the block lists.
    pub(crate) fn blocks(&self) -> Vec<RuleSpec> {
        let commands = self.blocked_commands.entries.iter().map(|entry| {
            let mut rule = made(
                "*",
                Action::Deny,
                "blocked_commands",
                entry,
                &self.blocked_commands,
            );
            let mut words = entry.split_whitespace();
            // A blank entry names no program; it is an error, and not every command.
            let program = words.next().map_or(WordPattern::Any(Vec::new()), anywhere);
            rule.command = Some([program].into_iter().chain(words.map(Into::into)).collect());
            rule
        });
        let paths = self.blocked_paths.entries.iter().map(|entry| {
            let rule = made(
                "*",
                Action::Deny,
                "blocked_paths",
                entry,
                &self.blocked_paths,
            );
            on_paths(rule, std::slice::from_ref(entry))
        });
        commands.chain(paths).collect()
    }

    /// The rules that keep calls inside `allowed_paths`; their allow means "not stopped here".
    pub(crate) fn fence(&self) -> Vec<RuleSpec> {
        let list = &self.allowed_paths;
        if list.entries.is_empty() {
            return Vec::new();
        }
        let inside = list.entries.iter().map(|entry| {
            let rule = made("*", Action::Allow, "allowed_paths", entry, list);
            on_paths(rule, std::slice::from_ref(entry))
        });
        let mut outside = closing("allowed_paths", list);
        outside.message = Some("Only the paths of allowed_paths may be touched.".to_owned());
        inside
            .chain([on_paths(outside, &["**".to_owned()])])
            .collect()
    }

    /// The allows of `allowed_commands` and the deny that ends them.
    pub(crate) fn allows(&self) -> Vec<RuleSpec> {
        let list = &self.allowed_commands;
        if list.entries.is_empty() {
            return Vec::new();
        }
        let listed = list.entries.iter().map(|entry| {
            let mut rule = made(COMMAND_TOOL, Action::Allow, "allowed_commands", entry, list);
            rule.command = Some(entry.split_whitespace().map(Into::into).collect());
            rule
        });
        let mut other = closing("allowed_commands", list);
        other.command = Some(Vec::new());
        other.message = Some("Only the commands of allowed_commands may run.".to_owned());
        listed.chain([other]).collect()
    }
}

fn made(tool: &str, action: Action, list: &str, entry: &str, listed: &Listed) -> RuleSpec {
    let mut rule = RuleSpec::new(tool, action);
    rule.origin = Some(format!("{list} {}", text::quoted(entry)));
    rule.source = listed.source.clone();
    rule
}

fn closing(list: &str, listed: &Listed) -> RuleSpec {
    let mut rule = RuleSpec::new("*", Action::Deny);
    rule.origin = Some(format!("{list}, which names no other"));
    rule.source = listed.source.clone();
    rule
}

fn on_paths(mut rule: RuleSpec, patterns: &[String]) -> RuleSpec {
    rule.reads = Some(patterns.to_vec());
    rule.writes = Some(patterns.to_vec());
    rule.deletes = Some(patterns.to_vec());
    rule
}

/// A program by its bare name and at its usual places.
fn anywhere(program: &str) -> WordPattern {
    if program.contains('/') {
        return program.into();
    }
    let at_home = PROGRAM_DIRECTORIES
        .iter()
        .map(|directory| format!("{directory}{program}"));
    WordPattern::Any(std::iter::once(program.to_owned()).chain(at_home).collect())
}
