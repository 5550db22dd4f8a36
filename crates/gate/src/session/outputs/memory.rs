//! Outputs that last as long as their conversation, at most as long as the process.

use std::collections::{HashMap, VecDeque};
use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use futures::future::BoxFuture;
use toolgate_model::{ConversationId, OutputHandle};

use super::{KeepError, KeptText, OutputStore, WholeText};
use crate::blocking;
use crate::sync::{Mutex, lock};

/// All stores of a process together keep this many bytes.
const OF_PROCESS: usize = 32 * 1024 * 1024;

static SHARED: LazyLock<Arc<Quota>> = LazyLock::new(|| Arc::new(Quota::new(OF_PROCESS)));

/// Keeps outputs in memory within a quota, which all stores made with [`Default`] share. The
/// conversation that keeps most makes room, its oldest output first.
pub struct KeptInMemory {
    /// Its number among the stores of the quota.
    number: u64,
    handles: AtomicU64,
    quota: Arc<Quota>,
}

struct Quota {
    bytes: usize,
    stores: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: usize,
    conversations: HashMap<Owner, Kept>,
}

/// A store and a conversation in it.
type Owner = (u64, ConversationId);

#[derive(Default)]
struct Kept {
    bytes: usize,
    outputs: VecDeque<(OutputHandle, Arc<[u8]>)>,
}

impl Quota {
    fn new(bytes: usize) -> Self {
        Self {
            bytes,
            stores: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }
}

impl State {
    /// Removes the oldest output of the conversation that keeps most; whether there was one.
    fn shrink(&mut self) -> bool {
        let all = self.conversations.iter_mut();
        let Some((owner, most)) = all.max_by_key(|(_, kept)| kept.bytes) else {
            return false;
        };
        if let Some((_, oldest)) = most.outputs.pop_front() {
            most.bytes -= oldest.len();
            self.bytes -= oldest.len();
        }
        if most.outputs.is_empty() {
            let owner = owner.clone();
            self.conversations.remove(&owner);
        }
        true
    }

    fn release(&mut self, released: impl Fn(&Owner) -> bool) {
        let bytes = &mut self.bytes;
        self.conversations.retain(|owner, kept| {
            let goes = released(owner);
            *bytes -= if goes { kept.bytes } else { 0 };
            !goes
        });
    }
}

impl Default for KeptInMemory {
    fn default() -> Self {
        Self::sharing(Arc::clone(&SHARED))
    }
}

impl KeptInMemory {
    /// A store of at most so many bytes, whatever others keep.
    pub fn with_quota(quota: usize) -> Self {
        Self::sharing(Arc::new(Quota::new(quota)))
    }

    fn sharing(quota: Arc<Quota>) -> Self {
        Self {
            number: quota.stores.fetch_add(1, Ordering::Relaxed),
            handles: AtomicU64::new(0),
            quota,
        }
    }
}

impl OutputStore for KeptInMemory {
    fn keep<'a>(
        &'a self,
        conversation: &'a ConversationId,
        text: WholeText,
    ) -> BoxFuture<'a, Result<OutputHandle, KeepError>> {
        Box::pin(async move {
            let quota = self.quota.bytes;
            // The text can come from a disk.
            let read = blocking::run(move || read(text, quota)).await;
            let bytes = read.unwrap_or_else(|| Err(KeepError::cut_off()))?;
            Ok(self.add(conversation, bytes))
        })
    }

    fn open<'a>(
        &'a self,
        conversation: &'a ConversationId,
        handle: &'a OutputHandle,
    ) -> BoxFuture<'a, Option<KeptText>> {
        let found = self.find(conversation, handle);
        Box::pin(std::future::ready(found))
    }

    fn release<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        let own = (self.number, conversation.clone());
        lock(&self.quota.state).release(|owner| *owner == own);
        Box::pin(std::future::ready(()))
    }
}

fn read(text: WholeText, quota: usize) -> Result<Vec<u8>, KeepError> {
    let most = u64::try_from(quota).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    text.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| KeepError::new(error.to_string()))?;
    if bytes.len() > quota {
        return Err(KeepError::new(format!(
            "it is longer than the quota of {quota} bytes"
        )));
    }
    Ok(bytes)
}

impl KeptInMemory {
    fn add(&self, conversation: &ConversationId, bytes: Vec<u8>) -> OutputHandle {
        let number = self.handles.fetch_add(1, Ordering::Relaxed) + 1;
        let handle = OutputHandle::new(format!("out_{number}"));
        let mut state = lock(&self.quota.state);
        while state.bytes + bytes.len() > self.quota.bytes && state.shrink() {}
        state.bytes += bytes.len();
        let owner = (self.number, conversation.clone());
        let kept = state.conversations.entry(owner).or_default();
        kept.bytes += bytes.len();
        kept.outputs.push_back((handle.clone(), bytes.into()));
        handle
    }

    fn find(&self, conversation: &ConversationId, handle: &OutputHandle) -> Option<KeptText> {
        let state = lock(&self.quota.state);
        let kept = state
            .conversations
            .get(&(self.number, conversation.clone()))?;
        let found = kept.outputs.iter().find(|(name, _)| name == handle);
        found.map(|(_, text)| Box::new(Cursor::new(Arc::clone(text))) as KeptText)
    }
}

impl Drop for KeptInMemory {
    fn drop(&mut self) {
        lock(&self.quota.state).release(|(store, _)| *store == self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn outputs_belong_to_their_conversation_and_the_oldest_go_first() {
        let store = KeptInMemory::with_quota(10);
        let keep = |owner: &ConversationId, text: &'static str| {
            block_on(store.keep(owner, Box::new(text.as_bytes())))
        };
        let read = |owner: &ConversationId, handle: &OutputHandle| {
            let mut text = String::new();
            let mut kept = block_on(store.open(owner, handle))?;
            kept.read_to_string(&mut text).ok()?;
            Some(text)
        };
        let (a, b) = (ConversationId::new("a"), ConversationId::new("b"));
        let first = keep(&a, "12345").unwrap();
        assert_eq!(read(&a, &first).unwrap(), "12345");
        assert!(read(&b, &first).is_none());
        let second = keep(&a, "67890").unwrap();
        assert!(read(&a, &first).is_some());
        let third = keep(&b, "x").unwrap();
        assert!(read(&a, &first).is_none());
        assert!(read(&a, &second).is_some());
        assert!(read(&b, &third).is_some());
        let too_long = keep(&a, "12345678901").unwrap_err().to_string();
        assert!(too_long.contains("quota of 10"), "{too_long}");
        assert!(keep(&a, "1234567890").is_ok());
        assert!(read(&b, &third).is_none());
    }

    #[test]
    fn stores_share_a_quota_and_release_what_ended() {
        let quota = Arc::new(Quota::new(10));
        let store = || KeptInMemory::sharing(Arc::clone(&quota));
        let (noisy, quiet) = (store(), store());
        let c = ConversationId::new("c");
        let keep = |store: &KeptInMemory, text: &'static str| {
            block_on(store.keep(&c, Box::new(text.as_bytes()))).unwrap()
        };
        let has = |store: &KeptInMemory, handle| block_on(store.open(&c, handle)).is_some();
        let small = keep(&quiet, "12");
        for _ in 0..5 {
            keep(&noisy, "1234");
        }
        assert!(has(&quiet, &small), "the largest makes room");
        let last = OutputHandle::new("out_5");
        assert!(has(&noisy, &last));
        assert!(!has(&quiet, &last));
        assert_eq!(lock(&quota.state).bytes, 10);
        block_on(noisy.release(&c));
        assert!(!has(&noisy, &last));
        assert_eq!(lock(&quota.state).bytes, 2);
        drop(quiet);
        let state = lock(&quota.state);
        assert_eq!((state.bytes, state.conversations.len()), (0, 0));
    }
}
