//! What a call that looks through directories does not get to see.
//!
//! Such a call says which directory it reads, and is let through for that. What a
//! `deny` or `ask` says about files further down matches them when they are
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
    /// Strict rules that speak to the directory itself: whoever let the call through knew them.
    known: Vec<&'a Rule>,
    /// Directories of the call and where links lead them.
    leads: Vec<(&'a str, &'a str)>,
}

impl Policy {
    /// What a call of this tool does not get to see; nothing where no rule hides anything.
    pub fn hidden<'a>(
        &'a self,
        tool: &'a str,
        args: &'a Args,
        facts: &'a Facts,
    ) -> Option<Hidden<'a>> {
        self.hiding(tool).next()?;
        let question = Question {
            tool,
            args,
            facts,
            side_effects: false,
            requires_approval: false,
            risk: Risk::Low,
            command_sandbox: false,
            network_closed: false,
            sandbox_from_facts: false,
        };
        let own = facts.reads.iter().map(String::as_str);
        Some(Hidden {
            policy: self,
            question,
            known: self.speak_to(tool, own),
            leads: Vec::new(),
        })
    }

    /// The rules that can hide something from this tool.
    fn hiding(&self, tool: &str) -> impl Iterator<Item = &Rule> {
        self.layers
            .iter()
            .flat_map(|layer| &layer.rules)
            .filter(move |rule| {
                hides(rule) && rule.tool.as_deref().is_none_or(|named| named == tool)
            })
    }

    /// The hiding rules that speak to one of these directories themselves.
    fn speak_to<'a>(&self, tool: &str, own: impl Iterator<Item = &'a str>) -> Vec<&Rule> {
        let own: Vec<Place<'_>> = own.map(Place::of).collect();
        let speaks_to_own = |rule: &&Rule| {
            let patterns = rule.reads.iter().flatten();
            let mut globs = patterns.flat_map(|pattern| pattern.globs());
            globs.any(|glob| {
                let glob = glob.compile_matcher();
                own.iter().any(|place| glob.is_match(place.tidy.as_ref()))
            })
        };
        self.hiding(tool).filter(speaks_to_own).collect()
    }
}

fn hides(rule: &Rule) -> bool {
    rule.is_strict() && rule.reads.is_some()
}

impl<'a> Hidden<'a> {
    /// The same for a call that a link leads from one directory to another: rules about the
    /// real names hide files too.
    #[must_use]
    pub fn led(mut self, path: &'a str, to: &'a str) -> Self {
        let known = self
            .policy
            .speak_to(self.question.tool, std::iter::once(to));
        self.known.extend(known);
        self.leads.push((path, to));
        self
    }

    /// Whether a path, written from the root, is left out.
    pub fn hides(&self, path: &str) -> bool {
        let real = |(from, to): &(&str, &str)| {
            let beneath = path.strip_prefix(from)?;
            let inner = beneath.strip_prefix('/');
            match (inner, *to) {
                (None, _) if !beneath.is_empty() => None,
                (None, to) => Some(to.to_owned()),
                (Some(inner), ".") => Some(inner.to_owned()),
                (Some(inner), to) => Some(format!("{to}/{inner}")),
            }
        };
        let mut real = self.leads.iter().filter_map(real);
        self.hides_name(path) || real.any(|name| self.hides_name(&name))
    }

    fn hides_name(&self, path: &str) -> bool {
        let atom = Atom::Read(Place::of(path));
        let heard = hear(&self.policy.layers, &atom, &self.question);
        [heard.trusted, heard.untrusted]
            .into_iter()
            .flatten()
            .any(|rule| hides(rule) && !self.known.iter().any(|known| std::ptr::eq(*known, rule)))
    }
}
