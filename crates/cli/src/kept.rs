//! A conversation that is on record, for commands that go back to it.

use std::path::PathBuf;
use std::sync::Arc;

use toolgate_gate::journal::{Conversation, ReadJournal};
use toolgate_journal::SqliteReader;

use crate::args::Common;
use crate::configured::{configuration, workspace};
use crate::failure::CliError;
use crate::home::Home;
use crate::record;

/// A conversation and where it stands.
pub(crate) struct Kept {
    pub(crate) conversation: Conversation,
    /// The journal's file.
    pub(crate) journal: PathBuf,
    pub(crate) reader: Arc<dyn ReadJournal>,
}

impl Kept {
    /// Finds a conversation by its name.
    pub(crate) async fn find(common: &Common, id: &str) -> Result<Self, CliError> {
        let found = Self::look(common, id).await?;
        found.ok_or_else(|| CliError::internal(nothing_of(id)))
    }

    /// The conversation of this name, if it is on record.
    pub(crate) async fn look(common: &Common, id: &str) -> Result<Option<Self>, CliError> {
        let home = Home::find()?;
        let workspace = workspace(common)?;
        let config = configuration(common, &home, &workspace)?;
        let journal = record::path(common, &config, &home);
        let reader = SqliteReader::open(&journal)
            .map_err(|trouble| CliError::internal(trouble.to_string()))?;
        let reader: Arc<dyn ReadJournal> = Arc::new(reader);
        let found = reader.conversation(&id.into()).await;
        let found = found.map_err(|error| CliError::internal(error.message))?;
        Ok(found.map(|conversation| Self {
            conversation,
            journal,
            reader,
        }))
    }

    /// Refuses while another process works on it.
    pub(crate) fn nobody_works_on_it(&self) -> Result<(), CliError> {
        match self.conversation.held_by {
            None => Ok(()),
            Some(process) => Err(CliError::internal(format!(
                "process {process} works on conversation {}; wait until it ends, or end it",
                self.conversation.id
            ))),
        }
    }

    /// The options for the conversation's own workspace and this journal.
    pub(crate) fn common(&self, common: &Common) -> Result<Common, CliError> {
        let mut common = common.clone();
        common.journal = Some(self.journal.clone());
        let Some(recorded) = self.conversation.workspace.as_ref().map(PathBuf::from) else {
            return Ok(common);
        };
        if common.workspace.is_some() && workspace(&common)? != recorded {
            return Err(CliError::usage(format!(
                "conversation {} is about {}; leave --workspace out",
                self.conversation.id,
                recorded.display()
            )));
        }
        common.workspace = Some(recorded);
        Ok(common)
    }
}

/// What is said where a conversation is not on record.
pub(crate) fn nothing_of(id: &str) -> String {
    format!("nothing is on record of {id:?}; `toolgate journal list` shows what is")
}
