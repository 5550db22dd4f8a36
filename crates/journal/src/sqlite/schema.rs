//! The tables, and how older files get them.

use std::collections::BTreeMap;

use rusqlite::{Connection, TransactionBehavior};
use toolgate_gate::{Clock, SystemClock};

use super::lease;
use super::note::{Note, Opened, Stored, add_anchor, value_hash};
use super::sqlite_error::SqliteError;

/// "TGJ1": how a journal is told from other SQLite files.
const APPLICATION: i64 = 0x5447_4A31;

/// Each step leads from the version of its place to the next.
const STEPS: &[Step] = &[make_tables, take_over, unused];

type Step = fn(&Connection, &str) -> Result<(), SqliteError>;

/// The version this program writes. All versions have the same tables. Anchors of version 1
/// say nothing of conversations, stored values and requests; those of version 2 nothing of the
/// keys of batches.
pub(crate) const VERSION: i64 = 3;

pub(crate) const TABLES: &str = "
-- One row per conversation.
CREATE TABLE conversations(
  id TEXT NOT NULL PRIMARY KEY,
  workspace TEXT,
  started_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What happened, chained: hash covers prev_hash and every other column.
CREATE TABLE entries(
  conversation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call TEXT NOT NULL,
  nth INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  body_hash BLOB NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY(conversation, seq)
) STRICT, WITHOUT ROWID;

-- What the entries say, apart, so that it can go without breaking the chain.
CREATE TABLE bodies(
  hash BLOB NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL,
  last_ms INTEGER NOT NULL
) STRICT;

-- Files as they were before a change. Never exported.
CREATE TABLE images(
  hash BLOB NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL,
  last_ms INTEGER NOT NULL
) STRICT;

-- One row per commit: the last entry of every conversation it touched.
CREATE TABLE anchors(
  number INTEGER NOT NULL PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  heads TEXT NOT NULL,
  note TEXT,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;

-- How far each call has come. A call is its id and how many times that was received.
CREATE TABLE call_states(
  conversation TEXT NOT NULL,
  call TEXT NOT NULL,
  nth INTEGER NOT NULL,
  state TEXT NOT NULL,
  batch INTEGER NOT NULL,
  open_intent INTEGER NOT NULL,
  PRIMARY KEY(conversation, call, nth)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_calls ON call_states(conversation)
  WHERE state <> 'finished' OR open_intent <> 0;

-- Which process works on a conversation.
CREATE TABLE leases(
  conversation TEXT NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  beat_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What tools keep: memory, todos.
CREATE TABLE store(
  workspace TEXT NOT NULL,
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(workspace, space, key)
) STRICT, WITHOUT ROWID;
";

/// Looks what the file is: `None` for an empty one, else its version.
pub(crate) fn version(db: &Connection, path: &str) -> Result<Option<i64>, SqliteError> {
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    let pragma = |name: &str| {
        db.query_row(name, [], |row| row.get::<_, i64>(0))
            .map_err(fail)
    };
    let application = pragma("PRAGMA application_id")?;
    let found = pragma("PRAGMA user_version")?;
    let tables = pragma("SELECT count(*) FROM sqlite_master")?;
    match (application, found, tables) {
        (0, 0, 0) => Ok(None),
        (APPLICATION, 1.., _) if found > VERSION => Err(SqliteError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        }),
        (APPLICATION, 1.., _) => Ok(Some(found)),
        _ => Err(SqliteError::NotAJournal {
            path: path.to_owned(),
        }),
    }
}

/// Where the header says how the file is read and written, and what it says of a
/// write-ahead log.
const MODES: std::ops::Range<usize> = 18..20;
const WITH_LOG: u8 = 2;

/// The bytes of a record in which nothing is yet.
pub(crate) fn fresh(path: &str) -> Result<Vec<u8>, SqliteError> {
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    let mut db = Connection::open_in_memory().map_err(fail)?;
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .map_err(fail)?;
    migrate(&mut db, path)?;
    let mut bytes = db.serialize("main").map_err(fail)?.to_vec();
    if let Some(modes) = bytes.get_mut(MODES) {
        modes.fill(WITH_LOG);
    }
    Ok(bytes)
}

/// Brings the file to the version of this program, all of it or nothing.
pub(crate) fn migrate(db: &mut Connection, path: &str) -> Result<(), SqliteError> {
    if version(db, path)? == Some(VERSION) {
        return Ok(());
    }
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    let change = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fail)?;
    // Another process may have been faster.
    let found = version(&change, path)?.unwrap_or(0);
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    for step in STEPS.iter().skip(done) {
        step(&change, path)?;
    }
    change
        .pragma_update(None, "application_id", APPLICATION)
        .map_err(fail)?;
    change
        .pragma_update(None, "user_version", VERSION)
        .map_err(fail)?;
    change.commit().map_err(fail)
}

fn make_tables(db: &Connection, path: &str) -> Result<(), SqliteError> {
    db.execute_batch(TABLES)
        .map_err(|error| SqliteError::of(path, &error))
}

/// Puts every conversation and stored value of a file of version 1 on record as it is found:
/// later changes of them are found from here on.
fn take_over(db: &Connection, path: &str) -> Result<(), SqliteError> {
    unused(db, path)?;
    let now_ms = SystemClock.now_ms();
    match rows(db).map_err(|error| SqliteError::of(path, &error))? {
        Some(note) if note.opened.is_empty() && note.stored.is_empty() => Ok(()),
        Some(note) => add_anchor(db, path, now_ms, &BTreeMap::new(), &note),
        // Taken over again, whatever was changed since would count as found.
        None => Err(SqliteError::Altered {
            path: path.to_owned(),
            what: "its version is 1, and a later version wrote to it".to_owned(),
        }),
    }
}

/// Waits for a process of an older version: it would be cut off in the middle of its work.
fn unused(db: &Connection, path: &str) -> Result<(), SqliteError> {
    let holder = lease::any_holder(db, SystemClock.now_ms());
    match holder.map_err(|error| SqliteError::of(path, &error))? {
        None => Ok(()),
        Some(pid) => Err(SqliteError::Other {
            path: path.to_owned(),
            why: format!("process {pid} uses it with an older toolgate; end it, then try again"),
        }),
    }
}

/// What is in the tables; nothing if a later version wrote them.
fn rows(db: &Connection) -> rusqlite::Result<Option<Note>> {
    let mut notes = db.prepare("SELECT note FROM anchors WHERE note IS NOT NULL")?;
    let mut rows = notes.query([])?;
    while let Some(row) = rows.next()? {
        let by_first = Note::read(row.get_ref(0)?.as_str()?).is_some_and(|(_, first)| first);
        if !by_first {
            return Ok(None);
        }
    }
    let mut opened = db.prepare("SELECT id, workspace, started_ms FROM conversations")?;
    let opened = opened.query_map([], |row| Ok(Opened(row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut stored = db.prepare("SELECT workspace, space, key, value FROM store")?;
    let stored = stored.query_map([], |row| {
        let value = value_hash(row.get_ref(3)?.as_bytes()?);
        Ok(Stored(row.get(0)?, row.get(1)?, row.get(2)?, Some(value)))
    })?;
    Ok(Some(Note {
        taken_over: true,
        opened: opened.collect::<rusqlite::Result<_>>()?,
        stored: stored.collect::<rusqlite::Result<_>>()?,
        ..Note::default()
    }))
}
