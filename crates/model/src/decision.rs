//! What policy decided, with everything needed to explain it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ErrorKind;

/// An answer of policy. The order is strictness: allow, ask, deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run it.
    Allow,
    /// Ask the person first.
    Ask,
    /// Do not run it.
    Deny,
}

impl Action {
    /// The spelling of configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a rule stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleSource {
    /// The layer: `built-in`, `user`, `project`, `config`, `grants`, a scope's name.
    pub layer: String,
    /// The file, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The one-based line in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line} ({})", self.layer),
            (Some(file), None) => write!(f, "{file} ({})", self.layer),
            _ => f.write_str(&self.layer),
        }
    }
}

/// The answer for one atom of a call, with the rule that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomAnswer {
    /// The atom, such as `tool read_file` or `write src/lib.rs`.
    pub atom: String,
    /// The layer that spoke last.
    pub layer: String,
    /// The rule that gave the answer.
    pub rule: String,
    /// The answer.
    pub answer: Action,
}

/// What policy decided about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The strictest answer of its atoms.
    pub action: Action,
    /// For a denial: the kind of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// A sentence for the person and the model.
    pub reason: String,
    /// The rule that decided, in words.
    pub rule: String,
    /// Where that rule stands.
    pub source: RuleSource,
    /// Every atom with its answer.
    pub atoms: Vec<AtomAnswer>,
}

impl Decision {
    /// A denial of this kind by something that is not a rule: a limit, a sandbox, a switch.
    pub fn denied(kind: ErrorKind, rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            action: Action::Deny,
            kind: Some(kind),
            reason: reason.into(),
            rule: rule.into(),
            source: RuleSource {
                layer: "built-in".into(),
                ..RuleSource::default()
            },
            atoms: Vec::new(),
        }
    }

    /// The stricter of the two; of equally strict ones the first.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if other.action > self.action {
            other
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_is_stricter_than_ask_is_stricter_than_allow() {
        assert!(Action::Deny > Action::Ask && Action::Ask > Action::Allow);
        let deny = Decision::denied(ErrorKind::PolicyDenied, "a", "because");
        let ask = Decision {
            action: Action::Ask,
            kind: None,
            ..Decision::denied(ErrorKind::PolicyDenied, "b", "")
        };
        assert_eq!(ask.clone().stricter(deny.clone()).rule, "a");
        assert_eq!(deny.clone().stricter(ask.clone()).rule, "a");
        let other = Decision {
            rule: "c".into(),
            ..ask.clone()
        };
        assert_eq!(ask.stricter(other).rule, "b");
        for action in [Action::Allow, Action::Ask, Action::Deny] {
            assert_eq!(
                serde_json::to_string(&action).unwrap(),
                format!("\"{action}\"")
            );
        }
    }

    #[test]
    fn a_source_shows_as_much_place_as_it_has() {
        let mut source = RuleSource {
            layer: "user".into(),
            file: Some("c.toml".into()),
            line: Some(3),
        };
        assert_eq!(source.to_string(), "c.toml:3 (user)");
        source.line = None;
        assert_eq!(source.to_string(), "c.toml (user)");
        source.file = None;
        assert_eq!(source.to_string(), "user");
    }
}
