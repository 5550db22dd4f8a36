//! What a call that looks through folders does not get to see.
//!
//! Such a call says which folder it reads, and is let through for that. What a
//! `deny` or `ask` says about files further down speaks to them when they are
//! found: they are left out, as if they were asked for by name and refused.

use toolgate_model::{Args, Facts, Risk};

use crate::answer::hear;
use crate::atom::Atom;
use crate::decide::Policy;
use crate::index::Rule;
use crate::path::Place;
use crate::question::Question;

/// The rules that hide files from one call.
#[derive(Debug)]
pub struct Hidden<'a> {
    policy: &'a Policy,
    question: Question<'a>,
    /// Strict rules that speak to the folder itself: whoever let the call through knew them.
    known: Vec<&'a Rule>,
}

impl Policy {
    /// What a call of this tool does not get to see; nothing where no rule hides anything.
    pub fn hidden<'a>(
        &'a self,
        tool: &'a str,
        args: &'a Args,
        facts: &'a Facts,
    ) -> Option<Hidden<'a>> {
        let mut strict = self
            .layers
            .iter()
            .flat_map(|layer| &layer.rules)
            .filter(|rule| hides(rule) && rule.tool.as_deref().is_none_or(|named| named == tool))
            .peekable();
        strict.peek()?;
        let question = Question {
            tool,
            args,
            facts,
            side_effects: false,
            requires_approval: false,
            risk: Risk::Low,
            command_wall: false,
            wall_from_facts: false,
        };
        let own: Vec<Place<'_>> = facts.reads.iter().map(|path| Place::of(path)).collect();
        let speaks_to_own = |rule: &&Rule| {
            let patterns = rule.reads.iter().flatten();
            let mut globs = patterns.flat_map(|pattern| pattern.globs());
            globs.any(|glob| {
                let glob = glob.compile_matcher();
                own.iter().any(|place| glob.is_match(place.tidy.as_ref()))
            })
        };
        Some(Hidden {
            policy: self,
            question,
            known: strict.filter(speaks_to_own).collect(),
        })
    }
}

fn hides(rule: &Rule) -> bool {
    rule.is_strict() && rule.reads.is_some()
}

impl Hidden<'_> {
    /// Whether a path, written from the root, is left out.
    pub fn hides(&self, path: &str) -> bool {
        let atom = Atom::Read(Place::of(path));
        let heard = hear(&self.policy.layers, &atom, &self.question);
        [heard.trusted, heard.untrusted]
            .into_iter()
            .flatten()
            .any(|rule| hides(rule) && !self.known.iter().any(|known| std::ptr::eq(*known, rule)))
    }
}
