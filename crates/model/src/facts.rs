//! What a call says it will touch.
//!
//! Facts are stated by the parsed invocation and are what policy, approval,
//! locks and sandboxes are built from. A list that may not be everything says so
//! with `complete = false`, and policy sees the atom `opaque`.

use serde::{Deserialize, Serialize};

/// One simple command of a shell line, after wrappers are taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The words as the program would get them; the first is the program as the line names it.
    pub words: Vec<String>,
    /// Whether some of it is only known when it runs.
    #[serde(default)]
    pub opaque: bool,
}

/// What kind of touch a path fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Content or names are read.
    Read,
    /// Something is created or changed.
    Write,
    /// Something is removed.
    Delete,
}

/// Everything a call will touch, as far as it is known before it runs.
///
/// Paths are relative to the root they lie in, with forward slashes; a path
/// outside every root is absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Paths whose content or names are read.
    pub reads: Vec<String>,
    /// Paths that are created or changed.
    pub writes: Vec<String>,
    /// Paths that are removed.
    pub deletes: Vec<String>,
    /// Programs that are run.
    pub runs: Vec<Run>,
    /// Hosts that are contacted, as `host` or `host:port`.
    pub connects: Vec<String>,
    /// Whether the lists above are everything.
    pub complete: bool,
    /// Whether the paths and hosts are only what a command claims (true), or what a sandbox enforces (false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
    /// Whether the names in a line mean what they usually do: nothing on it sets variables for
    /// programs, defines functions, or runs in an unusual directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Why this call is catastrophic, if it is: reasons that no rule lifts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub catastrophic: Vec<String>,
}

impl Default for Facts {
    fn default() -> Self {
        Self::none()
    }
}

impl Facts {
    /// A call that touches nothing.
    pub const fn none() -> Self {
        Self {
            reads: Vec::new(),
            writes: Vec::new(),
            deletes: Vec::new(),
            runs: Vec::new(),
            connects: Vec::new(),
            complete: true,
            claimed: false,
            plain: false,
            catastrophic: Vec::new(),
        }
    }

    /// A call about which nothing is known.
    pub const fn opaque() -> Self {
        let mut facts = Self::none();
        facts.complete = false;
        facts
    }

    /// A call that reads this path and nothing else.
    pub fn reading(path: impl Into<String>) -> Self {
        Self {
            reads: vec![path.into()],
            ..Self::none()
        }
    }

    /// A call that writes this path and nothing else.
    pub fn writing(path: impl Into<String>) -> Self {
        Self {
            writes: vec![path.into()],
            ..Self::none()
        }
    }

    /// Every path of these facts with the way it is touched.
    pub fn paths(&self) -> impl Iterator<Item = (Access, &str)> {
        self.reads
            .iter()
            .map(|path| (Access::Read, path.as_str()))
            .chain(
                self.writes
                    .iter()
                    .map(|path| (Access::Write, path.as_str())),
            )
            .chain(
                self.deletes
                    .iter()
                    .map(|path| (Access::Delete, path.as_str())),
            )
    }

    /// Whether the call changes something, runs something or contacts somebody.
    pub fn has_effects(&self) -> bool {
        !self.writes.is_empty()
            || !self.deletes.is_empty()
            || !self.runs.is_empty()
            || !self.connects.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_know_what_changes_something() {
        assert!(!Facts::none().has_effects());
        assert!(!Facts::reading("a").has_effects());
        assert!(Facts::writing("a").has_effects());
        assert!(
            Facts {
                deletes: vec!["a".into()],
                ..Facts::none()
            }
            .has_effects()
        );
        assert!(
            Facts {
                runs: vec![Run::default()],
                ..Facts::none()
            }
            .has_effects()
        );
        assert!(
            Facts {
                connects: vec!["h".into()],
                ..Facts::none()
            }
            .has_effects()
        );
        assert!(!Facts::opaque().complete);
    }

    #[test]
    fn paths_come_with_their_access() {
        let facts = Facts {
            reads: vec!["r".into()],
            writes: vec!["w".into()],
            deletes: vec!["d".into()],
            ..Facts::default()
        };
        let all: Vec<_> = facts.paths().collect();
        assert_eq!(
            all,
            [
                (Access::Read, "r"),
                (Access::Write, "w"),
                (Access::Delete, "d")
            ]
        );
    }

    #[test]
    fn json_leaves_out_fields_with_default_values() {
        let text = serde_json::to_string(&Facts::reading("a")).unwrap();
        assert_eq!(
            text,
            r#"{"reads":["a"],"writes":[],"deletes":[],"runs":[],"connects":[],"complete":true}"#
        );
    }
}
