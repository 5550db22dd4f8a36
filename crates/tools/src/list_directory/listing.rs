//! A listing, and its two forms.

use std::path::{Path, PathBuf};

use serde::Serialize;
use toolgate_model::characters::escape_json;
use toolgate_sandbox::paths::{FileKind, PathError, WalkEntry};

use crate::place::one_line;

/// One entry. Every field is always there, so that a model can rely on it.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) depth: usize,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    pub(super) size_bytes: Option<u64>,
    pub(super) modified_epoch_ms: Option<i64>,
    pub(super) is_hidden: bool,
    pub(super) error: Option<String>,
    #[serde(skip)]
    real: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    File,
    Dir,
    Symlink,
    Other,
    Unknown,
}

impl From<FileKind> for Kind {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Dir,
            FileKind::Link => Self::Symlink,
            FileKind::Other => Self::Other,
            FileKind::Unknown => Self::Unknown,
        }
    }
}

impl Entry {
    pub(super) fn of(entry: &WalkEntry<'_>) -> Self {
        let (stat, error) = match entry.stat() {
            Ok(stat) => (Some(stat), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let kind = match stat {
            Some(stat) => stat.kind.into(),
            None => Kind::Unknown,
        };
        Self {
            name: entry.name.to_string_lossy().into_owned(),
            path: entry.path.to_string_lossy().into_owned(),
            depth: entry.depth,
            kind,
            size_bytes: stat
                .filter(|stat| stat.kind == FileKind::File)
                .map(|stat| stat.len),
            modified_epoch_ms: stat.map(|stat| stat.modified_ms()),
            is_hidden: entry.name.as_encoded_bytes().starts_with(b"."),
            error,
            real: entry.path.to_path_buf(),
        }
    }
}

/// What a call found.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    pub(super) path: String,
    pub(super) entries: Vec<Entry>,
    returned: usize,
    max_entries: usize,
    pub(super) truncated: bool,
    truncated_reason: Option<String>,
}

impl Listing {
    pub(super) fn new(path: String, max_entries: usize) -> Self {
        Self {
            path,
            entries: Vec::new(),
            returned: 0,
            max_entries,
            truncated: false,
            truncated_reason: None,
        }
    }

    /// Takes an entry; says whether it wants more.
    pub(super) fn add(&mut self, entry: Entry) -> bool {
        if self.entries.len() == self.max_entries {
            self.cut("max_entries");
            return false;
        }
        self.entries.push(entry);
        true
    }

    /// Notes what could not be entered. It is in the list already, unless its kind is not wanted.
    pub(super) fn failed(&mut self, path: &Path, depth: usize, error: &PathError) {
        if depth == 0 {
            self.cut("unreadable");
            return;
        }
        let listed = self.entries.iter_mut().rev();
        if let Some(entry) = listed.into_iter().find(|entry| entry.real == path) {
            entry.error = Some(error.to_string());
        }
    }

    fn cut(&mut self, reason: &str) {
        self.truncated = true;
        self.truncated_reason = Some(reason.to_owned());
    }

    fn text(&mut self) -> String {
        self.returned = self.entries.len();
        // Plain data of strings and numbers always serializes.
        let text = serde_json::to_string(self).unwrap_or_default();
        escape_json(&text).into_owned()
    }

    /// The listing as JSON of at most `limit` bytes, with as many entries as fit.
    pub(super) fn json(&mut self, limit: usize) -> String {
        let mut text = self.text();
        while text.len() > limit && !self.entries.is_empty() {
            self.cut("max_output_bytes");
            // The share that fits, and at least one entry less each time.
            let share = self.entries.len().saturating_mul(limit) / text.len();
            self.entries.truncate(share.min(self.entries.len() - 1));
            text = self.text();
        }
        text
    }

    /// The listing as indented names, directories before what is in them.
    pub(super) fn tree(&mut self) -> String {
        if self.entries.is_empty() && !self.truncated {
            return "(empty)".to_owned();
        }
        // Paths compare name by name, so that nothing stands between a directory and its entries.
        self.entries.sort_by(|a, b| a.real.cmp(&b.real));
        let mut out = String::new();
        for entry in &self.entries {
            let mark = match entry.kind {
                Kind::File => '-',
                Kind::Dir => 'd',
                Kind::Symlink => 'l',
                Kind::Other => 'o',
                Kind::Unknown => '?',
            };
            out.extend(std::iter::repeat_n("  ", entry.depth.saturating_sub(1)));
            out.push(mark);
            out.push(' ');
            out.push_str(&one_line(&entry.name));
            if let Some(error) = &entry.error {
                out.push_str(&format!(" ({})", one_line(error)));
            }
            out.push('\n');
        }
        if self.truncated {
            out.push_str(&format!(
                "[only the first {} entries by path; list a directory further down for the others]\n",
                self.entries.len()
            ));
        }
        out.pop();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            name: path.rsplit('/').next().unwrap().to_owned(),
            path: path.to_owned(),
            depth: path.split('/').count(),
            kind: if path.contains('.') {
                Kind::File
            } else {
                Kind::Dir
            },
            size_bytes: Some(7),
            modified_epoch_ms: None,
            is_hidden: false,
            error: None,
            real: PathBuf::from(path),
        }
    }

    #[test]
    fn json_gives_up_entries_until_it_fits() {
        for limit in [100, 500, 1_000, 5_000, 100_000] {
            let mut listing = Listing::new(".".into(), 200);
            for n in 0..150 {
                assert!(listing.add(entry(&format!("f{n:03}.txt"))));
            }
            let text = listing.json(limit);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(text.len() <= limit.max(120), "{limit}: {}", text.len());
            assert_eq!(
                value["returned"],
                value["entries"].as_array().unwrap().len()
            );
            assert_eq!(value["truncated"], limit < 100_000);
            if limit == 5_000 {
                assert!(text.len() > limit / 2, "too few entries: {}", text.len());
                assert_eq!(value["truncated_reason"], "max_output_bytes");
            }
        }
    }

    #[test]
    fn a_tree_keeps_directories_and_their_entries_together() {
        let mut listing = Listing::new(".".into(), 4);
        for path in ["a", "a-b.txt", "a/x.txt", "b.txt"] {
            listing.add(entry(path));
        }
        assert!(!listing.add(entry("c.txt")));
        let tree = listing.tree();
        assert!(
            tree.starts_with("d a\n  - x.txt\n- a-b.txt\n- b.txt\n[only the first 4"),
            "{tree}"
        );
        assert_eq!(Listing::new(".".into(), 4).tree(), "(empty)");
    }
}
