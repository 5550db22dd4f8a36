//! Values that several processes change at once: nothing is lost, nothing doubled.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::executor::block_on;
use toolgate_gate::store::{Edit, MOST_VALUE_BYTES, Space, Store, StoreError};
use toolgate_journal::MemoryStore;
use toolgate_model::{ErrorKind, ToolError};

use crate::child::Part;
use crate::fixture::Place;

/// So many changes in all; more for a soak.
fn operations() -> u64 {
    let given = std::env::var("TOOLGATE_STORE_OPERATIONS");
    given.map_or(800, |text| {
        text.parse().expect("TOOLGATE_STORE_OPERATIONS is a number")
    })
}

#[test]
fn eight_processes_at_once_lose_nothing_and_double_nothing() {
    let place = Place::new();
    // Nobody has made the file yet: they all do.
    let each = operations() / 16;
    let mut parts: Vec<Part> = (0..8)
        .map(|n| Part::start("count", &place.file(), &format!("p{n} {each}")))
        .collect();
    for part in &mut parts {
        assert_eq!(part.end(), ["counted"]);
    }
    let store = place.open();
    let space = Space::new("/w", "todos");
    let count = block_on(store.get(&space, "count")).unwrap().unwrap();
    assert_eq!(count, (8 * each).to_string());
    let list = block_on(store.get(&space, "list")).unwrap().unwrap();
    let (names, numbers): (BTreeSet<&str>, BTreeSet<u64>) = list
        .lines()
        .map(|line| {
            let (name, number) = line.split_once(' ').unwrap();
            (name, number.parse::<u64>().unwrap())
        })
        .unzip();
    assert_eq!(list.lines().count() as u64, 8 * each);
    assert_eq!(names.len() as u64, 8 * each);
    assert_eq!(numbers, (1..=8 * each).collect());
}

#[test]
fn both_stores_keep_values_apart_by_workspace_and_name() {
    let place = Place::new();
    let journal = place.open();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(journal.clone()), Arc::new(MemoryStore::new())];
    for store in stores {
        let space = Space::new("/w", "memory");
        block_on(async {
            assert_eq!(store.get(&space, "k").await, Ok(None));
            assert_eq!(store.set(&space, "k", "one".into()).await, Ok(None));
            assert_eq!(
                store.set(&space, "k", "two".into()).await,
                Ok(Some("one".into()))
            );
            for other in [Space::new("/x", "memory"), Space::new("/w", "todos")] {
                assert_eq!(store.get(&other, "k").await, Ok(None));
                assert_eq!(store.list(&other).await, Ok(vec![]));
            }
            store.set(&space, "a\0 \u{e4}", "\0".into()).await.unwrap();
            let all = [("a\0 \u{e4}", "\0"), ("k", "two")];
            let all = all.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(store.list(&space).await, Ok(all.to_vec()));
            assert_eq!(store.delete(&space, "k").await, Ok(Some("two".into())));
            assert_eq!(store.delete(&space, "k").await, Ok(None));
            assert_eq!(store.list(&space).await.unwrap().len(), 1);

            let no = ToolError::new(ErrorKind::NotFound, "no such thing");
            let refused = no.clone();
            let refuses = store.update(&space, "k", Box::new(move |_| Err(refused.clone())));
            assert_eq!(refuses.await, Err(StoreError::Refused(no)));
            let large = "v".repeat(MOST_VALUE_BYTES + 1);
            let large = store.set(&space, "k", large).await;
            assert!(
                matches!(large, Err(StoreError::TooLarge { .. })),
                "{large:?}"
            );
            assert_eq!(
                store.get(&space, "k").await,
                Ok(None),
                "neither left a trace"
            );
            let kept = store.change(&space, "k", |now| Ok((Edit::Keep, now.is_none())));
            assert!(kept.await.unwrap());
        });
    }
    let panics: Result<(), ToolError> = {
        let store: Arc<dyn Store> = Arc::new(journal.clone());
        let change = |_: Option<&str>| -> Result<(Edit, ()), ToolError> { panic!("in a change") };
        block_on(store.change(&Space::new("/w", "memory"), "k", change))
    };
    assert!(panics.unwrap_err().message.contains("in a change"));
    drop(journal);
    let again = place.open();
    let space = Space::new("/w", "memory");
    assert_eq!(
        block_on(again.list(&space)).unwrap().len(),
        1,
        "the writer lives on"
    );
}
