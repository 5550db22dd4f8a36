//! The journal: what the gate records before and after every effect.
//!
//! [`MemoryJournal`] lives as long as the process. With the feature `sqlite`, `SqliteJournal`
//! keeps entries in a file, with hash chain, leases, recovery and undo. A journal of your own
//! implements [`Journal`].
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
    Anchor, Batch, BatchKey, Class as CallClass, Conversation as RecordedConversation,
    ConversationFilter, Entry as JournalEntry, Filter as ReadFilter, FullJournal, Image,
    Instructions, Intended, IntendedFile, Journal, JournalError, JournalErrorKind, LeaseJournal,
    Line, MemoryJournal, PruneJournal, ReadJournal, Record, RecoverJournal, Recovered,
    RecoveredFile, State as CallState, VerifyJournal,
};
#[cfg(feature = "sqlite")]
pub use toolgate_journal::{Options as SqliteOptions, SqliteError, SqliteJournal, SqliteReader};
