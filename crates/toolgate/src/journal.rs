//! The journal: what the gate records before and after every effect.
//!
//! [`MemoryJournal`] lives as long as the process. With the feature `sqlite`, `SqliteJournal`
//! keeps entries in a file, with hash chain, leases, recovery and undo. A journal of your own
//! implements [`Journal`].
//!
//! # A journal of your own
//!
//! The usual way is to wrap [`MemoryJournal`] or `SqliteJournal`: do your own work in `append`,
//! and hand `append`, `intend` and `release` on.
//!
//! - `append` gets entries of one conversation. It writes all of them or none, durable before it
//!   returns, in their order, and numbers them from 1 without a gap.
//! - **Without [`Journal::intend`] every change of a file is refused**: what a file was has to be
//!   on record before it changes.
//! - An error says by its [`JournalErrorKind`] what may be done next. `NotWritten`: nothing of it
//!   is on record, and it may be offered again. `Unknown`: all or nothing of it is; only the same
//!   batch is offered again, and its [`BatchKey`] tells whether it is there. `Rejected`: never
//!   again. `InUse`: another process holds the conversation.
//! - A failure of one conversation is returned to it alone.
//! - A journal that can be read implements [`ReadJournal`] and its neighbours too, and is a
//!   [`FullJournal`].
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use toolgate::journal::{Journal, JournalEntry, MemoryJournal, Record};
//!
//! let journal = MemoryJournal::new();
//! let entry = JournalEntry {
//!     conversation: "c".into(),
//!     call: "".into(),
//!     at_ms: 0,
//!     record: Record::UserMessage { text: "Tidy up.".into() },
//! };
//! journal.commit(vec![entry]).await?;
//! assert_eq!(journal.entries()[0].record.kind(), "user_message");
//! # Ok::<(), toolgate::journal::JournalError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use toolgate_gate::journal::{
    Anchor, Batch, BatchKey, Body, Class as CallClass, Conversation as RecordedConversation,
    ConversationFilter, Coverage, Entry as JournalEntry, FileError, Files, Filter as ReadFilter,
    FullJournal, Image, Instructions, Intended, IntendedFile, Journal, JournalError,
    JournalErrorKind, Lasting, LeaseJournal, Line, MemoryJournal, Problem, Prune, PruneJournal,
    Pruned, ReadJournal, Record, RecoverJournal, Recovered, RecoveredFile, Recovery,
    State as CallState, Unfinished, Verified, VerifyJournal,
};
#[cfg(feature = "sqlite")]
pub use toolgate_journal::{Options as SqliteOptions, SqliteError, SqliteJournal, SqliteReader};
