//! The app: what every face stands on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;
use toolgate_config::Effective;
use toolgate_gate::approve::{ApproveAll, Approver};
use toolgate_gate::journal::{ConversationFilter, VerifyJournal};
use toolgate_gate::{Entropy, SystemEntropy};
use toolgate_journal::SqliteReader;
use toolgate_model::ConversationId;

use crate::approvals::Approvals;
use crate::configuration;
use crate::conversation::{Conversation, Inner};
use crate::error::AppError;
use crate::home::Home;
use crate::options::{AppOptions, Approval};
use crate::orphans::{self, Noted};
use crate::project::{Plan, Project, Purpose};
use crate::record::{self, Record};
use crate::stored::Stored;

/// Configuration, journal and conversations of one user on one machine. Clones are the same app.
#[derive(Clone)]
pub struct App {
    shared: Arc<Shared>,
}

struct Shared {
    options: AppOptions,
    workspace: PathBuf,
    config: Effective,
    journal: PathBuf,
    /// The journal once something is written. One that cannot be opened is tried again.
    record: Mutex<Option<Arc<Record>>>,
    approvals: Arc<Approvals>,
    /// The conversations that have a handle.
    live: Mutex<HashMap<ConversationId, Weak<Inner>>>,
    /// The conversations that this process journals, and how often.
    working: Mutex<HashMap<ConversationId, usize>>,
    /// Held while interrupted changes of files are brought to an end.
    mending: AsyncMutex<()>,
    /// Names this process for the next one, while it runs turns.
    noted: Mutex<Weak<Noted>>,
}

/// A conversation that this process journals, until this is dropped. Its unfinished calls run:
/// no crash left them.
pub(crate) struct Working {
    app: App,
    id: ConversationId,
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut working = locked(&self.app.shared.working);
        if let Entry::Occupied(mut count) = working.entry(self.id.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("workspace", &self.shared.workspace)
            .field("journal", &self.shared.journal)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Finds the workspace and reads the configuration. Nothing is started or written.
    pub fn open(options: AppOptions) -> Result<Self, AppError> {
        let workspace = configuration::workspace(&options.workspace)?;
        let config = configuration::configuration(&options, &workspace)?;
        let journal = record::path(&options, &config);
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                workspace,
                config,
                journal,
                record: Mutex::default(),
                approvals: Arc::new(Approvals::new()),
                live: Mutex::default(),
                working: Mutex::default(),
                mending: AsyncMutex::default(),
                noted: Mutex::default(),
            }),
        })
    }

    /// The directory that tools may use, with links resolved.
    pub fn workspace(&self) -> &Path {
        &self.shared.workspace
    }

    /// The configuration of that workspace.
    pub fn config(&self) -> &Effective {
        &self.shared.config
    }

    /// The journal's file.
    pub fn journal_file(&self) -> &Path {
        &self.shared.journal
    }

    /// The time, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.shared.options.clock.now_ms()
    }

    /// Where Toolgate keeps its own files.
    pub fn home(&self) -> &Home {
        &self.shared.options.home
    }

    pub(crate) fn options(&self) -> &AppOptions {
        &self.shared.options
    }

    /// The questions that wait for an answer, of all conversations.
    pub fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    /// The workspace with its gate and tools, for calls outside of a conversation with a model.
    pub fn project(&self, purpose: Purpose<'_>) -> Result<Project, AppError> {
        self.project_with(purpose, false)
    }

    /// The same for a batch of as many calls as there are.
    pub fn unlimited_project(&self, purpose: Purpose<'_>) -> Result<Project, AppError> {
        self.project_with(purpose, true)
    }

    fn project_with(&self, purpose: Purpose<'_>, unlimited: bool) -> Result<Project, AppError> {
        let plan = Plan {
            purpose,
            workspace: self.shared.workspace.clone(),
            config: self.shared.config.clone(),
            asked_with: Vec::new(),
            scopes: Vec::new(),
        };
        Project::build(self, plan, |settings| {
            if unlimited {
                settings.limits.max_calls = usize::MAX;
            }
        })
    }

    /// The conversations in the journal, the one that began first first.
    pub async fn conversations(
        &self,
    ) -> Result<Vec<toolgate_gate::journal::Conversation>, AppError> {
        let reader = self.reader()?;
        let all = reader.conversations(ConversationFilter::default()).await?;
        Ok(all)
    }

    /// Whether the journal has a conversation of this name.
    pub async fn is_on_record(&self, id: &ConversationId) -> Result<bool, AppError> {
        let found = self.reader()?.conversation(id).await?;
        Ok(found.is_some())
    }

    /// A handle to a conversation that is in the journal. The same conversation has the same
    /// handle as long as one is in use.
    pub async fn conversation(&self, id: &ConversationId) -> Result<Conversation, AppError> {
        if let Some(live) = self.live(id) {
            return Ok(live);
        }
        let stored = Stored::find(self, id).await?;
        stored.check_workspace(self)?;
        Ok(self.adopt(Conversation::stored(self, &stored)))
    }

    /// The conversation of this name, if this process has a handle to it.
    pub fn live(&self, id: &ConversationId) -> Option<Conversation> {
        let live = locked(&self.shared.live);
        let found = live.get(id).and_then(Weak::upgrade);
        found.map(Conversation::of)
    }

    /// Adds a conversation to those of this process, unless it is there already.
    pub(crate) fn adopt(&self, conversation: Conversation) -> Conversation {
        let mut live = locked(&self.shared.live);
        live.retain(|_, inner| inner.strong_count() > 0);
        if let Some(there) = live.get(conversation.id()).and_then(Weak::upgrade) {
            return Conversation::of(there);
        }
        live.insert(conversation.id().clone(), conversation.downgrade());
        conversation
    }

    /// Cancels and ends every conversation that this process works on.
    pub async fn close(&self) {
        let live: Vec<Arc<Inner>> = {
            let live = locked(&self.shared.live);
            live.values().filter_map(Weak::upgrade).collect()
        };
        for inner in live {
            let conversation = Conversation::of(inner);
            conversation.cancel();
            conversation.end().await;
        }
    }

    /// An id that no conversation has.
    pub fn fresh_id(&self, kind: &str) -> Result<ConversationId, AppError> {
        let bits = SystemEntropy
            .bits()
            .ok_or_else(|| AppError::internal("the system has no randomness"))?;
        Ok(format!("{kind}_{bits:032x}").into())
    }

    /// The journal, for reading only: no file is made, and none is changed.
    pub(crate) fn reader(&self) -> Result<Arc<dyn VerifyJournal>, AppError> {
        Ok(Arc::new(SqliteReader::open(&self.shared.journal)?))
    }

    /// The journal, for writing.
    pub(crate) fn record(&self, config: &Effective) -> Arc<Record> {
        let mut record = locked(&self.shared.record);
        if let Some(record) = &*record {
            return Arc::clone(record);
        }
        let opened = Arc::new(Record::open(&self.shared.journal, config));
        if opened.durable().is_ok() {
            *record = Some(Arc::clone(&opened));
        }
        opened
    }

    /// Notes that this process journals a conversation.
    pub(crate) async fn work_on(&self, id: &ConversationId) -> Working {
        let _no_mending = self.shared.mending.lock().await;
        let mut working = locked(&self.shared.working);
        *working.entry(id.clone()).or_default() += 1;
        Working {
            app: self.clone(),
            id: id.clone(),
        }
    }

    /// Whether this process journals a conversation. Only to be asked while mending.
    pub(crate) fn works_on(&self, id: &ConversationId) -> bool {
        locked(&self.shared.working).contains_key(id)
    }

    /// Held while interrupted changes of files are brought to an end.
    pub(crate) fn mending(&self) -> &AsyncMutex<()> {
        &self.shared.mending
    }

    /// Names this process, with what it starts, for one that is started after it was killed.
    pub(crate) fn note_run(&self) -> Option<Arc<Noted>> {
        let mut noted = locked(&self.shared.noted);
        if let Some(there) = noted.upgrade() {
            return Some(there);
        }
        let new = Arc::new(orphans::note(&self.shared.options.home.runs())?);
        *noted = Arc::downgrade(&new);
        Some(new)
    }

    /// Who approves calls under this policy.
    pub(crate) fn approver(&self, approval: &Approval) -> Option<Arc<dyn Approver>> {
        match approval {
            Approval::Nobody => None,
            Approval::Everything => Some(Arc::new(ApproveAll)),
            Approval::Pending => Some(Arc::clone(&self.shared.approvals) as Arc<dyn Approver>),
            Approval::Ask(approver) => Some(Arc::clone(approver)),
        }
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
