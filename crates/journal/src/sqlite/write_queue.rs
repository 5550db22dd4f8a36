//! The thread that writes: hashing and the disk hold up nobody who asks.
//!
//! ```text
//! ask ──▶ thread: all that waits ──▶ a commit ──▶ answers
//!
//! thread: between two commits the log gets room for the next ones, where it keeps growing, and
//!         is folded into the file where it is long; in a quiet moment it is folded in as well;
//!         a sign of life is given
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::lease::BEAT_MS;
use super::writer::{Request, Writer};

/// So many requests share a commit.
const TOGETHER: usize = 256;
/// Nobody has waited for this long: time to fold the log into the file.
const QUIET: Duration = Duration::from_millis(200);

/// Where requests are handed in. Whoever lets go of it waits for what was asked.
pub(crate) struct WriteQueue {
    to: Option<Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
}

impl WriteQueue {
    /// Starts the thread.
    pub(crate) fn open(mut writer: Writer, folds_when_quiet: bool) -> std::io::Result<Self> {
        let (to, requests) = channel();
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                let work = AssertUnwindSafe(|| write(&mut writer, &requests, folds_when_quiet));
                // A writer that panicked in the middle of something writes no more. Whoever waits
                // learns it by not being answered.
                if catch_unwind(work).is_err() {
                    writer.abandon();
                }
            })?;
        Ok(Self {
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Leaves it to the thread, which commits what waits together.
    pub(crate) fn hand_in(&self, request: Box<dyn Request>) {
        if let Some(to) = &self.to {
            // A request that is not taken is dropped, and its asker learns that.
            let _ = to.send(request);
        }
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        drop(self.to.take());
        let here = std::thread::current().id();
        // The thread itself can be the last to let go of a journal, and cannot wait for itself.
        let thread = self.thread.take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != here) {
            let _ = thread.join();
        }
    }
}

/// Works until nobody can ask any more.
fn write(writer: &mut Writer, requests: &Receiver<Box<dyn Request>>, folds_when_quiet: bool) {
    let clock = Arc::clone(&writer.clock);
    let mut beat_ms = clock.now_ms();
    loop {
        let watches = folds_when_quiet && !writer.is_folded();
        let beat = Duration::from_millis(BEAT_MS);
        match requests.recv_timeout(if watches { QUIET } else { beat }) {
            Ok(first) => {
                let waiting = std::iter::once(first).chain(requests.try_iter());
                writer.commit(waiting.take(TOGETHER).collect());
                if writer.looks_at_log() {
                    writer.tends_log();
                }
            }
            Err(RecvTimeoutError::Timeout) if watches => writer.fold(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now_ms = clock.now_ms();
        if now_ms.saturating_sub(beat_ms) >= BEAT_MS {
            writer.beat(now_ms);
            beat_ms = now_ms;
        }
    }
    writer.release();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use futures::executor::block_on;

    use crate::sqlite::sqlite_error::SqliteError;
    use crate::sqlite::work::Work;
    use crate::sqlite::writer::Task;
    use toolgate_gate::journal::LeaseJournal;

    use crate::{Options, Point, SqliteJournal};

    #[test]
    fn the_log_is_folded_in_after_every_busy_time() {
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
        for _ in 0..3 {
            block_on(journal.ask(true, |_| Ok(()))).unwrap();
            // By itself the thread looks every half minute.
            folded.recv_timeout(Duration::from_secs(15)).unwrap();
        }
    }

    #[test]
    fn after_a_panic_in_the_middle_nobody_writes_and_everybody_is_told() {
        let note = |name: &'static str| {
            Task::new(true, move |work: &mut Work<'_>| work.open(name, None, 1))
        };
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
        let (request, answer) = note("before");
        journal.inner.desk.hand_in(Box::new(request));
        block_on(answer).unwrap().unwrap();
        for name in ["in the middle", "after", "later"] {
            let (request, answer) = note(name);
            journal.inner.desk.hand_in(Box::new(request));
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
