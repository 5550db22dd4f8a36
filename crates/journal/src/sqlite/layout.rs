//! Whether the tables are those that this program made.
//!
//! A trigger, a view or another table in the file is somebody else's: it could change rows
//! whenever the program writes. So the schema is compared exactly, when the file is opened
//! and in a transaction whenever SQLite's schema number has changed.

use std::collections::BTreeMap;

use rusqlite::Connection;
use toolgate_gate::tool::hex;

use super::schema;
use super::sqlite_error::SqliteError;
use toolgate_gate::journal::chain::{Hash, fields_hash};

/// The hash of the schema that the migrations make.
const EXPECTED: &str = "873f96476ce5bbbde1d4c0c89f07c32ca70e73910402a143d365cfecf5a72dee";

/// A schema number and version that were found in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    cookie: i64,
    version: i64,
}

impl Known {
    /// Reads both numbers.
    fn read(db: &Connection) -> rusqlite::Result<Self> {
        let number = |pragma: &str| {
            db.prepare_cached(pragma)?
                .query_row([], |row| row.get::<_, i64>(0))
        };
        Ok(Self {
            cookie: number("PRAGMA schema_version")?,
            version: number("PRAGMA user_version")?,
        })
    }
}

/// Refuses a file whose schema is not the one this program makes.
pub(crate) fn check(db: &Connection, path: &str) -> Result<Known, SqliteError> {
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    // First the number: a change after it is found by the next look.
    let known = Known::read(db).map_err(fail)?;
    match differences(db).map_err(fail)?.into_iter().next() {
        None => Ok(known),
        Some(what) => Err(SqliteError::Altered {
            path: path.to_owned(),
            what,
        }),
    }
}

/// Refuses a file whose schema was changed since it was found in order.
pub(crate) fn recheck(db: &Connection, path: &str, known: Known) -> Result<Known, SqliteError> {
    let now = Known::read(db).map_err(|error| SqliteError::of(path, &error))?;
    if now == known {
        return Ok(known);
    }
    match schema::version(db, path)? {
        Some(schema::VERSION) => check(db, path),
        other => Err(SqliteError::Altered {
            path: path.to_owned(),
            what: format!("its version became {}", other.unwrap_or(0)),
        }),
    }
}

/// An object of the schema: its kind and name.
type Object = (String, String);
/// Its table and its text.
type Made = (String, Option<String>);

/// What is different, in words; nothing if all is as it was made.
pub(crate) fn differences(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let found = objects(db)?;
    if hex(&hash(&found)) == EXPECTED {
        return Ok(Vec::new());
    }
    let made = Connection::open_in_memory()?;
    made.execute_batch(schema::TABLES)?;
    let made = objects(&made)?;
    let mut told = Vec::new();
    for (object @ (kind, name), is) in &found {
        match made.get(object) {
            Some(was) if was == is => {}
            Some(_) => told.push(format!("{kind} {name:?} is not as it was made")),
            None => told.push(format!("{kind} {name:?} is not part of a journal")),
        }
    }
    let missing = made.keys().filter(|object| !found.contains_key(*object));
    told.extend(missing.map(|(kind, name)| format!("{kind} {name:?} is missing")));
    Ok(told)
}

fn objects(db: &Connection) -> rusqlite::Result<BTreeMap<Object, Made>> {
    let mut find = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = find.query([])?;
    let mut objects = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let text = |column| -> rusqlite::Result<String> {
            Ok(match row.get_ref(column)?.as_bytes_or_null() {
                Ok(bytes) => String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned(),
                Err(_) => "a number".to_owned(),
            })
        };
        let sql = match row.get_ref(3)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(text(3)?),
        };
        let mut object = (text(0)?, text(1)?);
        // The same name twice is a difference too.
        while objects.contains_key(&object) {
            object.1.push_str(" (again)");
        }
        objects.insert(object, (text(2)?, sql));
    }
    Ok(objects)
}

fn hash(objects: &BTreeMap<Object, Made>) -> Hash {
    let fields = objects.iter().flat_map(|((kind, name), (table, sql))| {
        let has_sql = if sql.is_some() { "1" } else { "0" };
        [
            kind,
            name,
            table,
            has_sql,
            sql.as_deref().unwrap_or_default(),
        ]
    });
    fields_hash("toolgate schema 1", fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_hash_is_that_of_the_migrations() {
        let made = Connection::open_in_memory().unwrap();
        made.execute_batch(schema::TABLES).unwrap();
        assert_eq!(hex(&hash(&objects(&made).unwrap())), EXPECTED);
        let mut fresh = Connection::open_in_memory().unwrap();
        schema::migrate(&mut fresh, "memory").unwrap();
        assert_eq!(differences(&fresh).unwrap(), Vec::<String>::new());
    }
}
