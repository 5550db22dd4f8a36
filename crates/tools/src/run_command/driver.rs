//! Drives commands in the foreground without a thread for each.
//!
//! ```text
//!  start ──▶ a short wait on a blocking thread ──▶ over: most commands end here
//!                    │ still running
//!                    ▼
//!            reactor: one thread waits for all ──▶ readable ──▶ steps on a blocking thread ──┐
//!                    ▲───────────────────────────────────────── nothing more to read ◀───────┤
//!                                                                          over ◀────────────┘
//! ```
//!
//! Reading, redacting and spooling can wait for a disk, so they never run on the caller's
//! runtime. A command that is silent holds no thread.

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

use super::capture::Capture;
use super::ending::Limits;
use crate::blocking::blocking;

/// How many chunks one batch of steps reads at most.
const BATCH: usize = 16;

/// How long a blocking thread waits for a command that has just begun. Most commands are over
/// by then, and waking other threads for them takes longer than the wait.
const SHORT: Duration = Duration::from_millis(20);

/// How many commands may be waited for this way at once.
static SHORT_WAITS: Semaphore = Semaphore::const_new(4);

/// A piece of output.
pub(super) type Chunk = (Stream, Vec<u8>);

/// A command that is over, and its output.
pub(super) struct Over {
    pub(super) finished: Finished,
    pub(super) in_force: InForce,
    pub(super) capture: Capture,
}

/// A command that runs, and its output so far.
#[derive(Debug)]
pub(super) struct Job {
    driving: Driving,
    capture: Capture,
}

/// A job between two batches. Ending a command takes a moment, so a job that is dropped is
/// dropped on a blocking thread.
struct Held(Option<Job>);

/// The result of some steps.
struct Batch {
    chunks: Vec<Chunk>,
    next: Next,
}

enum Next {
    /// There may be more to read.
    More(Held),
    /// Nothing is there to read.
    Wait(Held),
    Over(Box<Over>),
}

impl Job {
    /// Lets the command begin.
    pub(super) fn start(poised: Poised, limits: Limits, capture: Capture) -> Self {
        let deadlines = Deadlines {
            total: limits.total,
            idle: limits.idle,
        };
        Self {
            driving: poised.go().driving(deadlines),
            capture,
        }
    }

    /// Reads until nothing is there, and waits for the first output until this moment.
    fn batch(mut self, until: Instant) -> Batch {
        let mut chunks = Vec::new();
        loop {
            let left = if chunks.is_empty() {
                until.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            let turn = self.driving.step(left, |stream, bytes| {
                self.capture.push(stream, bytes);
                chunks.push((stream, bytes.to_vec()));
            });
            let next = match turn {
                Turn::Over(cause) => return self.finish(cause, chunks),
                Turn::More if chunks.len() < BATCH => continue,
                Turn::Quiet if chunks.is_empty() && Instant::now() < until => continue,
                Turn::More => Next::More(Held(Some(self))),
                Turn::Quiet => Next::Wait(Held(Some(self))),
            };
            return Batch { chunks, next };
        }
    }

    fn finish(self, cause: Cause, mut chunks: Vec<Chunk>) -> Batch {
        let Self {
            driving,
            mut capture,
        } = self;
        let in_force = driving.running().in_force();
        let finished = driving.finish(cause, |stream, bytes| {
            capture.push(stream, bytes);
            chunks.push((stream, bytes.to_vec()));
        });
        capture.finish();
        let over = Over {
            finished,
            in_force,
            capture,
        };
        Batch {
            chunks,
            next: Next::Over(Box::new(over)),
        }
    }
}

impl Held {
    /// Runs steps on a blocking thread, or ends the command if it was cancelled.
    async fn batch(
        mut self,
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<Batch, ToolError> {
        let Some(job) = self.0.take() else {
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
        self.0.as_mut().map(|job| &mut job.driving)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(job) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            drop(runtime.spawn_blocking(move || drop(job)));
        }
    }
}

/// Runs a command to its end and hands on its output.
pub(super) async fn drive(
    job: Job,
    limits: Limits,
    chunks: mpsc::Sender<Chunk>,
    cancel: &CancellationToken,
) -> Result<Over, ToolError> {
    let begun = Instant::now();
    let deadline = begun + limits.total.unwrap_or(Duration::MAX / 4);
    let listener = Listener {
        chunks,
        deadline: deadline.into(),
        cancel,
    };
    let mut held = Held(Some(job));
    if let Ok(_short) = SHORT_WAITS.try_acquire() {
        let until = begun + SHORT;
        while Instant::now() < until {
            let batch = held.batch(until, cancel).await?;
            match listener.hand_on(batch).await {
                Next::Over(over) => return Ok(*over),
                Next::More(next) | Next::Wait(next) => held = next,
            }
        }
    }
    let Some(events) = register(&mut held) else {
        return without_reactor(held, &listener).await;
    };
    loop {
        let due = held.driving().and_then(|driving| driving.due());
        let due = due.unwrap_or(deadline);
        let mut ready = tokio::select! {
            ready = events.readable() => ready.ok(),
            () = tokio::time::sleep_until(due.into()) => None,
            () = cancel.cancelled() => None,
        };
        let batch = held.batch(Instant::now(), cancel).await?;
        // An event that comes after the last step makes it ready again.
        if let (Some(ready), Next::Wait(_)) = (&mut ready, &batch.next) {
            ready.clear_ready();
        }
        match listener.hand_on(batch).await {
            Next::Over(over) => return Ok(*over),
            Next::More(next) | Next::Wait(next) => held = next,
        }
    }
}

/// Waits on a blocking thread, where the process has no descriptors or threads left for the
/// reactor.
async fn without_reactor(mut held: Held, listener: &Listener<'_>) -> Result<Over, ToolError> {
    loop {
        let batch = held.batch(Instant::now() + SHORT, listener.cancel).await?;
        match listener.hand_on(batch).await {
            Next::Over(over) => return Ok(*over),
            Next::More(next) | Next::Wait(next) => held = next,
        }
    }
}

/// Has the reactor watch a command.
fn register(held: &mut Held) -> Option<AsyncFd<Arc<OwnedFd>>> {
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
    chunks: mpsc::Sender<Chunk>,
    deadline: tokio::time::Instant,
    cancel: &'a CancellationToken,
}

impl Listener<'_> {
    async fn hand_on(&self, batch: Batch) -> Next {
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
        let Err(mpsc::error::TrySendError::Full(chunk)) = self.chunks.try_send(chunk) else {
            return;
        };
        // Too late, or the listener is gone: the output itself is in the capture.
        tokio::select! {
            _ = tokio::time::timeout_at(self.deadline, self.chunks.send(chunk)) => {}
            () = self.cancel.cancelled() => {}
        }
    }
}
