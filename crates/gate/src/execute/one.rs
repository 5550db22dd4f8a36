//! One call, from its start to what came of it.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use toolgate_model::{ErrorKind, ToolError};
use tracing::Instrument;

use super::hold::Stuck;
use super::timers::Timers;
use super::{Claim, Hold, Locks, PathGuard, Stop};
use crate::panics::payload_text;
use crate::settle::Outcome;
use crate::tool::{Ahead, Invocation, Output, RunCtx};

/// How long a tool may take to notice that it should stop.
const TO_NOTICE: Duration = Duration::from_millis(400);
/// How long dropping its future may take after that. Together less than a second.
const TO_DROP: Duration = Duration::from_millis(200);
/// So many bytes of a tool's own error are added after the pipeline's.
const OWN_WORDS: usize = 1_000;
/// A deadline that no clock can show is this far away instead.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A call that is about to run.
pub(crate) struct Job<'a> {
    pub(crate) invocation: Box<dyn Invocation>,
    /// Its locks.
    pub(crate) paths: PathGuard,
    pub(crate) cx: RunCtx,
    pub(crate) limit: Duration,
    /// Ends it from outside; the context's own token tells it so.
    pub(crate) stop: Stop<'a>,
    pub(crate) span: tracing::Span,
}

/// How a run came to its end.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// How long the tool ran; nothing if it never began.
    pub(crate) ran_for: Option<Duration>,
    /// The tool ignored that it should stop and is still at it.
    pub(crate) still_running: bool,
}

/// Runs invocations, each in its own task.
#[derive(Clone)]
pub(crate) struct Runner {
    locks: Locks,
    /// Taken by commands while they run.
    commands: Arc<Semaphore>,
    max_commands: usize,
    stuck: Stuck,
    timers: Arc<Timers>,
}

/// The tool at work. If its waiter goes away, it is cancelled and ended.
struct Work {
    task: JoinHandle<Ended>,
    told: CancellationToken,
}

type Ended = Result<Result<Output, ToolError>, Box<dyn Any + Send>>;

impl Drop for Work {
    fn drop(&mut self) {
        if !self.task.is_finished() {
            self.told.cancel();
            self.task.abort();
        }
    }
}

impl Runner {
    pub(crate) fn new(max_commands: usize) -> Self {
        let max_commands = max_commands.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            locks: Locks::of_process(),
            commands: Arc::new(Semaphore::new(max_commands)),
            max_commands,
            stuck: Stuck::default(),
            timers: Arc::default(),
        }
    }

    /// How many tools were given up on and still run.
    pub(crate) fn still_running(&self) -> usize {
        self.stuck.count()
    }

    /// Waits until nothing conflicts with a call and, if it is a command, until there is a turn
    /// for it; or until the call is stopped. The wait counts
    /// into no deadline: other calls have deadlines of their own. Only a tool that was given up
    /// on may never end, so for that one a call waits no longer than it may run.
    pub(crate) async fn locked(
        &self,
        claim: &Claim,
        is_command: bool,
        limit: Duration,
        stop: Stop<'_>,
    ) -> Result<PathGuard, ToolError> {
        let mut acquired = pin!(async {
            let mut paths = self.locks.acquire(claim.clone()).await;
            if is_command {
                // It is never closed.
                paths.turn = Arc::clone(&self.commands).acquire_owned().await.ok();
            }
            paths
        });
        loop {
            tokio::select! {
                biased;
                () = stop.set() => return Err(cancelled()),
                paths = &mut acquired => return Ok(paths),
                () = tokio::time::sleep(limit.min(FAR)) => {}
            }
            if self.locks.is_stuck(claim) || is_command && self.stuck.count() >= self.max_commands {
                return Err(ToolError::retryable(
                    ErrorKind::Timeout,
                    format!(
                        "waited {} for a file or directory that an earlier call still uses; nothing was run",
                        shown(limit)
                    ),
                ));
            }
        }
    }

    /// Has a call get ready whose locks are held.
    pub(crate) fn prepare(
        invocation: &mut dyn Invocation,
        ahead: &Ahead<'_>,
    ) -> Result<(), ToolError> {
        let prepare = AssertUnwindSafe(|| invocation.prepare(ahead));
        std::panic::catch_unwind(prepare).map_err(|payload| panicked(&*payload))
    }

    /// Runs an invocation within its time. `ground` is waited for while the locks are
    /// held: what it says about files then holds until the tool ends.
    pub(crate) async fn run(
        &self,
        job: Job<'_>,
        ground: impl Future<Output = Result<(), ToolError>>,
    ) -> Ending {
        let Job {
            invocation,
            paths,
            mut cx,
            limit,
            stop,
            span,
        } = job;
        let ground = tokio::select! {
            biased;
            ground = ground => ground,
            () = stop.set() => Err(cancelled()),
        };
        if let Err(error) = ground {
            return Ending {
                outcome: Outcome::Stopped(error),
                ran_for: None,
                still_running: false,
            };
        }
        let began = Instant::now();
        let deadline = began.checked_add(limit).unwrap_or_else(|| began + FAR);

        let hold = Arc::new(Hold::new(paths));
        let lives = Arc::downgrade(&hold);
        cx.hold(Arc::clone(&hold));
        let told = cx.cancel().clone();
        let work = async move {
            let _hold = hold;
            invocation.run(cx).await
        };
        let task = tokio::spawn(AssertUnwindSafe(work).catch_unwind().instrument(span));
        let mut work = Work { task, told };

        self.timers.wind();
        let why = tokio::select! {
            biased;
            ended = &mut work.task => {
                if let Some(hold) = lives.upgrade() {
                    hold.free();
                }
                return Ending {
                    outcome: outcome(ended),
                    ran_for: Some(began.elapsed()),
                    still_running: false,
                };
            }
            () = stop.set() => cancelled(),
            () = tokio::time::sleep_until(deadline) => ToolError::new(
                ErrorKind::Timeout,
                format!("ran out of time after {}; give it less to do or a longer timeout", shown(limit)),
            ),
        };

        work.told.cancel();
        let mut late = timeout(TO_NOTICE, &mut work.task).await.ok();
        if late.is_none() {
            work.task.abort();
            late = timeout(TO_DROP, &mut work.task).await.ok();
        }
        let alive = lives.upgrade();
        if let Some(hold) = &alive {
            hold.give_up(&self.stuck);
        }
        let outcome = match late {
            // What it had so far is kept; how it ended is told by the pipeline, not by the tool.
            Some(Ok(Ok(Ok(output)))) => Outcome::CutShort(output, why),
            Some(Ok(Ok(Err(own)))) => Outcome::Stopped(why_with(why, &own)),
            _ => Outcome::Stopped(why),
        };
        Ending {
            outcome,
            ran_for: Some(began.elapsed()),
            still_running: alive.is_some(),
        }
    }
}

fn outcome(ended: Result<Ended, JoinError>) -> Outcome {
    match ended {
        Ok(Ok(outcome)) => Outcome::Ran(outcome),
        Ok(Err(payload)) => Outcome::Stopped(panicked(&*payload)),
        Err(join) => Outcome::Stopped(match join.try_into_panic() {
            Ok(payload) => panicked(&*payload),
            // The runtime is being shut down.
            Err(_) => cancelled(),
        }),
    }
}

/// Why the pipeline ended a tool, and the tool's own words about it, if it has any.
fn why_with(mut why: ToolError, own: &ToolError) -> ToolError {
    let words = own.message.trim();
    // That it was told to stop is known.
    if own.kind == ErrorKind::Cancelled || words.is_empty() {
        return why;
    }
    let kept = words.get(..words.floor_char_boundary(OWN_WORDS));
    why.message.push_str("; the tool said: ");
    why.message.push_str(kept.unwrap_or_default());
    why
}

fn panicked(payload: &(dyn Any + Send)) -> ToolError {
    ToolError::new(
        ErrorKind::Panicked,
        format!("Tool panicked: {}", payload_text(payload)),
    )
}

/// The error of a call that was stopped.
pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "Cancelled by user")
}

/// A time limit in words.
pub(crate) fn shown(limit: Duration) -> String {
    if limit.subsec_nanos() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}
