//! Who writes when: one at a time, on a thread of its own or the one that asks.
//!
//! ```text
//! ask ──▶ waiting ──▶ thread: all that waits, one commit ──▶ room in the log for the next ones
//!   └── at once: nobody is writing, and the one who asks does it ─── no other thread is woken
//!
//! nobody waits: the log is folded into the file, a sign of life is given
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Point;
use super::lease::BEAT_MS;
use super::room::Room;
use super::writer::{Request, Writer};

/// So many requests share a commit at most.
const TOGETHER: usize = 256;
/// Nobody has waited for this long: time to fold the log into the file.
const QUIET: Duration = Duration::from_millis(200);

/// Where requests are handed in. Whoever lets go of it waits for what was asked.
pub(crate) struct Desk {
    shared: Arc<Shared>,
    to: Option<Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Whoever writes holds it. A writer that panicked writes no more.
    writer: Mutex<Writer>,
    /// How many requests were handed in and not begun. It becomes smaller only while the
    /// writer is held, so whoever holds it and sees none overtakes nobody.
    waiting: AtomicUsize,
}

impl Desk {
    /// Opens it, with a thread for what is handed in.
    pub(crate) fn open(writer: Writer, folds_when_quiet: bool) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            writer: Mutex::new(writer),
            waiting: AtomicUsize::new(0),
        });
        let (to, requests) = channel();
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                // Nothing to say: whoever waits learns it by not being answered.
                let _ = its.write(&requests, folds_when_quiet);
            })?;
        Ok(Self {
            shared,
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Leaves it to the thread, which commits what waits together.
    pub(crate) fn hand_in(&self, request: Box<dyn Request>) {
        if let Some(to) = &self.to {
            self.shared.waiting.fetch_add(1, Ordering::SeqCst);
            // One that is not taken is dropped, and its asker learns that.
            let _ = to.send(request);
        }
    }

    /// Does it here and now, or leaves it to the thread where somebody is writing or waiting
    /// already: at most one asker is held up, by the disk and by nobody else.
    pub(crate) fn do_at_once(&self, request: Box<dyn Request>) {
        let nobody_waits = || self.shared.waiting.load(Ordering::SeqCst) == 0;
        let left = match self.shared.writer.try_lock() {
            Ok(mut writer) if nobody_waits() => writer.commit_at_once(request),
            _ => Err(request),
        };
        if let Err(request) = left {
            self.hand_in(request);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(self.to.take());
        let here = std::thread::current().id();
        // The thread itself can be the last to let go of a journal, and cannot wait for itself.
        let thread = self.thread.take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != here) {
            // A writer that panicked has told everybody by not answering.
            let _ = thread.join();
        }
    }
}

/// A writer panicked in the middle of something.
struct Broken;

impl Shared {
    fn lock(&self) -> Result<MutexGuard<'_, Writer>, Broken> {
        self.writer.lock().map_err(|_| Broken)
    }

    /// Works until nobody can ask any more.
    fn write(
        &self,
        requests: &Receiver<Box<dyn Request>>,
        folds_when_quiet: bool,
    ) -> Result<(), Broken> {
        let (clock, mut room) = {
            let writer = self.lock()?;
            (Arc::clone(&writer.clock), Room::of(&writer.db))
        };
        let mut beat_ms = clock.now_ms();
        let mut unfolded = false;
        loop {
            let patience = if unfolded && folds_when_quiet {
                QUIET
            } else {
                Duration::from_millis(BEAT_MS)
            };
            match requests.recv_timeout(patience) {
                Ok(first) => {
                    let mut writer = self.lock()?;
                    let mut together = vec![first];
                    together.extend(requests.try_iter().take(TOGETHER - 1));
                    self.waiting.fetch_sub(together.len(), Ordering::SeqCst);
                    writer.commit(together);
                    if room.after_commit(&mut writer.db) {
                        writer.at(Point::Lengthened);
                    }
                    unfolded = true;
                }
                Err(RecvTimeoutError::Timeout) => unfolded = self.fold(folds_when_quiet)?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now_ms = clock.now_ms();
            if now_ms.saturating_sub(beat_ms) >= BEAT_MS {
                self.lock()?.beat(now_ms);
                beat_ms = now_ms;
            }
        }
        self.lock()?.release();
        Ok(())
    }

    /// Folds the log in if that is wanted and nobody is writing. Whether something is left.
    fn fold(&self, wanted: bool) -> Result<bool, Broken> {
        match self.writer.try_lock() {
            Ok(mut writer) => {
                if wanted && writer.unfolded {
                    writer.fold();
                }
                Ok(writer.unfolded)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Poisoned(_)) => Err(Broken),
        }
    }
}
