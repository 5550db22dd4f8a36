//! What the gate and the loop put on record for a conversation, through its session.
//!
//! Entries of two conversations never share a batch: each session holds its own.

use toolgate_model::CallId;

use crate::gate::Gate;
use crate::journal::{Entry, JournalError, Record};
use crate::session::Session;

impl Gate {
    /// Notes something for the conversation's next commit, with which it becomes durable. So a
    /// model's answer is on record before the first of its calls has an effect, and costs no
    /// commit of its own.
    pub fn note(&self, session: &Session, at_ms: u64, call: CallId, record: Record) {
        session.pending().note(Entry {
            conversation: session.id().clone(),
            call,
            at_ms,
            record,
        });
    }

    /// Makes everything that was noted durable.
    pub async fn flush(&self, session: &Session) -> Result<(), JournalError> {
        session.pending().flush(&*self.inner.journal).await
    }

    /// The same for whoever shows errors: one is returned once until a flush goes well again,
    /// and once more when notes begin to be lost.
    pub async fn keep(&self, session: &Session) -> Option<String> {
        session.pending().keep(&*self.inner.journal).await
    }

    /// Whether the last flush was refused: then there is no use in noting parts of an answer.
    pub fn is_refused(&self, session: &Session) -> bool {
        session.pending().is_refused()
    }

    /// Ends the conversation: every call, what tools keep for it, what waits to be recorded, and
    /// the journal's lease. An error says what is not on record; the lease is given back anyway.
    pub async fn end(&self, session: &Session) -> Result<(), JournalError> {
        session.end().await;
        let finished = session.pending().finish(&*self.inner.journal).await;
        let released = self.inner.journal.release(session.id()).await;
        finished.and(released)
    }

    /// Commits entries before an effect. After an error they are the caller's to offer again,
    /// unless nobody knows whether they were written: then the session offers them again.
    pub(crate) async fn commit(
        &self,
        session: &Session,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        let pending = session.pending();
        pending.commit(&*self.inner.journal, entries).await
    }

    /// Records what has happened. After an error the session keeps it and offers it again.
    pub(crate) async fn record(
        &self,
        session: &Session,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        let pending = session.pending();
        pending.record(&*self.inner.journal, entries).await
    }
}
