//! What policy is asked about a call.

use toolgate_model::{Args, Facts, Risk};

/// A call after parsing, with what the tool declares and which walls are in force.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// The arguments under their canonical names.
    pub args: &'a Args,
    /// What the call says it will touch.
    pub facts: &'a Facts,
    /// Whether the tool declares that it changes something.
    pub side_effects: bool,
    /// Whether the tool wants every call approved, or this one.
    pub requires_approval: bool,
    /// The risk that the tool declares.
    pub risk: Risk,
    /// Whether commands of this call would run behind the command wall.
    pub command_wall: bool,
    /// Whether the wall of this very run is built from its facts.
    pub wall_from_facts: bool,
}

impl Question<'_> {
    /// Whether something about the call is only known when it runs.
    ///
    /// A run that says so counts even where the list of facts claims to be complete.
    pub(crate) fn is_opaque(&self) -> bool {
        !self.facts.complete || self.facts.runs.iter().any(|run| run.opaque)
    }

    /// Whether the facts show what the tool does, so that they decide and not its name.
    ///
    /// A tool with side effects of which the facts show none is still to be decided itself.
    pub(crate) fn facts_show_the_tool(&self) -> bool {
        self.facts.has_effects() || (!self.side_effects && !self.facts.reads.is_empty())
    }
}
