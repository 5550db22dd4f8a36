//! `command_output` and `stop_command`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, Facts, Risk, ToolError};

use super::background::{Background, Commands, Piece};
use super::layers;

const OUTPUT: &str = "Returns what a background command wrote since it was read last, both outputs \
    in order of arrival, and how it ended if it has. With wait_seconds it waits for something new.";

const STOP: &str = "Ends a background command and everything it started, and returns what it wrote \
    since it was read last.";

/// The most bytes of notes around a piece.
const NOTE_BYTES: usize = 200;

/// The longest wait in one call.
const MOST_WAIT: u64 = 600;

/// How long the end of a stopped command is waited for. It is a matter of milliseconds.
const TO_END: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandOutput {
    /// The handle that run_command returned, such as `cmd_1`.
    #[schemars(length(min = 1))]
    handle: String,
    /// How many seconds to wait for something new, or for the end.
    #[serde(default)]
    #[schemars(range(min = 0, max = 600))]
    wait_seconds: u64,
    /// The byte to read from; where the last reading ended if not given.
    #[serde(default)]
    from: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopCommand {
    /// The handle that run_command returned, such as `cmd_1`.
    #[schemars(length(min = 1))]
    handle: String,
}

/// `command_output`.
pub(crate) fn output_tool() -> TypedTool<CommandOutput> {
    typed("command_output", OUTPUT, read)
        .summary(|args: &CommandOutput| format!("Read what {} wrote", args.handle))
        .facts(|_| Facts::none())
        .category(Category::Exec)
        .risk(Risk::Low)
        .call_timeout(|args| Some(Duration::from_secs(args.wait_seconds.min(MOST_WAIT) + 30)))
        .repeatable()
}

/// `stop_command`.
pub(crate) fn stop_tool() -> TypedTool<StopCommand> {
    typed("stop_command", STOP, stop)
        .summary(|args: &StopCommand| format!("End {}", args.handle))
        .facts(|_| Facts::none())
        .category(Category::Exec)
        .risk(Risk::Low)
}

async fn read(args: CommandOutput, cx: RunCtx) -> Result<Output, ToolError> {
    let background = cx.session().resource::<Commands>().get(&args.handle)?;
    let wait = Duration::from_secs(args.wait_seconds.min(MOST_WAIT));
    tokio::select! {
        () = background.news_behind(args.from) => {}
        () = tokio::time::sleep(wait) => {}
        () = cx.cancel().cancelled() => {}
    }
    shown(&args.handle, &background, args.from, &cx).await
}

async fn stop(args: StopCommand, cx: RunCtx) -> Result<Output, ToolError> {
    let background = cx.session().resource::<Commands>().get(&args.handle)?;
    background.stop();
    tokio::select! {
        () = background.over() => {}
        () = tokio::time::sleep(TO_END) => {}
    }
    shown(&args.handle, &background, None, &cx).await
}

async fn shown(
    handle: &str,
    background: &Arc<Background>,
    from: Option<u64>,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let room = cx.limits().effective().saturating_sub(NOTE_BYTES);
    let Piece {
        mut text,
        next,
        more,
        ending,
    } = background.read(from, room).await?;
    let note = match (&ending, more) {
        (_, true) => "[there is more; call command_output again]",
        (None, false) if text.is_empty() => "[nothing new; the command is still running]",
        (None, false) => "[the command is still running]",
        (Some(ending), false) if ending.last_word.is_empty() => {
            "[the command has ended, exit code 0]"
        }
        (Some(_), false) => "[the command has ended]",
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(note);
    let state = if ending.is_some() { "ended" } else { "running" };
    let mut output = Output::self_bounded(text)
        .display(format!("{handle} ({state}): {}", background.line))
        .with("handle", handle)
        .with("running", ending.is_none())
        .with("next", next)
        .with("more", more)
        .with("sandbox", layers(background.in_force));
    if let Some(ending) = ending {
        if let Some(code) = ending.exit_code {
            output = output.with("exit_code", code);
        }
        if let Some(signal) = ending.signal {
            output = output.with("signal", signal);
        }
        if let Some(error) = &ending.error {
            output = output.with("ended", error.kind.as_str());
        }
    }
    Ok(output)
}
