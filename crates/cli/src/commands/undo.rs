//! `toolgate undo`: files get back what they held before a conversation, a turn or a call.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_gate::journal::{FileError, ReadJournal};
use toolgate_gate::plan::Mode;
use toolgate_journal::undo::{Changes, Refusal, Restore, Scope};
use toolgate_model::{Args, Call, CallId, ErrorKind, ToolCall, ToolError, ToolResult};
use toolgate_sandbox::paths::PathSandbox;

use crate::app::{App, Purpose};
use crate::args::{Approve, Common, Undone};
use crate::clean::Clean;
use crate::failure::CliError;
use crate::kept::Kept;
use crate::out::Out;
use crate::undo::{Back, Current, UNDO, UndoTool};
use crate::{difference, question, signals};

pub(crate) async fn run(common: &Common, out: &Out, undone: Undone) -> Result<u8, CliError> {
    let kept = Kept::find(common, &undone.conversation).await?;
    kept.nobody_works_on_it()?;
    let common = kept.common(common)?;
    // A person takes something back, no model: that works where tools are off, too.
    let app = App::load_with(&common, out, Purpose::Run(UNDO), |settings| {
        settings.mode = Mode::Enabled;
    })?;
    let journal = app.record.durable()?;
    // A change that a crash cut short is brought to an end first, else it is neither here nor there.
    app.record
        .mend(app.gate.sandbox(), &app.workspace, out)
        .await;
    let scope = match (&undone.call, undone.turn) {
        (Some(call), _) => Scope::Call(call.as_str().into()),
        (None, Some(turn)) => Scope::Turn(turn),
        (None, None) => Scope::All,
    };
    let changes = Changes::read(&**journal, &kept.conversation.id).await;
    let changes = changes.map_err(|error| CliError::internal(error.message))?;
    let call = call(&undone, &changes);
    let say = |result: &ToolResult| -> Result<u8, CliError> {
        if out.json {
            out.json_line(result)?;
        } else if result.error.is_some() {
            out.failure(&CliError::internal(Clean::output(&result.display)));
        } else {
            out.text(Clean::output(&result.display))?;
        }
        Ok(result.exit_code())
    };
    let sandbox = app.gate.sandbox();
    let planned = match changes.plan(&scope, &mut |place| look(sandbox, place)) {
        Ok(planned) => planned,
        Err(refusal) => return say(&refused(&call, &refusal)),
    };
    let beyond = changes.beyond(&scope);
    if planned.is_empty() {
        let said = if beyond > 0 {
            "Nothing to take back: no file tool changed anything that is not as it was. Commands ran, and what they did is not taken back."
        } else {
            "Nothing to take back: the files are as they were."
        };
        let mut result = ToolResult::ok(call.id, UNDO, said);
        result.display.clone_from(&result.content);
        return say(&result);
    }
    let files = match contents(&**journal, sandbox, planned).await? {
        Ok(files) => files,
        Err(refusal) => return say(&failed(&call, refusal)),
    };
    show(sandbox, &files, out)?;
    if beyond > 0 {
        out.remark(format!(
            "{beyond} of the calls ran commands; what those did is not taken back."
        ));
    }
    let by = match consent(&common, &undone).await {
        Consent::Given(by) => by,
        Consent::Refused => {
            out.remark("Nothing was taken back.");
            return Ok(ErrorKind::UserDenied.exit_code());
        }
        Consent::NobodyThere => {
            out.failure(&CliError::internal(
                "nobody is there to ask; --yes takes this back without a question",
            ));
            return Ok(ErrorKind::NoApprover.exit_code());
        }
    };
    app.gate
        .registry()
        .register(Arc::new(UndoTool::new(files)))
        .map_err(|error| CliError::internal(error.to_string()))?;
    let passage = BatchContext {
        approver: Some(Arc::new(Asked { by })),
        cancel: signals::stop_token()?,
        ..BatchContext::default()
    };
    let session = app.session(kept.conversation.id.clone());
    let results = app
        .run(session, vec![Call::Whole(call)], &passage, out)
        .await;
    results
        .iter()
        .try_fold(0, |code, result| Ok(say(result)?.max(code)))
}

/// The call by which this goes on record.
fn call(undone: &Undone, changes: &Changes) -> ToolCall {
    let is_free = |id: &CallId| !changes.calls().contains(id);
    let mut ids = (1_u64..).map(|number| CallId::from(format!("{UNDO}_{number}")));
    let id = ids.find(is_free);
    let mut args = Args::new();
    args.insert("conversation".into(), json!(undone.conversation));
    if let Some(call) = &undone.call {
        args.insert("call".into(), json!(call));
    }
    if let Some(turn) = undone.turn {
        args.insert("turn".into(), json!(turn));
    }
    ToolCall::new(id.unwrap_or_else(|| UNDO.into()), UNDO, args)
}

/// The name of a place for the sandbox: relative in the working directory, else as it is.
fn name(sandbox: &PathSandbox, place: &Path) -> std::path::PathBuf {
    let working = sandbox.roots().get(0).map(|root| root.path());
    let within = working.and_then(|root| place.strip_prefix(root).ok());
    within.unwrap_or(place).to_path_buf()
}

fn look(sandbox: &PathSandbox, place: &Path) -> Result<toolgate_journal::undo::Found, FileError> {
    let current = Current::look(sandbox, &name(sandbox, place))?;
    Ok(Current::found(current.as_ref()))
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
) -> Result<Result<Vec<Back>, ToolError>, CliError> {
    let mut files = Vec::with_capacity(planned.len());
    let mut gone = Vec::new();
    for file in planned {
        let image = match &file.back {
            Some(hash) => journal
                .image(hash)
                .await
                .map_err(|error| CliError::internal(error.message))?,
            None => None,
        };
        let name = name(sandbox, &file.place);
        if image.is_none() && file.back.is_some() {
            gone.push(file.path.clone());
        }
        files.push(Back {
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

fn show(sandbox: &PathSandbox, files: &[Back], out: &Out) -> Result<(), CliError> {
    if out.json {
        return Ok(());
    }
    for file in files {
        let now = Current::look(sandbox, &file.name).ok().flatten();
        let now = now.as_ref().map(|now| now.bytes.as_slice());
        let name = file.name.to_string_lossy();
        let diff = difference::shown(&name, now, file.content.as_deref());
        out.text(difference::painted(&diff))?;
    }
    Ok(())
}

enum Consent {
    Given(&'static str),
    Refused,
    NobodyThere,
}

async fn consent(common: &Common, undone: &Undone) -> Consent {
    match common.approve {
        _ if undone.yes => return Consent::Given("--yes"),
        Some(Approve::All) => return Consent::Given("approve-all"),
        Some(Approve::None) => return Consent::NobodyThere,
        Some(Approve::Ask) | None => {}
    }
    match question::choose("Take this back?".into(), &["yes", "no"]).await {
        Some("yes") => Consent::Given("terminal"),
        Some(_) => Consent::Refused,
        None => Consent::NobodyThere,
    }
}

/// A person who has been shown the difference and has said yes.
struct Asked {
    by: &'static str,
}

impl Approver for Asked {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::yes().by(self.by))))
    }
}
