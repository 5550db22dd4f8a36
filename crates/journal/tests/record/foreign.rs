//! A file that changes while the journal is open.

use futures::executor::block_on;
use toolgate_gate::store::{Space, Store};
use toolgate_journal::{Reader, SqliteError};

use crate::fixture::{Place, commit, start, whole};

#[test]
fn a_trigger_that_appears_later_does_nothing_and_stops_writing() {
    for (name, change) in [
        (
            "trigger",
            "CREATE TRIGGER t AFTER INSERT ON entries BEGIN
               INSERT INTO store VALUES ('/w', 'memory', 'planted', 'x');
             END",
        ),
        (
            "temporary name",
            "CREATE TRIGGER t BEFORE DELETE ON leases BEGIN SELECT RAISE(IGNORE); END",
        ),
        ("table", "CREATE TABLE more(x)"),
        ("column", "ALTER TABLE store ADD COLUMN more TEXT"),
    ] {
        let place = Place::quick();
        let journal = place.open();
        whole(&journal, "a", "1", 1);
        let theirs = rusqlite::Connection::open(place.file()).unwrap();
        theirs.execute_batch(change).unwrap();
        let refused = commit(&journal, start("a", "2", 2))
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("nothing was read or written"),
            "{name}: {refused}"
        );
        let memory = Space::new("/w", "memory");
        assert!(
            block_on(journal.set(&memory, "k", "v".into())).is_err(),
            "{name}"
        );
        assert!(block_on(journal.get(&memory, "k")).is_err(), "{name}");
        let planted = "SELECT count(*) FROM store";
        let planted: i64 = theirs.query_row(planted, [], |row| row.get(0)).unwrap();
        assert_eq!(planted, 0, "{name}");
        assert!(!place.verify().is_sound(), "{name}");
    }
}

#[test]
fn writing_goes_on_when_the_schema_is_in_order_again() {
    let place = Place::quick();
    let journal = place.open();
    whole(&journal, "a", "1", 1);
    let theirs = rusqlite::Connection::open(place.file()).unwrap();
    theirs.execute_batch("CREATE TABLE more(x)").unwrap();
    assert!(commit(&journal, start("a", "2", 2)).is_err());
    theirs.execute_batch("DROP TABLE more").unwrap();
    whole(&journal, "a", "2", 2);
    assert_eq!(place.verify().problems, []);
}

#[test]
fn a_version_that_becomes_newer_stops_writing() {
    let place = Place::quick();
    let journal = place.open();
    whole(&journal, "a", "1", 1);
    let theirs = rusqlite::Connection::open(place.file()).unwrap();
    for (version, part) in [
        (99, "newer toolgate"),
        (2, "version became 2"),
        (1, "version became 1"),
        (0, "not a journal"),
    ] {
        theirs.pragma_update(None, "user_version", version).unwrap();
        let refused = commit(&journal, start("a", "2", 2)).unwrap_err();
        assert!(refused.to_string().contains(part), "{refused}");
    }
    theirs.pragma_update(None, "user_version", 3).unwrap();
    whole(&journal, "a", "2", 2);
}

#[test]
fn a_reader_does_not_read_through_a_view() {
    let place = Place::quick();
    whole(&place.open(), "a", "1", 1);
    let reader = place.reader();
    let theirs = rusqlite::Connection::open(place.file()).unwrap();
    theirs
        .execute_batch(
            "ALTER TABLE conversations RENAME TO real;
             CREATE VIEW conversations AS SELECT id, '/etc' AS workspace, started_ms FROM real",
        )
        .unwrap();
    assert!(reader.conversations(0).is_err());
    let again = Reader::open(place.file()).unwrap();
    assert!(matches!(
        again.conversations(0),
        Err(SqliteError::Altered { .. })
    ));
}
