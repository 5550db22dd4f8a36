//! What holds when no rule speaks.

use serde::{Deserialize, Serialize};
use toolgate_model::Action;

/// How much the user trusts the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Everything is asked.
    Supervised,
    /// Reading is free, the rest is asked.
    #[default]
    Guided,
    /// In a sandbox nothing is asked.
    Autonomous,
}

impl Trust {
    /// The spelling of configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supervised => "supervised",
            Self::Guided => "guided",
            Self::Autonomous => "autonomous",
        }
    }
}

/// The default for tools without a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It runs.
    Auto,
    /// It is asked if it has side effects.
    #[default]
    Prompt,
    /// It is denied.
    Deny,
}

impl Mode {
    /// The spelling of configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Prompt => "prompt",
            Self::Deny => "deny",
        }
    }
}

/// The settings of `[tools.approval]` that decide where no rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether tools run at all.
    pub enabled: bool,
    /// How much the user trusts the model.
    pub trust: Trust,
    /// The mode, if it was given.
    pub mode: Option<Mode>,
    /// What replaces the defaults, if it was given.
    pub default_action: Option<Action>,
    /// Whether side effects are asked in mode `prompt`.
    pub prompt_side_effects: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            trust: Trust::default(),
            mode: None,
            default_action: None,
            prompt_side_effects: true,
        }
    }
}

impl Settings {
    /// The mode in force: the given one, `auto` for an autonomous model, else `prompt`.
    pub const fn mode(&self) -> Mode {
        match (self.mode, self.trust) {
            (Some(mode), _) => mode,
            (None, Trust::Autonomous) => Mode::Auto,
            (None, Trust::Supervised | Trust::Guided) => Mode::Prompt,
        }
    }

    /// The answer for a row of the table: the stricter of its two columns.
    pub(crate) fn answer(&self, row: Row, command_sandbox: bool) -> Action {
        let by_trust = match (row, self.trust) {
            (_, Trust::Supervised) => Action::Ask,
            (Row::Allowlisted | Row::ReadOnly, Trust::Guided | Trust::Autonomous) => Action::Allow,
            (Row::SideEffects | Row::Opaque, Trust::Guided) => Action::Ask,
            (Row::SideEffects | Row::Opaque, Trust::Autonomous) => Action::Allow,
        };
        let by_mode = match (row, self.mode()) {
            (Row::Allowlisted, _) => Action::Allow,
            (_, Mode::Deny) => Action::Deny,
            (Row::ReadOnly, Mode::Auto | Mode::Prompt) => Action::Allow,
            (Row::SideEffects, Mode::Auto) => Action::Allow,
            (Row::SideEffects, Mode::Prompt) if self.prompt_side_effects => Action::Ask,
            (Row::SideEffects, Mode::Prompt) => Action::Allow,
            (Row::Opaque, Mode::Auto | Mode::Prompt) => Action::Ask,
        };
        let cell = match self.default_action {
            Some(action) if row != Row::Allowlisted => action,
            _ => by_trust.max(by_mode),
        };
        // What is not known runs in a sandbox or is asked.
        if row == Row::Opaque && !command_sandbox {
            cell.max(Action::Ask)
        } else {
            cell
        }
    }

    /// The settings behind an answer, in words.
    pub(crate) fn because(&self, row: Row) -> String {
        match self.default_action {
            Some(action) if row != Row::Allowlisted => {
                format!("default_action = \"{action}\"")
            }
            _ => format!(
                "trust = \"{}\", mode = \"{}\"",
                self.trust.as_str(),
                self.mode().as_str()
            ),
        }
    }
}

/// A row of the table of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Allowlisted,
    ReadOnly,
    SideEffects,
    Opaque,
}

impl Row {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowlisted => "allowlisted tool",
            Self::ReadOnly => "read-only",
            Self::SideEffects => "side effects",
            Self::Opaque => "opaque",
        }
    }
}
