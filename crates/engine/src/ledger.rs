//! What is said, in the same commit as what is done about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use toolgate_gate::journal::{Entry, Image, Journal, JournalError, Record};

/// A journal that takes notes on the way: they wait for the next commit of their
/// conversation and become durable with it.
///
/// A model's answer is noted, and is on record together with the calls it makes before the
/// first of them has an effect. So a step of a conversation costs no commit of its own.
#[derive(Clone)]
pub struct Ledger {
    journal: Arc<dyn Journal>,
    waiting: Arc<Mutex<Vec<Entry>>>,
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
        self.lock().push(entry);
    }

    /// Makes everything that was noted durable.
    pub async fn flush(&self) -> Result<(), JournalError> {
        let noted = std::mem::take(&mut *self.lock());
        if noted.is_empty() {
            return Ok(());
        }
        self.write(noted, Vec::new()).await
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
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
        let (taken, left) = waiting.drain(..).partition(of_it);
        *waiting = left;
        taken
    }

    async fn write(&self, noted: Vec<Entry>, entries: Vec<Entry>) -> Result<(), JournalError> {
        let mut all = noted.clone();
        all.extend(entries);
        let written = self.journal.commit(all).await;
        if written.is_err() {
            let mut waiting = self.lock();
            let since = std::mem::replace(&mut *waiting, noted);
            waiting.extend(since);
        }
        written
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
            .field("waiting", &self.lock().len())
            .finish_non_exhaustive()
    }
}
