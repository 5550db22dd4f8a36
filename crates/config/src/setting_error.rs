//! What is wrong in a file, and where.

use std::fmt;
use std::ops::Range;

use toolgate_model::nearest::nearest;
use toolgate_policy::RuleError;
use toolgate_sandbox::paths::PatternError;

use crate::picture;
use crate::source::{ReadError, Source};
use crate::store::StoreError;

/// One mistake in a configuration file. Its text is a picture of the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// What is wrong.
    pub fault: SettingErrorKind,
    pub(crate) source: Source,
    pub(crate) span: Range<usize>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingErrorKind {
    /// It is not TOML.
    #[error("this is not TOML: {message}")]
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// There is no such key.
    #[error("unknown key `{key}` in {section}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The section it stands in.
        section: String,
        /// What to write instead, in words.
        instead: Option<String>,
    },
    /// A key of a feature that does not exist yet.
    #[error("`{key}` is not supported yet: this version has no {feature}")]
    NotSupported {
        /// The key.
        key: String,
        /// What it will be for.
        feature: &'static str,
    },
    /// A value of another type.
    #[error("`{key}` takes {expected}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// What it takes.
        expected: String,
        /// What stands there.
        found: &'static str,
    },
    /// A number that is too small or too large.
    #[error("`{key}` is at {}, not {found}", bound(*low, *min, *max))]
    OutOfRange {
        /// The key.
        key: String,
        /// What stands there.
        found: String,
        /// Whether it is too small, and not too large.
        low: bool,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A word that is none of those known.
    #[error("`{key}` is one of {}, not `{found}`", listed(known))]
    UnknownValue {
        /// The key.
        key: String,
        /// What stands there.
        found: String,
        /// The known words.
        known: Vec<String>,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// Text that does not pass its check.
    #[error("`{key}` cannot be `{found}`: {problem}")]
    BadText {
        /// The key.
        key: String,
        /// What stands there.
        found: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A list with too little in it.
    #[error("`{key}` has {found} entries and needs at least {min}")]
    TooFew {
        /// The key.
        key: String,
        /// How many there are.
        found: usize,
        /// How many there have to be.
        min: usize,
    },
    /// A key that has to be there.
    #[error("{section} has no `{key}`, which it needs")]
    Missing {
        /// The key.
        key: String,
        /// The section.
        section: String,
    },
    /// Keys that do not go together.
    #[error("{problem}")]
    Conflict {
        /// What does not go together.
        problem: String,
    },
    /// A rule that policy cannot understand.
    #[error("this rule cannot be used: {}", in_one_line(.0))]
    Rule(RuleError),
    /// A pattern that the path sandbox cannot understand.
    #[error("`{key}` has the pattern `{pattern}`: {problem}")]
    Pattern {
        /// The key.
        key: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: PatternError,
    },
    /// Something that the readers disagree about.
    #[error("`{key}` was read and cannot be used: {message}")]
    Unusable {
        /// The key.
        key: String,
        /// What went wrong.
        message: String,
    },
}

impl SettingErrorKind {
    /// A word of a file that is none of those known.
    pub(crate) fn unknown_value<'k>(
        key: String,
        found: &str,
        known: impl IntoIterator<Item = &'k str> + Clone,
    ) -> Self {
        let begins = |word: &&str| !found.is_empty() && word.starts_with(found);
        let near = nearest(found, known.clone());
        let near = near.or_else(|| known.clone().into_iter().find(begins));
        Self::UnknownValue {
            key,
            found: picture::quoted(found),
            nearest: near.map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// What to do about it, if there is more to say than what is wrong.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownKey { instead, .. } => instead.clone(),
            Self::NotSupported { .. } => Some("remove it".to_owned()),
            Self::UnknownValue { nearest, .. } => nearest
                .as_ref()
                .map(|word| format!("did you mean `{word}`?")),
            Self::WrongType {
                expected, found, ..
            } if expected.starts_with("text") => {
                matches!(*found, "a whole number" | "true or false" | "a date")
                    .then(|| "put it in quotes".to_owned())
            }
            Self::WrongType {
                expected,
                found: "text",
                ..
            } if expected.starts_with("a list") => Some("put it in brackets: `[\"…\"]`".to_owned()),
            Self::WrongType {
                expected,
                found: "text",
                ..
            } if matches!(expected.as_str(), "true or false" | "a whole number") => {
                Some("write it without quotes".to_owned())
            }
            _ => None,
        }
    }
}

impl SettingError {
    pub(crate) fn new(source: &Source, span: Range<usize>, fault: SettingErrorKind) -> Self {
        Self {
            fault,
            source: source.clone(),
            span,
        }
    }

    /// The file it is in.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// The one-based line and column where it starts.
    pub fn place(&self) -> (u32, u32) {
        self.source.place(self.span.start)
    }

    /// The mistake with its line and a caret under it; with terminal colours if wanted.
    pub fn picture(&self, colours: bool) -> String {
        picture::draw(self, colours)
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.picture(false))
    }
}

/// How many mistakes are pictured; the rest is counted.
const PICTURED: usize = 50;

/// The mistakes of all files, in the order of layers and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingErrors {
    pub(crate) all: Vec<SettingError>,
}

impl SettingErrors {
    /// All of them.
    pub fn all(&self) -> &[SettingError] {
        &self.all
    }

    /// The mistakes as pictures, with a count at the end.
    pub fn pictures(&self, colours: bool) -> String {
        let mut text = String::new();
        for mistake in self.all.iter().take(PICTURED) {
            text.push_str(&mistake.picture(colours));
            text.push('\n');
        }
        let rest = self.all.len().saturating_sub(PICTURED);
        if rest > 0 {
            text.push_str(&format!("and {rest} more\n\n"));
        }
        match self.all.len() {
            1 => text.push_str("1 mistake in the configuration; nothing was run\n"),
            many => text.push_str(&format!(
                "{many} mistakes in the configuration; nothing was run\n"
            )),
        }
        text
    }
}

impl fmt::Display for SettingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pictures(false))
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Files have mistakes.
    #[error("{0}")]
    SettingErrors(SettingErrors),
    /// Whether the project's file is trusted cannot be told.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn bound(low: bool, min: u64, max: u64) -> String {
    if low {
        format!("least {min}")
    } else {
        format!("most {max}")
    }
}

fn listed(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// A fault without the drawing that the library for expressions adds.
fn in_one_line(fault: &RuleError) -> String {
    match fault {
        RuleError::Regex {
            param,
            pattern,
            message,
        } => {
            let last = message.lines().last().unwrap_or_default();
            let message = last.strip_prefix("error: ").unwrap_or(last).to_owned();
            RuleError::Regex {
                param: param.clone(),
                pattern: pattern.clone(),
                message,
            }
            .to_string()
        }
        other => other.to_string(),
    }
}
