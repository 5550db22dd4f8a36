//! Rules that cannot be understood.

use toolgate_model::RuleSource;

/// A policy that cannot be compiled, with the place of the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule is wrong.
    #[error("{place}: the rule `{rule}` cannot be used: {fault}")]
    Rule {
        /// The rule in words.
        rule: String,
        /// Where it stands.
        place: Box<RuleSource>,
        /// What is wrong with it.
        fault: RuleError,
    },
    /// The patterns of a layer are too many or too large to be compiled together.
    #[error("the patterns of layer `{layer}` cannot be compiled together: {message}")]
    Layer {
        /// The layer's name.
        layer: String,
        /// What the pattern library says.
        message: String,
    },
    /// A text holds no rules.
    #[error("the rules cannot be read: {message}")]
    Text {
        /// What is wrong, with its place in the text.
        message: String,
    },
}

impl PolicyError {
    /// Where the mistake is, as far as it has a place.
    pub fn place(&self) -> Option<&RuleSource> {
        match self {
            Self::Rule { place, .. } => Some(place),
            Self::Layer { .. } | Self::Text { .. } => None,
        }
    }
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The tool is neither a name nor `*`.
    #[error("`{tool}` is no tool name; write the whole name, or `*` for every tool")]
    Tool {
        /// What stands there.
        tool: String,
    },
    /// A list is there and has nothing in it.
    #[error("`{key}` is an empty list, which nothing can fit; remove the key or fill the list")]
    EmptyList {
        /// The key.
        key: &'static str,
    },
    /// A path pattern is wrong.
    #[error("`{key}` has the path pattern `{pattern}`: {message}")]
    Path {
        /// The key.
        key: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// A host pattern is wrong.
    #[error(
        "`connects` has `{pattern}`, which is no host; write `example.com`, `example.com:443`, `*.example.com` or `*`"
    )]
    Host {
        /// The pattern.
        pattern: String,
    },
    /// A regular expression is wrong or too large.
    #[error("the condition on `{param}` has the regular expression `{pattern}`: {message}")]
    Regex {
        /// The parameter.
        param: String,
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// `opaque` stands beside keys for paths or hosts.
    #[error(
        "`opaque = true` goes with `command` or alone: what is not known has no paths and hosts; write two rules"
    )]
    OpaqueWithPaths,
}
