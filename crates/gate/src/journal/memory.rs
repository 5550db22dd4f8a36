//! A journal for as long as the process lives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use super::{Entry, Image, Journal, JournalError};

/// More entries than this are refused: memory is no place for a long record.
const MOST: usize = 100_000;

/// Keeps entries in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    entries: Arc<Mutex<Vec<Entry>>>,
    most: usize,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::holding(MOST)
    }
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty journal of at most so many entries.
    pub fn holding(most: usize) -> Self {
        Self {
            entries: Arc::default(),
            most,
        }
    }

    /// Everything that was committed, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Entries are only ever appended, so they are whole whoever panicked.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, entries: Vec<Entry>) -> Result<(), JournalError> {
        let mut kept = self.lock();
        if kept.len() + entries.len() > self.most {
            let message = format!("{} entries are the most that memory holds", self.most);
            return Err(JournalError { message });
        }
        kept.extend(entries);
        Ok(())
    }
}

impl Journal for MemoryJournal {
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(self.append(entries)))
    }

    /// Images are for the next process, and nothing here lives to see it: they are not kept.
    fn intend(&self, entry: Entry, _: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(self.append(vec![entry])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Record;
    use futures::FutureExt;

    #[test]
    fn a_commit_is_kept_whole_or_not_at_all() {
        let journal = MemoryJournal::holding(3);
        let entry = |at_ms| Entry {
            conversation: "c".into(),
            call: "1".into(),
            at_ms,
            record: Record::Started,
        };
        journal
            .commit(vec![entry(1), entry(2)])
            .now_or_never()
            .unwrap()
            .unwrap();
        let full = journal
            .commit(vec![entry(3), entry(4)])
            .now_or_never()
            .unwrap();
        assert!(full.unwrap_err().to_string().contains("3 entries"));
        journal
            .clone()
            .commit(vec![entry(5)])
            .now_or_never()
            .unwrap()
            .unwrap();
        let at: Vec<u64> = journal.entries().iter().map(|entry| entry.at_ms).collect();
        assert_eq!(at, [1, 2, 5]);
    }
}
