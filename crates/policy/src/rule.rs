//! A rule as it is written down, before it is compiled.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toolgate_model::{Action, Risk, RuleSource};

use crate::error::RuleError;

/// One rule: which tool, which atoms, under which conditions, and the answer.
///
/// A list that is given but empty is an error and not a missing list: a rule
/// must never become wider because its list ran empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// A tool's name, one of its aliases, or `*`.
    pub tool: String,
    /// The answer.
    pub action: Action,
    /// Patterns of paths that are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<String>>,
    /// Patterns of paths that are created or changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<String>>,
    /// Patterns of paths that are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletes: Option<Vec<String>>,
    /// Hosts: `example.com`, `example.com:443`, `*.example.com`, `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<Vec<String>>,
    /// The leading words of a command; none at all, in a `deny` or `ask`, is every command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<WordPattern>>,
    /// For an `allow`: even if not everything is known. Otherwise: only if not everything is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opaque: bool,
    /// Conditions on parameters; all have to hold.
    #[serde(
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub when: Vec<Condition>,
    /// The risk to show for what this rule decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Shown when it asks or denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Calls that it must and must not fit.
    #[serde(default, skip_serializing_if = "RuleExamples::is_empty")]
    pub examples: RuleExamples,
    /// Whether it matches commands in the command sandbox only. Remembered approvals use it.
    #[serde(skip)]
    pub sandboxed: bool,
    /// The short form it was made from, such as `blocked_commands "dd"`.
    #[serde(skip)]
    pub origin: Option<String>,
    /// Where it stands.
    #[serde(skip)]
    pub source: RuleSource,
}

impl RuleSpec {
    /// A rule about everything that a tool does, to be narrowed by setting fields.
    pub fn new(tool: impl Into<String>, action: Action) -> Self {
        Self {
            tool: tool.into(),
            action,
            reads: None,
            writes: None,
            deletes: None,
            connects: None,
            command: None,
            opaque: false,
            when: Vec::new(),
            risk: None,
            message: None,
            examples: RuleExamples::default(),
            sandboxed: false,
            origin: None,
            source: RuleSource::default(),
        }
    }

    /// Narrows it to commands with these leading words. Each string is one word, never a line:
    /// `["git", "push"]`. A pattern can be several words of which one has to be there.
    ///
    /// ```
    /// use toolgate_model::Action;
    /// use toolgate_policy::{Question, RuleSpec, Rules};
    ///
    /// let rule = RuleSpec::new("run_command", Action::Deny)
    ///     .with_command(["git", "push"])
    ///     .with_message("Open a pull request instead.");
    /// let policy = Rules::user(vec![rule]).compile()?;
    /// assert_eq!(policy.decide(&Question::command("git push")).action, Action::Deny);
    /// # Ok::<(), toolgate_policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn with_command<W: Into<WordPattern>>(
        mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        self.command = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// Narrows it to paths that are read.
    #[must_use]
    pub fn with_reads<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.reads = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Narrows it to paths that are created or changed.
    #[must_use]
    pub fn with_writes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.writes = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Narrows it to paths that are removed.
    #[must_use]
    pub fn with_deletes<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.deletes = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Narrows it to hosts.
    #[must_use]
    pub fn with_connects<P: Into<String>>(mut self, hosts: impl IntoIterator<Item = P>) -> Self {
        self.connects = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the text that is shown when it asks or denies.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Whether it matches facts of certain kinds only.
    pub(crate) const fn has_fact_keys(&self) -> bool {
        self.command.is_some() || self.has_claimable_keys()
    }

    /// Whether it has keys for what a command can only claim: paths and hosts.
    pub(crate) const fn has_claimable_keys(&self) -> bool {
        self.reads.is_some()
            || self.writes.is_some()
            || self.deletes.is_some()
            || self.connects.is_some()
    }
}

/// Conditions that are there. None at all would make a rule wider than it was meant.
fn filled<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Condition>, D::Error> {
    let conditions = Vec::deserialize(from)?;
    if conditions.is_empty() {
        return Err(D::Error::custom(RuleError::EmptyList { key: "when" }));
    }
    Ok(conditions)
}

/// One word of a command pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WordPattern {
    /// Exactly this word.
    One(String),
    /// One of these words.
    Any(Vec<String>),
}

impl WordPattern {
    /// The words that it fits.
    pub fn words(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Any(words) => words,
        }
    }
}

impl From<&str> for WordPattern {
    fn from(word: &str) -> Self {
        Self::One(word.to_owned())
    }
}

/// A condition on one parameter of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The parameter's canonical name. Without it in the call the condition does not hold.
    pub param: String,
    /// How the parameter is compared.
    pub operator: Operator,
    /// With what: one value, or several of which one has to fit.
    pub value: Values,
}

/// How a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The whole text is the same.
    Equals,
    /// The text occurs in it.
    Contains,
    /// A regular expression is found in it.
    Matches,
    /// It starts with the text.
    #[serde(alias = "startsWith")]
    StartsWith,
}

impl Operator {
    /// The spelling of configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::Contains => "contains",
            Self::Matches => "matches",
            Self::StartsWith => "starts_with",
        }
    }
}

/// One value or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

impl Values {
    /// The values as a list.
    pub fn list(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Any(values) => values,
        }
    }
}

impl From<&str> for Values {
    fn from(value: &str) -> Self {
        Self::One(value.to_owned())
    }
}

/// Calls that a rule must and must not fit, checked by `policy check`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleExamples {
    /// Calls that this rule has to decide.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Calls that this rule must not fit.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<String>,
}

impl RuleExamples {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.matches.is_empty() && self.not_matches.is_empty()
    }
}
