//! `toolgate config`: what is in force, and what could be.

use serde_json::json;
use toolgate_app::text::approval_text;
use toolgate_app::{presets, schema};

use crate::args::{Common, ConfigCommand};
use crate::assembly;
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(common: &Common, out: &Out, command: &ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::Schema => out.json_page(&schema())?,
        ConfigCommand::Presets => {
            let app = assembly::app(common, out)?;
            for (name, purpose) in presets::all(app.config()) {
                if out.json {
                    out.json_line(&json!({ "name": name, "description": purpose }))?;
                    continue;
                }
                let plain = approval_text;
                let purpose = purpose.as_deref().unwrap_or("says nothing about itself");
                out.text(say!(
                    "{}  {}",
                    BOLD.on(plain(&name)),
                    DIM.on(plain(purpose))
                ))?;
            }
        }
        ConfigCommand::Show => {
            let app = assembly::app(common, out)?;
            let config = app.config();
            for ignored in config.ignored() {
                out.remark(ignored.to_string());
            }
            let rows = config.show();
            if out.json {
                out.json_line(&rows)?;
            } else {
                for row in &rows {
                    out.text(row.to_string())?;
                }
            }
        }
    }
    Ok(0)
}
