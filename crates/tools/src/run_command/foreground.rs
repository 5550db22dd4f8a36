//! A command that is waited for.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgate_gate::tool::{Output, RunCtx};
use toolgate_model::{Stream as EventStream, ToolError};
use toolgate_sandbox::command::{
    Cause, CommandSandbox, Deadlines, Finished, Grant, InForce, Poised, Stream,
};

use super::capture::Capture;
use super::denial;
use super::ending::{Ending, Limits};
use super::settings::CommandSettings;
use super::{RunCommand, layers, opened};
use crate::blocking::blocking;

/// How many chunks may wait for a listener before the command waits for it too.
const CHUNKS: usize = 16;

/// How much of standard error is searched for signs of a denial.
const MOST_COMPLAINTS: u64 = 64 * 1024;

/// A command that is over, and what it wrote.
struct Over {
    finished: Finished,
    in_force: InForce,
    capture: Capture,
}

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
    let (chunks, mut arriving) = mpsc::channel(CHUNKS);
    // When the writing end is gone the command is ended: on cancellation, and when this
    // future is dropped.
    let (stopped, stop) = std::io::pipe().map_err(|error| no_pipe(&error))?;
    let mut stop = Some(stop);
    let mut capture = Capture::new(cx.redactor(), &**cx.session().outputs());
    let running = poised.go();
    let work = blocking(move || {
        let in_force = running.in_force();
        let deadline = Instant::now() + limits.total.unwrap_or(Duration::MAX / 4);
        let listener = Listener { chunks, deadline };
        let deadlines = Deadlines {
            total: limits.total,
            idle: limits.idle,
        };
        let finished = running.drive(deadlines, Some(stopped.as_fd()), |stream, bytes| {
            capture.push(stream, bytes);
            listener.tell(stream, bytes);
        });
        capture.finish();
        Ok(Over {
            finished,
            in_force,
            capture,
        })
    });
    tokio::pin!(work);
    let over = loop {
        tokio::select! {
            Some((stream, bytes)) = arriving.recv() => show(cx, stream, &bytes).await,
            over = &mut work => break over?,
            () = cx.cancel().cancelled(), if stop.is_some() => stop = None,
        }
    };
    while let Ok((stream, bytes)) = arriving.try_recv() {
        show(cx, stream, &bytes).await;
    }
    settle(over, limits, around, cx)
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

/// Hands chunks to whoever shows them. A slow listener makes the command wait, but not
/// beyond its deadline.
struct Listener {
    chunks: mpsc::Sender<(Stream, Vec<u8>)>,
    deadline: Instant,
}

impl Listener {
    fn tell(&self, stream: Stream, bytes: &[u8]) {
        let chunk = (stream, bytes.to_vec());
        let Err(mpsc::error::TrySendError::Full(chunk)) = self.chunks.try_send(chunk) else {
            return;
        };
        let send = tokio::time::timeout_at(self.deadline, self.chunks.send(chunk));
        // Too late, or nobody there any more: the output itself is in the capture.
        let _ = tokio::runtime::Handle::current().block_on(send);
    }
}

fn settle(
    over: Over,
    limits: Limits,
    around: &HintContext<'_>,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let Over {
        finished,
        in_force,
        mut capture,
    } = over;
    let mut ending = Ending::of(&finished, limits);
    let mut hints = Vec::new();
    if ending.error.is_some() && finished.cause == Cause::Itself {
        let stderr = capture.start_of_stderr(MOST_COMPLAINTS);
        let HintContext {
            cwd,
            settings,
            sandbox,
        } = around;
        let more: Vec<Grant> = cx.opened().iter().map(opened).collect();
        let reach = sandbox.reach(&more);
        let refused = &finished.refused;
        hints = denial::hints(&stderr, cwd, in_force.network, settings, &reach, refused);
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
