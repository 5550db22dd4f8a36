//! Several conversations at once on one store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolgate_gate::store::Store;
use toolgate_journal::{MemoryStore, Options, SqliteJournal};
use toolgate_tools::Notes;

use crate::fixture::{WorkerState, directory};

const DESKS: usize = 8;

/// Eight desks of one workspace, each with its own way to the store, work at once.
fn nothing_is_lost(each: usize, store: impl Fn() -> Arc<dyn Store>) {
    let place = directory();
    let desks: Vec<WorkerState> = (0..DESKS)
        .map(|_| WorkerState::with(Arc::clone(&place), Notes::kept_in(store())))
        .collect();
    let at_once = |work: &(dyn Fn(usize, &WorkerState) + Sync)| {
        std::thread::scope(|threads| {
            for (number, desk) in desks.iter().enumerate() {
                let desk = desk.again();
                threads.spawn(move || work(number, &desk));
            }
        });
    };
    at_once(&|number, desk| {
        for n in 0..each {
            let task = format!("{number}-{n}");
            desk.ok("write_todos", json!({"action": "add", "task": task}));
            desk.ok(
                "memory",
                json!({"action": "set", "key": task, "value": task}),
            );
        }
    });
    let todos = desks[0].ok("write_todos", json!({"action": "list"}));
    let parts = |line: &str| {
        let (id, task) = line[4..].split_once(": ").unwrap();
        (id.to_owned(), task.to_owned())
    };
    let all: Vec<(String, String)> = todos.lines().map(parts).collect();
    let (ids, tasks): (BTreeSet<String>, BTreeSet<String>) = all.iter().cloned().unzip();
    assert_eq!((ids.len(), tasks.len()), (DESKS * each, DESKS * each));
    let keys = desks[1].ok("memory", json!({"action": "list"}));
    assert_eq!(keys.lines().count(), DESKS * each);
    // Some complete every task while the others remove every task.
    let removed = AtomicUsize::new(0);
    at_once(&|number, desk| {
        for (id, _) in &all {
            if number.is_multiple_of(2) {
                desk.call("write_todos", json!({"action": "complete", "id": id}));
            } else {
                let result = desk.call("write_todos", json!({"action": "remove", "id": id}));
                removed.fetch_add(usize::from(result.error.is_none()), Ordering::SeqCst);
            }
        }
    });
    // Each was removed by exactly one, and nobody who completed it brought it back.
    assert_eq!(removed.into_inner(), DESKS * each);
    assert_eq!(
        desks[0].ok("write_todos", json!({"action": "list"})),
        "No todos."
    );
}

#[test]
fn conversations_at_once_lose_nothing_in_memory() {
    let store = MemoryStore::new();
    nothing_is_lost(25, || Arc::new(store.clone()));
}

#[test]
fn conversations_at_once_lose_nothing_in_one_file() {
    let file = directory();
    let file = file.path().join("journal.db");
    nothing_is_lost(4, || {
        Arc::new(SqliteJournal::open(&file, Options::default()).unwrap())
    });
}
