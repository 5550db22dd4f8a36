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
//!
//! # Words
//!
//! A line is taken apart into *atoms*: each command with its words, each path that is read,
//! written or deleted, each host. Every atom is decided by itself, and the strictest answer is the
//! line's; a reason names the atom it is about. What is only known when it runs (`sh -c "$x"`,
//! a script, a build) is *opaque*: rules about paths and hosts do not speak to it. The *floor*
//! holds without any rule: catastrophic commands are denied. *Risk* is what could go wrong, also
//! of a call that is allowed.
//!
//! A pattern has one string per word: `["git", "push"]`. A rule that denies or asks and can never
//! apply is refused by [`Workspace::open`](crate::Workspace::open); a policy of its own is
//! compiled without knowing the tools.

pub use toolgate_model::{Action, AtomAnswer, Decision, RuleSource};
pub use toolgate_policy::{
    CommandQuestion, Condition, Finding, FindingKind, LayerSpec, LayerTrust, Listed,
    Mode as DefaultMode, Operator, Permission, Policy, PolicyError, Question, RuleError,
    RuleExamples, RuleSpec, RuleValidator, Rules, Scope, Settings as PolicySettings, ShortForms,
    Stage, Trust, Validator, Values, Verdict, WordPattern,
};
