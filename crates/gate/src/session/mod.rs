//! The state of one conversation between calls.
//!
//! It knows what was read and written, keeps full outputs, holds the grants given
//! for the conversation and the scope it runs under. It ends as one.

mod outputs;
mod reads;
mod resources;
mod stops;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;
use toolgate_model::{CallId, ConversationId, Openings, OutputHandle};
use toolgate_policy::Scope;

pub use outputs::{
    KeepError, KeptInMemory, KeptOnDisk, KeptText, OutputStore, Spool, SpoolReader, WholeText,
};
pub use reads::{LineRanges, ReadLog, Seen, Staleness};
pub use resources::Resource;

use resources::Resources;
pub(crate) use stops::Stoppable;
use stops::Stops;

use crate::approve::Grant;
use crate::events::Hub;
use crate::journal::{Lasting, Pending};
use crate::middleware::Chain;
use crate::policies::Compiled;
use crate::sync::{Mutex, lock};

/// What a result may have where the model's context is not known.
pub const UNKNOWN_CAPACITY: usize = 64 * 1024;

/// Sessions are numbered, so that two of one name are not taken for one.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A conversation's memory.
pub struct Session {
    number: u64,
    id: ConversationId,
    staleness: Staleness,
    reads: Mutex<ReadLog>,
    outputs: Arc<dyn OutputStore>,
    grants: Mutex<Granted>,
    /// The policy with this conversation's grants and scope.
    compiled: Compiled,
    /// The middleware that saw calls of this conversation; nothing once it has ended.
    chains: Mutex<Option<Vec<Arc<Chain>>>>,
    opened: Mutex<Openings>,
    resources: Resources,
    stops: Stops,
    pending: Pending,
    hub: Arc<Hub>,
    scopes: Vec<Scope>,
    capacity: AtomicUsize,
    cancel: CancellationToken,
}

/// The grants of a conversation, and how many times they changed.
#[derive(Default)]
struct Granted {
    grants: Vec<Grant>,
    changes: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A conversation in which what was read is remembered and checked.
    pub fn new(id: impl Into<ConversationId>) -> Self {
        let id = id.into();
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            hub: Arc::new(Hub::new(id.clone())),
            id,
            staleness: Staleness::Checked,
            reads: Mutex::new(ReadLog::default()),
            outputs: Arc::new(KeptInMemory::default()),
            grants: Mutex::default(),
            compiled: Compiled::default(),
            chains: Mutex::new(Some(Vec::new())),
            opened: Mutex::default(),
            resources: Resources::default(),
            stops: Stops::default(),
            pending: Pending::default(),
            scopes: Vec::new(),
            capacity: AtomicUsize::new(UNKNOWN_CAPACITY),
            cancel: CancellationToken::new(),
        }
    }

    /// One call by a user: what was read before is not known and not required.
    #[must_use]
    pub fn without_staleness(mut self) -> Self {
        self.staleness = Staleness::NotChecked;
        self
    }

    /// The same under a further scope handed in by a caller; each can only narrow.
    #[must_use]
    pub fn scoped(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// The same with another place for full outputs.
    #[must_use]
    pub fn keeping_in(mut self, outputs: Arc<dyn OutputStore>) -> Self {
        self.outputs = outputs;
        self
    }

    /// The conversation's name.
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Its number in this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a file has to be read before it is overwritten.
    pub fn staleness(&self) -> Staleness {
        self.staleness
    }

    /// Looks at, or adds to, what was read.
    pub fn reads<T>(&self, with: impl FnOnce(&mut ReadLog) -> T) -> T {
        with(&mut lock(&self.reads))
    }

    /// Where full outputs are kept.
    pub fn outputs(&self) -> &Arc<dyn OutputStore> {
        &self.outputs
    }

    /// Keeps a full output.
    pub(crate) async fn keep_whole(&self, text: String) -> Result<OutputHandle, KeepError> {
        let text = Box::new(std::io::Cursor::new(text));
        self.outputs.keep(&self.id, text).await
    }

    /// The scopes it runs under: a call needs all of them.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// The grants given for this conversation.
    pub fn grants(&self) -> Vec<Grant> {
        lock(&self.grants).grants.clone()
    }

    /// The same with a number that changes with them.
    pub(crate) fn numbered_grants(&self) -> (u64, Vec<Grant>) {
        let granted = lock(&self.grants);
        (granted.changes, granted.grants.clone())
    }

    pub(crate) fn grant(&self, grants: Vec<Grant>) {
        let mut granted = lock(&self.grants);
        granted.grants.extend(grants);
        granted.changes += 1;
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Notes whose calls this conversation makes, so that its end is told there.
    pub(crate) fn passes(&self, chain: &Arc<Chain>) {
        if let Some(chains) = &mut *lock(&self.chains)
            && !chains.iter().any(|known| Arc::ptr_eq(known, chain))
        {
            chains.push(Arc::clone(chain));
        }
    }

    /// What was opened beyond the sandbox for the whole conversation.
    pub fn opened(&self) -> Openings {
        lock(&self.opened).clone()
    }

    pub(crate) fn open(&self, more: &Openings) {
        lock(&self.opened).add(more);
    }

    /// Takes up what answers opened or allowed before the conversation was resumed. A directory
    /// counts as long as its name leads to the same one.
    pub fn restore(&self, lasting: Lasting) {
        let known = self.grants();
        let mut grants = lasting.grants;
        grants.retain(|grant| known.iter().all(|known| known.id != grant.id));
        self.grant(grants);
        self.open(&lasting.opened);
    }

    /// What answers opened or allowed until this conversation ends.
    pub fn lasting(&self) -> Lasting {
        Lasting {
            grants: self.grants(),
            opened: self.opened(),
        }
    }

    /// Takes back a grant of this conversation, without a record of it. See
    /// [`Gate::revoke`](crate::Gate::revoke).
    pub fn revoke(&self, id: &str) -> bool {
        let mut granted = lock(&self.grants);
        let before = granted.grants.len();
        granted.grants.retain(|grant| grant.id != id);
        granted.changes += 1;
        granted.grants.len() < before
    }

    /// Takes back grants and openings of this conversation: the next batch is asked about again.
    pub(crate) fn take_back(&self, revoked: &Lasting) {
        let is_revoked = |grant: &Grant| revoked.grants.iter().any(|gone| gone.id == grant.id);
        let mut granted = lock(&self.grants);
        granted.grants.retain(|grant| !is_revoked(grant));
        granted.changes += 1;
        drop(granted);
        lock(&self.opened).remove(&revoked.opened);
    }

    /// How many bytes of results the model's context still takes.
    pub fn available_capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Says how many bytes of results the model's context still takes.
    pub fn set_available_capacity(&self, bytes: usize) {
        self.capacity.store(bytes, Ordering::Relaxed);
    }

    /// Says that it is not known how many bytes of results the model's context still takes.
    pub fn forget_available_capacity(&self) {
        self.set_available_capacity(UNKNOWN_CAPACITY);
    }

    /// What tools of one kind keep for this conversation.
    pub fn resource<T: Resource + Default>(&self) -> Arc<T> {
        self.resources.get()
    }

    /// Its entries that are not on record yet.
    pub(crate) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Keeps the end of every running call's output for clients that follow the conversation later.
    #[must_use]
    pub fn followed(self) -> Self {
        self.hub.follow();
        self
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Ends the conversation: every call, and what middleware and tools keep for it. Outputs
    /// that were kept in memory are released. [`Gate::end`](crate::Gate::end) does this too,
    /// and settles the journal.
    pub async fn end(&self) {
        self.cancel.cancel();
        let chains = lock(&self.chains).take();
        for chain in chains.iter().flatten() {
            chain.end(self);
        }
        self.resources.end().await;
        self.outputs.release(&self.id).await;
        self.compiled.forget();
    }

    /// Stops a call that runs, and no other. Its result says that it was cancelled, and the batch
    /// goes on. Whether it ran.
    pub fn stop_call(&self, call: &CallId) -> bool {
        self.stops.stop(call)
    }

    pub(crate) fn stoppable(&self, call: &CallId) -> Stoppable<'_> {
        self.stops.begin(call)
    }

    /// Ends every call of this conversation.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
