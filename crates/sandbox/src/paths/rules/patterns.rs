//! Sets of patterns over whole paths.
//!
//! The language is gitignore's, with braces: a pattern without a slash matches a
//! component anywhere, one with a slash is anchored at the root unless it starts
//! with `**/`, `*` does not cross a slash. A pattern that matches a directory matches all in
//! it, so `x`, `x/` and `x/**` mean the same. There is no `!`: patterns here deny
//! or protect, and nothing in the list takes that back.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::braces::expand_braces;
use super::data_names::{is_in_tree, is_no_data};
use super::fold::Folded;
use super::glob::NameGlob;
use super::guard::folded;

/// Segments of one pattern are states in a 64-bit set, with one bit for the end.
const MOST_SEGMENTS: usize = 63;

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It starts with `!`.
    #[error("`!` does not work here: a pattern can only add to what is denied or protected")]
    Negated,
    /// `[` without `]`.
    #[error("a `[` is not closed")]
    UnclosedClass,
    /// `{` without `}`.
    #[error("a `{{` is not closed")]
    UnclosedBrace,
    /// More than fits.
    #[error("it has too many parts or alternatives")]
    TooLarge,
    /// `.` or `..` as a component.
    #[error("`.` and `..` never fit: paths are compared without them")]
    Dots,
}

/// A pattern with the refinements that only built-in rules need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<'a> {
    text: &'a str,
    unless: Option<fn(&[u8]) -> bool>,
    file_only: bool,
    numbered: bool,
    data_only: bool,
}

impl<'a> Rule<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self {
            text,
            unless: None,
            file_only: false,
            numbered: false,
            data_only: false,
        }
    }

    /// Matches files beneath and by this name, but for source code, documentation, templates
    /// and what lies in dependency trees.
    pub(crate) const fn data(text: &'a str) -> Self {
        let mut rule = Self::new(text);
        rule.data_only = true;
        rule
    }

    /// Matches the text followed by digits, and nothing else.
    pub(crate) const fn numbered(text: &'a str) -> Self {
        let mut rule = Self::new(text);
        rule.numbered = true;
        rule
    }

    pub(crate) const fn text(&self) -> &'a str {
        self.text
    }

    /// Does not match these names.
    pub(crate) const fn unless(mut self, names: fn(&[u8]) -> bool) -> Self {
        self.unless = Some(names);
        self
    }

    /// Matches only the last component, and only where that is or becomes a file.
    pub(crate) const fn file(mut self) -> Self {
        self.file_only = true;
        self
    }
}

/// How much of a path is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The path and every directory on the way to it.
    Whole,
    /// The path itself; the directories on the way were looked at before.
    Last,
}

#[derive(Clone, Debug)]
enum Segment {
    /// `**`
    Deep,
    Name(NameGlob),
}

#[derive(Clone, Debug)]
struct NameRule {
    glob: NameGlob,
    unless: Option<fn(&[u8]) -> bool>,
    text: usize,
}

#[derive(Clone, Debug)]
struct PathRule {
    segments: Vec<Segment>,
    text: usize,
}

impl PathRule {
    /// A name without which nothing matches.
    fn needs(&self) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| match segment {
            Segment::Name(NameGlob::Exact(name)) => Some(name.as_slice()),
            _ => None,
        })
    }
}

/// A compiled set of patterns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    texts: Vec<String>,
    exact: HashMap<Box<[u8]>, usize>,
    /// First bytes of `exact` and `needed`, so that most names are never hashed.
    exact_starts: Vec<u8>,
    names: Vec<NameRule>,
    file_names: Vec<NameRule>,
    /// Names of data: of a file, or of any directory on the way to it.
    data_names: Vec<NameRule>,
    /// Whether all of it is a dependency tree, where no name says that a file is data.
    is_tree: bool,
    paths: Vec<PathRule>,
    /// Positions in `paths` of the rules that need a name, by that name.
    needed: HashMap<Box<[u8]>, Vec<usize>>,
    /// Positions in `paths` of the others.
    unneeding: Vec<usize>,
}

impl Patterns {
    /// Adds one rule.
    pub(crate) fn add(&mut self, rule: Rule<'_>) -> Result<(), PatternError> {
        let text = self.texts.len();
        self.texts.push(rule.text.trim_end_matches('/').to_owned());
        if rule.numbered {
            let glob = NameGlob::Numbered(rule.text.as_bytes().to_vec());
            self.add_name(rule, glob, text);
            return Ok(());
        }
        let mut alternatives = Vec::new();
        expand_braces(rule.text, &mut alternatives)?;
        for alternative in alternatives {
            let segments = segments(&alternative)?;
            match segments.as_slice() {
                [Segment::Deep, Segment::Name(glob)] => self.add_name(rule, glob.clone(), text),
                _ => self.add_path(PathRule { segments, text }),
            }
        }
        Ok(())
    }

    fn add_path(&mut self, rule: PathRule) {
        let at = self.paths.len();
        match rule.needs() {
            Some(name) => {
                self.exact_starts.extend(name.first());
                self.needed.entry(name.into()).or_default().push(at);
            }
            None => self.unneeding.push(at),
        }
        self.paths.push(rule);
        self.sort_starts();
    }

    /// Adds what is left of each rule behind the way to a directory, so that paths beneath
    /// it are found by rules that begin above it: beneath `/home/ann/.config`, the rule
    /// `**/.config/gcloud` finds `gcloud`. A rule that matches the directory itself, or one
    /// above it, adds nothing: a root that is named means all of it.
    pub(crate) fn seen_from(&mut self, directory: &Path) {
        let way = folded(directory.as_os_str().as_encoded_bytes());
        let mut rests = Vec::new();
        for rule in &self.paths {
            // A rule that is anchored is anchored at the root.
            if !matches!(rule.segments.first(), Some(Segment::Deep)) {
                continue;
            }
            let start = past_deep(&rule.segments, 1);
            for form in way.forms() {
                let step = |states, name: &Cow<'_, [u8]>| step(&rule.segments, states, name);
                let states = form.iter().fold(start, step) & !start;
                if states & end(&rule.segments) != 0 {
                    continue;
                }
                let rest = |at: usize| rule.segments.get(at..).map(<[Segment]>::to_vec);
                let open = (0..rule.segments.len()).filter(|at| states & (1 << at) != 0);
                rests.extend(open.filter_map(rest).map(|segments| PathRule {
                    segments,
                    text: rule.text,
                }));
            }
        }
        for rest in rests {
            self.add_path(rest);
        }
    }

    fn sort_starts(&mut self) {
        self.exact_starts.sort_unstable();
        self.exact_starts.dedup();
    }

    fn add_name(&mut self, rule: Rule<'_>, glob: NameGlob, text: usize) {
        let unless = rule.unless;
        match glob {
            glob if rule.data_only => self.data_names.push(NameRule { glob, unless, text }),
            glob if rule.file_only => self.file_names.push(NameRule { glob, unless, text }),
            // One name is that name; it has no exceptions.
            NameGlob::Exact(name) => {
                self.exact_starts.extend(name.first());
                self.sort_starts();
                self.exact.entry(name.into()).or_insert(text);
            }
            glob => self.names.push(NameRule { glob, unless, text }),
        }
    }

    /// Whether nothing ever matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The first pattern that matches the path, or a directory on the way to it.
    pub(crate) fn find(&self, path: &Folded<'_>, scope: Scope) -> Option<&str> {
        path.forms().enumerate().find_map(|(nth, form)| {
            // One component can be several in the forgiving form, so there the
            // last one alone would not be enough.
            let looked_at = match scope {
                Scope::Last if nth == 0 => {
                    form.last().map(std::slice::from_ref).unwrap_or_default()
                }
                _ => form,
            };
            looked_at
                .iter()
                .find_map(|name| self.find_name(name))
                .or_else(|| self.find_path(form))
                .and_then(|text| self.texts.get(text))
                .map(String::as_str)
        })
    }

    /// The first pattern that is only about files and matches this one.
    pub(crate) fn find_file(&self, path: &Folded<'_>) -> Option<&str> {
        path.forms().find_map(|form| {
            let name = form.last()?;
            let rule = self.file_names.iter().find(|rule| rule.fits(name));
            let found = rule.map(|rule| rule.text).or_else(|| self.find_data(form));
            self.texts.get(found?).map(String::as_str)
        })
    }

    /// The first pattern about data that matches an entry which is no directory.
    pub(crate) fn find_data_file(&self, path: &Folded<'_>) -> Option<&str> {
        let found = path.forms().find_map(|form| self.find_data(form))?;
        self.texts.get(found).map(String::as_str)
    }

    /// The first pattern about data that matches a name on this way, whatever lies there.
    pub(crate) fn find_data_name(&self, way: &Folded<'_>) -> Option<&str> {
        let found = way.forms().find_map(|form| {
            let found = self.data_name(form)?;
            (!is_in_tree(form)).then_some(found)
        })?;
        self.texts.get(found).map(String::as_str)
    }

    fn find_data(&self, path: &[Cow<'_, [u8]>]) -> Option<usize> {
        let found = self.data_name(path)?;
        (!is_no_data(path)).then_some(found)
    }

    fn data_name(&self, path: &[Cow<'_, [u8]>]) -> Option<usize> {
        if self.is_tree {
            return None;
        }
        let fits = |rule: &&NameRule| path.iter().any(|name| rule.fits(name));
        self.data_names.iter().find(fits).map(|rule| rule.text)
    }

    /// Makes of the patterns those beneath a directory that is no root.
    pub(crate) fn beneath(&mut self, directory: &Path) {
        let way = folded(directory.as_os_str().as_encoded_bytes());
        self.is_tree = way.only_form().is_some_and(is_in_tree);
        self.seen_from(directory);
    }

    /// The first pattern with a slash that matches a whole path or a directory on the way.
    fn find_path(&self, path: &[Cow<'_, [u8]>]) -> Option<usize> {
        let needed = path.iter().filter_map(|name| {
            let starts = name.first().is_some_and(|b| self.exact_starts.contains(b));
            starts.then(|| self.needed.get(name.as_ref())).flatten()
        });
        needed
            .chain([&self.unneeding])
            .flatten()
            .filter_map(|at| self.paths.get(*at))
            .filter(|rule| fits_path(&rule.segments, path))
            .map(|rule| rule.text)
            .min()
    }

    fn find_name(&self, name: &[u8]) -> Option<usize> {
        let first = name.first()?;
        if self.exact_starts.contains(first)
            && let Some(text) = self.exact.get(name)
        {
            return Some(*text);
        }
        self.names
            .iter()
            .find(|rule| rule.fits(name))
            .map(|rule| rule.text)
    }
}

impl NameRule {
    fn fits(&self, name: &[u8]) -> bool {
        self.glob.matches(name) && !self.unless.is_some_and(|unless| unless(name))
    }
}

/// Runs the segments as a set of states over the components: the work is bounded
/// by their product, whatever the number of `**`.
fn fits_path(segments: &[Segment], path: &[Cow<'_, [u8]>]) -> bool {
    let mut states = past_deep(segments, 1);
    for name in path {
        states = step(segments, states, name);
        if states & end(segments) != 0 {
            return true;
        }
        if states == 0 {
            return false;
        }
    }
    false
}

/// The state in which all segments have matched.
fn end(segments: &[Segment]) -> u64 {
    1 << segments.len().min(MOST_SEGMENTS)
}

/// The states after one component more.
fn step(segments: &[Segment], states: u64, name: &[u8]) -> u64 {
    let mut next = 0;
    for (at, segment) in segments.iter().enumerate() {
        if states & (1 << at) == 0 {
            continue;
        }
        match segment {
            Segment::Deep => next |= 1 << at,
            Segment::Name(glob) if glob.matches(name) => next |= 1 << (at + 1),
            Segment::Name(_) => {}
        }
    }
    past_deep(segments, next)
}

/// `**` may match nothing: a position in front of it is behind it as well.
fn past_deep(segments: &[Segment], mut states: u64) -> u64 {
    for (at, segment) in segments.iter().enumerate() {
        if matches!(segment, Segment::Deep) && states & (1 << at) != 0 {
            states |= 1 << (at + 1);
        }
    }
    states
}

fn segments(pattern: &str) -> Result<Vec<Segment>, PatternError> {
    if pattern.starts_with('!') {
        return Err(PatternError::Negated);
    }
    let anchored = pattern.trim_end_matches('/').contains('/');
    let mut segments = Vec::new();
    if !anchored {
        segments.push(Segment::Deep);
    }
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        match part {
            "." | ".." => return Err(PatternError::Dots),
            "**" if matches!(segments.last(), Some(Segment::Deep)) => {}
            "**" => segments.push(Segment::Deep),
            name => segments.push(Segment::Name(
                NameGlob::compile(name).ok_or(PatternError::UnclosedClass)?,
            )),
        }
    }
    // A pattern that matches a directory matches its content, so a `**` at the end adds nothing.
    while let [_, .., Segment::Deep] = segments.as_slice() {
        segments.pop();
    }
    if matches!(segments.as_slice(), [] | [Segment::Deep]) {
        if pattern.contains('*') {
            return Ok(vec![Segment::Deep, Segment::Name(NameGlob::Any)]);
        }
        return Err(PatternError::Empty);
    }
    if segments.len() > MOST_SEGMENTS {
        return Err(PatternError::TooLarge);
    }
    Ok(segments)
}

mod entries;
#[cfg(test)]
mod tests;

pub(crate) use entries::EntryRules;
