//! A command that is waited for.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use toolgate_gate::tool::{Output, OutputLimits, RunCtx};
use toolgate_model::{Stream as EventStream, ToolError};
use toolgate_sandbox::command::{
    Cause, CommandSandbox, Finished, Grant, InForce, Network, Poised, Refused, Stream,
};

use super::capture::{Capture, Rest};
use super::denial;
use super::driver::{Job, Sink, drive};
use super::ending::{Ending, Limits};
use super::settings::CommandSettings;
use super::{RunCommand, layers, opened};

/// How many chunks may wait for a listener before the command waits for it too.
const CHUNKS: usize = 16;

/// How much of standard error is searched for signs of a denial.
pub(super) const MOST_COMPLAINTS: u64 = 64 * 1024;

/// Lets a command begin and waits for its end.
pub(super) async fn run(
    args: &RunCommand,
    poised: Poised,
    around: HintContext,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let limits = Limits {
        total: Some(args.total(&around.settings)),
        idle: args.idle(),
    };
    let shown = Shown {
        capture: Capture::new(cx.redactor(), &**cx.session().outputs()),
        limits,
        around,
        command: args.command.clone(),
        more: cx.opened().directories.iter().map(opened).collect(),
        room: cx.limits(),
    };
    let (chunks, mut arriving) = mpsc::channel(CHUNKS);
    let driven = drive(
        Job::start(poised, limits, shown),
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
    match over?? {
        (output, None) => Ok(output),
        (output, Some(rest)) => Ok(rest.keep(cx.session(), output).await),
    }
}

/// The data that hints about denials need.
pub(super) struct HintContext {
    pub(super) cwd: PathBuf,
    pub(super) settings: Arc<CommandSettings>,
    pub(super) sandbox: CommandSandbox,
}

impl HintContext {
    /// The likely causes of a failure, a line each, to be pasted as they are.
    pub(super) fn hints(
        &self,
        said: &str,
        command: &str,
        network: Network,
        more: &[Grant],
        refused: &[Refused],
    ) -> Vec<String> {
        let reach = self.sandbox.reach(more);
        let (cwd, settings) = (&self.cwd, &self.settings);
        let hints = denial::hints(said, command, cwd, network, settings, &reach, refused);
        hints.iter().map(|hint| settings.merged(hint)).collect()
    }
}

/// Gathers the output of a command, and makes a result of it at its end.
struct Shown {
    capture: Capture,
    limits: Limits,
    around: HintContext,
    command: String,
    /// The directories that an approver opened to it.
    more: Vec<Grant>,
    room: OutputLimits,
}

impl Sink for Shown {
    type End = Result<(Output, Option<Rest>), ToolError>;

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.capture.push(stream, bytes);
    }

    fn is_flooded(&self) -> bool {
        self.capture.flood().is_some()
    }

    fn end(mut self, finished: Finished, in_force: InForce) -> Self::End {
        self.capture.finish();
        self.settle(&finished, in_force)
    }
}

async fn show(cx: &RunCtx, stream: Stream, bytes: &[u8]) {
    let stream = match stream {
        Stream::Stdout => EventStream::Stdout,
        Stream::Stderr => EventStream::Stderr,
    };
    cx.emit(stream, bytes).await;
}

impl Shown {
    fn settle(
        self,
        finished: &Finished,
        in_force: InForce,
    ) -> Result<(Output, Option<Rest>), ToolError> {
        let Self {
            mut capture,
            limits,
            around,
            command,
            more,
            room,
        } = self;
        let mut ending = Ending::of(finished, limits, capture.flood());
        ending.last_word = around.settings.merged(&ending.last_word);
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
            let (network, refused) = (in_force.network, &finished.refused);
            hints = around.hints(&said, &command, network, &more, refused);
            ending.add(&hints);
            if matches!(finished.cause, Cause::Timeout | Cause::IdleTimeout) {
                said.push_str(&capture.start_of_stdout(MOST_COMPLAINTS));
                ending.last_word.push_str(denial::server(&said));
            }
        }
        if ending.error.is_none() && command.contains("git") {
            let said = capture.start_of_stderr(MOST_COMPLAINTS);
            ending.error = denial::left_out(&said);
        }
        let (mut output, rest) = capture.into_output(ending.last_word, room)?;
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
        Ok((output, rest))
    }
}
