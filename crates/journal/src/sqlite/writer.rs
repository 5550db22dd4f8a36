//! One commit: what waits together goes to disk together.
//!
//! ```text
//! request ─┐
//! request ─┼─▶ begin ─▶ each on its own: done or undone ─▶ anchor ─▶ commit (on disk) ─▶ answers
//! request ─┘
//! ```

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::channel::oneshot;
use rusqlite::Connection;
use toolgate_gate::Clock;

use super::Point;
use super::layout::{self, Known};
use super::lease::{self, Holder};
use super::note::Note;
use super::open;
use super::preallocation::Preallocation;
use super::sqlite_error::SqliteError;
use super::work::Work;

const BEGIN: &str = "BEGIN IMMEDIATE";
/// After nothing could be pruned, it is tried again this much later.
const ROOM_TRY_MS: u64 = 10_000;

/// Something to be done in a transaction, and somebody who waits for the answer.
pub(crate) trait Request: Send {
    /// Whether it may be done although the file has reached its limit.
    fn beyond_limit(&self) -> bool;

    /// Does it. What it did is undone if this fails.
    fn run(&mut self, work: &mut Work<'_>) -> Result<(), SqliteError>;

    /// Tells how it ended, after the commit.
    fn answer(self: Box<Self>, end: Result<(), SqliteError>);
}

/// A request that was tried, and how that went.
type Ended = (Box<dyn Request>, Result<(), SqliteError>);

/// A request made of a function.
pub(crate) struct Task<T, F> {
    task: Option<F>,
    made: Option<T>,
    to: oneshot::Sender<Result<T, SqliteError>>,
    beyond_limit: bool,
}

impl<T, F> Task<T, F> {
    /// And where its answer will be.
    pub(crate) fn new(
        beyond_limit: bool,
        task: F,
    ) -> (Self, oneshot::Receiver<Result<T, SqliteError>>) {
        let (to, answer) = oneshot::channel();
        let request = Self {
            task: Some(task),
            made: None,
            to,
            beyond_limit,
        };
        (request, answer)
    }
}

impl<T, F> Request for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Work<'_>) -> Result<T, SqliteError> + Send,
{
    fn beyond_limit(&self) -> bool {
        self.beyond_limit
    }

    fn run(&mut self, work: &mut Work<'_>) -> Result<(), SqliteError> {
        let task = self.task.take().ok_or(SqliteError::Closed)?;
        self.made = Some(task(work)?);
        Ok(())
    }

    fn answer(self: Box<Self>, end: Result<(), SqliteError>) {
        let made = self.made.ok_or(SqliteError::Closed);
        // Whoever asked may have gone; what was written stays written.
        let _ = self.to.send(end.and(made));
    }
}

/// Is told where a commit is; a test may end the process there.
pub type Hook = Arc<dyn Fn(Point) + Send + Sync>;

pub(crate) struct Writer {
    pub(crate) db: Connection,
    pub(crate) path: String,
    /// The schema as it was found in order.
    pub(crate) schema: Known,
    pub(crate) me: Holder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) most_bytes: Option<u64>,
    pub(crate) hook: Option<Hook>,
    /// Conversations of this process.
    pub(crate) held: BTreeSet<String>,
    /// Room in the log.
    pub(crate) room: Preallocation,
    /// How many transactions were tried, also those that failed or only read: who sees no
    /// other number knows that nobody was here.
    pub(crate) tried: u64,
    /// How many of them the log had when it was last folded in.
    pub(crate) folded: u64,
    /// Until when a file at its limit is not pruned again, in milliseconds since 1970.
    pub(crate) no_room_until: Cell<u64>,
}

impl Writer {
    pub(crate) fn at(&self, point: Point) {
        if let Some(hook) = &self.hook {
            hook(point);
        }
    }

    /// Folds the log into the file.
    pub(crate) fn fold(&mut self) {
        self.at(Point::BeforeFold);
        // Readers may hold it up; the next quiet moment does the rest.
        let _ = self
            .db
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        self.folded = self.tried;
        self.room.folded();
        self.at(Point::Folded);
    }

    /// Whether nothing was tried since the log was folded into the file.
    pub(crate) fn is_folded(&self) -> bool {
        self.tried == self.folded
    }

    /// To be called after every commit: whether the log is to be looked after before the next.
    pub(crate) fn looks_at_log(&mut self) -> bool {
        let (room_wanted, long) = (self.room.is_wanted(), self.is_long());
        room_wanted || long
    }

    /// Folds a long log in, or makes room in it for the next commits.
    pub(crate) fn tends_log(&mut self) {
        if self.is_long() {
            self.fold();
        } else if self.room.make(&mut self.db) {
            self.at(Point::Lengthened);
        }
    }

    /// Whether as much of the log as it may hold is not in the file yet.
    fn is_long(&self) -> bool {
        // Its file stays as long as it was when it is written from the beginning again, so
        // how much is in it is asked as well: that copies nothing.
        let long = u64::from(open::LOG_PAGES) * open::PAGE_BYTES;
        if self.room.length().is_some_and(|length| length < long) {
            return false;
        }
        let asked = self
            .db
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
            .and_then(|mut ask| {
                ask.query_row([], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))
            });
        asked.is_ok_and(|(pages, folded)| pages - folded >= i64::from(open::LOG_PAGES))
    }

    /// Gives a sign of life.
    pub(crate) fn beat(&self, now_ms: u64) {
        if !self.held.is_empty() {
            // A sign that could not be given is given the next time.
            let _ = lease::beat(&self.db, &self.me, now_ms);
        }
    }

    /// Gives all conversations back.
    pub(crate) fn release(&self) {
        if !self.held.is_empty() {
            // Nobody waits for this one to be on disk: a lease of the dead is free anyway.
            let _ = self.db.pragma_update(None, "synchronous", "NORMAL");
            let _ = lease::release(&self.db, &self.me, None);
        }
    }

    /// Gives all conversations back after a panic, which may have been in a transaction. The
    /// process lives on, so nobody else would take them for free.
    pub(crate) fn abandon(&self) {
        self.roll_back();
        let _ = lease::release(&self.db, &self.me, None);
    }

    /// Does all of it in one transaction, and tells everybody when it is on disk.
    pub(crate) fn commit(&mut self, requests: Vec<Box<dyn Request>>) {
        self.at(Point::Asked);
        let begun = self.say(BEGIN);
        let mut ended = Vec::new();
        let done = self.transaction(requests, begun, &mut ended);
        self.tried += 1;
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
        begun: Result<(), SqliteError>,
        ended: &mut Vec<Ended>,
    ) -> Result<bool, SqliteError> {
        let known = begun.and_then(|()| layout::recheck(&self.db, &self.path, self.schema));
        let known = known.map(|known| self.schema = known);
        let (mut waiting, db) = (requests.into_iter(), &self.db);
        let full = known.and_then(|()| self.beyond_limit());
        let mut full = match full {
            Ok(full) => full,
            Err(trouble) => {
                ended.extend(waiting.map(|request| (request, Ok(()))));
                self.roll_back();
                return Err(trouble);
            }
        };
        self.at(Point::Begun);
        let mut all = self.work();
        if full.is_some() && self.makes_room(&mut all) {
            full = self.beyond_limit().unwrap_or(full);
        }
        for mut request in waiting.by_ref() {
            let end = match &full {
                Some(trouble) if !request.beyond_limit() => Err(trouble.clone()),
                _ => self.one(&mut *request, &mut all),
            };
            ended.push((request, end));
            // Some errors end the whole transaction, whatever was done before in it.
            if db.is_autocommit() {
                ended.extend(waiting.map(|request| (request, Ok(()))));
                let first = ended.iter().find_map(|(_, end)| end.clone().err());
                return Err(first.unwrap_or(SqliteError::Closed));
            }
        }
        let (taken, released, shrunk) = (all.taken.clone(), all.released.clone(), all.shrunk);
        let sealed = all.anchor().and_then(|()| {
            self.at(Point::Written);
            self.say("COMMIT").map_err(|trouble| SqliteError::Unsure {
                trouble: Box::new(trouble),
            })
        });
        if let Err(trouble) = sealed {
            self.roll_back();
            return Err(trouble);
        }
        self.held.extend(taken);
        self.held
            .retain(|conversation| !released.contains(conversation));
        Ok(shrunk)
    }

    /// One request within the transaction: it leaves all of its traces, or none.
    fn one(&self, request: &mut dyn Request, all: &mut Work<'_>) -> Result<(), SqliteError> {
        self.say("SAVEPOINT one")?;
        let mut work = Work {
            heads: all.heads.clone(),
            committing: all.note.batches.clone(),
            ..self.work()
        };
        let end = std::panic::catch_unwind(AssertUnwindSafe(|| request.run(&mut work)));
        let end = end.unwrap_or_else(|payload| Err(self.panicked(&*payload)));
        match end {
            Ok(()) => {
                self.say("RELEASE one")?;
                all.heads = work.heads;
                all.note.add(work.note);
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
    fn say(&self, word: &str) -> Result<(), SqliteError> {
        self.db
            .prepare_cached(word)
            .and_then(|mut word| word.execute([]))
            .map(drop)
            .map_err(|error| SqliteError::of(&self.path, &error))
    }

    fn panicked(&self, payload: &(dyn Any + Send)) -> SqliteError {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        SqliteError::Other {
            path: self.path.clone(),
            why: format!("a change panicked: {}", text.unwrap_or("without words")),
        }
    }

    fn work(&self) -> Work<'_> {
        Work {
            db: &self.db,
            path: &self.path,
            me: &self.me,
            now_ms: self.clock.now_ms(),
            held: &self.held,
            heads: std::collections::BTreeMap::new(),
            note: Note::default(),
            committing: Vec::new(),
            taken: BTreeSet::new(),
            released: BTreeSet::new(),
            shrunk: false,
        }
    }

    /// Prunes a file at its limit, and says whether that did anything. Where it did not, the
    /// next try is not with the next commit: looking for something old takes a while.
    fn makes_room(&self, all: &mut Work<'_>) -> bool {
        let Some(most) = self
            .most_bytes
            .filter(|_| all.now_ms >= self.no_room_until.get())
        else {
            return false;
        };
        let (mut request, _) = Task::new(true, move |work: &mut Work<'_>| work.make_room(most));
        let pruned = self.one(&mut request, all);
        let made = pruned.is_ok() && all.shrunk;
        if !made {
            let later = all.now_ms.saturating_add(ROOM_TRY_MS);
            self.no_room_until.set(later);
        }
        made
    }

    /// What to say to whoever would make the file larger, if it is at its limit.
    fn beyond_limit(&self) -> Result<Option<SqliteError>, SqliteError> {
        let Some(most) = self.most_bytes else {
            return Ok(None);
        };
        let number = |pragma: &str| -> Result<u64, SqliteError> {
            self.db
                .prepare_cached(pragma)
                .and_then(|mut find| find.query_row([], |row| row.get(0)))
                .map_err(|error| SqliteError::of(&self.path, &error))
        };
        let used = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
        let bytes = used.saturating_mul(number("PRAGMA page_size")?);
        Ok((bytes >= most).then(|| SqliteError::Limit {
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
