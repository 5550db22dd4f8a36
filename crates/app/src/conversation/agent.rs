//! Everything that the turns of a conversation need: project, session, model and provider.

use std::path::Path;
use std::sync::Arc;

use toolgate_config::Effective;
use toolgate_config::settings::Preset;
use toolgate_engine::{CODER, TurnSettings};
use toolgate_gate::journal::Instructions;
use toolgate_gate::session::Session;
use toolgate_model::ConversationId;
use toolgate_providers::Provider;
use toolgate_providers::provider::Recorded;
use toolgate_providers::replay::Script;

use super::events::Live;
use super::{Conversation, StartOptions, State};
use crate::app::{App, Working};
use crate::aside::aside;
use crate::asker::Asker;
use crate::configuration;
use crate::error::AppError;
use crate::instructions;
use crate::interrupted::{Choice, Interrupted, SettledCall};
use crate::last_turn::LastTurn;
use crate::options::AppOptions;
use crate::orphans::{self, Noted};
use crate::presets;
use crate::project::{Plan, Project, Purpose};
use crate::provider_source::Source;
use crate::recording::Recording;
use crate::stored::Stored;

/// A conversation that this process works on.
pub(super) struct Agent {
    pub(super) project: Arc<Project>,
    pub(super) session: Arc<Session>,
    /// Nothing where only a crash is looked at.
    pub(super) model: Option<Model>,
    pub(super) recording: Option<Recording>,
    /// How many turns it had in this process.
    pub(super) turns: u64,
    /// Held from the moment on in which it is journaled.
    working: Option<Working>,
    /// Names this process for the next one, should it be killed.
    pub(super) noted: Option<Arc<Noted>>,
}

/// The model that answers.
pub(super) struct Model {
    pub(super) asker: Asker,
    preset: Preset,
    preset_name: Option<String>,
    provider_name: Option<String>,
    /// What the project tells the model.
    instructions: Option<Box<Instructions>>,
    /// Gone after an error that may have left it with another history than the journal's.
    pub(super) provider: Option<Box<dyn Provider>>,
    /// Whether it knows what was said before.
    pub(super) is_told: bool,
}

impl Agent {
    /// An agent for a conversation that begins or goes on.
    pub(super) fn new(
        app: &App,
        id: &ConversationId,
        options: &StartOptions,
    ) -> Result<Self, AppError> {
        let recording = options.record.as_deref().map(Recording::to).transpose()?;
        let workspace = match &options.workspace {
            Some(workspace) => configuration::workspace(workspace)?,
            None => app.workspace().to_path_buf(),
        };
        let (config, preset) = with_preset(app.options(), options, &workspace)?;
        let preset_name = preset_name(&config, options).map(str::to_owned);
        let asker = Asker::choose(app.options(), &config, options, &preset)?;
        orphans::end(&app.options().home.runs(), app.options());
        let plan = Plan {
            purpose: Purpose::RunAll,
            workspace,
            config,
            asked_with: asker.asked_with(),
            scopes: options.scopes.clone(),
        };
        let project = Project::build(app, plan, |settings| {
            if options.approver_expires {
                settings.approval_timeout = None;
            }
        })?;
        let noted = app.note_run();
        let mut model = Model {
            asker,
            preset,
            preset_name,
            provider_name: options.provider_name.clone(),
            instructions: instructions::of(&project),
            provider: None,
            is_told: false,
        };
        model.make(&project, recording.as_ref())?;
        Ok(Self {
            session: Arc::new(project.session(id.clone())),
            project: Arc::new(project),
            model: Some(model),
            recording,
            turns: 0,
            working: None,
            noted,
        })
    }

    /// An agent that looks at a crash and asks no model.
    pub(super) fn for_recovery(app: &App, stored: &Stored) -> Result<Self, AppError> {
        stored.check_free()?;
        orphans::end(&app.options().home.runs(), app.options());
        stored.check_workspace(app)?;
        let workspace = stored.directory(app)?;
        let config = configuration::configuration(app.options(), &workspace)?;
        let plan = Plan {
            purpose: Purpose::Run(""),
            workspace,
            config,
            asked_with: Vec::new(),
            scopes: Vec::new(),
        };
        let project = Project::build(app, plan, |_| {})?;
        Ok(Self {
            session: Arc::new(project.session(stored.conversation.id.clone())),
            project: Arc::new(project),
            model: None,
            recording: None,
            turns: 0,
            working: None,
            noted: None,
        })
    }

    /// The session, for those who follow the conversation.
    pub(super) fn live(&self) -> Live {
        Live {
            gate: self.project.gate.clone(),
            session: Arc::downgrade(&self.session),
            journal: self.project.record.reading(),
        }
    }

    /// Whether anything of it is journaled.
    pub(super) const fn has_begun(&self) -> bool {
        self.working.is_some()
    }

    /// Begins a new conversation in the journal.
    pub(super) async fn begin(&mut self) {
        let project = Arc::clone(&self.project);
        project.mend().await;
        self.working = Some(project.app.work_on(self.session.id()).await);
        project
            .record
            .begin(&self.session, &project.workspace)
            .await;
    }

    /// Takes a conversation of the journal for this process. It is an error if another one
    /// works on it or if it has no turns.
    pub(super) async fn take(&mut self) -> Result<(), AppError> {
        if self.has_begun() {
            return Ok(());
        }
        let project = Arc::clone(&self.project);
        let journal = project.record.durable()?;
        if self.model.is_some() {
            // Before anything is journaled about it: a mistyped id leaves no trace.
            let known = journal.conversation(self.session.id()).await?;
            if known.is_none() {
                return Err(AppError::NoTurns(self.session.id().clone()));
            }
            project.mend().await;
        }
        let working = project.app.work_on(self.session.id()).await;
        if self.model.is_some() {
            let record = &project.record;
            record.go_on(&self.session, &project.workspace).await?;
        } else {
            journal.begin(self.session.id(), None).await?;
        }
        self.working = Some(working);
        Ok(())
    }

    /// Ends the session and gives the lease back.
    pub(super) async fn end(&mut self) {
        if self.model.is_some() {
            return self.project.end(&self.session).await;
        }
        if let (true, Ok(journal)) = (self.has_begun(), self.project.record.durable())
            && let Err(error) = journal.release(self.session.id()).await
        {
            self.project.app.options().notice(error.message);
        }
    }

    /// The settings of the next turn.
    pub(super) fn settings(&self, model: &Model) -> TurnSettings {
        let settings = model.asker.settings(&self.project.config);
        TurnSettings {
            preset: model.preset_name.clone(),
            instructions: model.instructions.clone(),
            provider: model
                .provider_name
                .clone()
                .unwrap_or_else(|| settings.provider.clone()),
            ..settings
        }
    }
}

impl Model {
    /// Makes the provider, unless there is one.
    pub(super) fn make(
        &mut self,
        project: &Project,
        recording: Option<&Recording>,
    ) -> Result<(), AppError> {
        if self.provider.is_some() {
            return Ok(());
        }
        let mut provider =
            self.asker
                .provider(project, &self.preset, self.instructions.as_deref())?;
        if let Some(recording) = recording {
            let keep = recording.clone();
            let model = Some(self.asker.model.clone());
            provider = Box::new(Recorded::new(provider, model, move |script: &Script| {
                keep.write(script);
            }));
        }
        self.provider = Some(provider);
        self.is_told = false;
        Ok(())
    }
}

/// The name of the preset, where one is named.
fn preset_name<'a>(config: &'a Effective, start: &'a StartOptions) -> Option<&'a str> {
    let by_default = config.settings().defaults.preset.as_deref();
    start.preset.as_deref().or(by_default)
}

/// The preset, and the configuration with what the preset says where the options say nothing.
fn with_preset(
    options: &AppOptions,
    start: &StartOptions,
    workspace: &Path,
) -> Result<(Effective, Preset), AppError> {
    let mut with = options.clone();
    with.tools_mode = start.mode.or(with.tools_mode);
    with.trust = start.trust.clone().or(with.trust);
    let config = configuration::configuration(&with, workspace)?;
    let preset = presets::named(&config, preset_name(&config, start).unwrap_or(CODER))?;
    let trust = preset.trust.map(|trust| trust.as_str().to_owned());
    let before = (with.trust.clone(), with.profile.clone());
    with.trust = with.trust.or(trust);
    with.profile = with.profile.or_else(|| preset.profile.clone());
    let config = if before == (with.trust.clone(), with.profile.clone()) {
        config
    } else {
        configuration::configuration(&with, workspace)?
    };
    Ok((config, preset))
}

/// The options of a conversation that goes on: what they leave out is as in its last turn.
async fn gone_on(
    app: &App,
    stored: &Stored,
    options: &StartOptions,
) -> Result<StartOptions, AppError> {
    stored.check_workspace(app)?;
    let mut options = options.clone();
    options.workspace = Some(stored.directory(app)?);
    let Some(last) = LastTurn::of(&*stored.reader, &stored.conversation.id).await? else {
        return Ok(options);
    };
    let workspace = options.workspace.as_deref().unwrap_or(app.workspace());
    let config = configuration::configuration(app.options(), workspace)?;
    if options.script.is_none() && options.asked.provider.is_none() {
        options.asked.provider =
            Some(last.provider.clone()).filter(|name| Source::is_known(&config, name));
    }
    if options.preset.is_none() {
        options.preset = last.preset;
        if options.asked.model.is_none() && options.asked.provider == Some(last.provider) {
            options.asked.model = Some(last.model);
        }
    }
    Ok(options)
}

impl Conversation {
    /// The agent with its model, made if there is none.
    pub(super) async fn prepared<'a>(
        &self,
        state: &'a mut State,
    ) -> Result<&'a mut Agent, AppError> {
        let has_model = state
            .agent
            .as_ref()
            .is_some_and(|agent| agent.model.is_some());
        if !has_model {
            self.end_agent(state).await;
            let (app, id) = (&self.inner.app, &self.inner.id);
            let options = match state.stored {
                true => {
                    let stored = Stored::find(app, id).await?;
                    gone_on(app, &stored, &state.options).await?
                }
                false => state.options.clone(),
            };
            let (app, id) = (app.clone(), id.clone());
            let agent = aside(move || Agent::new(&app, &id, &options)).await?;
            self.inner.signals.begin(agent.live());
            state.agent = Some(agent);
        }
        let agent = state.agent.as_mut();
        agent.ok_or_else(|| AppError::internal("there is no agent"))
    }

    /// Takes the conversation and looks at what a crash left of it.
    pub(super) async fn taken(&self, state: &mut State) -> Result<Interrupted, AppError> {
        let app = &self.inner.app;
        if state.agent.is_none() {
            let stored = Stored::find(app, &self.inner.id).await?;
            let app = app.clone();
            let agent = aside(move || Agent::for_recovery(&app, &stored)).await?;
            self.inner.signals.begin(agent.live());
            state.agent = Some(agent);
        }
        let agent = state.agent.as_mut();
        let agent = agent.ok_or_else(|| AppError::internal("there is no agent"))?;
        agent.take().await?;
        let journal = agent.project.record.durable()?;
        let clock = &*app.options().clock;
        Ok(Interrupted::look(&**journal, &self.inner.id, clock).await?)
    }

    /// Settles what a crash left. A conversation that was taken for this alone is given back.
    pub(super) async fn settled(
        &self,
        state: &mut State,
        interrupted: &Interrupted,
        choice: Option<Choice>,
    ) -> Result<Vec<SettledCall>, AppError> {
        if state.agent.is_none() {
            self.taken(state).await?;
        }
        let agent = state.agent.as_mut();
        let agent = agent.ok_or_else(|| AppError::internal("there is no agent"))?;
        agent.take().await?;
        let journal = agent.project.record.durable()?;
        let sandbox = agent.project.gate.sandbox();
        let clock = &*self.inner.app.options().clock;
        let settled = interrupted
            .settle(&**journal, sandbox, choice, clock)
            .await?;
        match &mut agent.model {
            // The model is told from the journal what became of its calls.
            Some(model) => model.provider = None,
            None => self.end_agent(state).await,
        }
        self.inner.signals.journaled();
        Ok(settled)
    }
}
