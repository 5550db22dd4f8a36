//! The table of known programs, read once.
//!
//! The rows stand in `table.txt`, whose head says how they are written. A row
//! that cannot be read would be a mistake of this crate; a test finds it, and
//! until then its program counts as one that cannot be foreseen.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

const TEXT: &str = include_str!("table.txt");

/// Rows of programs that only run others; they follow those of `table.txt`.
const TOOLS: &str = include_str!("tools.txt");

/// Names of programs that run others by design.
const RUNNERS: &str = include_str!("runners.txt");

/// Programs that are installed under names with a version behind.
const VERSIONED: &[&str] = &[
    "bash", "clang", "clang++", "emacs", "g++", "gawk", "gcc", "guile", "java", "ksh", "lua",
    "luajit", "node", "perl", "php", "pip", "pypy", "python", "ruby", "tclsh", "vim", "wish",
    "zsh",
];

static TABLE: LazyLock<HashMap<&'static str, Program>> =
    LazyLock::new(|| read(&[TEXT, TOOLS], RUNNERS).0);

/// What a word does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Data,
    Read,
    /// Read, and run by what reads it.
    Program,
    Write,
    Replace,
    Delete,
    DeleteTree,
    Attributes,
    Connect,
    TransferFrom,
    TransferTo,
    Text,
    Setting,
    Directory,
    Split,
    GitSetting,
    Opaque,
    Deny(Harm),
}

/// Kinds of catastrophe that a row can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Power,
    Disk,
    Kernel,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    None,
    Optional,
    Required,
    /// Two words, both data.
    Pair,
}

/// Which operand an option takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaces {
    Nothing,
    First,
    Last,
}

/// One option of a program.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    pub(crate) names: Box<[&'static str]>,
    pub(crate) arity: Arity,
    pub(crate) effect: Effect,
    pub(crate) replaces: Replaces,
    pub(crate) mark: Option<char>,
    /// Listed once for all subcommands, most of which do not have it.
    pub(crate) shared: bool,
}

/// What the operands end in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    #[default]
    Operands,
    Command,
    Line,
    Subcommand,
}

/// What the operands are, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) before: Vec<Effect>,
    pub(crate) many: Option<Effect>,
    pub(crate) after: Vec<Effect>,
    /// Settings (`NAME=value`) may stand before the operands.
    pub(crate) settings: bool,
    pub(crate) end: End,
}

/// Traits of a row; the head of the table says what they mean.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one word of the table"
)]
pub(crate) struct Traits {
    pub(crate) any: bool,
    pub(crate) both: bool,
    pub(crate) closed: bool,
    pub(crate) long: bool,
    pub(crate) here: bool,
    pub(crate) keep: bool,
    pub(crate) peek: bool,
    pub(crate) probe: bool,
    pub(crate) away: bool,
    pub(crate) package: bool,
    pub(crate) opaque: bool,
    pub(crate) stdin: bool,
    pub(crate) wild: bool,
    pub(crate) stop: bool,
    pub(crate) own: bool,
    pub(crate) open: bool,
    pub(crate) listed: bool,
    pub(crate) runner: bool,
    pub(crate) deny: Option<Harm>,
    pub(crate) code: &'static str,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) shape: Shape,
    /// One option often belongs to many rows: most rows of a program share a list.
    flags: Vec<Arc<Flag>>,
    pub(crate) traits: Traits,
}

impl Row {
    /// The options.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &Flag> {
        self.flags.iter().map(Arc::as_ref)
    }
}

/// A program with the rows of its subcommands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) row: Arc<Row>,
    subcommands: HashMap<&'static str, Program>,
}

impl Program {
    /// The row of a subcommand, or the one for all others.
    pub(crate) fn subcommand(&self, word: &str) -> Option<&Self> {
        self.subcommands
            .get(word)
            .filter(|_| word != "--")
            .or_else(|| self.subcommands.get("*"))
    }

    /// The row for the words behind `--`, if they have one.
    pub(crate) fn behind_dashes(&self) -> Option<&Self> {
        self.subcommands.get("--")
    }

    /// The rows of all subcommands.
    pub(crate) fn below(&self) -> impl Iterator<Item = &Self> {
        self.subcommands.values()
    }

    /// Whether the table names this subcommand itself.
    pub(crate) fn names_subcommand(&self, word: &str) -> bool {
        self.subcommands.contains_key(word)
    }
}

/// The program of this bare name.
///
/// `mkfs.ext4` is `mkfs`, and `python3.12` is `python`: what follows the name
/// is a kind or a version.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    if let Some(program) = TABLE.get(name) {
        return Some(program);
    }
    let stem = name.split('.').next().unwrap_or(name);
    if stem == "mkfs" {
        return TABLE.get(stem);
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    VERSIONED.contains(&stem).then(|| TABLE.get(stem)).flatten()
}

/// All bare names that have a row.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

fn read(
    texts: &[&'static str],
    runners: &'static str,
) -> (HashMap<&'static str, Program>, Vec<&'static str>) {
    let mut table: HashMap<&'static str, Program> = HashMap::new();
    let mut broken = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (row, fine) = match row(line) {
            Some(row) => (row, true),
            None => (
                Row {
                    traits: Traits {
                        opaque: true,
                        ..Traits::default()
                    },
                    ..Row::default()
                },
                false,
            ),
        };
        if !fine {
            broken.push(line);
        }
        let head = line.split('|').next().unwrap_or_default();
        let levels: Vec<&'static str> = head.split_whitespace().collect();
        insert(&mut table, &levels, &Arc::new(row));
    }
    for program in table.values_mut() {
        if let Some(shared) = program.subcommands.remove("+") {
            let shared: Vec<Arc<Flag>> = shared.row.flags.iter().map(as_shared).collect();
            share_options(program, &shared);
        }
    }
    let names = runners.lines().filter(|line| !line.starts_with('#'));
    for name in names.flat_map(str::split_whitespace) {
        mark_runner(table.entry(name).or_default());
    }
    (table, broken)
}

fn as_shared(flag: &Arc<Flag>) -> Arc<Flag> {
    Arc::new(Flag {
        shared: true,
        ..Flag::clone(flag)
    })
}

/// Gives options to all subcommands that do not list them themselves.
fn share_options(program: &mut Program, shared: &[Arc<Flag>]) {
    let below = program.subcommands.iter_mut();
    // Behind `--` the words are for another program.
    for (_, below) in below.filter(|(name, _)| **name != "--") {
        let row = &below.row;
        let mut flags = Vec::with_capacity(row.flags.len() + shared.len());
        flags.extend_from_slice(&row.flags);
        for flag in shared {
            let is_own = |name: &&str| flags.iter().any(|own| own.names.contains(name));
            let (own, others): (Vec<_>, Vec<_>) = flag.names.iter().copied().partition(is_own);
            if own.is_empty() {
                flags.push(Arc::clone(flag));
            } else if !others.is_empty() {
                flags.push(Arc::new(Flag {
                    names: others.into(),
                    ..Flag::clone(flag)
                }));
            }
        }
        Arc::make_mut(&mut below.row).flags = flags;
        share_options(below, shared);
    }
}

fn mark_runner(program: &mut Program) {
    let traits = &mut Arc::make_mut(&mut program.row).traits;
    traits.runner = true;
    traits.closed |= !traits.open;
    program.subcommands.values_mut().for_each(mark_runner);
}

fn insert(table: &mut HashMap<&'static str, Program>, levels: &[&'static str], row: &Arc<Row>) {
    let Some((names, below)) = levels.split_first() else {
        return;
    };
    for name in names.split(',') {
        let program = table.entry(name).or_default();
        if below.is_empty() {
            program.row = Arc::clone(row);
        } else {
            insert(&mut program.subcommands, below, row);
        }
    }
}

fn row(line: &'static str) -> Option<Row> {
    let mut columns = line.split('|');
    columns.next()?;
    let operands = columns.next()?;
    let options = columns.next()?;
    if columns.next().is_some() {
        return None;
    }
    let mut row = Row {
        shape: shape(operands)?,
        ..Row::default()
    };
    for token in options.split_whitespace() {
        match token.strip_prefix('@') {
            Some(name) => set_trait(&mut row.traits, name)?,
            None => row.flags.push(Arc::new(flag(token)?)),
        }
    }
    row.flags.shrink_to_fit();
    Some(row)
}

fn set_trait(traits: &mut Traits, name: &'static str) -> Option<()> {
    match name.split_once(':') {
        Some(("code", code)) => traits.code = code,
        Some(("own", code)) => {
            traits.code = code;
            traits.own = true;
        }
        Some(("deny", harm)) => traits.deny = Some(harm_named(harm)?),
        Some(_) => return None,
        None => match name {
            "any" => traits.any = true,
            "both" => traits.both = true,
            "closed" => traits.closed = true,
            "long" => traits.long = true,
            "here" => traits.here = true,
            "keep" => traits.keep = true,
            "peek" => traits.peek = true,
            "probe" => traits.probe = true,
            "away" => traits.away = true,
            "package" => traits.package = true,
            "opaque" => traits.opaque = true,
            "stdin" => traits.stdin = true,
            "wild" => traits.wild = true,
            "stop" => traits.stop = true,
            "open" => traits.open = true,
            "listed" => traits.listed = true,
            _ => return None,
        },
    }
    Some(())
}

fn harm_named(name: &str) -> Option<Harm> {
    match name {
        "power" => Some(Harm::Power),
        "disk" => Some(Harm::Disk),
        "kernel" => Some(Harm::Kernel),
        _ => None,
    }
}

fn shape(text: &str) -> Option<Shape> {
    let mut shape = Shape::default();
    for token in text.split_whitespace() {
        match token {
            "cmd" => shape.end = End::Command,
            "line" => shape.end = End::Line,
            "sub" => shape.end = End::Subcommand,
            "=" => shape.settings = true,
            _ => match token.strip_suffix('*') {
                Some(kind) => shape.many = Some(effect(kind)?),
                None if shape.many.is_some() => shape.after.push(effect(token)?),
                None => shape.before.push(effect(token)?),
            },
        }
    }
    Some(shape)
}

fn effect(kind: &str) -> Option<Effect> {
    Some(match kind {
        "_" => Effect::Data,
        "r" => Effect::Read,
        "p" => Effect::Program,
        "w" => Effect::Write,
        "W" => Effect::Replace,
        "d" => Effect::Delete,
        "D" => Effect::DeleteTree,
        "a" => Effect::Attributes,
        "c" => Effect::Connect,
        "f" => Effect::TransferFrom,
        "t" => Effect::TransferTo,
        "x" => Effect::Text,
        "cd" => Effect::Directory,
        "s" => Effect::Split,
        "k" => Effect::GitSetting,
        "!" => Effect::Opaque,
        _ => return None,
    })
}

fn flag(token: &'static str) -> Option<Flag> {
    let (token, replaces) = match (token.strip_suffix('<'), token.strip_suffix('>')) {
        (Some(rest), _) => (rest, Replaces::First),
        (_, Some(rest)) => (rest, Replaces::Last),
        _ => (token, Replaces::Nothing),
    };
    let at = token.find(['=', '?', '!', ':', '%']).unwrap_or(token.len());
    let (names, rest) = token.split_at_checked(at)?;
    let mut rest_chars = rest.chars();
    let kind = rest_chars.next();
    let behind = rest_chars.as_str();
    let mut mark = None;
    let (arity, effect) = match kind {
        None => (Arity::None, Effect::Data),
        Some('=') if behind == "_2" => (Arity::Pair, Effect::Data),
        Some('=') => (Arity::Required, effect(behind)?),
        Some('?') => (Arity::Optional, effect(behind)?),
        Some('!') => (Arity::None, Effect::Opaque),
        Some('%') => (Arity::None, Effect::Deny(harm_named(behind)?)),
        Some(_) => {
            mark = behind.chars().next();
            mark?;
            (Arity::None, Effect::Data)
        }
    };
    let names: Box<[&'static str]> = names.split(',').collect();
    if names.iter().any(|name| !name.starts_with('-')) {
        return None;
    }
    Some(Flag {
        names,
        arity,
        effect,
        replaces,
        mark,
        shared: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        let (_, broken) = read(&[TEXT, TOOLS], RUNNERS);
        assert_eq!(broken, Vec::<&str>::new());
        assert!(names().count() > 300);
    }

    #[test]
    fn rows_are_found_by_name_kind_and_version() {
        assert!(find("git").is_some_and(|git| git.subcommand("log").is_some()));
        assert!(find("mkfs.ext4").is_some_and(|mkfs| mkfs.row.traits.deny == Some(Harm::Disk)));
        assert!(find("python3.12").is_some());
        assert!(find("cmd1").is_none());
        assert!(find("add").is_none());
        assert!(find("7").is_none());
    }

    #[test]
    fn options_say_what_they_do() {
        let flag = flag("-e,--regexp=_<").unwrap();
        assert_eq!(*flag.names, ["-e", "--regexp"]);
        assert_eq!(
            (flag.arity, flag.replaces),
            (Arity::Required, Replaces::First)
        );
        assert_eq!(super::flag("-R,--recursive:R").unwrap().mark, Some('R'));
        assert_eq!(
            super::flag("-w%kernel").unwrap().effect,
            Effect::Deny(Harm::Kernel)
        );
        assert!(super::flag("oops=w").is_none());
    }
}
