//! Who writes when: one at a time, the thread that asks or one for what has to wait.
//!
//! ```text
//! ask ─┬─ nobody is writing: the one who asks does it ──┬──▶ a commit
//!      └─ else it waits ──▶ thread: all that waits ─────┘
//!
//! thread: between two commits the log gets room for the next ones, where it keeps growing;
//!         in a quiet moment it is folded into the file; a sign of life is given
//! ```

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use super::lease::BEAT_MS;
use super::writer::{Request, Writer};

/// So many requests share a commit at most.
const TOGETHER: usize = 256;
/// Nobody has waited for this long: time to fold the log into the file.
const QUIET: Duration = Duration::from_millis(200);

/// Where requests are handed in. Whoever lets go of it waits for what was asked.
pub(crate) struct Desk {
    shared: Arc<Shared>,
    to: Option<Sender<Errand>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is woken for.
enum Errand {
    /// Somebody waits for an answer.
    Request(Box<dyn Request>),
    /// Something was written without it: there is a log to look after.
    Written,
}

struct Shared {
    /// Whoever writes holds it. A writer that panicked writes no more.
    writer: Mutex<Writer>,
    /// How many requests were handed in and not begun. It becomes smaller only while the
    /// writer is held, so whoever holds it and sees none overtakes nobody.
    waiting: AtomicUsize,
    /// Whether the thread watches for a quiet moment.
    watched: AtomicBool,
}

impl Desk {
    /// Opens it, with a thread for what has to wait.
    pub(crate) fn open(writer: Writer, folds_when_quiet: bool) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            writer: Mutex::new(writer),
            waiting: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
        });
        let (to, errands) = channel();
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                // Nothing to say: whoever waits learns it by not being answered.
                let _ = its.write(&errands, folds_when_quiet);
            })?;
        Ok(Self {
            shared,
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Leaves it to the thread, which commits what waits together.
    pub(crate) fn hand_in(&self, request: Box<dyn Request>) {
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        self.send(Errand::Request(request));
    }

    fn send(&self, errand: Errand) {
        if let Some(to) = &self.to {
            // A request that is not taken is dropped, and its asker learns that.
            let _ = to.send(errand);
        }
    }

    /// Does it here and now, or leaves it to the thread where somebody is writing or waiting
    /// already: at most one asker is held up, by the disk and by nobody else.
    pub(crate) fn do_at_once(&self, request: Box<dyn Request>) {
        let nobody_waits = || self.shared.waiting.load(Ordering::SeqCst) == 0;
        let (left, room_wanted) = match self.shared.writer.try_lock() {
            Ok(mut writer) if nobody_waits() => match writer.commit_at_once(request) {
                Ok(()) => (None, writer.looks_for_room()),
                Err(request) => (Some(request), false),
            },
            _ => (Some(request), false),
        };
        if let Some(request) = left {
            self.hand_in(request);
        } else if !self.shared.watched.swap(true, Ordering::SeqCst) || room_wanted {
            self.send(Errand::Written);
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
    fn write(&self, errands: &Receiver<Errand>, folds_when_quiet: bool) -> Result<(), Broken> {
        let clock = Arc::clone(&self.lock()?.clock);
        let mut beat_ms = clock.now_ms();
        let mut folded = 0;
        let mut seen = 0;
        loop {
            let watched = folds_when_quiet && self.watched.load(Ordering::SeqCst);
            let beat = Duration::from_millis(BEAT_MS);
            match errands.recv_timeout(if watched { QUIET } else { beat }) {
                Ok(first) => {
                    self.watched.store(true, Ordering::SeqCst);
                    seen = self.answer(first, errands)?;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let mut writer = self.lock()?;
                    // Whoever wrote since the last look may write again at once.
                    let quiet = writer.commits == seen;
                    seen = writer.commits;
                    if quiet && folds_when_quiet && seen != folded {
                        writer.fold();
                        folded = seen;
                    }
                    // Who writes after this sees it, and wakes this thread.
                    self.watched.store(seen != folded, Ordering::SeqCst);
                }
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

    /// Commits what waits, and makes room in the log where it is wanted. How many commits
    /// there were.
    fn answer(&self, first: Errand, errands: &Receiver<Errand>) -> Result<u64, Broken> {
        let mut writer = self.lock()?;
        let waiting = std::iter::once(first).chain(errands.try_iter());
        let together: Vec<Box<dyn Request>> = waiting
            .filter_map(|errand| match errand {
                Errand::Request(request) => Some(request),
                Errand::Written => None,
            })
            .take(TOGETHER)
            .collect();
        self.waiting.fetch_sub(together.len(), Ordering::SeqCst);
        if !together.is_empty() {
            writer.commit(together);
        }
        if writer.looks_for_room() {
            writer.make_room();
        }
        Ok(writer.commits)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use futures::executor::block_on;

    use crate::sqlite::work::Work;
    use crate::sqlite::writer::Task;
    use crate::{Options, Point, SqliteJournal};

    #[test]
    fn what_was_written_without_the_thread_is_folded_in_by_it_after_every_busy_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.db");
        let (to, folded) = channel();
        let hook = move |point| {
            if point == Point::Folded {
                to.send(()).unwrap();
            }
        };
        let options = Options {
            hook: Some(Arc::new(hook)),
            ..Options::default()
        };
        let journal = SqliteJournal::open(file, options).unwrap();
        let desk = &journal.inner.desk;
        for _ in 0..3 {
            // The thread is done with the log.
            drop(desk.shared.writer.lock().unwrap());
            let (request, answer) = Task::new(true, |_: &mut Work<'_>| Ok(()));
            desk.do_at_once(Box::new(request));
            block_on(answer).unwrap().unwrap();
            // By itself the thread looks every half minute.
            folded.recv_timeout(Duration::from_secs(15)).unwrap();
        }
    }

    #[test]
    fn nobody_who_waits_is_overtaken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.db");
        let journal = SqliteJournal::open(file, Options::default()).unwrap();
        let desk = &journal.inner.desk;
        for _ in 0..100 {
            let done = Arc::new(Mutex::new(Vec::new()));
            let request = |name| {
                let done = Arc::clone(&done);
                let task = move |_: &mut Work<'_>| {
                    done.lock().unwrap().push(name);
                    Ok(())
                };
                let (request, answer) = Task::new(true, task);
                (Box::new(request), answer)
            };
            let writing = desk.shared.writer.lock().unwrap();
            let (first, _) = request("first");
            desk.hand_in(first);
            drop(writing);
            // Nobody is writing now: the thread has to wake for that.
            let (second, answer) = request("second");
            desk.do_at_once(second);
            block_on(answer).unwrap().unwrap();
            assert_eq!(*done.lock().unwrap(), ["first", "second"]);
        }
    }
}
