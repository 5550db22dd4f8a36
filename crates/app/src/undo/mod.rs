//! Undo: files get back what they held before a conversation, a turn or a call.
//!
//! ```text
//! Scope ──▶ UndoPlan: every file with its difference ──▶ shown ──▶ apply ──▶ one result, journaled
//!       └─▶ Refused: a file holds something else, or its content was pruned
//! ```
//!
//! An undo goes through the gate like any call: policy, approval, sandboxes and journal hold for
//! it too, and it can be undone.
//!
//! ```
//! use toolgate_app::undo::{Scope, Undo};
//! use toolgate_app::{Input, ScriptText, StartOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! # let script = ScriptText { path: "s".into(), text: b"[[steps]]\ntext = \"Nothing.\"\n".to_vec() };
//! # let options = StartOptions { script: Some(script), ..StartOptions::default() };
//! let conversation = app.start(options)?;
//! conversation.send(Input::message("Look around.")).await?.outcome().await?;
//! match conversation.undo(&Scope::All).await? {
//!     Undo::Planned(plan) => {
//!         for difference in plan.differences().await? {
//!             assert!(!difference.is_empty());
//!         }
//!         plan.apply("the user", Default::default()).await?;
//!     }
//!     Undo::Nothing { result } => assert!(result.content.starts_with("Nothing")),
//!     Undo::Refused { result } => assert!(result.error.is_some()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod difference;
mod tool;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_gate::journal::{FileError, ReadJournal};
use toolgate_gate::plan::Mode;
use toolgate_journal::undo::{Changes, Found, Refusal, Restore};
use toolgate_model::{
    Args, Call, CallId, ConversationId, ErrorKind, ToolCall, ToolError, ToolResult,
};
use toolgate_sandbox::paths::PathSandbox;

pub use toolgate_journal::undo::Scope;

use crate::app::App;
use crate::aside::aside;
use crate::configuration;
use crate::error::AppError;
use crate::options::Approval;
use crate::project::{Batch, Plan, Project, Purpose};
use crate::stored::Stored;
use tool::{Back, Current, UNDO, UndoTool};

/// What an undo would do.
#[derive(Debug)]
pub enum Undo {
    /// It can be done.
    Planned(Box<UndoPlan>),
    /// The files are as they were.
    Nothing {
        /// The result that says so.
        result: ToolResult,
    },
    /// It cannot be done, and nothing was changed.
    Refused {
        /// The result that says why.
        result: ToolResult,
    },
}

/// Files that get back what they held.
pub struct UndoPlan {
    project: Project,
    conversation: ConversationId,
    call: ToolCall,
    files: Arc<Vec<Back>>,
    beyond: usize,
}

impl std::fmt::Debug for UndoPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UndoPlan")
            .field("call", &self.call)
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

impl UndoPlan {
    /// The difference of every file, as text. Names are one line each; contents are as they are.
    pub async fn differences(&self) -> Result<Vec<String>, AppError> {
        let sandbox = self.project.gate.sandbox().clone();
        let files = Arc::clone(&self.files);
        let difference = move |file: &Back| {
            let now = Current::look(&sandbox, &file.name).ok().flatten();
            let now = now.as_ref().map(|now| now.bytes.as_slice());
            let name = file.name.to_string_lossy();
            difference::shown(&name, now, file.content.as_deref())
        };
        aside(move || Ok(files.iter().map(difference).collect())).await
    }

    /// How many of the calls ran commands, whose effects stay.
    pub const fn commands(&self) -> usize {
        self.beyond
    }

    /// Undoes it. The user has seen the differences and agrees; `by` names them in the journal.
    pub async fn apply(
        self,
        by: &str,
        cancel: CancellationToken,
    ) -> Result<Vec<ToolResult>, AppError> {
        let tool = Arc::new(UndoTool::new(self.files));
        let registry = self.project.gate.registry();
        registry.register(tool).map_err(AppError::internal)?;
        let approver = Agreed { by: by.to_owned() };
        let batch = Batch {
            cancel,
            ..Batch::new(self.conversation, vec![Call::Whole(self.call)])
        };
        let approval = Approval::Ask(Arc::new(approver));
        Ok(self.project.run_with(batch, approval).await)
    }
}

/// Plans the undo of a conversation that no other process works on.
pub(crate) async fn plan(app: &App, stored: &Stored, scope: &Scope) -> Result<Undo, AppError> {
    stored.check_free()?;
    stored.check_workspace(app)?;
    let workspace = stored.directory(app)?;
    let config = configuration::configuration(app.options(), &workspace)?;
    let plan = Plan {
        purpose: Purpose::Run(UNDO),
        workspace,
        config,
        asked_with: Vec::new(),
        scopes: Vec::new(),
    };
    // A user undoes, no model: that works where tools are off, too.
    let building = app.clone();
    let build = move || Project::build(&building, plan, |settings| settings.mode = Mode::Enabled);
    let project = aside(build).await?;
    let journal = project.record.durable()?;
    // A change that a crash interrupted is brought to an end first, else it is neither here nor there.
    project.mend().await;
    let id = stored.conversation.id.clone();
    let changes = Changes::read(&**journal, &id).await?;
    let call = call(&id, scope, &changes);
    let sandbox = project.gate.sandbox();
    let (at, of, looked_at) = (sandbox.clone(), scope.clone(), Arc::new(changes));
    let changes = Arc::clone(&looked_at);
    let planned = aside(move || Ok(looked_at.plan(&of, &mut |place| look(&at, place)))).await?;
    let planned = match planned {
        Ok(planned) => planned,
        Err(refusal) => {
            let result = refused(&call, &refusal);
            return Ok(Undo::Refused { result });
        }
    };
    let beyond = changes.beyond(scope);
    if planned.is_empty() {
        let said = if beyond > 0 {
            "Nothing to take back: no file tool changed anything that is not as it was. Commands ran, and what they did is not taken back."
        } else {
            "Nothing to take back: the files are as they were."
        };
        let mut result = ToolResult::ok(call.id, UNDO, said);
        result.display.clone_from(&result.content);
        return Ok(Undo::Nothing { result });
    }
    let made = |place: &Path| directories(&changes, scope, sandbox, place);
    match contents(&**journal, sandbox, planned, &made).await? {
        Ok(files) => Ok(Undo::Planned(Box::new(UndoPlan {
            conversation: id,
            call,
            files: Arc::new(files),
            beyond,
            project,
        }))),
        Err(error) => {
            let result = failed(&call, error);
            Ok(Undo::Refused { result })
        }
    }
}

/// The call by which this is journaled.
fn call(conversation: &ConversationId, scope: &Scope, changes: &Changes) -> ToolCall {
    let is_free = |id: &CallId| !changes.calls().contains(id);
    let mut ids = (1_u64..).map(|number| CallId::from(format!("{UNDO}_{number}")));
    let id = ids.find(is_free);
    let mut args = Args::new();
    args.insert("conversation".into(), json!(conversation));
    match scope {
        Scope::Call(call) => drop(args.insert("call".into(), json!(call))),
        Scope::Turn(turn) => drop(args.insert("turn".into(), json!(turn))),
        Scope::All => {}
    }
    ToolCall::new(id.unwrap_or_else(|| UNDO.into()), UNDO, args)
}

/// The name of a place for the sandbox: relative in the working directory, else as it is.
fn name(sandbox: &PathSandbox, place: &Path) -> PathBuf {
    let working = sandbox.roots().get(0).map(|root| root.path());
    let within = working.and_then(|root| place.strip_prefix(root).ok());
    within.unwrap_or(place).to_path_buf()
}

fn look(sandbox: &PathSandbox, place: &Path) -> Result<Found, FileError> {
    let current = Current::look(sandbox, &name(sandbox, place))?;
    Ok(Current::found(current.as_ref()))
}

/// The directories that were made for a file, by their names for the sandbox.
fn directories(
    changes: &Changes,
    scope: &Scope,
    sandbox: &PathSandbox,
    place: &Path,
) -> Vec<PathBuf> {
    let is_root = |place: &Path| sandbox.roots().iter().any(|root| root.path() == place);
    let made = changes.directories(scope, place, &is_root);
    made.iter()
        .map(|directory| name(sandbox, directory))
        .collect()
}

fn refused(call: &ToolCall, refusal: &Refusal) -> ToolResult {
    let kind = match refusal {
        Refusal::ChangedSince(_) => ErrorKind::StaleFile,
        Refusal::NoSuchCall(_) | Refusal::NoSuchTurn { .. } | Refusal::Pruned(_) => {
            ErrorKind::NotFound
        }
        Refusal::CannotLook(_) => ErrorKind::Failed,
    };
    failed(call, ToolError::new(kind, refusal.to_string()))
}

fn failed(call: &ToolCall, error: ToolError) -> ToolResult {
    ToolResult::failed(call.id.clone(), UNDO, error)
}

/// Adds what the files held.
async fn contents(
    journal: &dyn ReadJournal,
    sandbox: &PathSandbox,
    planned: Vec<Restore>,
    made: &(dyn Fn(&Path) -> Vec<PathBuf> + Sync),
) -> Result<Result<Vec<Back>, ToolError>, AppError> {
    let mut files = Vec::with_capacity(planned.len());
    let mut gone = Vec::new();
    for file in planned {
        let image = match &file.back {
            Some(hash) => journal.image(hash).await?,
            None => None,
        };
        let name = name(sandbox, &file.place);
        if image.is_none() && file.back.is_some() {
            gone.push(file.path.clone());
        }
        files.push(Back {
            directories: made(&file.place),
            name,
            place: file.place,
            found: file.found,
            content: image,
            mode: file.mode,
        });
    }
    Ok(if gone.is_empty() {
        Ok(files)
    } else {
        Err(ToolError::new(
            ErrorKind::NotFound,
            format!(
                "nothing was taken back: what {} held before was pruned from the journal",
                gone.join(", ")
            ),
        ))
    })
}

/// A user who has been shown the differences and agreed.
struct Agreed {
    by: String,
}

impl Approver for Agreed {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::yes().by(&self.by))))
    }
}
