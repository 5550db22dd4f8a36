//! The journal: what happened is durable before its effect, and can be read afterwards.
//!
//! ```text
//!                     ┌─ Journal ─────── append, intend, release      what the gate needs
//!  Entry, Entry, … ──▶│  LeaseJournal    begin                        one process per conversation
//!  (a Batch)          │  ReadJournal     conversations, entries, image
//!                     │  RecoverJournal  unfinished, intent, put      after a crash
//!                     │  VerifyJournal   verify
//!                     └─ PruneJournal    prune
//! ```
//!
//! A journal that only records implements [`Journal`], which has one required method. One that
//! can be read back implements the others too and is a [`FullJournal`].
//!
//! # Laws
//!
//! Every implementation keeps these; `toolgate_testkit::journal_laws` tests them for any
//! [`FullJournal`].
//!
//! **Writing.**
//!
//! 1. A [`Batch`] holds entries of one conversation. It is written whole or not at all.
//! 2. `append` returned `Ok`: every entry is durable, at the end of its conversation, in the
//!    order of the batch, with consecutive numbers of which the first is returned, and whoever
//!    reads from now on finds it.
//! 3. A batch that is offered after another one returned `Ok` comes after it. Batches that are
//!    offered at the same time come in any order, each without a gap.
//! 4. Numbers of a conversation begin with 1, are never left out, repeated or given anew.
//! 5. Conversations share no fate: an error of one is returned to it alone, whatever is
//!    committed beside it. Only the medium itself (a full disk, a lost server) fails for all.
//! 6. An entry that cannot follow what is on record about its call ([`states`]) is refused
//!    with its batch. So no call has two results.
//!
//! **Errors** say by their kind what may be done next:
//!
//! | kind | on record | offered again |
//! |---|---|---|
//! | [`NotWritten`](JournalErrorKind::NotWritten) | nothing of this offer | the entries, now or in a later batch |
//! | [`Unknown`](JournalErrorKind::Unknown) | all or nothing | only this batch, by [`Batch::again`] |
//! | [`Rejected`](JournalErrorKind::Rejected) | nothing | never |
//! | [`InUse`](JournalErrorKind::InUse) | nothing | not while another process holds the conversation |
//! | [`Damaged`](JournalErrorKind::Damaged) | nothing | not before the journal is sound |
//!
//! 7. A failure is *ambiguous* where the entries may be on record: the connection was lost while
//!    they were committed, the writer died, or the future was dropped. Then the kind is
//!    `Unknown`.
//! 8. A batch that is offered again has the key it had. The journal looks whether that key is on
//!    record in the conversation: if it is, this is `Ok` and nothing is written; if not, it is
//!    written now. A key that is on record with other entries is `Rejected`. Keys survive the
//!    process that wrote them.
//! 9. An intent ([`Journal::intend`]) is never offered again: after an error nothing is renamed,
//!    and the call gets a result that closes it.
//!
//! **Never done again by itself:** a call whose start may be on record, a question, a change of
//! files. What is offered again is only ever the record of it.
//!
//! **Results.**
//!
//! 10. A journal that has reached its limit refuses everything but batches of results
//!     ([`Batch::is_only_results`]) and what recovery puts.
//! 11. The result of a call that ran is written in the end, or the conversation says that it is
//!     not: the gate keeps a result that was not written in the session and offers it again with
//!     every later commit of the conversation; the model sees the error in the result's
//!     metadata, and [`Gate::end`](crate::Gate::end) returns an error while one is left.
//!
//! **Leases.**
//!
//! 12. A conversation is worked on by one process. The first that commits to it takes it; another one
//!     gets `InUse`, which names the conversation and the holder. [`Journal::release`] gives it
//!     back; a holder that is gone has given it back.
//! 13. A holder that lost its lease cannot write any more, also not what it offered before.
//!
//! **Reading and pruning.**
//!
//! 14. Reading waits for no writer and shows whole batches only.
//! 15. Pruning takes bodies and images, never entries: numbers, kinds, calls, times and hashes
//!     stay, and so does everything that an unfinished call needs. A pruned journal is sound.
//! 16. A sound journal holds every batch that was acknowledged, as it was written ([`chain`]).

mod batch;
pub mod calls;
pub mod chain;
mod error;
mod files;
mod intent;
mod leases;
mod memory;
mod mending;
mod pending;
mod pruning;
mod reading;
mod record;
mod recovery;
pub mod states;
mod verification;

use futures::future::BoxFuture;
use toolgate_model::ConversationId;

pub use batch::{Batch, BatchKey};
pub use chain::Anchor;
pub use error::{JournalError, JournalErrorKind};
pub use files::{FileError, Files};
pub use intent::{Image, Intended, IntendedFile, Recovered, RecoveredFile};
pub use leases::LeaseJournal;
pub use memory::MemoryJournal;
pub(crate) use pending::{Pending, Recorder};
pub use pruning::{Prune, PruneJournal, Pruned};
pub use reading::{Body, Conversation, ConversationFilter, Filter, Line, ReadJournal};
pub use record::{Entry, Instructions, Lasting, Record};
pub use recovery::{RecoverJournal, Recovery, Unfinished};
pub use states::{Class, State};
pub use verification::{Coverage, Problem, Verified, VerifyJournal};

/// A place where entries are kept for good. The module's documentation has the laws.
pub trait Journal: Send + Sync {
    /// Writes all entries of a batch, or none; they are durable when this returns. Returns the
    /// number of the first one in its conversation, also for a batch that was there already.
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>>;

    /// Writes entries of one conversation as a new batch. No entries are none to write. An
    /// ambiguous failure stays one: to offer them again, make a [`Batch`].
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        if entries.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        match Batch::new(entries) {
            Ok(batch) => Box::pin(async move { self.append(batch).await.map(drop) }),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Writes an intent and the contents it would replace, together or not at all;
    /// durable when this returns. A journal that has no place for contents refuses, and
    /// the change does not happen.
    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        let _ = (entry, images);
        let message = "this journal keeps no contents of files, so a change of files \
                       could not be undone after a crash";
        let refused = JournalError::not_written(message);
        Box::pin(std::future::ready(Err(refused)))
    }

    /// Gives a conversation back, so that another process can go on with it. A journal without
    /// leases has nothing to give back.
    fn release(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), JournalError>> {
        let _ = conversation;
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A journal that can be written, read, recovered, checked and pruned.
pub trait FullJournal:
    Journal + LeaseJournal + ReadJournal + RecoverJournal + VerifyJournal + PruneJournal
{
}

impl<J> FullJournal for J where
    J: Journal + LeaseJournal + ReadJournal + RecoverJournal + VerifyJournal + PruneJournal
{
}
