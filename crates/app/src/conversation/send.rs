//! A turn: what the user says, and what comes of it.

use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate_engine::{Finished, History, Outcome, Prompt, TurnContext, run_turn};
use toolgate_gate::events::EventSink;
use toolgate_gate::journal::{Body, Filter, FullJournal, JournalError, Line, ReadJournal};
use toolgate_model::{ConversationId, Event};
use toolgate_providers::{Message, StreamError};

use super::{Conversation, Inner, State};
use crate::app::locked;
use crate::error::AppError;
use crate::supplied::{self, SuppliedResult};

/// How many events wait for a face.
const EVENTS: usize = 256;

/// What a turn begins with.
#[derive(Clone, Debug)]
pub enum Input {
    /// Words of the user. Without words, a question that has no answer yet is asked again.
    Message {
        /// The words.
        text: String,
        /// What was said before the conversation came here, see [`carried`](crate::carried).
        carried: Option<Vec<Message>>,
    },
    /// Results of the calls that the last turn left to the user.
    Results(Vec<SuppliedResult>),
}

impl Input {
    /// Words of the user.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message {
            text: text.into(),
            carried: None,
        }
    }
}

/// Who gets the events of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    /// Subscribers.
    #[default]
    Subscribers,
    /// Subscribers, and the caller through [`Turn::next_event`], which has to be read: the turn
    /// waits for a slow reader.
    Caller,
}

/// How a turn is run.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Who gets its events.
    pub listen: Listen,
    /// Stops the turn, beside [`Conversation::cancel`].
    pub cancel: Option<CancellationToken>,
}

/// A turn that runs.
#[derive(Debug)]
pub struct Turn {
    number: u64,
    events: Option<mpsc::Receiver<Event>>,
    work: JoinHandle<Finished>,
    cancel: CancellationToken,
}

impl Turn {
    /// Its number in the conversation.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The next event; nothing when the turn is over, or for a turn without
    /// [`Listen::Caller`].
    pub async fn next_event(&mut self) -> Option<Event> {
        self.events.as_mut()?.recv().await
    }

    /// Stops it.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for its end. Events that were not read are dropped.
    pub async fn outcome(self) -> Result<Finished, AppError> {
        drop(self.events);
        let finished = self.work.await;
        finished.map_err(|error| AppError::internal(format!("the turn broke off: {error}")))
    }
}

impl Conversation {
    /// Begins a turn. It is an error while another turn runs, or while a crash or calls of the
    /// last turn have to be decided about first.
    pub async fn send(&self, input: Input) -> Result<Turn, AppError> {
        self.send_with(input, SendOptions::default()).await
    }

    /// The same, with these options.
    pub async fn send_with(&self, input: Input, options: SendOptions) -> Result<Turn, AppError> {
        let mut state = self.idle()?;
        self.prepared(&mut state).await?;
        let mut history = self.history(&mut state, &input).await?;
        let prompt = prompt(input, &mut history)?;
        let approval = state.options.approval.clone();
        let approval = approval.unwrap_or_else(|| self.inner.app.options().approval.clone());
        let is_new = !state.stored;
        let agent = self.prepared(&mut state).await?;
        if is_new && !agent.has_begun() {
            // Not before everything is in order: an error leaves no empty conversation.
            agent.begin().await;
        }
        let busy = agent.noted.as_ref().and_then(|noted| noted.busy());
        let (project, recording) = (Arc::clone(&agent.project), agent.recording.clone());
        let Some(model) = &mut agent.model else {
            return Err(AppError::internal("there is no model"));
        };
        model.make(&project, recording.as_ref())?;
        let Some(mut provider) = model.provider.take() else {
            return Err(AppError::internal("there is no provider"));
        };
        if !std::mem::replace(&mut model.is_told, true) {
            for message in &history.messages {
                provider.push(message).map_err(|fault| {
                    AppError::internal(format!("the conversation cannot be taken up: {fault}"))
                })?;
            }
        }
        let number = history.turns.max(agent.turns) + 1;
        let settings = match &agent.model {
            Some(model) => agent.settings(model),
            None => return Err(AppError::internal("there is no model")),
        };
        let cancel = options.cancel.unwrap_or_default();
        *locked(&self.inner.cancel) = Some(cancel.clone());
        let (events, listening) = listen(options.listen);
        let context = TurnContext {
            gate: project.gate.clone(),
            session: Arc::clone(&agent.session),
            clock: Arc::clone(&self.inner.app.options().clock),
            approver: self.inner.app.approver(&approval),
            events,
            cancel: cancel.clone(),
        };
        let inner = Arc::clone(&self.inner);
        let work = tokio::spawn(async move {
            let turn = toolgate_engine::Turn::new(number, settings);
            let finished = run_turn(&mut *provider, &context, turn, prompt).await;
            let lost = matches!(finished.outcome, Outcome::Failed(StreamError::History(_)));
            over(state, number, (!lost).then_some(provider), &inner);
            drop(context);
            drop(busy);
            finished
        });
        Ok(Turn {
            number,
            events: listening,
            work,
            cancel,
        })
    }

    /// What was said so far. What a crash left is settled where nothing has to be decided.
    async fn history(&self, state: &mut State, input: &Input) -> Result<History, AppError> {
        if !state.stored {
            return Ok(History::default());
        }
        let interrupted = self.taken(state).await?;
        if interrupted.waits_for_results() && !matches!(input, Input::Results(_)) {
            return Err(AppError::ResultsWanted(Box::new(interrupted)));
        }
        if interrupted.turn().is_some() {
            if interrupted.is_undecided() {
                return Err(AppError::Undecided(Box::new(interrupted)));
            }
            self.settled(state, &interrupted, None).await?;
        }
        let agent = self.prepared(state).await?;
        let journal = agent.project.record.durable()?;
        let history = read(&**journal, &self.inner.id).await?;
        if history.is_empty() {
            return Err(AppError::NoTurns(self.inner.id.clone()));
        }
        Ok(history)
    }
}

/// A turn is over: the conversation is free for the next one.
fn over(
    mut state: OwnedMutexGuard<State>,
    number: u64,
    provider: Option<Box<dyn toolgate_providers::Provider>>,
    inner: &Inner,
) {
    if let Some(agent) = &mut state.agent {
        agent.turns = number;
        if let Some(model) = &mut agent.model {
            model.provider = provider;
        }
        state.stored |= agent.project.record.durable().is_ok();
    }
    *locked(&inner.cancel) = None;
    drop(state);
    inner.signals.journaled();
}

/// The sink of a turn, and its end for the caller. Subscribers follow the session.
fn listen(listen: Listen) -> (EventSink, Option<mpsc::Receiver<Event>>) {
    match listen {
        Listen::Subscribers => (EventSink::none(), None),
        Listen::Caller => {
            let (events, arriving) = EventSink::channel(EVENTS);
            (events, Some(arriving))
        }
    }
}

async fn read(journal: &dyn FullJournal, id: &ConversationId) -> Result<History, JournalError> {
    let mut history = History::default();
    let reader: &dyn ReadJournal = journal;
    let each = |line: Line| {
        let record = match line.body {
            Body::Kept(record) => Some(*record),
            Body::Pruned | Body::Unreadable(_) => None,
        };
        history.take(&line.kind, record);
        true
    };
    reader.each(Filter::of(id), each).await?;
    Ok(history)
}

/// What the turn begins with. Results of the user complete the history's last answer.
fn prompt(input: Input, history: &mut History) -> Result<Prompt, AppError> {
    let (text, carried) = match input {
        Input::Results(results) => {
            let results = supplied::checked(results, history)?;
            let results = history.supplied(results);
            return results
                .map(Prompt::Results)
                .map_err(AppError::ResultsMissing);
        }
        Input::Message { text, carried } => (text, carried),
    };
    history.close();
    if !text.trim().is_empty() {
        return Ok(match carried {
            None => Prompt::Message(text),
            Some(history) => Prompt::After {
                history,
                message: text,
            },
        });
    }
    // Nothing new to say, and something is still to be answered: the question is asked again.
    match history.messages.last() {
        Some(Message::User { .. } | Message::Tool { .. }) => Ok(Prompt::GoOn),
        _ => Err(AppError::EmptyPrompt),
    }
}
