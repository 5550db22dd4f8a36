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
}

/// A kept output, from its start.
pub type KeptText = Box<dyn BufRead + Send>;

/// A place for full outputs.
pub trait OutputStore: Send + Sync {
    /// Keeps a text and names it.
    fn keep(
        &self,
        conversation: &ConversationId,
        text: &mut dyn Read,
    ) -> Result<OutputHandle, KeepError>;

    /// The text of a handle, if this conversation has it.
    fn open(&self, conversation: &ConversationId, handle: &OutputHandle) -> Option<KeptText>;

    /// Called when a conversation ends. A store that keeps outputs for a conversation that is
    /// resumed later releases nothing.
    fn release(&self, conversation: &ConversationId) {
        let _ = conversation;
    }

    /// Room for an output that is still being written.
    fn spool(&self) -> Spool {
        Spool::in_memory(4 << 20)
    }
}
