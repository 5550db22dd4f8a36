//! A command that is waited for.

use std::path::Path;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use toolgate_gate::tool::{Output, RunCtx};
use toolgate_model::{Stream as EventStream, ToolError};
use toolgate_sandbox::command::{Cause, CommandSandbox, Grant, Poised, Stream};

use super::capture::Capture;
use super::denial;
use super::driver::{Job, Over, drive};
use super::ending::{Ending, Limits};
use super::settings::CommandSettings;
use super::{RunCommand, layers, opened};

/// How many chunks may wait for a listener before the command waits for it too.
const CHUNKS: usize = 16;

/// How much of standard error is searched for signs of a denial.
const MOST_COMPLAINTS: u64 = 64 * 1024;

/// Lets a command begin and waits for its end.
pub(super) async fn run(
    args: &RunCommand,
    poised: Poised,
    around: &HintContext<'_>,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let limits = Limits {
        total: Some(args.total(around.settings)),
        idle: args.idle(),
    };
    let capture = Capture::new(cx.redactor(), &**cx.session().outputs());
    let (chunks, mut arriving) = mpsc::channel(CHUNKS);
    let driven = drive(
        Job::start(poised, limits, capture),
        limits,
        chunks,
        cx.cancel(),
    );
    // Side by side, so that a slow listener never delays a deadline.
    let shown = async {
        while let Some((stream, bytes)) = arriving.recv().await {
            show(cx, stream, &bytes).await;
        }
    };
    let (over, ()) = tokio::join!(driven, shown);
    settle(over?, limits, around, &args.command, cx)
}

/// The data that hints about denials need.
pub(super) struct HintContext<'a> {
    pub(super) cwd: &'a Path,
    pub(super) settings: &'a CommandSettings,
    pub(super) sandbox: &'a CommandSandbox,
}

/// A pipe that stands for the order to stop could not be made.
pub(super) fn no_pipe(error: &std::io::Error) -> ToolError {
    ToolError::new(
        toolgate_model::ErrorKind::Failed,
        format!("nothing was run: {error}"),
    )
}

async fn show(cx: &RunCtx, stream: Stream, bytes: &[u8]) {
    let stream = match stream {
        Stream::Stdout => EventStream::Stdout,
        Stream::Stderr => EventStream::Stderr,
    };
    cx.emit(stream, bytes).await;
}

fn settle(
    over: Over,
    limits: Limits,
    around: &HintContext<'_>,
    command: &str,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let Over {
        finished,
        in_force,
        mut capture,
    } = over;
    let mut ending = Ending::of(&finished, limits);
    let mut hints = Vec::new();
    // The end of a pipe succeeds whatever its beginning says, and a program can wait for what it
    // does not reach until it is ended.
    let fails = ending.error.is_some() && finished.cause != Cause::Cancelled;
    let may_hide = command.contains('|');
    if fails || may_hide {
        let mut said = capture.start_of_stderr(MOST_COMPLAINTS);
        if may_hide || command.contains(">&1") {
            said.push('\n');
            said.push_str(&capture.start_of_stdout(MOST_COMPLAINTS));
        }
        if !fails {
            // Without an error only what a program says of itself counts, and not text it shows.
            said = denial::complaints(&said);
        }
        let HintContext {
            cwd,
            settings,
            sandbox,
        } = around;
        let more: Vec<Grant> = cx.opened().directories.iter().map(opened).collect();
        let reach = sandbox.reach(&more);
        let refused = &finished.refused;
        hints = denial::hints(
            &said,
            command,
            cwd,
            in_force.network,
            settings,
            &reach,
            refused,
        );
        for hint in &hints {
            ending
                .last_word
                .push_str(&format!("[possibly the command sandbox: {hint}]\n"));
        }
    }
    let mut output = capture.into_output(&ending.last_word, cx)?;
    output = output.with("sandbox", layers(in_force));
    if let Some(code) = ending.exit_code {
        output = output.with("exit_code", code);
    }
    if let Some(signal) = ending.signal {
        output = output.with("signal", signal);
    }
    if !ending.still_there.is_empty() {
        output = output.with("still_there", ending.still_there);
    }
    if !hints.is_empty() {
        output = output.with("possibly_blocked", hints);
    }
    if !finished.refused.is_empty() {
        let refused = finished.refused.iter();
        let refused: Map<String, Value> = refused
            .map(|call| (call.name().to_owned(), call.times.into()))
            .collect();
        output = output.with("refused_system_calls", refused);
    }
    output.error = ending.error;
    Ok(output)
}
