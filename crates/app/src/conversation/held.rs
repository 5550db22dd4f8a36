//! What answers allowed or opened until the conversation ends: shown, and revoked on record.

use std::sync::Arc;

use super::{Conversation, State};
use crate::error::AppError;
use crate::lasting::{self, Held};

impl Conversation {
    /// What answers allowed or opened until this conversation ends, and was not revoked. Each has
    /// the name that [`Self::revoke`] takes.
    pub async fn held(&self) -> Result<Vec<Held>, AppError> {
        if !self.inner.app.journal_file().exists() {
            return Ok(Vec::new());
        }
        let reader = self.inner.app.reader()?;
        let held = lasting::of(&*reader, self.id()).await?;
        let redactor = self.inner.app.journal_redactor()?;
        Ok(lasting::listed(&held, &redactor))
    }

    /// Revokes one of these by its name, on record. Whether there was one. It holds neither in this
    /// process nor when the conversation is resumed; a turn that runs has to end first.
    pub async fn revoke(&self, name: &str, by: &str) -> Result<bool, AppError> {
        let mut state = self.idle()?;
        if !state.stored {
            return Ok(false);
        }
        if state.agent.is_none() {
            self.taken(&mut state).await?;
        }
        let revoked = revoke(&mut state, name, by).await;
        if state
            .agent
            .as_ref()
            .is_some_and(|agent| agent.model.is_none())
        {
            self.end_agent(&mut state).await;
        }
        self.inner.signals.journaled();
        revoked
    }
}

async fn revoke(state: &mut State, name: &str, by: &str) -> Result<bool, AppError> {
    let agent = state.agent.as_mut();
    let agent = agent.ok_or_else(|| AppError::internal("there is no agent"))?;
    agent.take().await?;
    let (project, session) = (Arc::clone(&agent.project), Arc::clone(&agent.session));
    let reader = project.record.reading();
    let held = lasting::of(&*reader, session.id()).await?;
    let Some(revoked) = lasting::named(&held, name) else {
        return Ok(false);
    };
    project.gate.revoke(&session, revoked, by).await?;
    Ok(true)
}
