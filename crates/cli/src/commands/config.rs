//! `toolgate config`: what is in force, and what could be.

use serde_json::json;

use crate::args::{Common, ConfigCommand};
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::configured::{configuration, workspace};
use crate::failure::CliError;
use crate::home::Home;
use crate::out::Out;
use crate::presets;

pub(crate) fn run(common: &Common, out: &Out, command: &ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::Schema => out.json_page(&toolgate_config::schema())?,
        ConfigCommand::Presets => {
            let config = configuration(common, &Home::find()?, &workspace(common)?)?;
            for (name, purpose) in presets::all(&config) {
                if out.json {
                    out.json_line(&json!({ "name": name, "description": purpose }))?;
                    continue;
                }
                let plain = |text: &str| toolgate_gate::output::approval_text(text);
                let purpose = purpose.as_deref().unwrap_or("says nothing about itself");
                out.text(say!(
                    "{}  {}",
                    BOLD.on(plain(&name)),
                    DIM.on(plain(purpose))
                ))?;
            }
        }
        ConfigCommand::Show => {
            let config = configuration(common, &Home::find()?, &workspace(common)?)?;
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
