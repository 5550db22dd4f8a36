//! Rules, layers, decisions, explanations and checks. Pure: no I/O, no async.
//!
//! ```text
//! Settings ─┐
//! LayerSpec ┼─▶ Policy::compile ──▶ Policy ──▶ judge(Question) ──▶ Verdict { decision, risk, stage }
//! aliases  ─┘        │                │
//!                    ▼                └──────▶ check(examples) ──▶ findings with file and line
//!               PolicyError
//! ```
//!
//! What comes in: a call as a [`Question`] (tool, arguments, facts, and which
//! sandboxes are in force). What goes out: a [`Verdict`] whose decision names the
//! rule, its file and line, and every atom with its answer. What can go wrong:
//! a rule that cannot be understood, which is a [`PolicyError`] when the policy
//! is compiled and never a surprise when it decides.
//!
//! # How the rules are read
//!
//! **A doubt is read to the strict side.** Three places follow from it:
//!
//! - *Paths.* An `allow` means the very paths it writes down, from the root; a
//!   `deny` or `ask` of a path also means what lies beneath it, one of a bare
//!   name (`*.pem`, no slash) means that name in every directory, and one of a
//!   deletion also means deleting a directory around it. A relative `allow` never
//!   fits a path outside every root. A trailing `/` or `/**` is the directory and
//!   all that is in it.
//!   Of a call that looks through directories (`grep`, `glob`, a listing) an `allow`
//!   or a yes means the directory; what a `deny` or `ask` of `reads` fits further
//!   down is left out of what it finds ([`Policy::hidden`]).
//! - *Conditions.* Where a parameter is a list or an object, an `allow` needs
//!   every value in it to fit, a `deny` or `ask` needs one.
//! - *Opaque commands.* A run whose words are not all known is never fitted by
//!   the `command` of an `allow`, unless the rule says `opaque = true`; by the
//!   `command` of a `deny` or `ask` it is, as far as its words are known.
//!
//! **`opaque = true`** on an `allow` means *even if not everything is known*;
//! on a `deny` or `ask` it means *only if not everything is known*. An `allow`
//! with `command` and `opaque = true` answers for the call's `opaque` only if
//! every command of the line fits it. `opaque` does not go with path or host
//! keys: what is not known has none.
//!
//! **The tool's own atom** is decided where nothing else shows what the tool
//! does. Where the facts show it (its effects; for a read-only tool, what it
//! reads), they decide, and rules without fact keys speak to each of them. So
//! "allow these paths, deny the tool" means what it says: the paths are allowed,
//! everything else is denied.
//!
//! **Defaults** go by atom: reads take the row of read-only tools, writes,
//! deletions and commands that of side effects, hosts and the tool itself the
//! one that the tool declares, and an opaque run the row of opaque commands,
//! even if its tool is allowlisted. A read outside every root counts as a side
//! effect, and so does one through `..`. `default_action` replaces every row but the allowlist's.
//!
//! **Commands without a sandbox** are refused with `sandbox_unavailable` unless a
//! trusted rule matches them; no list, trust level, mode or `default_action`
//! lifts that. File tools always stand behind the path sandbox, so "only behind
//! sandboxes" asks something of commands and of what is opaque only.
//!
//! **Instructions to agents** (`AGENTS.md`, `CLAUDE.md` and the like) are written and
//! deleted with approval only, whatever a rule, a list, a trust level or a mode allows,
//! unless the deciding rule is trusted and names that very path.
//!
//! **`requires_approval`** is lifted by rules that name the tool only if they
//! allow every effect of the call (every read, if it only reads): a rule about
//! one command does not consent to the next one on the line.
//!
//! # Example
//!
//! ```
//! use toolgate_model::{Action, Args, Facts, Risk};
//! use toolgate_policy::{LayerSpec, LayerTrust, Policy, Question, RuleSpec, Settings};
//!
//! let mut rule = RuleSpec::new("write_file", Action::Deny);
//! rule.writes = Some(vec!["migrations/".to_owned()]);
//! let user = LayerSpec::new("user", LayerTrust::Trusted, vec![rule]);
//! let policy = Policy::compile(Settings::default(), &[user], &str::to_owned)?;
//!
//! let facts = Facts::writing("migrations/001.sql");
//! let decision = policy.decide(Question {
//!     tool: "write_file",
//!     args: &Args::new(),
//!     facts: &facts,
//!     side_effects: true,
//!     requires_approval: false,
//!     risk: Risk::Medium,
//!     command_sandbox: true,
//!     network_closed: true,
//!     sandbox_from_facts: false,
//! });
//! assert_eq!(decision.action, Action::Deny);
//! assert_eq!(decision.rule, r#"deny write_file writes=["migrations/"]"#);
//! # Ok::<(), toolgate_policy::PolicyError>(())
//! ```

mod answer;
mod atom;
mod check;
mod command;
mod condition;
mod decide;
mod defaults;
mod error;
mod grant;
mod guarded;
mod hidden;
mod host;
mod index;
mod instructions;
mod layer;
mod misfit;
mod path;
mod question;
mod reason;
mod rule;
mod rules;
mod rules_text;
mod scope;
mod short;
mod subsume;
mod text;
mod validate;

pub use atom::atom_texts;
pub use check::{Example, Examples, Finding, FindingKind, check, faults, in_vain};
pub use decide::{NamedPath, Policy, Stage, Verdict};
pub use defaults::{Mode, Settings, Trust};
pub use error::{PolicyError, RuleError};
pub use grant::{Grant, GrantScope};
pub use hidden::Hidden;
pub use index::names_a_tool;
pub use layer::{LayerSpec, LayerTrust, Listed};
pub use misfit::{KnownTool, misfits};
pub use question::{CommandQuestion, Question};
pub use rule::{Condition, Operator, RuleExamples, RuleSpec, Values, WordPattern};
pub use rules::Rules;
pub use scope::{Permission, Scope};
pub use short::{ShortForms, short_forms};
pub use validate::{Chain, RuleValidator, Validator};
