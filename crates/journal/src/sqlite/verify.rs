//! Whether the record is what was written.
//!
//! Anchors first, for what was pruned; then every conversation: its chain, its bodies,
//! its calls; then whether anchors and conversations agree. A cut-off end is whole in
//! itself and found only with an anchor that was kept elsewhere.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use toolgate_gate::journal::Record;
use toolgate_gate::tool::hex;

use super::problem::{Problem, Verified};
use super::read::Reader;
use super::trouble::Trouble;
use crate::chain::{Anchor, AnchorLink, Hash, Head, Link, NOTHING, sha256};
use crate::states::{State, replayed};

/// What an anchor says besides, when a commit pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PruneNote {
    /// What was mentioned last before this may be gone.
    pub(crate) pruned_before_ms: u64,
    pub(crate) bodies: u64,
    pub(crate) images: u64,
}

impl Reader {
    /// Checks the whole record, and that it holds the commit of an anchor kept elsewhere.
    pub fn verify(&self, against: Option<&Anchor>) -> Result<Verified, Trouble> {
        let mut verified = Verified::default();
        self.db
            .unchecked_transaction()
            .and_then(|snapshot| check(&snapshot, against, &mut verified))
            .map_err(|error| self.fail(&error))?;
        Ok(verified)
    }
}

fn check(
    db: &Connection,
    against: Option<&Anchor>,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let mut sound = db.prepare("PRAGMA quick_check(10)")?;
    let mut rows = sound.query([])?;
    while let Some(row) = rows.next()? {
        let why: String = row.get(0)?;
        if why != "ok" {
            verified.found(Problem::File { why });
        }
    }
    if !verified.is_sound() {
        return Ok(());
    }
    let (ends, pruned_before_ms) = anchors(db, against, verified)?;
    conversations(db, &ends, pruned_before_ms, verified)?;
    images(db, verified)
}

/// Checks the chain of commits; returns the last entry each conversation should have.
fn anchors(
    db: &Connection,
    against: Option<&Anchor>,
    verified: &mut Verified,
) -> rusqlite::Result<(HashMap<String, u64>, u64)> {
    let mut find = db.prepare("SELECT * FROM anchors ORDER BY number")?;
    let mut entry = db.prepare("SELECT hash FROM entries WHERE conversation = ?1 AND seq = ?2")?;
    let mut rows = find.query([])?;
    let mut ends: HashMap<String, u64> = HashMap::new();
    let (mut last, mut before, mut pruned_before_ms) = (0, NOTHING, 0);
    let mut kept_elsewhere = against.is_none();
    while let Some(row) = rows.next()? {
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
        let read: Result<Vec<Head>, _> = serde_json::from_str(&heads);
        let pruned = note.as_deref().map(serde_json::from_str::<PruneNote>);
        let (Ok(read), Ok(pruned), true) = (read, pruned.transpose(), link.hash(&prev) == hash)
        else {
            verified.found(Problem::AnchorChanged { number });
            (last, before) = (number, hash);
            continue;
        };
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
            ends.insert(conversation, seq);
        }
        if let Some(note) = pruned {
            pruned_before_ms = pruned_before_ms.max(note.pruned_before_ms);
        }
        let anchor = Anchor::new(number, &hash);
        kept_elsewhere |= against.is_some_and(|kept| kept == &anchor);
        verified.commits += 1;
        verified.anchor = Some(anchor);
        (last, before) = (number, hash);
    }
    if let (Some(kept), false) = (against, kept_elsewhere) {
        verified.found(Problem::NotThatRecord {
            number: kept.number,
        });
    }
    Ok((ends, pruned_before_ms))
}

/// A conversation while its entries pass by.
struct Passing {
    name: String,
    last: u64,
    before: Hash,
    calls: HashMap<(String, u64), State>,
}

fn conversations(
    db: &Connection,
    ends: &HashMap<String, u64>,
    pruned_before_ms: u64,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let mut find = db.prepare(
        "SELECT e.conversation, e.seq, e.kind, e.call, e.nth, e.at_ms, e.body_hash, e.prev_hash,
                e.hash, b.bytes
         FROM entries e LEFT JOIN bodies b ON b.hash = e.body_hash
         ORDER BY e.conversation, e.seq",
    )?;
    let mut states =
        db.prepare("SELECT call, nth, state FROM call_states WHERE conversation = ?1")?;
    let mut rows = find.query([])?;
    let mut passing: Option<Passing> = None;
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if passing.as_ref().is_none_or(|passing| passing.name != name) {
            if let Some(done) = passing.take() {
                ended(done, ends, &mut states, verified)?;
            }
            passing = Some(Passing {
                name: name.to_owned(),
                last: 0,
                before: NOTHING,
                calls: HashMap::new(),
            });
        }
        if let Some(passing) = &mut passing {
            entry(row, passing, pruned_before_ms, verified)?;
        }
    }
    if let Some(done) = passing.take() {
        ended(done, ends, &mut states, verified)?;
    }
    let mut unlisted = db.prepare(
        "SELECT DISTINCT conversation FROM entries
         WHERE conversation NOT IN (SELECT id FROM conversations)",
    )?;
    let mut rows = unlisted.query([])?;
    while let Some(row) = rows.next()? {
        verified.found(Problem::NotListed {
            conversation: row.get(0)?,
        });
    }
    // Calls of conversations that have no entries at all.
    let mut stray = db.prepare(
        "SELECT conversation, call, nth, state FROM call_states c
         WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.conversation = c.conversation)",
    )?;
    let mut rows = stray.query([])?;
    while let Some(row) = rows.next()? {
        let (call, nth): (String, u64) = (row.get(1)?, row.get(2)?);
        verified.found(Problem::WrongState {
            conversation: row.get(0)?,
            call: format!("{call} ({nth})"),
            listed: row.get(3)?,
            entries: "nothing".to_owned(),
        });
    }
    Ok(())
}

fn entry(
    row: &rusqlite::Row<'_>,
    passing: &mut Passing,
    pruned_before_ms: u64,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let conversation = passing.name.clone();
    let (seq, at_ms, nth): (u64, u64, u64) = (row.get(1)?, row.get(5)?, row.get(4)?);
    let (kind, call) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
    let (body_hash, prev, hash): (Hash, Hash, Hash) = (row.get(6)?, row.get(7)?, row.get(8)?);
    verified.entries += 1;
    if seq != passing.last + 1 {
        let conversation = conversation.clone();
        verified.found(Problem::Gap { conversation, seq });
    } else if prev != passing.before {
        let conversation = conversation.clone();
        verified.found(Problem::Unlinked { conversation, seq });
    }
    let link = Link {
        conversation: &conversation,
        seq,
        kind,
        call,
        nth,
        at_ms,
        body_hash: &body_hash,
    };
    if link.hash(&prev) != hash {
        let conversation = conversation.clone();
        verified.found(Problem::Changed { conversation, seq });
    }
    (passing.last, passing.before) = (seq, hash);
    match row.get_ref(9)?.as_blob_or_null()? {
        Some(bytes) if sha256(bytes) == body_hash => {}
        Some(_) => {
            let conversation = conversation.clone();
            verified.found(Problem::BodyChanged { conversation, seq });
        }
        None if at_ms < pruned_before_ms => verified.pruned += 1,
        None => {
            let conversation = conversation.clone();
            verified.found(Problem::BodyMissing { conversation, seq });
        }
    }
    if Record::is_of_no_call(kind) {
        return Ok(());
    }
    let id = (call.to_owned(), nth);
    match replayed(passing.calls.get(&id).copied(), kind) {
        Some(state) => {
            passing.calls.insert(id, state);
        }
        None => verified.found(Problem::OutOfOrder {
            conversation,
            seq,
            call: id.0,
            kind: kind.to_owned(),
        }),
    }
    Ok(())
}

/// A conversation is over: does it end where the commits say, and its calls where the table says?
fn ended(
    mut done: Passing,
    ends: &HashMap<String, u64>,
    states: &mut rusqlite::Statement<'_>,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    verified.conversations += 1;
    if ends.get(&done.name) != Some(&done.last) {
        verified.found(Problem::NotAnchored {
            conversation: done.name.clone(),
            seq: done.last,
        });
    }
    let mut rows = states.query([&done.name])?;
    while let Some(row) = rows.next()? {
        let (call, nth): (String, u64) = (row.get(0)?, row.get(1)?);
        let listed: String = row.get(2)?;
        let id = (call, nth);
        let known = done.calls.remove(&id);
        if let Some(state) = known.filter(|state| state.as_str() == listed) {
            *verified.calls.entry(state).or_default() += 1;
        } else {
            verified.found(Problem::WrongState {
                conversation: done.name.clone(),
                call: format!("{} ({nth})", id.0),
                listed,
                entries: known.map_or("nothing", State::as_str).to_owned(),
            });
        }
    }
    for ((call, nth), state) in done.calls {
        verified.found(Problem::WrongState {
            conversation: done.name.clone(),
            call: format!("{call} ({nth})"),
            listed: "nothing".to_owned(),
            entries: state.as_str().to_owned(),
        });
    }
    Ok(())
}

fn images(db: &Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let mut find = db.prepare("SELECT hash, bytes FROM images")?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let hash: Hash = row.get(0)?;
        if sha256(row.get_ref(1)?.as_blob()?) != hash {
            verified.found(Problem::ImageChanged { hash: hex(&hash) });
        }
    }
    Ok(())
}
