//! Where notes are kept: the store that was given, or this process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, ready};
use toolgate_gate::store::{Change, Edit, Space, Store, StoreError, check_size};
use toolgate_gate::tool::RunCtx;

/// The store of `memory` and `write_todos`. Without one they remember for as long as the
/// process lives.
#[derive(Clone)]
pub struct Notes(Arc<dyn Store>);

/// A store that nobody borrows.
pub(crate) type Kept = dyn Store;

impl Notes {
    /// Notes that are kept in this store.
    pub fn kept_in(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    pub(crate) fn store(&self) -> &Kept {
        &*self.0
    }
}

impl Default for Notes {
    fn default() -> Self {
        Self(Arc::new(Held::default()))
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}

/// The part of the store that belongs to the workspace of a call.
pub(crate) fn space(cx: &RunCtx, name: &str) -> Space {
    let root = cx.wall().roots().get(0);
    let workspace = root.map(|root| root.path().to_string_lossy().into_owned());
    Space::new(workspace.unwrap_or_default(), name)
}

/// Notes in memory.
#[derive(Default)]
struct Held(Mutex<BTreeMap<(Space, String), String>>);

impl Held {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<(Space, String), String>) -> T) -> T {
        // A change that panicked was not made.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for Held {
    fn get(&self, space: &Space, key: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let place = (space.clone(), key.to_owned());
        let found = self.with(|notes| notes.get(&place).cloned());
        Box::pin(ready(Ok(found)))
    }

    fn list(&self, space: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        let all = self.with(|notes| {
            let own = notes.iter().filter(|((of, _), _)| of == space);
            own.map(|((_, key), value)| (key.clone(), value.clone()))
                .collect()
        });
        Box::pin(ready(Ok(all)))
    }

    fn update(
        &self,
        space: &Space,
        key: &str,
        change: Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let place = (space.clone(), key.to_owned());
        let changed = self.with(|notes| {
            let before = notes.get(&place).cloned();
            let edit = change(before.as_deref()).map_err(StoreError::Refused)?;
            check_size(&place.1, &edit)?;
            match edit {
                Edit::Keep => {}
                Edit::Set(value) => drop(notes.insert(place, value)),
                Edit::Delete => drop(notes.remove(&place)),
            }
            Ok(before)
        });
        Box::pin(ready(changed))
    }
}
