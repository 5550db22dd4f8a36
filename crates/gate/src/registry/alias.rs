//! Other names for tools, and which of them are advertised.

use std::collections::BTreeSet;

use toolgate_model::Args;

use crate::tool::Spelling;

/// Another name for a tool, with its own spellings and presets.
///
/// Policy, journal and results carry the canonical name whichever was called.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The other name.
    pub name: String,
    /// The tool's canonical name.
    pub tool: String,
    /// What arguments mean under this name only.
    pub spellings: Vec<Spelling>,
    /// Arguments that are set unless the call gives them.
    pub presets: Args,
    /// Brings arguments to another form where spellings cannot, before these; the error text
    /// goes to the model.
    pub rewrite: Option<Rewrite>,
}

/// A change of all arguments of a call.
pub type Rewrite = fn(Args) -> Result<Args, String>;

impl Alias {
    /// A plain other name.
    pub fn new(name: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tool: tool.into(),
            spellings: Vec::new(),
            presets: Args::new(),
            rewrite: None,
        }
    }

    /// The same with a spelling.
    #[must_use]
    pub fn spelling(mut self, spelling: Spelling) -> Self {
        self.spellings.push(spelling);
        self
    }

    /// The same with a change of all arguments.
    #[must_use]
    pub fn rewrite(mut self, rewrite: Rewrite) -> Self {
        self.rewrite = Some(rewrite);
        self
    }

    /// The same with a preset argument.
    #[must_use]
    pub fn preset(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.presets.insert(key.to_owned(), value.into());
        self
    }
}

/// A choice of names to advertise. The others stay callable.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The profile's name.
    pub name: String,
    /// The aliases that are advertised in place of their tools.
    pub names: BTreeSet<String>,
}

impl Profile {
    /// A profile that advertises these aliases.
    pub fn new<'a>(name: &str, aliases: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            name: name.to_owned(),
            names: aliases.into_iter().map(str::to_owned).collect(),
        }
    }
}
