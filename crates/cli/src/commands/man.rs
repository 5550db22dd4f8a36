//! `toolgate man`: the manual pages.

use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::clean::Clean;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(out: &Out, dir: Option<&Path>) -> Result<u8, CliError> {
    let failed =
        |error: std::io::Error| CliError::internal(format!("cannot write the manual: {error}"));
    match dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(failed)?;
            out.raw(Clean::lines(String::from_utf8_lossy(&page)))?;
        }
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(failed)?;
            clap_mangen::generate_to(Cli::command(), dir).map_err(failed)?;
            out.remark(format!("wrote the manual pages to {}", dir.display()));
        }
    }
    Ok(0)
}
