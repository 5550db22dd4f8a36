//! Entries of one conversation that are not on record yet.
//!
//! ```text
//! note ────────────▶ notes ──┐
//! a failed result ─▶ results ┼─▶ the next commit of the conversation, or `flush`
//! nobody knows ────▶ unsure ─┘   unsure first, each with its own key; then results; then notes
//! ```
//!
//! A model's answer is noted, and is on record together with the calls it makes before the
//! first of them has an effect. So a step of a conversation costs no commit of its own.
//!
//! Beyond a bound, parts of answers go first, which the whole answers say again, then the
//! oldest of what belongs to no call. What is known of calls stays.

use std::collections::VecDeque;

use toolgate_model::EventKind;

use super::{Batch, Entry, Journal, JournalError, JournalErrorKind, Record};
use crate::events::{EventSink, Hub};
use crate::output::Redactor;
use crate::sync::{Mutex, MutexGuard, lock};

/// So many notes wait for a journal that refuses them.
const MOST: usize = 10_000;

/// Where entries are written, and where their events go.
#[derive(Clone, Copy)]
pub(crate) struct Recorder<'a> {
    pub(crate) journal: &'a dyn Journal,
    pub(crate) redactor: &'a Redactor,
    pub(crate) hub: &'a Hub,
    pub(crate) listener: &'a EventSink,
}

impl Recorder<'_> {
    /// Offers a batch. Its events are sent when it is durable, but not to a listener that got
    /// them before.
    async fn append(&self, batch: Batch, sent: &[bool]) -> Result<(), JournalError> {
        let entries = batch.shared();
        // Its events go out when it is dropped, after those of batches that were offered before.
        let _ticket = self.hub.ticket();
        let first = self.journal.append(batch).await?;
        let sent = sent.iter().copied().chain(std::iter::repeat(false));
        let entries = entries.iter().zip(sent);
        self.hub
            .durable(entries, first, self.redactor, self.listener);
        Ok(())
    }

    /// Reports that something could not be written.
    fn error(&self, message: &str) {
        let message = self.redactor.shown(message);
        self.hub.report(EventKind::Error { message }, self.listener);
    }

    /// Sends the events of entries that are not durable, as far as they were not sent.
    fn report(&self, entries: &[Entry], sent: &[bool], error: &JournalError) {
        let sent = sent.iter().copied().chain(std::iter::repeat(false));
        let unsent = entries.iter().zip(sent).filter(|(_, sent)| !sent);
        let unsent = unsent.map(|(entry, _)| entry);
        self.hub
            .undurable(unsent, error, self.redactor, self.listener);
    }
}

/// Entries that wait, of one conversation.
#[derive(Default)]
pub(crate) struct Pending {
    waiting: Mutex<Waiting>,
    /// Held while entries that wait are offered, so that they stay in order.
    offering: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    /// Batches that may be on record, and which of their events the listener got.
    unsure: VecDeque<(Batch, Vec<bool>)>,
    /// Results of calls that are on record as started. The listener got their events.
    results: VecDeque<Entry>,
    notes: Vec<Note>,
    /// Entries that will never be on record, and why the first of them will not.
    lost: Option<(usize, String)>,
    /// Whether the last flush was refused, and how many notes were lost since.
    refused: Option<usize>,
}

/// An entry for the next commit, and whether the listener got its event.
struct Note {
    entry: Entry,
    sent: bool,
}

impl Pending {
    /// Adds an entry for the next commit.
    pub(crate) fn note(&self, entry: Entry) {
        self.lock().notes.push(Note { entry, sent: false });
    }

    /// The same for an entry whose event the listener got.
    pub(crate) fn note_sent(&self, entry: Entry) {
        self.lock().notes.push(Note { entry, sent: true });
    }

    /// Whether the last flush was refused: then there is no use in noting parts of an answer.
    pub(crate) fn is_refused(&self) -> bool {
        self.lock().refused.is_some()
    }

    /// Writes these entries, after everything that waits. After an error they are the caller's
    /// to offer again, except where the error is `Unknown`: then they wait here.
    pub(crate) async fn commit(
        &self,
        recorder: Recorder<'_>,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        self.write(recorder, entries, false).await
    }

    /// The same, and after any error they wait here.
    pub(crate) async fn record(
        &self,
        recorder: Recorder<'_>,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        self.write(recorder, entries, true).await
    }

    async fn write(
        &self,
        recorder: Recorder<'_>,
        entries: Vec<Entry>,
        keeps: bool,
    ) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        // Shared with the journal: nothing is copied where all goes well.
        let batch = Batch::new(entries)?;
        let nothing_waits = self.lock().is_empty(batch.is_only_results());
        let done = if nothing_waits {
            self.offer(recorder, batch.clone(), &[]).await
        } else {
            self.write_after(recorder, &batch).await
        };
        if let Err(error) = &done
            && keeps
        {
            if !error.is_unknown() {
                recorder.report(batch.entries(), &[], error);
            }
            self.lock().keep(&batch, error);
        }
        done
    }

    /// Writes a batch after everything that waits.
    async fn write_after(&self, recorder: Recorder<'_>, batch: &Batch) -> Result<(), JournalError> {
        self.offer_unsure(recorder).await.map_err(before)?;
        self.offer_results(recorder).await.map_err(before)?;
        // Results do not wait for notes: a full journal takes results alone.
        if batch.is_only_results() {
            return self.offer(recorder, batch.clone(), &[]).await;
        }
        let notes = std::mem::take(&mut self.lock().notes);
        self.offer_noted(recorder, notes, batch.entries()).await
    }

    /// Writes everything that waits.
    pub(crate) async fn flush(&self, recorder: Recorder<'_>) -> Result<(), JournalError> {
        let _in_order = self.offering.lock().await;
        self.offer_unsure(recorder).await?;
        self.offer_results(recorder).await?;
        let notes = std::mem::take(&mut self.lock().notes);
        if notes.is_empty() {
            return Ok(());
        }
        self.offer_noted(recorder, notes, &[]).await
    }

    /// The same where an error is reported: once until a flush goes well again, and once more
    /// when notes begin to be lost. The events of what could not be written follow it.
    pub(crate) async fn keep(&self, recorder: Recorder<'_>) -> Option<String> {
        let flushed = self.flush(recorder).await;
        let mut waiting = self.lock();
        let Err(error) = flushed else {
            waiting.refused = None;
            return None;
        };
        let mut unsent = Vec::new();
        for note in waiting.notes.iter_mut().filter(|note| !note.sent) {
            unsent.push(note.entry.clone());
            note.sent = true;
        }
        let lost = waiting.shorten();
        let before = waiting.refused;
        let so_far = before.unwrap_or(0) + lost;
        waiting.refused = Some(so_far);
        drop(waiting);
        let message = match before {
            Some(0) if lost > 0 => Some(format!(
                "{error}; too much waits to be written, and the oldest of it is lost"
            )),
            Some(_) => None,
            None => Some(error.to_string()),
        };
        if let Some(message) = &message {
            recorder.error(message);
        }
        recorder.report(&unsent, &[], &error);
        message
    }

    /// Writes everything that waits, and says if something is not on record and never will be.
    pub(crate) async fn finish(&self, recorder: Recorder<'_>) -> Result<(), JournalError> {
        self.flush(recorder).await?;
        match &self.lock().lost {
            None => Ok(()),
            Some((count, why)) => Err(JournalError::rejected(format!(
                "{count} entries of this conversation are not on record: {why}"
            ))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// Offers a batch. Where the outcome is unknown, it waits to be offered again.
    async fn offer(
        &self,
        recorder: Recorder<'_>,
        batch: Batch,
        sent: &[bool],
    ) -> Result<(), JournalError> {
        let mut offered = Offered {
            pending: self,
            batch: Some((batch.clone(), sent.to_vec())),
        };
        let done = recorder.append(batch.clone(), sent).await;
        match &done {
            Err(error) if error.is_unknown() => {
                recorder.report(batch.entries(), sent, error);
                offered.batch = Some((batch.clone(), vec![true; batch.entries().len()]));
            }
            _ => offered.batch = None,
        }
        if done.is_ok() {
            self.lock().refused = None;
        }
        done
    }

    /// Offers notes and entries after them; the notes go back to their place.
    async fn offer_noted(
        &self,
        recorder: Recorder<'_>,
        notes: Vec<Note>,
        after: &[Entry],
    ) -> Result<(), JournalError> {
        let sent: Vec<bool> = notes.iter().map(|note| note.sent).collect();
        let noted = notes.iter().map(|note| &note.entry);
        let entries: Vec<Entry> = noted.chain(after).cloned().collect();
        let done = match Batch::new(entries) {
            Ok(batch) => self.offer(recorder, batch, &sent).await,
            Err(error) => Err(error),
        };
        if done.as_ref().is_err_and(|error| !error.is_unknown()) {
            let mut waiting = self.lock();
            let since = std::mem::replace(&mut waiting.notes, notes);
            waiting.notes.extend(since);
        }
        done
    }

    /// Offers again what may be on record, each batch with its key.
    async fn offer_unsure(&self, recorder: Recorder<'_>) -> Result<(), JournalError> {
        loop {
            let Some((batch, sent)) = self.lock().unsure.front().cloned() else {
                return Ok(());
            };
            let done = recorder.append(batch.again(), &sent).await;
            match done {
                Ok(()) => drop(self.lock().unsure.pop_front()),
                Err(error) if error.kind == JournalErrorKind::Rejected => {
                    let mut waiting = self.lock();
                    waiting.unsure.pop_front();
                    waiting.lose(batch.entries().len(), &error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Offers results that were refused, each by itself.
    async fn offer_results(&self, recorder: Recorder<'_>) -> Result<(), JournalError> {
        loop {
            let Some(result) = self.lock().results.front().cloned() else {
                return Ok(());
            };
            let batch = Batch::new(vec![result.clone()])?;
            self.lock().results.pop_front();
            let done = self.offer(recorder, batch, &[true]).await;
            match done {
                Ok(()) => {}
                Err(error) if error.kind == JournalErrorKind::Rejected => {
                    self.lock().lose(1, &error);
                }
                Err(error) => {
                    if !error.is_unknown() {
                        self.lock().results.push_front(result);
                    }
                    return Err(error);
                }
            }
        }
    }
}

/// Keeps a batch whose offer is dropped before it ended: it may be on record.
struct Offered<'a> {
    pending: &'a Pending,
    batch: Option<(Batch, Vec<bool>)>,
}

impl Drop for Offered<'_> {
    fn drop(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.pending.lock().unsure.push_back(batch);
        }
    }
}

/// What an error of earlier entries means for those that were not offered because of it.
fn before(error: JournalError) -> JournalError {
    match error.kind {
        JournalErrorKind::InUse => error,
        _ => JournalError::not_written(error.message),
    }
}

impl Waiting {
    /// Whether nothing has to be written before such entries.
    fn is_empty(&self, only_results: bool) -> bool {
        self.unsure.is_empty() && self.results.is_empty() && (only_results || self.notes.is_empty())
    }

    /// Keeps what was not written for later, where there is a later for it.
    fn keep(&mut self, batch: &Batch, error: &JournalError) {
        let entries = batch.entries();
        match error.kind {
            JournalErrorKind::Unknown => {}
            JournalErrorKind::Rejected => self.lose(entries.len(), error),
            _ if batch.is_only_results() => self.results.extend(entries.iter().cloned()),
            _ => {
                let entries = entries.iter().cloned();
                self.notes
                    .extend(entries.map(|entry| Note { entry, sent: true }));
            }
        }
    }

    fn lose(&mut self, count: usize, error: &JournalError) {
        let lost = self.lost.get_or_insert_with(|| (0, error.message.clone()));
        lost.0 += count;
    }

    /// Lets go of what is over the bound. Says how much of it is told nowhere else.
    fn shorten(&mut self) -> usize {
        if self.notes.len() <= MOST {
            return 0;
        }
        let is_part = |note: &Note| matches!(note.entry.record, Record::Streamed { .. });
        self.notes.retain(|note| !is_part(note));
        let whole = self.notes.len();
        let mut over = whole.saturating_sub(MOST);
        self.notes.retain(|note| {
            // A result without its call could never be written.
            let goes = over > 0 && note.entry.call.as_str().is_empty();
            over -= usize::from(goes);
            !goes
        });
        whole - self.notes.len()
    }
}
