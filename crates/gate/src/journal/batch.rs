//! Entries that are written together, and the key by which they are written once.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use toolgate_model::ConversationId;

use super::{Entry, JournalError};
use crate::clock::{Entropy, SystemEntropy};

/// What tells one batch of a conversation from every other: made by its caller, checked
/// by the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchKey(Arc<str>);

impl BatchKey {
    /// A key that no other batch has.
    pub fn fresh() -> Result<Self, JournalError> {
        /// Random once, counted from there: a key per commit asks the system for nothing.
        static PROCESS: OnceLock<Option<u128>> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let process = PROCESS.get_or_init(|| SystemEntropy.bits());
        let process = process.ok_or_else(|| {
            JournalError::not_written("the system has no randomness for the key of a batch")
        })?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self(format!("{process:032x}{number:x}").into()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for BatchKey {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for BatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Entries of one conversation that are written together, or not at all. A copy is the same
/// batch: it has the same key.
///
/// ```
/// use toolgate_gate::journal::{Batch, Entry, Record};
///
/// let said = |conversation: &str| Entry {
///     conversation: conversation.into(),
///     call: "".into(),
///     at_ms: 0,
///     record: Record::UserMessage { text: "hello".into() },
/// };
/// let batch = Batch::new(vec![said("a"), said("a")]).unwrap();
/// assert!(!batch.is_offered_again() && batch.again().is_offered_again());
/// assert_eq!(batch.again().key(), batch.key());
/// assert!(Batch::new(vec![said("a"), said("b")]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    key: BatchKey,
    entries: Arc<Vec<Entry>>,
    again: bool,
}

impl Batch {
    /// A new batch. Refuses entries of two conversations, which would fail together, and none.
    pub fn new(entries: Vec<Entry>) -> Result<Self, JournalError> {
        Self::with_key(BatchKey::fresh()?, entries)
    }

    /// A batch of this key, for callers whose keys outlive the process.
    pub fn with_key(key: BatchKey, entries: Vec<Entry>) -> Result<Self, JournalError> {
        let Some(first) = entries.first() else {
            return Err(JournalError::rejected("a batch without entries"));
        };
        let of_it = |entry: &Entry| entry.conversation == first.conversation;
        if let Some(other) = entries.iter().find(|entry| !of_it(entry)) {
            return Err(JournalError::rejected(format!(
                "entries of {} and {} are no batch: each conversation is written by itself",
                first.conversation, other.conversation
            )));
        }
        Ok(Self {
            key,
            entries: Arc::new(entries),
            again: false,
        })
    }

    /// The same batch, offered once more after an unknown outcome.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            again: true,
            ..self.clone()
        }
    }

    /// Whether it may be on record already, so that the journal has to look.
    pub fn is_offered_again(&self) -> bool {
        self.again
    }

    /// Its key.
    pub fn key(&self) -> &BatchKey {
        &self.key
    }

    /// The conversation.
    pub fn conversation(&self) -> ConversationId {
        let first = self.entries.first().map(|entry| entry.conversation.clone());
        first.unwrap_or_else(|| "".into())
    }

    /// The entries, in order; at least one.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries, shared.
    pub fn shared(&self) -> Arc<Vec<Entry>> {
        Arc::clone(&self.entries)
    }

    /// Whether all it says is how calls ended. A full journal takes that.
    pub fn is_only_results(&self) -> bool {
        self.entries.iter().all(|entry| entry.record.is_result())
    }
}
