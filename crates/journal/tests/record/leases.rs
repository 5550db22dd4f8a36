//! Two writers of one file: each its own conversations.

use futures::executor::block_on;
use toolgate_gate::journal::{Journal, JournalErrorKind, LeaseJournal};
use toolgate_journal::{Options, SqliteError, SqliteJournal};

use crate::fixture::{Place, commit, start, whole};

#[test]
fn two_journals_write_different_conversations_and_not_the_same() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    whole(&one, "a", "1", 1);
    whole(&two, "b", "1", 2);
    let refused = block_on(two.begin(&"a".into(), None)).unwrap_err();
    let pid = std::process::id();
    assert_eq!(refused.kind, JournalErrorKind::InUse);
    let named = format!("conversation a is in use by process {pid};");
    assert!(refused.message.starts_with(&named), "{refused}");
    let error = commit(&two, start("a", "2", 3)).unwrap_err();
    assert!(
        error.to_string().contains(&format!("process {pid}")),
        "{error}"
    );
    let mixed = [start("b", "2", 3), start("a", "2", 3)].concat();
    assert!(commit(&two, mixed).is_err());
    whole(&one, "a", "2", 4);
    assert!(place.verify().is_sound());
    assert_eq!(place.entries().len(), 12);
}

#[test]
fn a_conversation_that_was_given_back_can_be_taken() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    whole(&one, "a", "1", 1);
    block_on(one.release(&"a".into())).unwrap();
    whole(&two, "a", "1", 2);
    assert!(commit(&one, start("a", "2", 3)).is_err());
    drop(two);
    whole(&one, "a", "2", 4);
    drop(one);
    whole(&place.open(), "a", "3", 5);
    assert!(place.verify().is_sound());
}

#[test]
fn whoever_lost_a_conversation_is_told_and_writes_no_more() {
    let place = Place::new();
    let journal = place.open();
    whole(&journal, "a", "1", 1);
    let db = rusqlite::Connection::open(place.file()).unwrap();
    db.execute("UPDATE leases SET token = 'another', pid = 77", [])
        .unwrap();
    let error = commit(&journal, start("a", "2", 2)).unwrap_err();
    assert!(
        error.to_string().contains("taken over by process 77"),
        "{error}"
    );
    db.execute("DELETE FROM leases", []).unwrap();
    let error = commit(&journal, start("a", "2", 2)).unwrap_err();
    assert!(error.to_string().contains("taken over"), "{error}");
    whole(&journal, "b", "1", 3);
    assert_eq!(place.entries().len(), 8);
}

#[test]
fn a_holder_that_cannot_be_seen_holds_for_a_reader_as_long_as_for_a_writer() {
    let place = Place::new();
    let journal = place.open();
    whole(&journal, "a", "1", 1);
    let db = rusqlite::Connection::open(place.file()).unwrap();
    db.execute(
        "UPDATE leases SET token = 'another', pid = 77, process = 'other boot 5', beat_ms = 1000",
        [],
    )
    .unwrap();
    let held_by = |now_ms| {
        let all = place.reader().conversations(now_ms).unwrap();
        all.first().unwrap().held_by
    };
    let free_at = 1000 + 120_000;
    assert_eq!(held_by(free_at - 1), Some(77));
    assert_eq!(held_by(free_at), None);
    place.clock.set(free_at);
    block_on(place.open().begin(&"a".into(), None)).unwrap();
}

#[test]
fn a_journal_that_lost_its_source_of_randomness_is_not_opened() {
    struct Dry;
    impl toolgate_gate::Entropy for Dry {
        fn bits(&self) -> Option<u128> {
            None
        }
    }
    let place = Place::new();
    let options = Options {
        entropy: std::sync::Arc::new(Dry),
        ..place.options()
    };
    let opened = SqliteJournal::open(place.file(), options);
    assert_eq!(opened.map(|_| ()), Err(SqliteError::NoRandomness));
}
