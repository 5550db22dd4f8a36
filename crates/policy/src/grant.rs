//! Remembered approvals as the top trusted layer.

use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Action, RuleSource};

use crate::layer::{LayerSpec, LayerTrust};
use crate::path;
use crate::rule::RuleSpec;

/// What the user said yes to, for longer than one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The tool it is for.
    pub tool: String,
    /// How much of it.
    pub scope: GrantScope,
    /// Where it is kept.
    #[serde(default)]
    pub source: RuleSource,
}

/// How much of a tool is granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// Everything that the tool does, known beforehand or not.
    Tool,
    /// Commands that start with these words.
    Command(Vec<String>),
    /// Touching this very path in this way.
    Path {
        /// How it is touched.
        access: Access,
        /// The path, taken literally.
        path: String,
    },
    /// Contacting this host.
    Host(String),
    /// Changes to every path of the roots but protected ones and instructions to agents.
    Edits,
    /// Every command in the command sandbox, known beforehand or not.
    Commands,
}

impl Grant {
    /// The allow that it stands for.
    pub fn rule(&self) -> RuleSpec {
        let mut rule = RuleSpec::new(self.tool.clone(), Action::Allow);
        rule.source = self.source.clone();
        match &self.scope {
            // Without `opaque` a grant for a tool whose facts are never complete would never fit again.
            GrantScope::Tool => rule.opaque = true,
            GrantScope::Command(words) => {
                rule.command = Some(words.iter().map(|word| word.as_str().into()).collect());
            }
            GrantScope::Path { access, path } => {
                let literal = Some(vec![path::literally(path)]);
                match access {
                    Access::Read => rule.reads = literal,
                    Access::Write => rule.writes = literal,
                    Access::Delete => rule.deletes = literal,
                }
            }
            GrantScope::Edits => {
                let every = || Some(vec!["**".to_owned()]);
                (rule.reads, rule.writes, rule.deletes) = (every(), every(), every());
            }
            GrantScope::Commands => (rule.opaque, rule.sandboxed) = (true, true),
            GrantScope::Host(host) => rule.connects = Some(vec![host.clone()]),
        }
        rule
    }
}

impl LayerSpec {
    /// The layer of remembered approvals. It holds allows only and belongs last.
    pub fn grants(grants: &[Grant]) -> Self {
        let rules = grants.iter().map(Grant::rule).collect();
        Self::new("grants", LayerTrust::Trusted, rules)
    }
}
