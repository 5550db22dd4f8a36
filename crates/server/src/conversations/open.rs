//! A conversation that is open here: its turns, and the requests that began them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Mutex as AsyncMutex;
use toolgate_app::approvals::ApprovalId;
use toolgate_app::interrupted::Choice;
use toolgate_app::{Conversation, Input, SendOptions, carried};
use toolgate_model::ConversationId;

use super::about::{About, Abouts};
use super::watched::Watchers;
use crate::auth::Subject;
use crate::frames::{ChatMessage, Send};
use crate::problem::Problem;

/// The most bytes of a client's name for a request.
const MAX_REQUEST_ID: usize = 128;

/// A conversation that is open here.
pub(crate) struct Open {
    pub(crate) id: ConversationId,
    pub(crate) conversation: Conversation,
    pub(crate) watchers: Watchers,
    /// Whoever follows it, also without the right to answer.
    pub(crate) followers: Watchers,
    /// Held while a message is taken, so that one request begins one turn.
    about: AsyncMutex<About>,
    owner: Option<String>,
    workspace: Option<std::path::PathBuf>,
    abouts: Abouts,
    /// Answers to single calls of questions that have more.
    partial: Mutex<HashMap<ApprovalId, BTreeMap<String, bool>>>,
    used: Mutex<Instant>,
}

impl Open {
    pub(crate) fn new(
        conversation: Conversation,
        about: About,
        abouts: Abouts,
        watchers: Watchers,
    ) -> Self {
        Self {
            id: conversation.id().clone(),
            conversation,
            watchers,
            followers: Watchers::default(),
            owner: about.owner.clone(),
            workspace: about.workspace.clone(),
            about: AsyncMutex::new(about),
            abouts,
            partial: Mutex::default(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// What permissions look at.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            owner: self.owner.as_deref(),
            workspace: self.workspace.as_deref(),
        }
    }

    /// Since when nobody used it, if nobody does.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = self.conversation.is_busy() || self.followers.is_any();
        (!is_used).then_some(used)
    }

    /// Somebody uses it.
    pub(crate) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Begins a turn, and says which. A request that was made before has the answer of then.
    pub(crate) async fn send(&self, said: &Send) -> Result<u64, Problem> {
        let request = said.request_id.as_deref();
        if request.is_some_and(|id| id.is_empty() || id.len() > MAX_REQUEST_ID) {
            return Err(Problem::bad("a request_id has 1 to 128 bytes"));
        }
        let mut about = self.about.lock().await;
        self.touch();
        let last = self.last_turn().await?;
        if let Some(turn) = request.and_then(|id| about.turn_of(id))
            // A crash can fall between the note and the turn.
            && (turn <= last || self.conversation.is_busy())
        {
            return Ok(turn);
        }
        if self.conversation.is_busy() {
            let busy = toolgate_app::AppError::Busy(self.id.clone());
            return Err(busy.into());
        }
        if let Some(id) = request {
            about.note(id, last + 1);
            self.abouts.write(&about)?;
        }
        let carried = match said.history.is_empty() || last > 0 {
            true => None,
            false => Some(carried_in(&said.history)?),
        };
        let input = Input::Message {
            text: said.message.clone(),
            carried,
        };
        let turn = self.conversation.send_with(input, SendOptions::default());
        match turn.await {
            Ok(turn) => Ok(turn.number()),
            Err(error) => {
                if let Some(id) = request {
                    about.requests.retain(|(known, _)| known != id);
                    self.abouts.write(&about)?;
                }
                Err(error.into())
            }
        }
    }

    /// Settles what a crash left of the last turn.
    pub(crate) async fn resume(&self, choice: Option<&str>) -> Result<usize, Problem> {
        let choice = match choice {
            None => None,
            Some("keep") => Some(Choice::Keep),
            Some("discard") => Some(Choice::Discard),
            Some(_) => return Err(Problem::bad("choice is keep or discard")),
        };
        let _one_at_a_time = self.about.lock().await;
        self.touch();
        let interrupted = self.conversation.interrupted().await?;
        let settled = self.conversation.resume(&interrupted, choice).await?;
        Ok(settled.len())
    }

    /// The number of the last turn in the journal.
    async fn last_turn(&self) -> Result<u64, Problem> {
        Ok(self.conversation.turns().await?)
    }

    /// Adds the answer to one call; all answers, once every call of the question has one.
    pub(crate) fn answered_alone(
        &self,
        question: ApprovalId,
        calls: &[&str],
        call: &str,
        approved: bool,
    ) -> Option<BTreeMap<String, bool>> {
        let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
        // Questions of a conversation follow each other: what is left of others is void.
        partial.retain(|known, _| *known == question);
        let answers = partial.entry(question).or_default();
        answers.entry(call.to_owned()).or_insert(approved);
        let is_whole = calls.iter().all(|call| answers.contains_key(*call));
        if is_whole {
            partial.remove(&question)
        } else {
            None
        }
    }
}

/// A history in the form of an exported conversation.
fn carried_in(history: &[ChatMessage]) -> Result<Vec<carried::Message>, Problem> {
    let exported = serde_json::json!({ "messages": history });
    carried::read(exported.to_string().as_bytes())
        .map_err(|why| Problem::bad(format!("history: {why}")))
}
