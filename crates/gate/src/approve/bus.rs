//! Questions on their way to whoever can answer, and answers on their way back.
//!
//! Every question waits on its own; the first answer wins. An answer that is late,
//! repeated, unknown or from another conversation is refused and changes nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use futures::future::BoxFuture;
use toolgate_model::{ApprovalId, ConversationId};

use super::{Answer, ApprovalRequest, Approver, Unanswered};
use crate::sync::{Mutex, lock};

/// So many closed questions are remembered, to tell a late answer from an unknown one.
const REMEMBERED: usize = 256;

/// Why an answer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The question was answered, expired or was cancelled before.
    #[error("this question is closed: it was answered, ran out of time or was cancelled")]
    Closed,
    /// Nobody asked this.
    #[error("there is no such question")]
    Unknown,
    /// The question belongs to another conversation.
    #[error("this question belongs to another conversation")]
    Foreign,
}

struct Waiting {
    conversation: ConversationId,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<ApprovalId, Waiting>,
    closed: VecDeque<ApprovalId>,
}

impl State {
    fn close(&mut self, id: ApprovalId) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        self.closed.push_back(id);
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
        Some(waiting)
    }
}

/// Carries questions to user interfaces. Cheap to clone; all clones are one bus.
#[derive(Clone)]
pub struct Bus {
    state: Arc<Mutex<State>>,
    requests: mpsc::UnboundedSender<ApprovalRequest>,
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

/// The end at which questions arrive. While it lives, somebody is there.
pub struct Requests {
    arriving: mpsc::UnboundedReceiver<ApprovalRequest>,
    state: Arc<Mutex<State>>,
}

impl Requests {
    /// The next question; nothing when the bus is gone.
    pub async fn next(&mut self) -> Option<ApprovalRequest> {
        self.arriving.next().await
    }
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Requests")
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // Closed first: a question that comes now finds nobody, one that came before is told so.
        self.arriving.close();
        let mut state = lock(&self.state);
        let open: Vec<ApprovalId> = state.waiting.keys().copied().collect();
        let left: Vec<_> = open.into_iter().filter_map(|id| state.close(id)).collect();
        drop(state);
        drop(left);
    }
}

impl Bus {
    /// A bus and the end at which its questions arrive.
    pub fn new() -> (Self, Requests) {
        // Unbounded is bounded here: a line asks one question at a time and waits for it.
        let (requests, arriving) = mpsc::unbounded();
        let state: Arc<Mutex<State>> = Arc::default();
        let arriving = Requests {
            arriving,
            state: Arc::clone(&state),
        };
        (Self { state, requests }, arriving)
    }

    /// How many questions wait for an answer.
    pub fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    /// Hands in an answer on behalf of a conversation.
    pub fn answer(
        &self,
        conversation: &ConversationId,
        id: ApprovalId,
        answer: Answer,
    ) -> Result<(), AnswerError> {
        let waiting = {
            let mut state = lock(&self.state);
            match state.waiting.get(&id) {
                None if state.closed.contains(&id) => return Err(AnswerError::Closed),
                None => return Err(AnswerError::Unknown),
                Some(waiting) if waiting.conversation != *conversation => {
                    return Err(AnswerError::Foreign);
                }
                Some(_) => {}
            }
            state.close(id)
        };
        let waiting = waiting.ok_or(AnswerError::Closed)?;
        // The one who waited may have gone between the lock and here: then nobody was answered.
        waiting.answer.send(answer).map_err(|_| AnswerError::Closed)
    }

    /// Puts a question up and waits for its answer. Dropping the future takes it back.
    pub async fn request(&self, request: ApprovalRequest) -> Result<Answer, Unanswered> {
        let id = request.id;
        let (answer, answered) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if state.waiting.contains_key(&id) || state.closed.contains(&id) {
                // An id is used once. A source of ids that repeats itself is not to be trusted.
                return Err(Unanswered::Cancelled);
            }
            let conversation = request.conversation.clone();
            state.waiting.insert(
                id,
                Waiting {
                    conversation,
                    answer,
                },
            );
        }
        let _taken_back = TakeBack { bus: self, id };
        if self.requests.unbounded_send(request).is_err() {
            // Nobody listens: unless it was answered already, the question ends here.
            drop(lock(&self.state).close(id));
        }
        answered.await.map_err(|_| Unanswered::NobodyThere)
    }
}

struct TakeBack<'a> {
    bus: &'a Bus,
    id: ApprovalId,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        lock(&self.bus.state).close(self.id);
    }
}

impl Approver for Bus {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(self.request(request.clone()))
    }
}
