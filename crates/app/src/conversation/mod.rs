//! A conversation with a model: its turns, approvals, events, recovery and end.
//!
//! ```text
//! App::start ──────┐
//! App::conversation┴▶ Conversation ── send ──▶ Turn ──▶ Finished
//!                        │  interrupted, resume: after a crash
//!                        │  approvals, answer, cancel: while a turn runs
//!                        │  subscribe: journaled events, then live ones
//!                        └─ undo, export, end
//! ```
//!
//! A conversation has one handle per app: clones and later lookups are the same conversation.
//! One turn runs at a time. A turn goes on when its [`Turn`] is dropped; [`Conversation::cancel`]
//! stops it.
//!
//! ```
//! use toolgate_app::{Input, ScriptText, StartOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! # let script = ScriptText { path: "s".into(), text: b"[[steps]]\ntext = \"Nothing.\"\n".to_vec() };
//! let conversation = app.start(StartOptions {
//!     script: Some(script),
//!     ..StartOptions::default()
//! })?;
//! let turn = conversation.send(Input::message("What is in this directory?")).await?;
//! let finished = turn.outcome().await?;
//! assert_eq!(finished.text, "Nothing.");
//! conversation.end().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod events;
mod held;
mod send;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use toolgate_gate::approve::{Answer, ApprovalRequest};
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_model::{ApprovalId, CallId, ConversationId};
use toolgate_policy::Scope;
use toolgate_providers::Usage;

pub use events::Subscription;
pub use send::{Input, Listen, SendOptions, Turn};

use crate::app::{App, locked};
use crate::error::AppError;
use crate::export::{self, ExportFormat};
use crate::interrupted::{Choice, Interrupted, SettledCall};
use crate::last_turn::LastTurn;
use crate::options::Approval;
use crate::provider_source::Asked;
use crate::stored::Stored;
use crate::undo::{self, Undo};
use agent::Agent;
use events::Signals;

/// A script that plays the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// Its file, for messages.
    pub path: PathBuf,
    /// Its text, TOML.
    pub text: Vec<u8>,
}

/// How a conversation is held. What is left out comes from the configuration, and in a
/// conversation that goes on from its last turn.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// The id [default: a fresh one].
    pub id: Option<ConversationId>,
    /// Provider, model and address.
    pub asked: Asked,
    /// A script that plays the model instead of a provider.
    pub script: Option<ScriptText>,
    /// The name of the provider in events and journal [default: its own].
    pub provider_name: Option<String>,
    /// The preset.
    pub preset: Option<String>,
    /// The directory that tools may use [default: the app's].
    pub workspace: Option<PathBuf>,
    /// Whether tools run, are left to the user, or are off [default: as configured].
    pub mode: Option<ToolsMode>,
    /// Who approves calls [default: as the app's options say].
    pub approval: Option<Approval>,
    /// A new file that records what the model says.
    pub record: Option<PathBuf>,
    /// The trust level [default: as the app's options, the preset or the configuration say].
    pub trust: Option<String>,
    /// What the caller permits, each of which only narrows: the tools that a model is offered,
    /// their paths and their time.
    pub scopes: Vec<Scope>,
    /// Whether the approver says when a question expires, in place of the configured time.
    pub approver_expires: bool,
}

/// A handle to a conversation. Clones are the same conversation.
#[derive(Clone)]
pub struct Conversation {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) app: App,
    id: ConversationId,
    state: Arc<AsyncMutex<State>>,
    /// Stops the turn that runs.
    cancel: Mutex<Option<CancellationToken>>,
    signals: Signals,
}

/// The state that one turn, one resume or one end has at a time.
#[derive(Default)]
pub(crate) struct State {
    options: StartOptions,
    /// Whether the journal has the conversation.
    stored: bool,
    agent: Option<Agent>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("id", &self.inner.id)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Prepares a new conversation: provider, model, preset, workspace and tools are in order when
    /// this returns. Nothing is journaled before the first turn. It reads files and starts the
    /// command sandbox, so it is to be called on a thread that may wait.
    pub fn start(&self, options: StartOptions) -> Result<Conversation, AppError> {
        let id = match &options.id {
            Some(id) => id.clone(),
            None => self.fresh_id("run")?,
        };
        let mut state = State {
            options,
            ..State::default()
        };
        state.agent = Some(Agent::new(self, &id, &state.options)?);
        let conversation = Conversation::with(self, id, state);
        Ok(self.adopt(conversation))
    }

    /// A conversation of the journal as a page, without secrets of the environment.
    pub async fn export(
        &self,
        id: &ConversationId,
        format: ExportFormat,
    ) -> Result<String, AppError> {
        export::of(self, id, format).await
    }

    /// Plans the undo of what a conversation did to files.
    pub async fn undo(&self, id: &ConversationId, scope: &undo::Scope) -> Result<Undo, AppError> {
        let stored = Stored::find(self, id).await?;
        undo::plan(self, &stored, scope).await
    }
}

impl Conversation {
    fn with(app: &App, id: ConversationId, state: State) -> Self {
        let signals = Signals::new();
        if let Some(agent) = &state.agent {
            signals.begin(agent.live());
        }
        Self::of(Arc::new(Inner {
            app: app.clone(),
            id,
            state: Arc::new(AsyncMutex::new(state)),
            cancel: Mutex::default(),
            signals,
        }))
    }

    pub(crate) fn stored(app: &App, stored: &Stored) -> Self {
        let state = State {
            stored: true,
            ..State::default()
        };
        Self::with(app, stored.conversation.id.clone(), state)
    }

    pub(crate) const fn of(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.inner)
    }

    /// Its id.
    pub fn id(&self) -> &ConversationId {
        &self.inner.id
    }

    /// The state, if no turn runs.
    fn idle(&self) -> Result<OwnedMutexGuard<State>, AppError> {
        let state = Arc::clone(&self.inner.state).try_lock_owned();
        state.map_err(|_| AppError::Busy(self.inner.id.clone()))
    }

    /// Whether a turn runs.
    pub fn is_busy(&self) -> bool {
        self.inner.state.try_lock().is_err()
    }

    /// Changes how the next turns are held. Ends the session with its background commands.
    pub async fn configure(&self, options: StartOptions) -> Result<(), AppError> {
        let mut state = self.idle()?;
        self.end_agent(&mut state).await;
        state.options = options;
        Ok(())
    }

    /// Puts everything in order that a turn needs, so that an error of the configuration shows
    /// before the user writes a prompt. [`Self::send`] does this too.
    pub async fn prepare(&self) -> Result<(), AppError> {
        let mut state = self.idle()?;
        self.prepared(&mut state).await.map(drop)
    }

    /// The state that a crash left, after taking the conversation for this process. To be asked
    /// before the first turn of a conversation that goes on.
    pub async fn interrupted(&self) -> Result<Interrupted, AppError> {
        let mut state = self.idle()?;
        self.taken(&mut state).await
    }

    /// Gives every interrupted call its one result and the turn its end. Nothing runs again.
    /// Without a choice, what there is is kept.
    pub async fn resume(
        &self,
        interrupted: &Interrupted,
        choice: Option<Choice>,
    ) -> Result<Vec<SettledCall>, AppError> {
        let mut state = self.idle()?;
        self.settled(&mut state, interrupted, choice).await
    }

    /// Stops the turn that runs. Its calls get results that say so.
    pub fn cancel(&self) {
        if let Some(cancel) = &*locked(&self.inner.cancel) {
            cancel.cancel();
        }
    }

    /// Stops a call that runs, and no other: the turn goes on with a result that says so. Whether
    /// it ran.
    pub fn stop_call(&self, call: &CallId) -> bool {
        let session = self.inner.signals.session();
        session.is_some_and(|session| session.stop_call(call))
    }

    /// Its questions that wait for an answer.
    pub fn approvals(&self) -> Vec<ApprovalRequest> {
        self.inner.app.approvals().of(&self.inner.id)
    }

    /// Answers one of its questions.
    pub fn answer(&self, id: ApprovalId, answer: Answer) -> Result<(), AppError> {
        self.inner
            .app
            .approvals()
            .answer(&self.inner.id, id, answer)
    }

    /// Its events after this journal entry (0: from the beginning): those of the journal, then
    /// those that happen, without a gap or a repetition.
    pub async fn subscribe(&self, after: u64) -> Result<Subscription, AppError> {
        Subscription::new(&self.inner.app, &self.inner.id, &self.inner.signals, after)
    }

    /// The number of its last journal entry; 0 before the first.
    pub async fn last_seq(&self) -> Result<u64, AppError> {
        if !self.inner.app.journal_file().exists() {
            return Ok(0);
        }
        let reader = self.inner.app.reader()?;
        let found = reader.conversation(&self.inner.id).await?;
        Ok(found.map_or(0, |found| found.entries))
    }

    /// The number of its last turn in the journal; 0 before the first.
    pub async fn turns(&self) -> Result<u64, AppError> {
        if !self.inner.app.journal_file().exists() {
            return Ok(0);
        }
        let reader = self.inner.app.reader()?;
        LastTurn::number(&*reader, &self.inner.id).await
    }

    /// Plans the undo of what it did to files.
    pub async fn undo(&self, scope: &undo::Scope) -> Result<Undo, AppError> {
        let _idle = self.idle()?;
        self.inner.app.undo(&self.inner.id, scope).await
    }

    /// The conversation as a page.
    pub async fn export(&self, format: ExportFormat) -> Result<String, AppError> {
        self.inner.app.export(&self.inner.id, format).await
    }

    /// What a turn with this usage cost, in millionths of a dollar, where prices are configured for
    /// its provider.
    pub async fn cost(&self, usage: &Usage) -> Option<u64> {
        let state = self.inner.state.lock().await;
        state.agent.as_ref()?.model.as_ref()?.asker.cost(usage)
    }

    /// How many tokens the model's context holds, where that is known, once it is prepared.
    pub async fn context_tokens(&self) -> Option<u64> {
        let state = self.inner.state.lock().await;
        let model = state.agent.as_ref()?.model.as_ref()?;
        model.asker.context_tokens()
    }

    /// The trust level in force, once it is prepared.
    pub async fn trust(&self) -> Option<&'static str> {
        let state = self.inner.state.lock().await;
        let config = &state.agent.as_ref()?.project.config;
        Some(config.rules().settings.trust.as_str())
    }

    /// Whether its turns are journaled: else it cannot be resumed.
    pub async fn is_journaled(&self) -> bool {
        let state = self.inner.state.lock().await;
        let agent = state.agent.as_ref();
        agent.is_some_and(|agent| agent.project.record.durable().is_ok())
    }

    /// The directory that its tools may use, once it is prepared.
    pub async fn workspace(&self) -> Option<PathBuf> {
        let state = self.inner.state.lock().await;
        let agent = state.agent.as_ref();
        agent.map(|agent| Path::to_path_buf(&agent.project.workspace))
    }

    /// Why what the model says could not be recorded, if so.
    pub async fn recording_error(&self) -> Option<String> {
        let state = self.inner.state.lock().await;
        let recording = state.agent.as_ref()?.recording.as_ref()?;
        recording.trouble()
    }

    /// Whether commands run in a sandbox here, once it is prepared.
    pub async fn has_command_sandbox(&self) -> bool {
        let state = self.inner.state.lock().await;
        let agent = state.agent.as_ref();
        agent.is_some_and(|agent| agent.project.has_command_sandbox())
    }

    /// Waits for its turn, ends its background commands, stores what it has read, and gives its
    /// lease back. It can be resumed afterwards, also by another process.
    pub async fn end(&self) {
        let mut state = self.inner.state.lock().await;
        self.end_agent(&mut state).await;
        self.inner.signals.end();
    }

    /// Ends the session, or gives back a conversation that was only looked at.
    async fn end_agent(&self, state: &mut State) {
        if let Some(mut agent) = state.agent.take() {
            agent.end().await;
            state.stored |= agent.has_begun();
        }
    }
}
