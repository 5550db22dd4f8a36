//! `toolgate trust`: lets a project's file widen, as long as it stays as it is.

use std::path::Path;

use toolgate_app::{Home, trust};

use crate::args::{Common, TrustCommand};
use crate::assembly::{home, workspace};
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::clock;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(
    common: &Common,
    out: &Out,
    command: Option<TrustCommand>,
) -> Result<u8, CliError> {
    let home = home()?;
    let project = || trust::project_file(&workspace(common));
    match command {
        None => {
            let file = project()?;
            trust_file(out, &home, &file)
        }
        Some(TrustCommand::List) => {
            let all = trust::list(&home)?;
            if out.json {
                out.json_line(&all)?;
            } else {
                for file in &all {
                    let state = match trust::is_current(&home, file) {
                        true => "",
                        false => "  changed since: not trusted now",
                    };
                    let digest = DIM.on(say!("sha256 {}", file.sha256));
                    out.text(say!("{}  {}{}", BOLD.on(&file.path), digest, state))?;
                }
                out.remark(format!("{} trusted files", all.len()));
            }
            Ok(0)
        }
        Some(TrustCommand::Revoke { file }) => {
            let file = match file {
                Some(file) => file,
                None => project()?,
            };
            if trust::revoke(&home, &file)? {
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

fn trust_file(out: &Out, home: &Home, file: &Path) -> Result<u8, CliError> {
    let widens = trust::widens(home, file)?;
    let trusted = trust::trust(home, file, clock::now_ms())?;
    if out.json {
        out.json_line(&trusted)?;
    } else {
        for line in &widens {
            out.remark(line.clone());
        }
        let count = widens.len();
        out.remark(format!(
            "{} is trusted until it changes; {count} keys take effect. Take it back with `toolgate trust revoke`.",
            trusted.path
        ));
    }
    Ok(0)
}
