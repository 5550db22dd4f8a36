//! `toolgate exec`: one call by a person.

use std::ffi::OsStr;

use toolgate_gate::Passage;
use toolgate_model::ToolResult;

use crate::app::App;
use crate::args::Common;
use crate::failure::Failure;
use crate::out::Out;
use crate::signals;

/// The id of the only call.
pub(crate) const CALL: &str = "call_1";

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    tool: &str,
    args: &OsStr,
) -> Result<u8, Failure> {
    let app = App::load(common, out)?;
    let call = app.call_from(tool, args)?;
    let session = app.person();
    let passage = Passage {
        approver: app.approver(common.approve),
        cancel: signals::stop_token()?,
        ..Passage::default()
    };
    let results = app.gate.run(&session, vec![call], &passage).await;
    for result in &results {
        out.json_line(result)?;
    }
    Ok(ToolResult::batch_exit_code(&results))
}
