//! The changes of a commit that no entry records, as its anchor states them.
//!
//! ```text
//! conversation opened ─┐
//! value stored        ─┼─▶ note ─▶ hash of the anchor ─▶ `verify` replays all notes and compares the tables
//! old contents pruned ─┘
//! ```

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use toolgate_gate::journal::BatchKey;
use toolgate_gate::journal::chain::{AnchorLink, Hash, Head, NOTHING, sha256};
use toolgate_gate::tool::hex;

use super::sqlite_error::SqliteError;

/// What an anchor states besides the heads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Note {
    /// Set once, by the commit that migrates a file of version 1: the lists hold every row
    /// there was, as it was found.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) taken_over: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) opened: Vec<Opened>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stored: Vec<Stored>,
    /// Where in a conversation a request begins that is not the first of this commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requests: Vec<(String, u64)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pruned: Vec<PruneNote>,
    /// The batches that were written under a key; since version 3.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) batches: Vec<Keyed>,
}

/// A batch: its key, its conversation, and the number of its first entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keyed(pub(crate) BatchKey, pub(crate) String, pub(crate) u64);

/// A conversation as its row is after this commit: name, workspace, start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opened(pub(crate) String, pub(crate) Option<String>, pub(crate) u64);

/// A stored value after this commit: workspace, space, key, and the hash of the value; no
/// hash if the value was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored(
    pub(crate) String,
    pub(crate) String,
    pub(crate) String,
    pub(crate) Option<String>,
);

/// What a prune did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneNote {
    /// Contents mentioned last before this are gone.
    pub(crate) pruned_before_ms: u64,
    pub(crate) bodies: u64,
    pub(crate) images: u64,
    /// Older contents that stay, because an open call needs them: the hash, and when it was
    /// mentioned last. Version 1 does not state them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spared: Option<Vec<(String, u64)>>,
    /// The last entries of this commit that were written before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) after: BTreeMap<String, u64>,
}

/// The hash that a note states for a stored value.
pub(crate) fn value_hash(value: &[u8]) -> String {
    hex(&sha256(value))
}

impl Note {
    /// Reads a note of any version, and says whether version 1 can have written it.
    pub(crate) fn read(text: &str) -> Option<(Self, bool)> {
        if let Ok(prune) = serde_json::from_str::<PruneNote>(text) {
            let first = prune.spared.is_none() && prune.after.is_empty();
            let pruned = vec![prune];
            let note = Self {
                pruned,
                ..Self::default()
            };
            return first.then_some((note, true));
        }
        serde_json::from_str(text).ok().map(|note| (note, false))
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a later request of the same commit did.
    pub(crate) fn add(&mut self, later: Self) {
        self.taken_over |= later.taken_over;
        self.opened.extend(later.opened);
        self.stored.extend(later.stored);
        self.requests.extend(later.requests);
        self.pruned.extend(later.pruned);
        self.batches.extend(later.batches);
    }
}

/// Adds the anchor of a commit.
pub(crate) fn add_anchor(
    db: &Connection,
    path: &str,
    at_ms: u64,
    heads: &BTreeMap<String, (u64, Hash)>,
    note: &Note,
) -> Result<(), SqliteError> {
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    let unwritable = |error: serde_json::Error| SqliteError::Unwritable {
        why: error.to_string(),
    };
    let heads: Vec<Head> = heads
        .iter()
        .map(|(conversation, (seq, hash))| Head(conversation.clone(), *seq, hex(hash)))
        .collect();
    let heads = serde_json::to_string(&heads).map_err(unwritable)?;
    let note = (!note.is_empty()).then(|| serde_json::to_string(note));
    let note = note.transpose().map_err(unwritable)?;
    let note = note.as_deref();
    let last = db
        .prepare_cached("SELECT number, hash FROM anchors ORDER BY number DESC LIMIT 1")
        .and_then(|mut find| {
            find.query_row([], |row| {
                Ok((row.get::<_, u64>(0)?, row.get::<_, Hash>(1)?))
            })
            .optional()
        })
        .map_err(fail)?;
    let (last, before) = last.unwrap_or((0, NOTHING));
    let number = last + 1;
    let link = AnchorLink {
        number,
        at_ms,
        heads: &heads,
        note,
    };
    let hash = link.hash(&before);
    db.prepare_cached("INSERT INTO anchors VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .and_then(|mut put| put.execute((number, at_ms, &heads, note, before, hash)))
        .map_err(fail)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_both_versions_are_read_and_nothing_else() {
        let first = r#"{"pruned_before_ms":150,"bodies":3,"images":0}"#;
        let (note, by_first) = Note::read(first).unwrap();
        assert!(by_first && note.pruned.iter().all(|prune| prune.spared.is_none()));
        let note = Note {
            opened: vec![Opened("a".into(), None, 1)],
            stored: vec![Stored("/w".into(), "s".into(), "k".into(), None)],
            ..Note::default()
        };
        let text = serde_json::to_string(&note).unwrap();
        assert_eq!(
            text,
            r#"{"opened":[["a",null,1]],"stored":[["/w","s","k",null]]}"#
        );
        assert_eq!(Note::read(&text), Some((note, false)));
        for bad in ["", "[]x", "7", r#"{"else":1}"#, r#"{"opened":[["a"]]}"#] {
            assert_eq!(Note::read(bad), None, "{bad}");
        }
    }
}
