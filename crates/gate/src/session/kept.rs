//! Full outputs of earlier calls, so that truncation loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use toolgate_model::{ConversationId, OutputHandle};

use crate::sync::{Mutex, lock};

/// Why an output was not kept. The result says so instead of naming a handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the full output was not kept: {message}")]
pub struct KeepError {
    /// What went wrong.
    pub message: String,
}

/// A place for full outputs.
pub trait OutputStore: Send + Sync {
    /// Keeps a text and names it.
    fn keep(&self, conversation: &ConversationId, text: &str) -> Result<OutputHandle, KeepError>;

    /// The text of a handle, if this conversation has it.
    fn read(&self, conversation: &ConversationId, handle: &OutputHandle) -> Option<Arc<str>>;
}

/// Keeps outputs in memory within a quota; the oldest go first.
pub struct KeptInMemory {
    quota: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    bytes: usize,
    kept: VecDeque<(ConversationId, OutputHandle, Arc<str>)>,
}

impl Default for KeptInMemory {
    fn default() -> Self {
        Self::with_quota(32 * 1024 * 1024)
    }
}

impl KeptInMemory {
    /// A store of at most so many bytes.
    pub fn with_quota(quota: usize) -> Self {
        Self {
            quota,
            state: Mutex::new(State::default()),
        }
    }
}

impl OutputStore for KeptInMemory {
    fn keep(&self, conversation: &ConversationId, text: &str) -> Result<OutputHandle, KeepError> {
        if text.len() > self.quota {
            let message = format!("{} bytes, the quota is {}", text.len(), self.quota);
            return Err(KeepError { message });
        }
        let mut state = lock(&self.state);
        while state.bytes + text.len() > self.quota {
            let Some((_, _, oldest)) = state.kept.pop_front() else {
                break;
            };
            state.bytes -= oldest.len();
        }
        state.next += 1;
        let handle = OutputHandle::new(format!("out_{}", state.next));
        state.bytes += text.len();
        state
            .kept
            .push_back((conversation.clone(), handle.clone(), text.into()));
        Ok(handle)
    }

    fn read(&self, conversation: &ConversationId, handle: &OutputHandle) -> Option<Arc<str>> {
        let state = lock(&self.state);
        let found = state
            .kept
            .iter()
            .find(|(owner, name, _)| owner == conversation && name == handle);
        found.map(|(_, _, text)| Arc::clone(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_belong_to_their_conversation_and_the_oldest_go_first() {
        let store = KeptInMemory::with_quota(10);
        let (a, b) = (ConversationId::new("a"), ConversationId::new("b"));
        let first = store.keep(&a, "12345").unwrap();
        assert_eq!(&*store.read(&a, &first).unwrap(), "12345");
        assert!(store.read(&b, &first).is_none());
        let second = store.keep(&a, "67890").unwrap();
        assert!(store.read(&a, &first).is_some());
        let third = store.keep(&b, "x").unwrap();
        assert!(store.read(&a, &first).is_none());
        assert!(store.read(&a, &second).is_some());
        assert!(store.read(&b, &third).is_some());
        assert!(
            store
                .keep(&a, "12345678901")
                .unwrap_err()
                .to_string()
                .contains("quota is 10")
        );
        assert!(store.keep(&a, "1234567890").is_ok());
        assert!(store.read(&b, &third).is_none());
    }
}
