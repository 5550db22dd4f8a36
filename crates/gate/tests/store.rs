//! Small values that outlive a conversation, and what ends with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use proptest::prelude::*;
use toolgate_gate::session::{Resource, Session};
use toolgate_gate::store::{Edit, MemoryStore, Space, Store, StoreError};
use toolgate_model::{ErrorKind, ToolError};

fn block_on<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

fn space(name: &str) -> Space {
    Space::new("/work", name)
}

#[test]
fn a_value_is_set_read_listed_and_removed_in_its_own_space() {
    block_on(async {
        let store = MemoryStore::new();
        let (here, there) = (space("memory"), space("todos"));
        assert_eq!(store.get(&here, "k").await, Ok(None));
        assert_eq!(store.list(&here).await, Ok(Vec::new()));
        assert_eq!(store.set(&here, "k", "1".into()).await, Ok(None));
        // A clone is the same store.
        let other = store.clone();
        assert_eq!(
            other.set(&here, "k", "2".into()).await,
            Ok(Some("1".into()))
        );
        assert_eq!(other.set(&here, "a", "3".into()).await, Ok(None));
        let all = [("a", "3"), ("k", "2")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(store.list(&here).await, Ok(all.to_vec()));
        assert_eq!(store.list(&there).await, Ok(Vec::new()));
        assert_eq!(store.get(&there, "k").await, Ok(None));
        assert_eq!(store.delete(&here, "k").await, Ok(Some("2".into())));
        assert_eq!(store.delete(&here, "k").await, Ok(None));
        assert_eq!(store.get(&here, "k").await, Ok(None));
    });
}

#[test]
fn a_change_that_is_refused_or_too_large_changes_nothing() {
    block_on(async {
        let (store, here) = (MemoryStore::new(), space("memory"));
        store.set(&here, "k", "1".into()).await.unwrap();
        let no = ToolError::bad_args("not like this");
        let refused = no.clone();
        let refused = store
            .update(&here, "k", Box::new(move |_| Err(refused.clone())))
            .await;
        assert_eq!(refused, Err(StoreError::Refused(no.clone())));
        let large = "v".repeat(toolgate_gate::store::MOST_VALUE_BYTES + 1);
        let large = store.set(&here, "k", large).await;
        assert!(matches!(
            large,
            Err(StoreError::TooLarge {
                what: "the value",
                ..
            })
        ));
        let key = "k".repeat(toolgate_gate::store::MOST_KEY_BYTES + 1);
        let long = store.set(&here, &key, "1".into()).await;
        assert!(matches!(
            long,
            Err(StoreError::TooLarge {
                what: "the key",
                ..
            })
        ));
        let kept = store.update(&here, "k", Box::new(|_| Ok(Edit::Keep))).await;
        assert_eq!(kept, Ok(Some("1".into())));
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let told = shared
            .change::<()>(&here, "k", move |_| Err(no.clone()))
            .await;
        assert_eq!(told.unwrap_err().kind, ErrorKind::BadArgs);
        assert_eq!(store.list(&here).await.unwrap().len(), 1);
    });
}

/// A store that says yes and does nothing.
struct Idle;

impl Store for Idle {
    fn get(&self, _: &Space, _: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn list(&self, _: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn update(
        &self,
        _: &Space,
        _: &str,
        _: toolgate_gate::store::Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async { Ok(None) })
    }
}

#[test]
fn a_change_that_was_never_made_is_an_error() {
    let store: Arc<dyn Store> = Arc::new(Idle);
    let made = block_on(store.change(&space("memory"), "k", |_| Ok((Edit::Keep, 1))));
    assert_eq!(made.unwrap_err().kind, ErrorKind::Journal);
}

#[test]
fn changes_of_many_threads_are_all_made() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let next = |now: Option<&str>| {
                        let next = now.map_or(0, |now| now.parse::<u64>().unwrap()) + 1;
                        Ok((Edit::Set(next.to_string()), next))
                    };
                    block_on(store.change(&space("counters"), "visits", next)).unwrap();
                }
            });
        }
    });
    let count = block_on(store.get(&space("counters"), "visits"));
    assert_eq!(count, Ok(Some("1000".into())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(256), ..ProptestConfig::default() })]

    #[test]
    fn a_store_is_a_map_per_space(
        steps in prop::collection::vec((0_u8..2, "[abc]", prop::option::of("[a-z]{0,3}")), 0..40),
    ) {
        let store = MemoryStore::new();
        let mut maps: [BTreeMap<String, String>; 2] = Default::default();
        for (nth, key, value) in steps {
            let space = space(&nth.to_string());
            let map = &mut maps[usize::from(nth)];
            let (was, before) = match value {
                Some(value) => (
                    block_on(store.set(&space, &key, value.clone())),
                    map.insert(key, value),
                ),
                None => (block_on(store.delete(&space, &key)), map.remove(&key)),
            };
            prop_assert_eq!(was, Ok(before));
            let all: Vec<_> = map.clone().into_iter().collect();
            prop_assert_eq!(block_on(store.list(&space)), Ok(all));
        }
    }
}

#[derive(Default)]
struct Counted(AtomicUsize);

impl Resource for Counted {
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::SeqCst);
        })
    }
}

#[derive(Default)]
struct Other;

impl Resource for Other {
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[test]
fn a_conversation_has_one_belonging_of_each_kind_and_ends_it() {
    let session = Session::new("c");
    let first = session.resource::<Counted>();
    let _ = session.resource::<Other>();
    assert!(Arc::ptr_eq(&first, &session.resource::<Counted>()));
    let elsewhere = Session::new("d").resource::<Counted>();
    block_on(session.end());
    assert_eq!(first.0.load(Ordering::SeqCst), 1);
    assert_eq!(elsewhere.0.load(Ordering::SeqCst), 0);
}
