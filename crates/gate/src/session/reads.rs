//! What a conversation has seen of files.
//!
//! A file may be overwritten or edited only as the model knows it: it was read
//! in this conversation (or written by Toolgate itself) and has not changed since.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use toolgate_model::{ErrorKind, ToolError};

use crate::preconditions::Preconditions;

/// Whether files have to be read before they are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// They have to.
    Checked,
    /// The user made this one call and knows the file.
    NotChecked,
}

/// One-based, inclusive ranges of lines, sorted and not touching each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRanges(Vec<(u64, u64)>);

impl LineRanges {
    /// Every line a file can have.
    pub fn all() -> Self {
        Self(vec![(1, u64::MAX)])
    }

    /// Adds lines from `first` to `last`.
    pub fn add(&mut self, first: u64, last: u64) {
        if first > last {
            return;
        }
        let (mut first, mut last) = (first, last);
        self.0.retain(|&(from, to)| {
            let apart = to.saturating_add(1) < first || last.saturating_add(1) < from;
            if !apart {
                first = first.min(from);
                last = last.max(to);
            }
            apart
        });
        let place = self.0.partition_point(|&(from, _)| from < first);
        self.0.insert(place, (first, last));
    }

    /// Takes lines from `first` to `last` out.
    pub fn remove(&mut self, first: u64, last: u64) {
        let mut left = Vec::with_capacity(self.0.len() + 1);
        for &(from, to) in &self.0 {
            if from < first {
                left.push((from, to.min(first - 1)));
            }
            if to > last {
                left.push((from.max(last + 1), to));
            }
        }
        left.retain(|&(from, to)| from <= to);
        self.0 = left;
    }

    /// Whether all of these lines are in it.
    pub fn covers(&self, first: u64, last: u64) -> bool {
        self.0.iter().any(|&(from, to)| from <= first && last <= to)
    }

    /// The ranges.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
}

/// What is known of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The lines that were shown, or written by Toolgate.
    pub lines: LineRanges,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Whether Toolgate itself wrote this content.
    pub written: bool,
}

/// The files a conversation has seen, by their resolved place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLog {
    files: BTreeMap<String, Seen>,
    /// Toolgate's own writes are numbered; this is the last one of each file.
    own: BTreeMap<String, u64>,
    writes: u64,
    /// The last commands that ran.
    #[serde(skip)]
    commands: VecDeque<Ran>,
}

/// A command that ran, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ran {
    call: String,
    begun_ms: u64,
    ended_ms: u64,
}

/// How many commands are remembered.
const COMMANDS: usize = 64;

/// So much earlier than a change its time in the file system may be.
const COARSE_MS: u64 = 20;

impl ReadLog {
    /// Notes that these lines were read. Lines of the same content add up; other content replaces.
    pub fn read(&mut self, place: &str, sha256: &str, lines: LineRanges, at_ms: u64) {
        match self.files.get_mut(place) {
            Some(seen) if seen.sha256 == sha256 => {
                for &(first, last) in lines.as_slice() {
                    seen.lines.add(first, last);
                }
                seen.at_ms = at_ms;
            }
            _ => {
                let seen = Seen {
                    sha256: sha256.to_owned(),
                    lines,
                    at_ms,
                    written: false,
                };
                self.files.insert(place.to_owned(), seen);
            }
        }
    }

    /// Notes that Toolgate wrote this content: all of it is known.
    pub fn wrote(&mut self, place: &str, sha256: &str, at_ms: u64) {
        self.edited(place, sha256, LineRanges::all(), at_ms);
    }

    /// Notes that Toolgate wrote this content, of which only these lines are known.
    pub fn edited(&mut self, place: &str, sha256: &str, lines: LineRanges, at_ms: u64) {
        let seen = Seen {
            sha256: sha256.to_owned(),
            lines,
            at_ms,
            written: true,
        };
        self.files.insert(place.to_owned(), seen);
        self.writes += 1;
        self.own.insert(place.to_owned(), self.writes);
    }

    /// Notes that the command of a call ran.
    pub(crate) fn ran(&mut self, call: &str, begun_ms: u64, ended_ms: u64) {
        if self.commands.len() == COMMANDS {
            self.commands.pop_front();
        }
        self.commands.push_back(Ran {
            call: call.to_owned(),
            begun_ms,
            ended_ms,
        });
    }

    /// The call whose command ran when a file changed, if one did.
    pub fn ran_at(&self, changed_ms: u64) -> Option<&str> {
        let mut last_first = self.commands.iter().rev();
        let ran = last_first.find(|ran| {
            ran.begun_ms <= changed_ms.saturating_add(COARSE_MS) && changed_ms <= ran.ended_ms
        });
        ran.map(|ran| ran.call.as_str())
    }

    /// How many times Toolgate itself wrote a file in this conversation.
    pub(crate) fn own_writes(&self) -> u64 {
        self.writes
    }

    /// Forgets a file that is gone.
    pub fn forget(&mut self, place: &str) {
        self.files.remove(place);
        self.own.remove(place);
    }

    /// What is known of a file.
    pub fn seen(&self, place: &str) -> Option<&Seen> {
        self.files.get(place)
    }

    /// Whether Toolgate itself made the file what it is now, after its first `before` writes.
    /// What it wrote earlier does not count: the user was shown something else since.
    pub(crate) fn wrote_since(&self, now: &Preconditions, before: u64) -> bool {
        let Some(place) = &now.place else {
            return false;
        };
        let since = self.own.get(place).is_some_and(|write| *write > before);
        let seen = self.files.get(place).filter(|seen| seen.written);
        since && seen.is_some_and(|seen| Some(&seen.sha256) == now.sha256.as_ref())
    }

    /// Whether content with this hash is what the conversation knows of the file.
    pub fn check(&self, place: &str, path: &str, sha256: &str) -> Result<(), ToolError> {
        let stale = |reason: &str| {
            Err(ToolError::new(
                ErrorKind::StaleFile,
                format!("{path}: {reason}. Read it with read_file, then try again."),
            ))
        };
        match self.files.get(place) {
            None => stale("File was not read before patching or overwriting it"),
            Some(seen) if seen.sha256 != sha256 => stale("File content changed since last read"),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_fresh_only_if_it_was_read_and_has_not_changed() {
        let mut log = ReadLog::default();
        let unread = log.check("0:a", "a", "x").unwrap_err();
        assert_eq!(unread.kind, ErrorKind::StaleFile);
        assert!(unread.message.contains("not read before"));
        log.read("0:a", "x", LineRanges::all(), 1);
        assert_eq!(log.check("0:a", "a", "x"), Ok(()));
        assert!(
            log.check("0:a", "a", "y")
                .unwrap_err()
                .message
                .contains("changed since")
        );
        log.wrote("0:a", "y", 2);
        assert_eq!(log.check("0:a", "a", "y"), Ok(()));
        assert!(log.seen("0:a").unwrap().written);
        log.forget("0:a");
        assert!(log.check("0:a", "a", "y").is_err());
    }

    #[test]
    fn reads_of_one_content_add_up_and_other_content_starts_anew() {
        let mut log = ReadLog::default();
        let lines = |first, last| {
            let mut ranges = LineRanges::default();
            ranges.add(first, last);
            ranges
        };
        log.read("p", "x", lines(1, 3), 1);
        log.read("p", "x", lines(4, 6), 2);
        assert!(log.seen("p").unwrap().lines.covers(1, 6));
        assert_eq!(log.seen("p").unwrap().at_ms, 2);
        log.read("p", "y", lines(2, 2), 3);
        assert_eq!(log.seen("p").unwrap().lines.as_slice(), [(2, 2)]);
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn ranges_behave_like_a_set_of_lines(
            steps in prop::collection::vec((any::<bool>(), 1_u64..30, 0_u64..8), 0..24)
        ) {
            let mut ranges = LineRanges::default();
            let mut set = std::collections::BTreeSet::new();
            for (add, first, more) in steps {
                if add {
                    ranges.add(first, first + more);
                    set.extend(first..=first + more);
                } else {
                    ranges.remove(first, first + more);
                    for line in first..=first + more {
                        set.remove(&line);
                    }
                }
                let listed: Vec<u64> = ranges.as_slice().iter().flat_map(|&(a, b)| a..=b).collect();
                prop_assert_eq!(&listed, &set.iter().copied().collect::<Vec<_>>());
                let apart = ranges.as_slice().windows(2).all(|pair| pair[0].1 + 1 < pair[1].0 || !add);
                prop_assert!(apart);
                for line in 1..40 {
                    prop_assert_eq!(ranges.covers(line, line), set.contains(&line));
                }
            }
        }
    }
}
