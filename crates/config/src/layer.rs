//! Layers: where values come from.

use std::fmt;

use serde::Serialize;
use toolgate_model::RuleSource;

use crate::picture::visible;
use crate::read::{Found, Places};
use crate::source::Source;

/// The layers, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum LayerName {
    /// What the program comes with.
    #[serde(rename = "built-in")]
    BuiltIn,
    /// The user's own file.
    #[serde(rename = "user")]
    User,
    /// The project's `toolgate.toml`.
    #[serde(rename = "project")]
    Project,
    /// The file of `--config`.
    #[serde(rename = "config")]
    Config,
    /// Options of the command line.
    #[serde(rename = "options")]
    Options,
}

impl LayerName {
    /// The name that decisions and `config show` use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Config => "config",
            Self::Options => "options",
        }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: LayerName,
    /// The file, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The one-based line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The option, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<&'static str>,
}

impl Origin {
    /// What the program comes with.
    pub(crate) const BUILT_IN: Self = Self {
        layer: LayerName::BuiltIn,
        file: None,
        line: None,
        option: None,
    };

    /// The same for rules.
    pub(crate) fn rule_source(&self) -> RuleSource {
        RuleSource {
            layer: self.layer.as_str().to_owned(),
            file: self.file.clone(),
            line: self.line,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, self.option) {
            (Some(file), Some(line), _) => write!(f, "{} {}:{line}", self.layer, visible(file)),
            (Some(file), None, _) => write!(f, "{} {}", self.layer, visible(file)),
            (None, _, Some(option)) => write!(f, "option {option}"),
            (None, _, None) => write!(f, "{}", self.layer),
        }
    }
}

/// The values of one layer.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) name: LayerName,
    /// Whether it may widen.
    pub(crate) trusted: bool,
    pub(crate) source: Option<Source>,
    pub(crate) found: Vec<Found>,
}

impl Layer {
    /// Where something of this layer stands.
    pub(crate) fn origin(&self, found: &Found, places: &Places) -> Origin {
        Origin {
            layer: self.name,
            file: self.source.as_ref().map(|source| source.name().to_owned()),
            line: self
                .source
                .as_ref()
                .map(|source| source.line(places.span.start)),
            option: found.option,
        }
    }
}

/// Something in the file of an untrusted project that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// The file.
    pub file: String,
    /// The one-based line.
    pub line: u32,
    /// The key.
    pub key: String,
    /// Why it does not count.
    pub why: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            key,
            why,
        } = self;
        write!(f, "{}:{line}: {key} is ignored: {why}", visible(file))
    }
}
