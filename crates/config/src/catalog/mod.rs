//! Every key there is: one table from which files are read, layers merged,
//! values shown and the schema made.
//!
//! ```text
//! Key { name, shape, default, join, project } ──▶ read   what a value must look like
//!                                             ├─▶ merge  what a later layer does to it, and an untrusted one
//!                                             ├─▶ show   which values there are
//!                                             └─▶ schema what an editor may offer
//! ```
//!
//! A key that is missing here is unknown everywhere; nothing else lists keys.

mod check;
mod rules;
mod services;
mod tools;

use serde_json::{Value, json};

use crate::key_path::KeyPath;

pub(crate) use check::Check;

/// A key of the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) default: Fallback,
    pub(crate) join: Join,
    pub(crate) project: Project,
    /// Whether its table is wrong without it.
    pub(crate) required: bool,
    /// Whether its values are kept from being shown.
    pub(crate) secret: bool,
    /// The key of the same table that it is another spelling of.
    pub(crate) short_for: Option<&'static str>,
    pub(crate) doc: &'static str,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A number from 0, with or without a point: an amount of money.
    Price,
    /// Text that passes a check.
    Text(Check),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list.
    List { item: &'static Shape, min: usize },
    /// One of several, which are told apart by their type.
    Either(&'static [Shape]),
    /// Text under names of the file's choice.
    Texts,
    /// A table with these keys.
    Table(&'static [Key]),
    /// Tables with these keys under names of the file's choice.
    Named(&'static [Key]),
    /// A table with anything in it.
    Anything,
}

/// The default of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// Nothing.
    Unset,
    Flag(bool),
    Count(u64),
    Text(&'static str),
    List(&'static [&'static str]),
}

/// What a value of a later layer does to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// It takes its place.
    Replace,
    /// It is added to it.
    Add,
    /// It takes its place, except that an untrusted layer's list stands beside it.
    Fence,
}

/// What the file of a project may do with a key before the user trusts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// Nothing: the value is ignored, and that is said.
    Ignored,
    /// Whatever it says makes things stricter.
    Counts,
    /// Make it smaller; unset is the largest.
    Lowers,
    /// Set it to this, and to nothing else.
    Sets(bool),
    /// Move it towards the first of these.
    Tightens(&'static [&'static str]),
    /// Like `Tightens`, for the key that has no one order with being unset.
    DefaultAction,
    /// Keep calls inside these directories.
    Narrows,
}

impl Project {
    /// The word of the documentation for it.
    const fn word(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Counts => "counts",
            Self::Lowers => "lowers",
            Self::Sets(true) => "true",
            Self::Sets(false) => "false",
            Self::Tightens(_) | Self::DefaultAction => "stricter",
            Self::Narrows => "narrows",
        }
    }
}

/// The most that a count may be where the specification sets no bound.
const MANY: u64 = 1 << 40;

/// A year: longer waits are mistakes.
const YEAR_SECONDS: u64 = 365 * 24 * 60 * 60;

impl Key {
    const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            name,
            shape,
            default: Fallback::Unset,
            join: Join::Replace,
            project: Project::Ignored,
            required: false,
            secret: false,
            short_for: None,
            doc,
        }
    }

    const fn or(mut self, default: Fallback) -> Self {
        self.default = default;
        self
    }

    const fn project(mut self, project: Project) -> Self {
        self.project = project;
        self
    }

    /// A list to which every layer adds, an untrusted one too.
    const fn adds(mut self) -> Self {
        self.default = Fallback::List(&[]);
        self.join = Join::Add;
        self.project = Project::Counts;
        self
    }

    /// A list of the only things that may be done.
    const fn fences(mut self) -> Self {
        self.default = Fallback::List(&[]);
        self.join = Join::Fence;
        self.project = Project::Counts;
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn short_for(mut self, key: &'static str) -> Self {
        self.short_for = Some(key);
        self
    }
}

impl Fallback {
    /// The value, if there is one.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            Self::Unset => None,
            Self::Flag(flag) => Some(json!(flag)),
            Self::Count(count) => Some(json!(count)),
            Self::Text(text) => Some(json!(text)),
            Self::List(list) => Some(json!(list)),
        }
    }
}

impl Shape {
    const fn list(item: &'static Self) -> Self {
        Self::List { item, min: 0 }
    }

    /// What it is, in words: `a whole number`.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Count { .. } => "a whole number".to_owned(),
            Self::Price => "a number from 0".to_owned(),
            Self::Text(_) | Self::Choice(_) => "text in quotes".to_owned(),
            Self::List { item, .. } => format!("a list of {}", item.plural()),
            Self::Either(shapes) => {
                let all: Vec<String> = shapes.iter().map(Self::expected).collect();
                all.join(" or ")
            }
            Self::Texts => "a table of texts".to_owned(),
            Self::Table(_) | Self::Named(_) | Self::Anything => "a table".to_owned(),
        }
    }

    fn plural(&self) -> String {
        match self {
            Self::Flag => "flags".to_owned(),
            Self::Count { .. } => "whole numbers".to_owned(),
            Self::Price => "numbers".to_owned(),
            Self::Text(_) | Self::Choice(_) => "texts".to_owned(),
            Self::List { .. } => "lists".to_owned(),
            Self::Either(shapes) => {
                let all: Vec<String> = shapes.iter().map(Self::plural).collect();
                all.join(" or ")
            }
            Self::Texts | Self::Table(_) | Self::Named(_) | Self::Anything => "tables".to_owned(),
        }
    }
}

/// The sections of a file.
pub(crate) const ROOT: &[Key] = &[
    Key::new(
        "tools",
        Shape::Table(tools::TOOLS),
        "What tools may do and how much of it.",
    ),
    Key::new(
        "defaults",
        Shape::Table(services::DEFAULTS),
        "What is used where the command line names nothing else.",
    ),
    Key::new(
        "presets",
        Shape::Named(services::PRESET),
        "Ways of working that `--preset NAME` chooses.",
    ),
    Key::new(
        "providers",
        Shape::Named(services::PROVIDER),
        "Where models are reached.",
    ),
    Key::new(
        "search",
        Shape::Table(services::SEARCH),
        "Where `web_search` asks.",
    ),
    Key::new(
        "server",
        Shape::Table(services::SERVER),
        "What `toolgate serve` listens on.",
    ),
    Key::new(
        "journal",
        Shape::Table(services::JOURNAL),
        "Where the record is kept.",
    ),
];

/// Sections of features that do not exist yet, each with what it will be for. They are refused:
/// a section that was accepted and ignored would look as if it worked.
pub(crate) const NOT_YET: &[(&str, &str)] = &[("mcp", "MCP servers")];

/// A key in full, for documentation and editors.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownKey {
    /// The key with its sections; `*` stands for a name of the file's choice.
    pub path: String,
    /// What it means.
    pub doc: &'static str,
    /// Its default, if it has one.
    pub default: Option<Value>,
    /// The key that it is another spelling of.
    pub short_for: Option<String>,
    /// What the file of an untrusted project may do with it, in a word.
    pub project: &'static str,
}

/// Every key that holds a value, in the order of the table.
pub fn keys() -> Vec<KnownKey> {
    let mut all = Vec::new();
    collect("", ROOT, &mut all);
    all
}

fn collect(prefix: &str, keys: &'static [Key], all: &mut Vec<KnownKey>) {
    for key in keys {
        let path = join(prefix, key.name);
        match key.shape {
            Shape::Table(inner) => collect(&path, inner, all),
            Shape::Named(inner) => collect(&join(&path, "*"), inner, all),
            _ => all.push(KnownKey {
                path,
                doc: key.doc,
                default: key.default.value(),
                short_for: key.short_for.map(|target| join(prefix, target)),
                project: keys
                    .iter()
                    .find(|other| Some(other.name) == key.short_for)
                    .unwrap_or(key)
                    .project
                    .word(),
            }),
        }
    }
}

/// The key of a path, if there is one that holds a value.
pub(crate) fn find(path: &KeyPath) -> Option<&'static Key> {
    let mut keys = ROOT;
    let mut names = path.names().iter();
    loop {
        let name = names.next()?;
        let key = keys.iter().find(|key| key.name == name.as_str())?;
        match key.shape {
            Shape::Table(inner) => keys = inner,
            Shape::Named(inner) => {
                names.next()?;
                keys = inner;
            }
            _ => return names.next().is_none().then_some(key),
        }
    }
}

/// A key under a prefix of sections.
fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_is_listed_twice_and_short_forms_lead_somewhere() {
        let all = keys();
        let paths: HashSet<&str> = all.iter().map(|key| key.path.as_str()).collect();
        assert_eq!(paths.len(), all.len());
        for key in &all {
            assert!(key.doc.ends_with('.'), "{}: {}", key.path, key.doc);
            if let Some(target) = &key.short_for {
                assert!(paths.contains(target.as_str()), "{target}");
            }
        }
    }

    #[test]
    fn what_a_shape_expects_is_said_in_words() {
        const WORD: Shape = Shape::Text(Check::Filled);
        const WORDS: Shape = Shape::list(&WORD);
        for (shape, words) in [
            (Shape::Flag, "true or false"),
            (WORDS, "a list of texts"),
            (
                Shape::Either(&[WORD, WORDS]),
                "text in quotes or a list of texts",
            ),
            (
                Shape::list(&Shape::Either(&[WORD, Shape::Anything])),
                "a list of texts or tables",
            ),
        ] {
            assert_eq!(shape.expected(), words);
        }
    }
}
