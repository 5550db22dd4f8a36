//! `toolgate config`: what is in force, and what could be.

use crate::args::{Common, ConfigCommand};
use crate::configured::{configuration, workspace};
use crate::failure::Failure;
use crate::home::Home;
use crate::out::Out;

pub(crate) fn run(common: &Common, out: &Out, command: &ConfigCommand) -> Result<u8, Failure> {
    match command {
        ConfigCommand::Schema => out.json_page(&toolgate_config::schema())?,
        ConfigCommand::Show => {
            let config = configuration(common, &Home::find()?, &workspace(common)?)?;
            for ignored in config.ignored() {
                out.remark(&ignored.to_string());
            }
            let rows = config.show();
            if out.json {
                out.json_line(&rows)?;
            } else {
                for row in &rows {
                    out.text(&row.to_string())?;
                }
            }
        }
    }
    Ok(0)
}
