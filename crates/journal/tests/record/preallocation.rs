//! Room in the log: made where commits follow each other, and only zeros to whoever reads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolgate_journal::{Options, Point, Reader, SqliteJournal};

use crate::fixture::{LOG_FRAME as FRAME, LOG_HEADER as HEADER, Place, commit, start, whole};

/// The log is never folded in, as if there were never a quiet moment.
fn busy(place: &Place) -> Options {
    Options {
        folds_when_quiet: false,
        ..place.options()
    }
}

fn log(place: &Place) -> PathBuf {
    place.directory().join("state/journal.db-wal")
}

/// How long the log is, and whether it ends with frames.
fn looked_at(place: &Place) -> (usize, bool) {
    let bytes = std::fs::read(log(place)).unwrap();
    let last = bytes[HEADER..].chunks_exact(FRAME).last().unwrap();
    (bytes.len(), last.iter().any(|byte| *byte != 0))
}

/// What a machine that stopped now would find: the same files, and nobody who has them open.
fn after_a_crash(place: &Place) -> Place {
    let found = Place::new();
    std::fs::create_dir(found.file().parent().unwrap()).unwrap();
    std::fs::copy(place.file(), found.file()).unwrap();
    std::fs::copy(log(place), log(&found)).unwrap();
    found
}

#[test]
fn who_commits_a_little_is_not_held_up_by_it() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), busy(&place)).unwrap();
    whole(&journal, "c", "1", 1);
    // The writer has looked after the second commit when the third is answered.
    commit(&journal, start("c", "2", 2)).unwrap();
    let (length, frames) = looked_at(&place);
    assert!(frames, "{length}");
    assert_eq!((length - HEADER) % FRAME, 0);
}

#[test]
fn the_log_stays_as_long_as_it_is_while_there_is_room() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), busy(&place)).unwrap();
    for n in 1..=4 {
        whole(&journal, "c", &n.to_string(), n);
    }
    let (length, frames) = looked_at(&place);
    assert!(!frames, "{length}");
    let mut lengths = Vec::new();
    for n in 5..=40 {
        whole(&journal, "c", &n.to_string(), n);
        lengths.push(looked_at(&place).0);
    }
    assert_eq!(lengths[0], length);
    lengths.dedup();
    assert!(lengths.len() < 10, "{lengths:?}");
    // What is found in it is what was put there, and the next one goes on from there.
    let found = after_a_crash(&place);
    assert_eq!(found.entries(), place.entries());
    let next = SqliteJournal::open(found.file(), busy(&found)).unwrap();
    whole(&next, "d", "1", 50);
    drop((journal, next));
    assert_eq!(found.verify().problems, []);
    assert_eq!(found.entries().len(), place.entries().len() + 4);
}

#[test]
fn room_is_not_made_while_somebody_else_writes() {
    let place = Place::new();
    drop(place.open());
    let theirs = rusqlite::Connection::open(place.file()).unwrap();
    let theirs = Arc::new(Mutex::new((theirs, 0)));
    let held = Arc::clone(&theirs);
    // They begin right after the fourth commit, and end before the fifth begins.
    let hook = move |point| {
        let mut theirs = held.lock().unwrap();
        match point {
            Point::Answered => {
                theirs.1 += 1;
                if theirs.1 == 4 {
                    theirs.0.execute_batch("BEGIN IMMEDIATE").unwrap();
                }
            }
            Point::Asked if theirs.1 == 4 => theirs.0.execute_batch("ROLLBACK").unwrap(),
            Point::Lengthened => assert_ne!(theirs.1, 4),
            _ => {}
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..busy(&place)
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for n in 1..=2 {
        whole(&journal, "c", &n.to_string(), n);
    }
    whole(&journal, "c", "3", 3);
    assert!(looked_at(&place).1);
    // Four more made the log longer, and this time room was made.
    for n in 4..=5 {
        whole(&journal, "c", &n.to_string(), n);
    }
    assert!(!looked_at(&place).1);
    drop(journal);
    assert_eq!(place.verify().problems, []);
}

#[test]
fn a_log_that_took_the_name_over_is_left_alone() {
    let place = Place::new();
    let lengthened = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&lengthened);
    let hook = move |point| {
        noted.fetch_add(usize::from(point == Point::Lengthened), Ordering::SeqCst);
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..busy(&place)
    };
    let ours = SqliteJournal::open(place.file(), options).unwrap();
    whole(&ours, "c", "1", 1);
    let moved = place.directory().join("moved");
    std::fs::rename(place.file().parent().unwrap(), &moved).unwrap();
    let theirs = SqliteJournal::open(place.file(), busy(&place)).unwrap();
    whole(&theirs, "d", "1", 1);
    let before = std::fs::read(log(&place)).unwrap();
    for n in 2..=6 {
        whole(&ours, "c", &n.to_string(), n);
    }
    assert!(lengthened.load(Ordering::SeqCst) > 0);
    assert!(before == std::fs::read(log(&place)).unwrap());
    for n in 2..=6 {
        whole(&theirs, "d", &n.to_string(), n);
    }
    drop((ours, theirs));
    for file in [place.file(), moved.join("journal.db")] {
        let verified = Reader::open(file).unwrap().verify(None).unwrap();
        assert_eq!((verified.problems, verified.entries), (vec![], 24));
    }
}
