//! Remembered approvals.
//!
//! A grant is the narrowest rule that would have allowed the call: a command by
//! its leading words, a path by its name, a tool by itself where it states no
//! facts. It is shown before it is saved, tried on the call that caused it, can
//! be listed and taken back, and beats neither a deny nor the floor.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use toolgate_model::{CallKind, Category, Facts, PlanRecord, RuleSource, Run};
use toolgate_policy::{Grant as Allowance, GrantScope, LayerSpec};
use toolgate_shell::{leading_words, plain_leading_words};

use super::effects::is_reading;
use crate::output::Redactor;
use crate::registry::Registry;
use crate::sync::{Mutex, lock};

/// So many examples show what a grant allows.
const EXAMPLES: usize = 3;

/// A remembered approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Its name, to list and revoke it by.
    pub id: String,
    /// When it was given, in milliseconds since 1970.
    pub at_ms: u64,
    /// The tool's canonical name.
    pub tool: String,
    /// How much of the tool.
    pub scope: GrantScope,
}

impl Grant {
    /// The grants that "always" would save for a plan, without ids. Nothing for a call
    /// that is not fully known: it would be saved too wide.
    pub fn proposed(plan: &PlanRecord) -> Vec<Self> {
        let facts = &plan.facts;
        let mut commands: Vec<Vec<String>> = Vec::new();
        // What only reads needs no grant: `cd py && npm test` is `npm test` in `py`.
        let needs_one = |run: &&Run| !(facts.plain && is_reading(run));
        let mut runs: Vec<&Run> = facts.runs.iter().filter(needs_one).collect();
        if runs.is_empty() {
            runs = facts.runs.iter().collect();
        }
        for run in runs {
            commands.push(leading_words(&run.words));
            commands.extend(plain_leading_words(&run.words));
        }
        // A command without words would be saved as every command.
        let nameless = commands.iter().any(Vec::is_empty);
        // A link can be pointed elsewhere afterwards.
        let through_links = !plan.leads_to.is_empty();
        if !facts.complete || !facts.catastrophic.is_empty() || nameless || through_links {
            return Vec::new();
        }
        let mut scopes: Vec<GrantScope> = commands.into_iter().map(GrantScope::Command).collect();
        // What a command claims to touch is its sandbox's matter, not the grant's.
        if facts.runs.is_empty() {
            scopes.extend(facts.paths().map(|(access, path)| GrantScope::Path {
                access,
                path: path.to_owned(),
            }));
            scopes.extend(facts.connects.iter().cloned().map(GrantScope::Host));
        }
        if scopes.is_empty() {
            scopes.push(GrantScope::Tool);
        }
        scopes.dedup();
        scopes
            .into_iter()
            .map(|scope| Self {
                id: String::new(),
                at_ms: 0,
                tool: plan.tool.clone(),
                scope,
            })
            .collect()
    }

    /// Examples of calls that these grants allow, at most three. The call that caused them comes
    /// first.
    pub(crate) fn examples(grants: &[Self], facts: &Facts) -> Vec<String> {
        let mut examples = Vec::new();
        for grant in grants {
            let GrantScope::Command(words) = &grant.scope else {
                continue;
            };
            let caused = facts.runs.iter().filter(|run| run.words.starts_with(words));
            examples.extend(caused.map(|run| as_line(&run.words)).take(1));
            let line = as_line(words);
            examples.push(line.clone());
            examples.push(format!("{line} --any-option any/path"));
        }
        let mut seen = Vec::new();
        examples.retain(|line| {
            !seen.contains(line) && {
                seen.push(line.clone());
                seen.len() <= EXAMPLES
            }
        });
        examples
    }

    /// The grants that allow a kind of calls, without ids.
    pub(crate) fn of_kind(kind: CallKind, registry: &Registry) -> Vec<Self> {
        let (category, scope) = match kind {
            CallKind::Edits => (Category::File, GrantScope::Edits),
            CallKind::Commands => (Category::Exec, GrantScope::Commands),
        };
        let tools = registry.list();
        let tools = tools.iter().map(|entry| entry.spec());
        tools
            .filter(|spec| spec.side_effects && spec.category == category)
            .map(|spec| Self {
                id: String::new(),
                at_ms: 0,
                tool: spec.name.clone(),
                scope: scope.clone(),
            })
            .collect()
    }

    /// Why nothing is proposed for a plan.
    pub(crate) fn unproposed(plan: &PlanRecord) -> &'static str {
        let facts = &plan.facts;
        let unnamed = |run: &Run| !run.words.is_empty() && leading_words(&run.words).is_empty();
        if !plan.leads_to.is_empty() {
            "a link leads it elsewhere; use the real name to remember the approval"
        } else if facts.complete && facts.runs.iter().any(unnamed) {
            "its leading words would allow more than this command"
        } else {
            "not everything this call does is known before it runs"
        }
    }

    /// The same to be described to an approver: a value that is quoted is no longer recognized.
    pub(crate) fn for_approver(&self, redactor: &Redactor) -> Self {
        let clean = |text: &str| redactor.for_approver(text).into_owned();
        let scope = match &self.scope {
            whole @ (GrantScope::Tool | GrantScope::Edits | GrantScope::Commands) => whole.clone(),
            GrantScope::Command(words) => {
                GrantScope::Command(words.iter().map(|word| clean(word)).collect())
            }
            GrantScope::Path { access, path } => GrantScope::Path {
                access: *access,
                path: clean(path),
            },
            GrantScope::Host(host) => GrantScope::Host(clean(host)),
        };
        Self {
            scope,
            ..self.clone()
        }
    }

    /// The grant in words.
    pub fn describe(&self) -> String {
        let tool = &self.tool;
        match &self.scope {
            GrantScope::Tool => format!("every call of {tool}"),
            GrantScope::Command(words) => {
                format!("{tool}: commands that start with {:?}", words.join(" "))
            }
            GrantScope::Path { access, path } => {
                let access = match access {
                    toolgate_model::Access::Read => "read",
                    toolgate_model::Access::Write => "write",
                    toolgate_model::Access::Delete => "delete",
                };
                format!("{tool}: {access} {path:?}")
            }
            GrantScope::Host(host) => format!("{tool}: contact {host:?}"),
            GrantScope::Edits => format!("{tool}: change files of the workspace"),
            GrantScope::Commands => format!("{tool}: every command in the command sandbox"),
        }
    }

    /// The top trusted layer: allows only.
    pub fn layer(grants: &[Self]) -> LayerSpec {
        let allowances: Vec<Allowance> = grants
            .iter()
            .map(|grant| Allowance {
                tool: grant.tool.clone(),
                scope: grant.scope.clone(),
                source: RuleSource {
                    layer: "grants".into(),
                    file: Some(grant.id.clone()),
                    line: None,
                },
            })
            .collect();
        LayerSpec::grants(&allowances)
    }
}

/// Words as a line that a shell would read as them.
fn as_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Why a grant was not saved or taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GrantError {
    /// What went wrong.
    pub message: String,
}

/// The state of a grant store at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantStamp(pub [u64; 8]);

/// Where the grants of a project are kept.
///
/// The futures run on threads that serve other conversations too: a store that waits for a disk
/// does so in [`blocking::run`](crate::blocking::run).
///
/// ```
/// use toolgate_gate::approve::{Grant, GrantScope, GrantStore, GrantsInMemory};
///
/// # futures::executor::block_on(async {
/// let grants = GrantsInMemory::default();
/// let grant = Grant {
///     id: "g1".into(),
///     at_ms: 0,
///     tool: "read_file".into(),
///     scope: GrantScope::Tool,
/// };
/// grants.add(&[grant]).await?;
/// assert_eq!(grants.list().await?.len(), 1);
/// assert!(grants.revoke("g1").await?);
/// # Ok::<(), toolgate_gate::approve::GrantError>(())
/// # })?;
/// # Ok::<(), toolgate_gate::approve::GrantError>(())
/// ```
pub trait GrantStore: Send + Sync {
    /// The state that [`list`](Self::list) would be made of: as long as it is equal, the list
    /// is not read again. `None` if the store cannot tell cheaply; then every batch reads the
    /// list. Every batch asks for it.
    fn stamp(&self) -> BoxFuture<'_, Option<GrantStamp>> {
        ready(None)
    }

    /// The grants of this project.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>>;
    /// Adds grants for good.
    fn add<'a>(&'a self, grants: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>>;
    /// Takes one back; whether it was there.
    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, GrantError>>;
}

/// What is known at once.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

/// Remembers nothing and says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGrants;

impl GrantStore for NoGrants {
    fn stamp(&self) -> BoxFuture<'_, Option<GrantStamp>> {
        ready(Some(GrantStamp([0; 8])))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>> {
        ready(Ok(Vec::new()))
    }

    fn add<'a>(&'a self, _: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>> {
        ready(Err(GrantError {
            message: "approvals of a project are not remembered here".into(),
        }))
    }

    fn revoke<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, GrantError>> {
        ready(Ok(false))
    }
}

/// Remembers for as long as it lives.
#[derive(Default)]
pub struct GrantsInMemory(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    grants: Vec<Grant>,
    changes: u64,
}

impl GrantStore for GrantsInMemory {
    fn stamp(&self) -> BoxFuture<'_, Option<GrantStamp>> {
        let changes = lock(&self.0).changes;
        ready(Some(GrantStamp([changes, 0, 0, 0, 0, 0, 0, 0])))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>> {
        ready(Ok(lock(&self.0).grants.clone()))
    }

    fn add<'a>(&'a self, grants: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>> {
        Box::pin(async move {
            let mut all = lock(&self.0);
            all.grants.extend_from_slice(grants);
            all.changes += 1;
            Ok(())
        })
    }

    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, GrantError>> {
        Box::pin(async move {
            let mut all = lock(&self.0);
            let before = all.grants.len();
            all.grants.retain(|grant| grant.id != id);
            all.changes += 1;
            Ok(all.grants.len() < before)
        })
    }
}

#[cfg(test)]
mod tests {
    use toolgate_model::Access;

    use super::*;

    #[test]
    fn the_description_of_a_grant_shows_no_secret() {
        let redactor = Redactor::new([("TOKEN", "correct-horse-battery")]).unwrap();
        let secret = || "correct-horse-battery".to_owned();
        for (scope, described) in [
            (GrantScope::Tool, "every call of t"),
            (
                GrantScope::Command(vec!["login".into(), secret()]),
                "t: commands that start with \"login [redacted:env TOKEN]\"",
            ),
            (
                GrantScope::Path {
                    access: Access::Write,
                    path: secret(),
                },
                "t: write \"[redacted:env TOKEN]\"",
            ),
            (
                GrantScope::Host(secret()),
                "t: contact \"[redacted:env TOKEN]\"",
            ),
        ] {
            let grant = Grant {
                id: "g".into(),
                at_ms: 1,
                tool: "t".into(),
                scope,
            };
            assert_eq!(grant.for_approver(&redactor).describe(), described);
        }
    }
}
