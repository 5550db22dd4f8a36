//! Results written by the thread that asks: in turn, and without waiting for others.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::executor::block_on;
use rusqlite::Connection;
use toolgate_gate::journal::Journal;
use toolgate_journal::{Options, Point, SqliteJournal};

use crate::fixture::{Place, commit, entry, finished, start};

fn in_place(place: &Place) -> Options {
    Options {
        writes_in_place: true,
        ..place.options()
    }
}

/// Which of the commits of fifty calls were written by the thread that asked for them: how
/// many starts and how many results.
fn written_here(options: Options, place: &Place) -> (usize, usize) {
    let here = std::thread::current().id();
    let last = Arc::new(Mutex::new(false));
    let noted = Arc::clone(&last);
    let hook = move |point| {
        if point == Point::Committed {
            *noted.lock().unwrap() = std::thread::current().id() == here;
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..options
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let (mut starts, mut results) = (0, 0);
    for call in 1..=50 {
        let id = call.to_string();
        commit(&journal, start("c", &id, call)).unwrap();
        starts += usize::from(*last.lock().unwrap());
        commit(&journal, vec![entry("c", &id, call, finished(&id))]).unwrap();
        results += usize::from(*last.lock().unwrap());
    }
    drop(journal);
    assert_eq!(place.verify().problems, []);
    assert_eq!(place.entries().len(), 200);
    (starts, results)
}

#[test]
fn a_result_is_written_by_who_asks_where_that_is_wanted_and_a_start_never() {
    let place = Place::new();
    assert_eq!(written_here(place.options(), &place), (0, 0));
    let place = Place::new();
    // Now and then the thread is still looking at the log, and takes the result as well.
    let (starts, results) = written_here(in_place(&place), &place);
    assert_eq!(starts, 0);
    assert!(results > 0);
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
fn nobody_who_waits_already_is_overtaken() {
    let place = Place::quick();
    let journal = SqliteJournal::open(place.file(), in_place(&place)).unwrap();
    for call in 1..=300 {
        let id = call.to_string();
        // Asked and given up on: it is written all the same, before what is asked later.
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
