//! `toolgate trust`: lets a project's file widen, as long as it stays as it is.

use std::path::Path;

use toolgate_config::{Source, StoreError, TrustStore};
use toolgate_gate::{Clock, SystemClock};

use crate::args::{Common, TrustCommand};
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::configured::{PROJECT_FILE, workspace};
use crate::failure::CliError;
use crate::home::Home;
use crate::out::Out;

pub(crate) fn run(
    common: &Common,
    out: &Out,
    command: Option<TrustCommand>,
) -> Result<u8, CliError> {
    let store = TrustStore::at(Home::find()?.trust());
    let failed = |error: StoreError| CliError::internal(error.to_string());
    match command {
        None => {
            let file = workspace(common)?.join(PROJECT_FILE);
            trust(out, &store, &file)
        }
        Some(TrustCommand::List) => {
            let all = store.list().map_err(failed)?;
            if out.json {
                out.json_line(&all)?;
            } else {
                for file in &all {
                    let digest = DIM.on(say!("sha256 {}", file.sha256));
                    out.text(say!("{}  {}", BOLD.on(&file.path), digest))?;
                }
                out.remark(format!("{} trusted files", all.len()));
            }
            Ok(0)
        }
        Some(TrustCommand::Revoke { file }) => {
            let file = match file {
                Some(file) => file,
                None => workspace(common)?.join(PROJECT_FILE),
            };
            if store.revoke(&file).map_err(failed)? {
                out.remark(format!("{} is no longer trusted", file.display()));
                Ok(0)
            } else {
                Err(CliError::usage(format!(
                    "{} was not trusted; `toolgate trust list` shows what is",
                    file.display()
                )))
            }
        }
    }
}

fn trust(out: &Out, store: &TrustStore, file: &Path) -> Result<u8, CliError> {
    let source = Source::read(file).map_err(|error| CliError::usage(error.to_string()))?;
    let trusted = store
        .trust(file, source.text().as_bytes(), SystemClock.now_ms())
        .map_err(|error| CliError::internal(error.to_string()))?;
    if out.json {
        out.json_line(&trusted)?;
    } else {
        out.remark(format!("{} may widen until it changes", trusted.path));
    }
    Ok(0)
}
