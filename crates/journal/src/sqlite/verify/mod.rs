//! Whether the record is what was written.
//!
//! ```text
//! schema ─▶ SQLite's own check ─▶ anchors ─▶ what the tables should hold (Told)
//!                                              ├─▶ conversations and calls, entry by entry
//!                                              ├─▶ bodies and images
//!                                              └─▶ conversations, stored values, leases
//! ```
//!
//! A cut-off end is whole in itself and found only with an anchor that was kept elsewhere.
//! Leases change without a commit, so only their shape is checked.

mod anchors;
mod contents;
mod conversations;
mod told;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use toolgate_gate::journal::{Anchor, Coverage, Problem, Verified};

use super::layout;
use super::read::Reader;
use super::sqlite_error::SqliteError;

impl Reader {
    /// Checks the whole record, and that it holds the commit of an anchor kept elsewhere.
    pub fn verify(&self, against: Option<&Anchor>) -> Result<Verified, SqliteError> {
        let mut verified = Verified::default();
        self.db
            .unchecked_transaction()
            .and_then(|snapshot| check(&snapshot, against, &mut verified))
            .map_err(|error| self.fail(&error))?;
        Ok(verified)
    }

    /// Refuses a conversation that is not as its commits say.
    pub(crate) fn check_conversation(&self, conversation: &str) -> Result<(), SqliteError> {
        let snapshot = self.db.unchecked_transaction();
        let snapshot = snapshot.map_err(|error| self.fail(&error))?;
        is_as_written(&snapshot, &self.path().to_string_lossy(), conversation)
    }
}

/// Refuses a conversation that is not as its commits say, before files change because of it.
///
/// An entry that was put into the file without its chain, and a call whose change of files is
/// listed as open without being so, would otherwise decide what becomes of files. The commits
/// are checked as a whole; other conversations are not.
pub(crate) fn is_as_written(
    db: &Connection,
    path: &str,
    conversation: &str,
) -> Result<(), SqliteError> {
    let mut verified = Verified::default();
    let check = |verified: &mut Verified| -> rusqlite::Result<()> {
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let told = anchors::read(db, None, version, verified)?;
        verified.problems.retain(|problem| match problem {
            Problem::HeadGone {
                conversation: of, ..
            } => of == conversation,
            _ => true,
        });
        conversations::check_one(db, &told, conversation, verified)
    };
    check(&mut verified).map_err(|error| SqliteError::of(path, &error))?;
    let why = match verified.problems.first() {
        Some(problem) => problem.to_string(),
        // Of so many, some may be of this conversation.
        None if verified.more_problems > 0 => "many entries are missing".to_owned(),
        None => return Ok(()),
    };
    Err(SqliteError::Damaged {
        path: path.to_owned(),
        why: format!("{why}; no file was changed because of it"),
    })
}

fn check(
    db: &Connection,
    against: Option<&Anchor>,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    // A foreign schema decides what reading a table means, so it comes first and alone.
    for what in layout::differences(db)? {
        verified.found(Problem::Schema { what });
    }
    if !verified.is_sound() {
        return Ok(());
    }
    // The full check also finds rows that an index leaves out.
    let mut sound = db.prepare("PRAGMA integrity_check(10)")?;
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
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let told = anchors::read(db, against, version, verified)?;
    verified.coverage = told.coverage;
    let contents = conversations::check(db, &told, verified)?;
    contents.check(db, &told, verified)?;
    if told.coverage != Coverage::Not {
        told::conversations(db, &told, verified)?;
        told::stored(db, &told, verified)?;
    }
    told::leases(db, verified)
}

/// Does something with every row; a row with values that this program never writes is
/// reported with its key, the first `keys` columns.
fn each_row(
    db: &Connection,
    table: &'static str,
    keys: usize,
    query: &str,
    verified: &mut Verified,
    each: impl FnMut(&rusqlite::Row<'_>, &mut Verified) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    each_row_of(db, table, keys, (query, []), verified, each)
}

/// The same for a query with parameters.
fn each_row_of<P: rusqlite::Params>(
    db: &Connection,
    table: &'static str,
    keys: usize,
    (query, params): (&str, P),
    verified: &mut Verified,
    mut each: impl FnMut(&rusqlite::Row<'_>, &mut Verified) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut find = db.prepare(query)?;
    let mut rows = find.query(params)?;
    while let Some(row) = rows.next()? {
        match each(row, verified) {
            Err(error) if error.sqlite_error_code().is_none() => {
                let row = key(row, keys)?;
                let why = error.to_string();
                verified.found(Problem::Unreadable { table, row, why });
            }
            other => other?,
        }
    }
    Ok(())
}

/// The first columns of a row, for a message.
fn key(row: &rusqlite::Row<'_>, keys: usize) -> rusqlite::Result<String> {
    let mut parts = Vec::with_capacity(keys);
    for column in 0..keys {
        parts.push(match row.get_ref(column)? {
            ValueRef::Null => "NULL".to_owned(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
            ValueRef::Blob(bytes) => toolgate_gate::tool::hex(bytes),
        });
    }
    Ok(parts.join(", "))
}
