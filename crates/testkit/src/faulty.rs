//! A journal that fails when a test says so.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use toolgate_gate::journal::{Entry, Image, Journal, JournalError};
use toolgate_model::CallId;

/// Keeps commits in memory and refuses the named ones. Clones are one journal.
#[derive(Clone, Debug, Default)]
pub struct FaultyJournal(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    asked: usize,
    at: BTreeSet<usize>,
    from: Option<usize>,
    commits: Vec<Vec<Entry>>,
}

impl FaultyJournal {
    /// A journal that never fails.
    pub fn sound() -> Self {
        Self::default()
    }

    /// A journal that refuses these commits; the first is number 1.
    pub fn failing_at(commits: impl IntoIterator<Item = usize>) -> Self {
        let journal = Self::default();
        journal.0.lock().unwrap().at = commits.into_iter().collect();
        journal
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
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        let mut state = self.0.lock().unwrap();
        state.asked += 1;
        let number = state.asked;
        let fails = state.at.contains(&number) || state.from.is_some_and(|from| number >= from);
        let outcome = if fails {
            let message = format!("commit {number} fails, says the test");
            Err(JournalError { message })
        } else {
            state.commits.push(entries);
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
    fn intend(&self, entry: Entry, _: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.commit(vec![entry])
    }
}
