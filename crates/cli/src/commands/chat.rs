//! `toolgate chat`: a conversation on the terminal.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use futures::FutureExt;
use rustix::process::{Signal, getpid, kill_process};
use toolgate_app::{Approval, StartOptions};
use toolgate_tui::{ChatError, ChatOptions, chat};

use super::run::script_text;
use crate::args::{Approve, ChatArgs, Common};
use crate::failure::CliError;
use crate::out::{self, Out};
use crate::watcher::Watcher;
use crate::{assembly, signals};

pub(crate) async fn run(common: &Common, out: &Out, args: &ChatArgs) -> Result<u8, CliError> {
    let has_terminal = Out::stdout_is_seen() && Out::stdin_is_typed();
    if !args.plain && !has_terminal {
        return Err(CliError::usage(
            "chat needs a terminal; `toolgate run PROMPT` works without one, and `toolgate chat --plain` with plain lines",
        ));
    }
    let home = assembly::home()?;
    let directory = home.chat();
    let approval = match common.approve {
        Some(Approve::All) => Approval::Everything,
        Some(Approve::None) => Approval::Nobody,
        Some(Approve::Ask) | None => Approval::Pending,
    };
    let options = assembly::options(home, common, out).approval(approval);
    let app = toolgate_app::App::open(options)?;
    let script = args.script.as_deref().map(script_text).transpose()?;
    let start = StartOptions {
        asked: (&args.asked).into(),
        script,
        preset: args.preset.clone(),
        ..StartOptions::default()
    };
    let conversation = match (&args.conversation, args.go_on) {
        (Some(prefix), _) => Some(app.find_id(prefix).await?),
        (None, true) => Some(app.last_here().await?),
        (None, false) => None,
    };
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let term = variable("TERM").unwrap_or_default();
    let is_in_tmux = variable("TMUX").is_some();
    // Only these leave rows as they are when the window changes its width.
    let keeps_rows = variable("XTERM_VERSION").is_some() || term == "linux";
    let stop = signals::stop_token()?;
    let options = ChatOptions {
        start,
        conversation,
        plain: args.plain || term == "dumb",
        colours: out::colours_wanted(),
        reflows: is_in_tmux || !keeps_rows,
        is_in_tmux,
        trust: common.trust.clone().unwrap_or_default(),
        edit: variable("VISUAL")
            .or_else(|| variable("EDITOR"))
            .map(|editor| {
                let editor = editor.to_string_lossy().into_owned();
                Arc::new(move |text: &str| edited(&editor, text)) as toolgate_tui::EditText
            }),
        stop: async move { stop.cancelled().await }.boxed(),
        suspend: Arc::new(|| {
            // The shell continues this program later, which goes on here.
            let _ = kill_process(getpid(), Signal::TSTP);
        }),
        ..ChatOptions::new(app, directory)
    };
    let watcher = if options.plain {
        None
    } else {
        Watcher::start()
    };
    let held = chat(options).await;
    drop(watcher);
    let id = held.map_err(|error| match error {
        ChatError::App(error) => CliError::from(error),
        ChatError::Terminal(error) => CliError::internal(error.to_string()),
    })?;
    if let Some(id) = id {
        out.remark(format!("Go on with: toolgate chat --conversation {id}"));
    }
    Ok(0)
}

/// Lets the user change a text in an editor.
fn edited(editor: &str, text: &str) -> Result<String, String> {
    let draft = tempfile::Builder::new()
        .prefix("toolgate-")
        .suffix(".md")
        .tempfile();
    let draft = draft.map_err(|error| format!("The draft cannot be written: {error}"))?;
    let path: PathBuf = draft.path().to_path_buf();
    std::fs::write(&path, text).map_err(|error| format!("The draft cannot be written: {error}"))?;
    // An editor is set with its options: the shell takes them apart.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&path)
        .status();
    match status {
        Ok(status) if status.success() => std::fs::read_to_string(&path)
            .map_err(|error| format!("The draft cannot be read: {error}")),
        Ok(status) => Err(format!(
            "The editor failed ({status}); the draft is as it was."
        )),
        Err(error) => Err(format!("The editor cannot be started: {error}")),
    }
}
