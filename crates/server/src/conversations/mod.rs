//! The conversations that are open here, and who may use them.
//!
//! ```text
//! create(principal, NewConversation) ─▶ About on disk ─▶ Open ─▶ Conversation of the app
//! find(principal, id) ─▶ Open, from memory or from About and journal
//! ```

mod about;
mod answer;
mod open;
mod watched;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex as AsyncMutex;
use toolgate_app::{App, Approval, Asked, StartOptions, ToolsMode};
use toolgate_model::ConversationId;
use utoipa::ToSchema;

pub(crate) use open::Open;
pub(crate) use watched::{Watchers, Watching};

use crate::auth::{Principal, Subject};
use crate::options::ServerOptions;
use crate::problem::Problem;
use crate::scope::ScopeText;
use about::{About, Abouts};
use watched::Watched;

/// The most bytes of an id that a client chose.
const MAX_ID: usize = 128;

/// A conversation to begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConversation {
    /// Its id [default: a fresh one].
    #[serde(default)]
    pub(crate) conversation_id: Option<String>,
    /// The directory it is about [default: the server's].
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub(crate) workspace: Option<PathBuf>,
    /// Whether it is about no directory: its tools are off.
    #[serde(default)]
    pub(crate) without_workspace: bool,
    /// Who answers.
    #[serde(default)]
    pub(crate) provider: Option<String>,
    /// Which model.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// How the model works.
    #[serde(default)]
    pub(crate) preset: Option<String>,
    /// `supervised`, `guided` or `autonomous`.
    #[serde(default)]
    pub(crate) trust: Option<String>,
    /// Which tools are permitted.
    #[serde(default)]
    pub(crate) scope: Option<ScopeText>,
}

/// The conversations that are open here.
pub(crate) struct Conversations {
    app: App,
    abouts: Abouts,
    unwatched: Option<Duration>,
    workspaces: Vec<PathBuf>,
    most: usize,
    /// Who watches the questions of all conversations.
    pub(crate) everywhere: Watchers,
    open: Mutex<HashMap<ConversationId, Arc<Open>>>,
    /// Held while one is opened, so that none is opened twice.
    opening: AsyncMutex<()>,
}

impl Conversations {
    pub(crate) fn at(directory: PathBuf, app: &App, options: &ServerOptions) -> Self {
        Self {
            app: app.clone(),
            abouts: Abouts::at(directory),
            unwatched: options.unwatched,
            workspaces: options.workspaces.clone(),
            most: options.limits.conversations,
            everywhere: Watchers::default(),
            open: Mutex::default(),
            opening: AsyncMutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }

    /// How long a question waits while nobody watches, in milliseconds.
    pub(crate) fn unwatched_ms(&self) -> Option<u64> {
        let patience = self.unwatched?;
        Some(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX))
    }

    /// Begins a conversation. `token` is the scope of the caller's token.
    pub(crate) async fn create(
        &self,
        principal: &Principal,
        token: Option<ScopeText>,
        new: NewConversation,
        now_ms: u64,
    ) -> Result<Arc<Open>, Problem> {
        if !principal.may_begin() {
            return Err(Problem::forbidden(
                "this token does not begin conversations",
            ));
        }
        let id = match &new.conversation_id {
            Some(id) => checked_id(id)?,
            None => self.app.fresh_id("serve")?,
        };
        let workspace = match (new.without_workspace, &new.workspace) {
            (true, Some(_)) => {
                return Err(Problem::bad(
                    "send workspace or without_workspace, not both",
                ));
            }
            (true, None) => None,
            (false, named) => Some(self.workspace(principal, named.as_deref())?),
        };
        let about = About {
            id: id.as_str().to_owned(),
            owner: Some(principal.owner_id().to_owned()),
            workspace,
            provider: new.provider,
            model: new.model,
            preset: new.preset,
            trust: new.trust,
            scopes: token.into_iter().chain(new.scope).collect(),
            created_ms: now_ms,
            requests: Vec::new(),
        };
        let _opening = self.opening.lock().await;
        if self.open().contains_key(&id)
            || self.abouts.read(&id)?.is_some()
            || self.is_journaled(&id).await?
        {
            return Err(Problem::conflict(
                "already_exists",
                format!(
                    "there is a conversation {:?}; choose another id",
                    id.as_str()
                ),
            ));
        }
        let own = |open: &&Arc<Open>| open.subject().owner == Some(principal.owner_id());
        if self.open().values().filter(own).count() >= self.most {
            return Err(Problem::too_many(format!(
                "{} conversations of this token are open; end some first",
                self.most
            )));
        }
        let open = self.start(about.clone(), true).await?;
        self.abouts.write(&about)?;
        Ok(open)
    }

    /// The directory of a new conversation.
    fn workspace(&self, principal: &Principal, named: Option<&Path>) -> Result<PathBuf, Problem> {
        let refused = || {
            Problem::forbidden(
                "conversations about this directory are not permitted here; see workspaces in [server]",
            )
        };
        let Some(named) = named else {
            let own = self.workspaces.iter().find(|own| principal.may_use(own));
            return own.cloned().ok_or_else(refused);
        };
        // Whether a directory exists is nobody's to learn who may not use it.
        let found = named.canonicalize().map_err(|_| refused())?;
        let is_served = self.workspaces.iter().any(|own| found.starts_with(own));
        if is_served && found.is_dir() && principal.may_use(&found) {
            Ok(found)
        } else {
            Err(refused())
        }
    }

    /// A conversation that the principal may see.
    pub(crate) async fn find(&self, principal: &Principal, id: &str) -> Result<Arc<Open>, Problem> {
        let open = self.any(id).await?;
        if !principal.may_read(open.subject()) {
            return Err(Problem::no_conversation(id));
        }
        open.touch();
        Ok(open)
    }

    /// A conversation in which the principal may send.
    pub(crate) async fn find_to_write(
        &self,
        principal: &Principal,
        id: &str,
    ) -> Result<Arc<Open>, Problem> {
        let open = self.find(principal, id).await?;
        if principal.may_write(open.subject()) {
            Ok(open)
        } else {
            Err(Problem::forbidden(
                "this token may not do that in this conversation",
            ))
        }
    }

    /// A conversation, whoever asks.
    pub(crate) async fn any(&self, id: &str) -> Result<Arc<Open>, Problem> {
        let known = checked_id(id).map_err(|_| Problem::no_conversation(id))?;
        if let Some(open) = self.open().get(&known) {
            return Ok(Arc::clone(open));
        }
        let _opening = self.opening.lock().await;
        if let Some(open) = self.open().get(&known) {
            return Ok(Arc::clone(open));
        }
        let is_journaled = self.is_journaled(&known).await?;
        let about = match self.abouts.read(&known)? {
            Some(about) => about,
            None if is_journaled => self.elsewhere(&known).await?,
            None => return Err(Problem::no_conversation(id)),
        };
        self.start(about, !is_journaled).await
    }

    /// What is known of a conversation that was not begun here.
    async fn elsewhere(&self, id: &ConversationId) -> Result<About, Problem> {
        let all = self.app.conversations().await?;
        let found = all.into_iter().find(|one| one.id == *id);
        Ok(About {
            id: id.as_str().to_owned(),
            workspace: found.and_then(|one| one.workspace).map(PathBuf::from),
            ..About::default()
        })
    }

    async fn is_journaled(&self, id: &ConversationId) -> Result<bool, Problem> {
        if !self.app.journal_file().exists() {
            return Ok(false);
        }
        Ok(self.app.is_on_record(id).await?)
    }

    /// Opens a conversation with what is known of it.
    async fn start(&self, about: About, is_new: bool) -> Result<Arc<Open>, Problem> {
        let watchers = Watchers::default();
        let options = self.start_options(&about, &watchers)?;
        let id: ConversationId = about.id.as_str().into();
        let app = self.app.clone();
        let conversation = if is_new {
            let started = tokio::task::spawn_blocking(move || app.start(options)).await;
            started.map_err(|error| Problem::internal(error.to_string()))??
        } else {
            let conversation = app.conversation(&id).await?;
            conversation.configure(options).await?;
            conversation
        };
        let open = Open::new(conversation, about, self.abouts.clone(), watchers);
        let open = Arc::new(open);
        self.open().insert(id, Arc::clone(&open));
        Ok(open)
    }

    fn start_options(&self, about: &About, watchers: &Watchers) -> Result<StartOptions, Problem> {
        let approver = Watched {
            app: self.app.clone(),
            here: watchers.clone(),
            everywhere: self.everywhere.clone(),
            patience: self.unwatched,
        };
        let is_off = about.workspace.is_none();
        Ok(StartOptions {
            id: Some(about.id.as_str().into()),
            asked: Asked {
                provider: about.provider.clone(),
                model: about.model.clone(),
                base_url: None,
            },
            preset: about.preset.clone(),
            workspace: about.workspace.clone(),
            mode: is_off.then_some(ToolsMode::Disabled),
            approval: Some(Approval::Ask(Arc::new(approver))),
            trust: about.trust.clone(),
            scopes: about.scopes()?,
            approver_expires: true,
            ..StartOptions::default()
        })
    }

    /// What permissions look at, of a conversation that need not be open.
    pub(crate) fn may_read(
        &self,
        principal: &Principal,
        id: &ConversationId,
        workspace: Option<&Path>,
    ) -> bool {
        if principal.is_operator() {
            return true;
        }
        // A file that cannot be read hides the conversation.
        let Ok(about) = self.abouts.read(id) else {
            return false;
        };
        principal.may_read(Subject {
            owner: about.as_ref().and_then(|about| about.owner.as_deref()),
            workspace,
        })
    }

    /// Forgets a conversation of which the journal has nothing.
    pub(crate) async fn delete(&self, principal: &Principal, id: &str) -> Result<(), Problem> {
        let open = self.find_to_write(principal, id).await?;
        let _opening = self.opening.lock().await;
        if self.is_journaled(&open.id).await? || open.conversation.is_busy() {
            return Err(Problem::conflict(
                "journaled",
                "the journal is the record of what happened, and keeps it; `toolgate journal prune` removes old contents",
            ));
        }
        self.abouts.remove(&open.id)?;
        self.open().remove(&open.id);
        open.conversation.end().await;
        Ok(())
    }

    /// Ends conversations that nobody used for so long. They are opened again when needed.
    pub(crate) async fn end_idle(&self, after: Duration) {
        let _opening = self.opening.lock().await;
        let now = Instant::now();
        let is_idle = |open: &Arc<Open>| {
            let since = open.idle_since();
            since.is_some_and(|since| now.saturating_duration_since(since) >= after)
        };
        let idle: Vec<Arc<Open>> = {
            let mut all = self.open();
            let idle = all.values().filter(|open| is_idle(open)).cloned().collect();
            all.retain(|_, open| !is_idle(open));
            idle
        };
        for open in idle {
            open.conversation.end().await;
        }
    }

    /// Cancels every turn, and waits until each is settled.
    pub(crate) async fn close(&self) {
        let all: Vec<Arc<Open>> = self.open().values().cloned().collect();
        for open in &all {
            open.conversation.cancel();
        }
        futures::future::join_all(all.iter().map(|open| open.conversation.end())).await;
    }
}

/// An id that is safe in addresses, file names and terminals.
fn checked_id(id: &str) -> Result<ConversationId, Problem> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let is_name = !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(is_safe);
    if is_name && !id.starts_with('.') {
        Ok(id.into())
    } else {
        Err(Problem::bad(
            "a conversation_id has 1 to 128 letters, digits, -, _, : or ., and does not begin with .",
        ))
    }
}
