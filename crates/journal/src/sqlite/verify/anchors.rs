//! The chain of commits, and what it says that the tables hold.

use rusqlite::{Connection, OptionalExtension};
use toolgate_gate::tool::hex;

use super::each_row;
use super::told::{Pruning, Told};
use crate::sqlite::note::{Note, Opened, Stored};
use crate::sqlite::prune::unhex;
use toolgate_gate::journal::chain::{Anchor, AnchorLink, Hash, Head, NOTHING};
use toolgate_gate::journal::{Coverage, Problem, Verified};

/// Checks the chain of commits and replays their notes.
pub(super) fn read(
    db: &Connection,
    against: Option<&Anchor>,
    version: i64,
    verified: &mut Verified,
) -> rusqlite::Result<Told> {
    let mut entry = db.prepare("SELECT hash FROM entries WHERE conversation = ?1 AND seq = ?2")?;
    let mut told = Told::default();
    if version < 2 {
        told.coverage = Coverage::Not;
    }
    let (mut last, mut before, mut by_later) = (0, NOTHING, false);
    let mut kept_elsewhere = against.is_none();
    let query = "SELECT number, at_ms, heads, note, prev_hash, hash FROM anchors ORDER BY number";
    each_row(db, "anchors", 1, query, verified, |row, verified| {
        let (number, at_ms): (u64, u64) = (row.get(0)?, row.get(1)?);
        let (heads, note): (String, Option<String>) = (row.get(2)?, row.get(3)?);
        let (prev, hash): (Hash, Hash) = (row.get(4)?, row.get(5)?);
        let link = AnchorLink {
            number,
            at_ms,
            heads: &heads,
            note: note.as_deref(),
        };
        if number != last + 1 {
            verified.found(Problem::AnchorGap { number });
        } else if prev != before {
            verified.found(Problem::AnchorChanged { number });
        }
        (last, before) = (number, hash);
        let read: Result<Vec<Head>, _> = serde_json::from_str(&heads);
        let note = match note.as_deref() {
            None => Some((Note::default(), true)),
            Some(text) => Note::read(text),
        };
        let (Ok(read), Some((note, by_first)), true) = (read, note, link.hash(&prev) == hash)
        else {
            verified.found(Problem::AnchorChanged { number });
            return Ok(());
        };
        if !by_first && version < 2 {
            let what = format!("its version is 1, and a later version wrote commit {number}");
            verified.found(Problem::Schema { what });
        }
        if !note.batches.is_empty() && version == 2 {
            let what = format!("its version is 2, and a later version wrote commit {number}");
            verified.found(Problem::Schema { what });
        }
        if note.taken_over && by_later {
            verified.found(Problem::TakenOverAgain { number });
        }
        by_later |= !by_first;
        for Head(conversation, seq, expected) in read {
            let there: Option<Hash> = entry
                .query_row((&conversation, seq), |row| row.get(0))
                .optional()?;
            if there.map(|hash| hex(&hash)) != Some(expected) {
                verified.found(Problem::HeadGone {
                    number,
                    conversation: conversation.clone(),
                    seq,
                });
            }
            told.commits
                .entry(conversation)
                .or_default()
                .add(number, seq);
        }
        told.note(number, note);
        let anchor = Anchor::new(number, &hash);
        kept_elsewhere |= against.is_some_and(|kept| kept == &anchor);
        verified.commits += 1;
        verified.anchor = Some(anchor);
        Ok(())
    })?;
    if let (Some(kept), false) = (against, kept_elsewhere) {
        verified.found(Problem::NotThatRecord {
            number: kept.number,
        });
    }
    if told.coverage == Coverage::Not {
        told.requests_are_unknown();
    }
    Ok(told)
}

impl Told {
    /// Version 1 wrote everything so far.
    fn requests_are_unknown(&mut self) {
        for commits in self.commits.values_mut() {
            commits.requests_unknown_until = commits.last();
        }
    }

    fn note(&mut self, number: u64, note: Note) {
        if note.taken_over {
            self.coverage = Coverage::Since { commit: number };
            self.requests_are_unknown();
        }
        for Opened(id, workspace, started_ms) in note.opened {
            self.opened.insert(id, (workspace, started_ms, number));
        }
        for Stored(workspace, space, key, hash) in note.stored {
            let id = (workspace, space, key);
            match hash {
                Some(hash) => self.stored.insert(id, (hash, number)),
                None => self.stored.remove(&id),
            };
        }
        for (conversation, seq) in note.requests {
            self.commits.entry(conversation).or_default().request(seq);
        }
        for prune in note.pruned {
            let hashes = |list: Vec<(String, u64)>| {
                let read = |(hash, last_ms): &(String, u64)| Some((unhex(hash)?, *last_ms));
                list.iter().filter_map(read).collect()
            };
            self.prunes.push(Pruning {
                commit: number,
                before_ms: prune.pruned_before_ms,
                spared: prune.spared.map(hashes),
                after: prune.after,
            });
        }
    }
}
