//! Validators that are asked one after another. They can only tighten.

use toolgate_model::{Action, AtomAnswer, Decision, ErrorKind};

use crate::answer::{Answer, hear};
use crate::atom::Atom;
use crate::decide::Policy;
use crate::defaults::Settings;
use crate::error::PolicyError;
use crate::layer::{LayerSpec, LayerTrust};
use crate::question::Question;
use crate::reason;
use crate::rule::RuleSpec;

/// A check of a call before it may run.
pub trait Validator: Send + Sync {
    /// The name that its denials are shown under.
    fn name(&self) -> &str;

    /// Its objection, if it has one. An answer that allows is no objection.
    fn validate(&self, question: &Question<'_>) -> Option<Decision>;
}

impl Validator for Policy {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn validate(&self, question: &Question<'_>) -> Option<Decision> {
        Some(self.decide(question)).filter(|decision| decision.action > Action::Allow)
    }
}

/// Rules as a validator: it objects where they ask or deny, and is silent everywhere else.
#[derive(Clone, Debug)]
pub struct RuleValidator {
    name: String,
    policy: Policy,
}

impl RuleValidator {
    /// Compiles the rules.
    ///
    /// # Errors
    /// The first rule that cannot be understood.
    pub fn new(
        name: impl Into<String>,
        rules: Vec<RuleSpec>,
        canonical: &dyn Fn(&str) -> String,
    ) -> Result<Self, PolicyError> {
        let name = name.into();
        let layer = LayerSpec::new(name.clone(), LayerTrust::Untrusted, rules);
        let policy = Policy::compile(Settings::default(), &[layer], canonical)?;
        Ok(Self { name, policy })
    }
}

impl Validator for RuleValidator {
    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self, question: &Question<'_>) -> Option<Decision> {
        Atom::of(question)
            .filter_map(|atom| {
                let rule = hear(&self.policy.layers, &atom, question).untrusted?;
                Some(Answer::objection(atom, rule))
            })
            .reduce(|first, next| {
                if next.action > first.action {
                    next
                } else {
                    first
                }
            })
            .map(|strictest| reason::decision(&self.policy, &strictest))
    }
}

/// Several validators; the strictest answer wins.
#[derive(Default)]
pub struct Chain {
    validators: Vec<Box<dyn Validator>>,
}

impl Chain {
    /// Nobody to ask.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one at the end.
    #[must_use]
    pub fn with(mut self, validator: impl Validator + 'static) -> Self {
        self.validators.push(Box::new(validator));
        self
    }

    /// The decision after everybody was asked: the same or a stricter one.
    pub fn review(&self, question: &Question<'_>, decision: Decision) -> Decision {
        let atom = Atom::Tool(question.tool);
        self.validators.iter().fold(decision, |before, validator| {
            let Some(mut objection) = validator
                .validate(question)
                .filter(|objection| objection.action > before.action)
            else {
                return before;
            };
            if objection.source.layer.is_empty() {
                validator.name().clone_into(&mut objection.source.layer);
            }
            if objection.action == Action::Deny {
                objection.kind = objection.kind.or(Some(ErrorKind::PolicyDenied));
            }
            objection.atoms = before.atoms;
            objection.atoms.push(AtomAnswer {
                atom: atom.text(),
                layer: validator.name().to_owned(),
                rule: objection.rule.clone(),
                answer: objection.action,
            });
            objection
        })
    }
}

impl Validator for Chain {
    fn name(&self) -> &'static str {
        "validators"
    }

    fn validate(&self, question: &Question<'_>) -> Option<Decision> {
        self.validators
            .iter()
            .filter_map(|validator| validator.validate(question))
            .reduce(Decision::stricter)
            .filter(|decision| decision.action > Action::Allow)
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.validators.iter().map(|validator| validator.name()))
            .finish()
    }
}
