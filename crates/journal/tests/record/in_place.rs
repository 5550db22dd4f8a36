//! Entries written by the thread that asks: in turn, and without waiting for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::executor::block_on;
use rusqlite::Connection;
use toolgate_gate::journal::Journal;
use toolgate_journal::{Options, Point, SqliteJournal};

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
    // Now and then the thread is busy with the log, and takes a commit as well.
    let here = written_here(in_place(&place), &place);
    assert!(here > 0);
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
