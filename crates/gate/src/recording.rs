//! What the gate and the loop put on record for a conversation, through its session.
//!
//! Entries of two conversations never share a batch: each session holds its own.

use toolgate_model::{CallId, Event, EventKind};

use crate::events::EventSink;
use crate::gate::Gate;
use crate::journal::{Entry, JournalError, Lasting, Record, Recorder};
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

    /// Revokes grants and openings of a conversation, and puts that on record. They are revoked in
    /// this process also where the record fails.
    pub async fn revoke(
        &self,
        session: &Session,
        revoked: Lasting,
        by: &str,
    ) -> Result<(), JournalError> {
        session.take_back(&revoked);
        let record = Record::Revoked {
            revoked: Box::new(revoked),
            by: by.to_owned(),
        };
        let entry = self.entry(session, &CallId::from(""), record);
        self.commit(session, vec![entry], &EventSink::none()).await
    }

    /// Makes everything that was noted durable.
    pub async fn flush(&self, session: &Session) -> Result<(), JournalError> {
        let listener = EventSink::none();
        let recorder = self.recorder(session, &listener);
        session.pending().flush(recorder).await
    }

    /// The same where an error is reported and returned: once until a flush goes well again, and
    /// once more when notes begin to be lost. The listener gets the events of what was noted and
    /// is not waited for: [`EventSink::caught_up`] does that.
    pub async fn keep(&self, session: &Session, listener: &EventSink) -> Option<String> {
        let recorder = self.recorder(session, listener);
        session.pending().keep(recorder).await
    }

    /// Sends a streamed piece or an error to the listener and to every subscriber. Only the
    /// listener is waited for, until the pipeline is `over`.
    pub async fn send(
        &self,
        session: &Session,
        listener: &EventSink,
        over: impl Future<Output = ()>,
        kind: EventKind,
    ) {
        let event = Event::unnumbered(session.id().clone(), kind);
        session.hub().send(&event);
        listener.send_until(over, || event).await;
    }

    pub(crate) fn recorder<'a>(
        &'a self,
        session: &'a Session,
        listener: &'a EventSink,
    ) -> Recorder<'a> {
        Recorder {
            journal: &*self.inner.journal,
            redactor: &self.inner.redactor,
            hub: session.hub(),
            listener,
        }
    }

    /// Whether the last flush was refused: then there is no use in noting parts of an answer.
    pub fn is_refused(&self, session: &Session) -> bool {
        session.pending().is_refused()
    }

    /// Ends the conversation: every call, what tools keep for it, what waits to be recorded, and
    /// the journal's lease. An error says what is not on record; the lease is given back anyway.
    pub async fn end(&self, session: &Session) -> Result<(), JournalError> {
        session.end().await;
        let listener = EventSink::none();
        let recorder = self.recorder(session, &listener);
        let finished = session.pending().finish(recorder).await;
        session.hub().close();
        let released = self.inner.journal.release(session.id()).await;
        finished.and(released)
    }

    /// Commits entries before an effect. After an error they are the caller's to offer again,
    /// unless it is not known whether they were written: then the session offers them again.
    pub(crate) async fn commit(
        &self,
        session: &Session,
        entries: Vec<Entry>,
        listener: &EventSink,
    ) -> Result<(), JournalError> {
        let recorder = self.recorder(session, listener);
        session.pending().commit(recorder, entries).await
    }

    /// Records what has happened. After an error the session keeps it and offers it again.
    pub(crate) async fn record(
        &self,
        session: &Session,
        entries: Vec<Entry>,
        listener: &EventSink,
    ) -> Result<(), JournalError> {
        let recorder = self.recorder(session, listener);
        session.pending().record(recorder, entries).await
    }
}
