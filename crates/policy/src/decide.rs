//! From a question to a verdict.
//!
//! ```text
//! disabled ─▶ floor ─▶ every atom: layers, else default ─▶ strictest ─▶ requires_approval
//! ```
//!
//! Sandboxes do their preflight between the denies and the rest; [`Stage`] tells
//! the caller which of the two a denial belongs to.

use std::collections::HashSet;

use toolgate_model::{Access, Action, AtomAnswer, Decision, Risk, RuleSource};

use crate::answer::{Answer, Answers, Cause, hear, risk_of};
use crate::atom::Atom;
use crate::defaults::{Row, Settings, Trust};
use crate::error::PolicyError;
use crate::index::Rule;
use crate::instructions;
use crate::layer::{Layer, LayerSpec, LayerTrust, Listed};
use crate::question::Question;
use crate::reason;

/// Settings and layers, compiled once.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) settings: Settings,
    pub(crate) layers: Vec<Layer>,
    allowlist: HashSet<String>,
    pub(crate) allowlist_source: RuleSource,
    /// Lists of layers that may not widen, kept to be reported.
    pub(crate) ignored_lists: Vec<Listed>,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Tools are switched off.
    Disabled,
    /// A catastrophic command.
    Floor,
    /// A rule or a list.
    Rule,
    /// No rule spoke.
    Default,
    /// The tool wants every call approved, or this one, or it changes instructions.
    Approval,
}

/// A decision with what the caller needs around it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The answer, its rule and its atoms.
    pub decision: Decision,
    /// The risk to show.
    pub risk: Risk,
    /// What decided.
    pub stage: Stage,
}

/// A path that a trusted rule names literally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedPath<'p> {
    /// The tool it is named for; nothing for every tool.
    pub tool: Option<&'p str>,
    /// How it may be touched.
    pub access: Access,
    /// The path.
    pub path: &'p str,
}

impl Policy {
    /// Compiles settings and layers, earliest layer first.
    ///
    /// `canonical` turns an alias into the name of its tool.
    ///
    /// # Errors
    /// The first rule that cannot be understood, with its place.
    pub fn compile(
        settings: Settings,
        layers: &[LayerSpec],
        canonical: &dyn Fn(&str) -> String,
    ) -> Result<Self, PolicyError> {
        let mut policy = Self {
            settings,
            layers: Vec::new(),
            allowlist: HashSet::new(),
            allowlist_source: RuleSource::default(),
            ignored_lists: Vec::new(),
        };
        for spec in layers {
            policy.layers.extend(Layer::compile(spec, canonical)?);
            let Some(list) = &spec.allowlist else {
                continue;
            };
            let mut list = list.clone();
            if list.source.layer.is_empty() {
                list.source.layer.clone_from(&spec.name);
            }
            match spec.trust {
                LayerTrust::Trusted => {
                    policy.allowlist = list.entries.iter().map(|name| canonical(name)).collect();
                    policy.allowlist_source = list.source;
                }
                LayerTrust::Untrusted => policy.ignored_lists.push(list),
            }
        }
        Ok(policy)
    }

    /// The settings it was compiled with.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Decides about a call.
    pub fn decide<'q>(&self, question: impl Into<Question<'q>>) -> Decision {
        self.judge(question).decision
    }

    /// How much harm a call can do, by its rules, its facts and what its tool declares.
    pub fn risk(&self, question: &Question<'_>) -> Risk {
        risk_of(&self.answers(question), question)
    }

    /// Decides about a call, and says how risky it is and what decided.
    pub fn judge<'q>(&self, question: impl Into<Question<'q>>) -> Verdict {
        self.judge_call(&question.into())
    }

    fn judge_call(&self, question: &Question<'_>) -> Verdict {
        if !self.settings.enabled {
            return Verdict {
                decision: reason::disabled(),
                risk: question.risk,
                stage: Stage::Disabled,
            };
        }
        let answers = self.answers(question);
        let (mut decision, stage) = if question.facts.catastrophic.is_empty() {
            self.strictest(&answers, question)
        } else {
            (
                reason::catastrophic(&question.facts.catastrophic),
                Stage::Floor,
            )
        };
        decision.atoms = answers
            .iter()
            .map(|answer| self.explained(answer))
            .collect();
        Verdict {
            decision,
            risk: risk_of(&answers, question),
            stage,
        }
    }

    /// Paths that trusted rules name literally and do not deny: the caller takes them out of its protected ones.
    ///
    /// A rule with conditions does not count: it names the path for some calls only.
    pub fn named_paths(&self) -> impl Iterator<Item = NamedPath<'_>> {
        self.trusted_rules()
            .filter(|rule| rule.spec.action != Action::Deny && rule.tests.is_empty())
            .flat_map(|rule| {
                [
                    (Access::Read, &rule.reads),
                    (Access::Write, &rule.writes),
                    (Access::Delete, &rule.deletes),
                ]
                .into_iter()
                .flat_map(move |(access, patterns)| {
                    patterns
                        .iter()
                        .flatten()
                        .filter_map(|pattern| pattern.literal.as_deref())
                        .map(move |path| NamedPath {
                            tool: rule.tool.as_deref(),
                            access,
                            path,
                        })
                })
            })
    }

    /// Whether a trusted rule names this very path for this tool and this touch.
    pub fn names_path(&self, tool: &str, access: Access, path: &str) -> bool {
        self.named_paths().any(|named| {
            named.path == path
                && named.access == access
                && named.tool.is_none_or(|named| named == tool)
        })
    }

    fn trusted_rules(&self) -> impl Iterator<Item = &Rule> {
        self.layers
            .iter()
            .filter(|layer| layer.trust == LayerTrust::Trusted)
            .flat_map(|layer| &layer.rules)
    }

    fn answers<'p, 'a>(&'p self, question: &Question<'a>) -> Answers<'p, 'a> {
        let tool = Atom::Tool(question.tool);
        Answers {
            tool: if question.facts_show_the_tool() {
                Answer::represented(tool)
            } else {
                self.answer(tool, question)
            },
            others: Atom::facts_of(question)
                .map(|atom| self.answer(atom, question))
                .collect(),
        }
    }

    /// What the layers say to an atom, and where they are silent, the defaults.
    pub(crate) fn answer<'p, 'a>(
        &'p self,
        atom: Atom<'a>,
        question: &Question<'a>,
    ) -> Answer<'p, 'a> {
        let heard = hear(&self.layers, &atom, question);
        let (action, cause) = match heard.trusted {
            // Facts about a command are what it claims; only a sandbox made from them makes them true.
            Some(rule)
                if rule.spec.action == Action::Allow
                    && rule.spec.has_claimable_keys()
                    && atom.is_claimable()
                    && question.facts.claimed
                    && !question.sandbox_from_facts =>
            {
                (Action::Ask, Cause::Claimed(rule))
            }
            Some(rule) => (rule.spec.action, Cause::Rule(rule)),
            None => self.default(&atom, question),
        };
        let (action, cause) = instructions::guard(&atom, heard.trusted, (action, cause));
        let consented =
            action == Action::Allow && heard.trusted.is_some_and(|rule| rule.tool.is_some());
        let risk = heard.trusted.and_then(|rule| rule.spec.risk);
        let raised = heard
            .untrusted
            .and_then(|rule| rule.spec.risk)
            .unwrap_or(Risk::Low);
        // Of equally strict answers the rule is the one to name, not the default.
        let silent = heard.trusted.is_none();
        let (action, cause) = match heard.untrusted {
            Some(rule) if rule.spec.action > action || (silent && rule.spec.action == action) => {
                (rule.spec.action, Cause::Rule(rule))
            }
            _ => (action, cause),
        };
        Answer {
            atom,
            action,
            cause,
            consented,
            risk,
            raised,
        }
    }

    fn default(&self, atom: &Atom<'_>, question: &Question<'_>) -> (Action, Cause<'static>) {
        let row = match atom {
            Atom::Tool(_) => self.row_of_tool(question),
            Atom::Command(_) if !question.command_sandbox => {
                return (Action::Deny, Cause::NoSandbox);
            }
            // A line that could not be read has no commands to show and is still one.
            Atom::Opaque if question.facts.claimed && !question.command_sandbox => {
                return (Action::Deny, Cause::NoSandbox);
            }
            Atom::Command(run) if run.opaque => Row::Opaque,
            Atom::Opaque => Row::Opaque,
            _ if self.allowlist.contains(question.tool) => Row::Allowlisted,
            Atom::Read(place) if place.is_inside() => Row::ReadOnly,
            Atom::Command(run) if question.only_reads(run) => Row::ReadOnlyCommand,
            Atom::Read(_) | Atom::Write(_) | Atom::Delete(_) | Atom::Command(_) => Row::SideEffects,
            Atom::Connect { .. } => self.row_of_tool(question),
        };
        let action = self.settings.answer(row, question.confined());
        (action, Cause::Row(row))
    }

    fn row_of_tool(&self, question: &Question<'_>) -> Row {
        if self.allowlist.contains(question.tool) {
            Row::Allowlisted
        } else if question.side_effects {
            Row::SideEffects
        } else {
            Row::ReadOnly
        }
    }

    /// The decision of the strictest atom, and what the tool itself wants.
    fn strictest(&self, answers: &Answers<'_, '_>, question: &Question<'_>) -> (Decision, Stage) {
        let strictest = answers.others.iter().fold(&answers.tool, |best, next| {
            if next.weight() > best.weight() {
                next
            } else {
                best
            }
        });
        if strictest.action == Action::Allow
            && question.requires_approval
            && !self.approved_before(answers, question)
        {
            return (reason::approval(question.tool), Stage::Approval);
        }
        let stage = match strictest.cause {
            Cause::Rule(_) | Cause::Claimed(_) => Stage::Rule,
            Cause::Instructions => Stage::Approval,
            Cause::Represented | Cause::NoSandbox | Cause::Row(_) => Stage::Default,
        };
        (reason::decision(self, strictest), stage)
    }

    /// Whether a call that would be approved one by one need not be.
    fn approved_before(&self, answers: &Answers<'_, '_>, question: &Question<'_>) -> bool {
        if self.settings.trust_in_force() == Some(Trust::Autonomous) && question.command_sandbox {
            return true;
        }
        let (reads, mut effects): (Vec<_>, Vec<_>) = answers
            .iter()
            .filter(|answer| !matches!(answer.cause, Cause::Represented))
            .partition(|answer| matches!(answer.atom, Atom::Read(_)));
        if !effects.is_empty() && question.reads_inside() {
            // What only reads needs nobody's yes.
            effects.retain(|answer| !matches!(answer.cause, Cause::Row(Row::ReadOnlyCommand)));
            if effects.is_empty() {
                return true;
            }
        }
        let asked_for = if effects.is_empty() { reads } else { effects };
        asked_for.iter().all(|answer| answer.consented)
    }

    fn explained(&self, answer: &Answer<'_, '_>) -> AtomAnswer {
        let (rule, source) = reason::rule_of(self, answer.cause);
        AtomAnswer {
            atom: answer.atom.text(),
            layer: source.layer,
            rule,
            answer: answer.action,
        }
    }
}
