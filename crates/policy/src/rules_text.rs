//! Rules from the text of a `toolgate.toml`: `[tools.approval]` and `[[tools.rules]]`.
//!
//! For programs that have no configuration of their own. Unknown keys are errors, so a
//! misspelt deny never becomes silence.

use serde::Deserialize;
use toml::Spanned;
use toolgate_model::{Action, RuleSource};

use crate::defaults::{Mode, Settings, Trust};
use crate::error::PolicyError;
use crate::layer::{LayerSpec, LayerTrust, Listed};
use crate::rule::RuleSpec;
use crate::rules::Rules;
use crate::short::ShortForms;

/// The layer that the text becomes.
const LAYER: &str = "user";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    tools: Tools,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tools {
    #[serde(default)]
    approval: Approval,
    #[serde(default)]
    rules: Vec<Spanned<RuleSpec>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Approval {
    enabled: Option<bool>,
    trust: Option<Trust>,
    mode: Option<Mode>,
    default_action: Option<Action>,
    prompt_side_effects: Option<bool>,
    allowlist: Option<Vec<String>>,
    denylist: Vec<String>,
    allowed_commands: Vec<String>,
    blocked_commands: Vec<String>,
    allowed_paths: Vec<String>,
    blocked_paths: Vec<String>,
}

impl Rules {
    /// Reads `[tools.approval]` and `[[tools.rules]]` as the user's own, trusted rules.
    ///
    /// # Errors
    /// Text that is not TOML, keys that do not exist, and values of the wrong type, with their
    /// place in the text. Patterns are checked when the rules are compiled.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let document: Document = toml::from_str(text).map_err(|error| PolicyError::Text {
            message: error.to_string().trim_end().to_owned(),
        })?;
        let Tools { approval, rules } = document.tools;
        let place = |line| RuleSource {
            layer: LAYER.to_owned(),
            file: None,
            line,
        };
        let rules = rules.into_iter().map(|rule| {
            let line = line_of(text, rule.span().start);
            let mut rule = rule.into_inner();
            rule.source = place(Some(line));
            rule
        });
        let listed = |entries| Listed {
            entries,
            source: place(None),
        };
        let defaults = Settings::default();
        let mut layer = LayerSpec::new(LAYER, LayerTrust::Trusted, rules.collect());
        layer.short = ShortForms {
            allowed_commands: listed(approval.allowed_commands),
            blocked_commands: listed(approval.blocked_commands),
            allowed_paths: listed(approval.allowed_paths),
            blocked_paths: listed(approval.blocked_paths),
        };
        layer.allowlist = approval.allowlist.map(listed);
        layer.denylist = listed(approval.denylist);
        Ok(Self {
            settings: Settings {
                enabled: approval.enabled.unwrap_or(defaults.enabled),
                trust: approval.trust.unwrap_or_default(),
                mode: approval.mode,
                mode_alone: approval.trust.is_none() && approval.mode.is_some(),
                default_action: approval.default_action,
                prompt_side_effects: approval
                    .prompt_side_effects
                    .unwrap_or(defaults.prompt_side_effects),
            },
            layers: vec![layer],
            validators: Vec::new(),
        })
    }
}

fn line_of(text: &str, at: usize) -> u32 {
    let before = text.bytes().take(at);
    let lines = before.filter(|byte| *byte == b'\n').count();
    u32::try_from(lines).map_or(u32::MAX, |lines| lines.saturating_add(1))
}
