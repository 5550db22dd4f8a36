//! The atoms of a call: what rules speak to.

use toolgate_model::{Args, Facts, Risk, Run};

use crate::host::Host;
use crate::path::Place;
use crate::question::Question;
use crate::text;

/// One thing about a call that rules speak to.
#[derive(Clone, Debug)]
pub(crate) enum Atom<'a> {
    /// The tool itself.
    Tool(&'a str),
    /// A path that is read.
    Read(Place<'a>),
    /// A path that is created or changed.
    Write(Place<'a>),
    /// A path that is removed.
    Delete(Place<'a>),
    /// A program that is run.
    Command(&'a Run),
    /// A host that is contacted.
    Connect { told: &'a str, host: Host },
    /// Something is only known when it runs.
    Opaque,
}

impl<'a> Atom<'a> {
    /// All atoms of a call.
    pub(crate) fn of(question: &Question<'a>) -> impl Iterator<Item = Self> + use<'a> {
        std::iter::once(Self::Tool(question.tool)).chain(Self::facts_of(question))
    }

    /// All atoms of a call but the tool itself; `opaque` is the last.
    pub(crate) fn facts_of(question: &Question<'a>) -> impl Iterator<Item = Self> + use<'a> {
        let facts = question.facts;
        let opaque = question.is_opaque();
        facts
            .reads
            .iter()
            .map(|path| Self::Read(Place::of(path)))
            .chain(facts.writes.iter().map(|path| Self::Write(Place::of(path))))
            .chain(
                facts
                    .deletes
                    .iter()
                    .map(|path| Self::Delete(Place::of(path))),
            )
            .chain(facts.runs.iter().map(Self::Command))
            .chain(facts.connects.iter().map(|told| Self::Connect {
                told,
                host: Host::of(told),
            }))
            .chain(opaque.then_some(Self::Opaque))
    }

    /// Whether it is a path or a host: what a command can only claim.
    pub(crate) const fn is_claimable(&self) -> bool {
        matches!(
            self,
            Self::Read(_) | Self::Write(_) | Self::Delete(_) | Self::Connect { .. }
        )
    }

    /// The atom as `explain` prints it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Tool(name) => format!("tool {}", text::named(name)),
            Self::Read(place) => format!("read {}", text::named(place.told)),
            Self::Write(place) => format!("write {}", text::named(place.told)),
            Self::Delete(place) => format!("delete {}", text::named(place.told)),
            Self::Command(run) => format!("command {}", text::words(&run.words)),
            Self::Connect { told, .. } => format!("connect {}", text::named(told)),
            Self::Opaque => "opaque".to_owned(),
        }
    }
}

/// The atoms of a call in the words and the order of a [`Decision`](toolgate_model::Decision).
///
/// Long ones are cut, so whoever takes something out of the facts has to do it before.
pub fn atom_texts(tool: &str, facts: &Facts) -> Vec<String> {
    let question = Question {
        tool,
        args: &Args::new(),
        facts,
        side_effects: true,
        requires_approval: false,
        risk: Risk::High,
        command_sandbox: false,
        network_closed: false,
        sandbox_from_facts: false,
    };
    Atom::of(&question).map(|atom| atom.text()).collect()
}
