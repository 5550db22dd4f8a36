//! The store: small values that outlive a conversation, for tools such as `memory`.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use toolgate::store::{MemoryStore, Space, Store};
//!
//! let store = MemoryStore::default();
//! let space = Space::new("/work", "notes");
//! assert_eq!(store.get(&space, "greeting").await?, None);
//! # Ok::<(), toolgate::store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use toolgate_gate::store::{Change, Edit, MemoryStore, Space, Store, StoreError};
