//! Questions that wait for an answer, which any face can list and answer by id.
//!
//! ```text
//! gate ──▶ Approvals (an Approver) ──▶ list() ──▶ face ──▶ answer(conversation, id, Answer) ──▶ gate
//! ```
//!
//! The first answer wins. A question whose turn is cancelled or whose time is up leaves the list,
//! and an answer to it is refused.
//!
//! ```
//! use toolgate_app::approvals::{Answer, ApprovalId, Approvals};
//!
//! let approvals = Approvals::new();
//! assert!(approvals.list().is_empty());
//! let unknown = ApprovalId::from_bits(1);
//! assert!(approvals.answer(&"c".into(), unknown, Answer::yes()).is_err());
//! ```

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use toolgate_gate::approve::{Bus, Requests};
use toolgate_model::ConversationId;

pub use toolgate_gate::approve::{
    Answer, AnswerError, ApprovalItem, ApprovalRequest, Approver, CallKind, Choice,
    DirectoryAccess, NetworkAccess, Open, Remember, Unanswered,
};
pub use toolgate_model::ApprovalId;

use crate::app::locked;
use crate::error::AppError;

/// The questions of all conversations that wait.
pub struct Approvals {
    bus: Bus,
    /// Held, because the bus has no approver without it.
    arriving: Mutex<Requests>,
    open: Mutex<BTreeMap<ApprovalId, ApprovalRequest>>,
    changed: watch::Sender<u64>,
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvals")
            .field("open", &locked(&self.open).len())
            .finish_non_exhaustive()
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self::new()
    }
}

impl Approvals {
    /// No questions.
    pub fn new() -> Self {
        let (bus, arriving) = Bus::new();
        Self {
            bus,
            arriving: Mutex::new(arriving),
            open: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// The questions that wait, by id.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        locked(&self.open).values().cloned().collect()
    }

    /// The questions of a conversation that wait.
    pub fn of(&self, conversation: &ConversationId) -> Vec<ApprovalRequest> {
        let mut all = self.list();
        all.retain(|request| request.conversation == *conversation);
        all
    }

    /// Answers a question of a conversation. An error if it was answered, expired or was
    /// cancelled before, or belongs to another conversation.
    pub fn answer(
        &self,
        conversation: &ConversationId,
        id: ApprovalId,
        answer: Answer,
    ) -> Result<(), AppError> {
        Ok(self.bus.answer(conversation, id, answer)?)
    }

    /// Waits until `wanted` finds what it looks for among the questions.
    pub async fn wait_for<T>(&self, mut wanted: impl FnMut(&[ApprovalRequest]) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if let Some(found) = wanted(&self.list()) {
                return found;
            }
            // The sender lives as long as this does.
            let _ = changed.changed().await;
        }
    }

    /// Reports that the list has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn changed(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Takes a question off the list when it ends, however it ends.
struct Listed<'a>(&'a Approvals, ApprovalId);

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        locked(&self.0.open).remove(&self.1);
        self.0.changed();
    }
}

impl Approver for Approvals {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(async move {
            let mut asked = Box::pin(self.bus.request(request.clone()));
            // The bus knows the question before the list shows it.
            if let Some(answer) = (&mut asked).now_or_never() {
                return answer;
            }
            while locked(&self.arriving)
                .next()
                .now_or_never()
                .flatten()
                .is_some()
            {}
            locked(&self.open).insert(request.id, request.clone());
            let _listed = Listed(self, request.id);
            self.changed();
            asked.await
        })
    }
}
