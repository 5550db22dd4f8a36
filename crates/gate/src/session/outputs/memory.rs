//! Outputs that last as long as the process.

use std::collections::VecDeque;
use std::io::{Cursor, Read};
use std::sync::Arc;

use toolgate_model::{ConversationId, OutputHandle};

use super::{KeepError, KeptText, OutputStore};
use crate::sync::{Mutex, lock};

pub(super) const DEFAULT_QUOTA: usize = 32 * 1024 * 1024;

/// Keeps outputs in memory within a quota; the oldest go first.
pub struct KeptInMemory {
    quota: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    bytes: usize,
    kept: VecDeque<(ConversationId, OutputHandle, Arc<[u8]>)>,
}

impl Default for KeptInMemory {
    fn default() -> Self {
        Self::with_quota(DEFAULT_QUOTA)
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
    fn keep(
        &self,
        conversation: &ConversationId,
        text: &mut dyn Read,
    ) -> Result<OutputHandle, KeepError> {
        let most = u64::try_from(self.quota).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        text.take(most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| KeepError::new(error.to_string()))?;
        if bytes.len() > self.quota {
            let quota = self.quota;
            return Err(KeepError::new(format!(
                "it is longer than the quota of {quota} bytes"
            )));
        }
        let mut state = lock(&self.state);
        while state.bytes + bytes.len() > self.quota {
            let Some((_, _, oldest)) = state.kept.pop_front() else {
                break;
            };
            state.bytes -= oldest.len();
        }
        state.next += 1;
        let handle = OutputHandle::new(format!("out_{}", state.next));
        state.bytes += bytes.len();
        state
            .kept
            .push_back((conversation.clone(), handle.clone(), bytes.into()));
        Ok(handle)
    }

    fn open(&self, conversation: &ConversationId, handle: &OutputHandle) -> Option<KeptText> {
        let state = lock(&self.state);
        let found = state
            .kept
            .iter()
            .find(|(owner, name, _)| owner == conversation && name == handle);
        found.map(|(_, _, text)| Box::new(Cursor::new(Arc::clone(text))) as KeptText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_belong_to_their_conversation_and_the_oldest_go_first() {
        let store = KeptInMemory::with_quota(10);
        let keep = |owner: &ConversationId, text: &str| store.keep(owner, &mut text.as_bytes());
        let read = |owner: &ConversationId, handle: &OutputHandle| {
            let mut text = String::new();
            store.open(owner, handle)?.read_to_string(&mut text).ok()?;
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
}
