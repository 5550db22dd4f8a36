//! `toolgate undo`: files get back what they held before a conversation, a turn or a call.

use toolgate_app::App;
use toolgate_app::undo::{Scope, Undo};
use toolgate_model::{ConversationId, ErrorKind, ToolResult};

use crate::args::{Approve, Common, Undone};
use crate::assembly;
use crate::clean::style::BOLD;
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::out::Out;
use crate::{difference, question, signals};

/// So many conversations are looked at for something to undo.
const MOST_LOOKED_AT: usize = 20;

pub(crate) async fn run(common: &Common, out: &Out, undone: Undone) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    let scope = match (&undone.call, undone.turn) {
        (Some(call), _) => Scope::Call(call.as_str().into()),
        (None, Some(turn)) => Scope::Turn(turn),
        (None, None) => Scope::All,
    };
    let id = match &undone.conversation {
        Some(id) => app.find_id(id).await?,
        None => last(&app, out).await?,
    };
    let scope = match scope {
        Scope::Call(call) => Scope::Call(app.find_call(&id, call.as_str()).await?),
        other => other,
    };
    let plan = match app.undo(&id, &scope).await? {
        Undo::Planned(plan) => plan,
        Undo::Nothing { result } | Undo::Refused { result } => return report(&result, out),
    };
    if !out.json {
        for file in plan.differences().await? {
            out.text(difference::painted(&file))?;
        }
    }
    if plan.commands() > 0 {
        out.remark(format!(
            "{} of the calls ran commands; what those did is not taken back.",
            plan.commands()
        ));
    }
    let by = match consent(common, &undone).await {
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
    let results = plan.apply(by, signals::stop_token()?).await?;
    results
        .iter()
        .try_fold(0, |code, result| Ok(report(result, out)?.max(code)))
}

/// The last conversation of the workspace of which something is left to undo, else the last.
async fn last(app: &App, out: &Out) -> Result<ConversationId, CliError> {
    let all = app.changed_here().await?;
    let mut chosen = None;
    for id in all.iter().take(MOST_LOOKED_AT) {
        // One that cannot be undone is the one that is meant too: the user hears why.
        if !matches!(app.undo(id, &Scope::All).await?, Undo::Nothing { .. }) {
            chosen = Some(id.clone());
            break;
        }
    }
    let id = chosen.or_else(|| all.first().cloned());
    let id = id.ok_or_else(|| CliError::usage("no conversation changed files here"))?;
    let words = app.first_words(&id).await?;
    out.remark(say!(
        "{}{}",
        BOLD.on(&id),
        words.map(|words| say!("  {}", words))
    ));
    Ok(id)
}

/// Shows a result; its exit code.
fn report(result: &ToolResult, out: &Out) -> Result<u8, CliError> {
    if out.json {
        out.json_line(result)?;
    } else if result.error.is_some() {
        out.failure(&CliError::internal(Clean::output(&result.display)));
    } else {
        out.text(Clean::output(&result.display))?;
    }
    Ok(result.exit_code())
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
