//! Entries written by the thread that asks: in turn, and without waiting for others.

use std::sync::atomic::{AtomicUsize, Ordering};
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

fn in_place(place: &Place) -> Options {
    Options {
        writes_in_place: true,
        ..place.options()
    }
}

/// How many of the hundred commits of fifty calls were written by the thread that asked.
fn written_here(options: Options, place: &Place) -> usize {
    let here = std::thread::current().id();
    let count = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&count);
    let hook = move |point| {
        if point == Point::Committed && std::thread::current().id() == here {
            noted.fetch_add(1, Ordering::SeqCst);
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..options
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for call in 1..=50 {
        whole(&journal, "c", &call.to_string(), call);
    }
    drop(journal);
    assert_eq!(place.verify().problems, []);
    assert_eq!(place.entries().len(), 200);
    count.load(Ordering::SeqCst)
}

#[test]
fn who_asks_writes_where_that_is_wanted() {
    let place = Place::new();
    assert_eq!(written_here(place.options(), &place), 0);
    let place = Place::new();
    // While the thread is busy with the log it takes commits as well. How many depends on the
    // disk; that nobody else is asked when it is idle is held beside the desk itself.
    let here = written_here(in_place(&place), &place);
    assert!((1..=100).contains(&here), "{here}");
}

#[test]
fn the_log_is_folded_in_and_gets_room_by_the_thread() {
    let place = Place::new();
    let (to, points) = channel();
    let here = std::thread::current().id();
    let hook = move |point| {
        let by_the_thread = std::thread::current().id() != here;
        to.send((point, by_the_thread)).unwrap();
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..in_place(&place)
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for call in 1..=10 {
        whole(&journal, "c", &call.to_string(), call);
    }
    for wanted in [Point::Lengthened, Point::Folded] {
        let seen = points.iter().find(|(point, _)| *point == wanted);
        assert_eq!(seen, Some((wanted, true)));
    }
}

/// A commit of half a mebibyte.
fn large(call: &str) -> Entry {
    let text = "0123456789abcde\n".repeat(32 * 1024);
    let result = Box::new(ToolResult::ok(call.into(), "read_file", text));
    entry("c", call, 2, Record::Finished { result })
}

#[test]
fn a_long_log_is_folded_in_by_the_thread_although_there_is_no_quiet_moment() {
    let place = Place::quick();
    let here = std::thread::current().id();
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
        let by_the_thread = std::thread::current().id() != here;
        to.send((point, by_the_thread)).unwrap();
    };
    let options = Options {
        folds_when_quiet: false,
        hook: Some(Arc::new(hook)),
        ..in_place(&place)
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
    let points: Vec<(Point, bool)> = points.iter().collect();
    let count = |wanted| points.iter().filter(|seen| **seen == wanted).count();
    assert_eq!(count((Point::Folded, false)), 0);
    assert!((2..=3).contains(&count((Point::Folded, true))));
    assert!(count((Point::Committed, false)) > 0);
    assert!(place.verify().is_sound());
}

#[test]
fn what_files_held_is_written_by_the_thread() {
    let place = Place::new();
    let here = std::thread::current().id();
    let (to, committed) = channel();
    let hook = move |point| {
        if point == Point::Committed {
            to.send(std::thread::current().id() == here).unwrap();
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..in_place(&place)
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    for call in ["1", "2", "3", "4"] {
        commit(&journal, start("c", call, 1)).unwrap();
        committed.recv().unwrap();
        let intent = entry("c", call, 2, Record::Intended { files: Vec::new() });
        block_on(journal.intend(intent, vec![Image::of(b"before".to_vec())])).unwrap();
        assert!(!committed.recv().unwrap());
    }
}

#[test]
fn who_asks_is_not_held_up_by_another_process_that_writes() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), in_place(&place)).unwrap();
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
fn what_was_given_up_on_is_written_before_what_is_asked_later() {
    let place = Place::quick();
    let journal = SqliteJournal::open(place.file(), in_place(&place)).unwrap();
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
fn an_error_of_a_result_is_told_and_the_next_one_goes_on() {
    let place = Place::new();
    let journal = SqliteJournal::open(place.file(), in_place(&place)).unwrap();
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
