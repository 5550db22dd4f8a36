//! `toolgate tools`: the definitions as a wire wants them.

use serde_json::Value;
use toolgate_app::{Purpose, WireFormat};

use crate::args::Common;
use crate::assembly;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(common: &Common, out: &Out, format: &str) -> Result<u8, CliError> {
    let format: WireFormat = format.parse().map_err(CliError::usage)?;
    let project = assembly::app(common, out)?.project(Purpose::Look)?;
    let definitions = project.definitions()?;
    let all: Vec<Value> = definitions
        .iter()
        .map(|definition| definition.to_wire(format))
        .collect();
    if out.json {
        out.json_line(&all)?;
    } else {
        out.json_page(&all)?;
    }
    Ok(0)
}
