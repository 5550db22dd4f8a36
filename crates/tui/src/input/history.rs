//! What was sent before, across runs, and the draft that was not: files of the user.
//!
//! ```
//! use toolgate_tui::input::History;
//!
//! let directory = tempfile::tempdir()?;
//! let mut history = History::at(directory.path());
//! history.add("first");
//! history.add("second\nline");
//! let again = History::at(directory.path());
//! assert_eq!(again.search("fir", 0), Some((0, "first")));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The most entries that are read, and the most bytes of the file.
const MOST: usize = 5_000;
const BYTES: u64 = 4 * 1024 * 1024;
/// A longer entry is left out of the file.
const LONGEST: usize = 256 * 1024;

/// What was sent before, the oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    file: Option<PathBuf>,
}

impl History {
    /// The history in this directory, which is made when something is added.
    pub fn at(directory: &Path) -> Self {
        let file = directory.join("history.jsonl");
        let mut entries = read(&file);
        let extra = entries.len().saturating_sub(MOST);
        entries.drain(..extra);
        Self {
            entries,
            file: Some(file),
        }
    }

    /// Adds an entry, unless it is the last one already. One that begins with a blank is not
    /// stored.
    pub fn add(&mut self, text: &str) {
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        self.entries.push(text.to_owned());
        if text.starts_with(' ') || text.len() > LONGEST {
            return;
        }
        // A history that cannot be written is one of this run alone.
        let _ = self.file.as_deref().map(|file| append(file, text));
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An entry, the oldest first.
    pub fn get(&self, index: usize) -> Option<&str> {
        self.entries.get(index).map(String::as_str)
    }

    /// The newest entry that holds these words, or one of the older ones.
    pub fn search(&self, words: &str, skip: usize) -> Option<(usize, &str)> {
        let words = words.to_lowercase();
        let mut seen: Vec<&str> = Vec::new();
        for (index, entry) in self.entries.iter().enumerate().rev() {
            if seen.contains(&entry.as_str()) || !entry.to_lowercase().contains(&words) {
                continue;
            }
            if seen.len() == skip {
                return Some((index, entry));
            }
            seen.push(entry);
        }
        None
    }
}

fn read(file: &Path) -> Vec<String> {
    let is_fine = fs::metadata(file).is_ok_and(|file| file.len() <= BYTES);
    let text = match is_fine {
        true => fs::read(file).unwrap_or_default(),
        false => {
            // Too long: the older half goes to a second file.
            let _ = fs::rename(file, file.with_extension("old.jsonl"));
            Vec::new()
        }
    };
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut line = serde_json::to_string(text)?;
    line.push('\n');
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(line.as_bytes())
}

/// The draft on disk.
#[derive(Clone, Debug)]
pub struct DraftFile(PathBuf);

impl DraftFile {
    /// The draft of this name in this directory.
    pub fn at(directory: &Path, name: &str) -> Self {
        Self(directory.join(format!("draft-{name}")))
    }

    /// The draft of this process about a workspace. One that a process left which is gone is taken
    /// over, the newest first.
    pub fn adopt(directory: &Path, workspace: &Path) -> Self {
        let key = workspace.as_os_str().as_encoded_bytes();
        // FNV-1a: a name for the directory, not a promise.
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let own = Self::at(directory, &format!("{hash:016x}-{}", std::process::id()));
        let prefix = format!("draft-{hash:016x}-");
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut left: Vec<_> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let process: u32 = name.strip_prefix(&prefix)?.parse().ok()?;
                let is_gone = !Path::new(&format!("/proc/{process}")).exists();
                let changed = entry.metadata().ok()?.modified().ok()?;
                is_gone.then(|| (changed, entry.path()))
            })
            .collect();
        left.sort();
        if let Some((_, newest)) = left.pop() {
            // Another process may be faster; then it has the draft.
            let _ = fs::rename(newest, &own.0);
        }
        own
    }

    /// The text that was not sent, if there is one. Two processes never take the same.
    pub fn read(&self) -> Option<String> {
        let text = fs::read_to_string(&self.0).ok()?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// Stores the draft; an empty one removes the file. What is there is whole or the old one.
    pub fn write(&self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return match fs::remove_file(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(directory) = self.0.parent() {
            fs::create_dir_all(directory)?;
        }
        let beside = self.0.with_extension(format!("new-{}", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        drop(file);
        fs::rename(&beside, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_stored_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let draft = DraftFile::at(directory.path(), "x");
        assert_eq!(draft.read(), None);
        draft.write("words\nmore").unwrap();
        assert_eq!(draft.read().as_deref(), Some("words\nmore"));
        draft.write("").unwrap();
        draft.write("").unwrap();
        assert_eq!(draft.read(), None);
    }

    #[test]
    fn a_search_finds_the_newest_first_and_each_text_once() {
        let mut history = History::default();
        for text in ["fix a", "fix b", "look", "fix a"] {
            history.add(text);
        }
        assert_eq!(history.search("FIX", 0), Some((3, "fix a")));
        assert_eq!(history.search("fix", 1), Some((1, "fix b")));
        assert_eq!(history.search("fix", 2), None);
    }
}
