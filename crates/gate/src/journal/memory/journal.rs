//! A journal for as long as the process lives.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::journal::{Batch, Entry, Image, Journal, JournalError, LeaseJournal};
use crate::{Clock, SystemClock};
use futures::future::{BoxFuture, ready};
use toolgate_model::ConversationId;

use super::held::Held;
use crate::journal::calls::About;

/// More entries than this are refused: memory is no place for a long record.
const MOST: usize = 100_000;

/// Keeps entries in memory. Clones are one journal and share its leases.
#[derive(Clone)]
pub struct MemoryJournal {
    pub(super) held: Arc<Mutex<Held>>,
    pub(super) holder: Arc<Holder>,
    pub(super) clock: Arc<dyn Clock>,
}

/// The holder of conversations: they are free when it is dropped.
pub(super) struct Holder {
    pub(super) number: u64,
    held: Arc<Mutex<Held>>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        lock(&self.held).release_all(self.number);
    }
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

    /// An empty journal of at most so many entries. Results are taken beyond that.
    pub fn holding(most: usize) -> Self {
        let held = Arc::new(Mutex::new(Held::new(most)));
        Self::of(held, Arc::new(SystemClock))
    }

    /// The same with another clock for what it records by itself.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another holder of the same entries, as another process would be.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::of(Arc::clone(&self.held), Arc::clone(&self.clock))
    }

    fn of(held: Arc<Mutex<Held>>, clock: Arc<dyn Clock>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let holder = Holder {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            held: Arc::clone(&held),
        };
        Self {
            held,
            holder: Arc::new(holder),
            clock,
        }
    }

    /// Everything that was committed and not pruned, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().all()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    // Everything is checked before anything is changed, so it is whole after any panic.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Journal for MemoryJournal {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        let done = self.lock().append(self.holder.number, &batch);
        Box::pin(ready(done))
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        let at_ms = entry.at_ms;
        let mut held = self.lock();
        let entries = Arc::new(vec![entry]);
        let done = held.write(self.holder.number, &entries, About::Meant, false);
        if done.is_ok() {
            held.keep_images(images, at_ms);
        }
        Box::pin(ready(done.map(drop)))
    }

    fn release(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), JournalError>> {
        self.lock().release(self.holder.number, conversation);
        Box::pin(ready(Ok(())))
    }
}

impl LeaseJournal for MemoryJournal {
    fn begin(
        &self,
        conversation: &ConversationId,
        workspace: Option<&Path>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let now_ms = self.clock.now_ms();
        let workspace = workspace.map(|path| path.to_string_lossy().into_owned());
        let done = self
            .lock()
            .begin(self.holder.number, conversation, workspace, now_ms);
        Box::pin(ready(done))
    }
}

impl std::fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryJournal").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Record;
    use futures::FutureExt;
    use toolgate_model::{Args, ToolCall, ToolResult};

    #[test]
    fn a_commit_is_kept_whole_or_not_at_all() {
        let journal = MemoryJournal::holding(3);
        let entry = |at_ms, record| Entry {
            conversation: "c".into(),
            call: "1".into(),
            at_ms,
            record,
        };
        let said = |at_ms| entry(at_ms, Record::UserMessage { text: "hi".into() });
        let received = Record::Received {
            call: ToolCall::new("1", "t", Args::new()),
        };
        let commit = |entries| journal.commit(entries).now_or_never().unwrap();
        commit(vec![entry(1, received), said(2)]).unwrap();
        let full = commit(vec![said(3), said(4)]);
        assert!(full.unwrap_err().to_string().contains("3 entries"));
        let also = journal.clone();
        also.commit(vec![said(5)]).now_or_never().unwrap().unwrap();
        let result = Box::new(ToolResult::ok("1".into(), "t", "done"));
        commit(vec![entry(6, Record::Finished { result })]).expect("a result is taken");
        let at: Vec<u64> = journal.entries().iter().map(|entry| entry.at_ms).collect();
        assert_eq!(at, [1, 2, 5, 6]);
    }
}
