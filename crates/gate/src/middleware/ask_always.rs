//! A tool that is asked about whatever the rules say.

use toolgate_model::{Action, Decision, PlanRecord, RuleSource};

use super::Middleware;
use crate::session::Session;

/// Asks about every call of one tool, because something that rules rely on is missing.
#[derive(Clone, Debug)]
pub struct AskAlways {
    tool: String,
    reason: String,
}

impl AskAlways {
    /// Asks about `tool` and tells the user why.
    pub fn about(tool: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            reason: reason.into(),
        }
    }
}

impl Middleware for AskAlways {
    fn name(&self) -> &str {
        "ask always"
    }

    fn review(&self, _: &Session, plan: &PlanRecord) -> Option<Decision> {
        (plan.tool == self.tool).then(|| Decision {
            action: Action::Ask,
            kind: None,
            reason: self.reason.clone(),
            rule: "ask always".into(),
            source: RuleSource {
                layer: "built-in".into(),
                file: None,
                line: None,
            },
            atoms: Vec::new(),
        })
    }
}
