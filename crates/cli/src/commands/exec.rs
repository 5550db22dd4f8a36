//! `toolgate exec`: one call by a user.

use std::ffi::OsString;

use toolgate_app::{Batch, Purpose};
use toolgate_model::ToolResult;

use crate::args::Common;
use crate::assembly;
use crate::failure::CliError;
use crate::out::Out;
use crate::signals;
use crate::words;

/// The id of a call that is the only one.
pub(crate) const CALL: &str = "call_1";

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    tool: &str,
    args: &[OsString],
    conversation: Option<String>,
) -> Result<u8, CliError> {
    let app = assembly::app_with_approver(common, out)?;
    let project = app.project(Purpose::Run(tool))?;
    let fresh = app.fresh_id("exec")?;
    // A user knows what is in the files, unless the call is part of a conversation. There
    // a model may have calls of any usual name, and this one must answer none of them.
    let by_user = conversation.is_none();
    let (id, call_id) = match conversation {
        Some(conversation) => {
            let id = app.find_id_or_new(&conversation).await?;
            (id, fresh.as_str().to_owned())
        }
        None => (fresh, CALL.to_owned()),
    };
    let args = words::arguments(&project, tool, args)?;
    let call = project.call_from(&call_id, tool, args);
    let batch = Batch {
        by_user,
        cancel: signals::stop_token()?,
        ..Batch::new(id, vec![call])
    };
    let results = project.run(batch).await;
    for result in &results {
        out.json_line(result)?;
    }
    Ok(ToolResult::batch_exit_code(&results))
}
