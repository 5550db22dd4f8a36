//! What holds when no rule matches.

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
    /// Whether only the mode was given, so that the trust column says nothing.
    pub mode_alone: bool,
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
            mode_alone: false,
            default_action: None,
            prompt_side_effects: true,
        }
    }
}

impl Settings {
    /// The trust in force; nothing where only the mode was given.
    pub fn trust_in_force(&self) -> Option<Trust> {
        (!self.mode_alone || self.mode.is_none()).then_some(self.trust)
    }

    /// The answer for a row of the table: the stricter of the columns that are in force.
    pub(crate) fn answer(&self, row: Row, confined: Confined) -> Action {
        let by_trust = self.trust_in_force().map(|trust| match (row, trust) {
            (_, Trust::Supervised) => Action::Ask,
            (Row::Allowlisted | Row::ReadOnly | Row::ReadOnlyCommand, _) => Action::Allow,
            (Row::SideEffects | Row::Opaque, Trust::Guided) => Action::Ask,
            (Row::Opaque, Trust::Autonomous) if confined == Confined::Connected => Action::Ask,
            (Row::SideEffects | Row::Opaque, Trust::Autonomous) => Action::Allow,
        });
        let by_mode = self.mode.map(|mode| match (row, mode) {
            (Row::Allowlisted, _) => Action::Allow,
            (_, Mode::Deny) => Action::Deny,
            (Row::ReadOnly | Row::ReadOnlyCommand | Row::SideEffects, Mode::Auto) => Action::Allow,
            (Row::ReadOnly | Row::ReadOnlyCommand, Mode::Prompt) => Action::Allow,
            (Row::SideEffects, Mode::Prompt) if self.prompt_side_effects => Action::Ask,
            (Row::SideEffects, Mode::Prompt) => Action::Allow,
            (Row::Opaque, Mode::Auto | Mode::Prompt) => Action::Ask,
        });
        let cell = match self.default_action {
            Some(action) if row != Row::Allowlisted => action,
            // One of them is always in force.
            _ => by_trust.max(by_mode).unwrap_or(Action::Ask),
        };
        // What is not known runs in a sandbox or is asked.
        if row == Row::Opaque && confined == Confined::No {
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
            _ => {
                let trust = self.trust_in_force();
                let trust = trust.map(|trust| format!("trust = \"{}\"", trust.as_str()));
                let mode = self
                    .mode
                    .map(|mode| format!("mode = \"{}\"", mode.as_str()));
                trust.into_iter().chain(mode).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// A row of the table of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Allowlisted,
    ReadOnly,
    /// A command that is known to do no more than read and print.
    ReadOnlyCommand,
    SideEffects,
    Opaque,
}

/// How a call is kept from doing harm while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confined {
    /// Not at all.
    No,
    /// It is a command in the sandbox with a network, or no command.
    Connected,
    /// It is a command in the sandbox without a network.
    Whole,
}

impl Row {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowlisted => "allowlisted tool",
            Self::ReadOnly => "read-only",
            Self::ReadOnlyCommand => "read-only command",
            Self::SideEffects => "side effects",
            Self::Opaque => "opaque",
        }
    }
}
