//! What one request does to the file, inside the transaction that it may share with others.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};
use toolgate_gate::journal::chain::{Hash, Link, NOTHING, sha256};
use toolgate_gate::journal::states::{Standing, State, Step, meant};
use toolgate_gate::journal::{Batch, BatchKey, Entry, Image};

use super::lease::{self, Holder};
use super::note::{Keyed, Note, Opened, add_anchor};
use super::sqlite_error::SqliteError;

/// What requests of one transaction share.
pub(crate) struct Work<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) path: &'a str,
    pub(crate) me: &'a Holder,
    pub(crate) now_ms: u64,
    /// The conversations this process held before.
    pub(crate) held: &'a BTreeSet<String>,
    /// The last entry of every conversation that this request wrote to.
    pub(crate) heads: BTreeMap<String, (u64, Hash)>,
    /// What the anchor of this commit states besides.
    pub(crate) note: Note,
    /// Batches of earlier requests of this commit.
    pub(crate) committing: Vec<Keyed>,
    /// The conversations this request took.
    pub(crate) taken: BTreeSet<String>,
    /// The conversations this request gave back.
    pub(crate) released: BTreeSet<String>,
    /// Whether the file can become smaller on disk.
    pub(crate) shrunk: bool,
}

/// Which call an entry is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// The one that the record's kind can only mean.
    Meant,
    /// This one of its id.
    Nth(u64),
}

impl Work<'_> {
    pub(crate) fn fail(&self, error: &rusqlite::Error) -> SqliteError {
        SqliteError::of(self.path, error)
    }

    /// Makes sure that this process works on the conversation.
    pub(crate) fn hold(&mut self, conversation: &str) -> Result<(), SqliteError> {
        if self.taken.contains(conversation) {
            return Ok(());
        }
        let fresh = !self.held.contains(conversation);
        lease::hold(
            self.db,
            self.path,
            self.me,
            conversation,
            self.now_ms,
            fresh,
        )?;
        self.taken.insert(conversation.to_owned());
        Ok(())
    }

    /// Notes that there is such a conversation.
    pub(crate) fn open(
        &mut self,
        conversation: &str,
        workspace: Option<&str>,
        at_ms: u64,
    ) -> Result<(), SqliteError> {
        // A row comes back only if it is new or changed.
        let opened = self
            .db
            .prepare_cached(
                "INSERT INTO conversations(id, workspace, started_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT(id) DO UPDATE SET workspace = coalesce(workspace, excluded.workspace)
                 WHERE workspace IS NULL AND excluded.workspace IS NOT NULL
                 RETURNING id, workspace, started_ms",
            )
            .and_then(|mut put| {
                put.query_row((conversation, workspace, at_ms), |row| {
                    Ok(Opened(row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()
            })
            .map_err(|error| self.fail(&error))?;
        self.note.opened.extend(opened);
        Ok(())
    }

    /// Writes entries at the end of their conversations.
    pub(crate) fn append(&mut self, entries: &[Entry], about: About) -> Result<(), SqliteError> {
        let mut batches: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in entries {
            let conversation = entry.conversation.as_str();
            let (last, before) = self.head(conversation)?;
            let seq = last + 1;
            if !batches.contains_key(conversation) {
                self.hold(conversation)?;
                if last == 0 {
                    self.open(conversation, None, entry.at_ms)?;
                }
                // The first request of a commit begins after the commit before; others say where.
                if self.heads.contains_key(conversation) {
                    self.note.requests.push((conversation.to_owned(), seq));
                }
                batches.insert(conversation, seq);
            }
            let batch = batches.get(conversation).copied().unwrap_or(seq);
            let nth = self.advance(entry, about, batch)?;
            let body = body_of(entry)?;
            let body_hash = sha256(&body);
            let hash = Link {
                conversation,
                seq,
                kind: entry.record.kind(),
                call: entry.call.as_str(),
                nth,
                at_ms: entry.at_ms,
                body_hash: &body_hash,
            }
            .hash(&before);
            self.keep("bodies", &body_hash, &body, entry.at_ms)?;
            self.db
                .prepare_cached("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
                .and_then(|mut put| {
                    put.execute((
                        conversation,
                        seq,
                        entry.record.kind(),
                        entry.call.as_str(),
                        nth,
                        entry.at_ms,
                        body_hash,
                        before,
                        hash,
                    ))
                })
                .map_err(|error| self.fail(&error))?;
            self.heads.insert(conversation.to_owned(), (seq, hash));
        }
        Ok(())
    }

    /// Writes a batch, or finds that it is on record already. Returns its first number.
    pub(crate) fn append_once(&mut self, batch: &Batch) -> Result<u64, SqliteError> {
        let conversation = batch.conversation();
        let conversation = conversation.as_str();
        if batch.is_offered_again() {
            // Whoever lost the conversation is not told what is in it.
            self.hold(conversation)?;
            if let Some(first) = self.written_as(batch.key(), conversation)? {
                self.is_the_same(batch, first)?;
                return Ok(first);
            }
        }
        let first = self.head(conversation)?.0 + 1;
        self.append(batch.entries(), About::Meant)?;
        let keyed = Keyed(batch.key().clone(), conversation.to_owned(), first);
        self.note.batches.push(keyed);
        Ok(first)
    }

    /// The number of the first entry of the batch of this key.
    fn written_as(&self, key: &BatchKey, conversation: &str) -> Result<Option<u64>, SqliteError> {
        let first_of = |batches: &[Keyed]| {
            let mut batches = batches.iter();
            let found = batches.find(|batch| batch.0 == *key && batch.1 == conversation);
            found.map(|batch| batch.2)
        };
        if let Some(first) = first_of(&self.committing) {
            return Ok(Some(first));
        }
        // Rare, so it has no index: the newest are looked at first.
        let search = || -> rusqlite::Result<Option<u64>> {
            let mut find = self.db.prepare_cached(
                "SELECT note FROM anchors WHERE instr(note, ?1) > 0 ORDER BY number DESC",
            )?;
            let mut rows = find.query([key.as_str()])?;
            while let Some(row) = rows.next()? {
                let note = Note::read(row.get_ref(0)?.as_str()?);
                if let Some(first) = note.and_then(|(note, _)| first_of(&note.batches)) {
                    return Ok(Some(first));
                }
            }
            Ok(None)
        };
        search().map_err(|error| self.fail(&error))
    }

    /// Refuses a batch whose key is on record with other entries.
    fn is_the_same(&self, batch: &Batch, first: u64) -> Result<(), SqliteError> {
        for (seq, entry) in (first..).zip(batch.entries()) {
            let body = body_of(entry)?;
            let there: Option<(String, String, u64, Hash)> = self
                .db
                .prepare_cached(
                    "SELECT kind, call, at_ms, body_hash FROM entries
                     WHERE conversation = ?1 AND seq = ?2",
                )
                .and_then(|mut find| {
                    find.query_row((entry.conversation.as_str(), seq), |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                    })
                    .optional()
                })
                .map_err(|error| self.fail(&error))?;
            let offered = (
                entry.record.kind().to_owned(),
                entry.call.as_str().to_owned(),
                entry.at_ms,
                sha256(&body),
            );
            if there != Some(offered) {
                return Err(SqliteError::KeyTaken {
                    conversation: entry.conversation.to_string(),
                    key: batch.key().to_string(),
                });
            }
        }
        Ok(())
    }

    /// Keeps contents of files beside the entry that names them.
    pub(crate) fn keep_images(&mut self, images: &[Image], at_ms: u64) -> Result<(), SqliteError> {
        for image in images {
            self.keep("images", &sha256(&image.bytes), &image.bytes, at_ms)?;
        }
        Ok(())
    }

    fn keep(&self, table: &str, hash: &Hash, bytes: &[u8], at_ms: u64) -> Result<(), SqliteError> {
        // What is there already stays as long as its youngest mention.
        let put = format!(
            "INSERT INTO {table}(hash, bytes, last_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT(hash) DO UPDATE SET last_ms = excluded.last_ms
             WHERE excluded.last_ms > last_ms"
        );
        self.db
            .prepare_cached(&put)
            .and_then(|mut put| put.execute((hash, bytes, at_ms)))
            .map_err(|error| self.fail(&error))?;
        Ok(())
    }

    /// The last entry of a conversation: its number and hash.
    fn head(&self, conversation: &str) -> Result<(u64, Hash), SqliteError> {
        if let Some(head) = self.heads.get(conversation) {
            return Ok(*head);
        }
        let found = self
            .db
            .prepare_cached(
                "SELECT seq, hash FROM entries WHERE conversation = ?1 ORDER BY seq DESC LIMIT 1",
            )
            .and_then(|mut find| {
                find.query_row([conversation], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|error| self.fail(&error))?;
        Ok(found.unwrap_or((0, NOTHING)))
    }

    /// Moves the call of an entry on, and says which of its id it is.
    fn advance(&self, entry: &Entry, about: About, batch: u64) -> Result<u64, SqliteError> {
        let (conversation, call) = (entry.conversation.as_str(), entry.call.as_str());
        let step = Step::of(&entry.record);
        if step == Step::Note {
            return Ok(0);
        }
        let (standings, of_batch) = self.standings(conversation, call, about)?;
        let (to, batch) = if step == Step::Receive {
            let last = standings.last().map_or(0, |standing| standing.nth);
            (Standing::received(last + 1), batch)
        } else {
            let Some((_, to)) = meant(&standings, step) else {
                let standing = standings
                    .last()
                    .map_or("not received", |s| s.state.as_str());
                return Err(SqliteError::OutOfOrder {
                    conversation: conversation.to_owned(),
                    call: call.to_owned(),
                    standing: standing.to_owned(),
                    kind: entry.record.kind(),
                });
            };
            (to, of_batch)
        };
        self.db
            .prepare_cached("INSERT OR REPLACE INTO call_states VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
            .and_then(|mut put| {
                put.execute((
                    conversation,
                    call,
                    to.nth,
                    to.state.as_str(),
                    batch,
                    to.open_intent,
                ))
            })
            .map_err(|error| self.fail(&error))?;
        Ok(to.nth)
    }

    /// The calls of an id that an entry can be about: those of the batch that received it
    /// last. Older ones that never got a result are for the recovery, not for the pipeline.
    fn standings(
        &self,
        conversation: &str,
        call: &str,
        about: About,
    ) -> Result<(Vec<Standing>, u64), SqliteError> {
        let nth = match about {
            About::Meant => None,
            About::Nth(nth) => Some(nth),
        };
        let mut find = self
            .db
            .prepare_cached(
                "SELECT nth, state, open_intent, batch FROM call_states
                 WHERE conversation = ?1 AND call = ?2 AND CASE WHEN ?3 IS NULL
                   THEN batch = (SELECT batch FROM call_states
                                 WHERE conversation = ?1 AND call = ?2 ORDER BY nth DESC LIMIT 1)
                   ELSE nth = ?3 END
                 ORDER BY nth",
            )
            .map_err(|error| self.fail(&error))?;
        let mut rows = find
            .query((conversation, call, nth))
            .map_err(|error| self.fail(&error))?;
        let mut standings = Vec::new();
        let mut batch = 0;
        while let Some(row) = rows.next().map_err(|error| self.fail(&error))? {
            let (standing, of) = standing(row).map_err(|error| self.fail(&error))?;
            batch = of;
            let unknown = || SqliteError::Damaged {
                path: self.path.to_owned(),
                why: format!("call {call} has a state that does not exist"),
            };
            standings.push(standing.ok_or_else(unknown)?);
        }
        Ok((standings, batch))
    }

    /// Adds the anchor of this commit, if it wrote anything that is chained.
    pub(crate) fn anchor(&self) -> Result<(), SqliteError> {
        if self.heads.is_empty() && self.note.is_empty() {
            return Ok(());
        }
        add_anchor(self.db, self.path, self.now_ms, &self.heads, &self.note)
    }
}

/// What an entry says, as it is written.
fn body_of(entry: &Entry) -> Result<Vec<u8>, SqliteError> {
    serde_json::to_vec(&entry.record).map_err(|error| SqliteError::Unwritable {
        why: error.to_string(),
    })
}

/// Reads `nth, state, open_intent, batch`.
fn standing(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Option<Standing>, u64)> {
    let state: String = row.get(1)?;
    let standing = State::named(&state).map(|state| {
        Ok::<_, rusqlite::Error>(Standing {
            nth: row.get(0)?,
            state,
            open_intent: row.get(2)?,
        })
    });
    Ok((standing.transpose()?, row.get(3)?))
}
