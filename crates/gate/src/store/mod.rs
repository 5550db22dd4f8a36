//! Small things that outlive a conversation: what `memory` and `write_todos` keep.
//!
//! ```text
//! Space (workspace, name) ── key ──▶ value
//!        get, set, delete, list, and update: read, change and write in one step
//! ```
//!
//! What can go wrong: the place cannot be read or written, or a value is larger than
//! it takes. Several processes may use one store at once; no change is lost.

mod memory;

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use toolgate_model::{ErrorKind, ToolError};

pub use memory::MemoryStore;

/// The longest key.
pub const MOST_KEY_BYTES: usize = 1024;
/// The largest value.
pub const MOST_VALUE_BYTES: usize = 1024 * 1024;

/// A part of the store: one workspace's things of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space {
    /// The workspace, by its resolved place.
    pub workspace: String,
    /// What is kept: `memory`, `todos`.
    pub name: String,
}

impl Space {
    /// The things of this name in this workspace.
    pub fn new(workspace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            workspace: workspace.into(),
            name: name.into(),
        }
    }
}

/// Why the store did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read or written.
    #[error("the store cannot be used: {message}")]
    Unavailable {
        /// What went wrong and how to go on.
        message: String,
    },
    /// A key or value is larger than the store takes.
    #[error("{what} has {bytes} bytes; at most {most} can be kept")]
    TooLarge {
        /// The key or the value.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        most: usize,
    },
    /// The change itself did not want to happen. Nothing was written.
    #[error("{0}")]
    Refused(ToolError),
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable { .. } => Self::new(ErrorKind::Journal, error.to_string()),
            StoreError::TooLarge { .. } => Self::new(ErrorKind::TooLarge, error.to_string()),
            StoreError::Refused(error) => error,
        }
    }
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It stays as it is.
    Keep,
    /// It becomes this.
    Set(String),
    /// It goes away.
    Delete,
}

/// Looks at a value and says what becomes of it. Between the two nobody else can change it.
/// It may hold up everybody else who uses the store, so it computes and does not wait. A store
/// whose write fails, or finds that another one was faster, calls it again with the value that is
/// there then: only what it says last counts.
pub type Change = Box<dyn Fn(Option<&str>) -> Result<Edit, ToolError> + Send + Sync>;

/// A place for small values. Whatever returns without an error is durable.
pub trait Store: Send + Sync {
    /// The value of a key.
    fn get(&self, space: &Space, key: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>>;

    /// All keys of a space with their values, sorted by key.
    fn list(&self, space: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>>;

    /// Reads, changes and writes a value in one step, and says what it was before.
    fn update(
        &self,
        space: &Space,
        key: &str,
        change: Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>>;

    /// Sets a value and says what it was before.
    fn set(
        &self,
        space: &Space,
        key: &str,
        value: String,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.update(space, key, Box::new(move |_| Ok(Edit::Set(value.clone()))))
    }

    /// Removes a key and says what its value was.
    fn delete(
        &self,
        space: &Space,
        key: &str,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.update(space, key, Box::new(|_| Ok(Edit::Delete)))
    }
}

impl dyn Store + '_ {
    /// As [`Store::update`], with an answer of the change's own: the one that went with what was
    /// written.
    ///
    /// ```
    /// # use toolgate_gate::store::{Edit, Space, Store};
    /// # use toolgate_model::ToolError;
    /// async fn count(store: &dyn Store) -> Result<u64, ToolError> {
    ///     let space = Space::new("/home/me/project", "counters");
    ///     let next = |now: Option<&str>| {
    ///         let next = now.and_then(|n| n.parse().ok()).unwrap_or(0) + 1;
    ///         Ok((Edit::Set(next.to_string()), next))
    ///     };
    ///     store.change(&space, "visits", next).await
    /// }
    /// ```
    pub async fn change<T: Send + 'static>(
        &self,
        space: &Space,
        key: &str,
        change: impl Fn(Option<&str>) -> Result<(Edit, T), ToolError> + Send + Sync + 'static,
    ) -> Result<T, ToolError> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        let kept = move |now: Option<&str>| {
            let (edit, answer) = change(now)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Ok(edit)
        };
        self.update(space, key, Box::new(kept)).await?;
        let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.ok_or_else(|| {
            let message = "the store ended without making the change".to_owned();
            StoreError::Unavailable { message }.into()
        })
    }
}

/// Checks that a key and what becomes of its value fit.
pub fn check_size(key: &str, edit: &Edit) -> Result<(), StoreError> {
    let fits = |what, bytes, most| {
        if bytes > most {
            return Err(StoreError::TooLarge { what, bytes, most });
        }
        Ok(())
    };
    fits("the key", key.len(), MOST_KEY_BYTES)?;
    match edit {
        Edit::Set(value) => fits("the value", value.len(), MOST_VALUE_BYTES),
        Edit::Keep | Edit::Delete => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_become_results_of_the_right_kind() {
        let unavailable = StoreError::Unavailable {
            message: "gone".into(),
        };
        assert_eq!(ToolError::from(unavailable).kind, ErrorKind::Journal);
        let long = check_size(&"k".repeat(MOST_KEY_BYTES + 1), &Edit::Keep).unwrap_err();
        assert_eq!(ToolError::from(long).kind, ErrorKind::TooLarge);
        let large = Edit::Set("v".repeat(MOST_VALUE_BYTES + 1));
        let large = check_size("k", &large).unwrap_err();
        assert!(large.to_string().contains("1048577 bytes"), "{large}");
        let own = ToolError::bad_args("no");
        assert_eq!(ToolError::from(StoreError::Refused(own.clone())), own);
        assert_eq!(check_size("k", &Edit::Set("v".into())), Ok(()));
    }
}
