//! Where notes are kept: the store that was given, or this process.

use std::fmt;
use std::sync::Arc;

use toolgate_gate::store::{MemoryStore, Space, Store};
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
        Self(Arc::new(MemoryStore::new()))
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}

/// The part of the store that belongs to the workspace of a call.
pub(crate) fn space(cx: &RunCtx, name: &str) -> Space {
    let root = cx.sandbox().roots().get(0);
    let workspace = root.map(|root| root.path().to_string_lossy().into_owned());
    Space::new(workspace.unwrap_or_default(), name)
}
