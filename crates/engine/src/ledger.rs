//! What is said, in the same commit as what is done about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use toolgate_gate::journal::{Entry, Image, Journal, JournalError, Record};

/// So many notes wait for a journal that refuses them.
const MOST: usize = 10_000;

/// A journal that takes notes on the way: they wait for the next commit of their
/// conversation and become durable with it.
///
/// A model's answer is noted, and is on record together with the calls it makes before the
/// first of them has an effect. So a step of a conversation costs no commit of its own.
///
/// What a journal refuses waits. Beyond a bound, parts of answers go first, which the whole
/// answers say again, then the oldest of what belongs to no call. What is known of calls stays.
#[derive(Clone)]
pub struct Ledger {
    journal: Arc<dyn Journal>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    notes: Vec<Entry>,
    /// Whether the last flush was refused, and how many notes were lost since.
    refused: Option<usize>,
}

impl Ledger {
    /// Notes for this journal.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            waiting: Arc::default(),
        }
    }

    /// Notes an entry for the next commit.
    pub fn note(&self, entry: Entry) {
        self.lock().notes.push(entry);
    }

    /// Whether the last flush was refused: then there is no use in noting parts of an answer.
    pub fn is_refused(&self) -> bool {
        self.lock().refused.is_some()
    }

    /// Makes everything that was noted durable.
    pub async fn flush(&self) -> Result<(), JournalError> {
        let noted = std::mem::take(&mut self.lock().notes);
        if noted.is_empty() {
            return Ok(());
        }
        self.write(noted, Vec::new()).await
    }

    /// The same for whoever shows what goes wrong: an error is told once until a flush goes
    /// well again, and once more when notes begin to be lost.
    pub async fn keep(&self) -> Option<String> {
        let flushed = self.flush().await;
        let error = flushed.err()?;
        let mut waiting = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Entries are only ever moved whole, whoever panicked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the entries' conversation waits with.
    fn taken_for(&self, entries: &[Entry]) -> Vec<Entry> {
        // A full journal takes results alone; notes would make it refuse them.
        let only_results = |entry: &Entry| matches!(entry.record, Record::Finished { .. });
        if entries.iter().all(only_results) {
            return Vec::new();
        }
        let mut waiting = self.lock();
        let of_it = |note: &Entry| {
            let mut entries = entries.iter();
            entries.any(|entry| entry.conversation == note.conversation)
        };
        let (taken, left) = waiting.notes.drain(..).partition(of_it);
        waiting.notes = left;
        taken
    }

    async fn write(&self, noted: Vec<Entry>, entries: Vec<Entry>) -> Result<(), JournalError> {
        let mut all = noted.clone();
        all.extend(entries);
        let written = self.journal.commit(all).await;
        let mut waiting = self.lock();
        if written.is_ok() {
            waiting.refused = None;
        } else {
            let since = std::mem::replace(&mut waiting.notes, noted);
            waiting.notes.extend(since);
        }
        written
    }
}

impl Waiting {
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

impl Journal for Ledger {
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        let noted = self.taken_for(&entries);
        if noted.is_empty() {
            return self.journal.commit(entries);
        }
        Box::pin(self.write(noted, entries))
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.journal.intend(entry, images)
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("waiting", &self.lock().notes.len())
            .finish_non_exhaustive()
    }
}
