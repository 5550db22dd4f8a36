//! `toolgate undo`: files get back what they held before a conversation, a turn or a call.

use toolgate_app::undo::{Scope, Undo};
use toolgate_model::{ErrorKind, ToolResult};

use crate::args::{Approve, Common, Undone};
use crate::assembly;
use crate::clean::Clean;
use crate::failure::CliError;
use crate::out::Out;
use crate::{difference, question, signals};

pub(crate) async fn run(common: &Common, out: &Out, undone: Undone) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    let scope = match (&undone.call, undone.turn) {
        (Some(call), _) => Scope::Call(call.as_str().into()),
        (None, Some(turn)) => Scope::Turn(turn),
        (None, None) => Scope::All,
    };
    let id = undone.conversation.as_str().into();
    let plan = match app.undo(&id, &scope).await? {
        Undo::Planned(plan) => plan,
        Undo::Nothing { result } | Undo::Refused { result } => return report(&result, out),
    };
    if !out.json {
        for file in plan.differences() {
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
