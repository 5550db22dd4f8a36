//! A conversation in the journal, as far as the journal describes it.

use std::path::PathBuf;
use std::sync::Arc;

use toolgate_gate::journal::{Conversation, VerifyJournal};
use toolgate_model::ConversationId;

use crate::app::App;
use crate::configuration;
use crate::error::AppError;

/// A conversation and its journal.
pub(crate) struct Stored {
    pub(crate) conversation: Conversation,
    pub(crate) reader: Arc<dyn VerifyJournal>,
}

impl Stored {
    /// Finds a conversation by its id.
    pub(crate) async fn find(app: &App, id: &ConversationId) -> Result<Self, AppError> {
        let reader = app.reader()?;
        let found = reader.conversation(id).await?;
        let conversation = found.ok_or_else(|| AppError::NotFound(id.clone()))?;
        Ok(Self {
            conversation,
            reader,
        })
    }

    /// The workspace it is about, where the journal knows it.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.conversation.workspace.as_ref().map(PathBuf::from)
    }

    /// Refuses a conversation about another workspace, where the user named one.
    pub(crate) fn check_workspace(&self, app: &App) -> Result<(), AppError> {
        let named = app.options().only_here.then(|| app.workspace());
        match (named, self.workspace()) {
            (Some(named), Some(workspace)) if named != workspace => Err(AppError::OtherWorkspace {
                id: self.conversation.id.clone(),
                workspace,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses while another process works on it.
    pub(crate) fn check_free(&self) -> Result<(), AppError> {
        match self.conversation.held_by {
            Some(process) if process != std::process::id() => Err(AppError::InUse {
                id: self.conversation.id.clone(),
                process,
            }),
            _ => Ok(()),
        }
    }

    /// The directory it is about, with links resolved; the app's own where it is not known.
    pub(crate) fn directory(&self, app: &App) -> Result<PathBuf, AppError> {
        match self.workspace() {
            Some(workspace) => configuration::workspace(&workspace),
            None => Ok(app.workspace().to_path_buf()),
        }
    }
}
