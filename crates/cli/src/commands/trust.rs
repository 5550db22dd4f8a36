//! `toolgate trust`: lets a project's file widen, as long as it stays as it is.

use std::path::Path;

use toolgate_app::{Home, trust};
use toolgate_model::ErrorKind;

use crate::args::{Common, TrustCommand};
use crate::assembly::{home, workspace};
use crate::clean::say;
use crate::clean::style::{BOLD, DIM};
use crate::clock;
use crate::failure::CliError;
use crate::out::Out;
use crate::question;

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    yes: bool,
    command: Option<TrustCommand>,
) -> Result<u8, CliError> {
    let home = home()?;
    let project = || trust::project_file(&workspace(common));
    match command {
        None => {
            let file = project()?;
            trust_file(out, &home, &file, yes).await
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

async fn trust_file(out: &Out, home: &Home, file: &Path, yes: bool) -> Result<u8, CliError> {
    let review = trust::Review::of(home, file)?;
    let widens = review.widens();
    let count = match widens.len() {
        0 => "Nothing in it takes effect that does not do so already".to_owned(),
        1 => "1 key takes effect".to_owned(),
        count => format!("{count} keys take effect"),
    };
    if !out.json {
        out.remark(say!("{}", BOLD.on(file)));
        for one in widens {
            out.remark(say!(
                "  line {}: {}  {}",
                one.line,
                &one.key,
                DIM.on(&one.text)
            ));
        }
    }
    if !yes {
        let question = say!("{} once this file is trusted. Trust it?", &count);
        match question::choose(question, &["yes", "no"]).await {
            Some("yes") => {}
            Some(_) => {
                out.remark("Nothing was trusted.");
                return Ok(ErrorKind::UserDenied.exit_code());
            }
            None => {
                out.failure(&CliError::nobody(
                    "nobody is there to ask; --yes trusts the file without a question",
                ));
                return Ok(ErrorKind::NoApprover.exit_code());
            }
        }
    }
    let trusted = review.trust(home, clock::now_ms())?;
    if out.json {
        out.json_line(&trusted)?;
    } else {
        out.remark(format!(
            "{} is trusted until it changes. {count}. Take it back with `toolgate trust revoke`.",
            trusted.path
        ));
    }
    Ok(0)
}
