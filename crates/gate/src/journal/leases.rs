//! Which process works on a conversation.

use std::path::Path;

use futures::future::BoxFuture;
use toolgate_model::ConversationId;

use super::{Journal, JournalError};

/// Takes conversations for this process. [`Journal::release`] gives them back.
pub trait LeaseJournal: Journal {
    /// Takes a conversation for this process, and notes which workspace it is about. Every
    /// commit takes it too; this says earlier whether another process has it. The error is of
    /// kind [`InUse`](super::JournalErrorKind::InUse) then and names the conversation and the
    /// process.
    fn begin(
        &self,
        conversation: &ConversationId,
        workspace: Option<&Path>,
    ) -> BoxFuture<'_, Result<(), JournalError>>;
}
