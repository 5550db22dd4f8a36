//! Making and opening the file.
//!
//! An existing file is never opened by other means than SQLite's: closing a second
//! descriptor of it would drop the locks that this very process holds on it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::layout::{self, Known};
use super::schema;
use super::sqlite_error::SqliteError;

/// Commits write this much before the log is folded into the file without waiting for a quiet moment.
pub(crate) const LOG_PAGES: u32 = 4000;
/// A page is as large as SQLite makes it.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// What is kept of the log's file when it is empty: writing over it costs less than growing it.
pub(crate) const LOG_BYTES: u32 = 32 * 1024 * 1024;
/// Another process's commit takes milliseconds; this many short waits are half a minute.
const WAITS: i32 = 6000;

/// Opens the file for writing; makes it, and its directory, where there is none.
pub(crate) fn writable(path: &Path) -> Result<(Connection, Known), SqliteError> {
    let shown = path.display().to_string();
    make(path, &shown)?;
    refuse_rollback(path, &shown)?;
    let fail = |error: rusqlite::Error| SqliteError::of(&shown, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(fail)?;
    harden(&db).map_err(fail)?;
    db.busy_handler(Some(wait)).map_err(fail)?;
    // Before anything is changed: somebody else's file is left alone.
    let known = schema::version(&db, &shown)?;
    if known.is_some() {
        layout::check(&db, &shown)?;
    }
    let set =
        |name: &str, value: &dyn rusqlite::ToSql| db.pragma_update(None, name, value).map_err(fail);
    if known.is_none() {
        set("auto_vacuum", &"INCREMENTAL")?;
    }
    // It answers with the mode that really is; a file system without shared memory refuses.
    let mode: String = db
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(fail)?;
    if mode != "wal" {
        return Err(SqliteError::Other {
            path: shown,
            why: format!("the file system allows no write-ahead log (mode is {mode})"),
        });
    }
    set("synchronous", &"FULL")?;
    // By itself SQLite folds a long log in with the commit that made it long. That can be made
    // by somebody who waits for nothing but that commit, so the journal's thread does it.
    set("wal_autocheckpoint", &0)?;
    set("journal_size_limit", &LOG_BYTES)?;
    // What is rolled back never touches a directory for temporary files.
    set("temp_store", &"MEMORY")?;
    set("secure_delete", &true)?;
    db.set_prepared_statement_cache_capacity(64);
    // A prepared statement stays as it is, whatever values it is run with.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(fail)?;
    // Two processes may set a new file up at once; the file is only looked at again inside.
    schema::migrate(&mut db, &shown)?;
    let known = layout::check(&db, &shown)?;
    // A file that is there may still be one that cannot be written.
    db.execute_batch("BEGIN IMMEDIATE; ROLLBACK")
        .map_err(fail)?;
    Ok((db, known))
}

/// Takes from a file what it could do by itself: it is data, and nothing in it is run.
fn harden(db: &Connection) -> rusqlite::Result<()> {
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        db.set_db_config(setting, on)?;
    }
    db.pragma_update(None, "cell_size_check", true)
}

/// Opens the file for reading, also beside a process that writes it.
pub(crate) fn readable(path: &Path) -> Result<Connection, SqliteError> {
    let shown = path.display().to_string();
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        // Opening a pipe waits for somebody at its other end.
        Ok(_) => return Err(SqliteError::NotAJournal { path: shown }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(SqliteError::Missing { path: shown });
        }
        Err(error) => {
            let why = error.to_string();
            return Err(SqliteError::NotWritable { path: shown, why });
        }
    }
    refuse_rollback(path, &shown)?;
    let fail = |error: rusqlite::Error| SqliteError::of(&shown, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let beside = |db: Connection| {
        harden(&db).map_err(fail)?;
        db.busy_timeout(Duration::from_secs(10)).map_err(fail)?;
        match schema::version(&db, &shown)? {
            // Every version up to this one has the same tables.
            Some(_) => Ok(db),
            None => Err(SqliteError::Unmade {
                path: shown.clone(),
            }),
        }
    };
    let first = Connection::open_with_flags(path, flags)
        .map_err(fail)
        .and_then(beside);
    let log = log_of(path);
    match first {
        // A directory that cannot be written has no room for the shared memory of a log. Where
        // there is no log either, nobody writes, and none is needed.
        Err(SqliteError::NotWritable { .. }) if !log.exists() => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(still(path)?, flags)
                .map_err(fail)
                .and_then(beside)
        }
        opened => opened,
    }
}

/// Refuses a file with a rollback journal beside it, which SQLite would play back into it.
///
/// A journal of Toolgate's has a write-ahead log from the moment it is made, so whoever
/// made the other kind wants old or other content in it. Only a file that is still being
/// set up, where it could not be made as a whole, may have one.
fn refuse_rollback(path: &Path, shown: &str) -> Result<(), SqliteError> {
    let rollback = path.with_file_name(with_ending(path, "-journal"));
    if std::fs::symlink_metadata(&rollback).is_err() {
        return Ok(());
    }
    let length = std::fs::metadata(path).map_or(0, |found| found.len());
    let fresh = u64::try_from(schema::fresh(shown)?.len()).unwrap_or(0);
    if length < fresh {
        return Ok(());
    }
    Err(SqliteError::Rollback {
        path: rollback.display().to_string(),
    })
}

/// Where SQLite keeps the log of a file.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    path.with_file_name(with_ending(path, "-wal"))
}

/// The file's name with an ending of SQLite's.
pub(crate) fn with_ending(path: &Path, ending: &str) -> std::ffi::OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    name
}

/// The file as an address that promises that nobody changes it.
fn still(path: &Path) -> Result<String, SqliteError> {
    let text = path.to_str().ok_or_else(|| SqliteError::NotWritable {
        path: path.display().to_string(),
        why: "its directory cannot be written and its name is no text".to_owned(),
    })?;
    let mut address = String::from("file:");
    for character in text.chars() {
        match character {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            other => address.push(other),
        }
    }
    address.push_str("?immutable=1");
    Ok(address)
}

/// Held while a file is made: another thread that opened it meanwhile would lose its locks
/// with the descriptor that it was made through.
static MAKING: Mutex<()> = Mutex::new(());

/// Makes the file for its owner alone; SQLite gives its log the same rights.
fn make(path: &Path, shown: &str) -> Result<(), SqliteError> {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = |path: &Path, error: &std::io::Error| SqliteError::NotWritable {
        path: path.display().to_string(),
        why: error.to_string(),
    };
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(SqliteError::NotAJournal {
            path: shown.to_owned(),
        }),
        Ok(found) if found.mode() & 0o077 != 0 => Err(SqliteError::Exposed {
            path: shown.to_owned(),
            mode: found.mode() & 0o777,
        }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = match path.parent() {
                Some(directory) if !directory.as_os_str().is_empty() => directory,
                _ => Path::new("."),
            };
            make_directory(directory).map_err(|error| failed(directory, &error))?;
            let made = match whole(directory, path, &schema::fresh(shown)?) {
                // A file system without files that have no name: SQLite sets it up in place.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => empty(path),
                other => other,
            };
            match made {
                Ok(()) => sync_directory(directory).map_err(|error| failed(directory, &error)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(failed(path, &error)),
            }
        }
        Err(error) => Err(failed(path, &error)),
    }
}

/// Makes a file that is there with all it holds, or not at all, whenever the program ends.
fn whole(directory: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes)?;
    file.sync_all()?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

fn empty(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path).map(drop)
}

/// Makes a directory and those above it, each on disk before anything is put into it.
fn make_directory(directory: &Path) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = match directory.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    make_directory(above)?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => sync_directory(above),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Does something without waiting for whoever has the file locked.
pub(crate) fn at_once<T>(
    db: &mut Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let _ = db.busy_timeout(Duration::ZERO);
    let done = work(db);
    let _ = db.busy_handler(Some(wait));
    done
}

/// Short waits: whoever holds the lock gives it back after one disk write.
fn wait(times: i32) -> bool {
    std::thread::sleep(Duration::from_millis(if times < 10 { 1 } else { 5 }));
    times < WAITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let rights = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, rights, 0).unwrap();
        std::os::unix::fs::symlink("pipe", at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let others = ["pipe", "link", "socket", "directory"].map(at);
        for path in others
            .iter()
            .map(PathBuf::as_path)
            .chain([Path::new("/dev/zero")])
        {
            let read = readable(path).map(drop);
            let written = writable(path).map(drop);
            for got in [read, written] {
                assert!(
                    matches!(got, Err(SqliteError::NotAJournal { .. })),
                    "{path:?}: {got:?}"
                );
            }
        }
        let missing = readable(&at("missing")).map(drop);
        assert!(
            matches!(missing, Err(SqliteError::Missing { .. })),
            "{missing:?}"
        );
    }

    /// A rollback journal that would cut the file to nothing.
    fn rollback() -> Vec<u8> {
        let mut bytes = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
        for number in [0_u32, 1234, 0, 512, 4096] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.resize(1024, 0);
        bytes
    }

    #[test]
    fn a_planted_rollback_journal_is_not_played_back() {
        for in_use in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("journal.db");
            let planted = directory.path().join("journal.db-journal");
            let (writer, _) = writable(&path).unwrap();
            let put = "INSERT INTO conversations VALUES ('a', NULL, 1)";
            writer.execute(put, []).unwrap();
            if !in_use {
                drop(writer);
            }
            let before = std::fs::read(&path).unwrap();
            for bytes in [rollback(), Vec::new()] {
                std::fs::write(&planted, bytes).unwrap();
                for got in [readable(&path).map(drop), writable(&path).map(drop)] {
                    let named = matches!(&got, Err(SqliteError::Rollback { path }) if path.ends_with("-journal"));
                    assert!(named, "{got:?}");
                }
            }
            std::fs::remove_file(&planted).unwrap();
            std::os::unix::fs::symlink("elsewhere", &planted).unwrap();
            assert!(matches!(writable(&path), Err(SqliteError::Rollback { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), before);
            std::fs::remove_file(&planted).unwrap();
            let db = readable(&path).unwrap();
            let count = "SELECT count(*) FROM conversations";
            let count: i64 = db.query_row(count, [], |row| row.get(0)).unwrap();
            assert_eq!(count, 1);
        }
    }

    #[test]
    fn nothing_in_a_file_is_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let (writer, _) = writable(&path).unwrap();
        let theirs = Connection::open(&path).unwrap();
        theirs
            .execute_batch(
                "CREATE TRIGGER t AFTER INSERT ON conversations BEGIN DELETE FROM conversations; END;
                 CREATE VIEW v AS SELECT 1",
            )
            .unwrap();
        // Without the check of the schema.
        let put = "INSERT INTO conversations VALUES ('a', NULL, 1)";
        assert_eq!(writer.execute(put, []).unwrap(), 1);
        let reader = readable(&path).unwrap();
        for db in [&writer, &reader] {
            let count = "SELECT count(*) FROM conversations";
            let count: i64 = db.query_row(count, [], |row| row.get(0)).unwrap();
            assert_eq!(count, 1, "the trigger did not run");
            for refused in [
                "SELECT * FROM v",
                "SELECT load_extension('x')",
                "SELECT fts3_tokenizer('x', 'y')",
                "SELECT \"no column\"",
            ] {
                let got = db.query_row(refused, [], |_| Ok(()));
                assert!(got.is_err(), "{refused}");
            }
        }
        let _ = writer.execute_batch("PRAGMA writable_schema = ON");
        let change = "UPDATE sqlite_schema SET sql = '' WHERE name = 'v'";
        assert!(writer.execute(change, []).is_err());
        let attach = format!(
            "ATTACH '{}' AS more",
            directory.path().join("new.db").display()
        );
        let attached = writer.execute_batch(&attach);
        assert!(attached.is_err() || !directory.path().join("new.db").exists());
    }
}
