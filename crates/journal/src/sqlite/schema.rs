//! The tables, and how older files get them.

use rusqlite::{Connection, TransactionBehavior};

use super::trouble::Trouble;

/// "TGJ1": how a journal is told from other SQLite files.
const APPLICATION: i64 = 0x5447_4A31;

/// Each step leads from the version of its place to the next.
const STEPS: &[&str] = &[FIRST];

/// The version this program writes.
pub(crate) const VERSION: i64 = 1;

const FIRST: &str = "
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
pub(crate) fn version(db: &Connection, path: &str) -> Result<Option<i64>, Trouble> {
    let fail = |error: rusqlite::Error| Trouble::of(path, &error);
    let pragma = |name: &str| {
        db.query_row(name, [], |row| row.get::<_, i64>(0))
            .map_err(fail)
    };
    let application = pragma("PRAGMA application_id")?;
    let found = pragma("PRAGMA user_version")?;
    let tables = pragma("SELECT count(*) FROM sqlite_master")?;
    match (application, found, tables) {
        (0, 0, 0) => Ok(None),
        (APPLICATION, 1.., _) if found > VERSION => Err(Trouble::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        }),
        (APPLICATION, 1.., _) => Ok(Some(found)),
        _ => Err(Trouble::NotAJournal {
            path: path.to_owned(),
        }),
    }
}

/// Where the header says how the file is read and written, and what it says of a
/// write-ahead log.
const MODES: std::ops::Range<usize> = 18..20;
const WITH_LOG: u8 = 2;

/// The bytes of a record in which nothing is yet.
pub(crate) fn fresh(path: &str) -> Result<Vec<u8>, Trouble> {
    let fail = |error: rusqlite::Error| Trouble::of(path, &error);
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
pub(crate) fn migrate(db: &mut Connection, path: &str) -> Result<(), Trouble> {
    if version(db, path)? == Some(VERSION) {
        return Ok(());
    }
    let fail = |error: rusqlite::Error| Trouble::of(path, &error);
    let change = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fail)?;
    // Another process may have been faster.
    let found = version(&change, path)?.unwrap_or(0);
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    for step in STEPS.iter().skip(done) {
        change.execute_batch(step).map_err(fail)?;
    }
    change
        .pragma_update(None, "application_id", APPLICATION)
        .map_err(fail)?;
    change
        .pragma_update(None, "user_version", VERSION)
        .map_err(fail)?;
    change.commit().map_err(fail)
}
