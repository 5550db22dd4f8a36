//! Patterns as they apply to the entries of one directory.

use std::borrow::Cow;

use super::{PathRule, Patterns, Scope, end, past_deep, step};
use crate::paths::error::FileKind;
use crate::paths::rules::data_names::{is_in_tree, is_source};
use crate::paths::rules::fold::{Folded, fold_name, is_ambiguous};

/// Patterns as they apply to the entries of one directory, which none of them matches.
///
/// The directories on the way are looked at once instead of once for every entry.
#[derive(Debug)]
pub(crate) struct EntryRules<'a> {
    patterns: &'a Patterns,
    directory: &'a Folded<'static>,
    /// The state of each pattern with a slash; nothing where a directory on the way can
    /// be read in two ways.
    states: Option<Vec<u64>>,
    /// Whether a directory on the way has a name of data.
    is_data: bool,
    /// Whether the directory lies in a dependency tree, or is one.
    is_tree: bool,
}

impl Patterns {
    /// The patterns for the entries of a directory.
    pub(crate) fn inside<'a>(&'a self, directory: &'a Folded<'static>) -> EntryRules<'a> {
        let states = directory.only_form().map(|names| {
            let after = |rule: &PathRule| {
                let start = past_deep(&rule.segments, 1);
                let step = |states, name: &Cow<'_, [u8]>| step(&rule.segments, states, name);
                names.iter().fold(start, step)
            };
            self.paths.iter().map(after).collect()
        });
        let names = directory.only_form().unwrap_or_default();
        EntryRules {
            patterns: self,
            directory,
            states,
            is_data: self.data_name(names).is_some(),
            is_tree: self.is_tree || is_in_tree(names),
        }
    }
}

impl EntryRules<'_> {
    /// Whether a pattern matches the entry of this name.
    pub(crate) fn fit(&self, name: &[u8], kind: FileKind) -> bool {
        let patterns = self.patterns;
        let is_file = matches!(kind, FileKind::File | FileKind::Unknown);
        // A link can lead to a file.
        let may_be_data = kind != FileKind::Directory;
        let plain = fold_name(name);
        let Some(states) = self.states.as_ref().filter(|_| !is_ambiguous(&plain)) else {
            let path = self.directory.child(name);
            return patterns.find(&path, Scope::Last).is_some()
                || (is_file && patterns.find_file(&path).is_some())
                || (may_be_data && patterns.find_data_file(&path).is_some());
        };
        let mut paths = patterns.paths.iter().zip(states);
        patterns.find_name(&plain).is_some()
            || paths.any(|(PathRule { segments, .. }, states)| {
                step(segments, *states, &plain) & end(segments) != 0
            })
            || (is_file && patterns.file_names.iter().any(|rule| rule.fits(&plain)))
            || (may_be_data && self.names_data(&plain))
    }
}

impl EntryRules<'_> {
    /// Whether a file of this name is data that a pattern denies.
    fn names_data(&self, name: &[u8]) -> bool {
        let mut rules = self.patterns.data_names.iter();
        let matches = self.is_data || rules.any(|rule| rule.fits(name));
        matches && !self.is_tree && !is_source(name)
    }
}
