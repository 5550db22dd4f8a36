//! `toolgate exec`: one call by a person.

use std::ffi::OsStr;

use toolgate_gate::BatchContext;
use toolgate_model::ToolResult;

use crate::app::{App, Purpose};
use crate::args::Common;
use crate::failure::CliError;
use crate::out::Out;
use crate::signals;

/// The id of a call that is the only one.
pub(crate) const CALL: &str = "call_1";

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    tool: &str,
    args: &OsStr,
    conversation: Option<String>,
) -> Result<u8, CliError> {
    let app = App::load(common, out, Purpose::Run(tool))?;
    let fresh = app.fresh_id("exec")?;
    // A person knows what is in the files, unless the call is part of a conversation. There
    // a model may have calls of any usual name, and this one must answer none of them.
    let (session, id) = match conversation {
        Some(conversation) => (app.session(conversation), fresh.as_str()),
        None => (app.person(fresh.as_str()), CALL),
    };
    let call = app.call_from(id, tool, args)?;
    let passage = BatchContext {
        approver: app.approver(common.approve),
        cancel: signals::stop_token()?,
        ..BatchContext::default()
    };
    let results = app.run(session, vec![call], &passage, out).await;
    for result in &results {
        out.json_line(result)?;
    }
    Ok(ToolResult::batch_exit_code(&results))
}
