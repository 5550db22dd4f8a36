//! Every conversation: its chain, its bodies, its calls.

use std::collections::HashMap;

use rusqlite::Connection;
use toolgate_gate::journal::{Record, Recovered};

use super::contents::{Contents, Place};
use super::told::Told;
use super::{each_row, each_row_of, key};
use toolgate_gate::journal::chain::{Hash, Link, NOTHING, sha256};
use toolgate_gate::journal::states::{State, Step, replayed};
use toolgate_gate::journal::{Problem, Verified};

/// A conversation while its entries pass by.
struct Passing {
    name: String,
    /// Its place among the names.
    index: usize,
    last: u64,
    before: Hash,
    calls: HashMap<(String, u64), Call>,
}

/// A call as its entries tell it.
#[derive(Clone, Copy, Debug)]
struct Call {
    state: State,
    intent: Intent,
    /// Where the request that received it can have begun: from, to.
    batch: (u64, u64),
}

/// Whether files may be half changed because of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    None,
    Open,
    /// What decides it was pruned. That happens only after it was closed.
    Pruned,
}

struct Walk<'a> {
    db: &'a Connection,
    told: &'a Told,
    contents: Contents,
    passing: Option<Passing>,
}

const ENTRIES: &str = "SELECT e.conversation, e.seq, e.kind, e.call, e.nth, e.at_ms, e.body_hash,
                   e.prev_hash, e.hash, b.bytes, b.last_ms
                 FROM entries e LEFT JOIN bodies b ON b.hash = e.body_hash";

/// Checks the entries and calls of one conversation.
pub(super) fn check_one(
    db: &Connection,
    told: &Told,
    conversation: &str,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let mut walk = Walk {
        db,
        told,
        contents: Contents::default(),
        passing: None,
    };
    let query = format!("{ENTRIES} WHERE e.conversation = ?1 ORDER BY e.seq");
    let of = [conversation];
    each_row_of(db, "entries", 2, (&query, of), verified, |row, verified| {
        walk.entry(row, verified)
    })?;
    walk.ended(verified)
}

/// Checks all conversations; returns the contents that they name.
pub(super) fn check(
    db: &Connection,
    told: &Told,
    verified: &mut Verified,
) -> rusqlite::Result<Contents> {
    let mut walk = Walk {
        db,
        told,
        contents: Contents::default(),
        passing: None,
    };
    let query = format!("{ENTRIES} ORDER BY e.conversation, e.seq");
    each_row(db, "entries", 2, &query, verified, |row, verified| {
        walk.entry(row, verified)
    })?;
    walk.ended(verified)?;
    let query = "SELECT DISTINCT conversation FROM entries
                 WHERE conversation NOT IN (SELECT id FROM conversations)";
    each_row(db, "entries", 1, query, verified, |row, verified| {
        verified.found(Problem::NotListed {
            conversation: row.get(0)?,
        });
        Ok(())
    })?;
    // Calls of conversations that have no entries at all.
    let query = "SELECT conversation, call, nth, state FROM call_states c
                 WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.conversation = c.conversation)";
    each_row(db, "call_states", 3, query, verified, |row, verified| {
        let (call, nth): (String, u64) = (row.get(1)?, row.get(2)?);
        verified.found(Problem::WrongState {
            conversation: row.get(0)?,
            call: format!("{call} ({nth})"),
            listed: row.get(3)?,
            entries: "nothing".to_owned(),
        });
        Ok(())
    })?;
    Ok(walk.contents)
}

impl Walk<'_> {
    fn entry(&mut self, row: &rusqlite::Row<'_>, verified: &mut Verified) -> rusqlite::Result<()> {
        let name = row.get_ref(0)?.as_str()?;
        let passing = match self.passing.take() {
            Some(passing) if passing.name == name => passing,
            other => {
                self.passing = other;
                self.ended(verified)?;
                self.contents.names.push(name.to_owned());
                Passing {
                    name: name.to_owned(),
                    index: self.contents.names.len() - 1,
                    last: 0,
                    before: NOTHING,
                    calls: HashMap::new(),
                }
            }
        };
        let passing = self.passing.insert(passing);
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
        let commits = self.told.commits.get(&conversation);
        let commit = commits.and_then(|commits| commits.of(seq)).unwrap_or(0);
        let place = Place {
            name: passing.index,
            seq,
            at_ms,
            period: self.told.prunes_before(&conversation, seq, commit),
        };
        let bytes = row.get_ref(9)?.as_blob_or_null()?;
        self.contents.body(body_hash, place, row.get(10)?);
        let body = bytes.filter(|bytes| sha256(bytes) == body_hash);
        if bytes.is_some() && body.is_none() {
            let conversation = conversation.clone();
            verified.found(Problem::BodyChanged { conversation, seq });
        }
        if Record::is_of_no_call(kind) {
            return Ok(());
        }
        if let ("intended", Some(body)) = (kind, body) {
            self.contents.intent(body, place);
        }
        let id = (call.to_owned(), nth);
        let known = passing.calls.get(&id).copied();
        match replayed(known.map(|call| call.state), kind) {
            Some(state) => {
                let batch = commits.map_or((seq, seq), |commits| commits.batch(seq));
                let call = Call {
                    state,
                    intent: Intent::after(known, kind, body),
                    batch: known.map_or(batch, |call| call.batch),
                };
                passing.calls.insert(id, call);
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
    fn ended(&mut self, verified: &mut Verified) -> rusqlite::Result<()> {
        let Some(mut done) = self.passing.take() else {
            return Ok(());
        };
        verified.conversations += 1;
        let commits = self.told.commits.get(&done.name);
        if commits.map(super::told::Commits::last) != Some(done.last) {
            verified.found(Problem::NotAnchored {
                conversation: done.name.clone(),
                seq: done.last,
            });
        }
        let mut states = self.db.prepare_cached(
            "SELECT call, nth, state, batch, open_intent FROM call_states WHERE conversation = ?1",
        )?;
        let mut rows = states.query([&done.name])?;
        while let Some(row) = rows.next()? {
            match done.call(row, verified) {
                Err(error) if error.sqlite_error_code().is_none() => {
                    verified.found(Problem::Unreadable {
                        table: "call_states",
                        row: format!("{:?}, {}", done.name, key(row, 2)?),
                        why: error.to_string(),
                    });
                }
                other => other?,
            }
        }
        for ((call, nth), listed) in done.calls {
            verified.found(Problem::WrongState {
                conversation: done.name.clone(),
                call: format!("{call} ({nth})"),
                listed: "nothing".to_owned(),
                entries: listed.state.as_str().to_owned(),
            });
        }
        Ok(())
    }
}

impl Passing {
    /// Compares `call, nth, state, batch, open_intent` with the entries.
    fn call(&mut self, row: &rusqlite::Row<'_>, verified: &mut Verified) -> rusqlite::Result<()> {
        let id: (String, u64) = (row.get(0)?, row.get(1)?);
        let (listed, batch, open): (String, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let known = self.calls.remove(&id);
        let (conversation, call) = (self.name.clone(), format!("{} ({})", id.0, id.1));
        let Some(told) = known.filter(|known| known.state.as_str() == listed) else {
            let entries = known.map_or("nothing", |known| known.state.as_str());
            verified.found(Problem::WrongState {
                conversation,
                call,
                listed,
                entries: entries.to_owned(),
            });
            return Ok(());
        };
        *verified.calls.entry(told.state).or_default() += 1;
        let mut wrong = |column, listed, entries| {
            verified.found(Problem::WrongCall {
                conversation: conversation.clone(),
                call: call.clone(),
                column,
                listed,
                entries,
            });
        };
        let (from, to) = told.batch;
        if !u64::try_from(batch).is_ok_and(|batch| (from..=to).contains(&batch)) {
            let entries = if from == to {
                from.to_string()
            } else {
                format!("{from} to {to}")
            };
            wrong("batch", batch, entries);
        }
        let intent = i64::from(told.intent == Intent::Open);
        if open != intent {
            wrong("open_intent", open, intent.to_string());
        }
        Ok(())
    }
}

impl Intent {
    /// What an entry makes of it.
    fn after(known: Option<Call>, kind: &str, body: Option<&[u8]>) -> Self {
        let before = known.map_or(Self::None, |call| call.intent);
        if kind == "intended" {
            return Self::Open;
        }
        if before == Self::None || !matches!(kind, "finished" | "recovered") {
            return before;
        }
        let Some(body) = body else {
            return Self::Pruned;
        };
        let finished = known.is_some_and(|call| call.state == State::Finished);
        let step = match serde_json::from_slice::<Record>(body) {
            Ok(Record::Recovered { outcome, .. }) => Step::Recover(outcome != Recovered::LeftAlone),
            Ok(record) => Step::of(&record),
            Err(_) => return before,
        };
        match step {
            Step::FinishRunning => before,
            Step::Recover(for_good) if !for_good && !finished => before,
            _ => Self::None,
        }
    }
}
