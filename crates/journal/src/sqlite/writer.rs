//! The one thread that writes.
//!
//! ```text
//! request ─┐
//! request ─┼─▶ begin ─▶ each on its own: done or undone ─▶ anchor ─▶ commit (on disk) ─▶ answers
//! request ─┘   what waits together shares one commit
//!
//! between two commits: the log gets room for the next ones, where it keeps growing
//! nobody waits: the log is folded into the file, a sign of life is given
//! ```

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use futures::channel::oneshot;
use rusqlite::Connection;
use toolgate_gate::Clock;

use super::Point;
use super::lease::{self, BEAT_MS, Holder};
use super::open;
use super::room::Room;
use super::trouble::Trouble;
use super::work::Work;

/// So many requests share a commit at most.
const TOGETHER: usize = 256;
/// Nobody has waited for this long: time to fold the log into the file.
const QUIET: Duration = Duration::from_millis(200);

/// Something to be done in a transaction, and somebody who waits for the answer.
pub(crate) trait Request: Send {
    /// Whether it may be done although the file has reached its limit.
    fn beyond_limit(&self) -> bool;

    /// Does it. What it did is undone if this fails.
    fn run(&mut self, work: &mut Work<'_>) -> Result<(), Trouble>;

    /// Tells how it ended, after the commit.
    fn answer(self: Box<Self>, end: Result<(), Trouble>);
}

/// A request that was tried, and how that went.
type Ended = (Box<dyn Request>, Result<(), Trouble>);

/// A request made of a function.
pub(crate) struct Task<T, F> {
    pub(crate) task: Option<F>,
    pub(crate) made: Option<T>,
    pub(crate) to: oneshot::Sender<Result<T, Trouble>>,
    pub(crate) beyond_limit: bool,
}

impl<T, F> Request for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Work<'_>) -> Result<T, Trouble> + Send,
{
    fn beyond_limit(&self) -> bool {
        self.beyond_limit
    }

    fn run(&mut self, work: &mut Work<'_>) -> Result<(), Trouble> {
        let task = self.task.take().ok_or(Trouble::Closed)?;
        self.made = Some(task(work)?);
        Ok(())
    }

    fn answer(self: Box<Self>, end: Result<(), Trouble>) {
        let made = self.made.ok_or(Trouble::Closed);
        // Whoever asked may have gone; what was written stays written.
        let _ = self.to.send(end.and(made));
    }
}

/// Is told where a commit is; a test may end the process there.
pub type Hook = Arc<dyn Fn(Point) + Send + Sync>;

pub(crate) struct Writer {
    pub(crate) db: Connection,
    pub(crate) path: String,
    pub(crate) me: Holder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) most_bytes: Option<u64>,
    pub(crate) folds_when_quiet: bool,
    pub(crate) hook: Option<Hook>,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub(crate) fn run(mut self, requests: &Receiver<Box<dyn Request>>) {
        let mut held = BTreeSet::new();
        let mut beat_ms = self.clock.now_ms();
        let mut unfolded = false;
        let mut room = Room::of(&self.db);
        loop {
            let patience = if unfolded && self.folds_when_quiet {
                QUIET
            } else {
                Duration::from_millis(BEAT_MS)
            };
            match requests.recv_timeout(patience) {
                Ok(first) => {
                    let mut together = vec![first];
                    together.extend(requests.try_iter().take(TOGETHER - 1));
                    self.commit(together, &mut held);
                    if room.after_commit(&mut self.db) {
                        self.at(Point::Lengthened);
                    }
                    unfolded = true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if unfolded && self.folds_when_quiet {
                        self.fold();
                        unfolded = false;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now_ms = self.clock.now_ms();
            if !held.is_empty() && now_ms.saturating_sub(beat_ms) >= BEAT_MS {
                // A sign that could not be given is given the next time.
                let _ = lease::beat(&self.db, &self.me, now_ms);
                beat_ms = now_ms;
            }
        }
        if !held.is_empty() {
            // Nobody waits for this one to be on disk: a lease of the dead is free anyway.
            let _ = self.db.pragma_update(None, "synchronous", "NORMAL");
            let _ = lease::release(&self.db, &self.me, None);
        }
    }

    fn at(&self, point: Point) {
        if let Some(hook) = &self.hook {
            hook(point);
        }
    }

    fn fold(&self) {
        self.at(Point::BeforeFold);
        // Readers may hold it up; the next quiet moment does the rest.
        let _ = self
            .db
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        self.at(Point::Folded);
    }

    fn commit(&mut self, requests: Vec<Box<dyn Request>>, held: &mut BTreeSet<String>) {
        self.at(Point::Asked);
        let mut ended = Vec::new();
        let done = self.transaction(requests, held, &mut ended);
        if done.is_ok() {
            self.at(Point::Committed);
        }
        if done == Ok(true) {
            self.cut();
        }
        let done = done.map(|_| ());
        for (request, end) in ended {
            request.answer(end.and(done.clone()));
        }
        self.at(Point::Answered);
    }

    /// Folds the log in and cuts it: until then nothing has become smaller. Whoever reads it
    /// now is not waited for; the next quiet moment does the rest.
    fn cut(&mut self) {
        let cut = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = open::at_once(&mut self.db, |db| db.query_row(cut, [], |_| Ok(())));
    }

    /// Everything between begin and commit, and whether the file can be cut. An error is
    /// everybody's.
    fn transaction(
        &mut self,
        requests: Vec<Box<dyn Request>>,
        held: &mut BTreeSet<String>,
        ended: &mut Vec<Ended>,
    ) -> Result<bool, Trouble> {
        let (mut waiting, db) = (requests.into_iter(), &self.db);
        let begun = self.say("BEGIN IMMEDIATE");
        let full = begun.and_then(|()| self.beyond_limit());
        let full = match full {
            Ok(full) => full,
            Err(trouble) => {
                ended.extend(waiting.map(|request| (request, Ok(()))));
                self.roll_back();
                return Err(trouble);
            }
        };
        self.at(Point::Begun);
        let mut all = self.work(held);
        for mut request in waiting.by_ref() {
            let end = match &full {
                Some(trouble) if !request.beyond_limit() => Err(trouble.clone()),
                _ => self.one(&mut *request, held, &mut all),
            };
            ended.push((request, end));
            // Some errors end the whole transaction, whatever was done before in it.
            if db.is_autocommit() {
                ended.extend(waiting.map(|request| (request, Ok(()))));
                let first = ended.iter().find_map(|(_, end)| end.clone().err());
                return Err(first.unwrap_or(Trouble::Closed));
            }
        }
        let (taken, released, shrunk) = (all.taken.clone(), all.released.clone(), all.shrunk);
        let sealed = all.anchor().and_then(|()| {
            self.at(Point::Written);
            self.say("COMMIT")
        });
        if let Err(trouble) = sealed {
            self.roll_back();
            return Err(trouble);
        }
        held.extend(taken);
        held.retain(|conversation| !released.contains(conversation));
        Ok(shrunk)
    }

    /// One request within the transaction: it leaves all of its traces, or none.
    fn one(
        &self,
        request: &mut dyn Request,
        held: &BTreeSet<String>,
        all: &mut Work<'_>,
    ) -> Result<(), Trouble> {
        self.say("SAVEPOINT one")?;
        let mut work = Work {
            heads: all.heads.clone(),
            ..self.work(held)
        };
        let end = std::panic::catch_unwind(AssertUnwindSafe(|| request.run(&mut work)));
        let end = end.unwrap_or_else(|payload| Err(self.panicked(&*payload)));
        match end {
            Ok(()) => {
                self.say("RELEASE one")?;
                all.heads = work.heads;
                all.note = work.note.or(all.note.take());
                all.taken.extend(work.taken);
                all.released.extend(work.released);
                all.shrunk |= work.shrunk;
                Ok(())
            }
            Err(trouble) => {
                if !self.db.is_autocommit() {
                    let undone = self.db.execute_batch("ROLLBACK TO one; RELEASE one");
                    // What cannot be undone alone is undone with everything else.
                    undone.unwrap_or_else(|_| self.roll_back());
                }
                Err(trouble)
            }
        }
    }

    /// One word of the transaction, understood once.
    fn say(&self, word: &str) -> Result<(), Trouble> {
        self.db
            .prepare_cached(word)
            .and_then(|mut word| word.execute([]))
            .map(drop)
            .map_err(|error| Trouble::of(&self.path, &error))
    }

    fn panicked(&self, payload: &(dyn Any + Send)) -> Trouble {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Trouble::Other {
            path: self.path.clone(),
            why: format!("a change panicked: {}", text.unwrap_or("without words")),
        }
    }

    fn work<'a>(&'a self, held: &'a BTreeSet<String>) -> Work<'a> {
        Work {
            db: &self.db,
            path: &self.path,
            me: &self.me,
            now_ms: self.clock.now_ms(),
            held,
            heads: std::collections::BTreeMap::new(),
            note: None,
            taken: BTreeSet::new(),
            released: BTreeSet::new(),
            shrunk: false,
        }
    }

    /// What to say to whoever would make the file larger, if it is at its limit.
    fn beyond_limit(&self) -> Result<Option<Trouble>, Trouble> {
        let Some(most) = self.most_bytes else {
            return Ok(None);
        };
        let number = |pragma: &str| -> Result<u64, Trouble> {
            self.db
                .prepare_cached(pragma)
                .and_then(|mut find| find.query_row([], |row| row.get(0)))
                .map_err(|error| Trouble::of(&self.path, &error))
        };
        let used = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
        let bytes = used.saturating_mul(number("PRAGMA page_size")?);
        Ok((bytes >= most).then(|| Trouble::Limit {
            path: self.path.clone(),
            bytes,
            most,
        }))
    }

    fn roll_back(&self) {
        if !self.db.is_autocommit() {
            let _ = self.db.execute_batch("ROLLBACK");
        }
    }
}
