//! The record of this run: the journal's file, and what a conversation has read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use toolgate_config::Effective;
use toolgate_gate::journal::{
    Batch, Class, Entry, FullJournal, Image, Journal, JournalError, ReadJournal,
};
use toolgate_gate::output::approval_text;
use toolgate_gate::session::{ReadLog, Session};
use toolgate_gate::store::{Space, Store};
use toolgate_journal::{MemoryJournal, MemoryStore, Options, SqliteError, SqliteJournal};
use toolgate_sandbox::paths::PathSandbox;

use crate::app::App;
use crate::error::AppError;
use crate::lasting;
use crate::options::AppOptions;

/// Where calls are recorded.
pub(crate) enum Record {
    /// In the journal's file.
    Durable {
        /// What happens.
        journal: Arc<dyn FullJournal>,
        /// What tools keep, in the same file.
        store: Arc<dyn Store>,
    },
    /// Nowhere for long: nothing will run.
    Passing,
    /// The file cannot be used. Tools stop and say why; the program goes on.
    Broken(SqliteError),
}

/// The journal's file: what the options say, else the configuration, else the default.
pub(crate) fn path(options: &AppOptions, config: &Effective) -> PathBuf {
    let configured = || config.settings().journal.path.clone();
    options
        .journal
        .clone()
        .or_else(configured)
        .unwrap_or_else(|| options.home.journal())
}

impl Record {
    /// Opens the file, and makes it where there is none.
    pub(crate) fn open(path: &Path, config: &Effective) -> Self {
        let options = Options {
            max_bytes: config.settings().journal.max_bytes,
            ..Options::default()
        };
        match SqliteJournal::open(path, options) {
            Ok(journal) => Self::Durable {
                store: Arc::new(journal.clone()),
                journal: Arc::new(journal),
            },
            Err(trouble) => Self::Broken(trouble),
        }
    }

    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        match self {
            Self::Durable { journal, .. } => Arc::clone(journal) as Arc<dyn Journal>,
            Self::Passing => Arc::new(MemoryJournal::new()),
            Self::Broken(trouble) => Arc::new(Unwritable(trouble.to_string())),
        }
    }

    /// The journal, to read what this run writes.
    pub(crate) fn reading(&self) -> Arc<dyn ReadJournal> {
        match self {
            Self::Durable { journal, .. } => Arc::clone(journal) as Arc<dyn ReadJournal>,
            Self::Passing | Self::Broken(_) => Arc::new(MemoryJournal::new()),
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Durable { store, .. } => Arc::clone(store),
            Self::Passing | Self::Broken(_) => Arc::new(MemoryStore::default()),
        }
    }

    /// The journal's file, for what cannot be done without it.
    pub(crate) fn durable(&self) -> Result<&Arc<dyn FullJournal>, AppError> {
        match self {
            Self::Durable { journal, .. } => Ok(journal),
            Self::Broken(trouble) => Err(AppError::internal(trouble)),
            Self::Passing => Err(AppError::internal("there is no journal")),
        }
    }

    /// Brings changes of files to an end that a crash cut off in the middle: all files of a
    /// change are as they were, or as they were to be.
    pub(crate) async fn mend(&self, sandbox: &PathSandbox, workspace: &Path, app: &App) {
        let Self::Durable { journal, .. } = self else {
            return;
        };
        let options = app.options();
        let _mending = app.mending().lock().await;
        let here = workspace.to_string_lossy();
        let unfinished = match journal.unfinished(None).await {
            Ok(unfinished) => unfinished,
            Err(error) => return options.notice(error.message),
        };
        let cut_off = unfinished
            .iter()
            .filter(|call| call.half_changed && call.workspace.as_deref() == Some(&*here))
            // A call of this process runs: no crash interrupted it.
            .filter(|call| !app.works_on(&call.conversation));
        for call in cut_off {
            let mended = async {
                let recovery = journal.recover(call, Arc::new(sandbox.clone())).await?;
                if let Some(problem) = &recovery.hindered {
                    let problem = approval_text(&problem.message);
                    return Ok(format!(
                        "its change of files was cut off and could not be brought to an end now: {problem}; the next start tries again, `toolgate resume {}` gives it up",
                        approval_text(call.conversation.as_str())
                    ));
                }
                let result = call.result(Some(&recovery));
                let told = result.content.clone();
                // One that was given up on while it changed files has its result.
                if call.class() != Class::Finished {
                    journal.settle(call, result).await?;
                }
                Ok::<_, JournalError>(told)
            };
            let told = mended.await.unwrap_or_else(|error| error.message);
            let (id, of) = (call.call.as_str(), call.conversation.as_str());
            let (id, of) = (approval_text(id), approval_text(of));
            options.notice(format!("call {id} of {of}: {told}"));
            // It was taken for this alone; another process can resume it.
            if let Err(error) = journal.release(&call.conversation).await {
                options.notice(error.message);
            }
        }
    }

    /// Takes up a conversation: what was read in it is known again.
    pub(crate) async fn begin(&self, session: &Session, workspace: &Path) {
        let Self::Durable { journal, store } = self else {
            return;
        };
        // A conversation that another process works on is refused by the first commit, which
        // tells the model.
        if journal.begin(session.id(), Some(workspace)).await.is_ok() {
            recall(&**store, session, workspace).await;
        }
    }

    /// The same for one that is in the journal: the error names another process that works on it.
    pub(crate) async fn go_on(&self, session: &Session, workspace: &Path) -> Result<(), AppError> {
        let taken = self.durable()?.begin(session.id(), Some(workspace)).await;
        taken?;
        recall(&*self.store(), session, workspace).await;
        self.restore(session).await
    }

    /// Takes up the grants of a conversation that is resumed. An approval is void after a crash,
    /// and what was remembered for the conversation is not.
    async fn restore(&self, session: &Session) -> Result<(), AppError> {
        let lasting = lasting::of(&*self.reading(), session.id()).await?;
        session.restore(lasting);
        Ok(())
    }

    /// Stores what was read in a conversation, for when it is resumed.
    pub(crate) async fn remember(&self, session: &Session, workspace: &Path, options: &AppOptions) {
        let Self::Durable { store, .. } = self else {
            return;
        };
        let log = session.reads(|reads| serde_json::to_string(reads));
        if let Ok(log) = log {
            let key = session.id().as_str();
            if let Err(error) = store.set(&reads(workspace), key, log).await {
                options.notice(format!(
                    "what this conversation has read is not remembered: {error}"
                ));
            }
        }
    }
}

/// What was read in the conversation is known again.
async fn recall(store: &dyn Store, session: &Session, workspace: &Path) {
    let kept = store.get(&reads(workspace), session.id().as_str()).await;
    let log = kept.ok().flatten();
    if let Some(log) = log.and_then(|text| serde_json::from_str::<ReadLog>(&text).ok()) {
        session.reads(|reads| *reads = log);
    }
}

fn reads(workspace: &Path) -> Space {
    Space::new(workspace.to_string_lossy(), "reads")
}

/// A journal that nothing can be written to.
struct Unwritable(String);

impl Journal for Unwritable {
    fn append(&self, _: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        let refused = JournalError::not_written(self.0.clone());
        Box::pin(std::future::ready(Err(refused)))
    }

    fn intend(&self, _: Entry, _: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        let refused = JournalError::not_written(self.0.clone());
        Box::pin(std::future::ready(Err(refused)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;
    use toolgate_gate::journal::Record as Noted;
    use toolgate_model::{Args, ConversationId, Facts, PlanRecord, ToolCall};

    use crate::home::Home;
    use crate::project::Purpose;

    use super::*;

    fn entry(record: Noted) -> Entry {
        Entry {
            conversation: "c".into(),
            call: "1".into(),
            at_ms: 1,
            record,
        }
    }

    #[tokio::test]
    async fn a_change_of_a_conversation_that_runs_here_is_not_taken_for_interrupted() {
        let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = AppOptions::new(Home::at(home.path()), workspace.path());
        let app = App::open(options).unwrap();
        let project = app.project(Purpose::Run("")).unwrap();
        let journal = project.record.durable().unwrap();
        let id = ConversationId::from("c");
        let working = app.work_on(&id).await;
        journal.begin(&id, Some(project.workspace())).await.unwrap();
        let call = ToolCall::new("1", "write_file", Args::new());
        let plan = serde_json::from_value(json!({
            "conversation": "c", "call": call, "tool": "write_file", "summary": "writes",
            "risk": "low", "locations": [], "facts": Facts::none(), "plan_hash": "h",
            "decision": {
                "action": "allow", "reason": "", "rule": "default",
                "source": {"layer": "built-in"}, "atoms": [],
            },
        }));
        let plan: Arc<PlanRecord> = Arc::new(plan.unwrap());
        let began = [
            Noted::Received { call },
            Noted::Planned { plan },
            Noted::Started,
        ];
        journal.commit(began.map(entry).into()).await.unwrap();
        let intent = entry(Noted::Intended { files: Vec::new() });
        journal.intend(intent, Vec::new()).await.unwrap();
        let left = async || journal.unfinished(None).await.unwrap().len();
        project.mend().await;
        assert_eq!(left().await, 1);
        drop(working);
        project.mend().await;
        assert_eq!(left().await, 0);
    }
}
