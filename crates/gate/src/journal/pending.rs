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

use super::{Batch, Entry, Journal, JournalError, JournalErrorKind, Record};
use crate::sync::{Mutex, MutexGuard, lock};

/// So many notes wait for a journal that refuses them.
const MOST: usize = 10_000;

/// Entries that wait, of one conversation.
#[derive(Default)]
pub(crate) struct Pending {
    waiting: Mutex<Waiting>,
    /// Held while entries that wait are offered, so that they stay in order.
    offering: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    /// Batches that may be on record.
    unsure: VecDeque<Batch>,
    /// Results of calls that are on record as started.
    results: VecDeque<Entry>,
    notes: Vec<Entry>,
    /// Entries that will never be on record, and why the first of them will not.
    lost: Option<(usize, String)>,
    /// Whether the last flush was refused, and how many notes were lost since.
    refused: Option<usize>,
}

impl Pending {
    /// Adds an entry for the next commit.
    pub(crate) fn note(&self, entry: Entry) {
        self.lock().notes.push(entry);
    }

    /// Whether the last flush was refused: then there is no use in noting parts of an answer.
    pub(crate) fn is_refused(&self) -> bool {
        self.lock().refused.is_some()
    }

    /// Writes these entries, after everything that waits. After an error they are the caller's
    /// to offer again, except where the error is `Unknown`: then they wait here.
    pub(crate) async fn commit(
        &self,
        journal: &dyn Journal,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        self.write(journal, entries, false).await
    }

    /// The same, and after any error they wait here.
    pub(crate) async fn record(
        &self,
        journal: &dyn Journal,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        self.write(journal, entries, true).await
    }

    async fn write(
        &self,
        journal: &dyn Journal,
        entries: Vec<Entry>,
        keeps: bool,
    ) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        // Shared with the journal: nothing is copied where all goes well.
        let batch = Batch::new(entries)?;
        let done = if self.lock().is_empty(batch.is_only_results()) {
            self.offer(journal, batch.clone()).await
        } else {
            self.write_after(journal, &batch).await
        };
        if let Err(error) = &done
            && keeps
        {
            self.lock().keep(&batch, error);
        }
        done
    }

    /// Writes a batch after everything that waits.
    async fn write_after(&self, journal: &dyn Journal, batch: &Batch) -> Result<(), JournalError> {
        let _in_order = self.offering.lock().await;
        self.offer_unsure(journal).await.map_err(before)?;
        self.offer_results(journal).await.map_err(before)?;
        // Results do not wait for notes: a full journal takes results alone.
        if batch.is_only_results() {
            return self.offer(journal, batch.clone()).await;
        }
        let mut all = std::mem::take(&mut self.lock().notes);
        let noted = all.len();
        all.extend_from_slice(batch.entries());
        self.offer_noted(journal, all, noted).await
    }

    /// Writes everything that waits.
    pub(crate) async fn flush(&self, journal: &dyn Journal) -> Result<(), JournalError> {
        let _in_order = self.offering.lock().await;
        self.offer_unsure(journal).await?;
        self.offer_results(journal).await?;
        let notes = std::mem::take(&mut self.lock().notes);
        let noted = notes.len();
        if noted == 0 {
            return Ok(());
        }
        self.offer_noted(journal, notes, noted).await
    }

    /// The same for whoever shows what goes wrong: an error is told once until a flush goes
    /// well again, and once more when notes begin to be lost.
    pub(crate) async fn keep(&self, journal: &dyn Journal) -> Option<String> {
        let flushed = self.flush(journal).await;
        let mut waiting = self.lock();
        let Err(error) = flushed else {
            waiting.refused = None;
            return None;
        };
        let lost = waiting.shorten();
        let before = waiting.refused;
        let so_far = before.unwrap_or(0) + lost;
        waiting.refused = Some(so_far);
        match before {
            Some(0) if lost > 0 => Some(format!(
                "{error}; too much waits to be written, and the oldest of it is lost"
            )),
            Some(_) => None,
            None => Some(error.to_string()),
        }
    }

    /// Writes everything that waits, and says if something is not on record and never will be.
    pub(crate) async fn finish(&self, journal: &dyn Journal) -> Result<(), JournalError> {
        self.flush(journal).await?;
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

    /// Offers a batch. Where nobody knows whether it was written, it waits to be offered again.
    async fn offer(&self, journal: &dyn Journal, batch: Batch) -> Result<(), JournalError> {
        let offered = Offered {
            pending: self,
            batch: Some(batch.clone()),
        };
        let done = journal.append(batch).await;
        let unknown = done.as_ref().is_err_and(JournalError::is_unknown);
        offered.ended(unknown);
        if done.is_ok() {
            self.lock().refused = None;
        }
        done
    }

    /// Offers entries of which the first so many were noted; those go back to their place.
    async fn offer_noted(
        &self,
        journal: &dyn Journal,
        mut entries: Vec<Entry>,
        noted: usize,
    ) -> Result<(), JournalError> {
        let batch = match Batch::new(entries.clone()) {
            Ok(batch) => self.offer(journal, batch).await,
            Err(error) => Err(error),
        };
        if batch.as_ref().is_err_and(|error| !error.is_unknown()) {
            entries.truncate(noted);
            let mut waiting = self.lock();
            let since = std::mem::replace(&mut waiting.notes, entries);
            waiting.notes.extend(since);
        }
        batch
    }

    /// Offers again what may be on record, each batch with its key.
    async fn offer_unsure(&self, journal: &dyn Journal) -> Result<(), JournalError> {
        loop {
            let Some(batch) = self.lock().unsure.front().cloned() else {
                return Ok(());
            };
            let done = journal.append(batch.again()).await;
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
    async fn offer_results(&self, journal: &dyn Journal) -> Result<(), JournalError> {
        loop {
            let Some(result) = self.lock().results.front().cloned() else {
                return Ok(());
            };
            let batch = Batch::new(vec![result.clone()])?;
            self.lock().results.pop_front();
            let done = self.offer(journal, batch).await;
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
    batch: Option<Batch>,
}

impl Offered<'_> {
    fn ended(mut self, unknown: bool) {
        if !unknown {
            self.batch = None;
        }
    }
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
            _ => self.notes.extend_from_slice(entries),
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
        let is_part = |note: &Entry| matches!(note.record, Record::Streamed { .. });
        self.notes.retain(|note| !is_part(note));
        let whole = self.notes.len();
        let mut over = whole.saturating_sub(MOST);
        self.notes.retain(|note| {
            // A result without its call could never be written.
            let goes = over > 0 && note.call.as_str().is_empty();
            over -= usize::from(goes);
            !goes
        });
        whole - self.notes.len()
    }
}
