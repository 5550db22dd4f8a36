//! The app from the command line and the environment.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures::future::BoxFuture;
use toolgate_app::approvals::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_app::{App, AppOptions, Approval, Environment, Home, SecretSource};

use crate::args::{Approve, Common};
use crate::failure::CliError;
use crate::out::Out;
use crate::status::StatusLine;
use crate::terminal::Terminal;

/// The variables that this program was started with.
pub(crate) fn environment() -> Environment {
    Environment::of(std::env::vars_os())
}

/// Where Toolgate keeps its own files.
pub(crate) fn home() -> Result<Home, CliError> {
    Ok(Home::from_environment(&environment())?)
}

/// The directory that was named, else the current one.
pub(crate) fn workspace(common: &Common) -> PathBuf {
    let given = common.workspace.clone();
    given.unwrap_or_else(|| PathBuf::from("."))
}

/// The app for commands that need no approver.
pub(crate) fn app(common: &Common, out: &Out) -> Result<App, CliError> {
    Ok(App::open(options(home()?, common, out))?)
}

/// The app for commands that run calls.
pub(crate) fn app_with_approver(common: &Common, out: &Out) -> Result<App, CliError> {
    let options = options(home()?, common, out);
    let approval = approval(common.approve, &out.status);
    Ok(App::open(options.approval(approval))?)
}

/// The options of the command line, with Toolgate's own files in this place.
pub(crate) fn options(home: Home, common: &Common, out: &Out) -> AppOptions {
    let out = out.clone();
    let options = AppOptions::new(home, workspace(common))
        .only_here(common.workspace.is_some())
        .config_file(common.config.clone())
        .journal(common.journal.clone())
        .trust(common.trust.clone())
        .profile(common.profile.clone())
        .environment(environment())
        .secrets(Arc::new(secret))
        .audit(common.log.is_some())
        .on_notice(move |text| out.remark(text.to_owned()));
    match common.metrics {
        Some(_) => options.metrics(common.counted.0.clone()),
        None => options,
    }
}

/// Who is asked.
fn approval(approve: Option<Approve>, status: &Arc<StatusLine>) -> Approval {
    let terminal = |is_there: bool| match is_there {
        true => Approval::Ask(Arc::new(Undisturbed(Arc::clone(status)))),
        false => Approval::Nobody,
    };
    match approve {
        Some(Approve::All) => Approval::Everything,
        Some(Approve::None) => Approval::Nobody,
        Some(Approve::Ask) => terminal(Terminal::can_be_asked()),
        None => terminal(Terminal::is_there()),
    }
}

/// The user on the terminal, where nothing else is written while they are asked.
struct Undisturbed(Arc<StatusLine>);

impl Approver for Undisturbed {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(async move {
            let _paused = self.0.pause();
            Terminal.ask(request).await
        })
    }
}

/// A key, from the environment or from a program that prints it.
fn secret(source: SecretSource<'_>) -> Result<Option<String>, String> {
    let command = match source {
        SecretSource::Variable(name) => return Ok(std::env::var(name).ok()),
        SecretSource::Command(command) => command,
    };
    let Some((program, args)) = command.split_first() else {
        return Err("is empty".to_owned());
    };
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("failed ({})", output.status));
    }
    Ok(String::from_utf8(output.stdout).ok())
}
