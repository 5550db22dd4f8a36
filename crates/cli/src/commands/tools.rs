//! `toolgate tools`: the definitions as a wire wants them.

use serde_json::Value;
use toolgate_gate::registry::WireFormat;

use crate::app::{App, Purpose};
use crate::args::Common;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(common: &Common, out: &Out, format: &str) -> Result<u8, CliError> {
    let format: WireFormat = format.parse().map_err(CliError::usage)?;
    let app = App::load(common, out, Purpose::Look)?;
    let definitions = app.definitions()?;
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
