//! Entries are written by the journal's thread: in turn, and without holding up who asks.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::executor::block_on;
use rusqlite::Connection;
use toolgate_gate::journal::{Entry, Image, Journal, Record};
use toolgate_journal::{Options, Point, SqliteJournal};
use toolgate_model::ToolResult;

use crate::fixture::{Place, commit, entry, finished, start, whole};

#[test]
fn who_asks_never_writes() {
    let place = Place::new();
    let (to, committed) = channel();
    let hook = move |point| {
        if point == Point::Committed {
            to.send(std::thread::current().id()).unwrap();
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for call in ["1", "2", "3", "4"] {
        commit(&journal, start("c", call, 1)).unwrap();
        let intent = entry("c", call, 2, Record::Intended { files: Vec::new() });
        block_on(journal.intend(intent, vec![Image::of(b"before".to_vec())])).unwrap();
    }
    drop(journal);
    let here = std::thread::current().id();
    let writers: Vec<_> = committed.iter().collect();
    assert!(writers.len() == 8 && writers.iter().all(|writer| *writer != here));
}

#[test]
fn a_slow_disk_holds_up_no_other_task_of_who_asks() {
    let place = Place::new();
    let (go, waits) = channel();
    let waits = Mutex::new(waits);
    let hook = move |point| {
        if point == Point::Written {
            let long = Duration::from_secs(30);
            waits.lock().unwrap().recv_timeout(long).unwrap();
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let commit = journal.commit(start("c", "1", 1));
    // The disk goes on when the other task of this thread had its turn.
    let other = async { go.send(()).unwrap() };
    let (committed, ()) = block_on(async { futures::join!(commit, other) });
    committed.unwrap();
}

#[test]
fn the_log_gets_room_and_is_folded_in_when_nobody_waits() {
    let place = Place::new();
    let (to, points) = channel();
    let hook = move |point| to.send(point).unwrap();
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for call in 1..=10 {
        whole(&journal, "c", &call.to_string(), call);
    }
    for wanted in [Point::Lengthened, Point::Folded] {
        assert!(points.iter().any(|point| point == wanted));
    }
}

/// A commit of half a mebibyte.
fn large(call: &str) -> Entry {
    let text = "0123456789abcde\n".repeat(32 * 1024);
    let result = Box::new(ToolResult::ok(call.into(), "read_file", text));
    entry("c", call, 2, Record::Finished { result })
}

#[test]
fn a_long_log_is_folded_in_although_there_is_no_quiet_moment() {
    let place = Place::quick();
    let (to, points) = channel();
    let (file, log) = (place.file(), place.directory().join("state/journal.db-wal"));
    let before = Mutex::default();
    let hook = move |point| {
        let found = std::fs::metadata(&file).unwrap();
        let found = Some((found.len(), found.modified().unwrap()));
        match point {
            Point::Written => *before.lock().unwrap() = found,
            // Nothing but folding changes the file.
            Point::Committed => assert_eq!(*before.lock().unwrap(), found),
            _ => {}
        }
        to.send(point).unwrap();
    };
    let options = Options {
        folds_when_quiet: false,
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let mut longest = 0;
    for call in 1..=64 {
        let id = call.to_string();
        commit(&journal, start("c", &id, call)).unwrap();
        commit(&journal, vec![large(&id)]).unwrap();
        longest = longest.max(std::fs::metadata(&log).unwrap().len());
    }
    drop(journal);
    assert!(longest < 20 << 20, "{longest}");
    let folded = points.iter().filter(|point| *point == Point::Folded);
    assert!((2..=3).contains(&folded.count()));
    assert!(place.verify().is_sound());
}

#[test]
fn a_commit_does_not_wait_for_another_process_that_writes() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), place.options()).unwrap();
    commit(&journal, start("c", "1", 1)).unwrap();
    let theirs = Connection::open(place.file()).unwrap();
    theirs.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut result = journal.commit(vec![entry("c", "1", 2, finished("1"))]);
    let asked = Instant::now();
    assert!((&mut result).now_or_never().is_none());
    // Whoever waits for them gives up after half a minute.
    assert!(asked.elapsed() < Duration::from_secs(15));
    theirs.execute_batch("ROLLBACK").unwrap();
    block_on(result).unwrap();
    assert_eq!(place.entries().len(), 4);
}

#[test]
fn an_abandoned_commit_is_written_before_the_next_one() {
    let place = Place::quick();
    let journal = SqliteJournal::open(place.file(), place.options()).unwrap();
    for call in 1..=300 {
        let id = call.to_string();
        let _ = journal.commit(start("c", &id, call)).now_or_never();
        commit(&journal, vec![entry("c", &id, call, finished(&id))]).unwrap();
    }
    drop(journal);
    assert_eq!(place.verify().problems, []);
    assert_eq!(place.entries().len(), 1200);
}

#[test]
fn a_rejected_result_is_an_error_and_the_next_entry_is_written() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), place.options()).unwrap();
    commit(&journal, start("c", "1", 1)).unwrap();
    let result = || vec![entry("c", "1", 2, finished("1"))];
    commit(&journal, result()).unwrap();
    for _ in 0..20 {
        let error = commit(&journal, result()).unwrap_err();
        assert!(error.to_string().contains("is finished"), "{error}");
    }
    assert_eq!(place.entries().len(), 4);
    commit(&journal, start("c", "2", 3)).unwrap();
    assert!(place.verify().is_sound());
}
