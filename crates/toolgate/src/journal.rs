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
//!     call: "1".into(),
//!     at_ms: 0,
//!     record: Record::Started,
//! };
//! journal.commit(vec![entry]).await?;
//! assert_eq!(journal.entries()[0].record.kind(), "started");
//! # Ok::<(), toolgate::journal::JournalError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use toolgate_gate::journal::{
    Entry as JournalEntry, Image, Intended, IntendedFile, Journal, JournalError, MemoryJournal,
    Record, Recovered, RecoveredFile,
};
#[cfg(feature = "sqlite")]
pub use toolgate_journal::{
    Anchor, Class as CallClass, Conversation as RecordedConversation, Filter as ReadFilter, Line,
    Options as SqliteOptions, Reader as JournalReader, SqliteJournal, State as CallState,
    Trouble as SqliteError,
};
