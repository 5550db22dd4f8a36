//! Layers: where rules come from and how far they are trusted.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use toolgate_model::{Action, RuleSource};

use crate::atom::Atom;
use crate::error::{PolicyError, RuleError};
use crate::index::{Rule, Shelf};
use crate::question::Question;
use crate::rule::RuleSpec;
use crate::short::ShortForms;
use crate::text;

/// Whether a layer may widen what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerTrust {
    /// The user's own: built in, user, `--config`, grants, a trusted project.
    Trusted,
    /// Somebody else's: it can only make an answer stricter.
    Untrusted,
}

/// A list of names with the place where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// What is listed.
    pub entries: Vec<String>,
    /// Where the list stands.
    pub source: RuleSource,
}

/// One layer as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSpec {
    /// `built-in`, `user`, `project`, `config`, `grants`, or a scope's name.
    pub name: String,
    /// Whether it may widen.
    pub trust: LayerTrust,
    /// Its rules, in order.
    pub rules: Vec<RuleSpec>,
    /// Its short forms for rules.
    pub short: ShortForms,
    /// Tools that run without a question by default; the latest trusted list counts.
    pub allowlist: Option<Listed>,
    /// Tools that are denied whatever the rules of the layer say.
    pub denylist: Listed,
}

impl LayerSpec {
    /// A layer with these rules and nothing else.
    pub fn new(name: impl Into<String>, trust: LayerTrust, rules: Vec<RuleSpec>) -> Self {
        Self {
            name: name.into(),
            trust,
            rules,
            short: ShortForms::default(),
            allowlist: None,
            denylist: Listed::default(),
        }
    }

    /// The layer in the parts that are evaluated apart.
    ///
    /// What lists block stands alone, so that no rule that names a tool comes
    /// before it. The fence of `allowed_paths` stands alone and untrusted: it
    /// keeps calls in, and consents to none.
    pub(crate) fn parts(&self) -> [(LayerTrust, Vec<RuleSpec>); 3] {
        let mut blocks: Vec<RuleSpec> = self
            .denylist
            .entries
            .iter()
            .map(|name| {
                let mut rule = RuleSpec::new(name.clone(), Action::Deny);
                rule.origin = Some(format!("denylist {}", text::quoted(name)));
                rule.source = self.denylist.source.clone();
                rule
            })
            .collect();
        blocks.extend(self.short.blocks());
        let mut rules = self.rules.clone();
        rules.extend(self.short.allows());
        let mut parts = [
            (self.trust, blocks),
            (LayerTrust::Untrusted, self.short.fence()),
            (self.trust, rules),
        ];
        for rule in parts.iter_mut().flat_map(|(_, rules)| rules) {
            if rule.source.layer.is_empty() {
                rule.source.layer.clone_from(&self.name);
            }
        }
        parts
    }
}

/// A layer, or a part of one, ready to answer.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) trust: LayerTrust,
    /// Whether it is the fence of `allowed_paths`, whose allows are meant to be silent.
    pub(crate) fence: bool,
    pub(crate) rules: Vec<Rule>,
    by_tool: HashMap<String, Shelf>,
    every_tool: Shelf,
}

impl Layer {
    /// The parts of a layer that have rules.
    pub(crate) fn compile(
        spec: &LayerSpec,
        canonical: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Self>, PolicyError> {
        let [blocks, fence, rules] = spec.parts();
        [(blocks, false), (fence, true), (rules, false)]
            .into_iter()
            .filter(|((_, rules), _)| !rules.is_empty())
            .map(|((trust, rules), fence)| {
                let part = Self::part(&spec.name, trust, &rules, canonical)?;
                Ok(Self { fence, ..part })
            })
            .collect()
    }

    fn part(
        name: &str,
        trust: LayerTrust,
        rules: &[RuleSpec],
        canonical: &dyn Fn(&str) -> String,
    ) -> Result<Self, PolicyError> {
        let rules = rules
            .iter()
            .map(|rule| Rule::compile(rule, canonical).map_err(|fault| wrong(rule, fault)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut every = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            match &rule.tool {
                Some(tool) => positions.entry(tool).or_default().push(at),
                None => every.push(at),
            }
        }
        let shelf = |positions: &[usize]| {
            Shelf::build(&rules, positions).map_err(|error| PolicyError::Layer {
                layer: name.to_owned(),
                message: error.to_string(),
            })
        };
        let by_tool = positions
            .iter()
            .map(|(tool, positions)| Ok(((*tool).to_owned(), shelf(positions)?)))
            .collect::<Result<_, PolicyError>>()?;
        let every_tool = shelf(&every)?;
        Ok(Self {
            trust,
            fence: false,
            by_tool,
            every_tool,
            rules,
        })
    }

    /// The first rule that fits the atom, those that name the tool before `*`.
    pub(crate) fn speaks(&self, atom: &Atom<'_>, question: &Question<'_>) -> Option<&Rule> {
        self.by_tool
            .get(question.tool)
            .and_then(|shelf| shelf.first(&self.rules, atom, question))
            .or_else(|| self.every_tool.first(&self.rules, atom, question))
    }

    /// Whether the rule at this position fits the atom, first or not.
    pub(crate) fn fits(&self, position: usize, atom: &Atom<'_>, question: &Question<'_>) -> bool {
        self.by_tool
            .get(question.tool)
            .into_iter()
            .chain([&self.every_tool])
            .any(|shelf| shelf.fits(&self.rules, position, atom, question))
    }
}

pub(crate) fn wrong(rule: &RuleSpec, fault: RuleError) -> PolicyError {
    PolicyError::Rule {
        rule: text::rule(rule),
        place: Box::new(rule.source.clone()),
        fault,
    }
}
