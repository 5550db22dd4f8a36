//! Full outputs of earlier calls, so that truncation loses nothing.
//!
//! ```text
//!  pieces of clean text ──▶ Spool ──▶ OutputStore::keep ──▶ out_3 ──▶ OutputStore::open
//!                           memory,     a name for it                 (read_output)
//!                           then disk
//! ```
//!
//! What can go wrong: there is no room, or the disk refuses. Then the result says that its
//! output was not kept; it never names a handle that leads nowhere.

mod disk;
mod memory;
mod spool;

use std::io::{BufRead, Read};

use futures::future::BoxFuture;
use toolgate_model::{ConversationId, OutputHandle};

pub use disk::KeptOnDisk;
pub use memory::KeptInMemory;
pub use spool::{Spool, SpoolReader};

/// Why an output was not kept. The result says so instead of naming a handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the full output was not kept: {message}")]
pub struct KeepError {
    /// What went wrong.
    pub message: String,
}

impl KeepError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// The runtime ended before the text was kept.
    fn cut_off() -> Self {
        Self::new("the program is about to end")
    }
}

/// A text on its way into a store. Reading it may wait for a disk.
pub type WholeText = Box<dyn Read + Send>;

/// A kept output, from its start. Reading it may wait for a disk.
pub type KeptText = Box<dyn BufRead + Send>;

/// A place for full outputs.
///
/// The futures run on threads that serve other conversations too: a store that waits for a disk
/// does so in [`blocking::run`](crate::blocking::run), and whoever reads a text that was opened
/// does the same.
///
/// ```
/// use toolgate_gate::session::{KeptInMemory, OutputStore};
///
/// # futures::executor::block_on(async {
/// let store = KeptInMemory::default();
/// let handle = store.keep(&"c".into(), Box::new("a long text".as_bytes())).await?;
/// let mut text = String::new();
/// let mut kept = store.open(&"c".into(), &handle).await.unwrap();
/// std::io::Read::read_to_string(&mut kept, &mut text).unwrap();
/// assert_eq!(text, "a long text");
/// # Ok::<(), toolgate_gate::session::KeepError>(())
/// # })?;
/// # Ok::<(), toolgate_gate::session::KeepError>(())
/// ```
pub trait OutputStore: Send + Sync {
    /// Keeps a text and names it.
    fn keep<'a>(
        &'a self,
        conversation: &'a ConversationId,
        text: WholeText,
    ) -> BoxFuture<'a, Result<OutputHandle, KeepError>>;

    /// The text of a handle, if this conversation has it.
    fn open<'a>(
        &'a self,
        conversation: &'a ConversationId,
        handle: &'a OutputHandle,
    ) -> BoxFuture<'a, Option<KeptText>>;

    /// Called when a conversation ends. A store that keeps outputs for a conversation that is
    /// resumed later releases nothing.
    fn release<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        let _ = conversation;
        Box::pin(std::future::ready(()))
    }

    /// Room for an output that is still being written. Nothing is opened yet; what is pushed to
    /// it may wait for a disk.
    fn spool(&self) -> Spool {
        Spool::in_memory(4 << 20)
    }
}
