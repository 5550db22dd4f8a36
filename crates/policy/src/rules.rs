//! Settings, layers and validators as one value.

use std::fmt;
use std::sync::Arc;

use toolgate_model::Action;

use crate::decide::Policy;
use crate::defaults::Settings;
use crate::error::PolicyError;
use crate::layer::{LayerSpec, LayerTrust};
use crate::rule::RuleSpec;
use crate::validate::Validator;

/// The rules that a policy is compiled from, before grants and scopes.
///
/// ```
/// use toolgate_model::Action;
/// use toolgate_policy::{Question, Rules};
///
/// let rules = Rules::from_toml(
///     r#"
///     [[tools.rules]]
///     tool = "run_command"
///     action = "deny"
///     command = ["git", "push"]
///     message = "Open a pull request instead."
///     "#,
/// )?;
/// let decision = rules.compile()?.decide(&Question::command("cd src && git push --force"));
/// assert_eq!(decision.action, Action::Deny);
/// assert!(decision.reason.contains("Open a pull request instead."));
/// # Ok::<(), toolgate_policy::PolicyError>(())
/// ```
#[derive(Clone, Default)]
pub struct Rules {
    /// Defaults and switches.
    pub settings: Settings,
    /// Layers, the first is the lowest.
    pub layers: Vec<LayerSpec>,
    /// Further policies; they can only tighten.
    pub validators: Vec<Arc<dyn Validator>>,
}

impl Rules {
    /// No policy: nothing is denied and nothing needs approval because of a rule or a default.
    ///
    /// These hold without any policy: the floor of catastrophic commands, the sandboxes with
    /// their protected paths, no command and nothing unknown without the command sandbox,
    /// approval of changed instructions to agents, and a tool's `requires_approval`.
    pub fn nothing_to_check() -> Self {
        Self {
            settings: Settings {
                default_action: Some(Action::Allow),
                ..Settings::default()
            },
            ..Self::default()
        }
    }

    /// The user's own rules over the defaults.
    pub fn user(rules: Vec<RuleSpec>) -> Self {
        Self {
            layers: vec![LayerSpec::new("user", LayerTrust::Trusted, rules)],
            ..Self::default()
        }
    }

    /// Compiles the rules for tools without aliases. Validators take no part in it: they are
    /// asked beside the policy.
    ///
    /// # Errors
    /// The first rule that cannot be understood, with its place.
    pub fn compile(&self) -> Result<Policy, PolicyError> {
        Policy::compile(self.settings.clone(), &self.layers, &str::to_owned)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let validators: Vec<&str> = self.validators.iter().map(|all| all.name()).collect();
        f.debug_struct("Rules")
            .field("settings", &self.settings)
            .field("layers", &self.layers)
            .field("validators", &validators)
            .finish()
    }
}
