//! What is said to one atom, by whom, and how risky that makes the call.

use toolgate_model::{Action, ErrorKind, Risk};

use crate::atom::Atom;
use crate::defaults::Row;
use crate::index::Rule;
use crate::layer::{Layer, LayerTrust};
use crate::question::Question;

/// Why an atom has its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause<'p> {
    /// A rule matches.
    Rule(&'p Rule),
    /// A rule allows what a command only claims.
    Claimed(&'p Rule),
    /// The facts show what the tool does.
    Represented,
    /// Commands without a sandbox are refused.
    NoSandbox,
    /// The file instructs agents.
    Instructions,
    /// The table of defaults.
    Row(Row),
}

/// The answer for one atom.
pub(crate) struct Answer<'p, 'a> {
    pub(crate) atom: Atom<'a>,
    pub(crate) action: Action,
    pub(crate) cause: Cause<'p>,
    /// Whether a trusted rule that names the tool allows it.
    pub(crate) consented: bool,
    /// The risk that the trusted rule gives to it.
    pub(crate) risk: Option<Risk>,
    /// The risk that an untrusted rule raises it to.
    pub(crate) raised: Risk,
}

/// The answers for a call: its tool, and everything else.
pub(crate) struct Answers<'p, 'a> {
    pub(crate) tool: Answer<'p, 'a>,
    pub(crate) others: Vec<Answer<'p, 'a>>,
}

impl<'p, 'a> Answers<'p, 'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Answer<'p, 'a>> {
        std::iter::once(&self.tool).chain(&self.others)
    }
}

impl<'p, 'a> Answer<'p, 'a> {
    /// The answer of a rule that only tightens.
    pub(crate) const fn objection(atom: Atom<'a>, rule: &'p Rule) -> Self {
        Self {
            atom,
            action: rule.spec.action,
            cause: Cause::Rule(rule),
            consented: false,
            risk: None,
            raised: Risk::Low,
        }
    }

    /// No answer of its own: the facts have theirs.
    pub(crate) const fn represented(atom: Atom<'a>) -> Self {
        Self {
            atom,
            action: Action::Allow,
            cause: Cause::Represented,
            consented: false,
            risk: None,
            raised: Risk::Low,
        }
    }

    /// Strictness first; of two denials a rule's is the one to tell about.
    pub(crate) const fn weight(&self) -> (Action, u8) {
        let told = match self.cause {
            Cause::Rule(_) | Cause::Claimed(_) | Cause::Instructions => 2,
            Cause::NoSandbox | Cause::Row(_) => 1,
            Cause::Represented => 0,
        };
        (self.action, told)
    }
}

/// What the layers say to one atom.
#[derive(Clone, Copy)]
pub(crate) struct Heard<'p> {
    /// The deny of any trusted layer, else the latest that speaks.
    pub(crate) trusted: Option<&'p Rule>,
    /// The strictest of the others; an allow of theirs is silence.
    pub(crate) untrusted: Option<&'p Rule>,
}

pub(crate) fn hear<'p>(layers: &'p [Layer], atom: &Atom<'_>, question: &Question<'_>) -> Heard<'p> {
    let mut heard = Heard {
        trusted: None,
        untrusted: None,
    };
    for layer in layers {
        let Some(rule) = layer.speaks(atom, question) else {
            continue;
        };
        match layer.trust {
            LayerTrust::Trusted => {
                if heard
                    .trusted
                    .is_none_or(|before| before.spec.action != Action::Deny)
                {
                    heard.trusted = Some(rule);
                }
            }
            LayerTrust::Untrusted => {
                let before = heard
                    .untrusted
                    .map_or(Action::Allow, |rule| rule.spec.action);
                if rule.spec.action > before {
                    heard.untrusted = Some(rule);
                }
            }
        }
    }
    heard
}

/// The highest risk of the atoms: what rules say about them, else what they are.
pub(crate) fn risk_of(answers: &Answers<'_, '_>, question: &Question<'_>) -> Risk {
    let least = if !question.facts.catastrophic.is_empty() {
        Risk::High
    } else if question.facts.claimed || answers.iter().any(|answer| answer.risk.is_some()) {
        Risk::Low
    } else {
        question.risk
    };
    answers
        .iter()
        .map(|answer| {
            let own = match (&answer.atom, answer.cause) {
                (Atom::Tool(_), Cause::Represented) | (Atom::Read(_), _) => Risk::Low,
                (Atom::Command(run), _) if question.only_reads(run) && question.reads_inside() => {
                    Risk::Low
                }
                (Atom::Opaque, _) if question.facts.claimed => Risk::High,
                (Atom::Tool(_), _) => question.risk,
                (Atom::Write(_) | Atom::Connect { .. } | Atom::Opaque, _) => Risk::Medium,
                (Atom::Delete(_) | Atom::Command(_), _) => Risk::High,
            };
            answer.risk.unwrap_or(own).max(answer.raised)
        })
        .fold(least, Risk::max)
}

/// The kind of result that a denial makes.
pub(crate) const fn kind(action: Action, cause: Cause<'_>) -> Option<ErrorKind> {
    match (action, cause) {
        (Action::Allow | Action::Ask, _) => None,
        (Action::Deny, Cause::NoSandbox) => Some(ErrorKind::SandboxUnavailable),
        (Action::Deny, _) => Some(ErrorKind::PolicyDenied),
    }
}
