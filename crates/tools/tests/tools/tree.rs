//! Small trees of files, and plain words for what finding something in them means.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use crate::fixture::Workspace;

/// Files by their path beneath the tree's directory.
pub(crate) type Tree = BTreeMap<String, String>;

/// Trees of a few files, some of them hidden, in directories that are some of them hidden too.
pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    let directory = prop::sample::select(vec!["d0", "d1", "d-2", ".dh"]);
    let file = prop::sample::select(vec!["a.rs", "b.txt", "c", "e.rs", ".hid.rs", "d0.txt"]);
    let path = (prop::collection::vec(directory, 0..3), file).prop_map(|(directories, file)| {
        let mut parts = directories;
        parts.push(file);
        parts.join("/")
    });
    let line = prop::string::string_regex("[abAB xy]{0,6}").unwrap();
    let text = (prop::collection::vec(line, 0..4), any::<bool>()).prop_map(|(lines, ended)| {
        let end = if ended && !lines.is_empty() { "\n" } else { "" };
        format!("{}{end}", lines.join("\n"))
    });
    prop::collection::btree_map(path, text, 0..10)
}

/// A directory of its own for every case, so that one gate serves all of them.
#[derive(Default)]
pub(crate) struct Directories(AtomicUsize);

impl Directories {
    pub(crate) fn next(&self) -> String {
        format!("case{}", self.0.fetch_add(1, Ordering::Relaxed))
    }

    /// Puts a tree into a fresh directory and returns its name.
    pub(crate) fn plant(&self, ws: &Workspace, tree: &Tree) -> String {
        let directory = self.next();
        std::fs::create_dir(ws.path(&directory)).unwrap();
        for (path, text) in tree {
            ws.put(&format!("{directory}/{path}"), text);
        }
        directory
    }
}

/// Whether a name on the way starts with a dot.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// Every directory of a tree.
pub(crate) fn directories(tree: &Tree) -> Vec<String> {
    let mut all: Vec<String> = tree
        .keys()
        .flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()))
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Whether a path fits a pattern: name by name, `**` for any number of names.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    fn all(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            (["**"], rest) => !rest.is_empty(),
            (["**", rest @ ..], _) => (0..=path.len()).any(|skip| all(rest, &path[skip..])),
            ([first, rest @ ..], [name, names @ ..]) => name_fits(first, name) && all(rest, names),
            _ => false,
        }
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    all(&pattern, &path)
}

/// Whether a name fits a pattern of characters, `?` and `*`.
pub(crate) fn name_fits(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            name_fits(&pattern[1..], name) || (!name.is_empty() && name_fits(pattern, &name[1..]))
        }
        (Some('?'), Some(_)) => name_fits(&pattern[1..], &name[1..]),
        (Some(p), Some(n)) if p == n => name_fits(&pattern[1..], &name[1..]),
        _ => false,
    }
}
