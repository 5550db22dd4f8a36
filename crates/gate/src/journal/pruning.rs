//! Letting old contents go without breaking the chain.

use futures::future::BoxFuture;

use super::JournalError;

/// What is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Everything that was mentioned last before this, in milliseconds since 1970.
    pub before_ms: Option<u64>,
    /// The oldest things, until the journal holds at most so many bytes.
    pub to_bytes: Option<u64>,
}

/// What went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// What entries said.
    pub bodies: u64,
    /// What files held before changes.
    pub images: u64,
    /// How many bytes those were.
    pub bytes: u64,
    /// Everything mentioned last before this is gone, in milliseconds since 1970.
    pub before_ms: u64,
}

/// Makes a journal smaller.
pub trait PruneJournal: Send + Sync {
    /// Lets old bodies and images go. That there were entries, in this order and with these
    /// hashes, stays; so does what calls without a result may still need.
    fn prune(&self, what: Prune) -> BoxFuture<'_, Result<Pruned, JournalError>>;
}
