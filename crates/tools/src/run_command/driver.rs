//! Drives commands, in the foreground and in the background, without a thread for each.
//!
//! ```text
//!  start ──▶ a short wait on a blocking thread ──▶ over: most commands end here
//!                    │ still running, or in the background
//!                    ▼
//!            reactor: one thread waits for all ──▶ readable ──▶ steps on a blocking thread ──┐
//!                    ▲───────────────────────────────────────── nothing more to read ◀───────┤
//!                                                                          over ◀────────────┘
//! ```
//!
//! Reading, redacting and spooling can wait for a disk, so they never run on the caller's
//! runtime. A command that is silent holds no thread.

use std::future::pending;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use toolgate_model::ToolError;
use toolgate_sandbox::command::{
    Cause, Deadlines, Driving, Finished, InForce, Poised, Stream, Turn,
};

use super::ending::Limits;
use crate::blocking::{DroppedAside, blocking};

/// How many chunks one batch of steps reads at most.
const BATCH: usize = 16;

/// How long a blocking thread waits for a command that has just begun. Most commands are over
/// by then, and waking other threads for them takes longer than the wait.
const SHORT: Duration = Duration::from_millis(20);

/// How many commands may be waited for this way at once.
static SHORT_WAITS: Semaphore = Semaphore::const_new(4);

/// A piece of output.
pub(super) type Chunk = (Stream, Vec<u8>);

/// Takes what a command writes, and its end. It is called on threads that may wait.
pub(super) trait Sink: Send + 'static {
    /// What becomes of the command.
    type End: Send + 'static;

    /// Takes a piece of output.
    fn push(&mut self, stream: Stream, bytes: &[u8]);

    /// Whether so much came that the command is to be ended.
    fn is_flooded(&self) -> bool;

    /// Takes the end, after the last piece.
    fn end(self, finished: Finished, in_force: InForce) -> Self::End;
}

/// A command that runs, and where its output goes.
#[derive(Debug)]
pub(super) struct Job<S> {
    driving: Driving,
    sink: S,
    /// Whether somebody is shown the pieces.
    is_shown: bool,
}

/// A job between two batches. Ending a command takes a moment.
type Held<S> = DroppedAside<Job<S>>;

/// The result of some steps.
struct Batch<S: Sink> {
    chunks: Vec<Chunk>,
    next: Next<S>,
}

enum Next<S: Sink> {
    /// There may be more to read.
    More(Held<S>),
    /// Nothing is there to read.
    Wait(Held<S>),
    Over(Box<S::End>),
}

impl<S: Sink> Job<S> {
    /// Lets the command begin.
    pub(super) fn start(poised: Poised, limits: Limits, sink: S) -> Self {
        let deadlines = Deadlines {
            total: limits.total,
            idle: limits.idle,
        };
        Self {
            driving: poised.go().driving(deadlines),
            sink,
            is_shown: false,
        }
    }

    /// Reads until nothing is there, and waits for the first output until this moment.
    fn batch(mut self, until: Instant) -> Batch<S> {
        let mut chunks = Vec::new();
        let mut pieces = 0;
        loop {
            let left = match pieces {
                0 => until.saturating_duration_since(Instant::now()),
                _ => Duration::ZERO,
            };
            let turn = self.driving.step(left, |stream, bytes| {
                pieces += 1;
                self.sink.push(stream, bytes);
                if self.is_shown {
                    chunks.push((stream, bytes.to_vec()));
                }
            });
            if self.sink.is_flooded() && !matches!(turn, Turn::Over(_)) {
                return self.finish(Cause::Cancelled, chunks);
            }
            let next = match turn {
                Turn::Over(cause) => return self.finish(cause, chunks),
                Turn::More if pieces < BATCH => continue,
                Turn::Quiet if pieces == 0 && Instant::now() < until => continue,
                Turn::More => Next::More(Held::new(self)),
                Turn::Quiet => Next::Wait(Held::new(self)),
            };
            return Batch { chunks, next };
        }
    }

    fn finish(self, cause: Cause, mut chunks: Vec<Chunk>) -> Batch<S> {
        let Self {
            driving,
            mut sink,
            is_shown,
        } = self;
        let in_force = driving.running().in_force();
        let finished = driving.finish(cause, |stream, bytes| {
            sink.push(stream, bytes);
            if is_shown {
                chunks.push((stream, bytes.to_vec()));
            }
        });
        let end = sink.end(finished, in_force);
        Batch {
            chunks,
            next: Next::Over(Box::new(end)),
        }
    }
}

impl<S: Sink> Held<S> {
    /// Runs steps on a blocking thread, or ends the command if it was cancelled.
    async fn batch(
        self,
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<Batch<S>, ToolError> {
        let Some(job) = self.into_inner() else {
            return Err(crate::blocking::cancelled());
        };
        let cancelled = cancel.is_cancelled();
        blocking(move || {
            Ok(if cancelled {
                job.finish(Cause::Cancelled, Vec::new())
            } else {
                job.batch(until)
            })
        })
        .await
    }

    fn driving(&mut self) -> Option<&mut Driving> {
        self.get_mut().map(|job| &mut job.driving)
    }
}

/// Runs a command to its end and hands on its output.
pub(super) async fn drive<S: Sink>(
    mut job: Job<S>,
    limits: Limits,
    chunks: mpsc::Sender<Chunk>,
    cancel: &CancellationToken,
) -> Result<S::End, ToolError> {
    job.is_shown = true;
    let begun = Instant::now();
    let listener = Listener {
        chunks: Some(chunks),
        deadline: limits.total.map(|total| begun + total),
        cancel,
    };
    let mut held = Held::new(job);
    if let Ok(_short) = SHORT_WAITS.try_acquire() {
        let until = begun + SHORT;
        while Instant::now() < until {
            let batch = held.batch(until, cancel).await?;
            match listener.hand_on(batch).await {
                Next::Over(end) => return Ok(*end),
                Next::More(next) | Next::Wait(next) => held = next,
            }
        }
    }
    polled(held, &listener).await
}

/// The same for a command whose output nobody is shown while it runs.
pub(super) async fn drive_unseen<S: Sink>(
    job: Job<S>,
    cancel: &CancellationToken,
) -> Result<S::End, ToolError> {
    let listener = Listener {
        chunks: None,
        deadline: None,
        cancel,
    };
    polled(Held::new(job), &listener).await
}

/// Works on a command whenever its descriptors or its deadlines call for it.
async fn polled<S: Sink>(mut held: Held<S>, listener: &Listener<'_>) -> Result<S::End, ToolError> {
    let Some(events) = register(&mut held) else {
        return without_reactor(held, listener).await;
    };
    loop {
        let due = held.driving().and_then(|driving| driving.due());
        let mut ready = tokio::select! {
            ready = events.readable() => ready.ok(),
            () = at(due) => None,
            () = listener.cancel.cancelled() => None,
        };
        let batch = held.batch(Instant::now(), listener.cancel).await?;
        // An event that comes after the last step makes it ready again.
        if let (Some(ready), Next::Wait(_)) = (&mut ready, &batch.next) {
            ready.clear_ready();
        }
        match listener.hand_on(batch).await {
            Next::Over(end) => return Ok(*end),
            Next::More(next) | Next::Wait(next) => held = next,
        }
    }
}

/// Waits for a moment, if there is one.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => pending().await,
    }
}

/// Waits on a blocking thread, where the process has no descriptors or threads left for the
/// reactor.
async fn without_reactor<S: Sink>(
    mut held: Held<S>,
    listener: &Listener<'_>,
) -> Result<S::End, ToolError> {
    loop {
        let batch = held.batch(Instant::now() + SHORT, listener.cancel).await?;
        match listener.hand_on(batch).await {
            Next::Over(end) => return Ok(*end),
            Next::More(next) | Next::Wait(next) => held = next,
        }
    }
}

/// Has the reactor watch a command.
fn register<S: Sink>(held: &mut Held<S>) -> Option<AsyncFd<Arc<OwnedFd>>> {
    let events = held.driving()?.events().ok()?;
    let _reactor = reactor()?.enter();
    // The replacement is unsafe for the sake of types that can change their descriptor. This one
    // owns it, and keeps it open for as long as it is registered.
    #[allow(deprecated)]
    AsyncFd::with_interest(events, Interest::READABLE).ok()
}

/// The thread that waits for the descriptors of all commands. It is not the caller's runtime,
/// which need not have been built with I/O.
fn reactor() -> Option<&'static Handle> {
    static REACTOR: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .ok()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new()
            .name("toolgate-reactor".to_owned())
            .spawn(move || runtime.block_on(std::future::pending::<()>()))
            .ok()?;
        Some(handle)
    };
    REACTOR.get_or_init(start).as_ref()
}

/// Hands chunks to the task that shows them. A slow listener makes the command wait, but not
/// beyond its deadline.
struct Listener<'a> {
    chunks: Option<mpsc::Sender<Chunk>>,
    deadline: Option<Instant>,
    cancel: &'a CancellationToken,
}

impl Listener<'_> {
    async fn hand_on<S: Sink>(&self, batch: Batch<S>) -> Next<S> {
        let Batch { chunks, mut next } = batch;
        let was_silent = chunks.is_empty();
        for chunk in chunks {
            self.tell(chunk).await;
        }
        if !was_silent
            && let Next::More(held) | Next::Wait(held) = &mut next
            && let Some(driving) = held.driving()
        {
            driving.handed_on();
        }
        next
    }

    async fn tell(&self, chunk: Chunk) {
        let Some(chunks) = &self.chunks else {
            return;
        };
        let Err(mpsc::error::TrySendError::Full(chunk)) = chunks.try_send(chunk) else {
            return;
        };
        // Too late, or the listener is gone: the output itself is with the sink.
        tokio::select! {
            _ = chunks.send(chunk) => {}
            () = at(self.deadline) => {}
            () = self.cancel.cancelled() => {}
        }
    }
}
