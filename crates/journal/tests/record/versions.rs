//! Files of an older version: they are read, checked, brought up to date, and covered from there on.

use std::path::PathBuf;

use futures::executor::block_on;
use rusqlite::Connection;
use toolgate_gate::journal::{Batch, Journal, LeaseJournal, PruneJournal};
use toolgate_gate::store::{Space, Store};
use toolgate_journal::{Coverage, Problem, Prune, Reader, SqliteError, SqliteJournal};

use crate::fixture::{Place, commit, entry, finished, received, whole};

/// A journal that version 1 wrote.
fn first() -> Place {
    let place = Place::quick();
    make(place.file());
    place
}

/// A journal that version 2 wrote.
fn second() -> Place {
    let place = Place::quick();
    make_of(place.file(), include_str!("version_2.sql"));
    place
}

fn make(file: PathBuf) {
    make_of(file, include_str!("version_1.sql"));
}

fn make_of(file: PathBuf, content: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let db = Connection::open(&file).unwrap();
    db.execute_batch(content).unwrap();
    drop(db);
    let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(file, own).unwrap();
}

fn execute(place: &Place, change: &str) {
    let db = Connection::open(place.file()).unwrap();
    db.execute_batch(change).unwrap();
}

#[test]
fn version_1_is_read_and_checked_as_it_is() {
    let place = first();
    let before = std::fs::read(place.file()).unwrap();
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.coverage, Coverage::Not);
    assert_eq!((verified.conversations, verified.entries), (2, 27));
    assert_eq!(place.reader().conversations(0).unwrap().len(), 3);
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
    execute(&place, "DELETE FROM images");
    assert!(!place.verify().is_sound(), "what can be checked is");
}

#[test]
fn version_1_is_taken_over_once_and_covered_from_there_on() {
    let place = first();
    let anchor = place.reader().anchor().unwrap().unwrap();
    let journal = place.open();
    let verified = place.verify_against(&anchor);
    assert_eq!(verified.problems, []);
    let commit_of = anchor.number + 1;
    assert_eq!(verified.coverage, Coverage::Since { commit: commit_of });
    // It goes on as any other.
    whole(&journal, "a", "later", 500);
    whole(&journal, "new", "1", 510);
    let memory = Space::new("/w", "memory");
    assert_eq!(
        block_on(journal.get(&memory, "note")),
        Ok(Some("kept".to_owned()))
    );
    block_on(journal.set(&memory, "note", "newer".into())).unwrap();
    block_on(journal.delete(&memory, "other")).unwrap();
    commit(
        &journal,
        vec![entry("b", "cut off", 520, finished("cut off"))],
    )
    .unwrap();
    assert_eq!(place.verify().problems, []);
    let everything = Prune {
        before_ms: Some(505),
        to_bytes: None,
    };
    assert!(block_on(journal.prune(everything)).unwrap().bodies > 0);
    drop(journal);
    drop(place.open());
    let verified = place.verify_against(&anchor);
    assert_eq!(verified.problems, []);
    assert_eq!(verified.coverage, Coverage::Since { commit: commit_of });
}

#[test]
fn a_change_after_the_take_over_is_found() {
    for change in [
        "UPDATE conversations SET workspace = '/etc' WHERE id = 'a'",
        "UPDATE conversations SET started_ms = 1 WHERE id = 'begun'",
        "DELETE FROM conversations WHERE id = 'begun'",
        "UPDATE store SET value = 'obey me' WHERE key = 'note'",
        "DELETE FROM store WHERE space = 'todos'",
        "INSERT INTO store VALUES ('/w', 'memory', 'planted', 'x')",
        "UPDATE call_states SET batch = 3 WHERE call = 't0'",
        "UPDATE call_states SET batch = 25 WHERE call = 't0'",
        "UPDATE call_states SET open_intent = 0",
        "UPDATE bodies SET last_ms = 7 WHERE last_ms = 300",
        "DELETE FROM images WHERE last_ms = 210",
        "UPDATE anchors SET note = NULL WHERE note LIKE '%taken_over%'",
        "DELETE FROM anchors WHERE note LIKE '%taken_over%'",
    ] {
        let place = first();
        drop(place.open());
        execute(&place, change);
        assert!(!place.verify().is_sound(), "{change}");
    }
}

#[test]
fn a_version_set_back_is_not_taken_over_again() {
    let place = first();
    drop(place.open());
    execute(
        &place,
        "UPDATE store SET value = 'obey me' WHERE key = 'note'; PRAGMA user_version = 1",
    );
    assert!(!place.verify().is_sound());
    let refused = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(matches!(refused, SqliteError::Altered { .. }), "{refused}");
    assert!(refused.to_string().contains("a later version wrote to it"));

    let place = Place::quick();
    whole(&place.open(), "a", "1", 1);
    execute(&place, "PRAGMA user_version = 1");
    assert!(SqliteJournal::open(place.file(), place.options()).is_err());
}

#[test]
fn a_foreign_schema_of_version_1_is_not_brought_up_to_date() {
    let place = first();
    execute(
        &place,
        "CREATE TRIGGER t AFTER INSERT ON anchors BEGIN DELETE FROM store; END",
    );
    let refused = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(matches!(refused, SqliteError::Altered { .. }), "{refused}");
    let told = Reader::open(place.file()).unwrap().verify(None).unwrap();
    assert!(matches!(told.problems[..], [Problem::Schema { .. }]));
}

#[test]
fn version_1_waits_for_a_process_that_still_uses_it() {
    let place = first();
    let other = place.directory().join("other.db");
    let journal = SqliteJournal::open(&other, place.options()).unwrap();
    block_on(journal.begin(&"a".into(), None)).unwrap();
    let db = Connection::open(place.file()).unwrap();
    db.execute("ATTACH ?1 AS other", [other.to_str().unwrap()])
        .unwrap();
    db.execute_batch("INSERT INTO leases SELECT * FROM other.leases")
        .unwrap();
    let refused = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(refused.to_string().contains("older toolgate"), "{refused}");
    assert_eq!(place.verify().coverage, Coverage::Not);
    db.execute_batch("UPDATE leases SET pid = 4000000000")
        .unwrap();
    drop(place.open());
    assert_eq!(place.verify().problems, []);
}

#[test]
fn an_empty_file_of_version_1_is_covered_from_the_start() {
    let place = Place::quick();
    drop(place.open());
    execute(&place, "PRAGMA user_version = 1");
    whole(&place.open(), "a", "1", 1);
    let verified = place.verify();
    assert_eq!(
        (verified.problems, verified.coverage),
        (vec![], Coverage::Whole)
    );
}

#[test]
fn version_2_is_read_as_it_is_and_goes_on_with_keys() {
    let place = second();
    let before = std::fs::read(place.file()).unwrap();
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.coverage, Coverage::Whole);
    assert_eq!((verified.conversations, verified.entries), (2, 12));
    let anchor = verified.anchor.unwrap();
    assert_eq!(std::fs::read(place.file()).unwrap(), before);

    let journal = place.open();
    let version: i64 = Connection::open(place.file())
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 3);
    whole(&journal, "a", "3", 500);
    commit(
        &journal,
        vec![entry("b", "cut off", 501, finished("cut off"))],
    )
    .unwrap();
    let memory = Space::new("/w", "memory");
    let kept = block_on(journal.get(&memory, "note"));
    assert_eq!(kept, Ok(Some("kept".to_owned())));
    let batch = Batch::new(vec![entry("a", "3", 502, received("3"))]).unwrap();
    block_on(journal.append(batch.clone())).unwrap();
    drop(journal);
    block_on(place.open().append(batch.again())).unwrap();
    let verified = place.verify_against(&anchor);
    assert_eq!(verified.problems, []);
    assert_eq!((verified.coverage, verified.entries), (Coverage::Whole, 18));
}

#[test]
fn version_2_waits_for_a_process_that_still_uses_it() {
    let place = second();
    let db = Connection::open(place.file()).unwrap();
    let other = place.directory().join("other.db");
    let journal = SqliteJournal::open(&other, place.options()).unwrap();
    block_on(journal.begin(&"a".into(), None)).unwrap();
    db.execute("ATTACH ?1 AS other", [other.to_str().unwrap()])
        .unwrap();
    db.execute_batch("INSERT INTO leases SELECT * FROM other.leases")
        .unwrap();
    let refused = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(refused.to_string().contains("older toolgate"), "{refused}");
    db.execute_batch("DELETE FROM leases").unwrap();
    drop(place.open());
}

#[test]
fn a_newer_schema_is_refused() {
    let place = Place::quick();
    whole(&place.open(), "a", "1", 1);
    execute(&place, "PRAGMA user_version = 4");
    let path = place.file().display().to_string();
    let newer = SqliteError::Newer {
        path,
        found: 4,
        known: 3,
    };
    let opened = SqliteJournal::open(place.file(), place.options()).map(drop);
    assert_eq!(opened, Err(newer.clone()));
    assert_eq!(Reader::open(place.file()).map(drop), Err(newer));
}
