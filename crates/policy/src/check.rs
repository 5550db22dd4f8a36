//! Policy that is tested like code: examples, rules that never match, rules that do nothing.

use std::fmt;

use toolgate_model::nearest::nearest;
use toolgate_model::{Action, Args, Facts, Risk, RuleSource};

use crate::atom::Atom;
use crate::decide::Policy;
use crate::error::PolicyError;
use crate::index::Rule;
use crate::layer::{Layer, LayerSpec, LayerTrust, wrong};
use crate::question::Question;
use crate::subsume::{Taken, contradiction, taken};
use crate::text;

/// What an example stands for: a parsed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The tool's canonical name.
    pub tool: String,
    /// The arguments.
    pub args: Args,
    /// What the call would touch.
    pub facts: Facts,
}

/// Turns the text of an example into a call, as the tool itself would.
pub trait Examples {
    /// Reads an example of a rule about this tool (`*` for every tool).
    ///
    /// # Errors
    /// Why it is no call of that tool.
    fn read(&self, tool: &str, example: &str) -> Result<Example, String>;
}

impl<F: Fn(&str, &str) -> Result<Example, String>> Examples for F {
    fn read(&self, tool: &str, example: &str) -> Result<Example, String> {
        self(tool, example)
    }
}

/// What is wrong with a rule that can be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A `match` example is not decided by the rule.
    Missed,
    /// A `not_match` example is fitted by the rule.
    Caught,
    /// An example is no call.
    Unreadable,
    /// An earlier rule of the layer takes everything.
    Shadowed,
    /// No value can fulfil its conditions.
    Contradiction,
    /// Its pattern is written in a way that nothing fits.
    NeverFits,
    /// No tool has this name.
    UnknownTool,
    /// It would widen, and its layer may not.
    Ignored,
}

impl FindingKind {
    /// The spelling of records and wires.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Caught => "caught",
            Self::Unreadable => "unreadable",
            Self::Shadowed => "shadowed",
            Self::Contradiction => "contradiction",
            Self::NeverFits => "never_fits",
            Self::UnknownTool => "unknown_tool",
            Self::Ignored => "ignored",
        }
    }

    /// Whether the rule does not do what it says; otherwise it is only good to know.
    pub const fn is_mistake(self) -> bool {
        !matches!(self, Self::Ignored | Self::UnknownTool)
    }
}

/// One thing to tell about one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The rule in words.
    pub rule: String,
    /// Where it stands.
    pub source: RuleSource,
    /// A sentence about it.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`: {}", self.source, self.rule, self.message)
    }
}

/// Tests the rules' examples and finds rules that cannot do what they say.
///
/// `known` are the canonical names of all tools; where it is empty, names are not checked.
/// A rule counts as never reached if an earlier one takes every path it could decide; paths
/// with a `..` component are left out of that, because the sandbox refuses them in any case.
pub fn check(policy: &Policy, known: &[&str], examples: &dyn Examples) -> Vec<Finding> {
    let mut findings = Vec::new();
    for layer in &policy.layers {
        for (at, rule) in layer.rules.iter().enumerate() {
            let mut tell = |kind, message: String| {
                findings.push(Finding {
                    kind,
                    rule: rule.text.clone(),
                    source: rule.spec.source.clone(),
                    message,
                });
            };
            if layer.widens_in_vain(rule) {
                tell(
                    FindingKind::Ignored,
                    "this layer is not trusted and can only make answers stricter; the rule is ignored".to_owned(),
                );
            }
            if let Some(message) = rule.tool.as_deref().and_then(|tool| unknown(tool, known)) {
                tell(FindingKind::UnknownTool, message);
            }
            if let Some(message) = never_fits(rule) {
                tell(FindingKind::NeverFits, message);
            }
            if let Some((one, other)) = contradiction(&rule.spec.when) {
                tell(
                    FindingKind::Contradiction,
                    format!(
                        "no single value of `{}` fulfils both `{}` and `{}`",
                        text::shown(&one.param),
                        text::condition(one),
                        text::condition(other)
                    ),
                );
            }
            if let Some(message) = shadowed(layer, at, rule) {
                tell(FindingKind::Shadowed, message);
            }
            try_examples(layer, at, rule, examples, &mut tell);
        }
    }
    findings.extend(policy.ignored_lists.iter().map(|list| Finding {
        kind: FindingKind::Ignored,
        rule: "allowlist".to_owned(),
        source: list.source.clone(),
        message:
            "this layer is not trusted and cannot allowlist tools; the list is ignored".to_owned(),
    }));
    findings
}

/// Every rule that cannot be compiled, not only the first.
pub fn faults(layers: &[LayerSpec], canonical: &dyn Fn(&str) -> String) -> Vec<PolicyError> {
    layers
        .iter()
        .flat_map(LayerSpec::parts)
        .flat_map(|(_, rules)| rules)
        .filter_map(|rule| {
            let fault = Rule::compile(&rule, canonical).err()?;
            Some(wrong(&rule, fault))
        })
        .collect()
}

/// Rules that deny or ask and can never apply, because no tool has their name or no command fits
/// their words: somebody counts on them in vain.
pub fn in_vain(
    layers: &[LayerSpec],
    known: &[&str],
    canonical: &dyn Fn(&str) -> String,
) -> Vec<Finding> {
    let rules = layers.iter().flat_map(LayerSpec::parts);
    let strict = rules
        .flat_map(|(_, rules)| rules)
        .filter(|rule| rule.action != Action::Allow);
    strict
        .filter_map(|rule| {
            let unknown = unknown(&canonical(&rule.tool), known);
            let (kind, message) = match unknown {
                Some(message) => (FindingKind::UnknownTool, message),
                None => {
                    let compiled = Rule::compile(&rule, canonical).ok()?;
                    (FindingKind::NeverFits, never_fits(&compiled)?)
                }
            };
            Some(Finding {
                kind,
                message,
                rule: text::rule(&rule),
                source: rule.source,
            })
        })
        .collect()
}

impl Layer {
    /// Whether the rule is an allow that counts as silence, though its author meant more.
    fn widens_in_vain(&self, rule: &Rule) -> bool {
        self.trust == LayerTrust::Untrusted && !self.fence && !rule.is_strict()
    }
}

/// What to say of a name that is none of these, where any are known.
fn unknown(tool: &str, known: &[&str]) -> Option<String> {
    if tool == "*" || known.is_empty() || known.contains(&tool) {
        return None;
    }
    let hint = nearest(tool, known.iter().copied()).map_or_else(String::new, |name| {
        format!("; `{name}` is the nearest name")
    });
    Some(format!("no tool is called `{}`{hint}", text::shown(tool)))
}

/// A command pattern that no command line comes apart into.
fn never_fits(rule: &Rule) -> Option<String> {
    let command = rule.command.as_ref()?;
    let mut words = rule.spec.command.iter().flatten();
    if words.any(|pattern| pattern.words().iter().any(|word| word == "*")) {
        return Some(
            "`*` is a plain word in a command; leave it out, leading words are enough".to_owned(),
        );
    }
    command.programs().iter().find_map(|program| {
        let quoted = text::quoted(program);
        if program.contains(char::is_whitespace) {
            let apart: Vec<String> = program.split_whitespace().map(text::quoted).collect();
            return Some(format!(
                "{quoted} is one word with a blank in it, and no program is called so; write [{}]",
                apart.join(",")
            ));
        }
        program
            .contains(['|', ';', '&', '<', '>', '(', ')', '$', '`'])
            .then(|| format!("{quoted} is shell syntax and no program; a pattern is the leading words of one command"))
    })
}

fn shadowed(layer: &Layer, at: usize, rule: &Rule) -> Option<String> {
    layer.rules.iter().take(at).find_map(|earlier| {
        let left = match taken(earlier, rule) {
            Taken::No => return None,
            Taken::All => "nothing reaches it",
            Taken::AllButOpaque => "only commands whose words are not all known reach it",
        };
        Some(format!(
            "{left}: `{}` in {} comes first; move the narrower rule up",
            earlier.text, earlier.spec.source
        ))
    })
}

fn try_examples(
    layer: &Layer,
    at: usize,
    rule: &Rule,
    examples: &dyn Examples,
    tell: &mut dyn FnMut(FindingKind, String),
) {
    let tool = rule.tool.as_deref().unwrap_or("*");
    let wanted = rule.spec.examples.matches.iter().map(|text| (text, true));
    let unwanted = rule
        .spec
        .examples
        .not_matches
        .iter()
        .map(|text| (text, false));
    for (example, wants) in wanted.chain(unwanted) {
        let quoted = text::quoted(example);
        let call = match examples.read(tool, example) {
            Ok(call) => call,
            Err(why) => {
                tell(
                    FindingKind::Unreadable,
                    format!("the example {quoted} is no call: {why}"),
                );
                continue;
            }
        };
        let question = call.question();
        if wants {
            if let Err(why) = decides(layer, rule, &question) {
                tell(
                    FindingKind::Missed,
                    format!("it must match {quoted}, but {why}"),
                );
            }
        } else if fits(layer, at, rule, &question) {
            tell(
                FindingKind::Caught,
                format!("it must not match {quoted}, but it does"),
            );
        }
    }
}

/// Whether the rule is the one that answers: for an allow at every atom, otherwise at some.
fn decides(layer: &Layer, rule: &Rule, question: &Question<'_>) -> Result<(), String> {
    let mut nobody = "nothing in it matches the rule".to_owned();
    for atom in relevant(rule, question) {
        match layer.speaks(&atom, question) {
            Some(found) if std::ptr::eq(found, rule) => {
                if rule.is_strict() {
                    return Ok(());
                }
                nobody.clear();
                continue;
            }
            Some(other) => {
                nobody = format!(
                    "`{}` is taken by `{}` in {}",
                    atom.text(),
                    other.text,
                    other.spec.source
                );
            }
            None => nobody = format!("it does not fit `{}`", atom.text()),
        }
        if !rule.is_strict() {
            break;
        }
    }
    if nobody.is_empty() {
        Ok(())
    } else {
        Err(nobody)
    }
}

/// Whether the rule fits, first or not: for an allow every atom, otherwise some.
fn fits(layer: &Layer, at: usize, rule: &Rule, question: &Question<'_>) -> bool {
    let mut atoms = relevant(rule, question).peekable();
    if rule.is_strict() {
        atoms.any(|atom| layer.fits(at, &atom, question))
    } else {
        atoms.peek().is_some() && atoms.all(|atom| layer.fits(at, &atom, question))
    }
}

/// The atoms of the kinds that a rule matches, and `opaque`, which stands for all kinds.
fn relevant<'a>(rule: &'a Rule, question: &Question<'a>) -> impl Iterator<Item = Atom<'a>> {
    let every = !rule.spec.has_fact_keys();
    Atom::of(question).filter(move |atom| match atom {
        Atom::Opaque => true,
        Atom::Tool(_) => every,
        Atom::Read(_) => every || rule.reads.is_some(),
        Atom::Write(_) => every || rule.writes.is_some(),
        Atom::Delete(_) => every || rule.deletes.is_some(),
        Atom::Command(_) => every || rule.command.is_some(),
        Atom::Connect { .. } => every || rule.hosts.is_some(),
    })
}

impl Example {
    /// Only tool, arguments and facts decide what a rule fits.
    fn question(&self) -> Question<'_> {
        Question {
            tool: &self.tool,
            args: &self.args,
            facts: &self.facts,
            side_effects: true,
            requires_approval: false,
            risk: Risk::Medium,
            command_sandbox: true,
            network_closed: true,
            sandbox_from_facts: true,
        }
    }
}
