//! A store for as long as the process lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, ready};

use super::{Change, Edit, Space, Store, StoreError, check_size};

/// Keeps values in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    values: Arc<Mutex<BTreeMap<Space, BTreeMap<String, String>>>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Space, BTreeMap<String, String>>> {
        // A change that panics has not been applied, so the values are whole.
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(
        &self,
        space: &Space,
        key: &str,
        change: &Change,
    ) -> Result<Option<String>, StoreError> {
        let mut values = self.lock();
        let before = values.get(space).and_then(|keys| keys.get(key)).cloned();
        let edit = change(before.as_deref()).map_err(StoreError::Refused)?;
        check_size(key, &edit)?;
        let keys = values.entry(space.clone()).or_default();
        match edit {
            Edit::Keep => {}
            Edit::Set(value) => {
                keys.insert(key.to_owned(), value);
            }
            Edit::Delete => {
                keys.remove(key);
            }
        }
        Ok(before)
    }
}

impl Store for MemoryStore {
    fn get(&self, space: &Space, key: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let found = self
            .lock()
            .get(space)
            .and_then(|keys| keys.get(key))
            .cloned();
        Box::pin(ready(Ok(found)))
    }

    fn list(&self, space: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        let values = self.lock();
        let keys = values.get(space).into_iter().flatten();
        let all = keys.map(|(key, value)| (key.clone(), value.clone()));
        Box::pin(ready(Ok(all.collect())))
    }

    fn update(
        &self,
        space: &Space,
        key: &str,
        change: Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(ready(self.apply(space, key, &change)))
    }
}
