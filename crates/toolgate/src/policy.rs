//! Policy: rules, layers, decisions. Pure; needs no runtime.
//!
//! ```
//! use toolgate::policy::{Action, Question, Rules};
//!
//! let rules = Rules::from_toml(
//!     r#"
//!     [[tools.rules]]
//!     tool = "run_command"
//!     action = "allow"
//!     command = ["cargo", ["check", "test"]]
//!     "#,
//! )?;
//! let policy = rules.compile()?;
//! for (line, action) in [
//!     ("cargo test --all", Action::Allow),
//!     ("cargo publish", Action::Ask),
//!     ("cargo test; rm -rf ~", Action::Deny),
//! ] {
//!     assert_eq!(policy.decide(&Question::command(line)).action, action, "{line}");
//! }
//! # Ok::<(), toolgate::policy::PolicyError>(())
//! ```

pub use toolgate_model::{Action, AtomAnswer, Decision, RuleSource};
pub use toolgate_policy::{
    CommandQuestion, Condition, LayerSpec, LayerTrust, Listed, Mode as DefaultMode, Operator,
    Permission, Policy, PolicyError, Question, RuleError, RuleExamples, RuleSpec, RuleValidator,
    Rules, Scope, Settings as PolicySettings, ShortForms, Stage, Trust, Validator, Values, Verdict,
    WordPattern,
};
