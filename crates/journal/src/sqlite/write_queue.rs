//! Who writes when: one at a time, the thread that asks or one for what has to wait.
//!
//! ```text
//! ask ─┬─ nobody is writing: the one who asks does it ──┬──▶ a commit
//!      └─ else it waits ──▶ thread: all that waits ─────┘
//!
//! thread: between two commits the log gets room for the next ones, where it keeps growing, and
//!         is folded into the file where it is long; in a quiet moment it is folded in as well;
//!         a sign of life is given
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::lease::BEAT_MS;
use super::writer::{Request, Writer};

/// So many errands are taken at once, and their requests share a commit.
const TOGETHER: usize = 256;
/// Nobody has waited for this long: time to fold the log into the file.
const QUIET: Duration = Duration::from_millis(200);

/// Where requests are handed in. Whoever lets go of it waits for what was asked.
pub(crate) struct WriteQueue {
    shared: Arc<Shared>,
    to: Option<Sender<Errand>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is woken for: somebody who waits for an answer, or a log to look after.
type Errand = Option<Box<dyn Request>>;

struct Shared {
    /// Whoever writes holds it. A writer that panicked writes no more.
    writer: Mutex<Writer>,
    /// How many errands were handed in and not begun. It becomes smaller only while the
    /// writer is held, so whoever holds it and sees none overtakes nobody.
    waiting: AtomicUsize,
}

impl WriteQueue {
    /// Opens it, with a thread for what has to wait.
    pub(crate) fn open(writer: Writer, folds_when_quiet: bool) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            writer: Mutex::new(writer),
            waiting: AtomicUsize::new(0),
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
        self.send(Some(request));
    }

    fn send(&self, errand: Errand) {
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        if let Some(to) = &self.to {
            // A request that is not taken is dropped, and its asker learns that.
            let _ = to.send(errand);
        }
    }

    /// Does it here and now, or leaves it to the thread where somebody is writing or waiting
    /// already: at most one asker is held up, by the disk and by nobody else.
    pub(crate) fn do_at_once(&self, request: Box<dyn Request>) {
        let errand = match self.shared.writer.try_lock() {
            Ok(mut writer) if self.shared.waiting.load(Ordering::SeqCst) == 0 => {
                let was_folded = writer.is_folded();
                match writer.commit_at_once(request) {
                    // The thread watches for a quiet moment while there is something to fold.
                    // What it has to do before the next commit counts as waiting.
                    Ok(()) if writer.looks_at_log() || was_folded => None,
                    Ok(()) => return,
                    Err(request) => Some(request),
                }
            }
            _ => Some(request),
        };
        self.send(errand);
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        drop(self.to.take());
        let here = std::thread::current().id();
        // The thread itself can be the last to let go of a journal, and cannot wait for itself.
        let thread = self.thread.take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != here) {
            // A writer that panicked has told everybody by not answering.
            let _ = thread.join();
        }
        // The thread itself holds it where it is the last to let go.
        if let Err(TryLockError::Poisoned(poisoned)) = self.shared.writer.try_lock() {
            poisoned.into_inner().abandon();
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
        let (mut watches, mut seen) = (false, 0);
        loop {
            let beat = Duration::from_millis(BEAT_MS);
            let errand = match errands.recv_timeout(if watches { QUIET } else { beat }) {
                Ok(errand) => Some(errand),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut writer = self.lock()?;
            match errand {
                Some(first) => self.answer(&mut writer, first, errands),
                // Whoever wrote since the last look may write again at once.
                None if watches && writer.tried == seen => writer.fold(),
                None => {}
            }
            // Who writes when everything is folded in wakes this thread.
            watches = folds_when_quiet && !writer.is_folded();
            seen = writer.tried;
            let now_ms = clock.now_ms();
            if now_ms.saturating_sub(beat_ms) >= BEAT_MS {
                writer.beat(now_ms);
                beat_ms = now_ms;
            }
        }
        self.lock()?.release();
        Ok(())
    }

    /// Commits what waits, and looks after the log.
    fn answer(&self, writer: &mut Writer, first: Errand, errands: &Receiver<Errand>) {
        let waiting = std::iter::once(first).chain(errands.try_iter());
        let taken: Vec<Errand> = waiting.take(TOGETHER).collect();
        self.waiting.fetch_sub(taken.len(), Ordering::SeqCst);
        let together: Vec<Box<dyn Request>> = taken.into_iter().flatten().collect();
        if !together.is_empty() {
            writer.commit(together);
        }
        if writer.looks_at_log() {
            writer.tends_log();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use futures::executor::block_on;

    use crate::sqlite::sqlite_error::SqliteError;
    use crate::sqlite::work::Work;
    use crate::sqlite::writer::Task;
    use toolgate_gate::journal::LeaseJournal;

    use crate::{Options, Point, SqliteJournal};

    #[test]
    fn what_was_written_without_the_thread_is_folded_in_by_it_after_every_busy_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
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
    fn who_asks_while_nobody_writes_or_waits_does_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
        let (to, committed) = channel();
        let hook = move |point| {
            if point == Point::Committed {
                to.send(std::thread::current().id()).unwrap();
            }
        };
        let options = Options {
            folds_when_quiet: false,
            hook: Some(Arc::new(hook)),
            ..Options::default()
        };
        let journal = SqliteJournal::open(file, options).unwrap();
        let desk = &journal.inner.desk;
        let note = |call: usize| {
            let name = call.to_string();
            Task::new(true, move |work: &mut Work<'_>| work.open(&name, None, 1))
        };
        // Whoever was answered by the thread knows that it has begun.
        let (request, answer) = note(0);
        desk.hand_in(Box::new(request));
        block_on(answer).unwrap().unwrap();
        assert_ne!(committed.recv().unwrap(), std::thread::current().id());
        for call in 1..=50 {
            // The thread is done with what it was woken for, and with the log.
            while desk.shared.waiting.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            drop(desk.shared.writer.lock().unwrap());
            let (request, answer) = note(call);
            desk.do_at_once(Box::new(request));
            block_on(answer).unwrap().unwrap();
            assert_eq!(committed.recv().unwrap(), std::thread::current().id());
        }
    }

    #[test]
    fn nobody_who_waits_is_overtaken() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
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

    #[test]
    fn after_a_panic_in_the_middle_nobody_writes_and_everybody_is_told() {
        let note = |name: &'static str| {
            Task::new(true, move |work: &mut Work<'_>| work.open(name, None, 1))
        };
        for in_place in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("journal.db");
            let written = AtomicUsize::new(0);
            let hook = move |point| {
                if point == Point::Written {
                    assert_eq!(written.fetch_add(1, Ordering::SeqCst), 0, "as it was meant");
                }
            };
            let options = Options {
                folds_when_quiet: false,
                hook: Some(Arc::new(hook)),
                ..Options::default()
            };
            let journal = SqliteJournal::open(&file, options).unwrap();
            let desk = &journal.inner.desk;
            let (request, answer) = note("before");
            desk.hand_in(Box::new(request));
            block_on(answer).unwrap().unwrap();
            let (request, answer) = note("in the middle");
            let asked = catch_unwind(AssertUnwindSafe(|| {
                if in_place {
                    // The thread is done with the one before.
                    drop(desk.shared.writer.lock().unwrap());
                    desk.do_at_once(Box::new(request));
                } else {
                    desk.hand_in(Box::new(request));
                }
            }));
            assert_eq!(asked.is_err(), in_place);
            assert!(block_on(answer).is_err());
            for at_once in [true, false, true] {
                let (request, answer) = note("after");
                if at_once {
                    desk.do_at_once(Box::new(request));
                } else {
                    desk.hand_in(Box::new(request));
                }
                assert!(block_on(answer).is_err());
            }
            let told = block_on(journal.begin(&"after".into(), None));
            assert_eq!(told, Err(SqliteError::Closed.into()));
            assert!(told.unwrap_err().is_unknown());
            drop(journal);
            let journal = SqliteJournal::open(&file, Options::default()).unwrap();
            let count = "SELECT group_concat(id) FROM conversations";
            let noted = block_on(journal.ask(false, move |work| {
                let noted = work.db.query_row(count, [], |row| row.get::<_, String>(0));
                noted.map_err(|error| work.fail(&error))
            }));
            assert_eq!(noted, Ok("before".to_owned()));
        }
    }
}
