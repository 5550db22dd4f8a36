//! A journal that fails when a test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use toolgate_gate::journal::{Batch, BatchKey, Entry, Image, Journal, JournalError};
use toolgate_model::CallId;

/// Keeps commits in memory and refuses the named ones. Clones are one journal.
#[derive(Clone, Debug, Default)]
pub struct FaultyJournal(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    asked: usize,
    at: BTreeMap<usize, Fault>,
    from: Option<usize>,
    commits: Vec<Vec<Entry>>,
    /// The number of each batch's first entry in its conversation.
    keys: BTreeMap<BatchKey, u64>,
}

/// How a commit goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written, and the error says so.
    Refused,
    /// Nothing is written, and nobody knows.
    LostBefore,
    /// Everything is written, and nobody knows.
    LostAfter,
    /// It can never be written.
    Rejected,
}

impl State {
    fn append(&mut self, batch: &Batch) -> Result<u64, JournalError> {
        self.asked += 1;
        let number = self.asked;
        let refused = self.from.filter(|from| number >= *from);
        let fault = self.at.get(&number).copied();
        let fault = fault.or(refused.map(|_| Fault::Refused));
        let message = format!("commit {number} fails, says the test");
        let mut first = 0;
        if matches!(fault, None | Some(Fault::LostAfter)) {
            // Whoever does not say that it is offered again may be writing it twice.
            let known = self.keys.get(batch.key()).copied();
            first = match known.filter(|_| batch.is_offered_again()) {
                Some(first) => first,
                None => {
                    let conversation = batch.conversation();
                    let entries = self.commits.iter().flatten();
                    let before = entries.filter(|entry| entry.conversation == conversation);
                    let first = before.count() as u64 + 1;
                    self.keys.insert(batch.key().clone(), first);
                    self.commits.push(batch.entries().to_vec());
                    first
                }
            };
        }
        match fault {
            None => Ok(first),
            Some(Fault::Refused) => Err(JournalError::not_written(message)),
            Some(Fault::Rejected) => Err(JournalError::rejected(message)),
            Some(Fault::LostBefore | Fault::LostAfter) => Err(JournalError::unknown(message)),
        }
    }
}

impl FaultyJournal {
    /// A journal that never fails.
    pub fn sound() -> Self {
        Self::default()
    }

    /// A journal that refuses these commits; the first is number 1.
    pub fn failing_at(commits: impl IntoIterator<Item = usize>) -> Self {
        let journal = Self::default();
        let faults = commits.into_iter().map(|number| (number, Fault::Refused));
        journal.0.lock().unwrap().at = faults.collect();
        journal
    }

    /// A journal with these faults; the first commit is number 1.
    pub fn with_faults(faults: impl IntoIterator<Item = (usize, Fault)>) -> Self {
        let journal = Self::default();
        journal.0.lock().unwrap().at = faults.into_iter().collect();
        journal
    }

    /// Works from now on.
    pub fn mend(&self) {
        let mut state = self.0.lock().unwrap();
        state.from = None;
        state.at.clear();
    }

    /// A journal that refuses every commit from this one on.
    pub fn failing_from(commit: usize) -> Self {
        let journal = Self::default();
        journal.0.lock().unwrap().from = Some(commit);
        journal
    }

    /// Every commit that was taken, in order.
    pub fn commits(&self) -> Vec<Vec<Entry>> {
        self.0.lock().unwrap().commits.clone()
    }

    /// Every entry that was taken, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.commits().concat()
    }

    /// What was recorded about a call, as the kinds of its records.
    pub fn of(&self, call: &str) -> Vec<&'static str> {
        let call = CallId::from(call);
        let entries = self.entries();
        let own = entries.iter().filter(|entry| entry.call == call);
        own.map(|entry| entry.record.kind()).collect()
    }
}

impl Journal for FaultyJournal {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        let outcome = self.0.lock().unwrap().append(&batch);
        Box::pin(std::future::ready(outcome))
    }

    fn intend(&self, entry: Entry, _: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.commit(vec![entry])
    }
}
