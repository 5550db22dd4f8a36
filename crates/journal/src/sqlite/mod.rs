//! The record in one SQLite file of the person's own.
//!
//! ```text
//! SqliteJournal ──request──▶ desk ──▶ writer (one at a time) ──▶ work: leases, states, chain, bodies ──▶ file, mode 0600
//!        ▲                                 └── commit: on disk before anybody is answered
//!        └── Journal, Store, recovery, prune
//! ```
//!
//! In: entries, intents with the contents they replace, small values of tools. Out:
//! an answer when they are on disk. Several processes can use one file at once, each
//! with conversations of its own. What can go wrong is said by [`Trouble`].

mod desk;
mod layout;
mod lease;
mod note;
mod open;
mod problem;
mod prune;
mod read;
mod recover;
mod room;
mod schema;
mod store;
mod trouble;
mod verify;
mod work;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use toolgate_gate::journal::{Entry, Image, Journal, JournalError, Record};
use toolgate_gate::{Clock, Entropy, SystemClock, SystemEntropy};
use toolgate_model::ConversationId;

pub use problem::{Coverage, Problem, Verified};
pub use prune::{Prune, Pruned};
pub use read::{Body, Conversation, Filter, Line, Reader, Size};
pub use recover::{Recovery, Unfinished};
pub use trouble::Trouble;
pub use writer::Hook;

use desk::Desk;
use lease::Holder;
use room::Room;
use work::{About, Work};
use writer::{Task, Writer};

/// Where a commit is, for tests that end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Point {
    /// Requests have arrived.
    Asked,
    /// The transaction is open.
    Begun,
    /// Everything is written, nothing is durable.
    Written,
    /// Everything is durable, nobody knows.
    Committed,
    /// Everybody was told.
    Answered,
    /// The log was made longer for the next commits.
    Lengthened,
    /// The log is about to be folded into the file.
    BeforeFold,
    /// The log was folded into the file.
    Folded,
}

impl Point {
    /// Every point, in order.
    pub const ALL: [Point; 8] = [
        Point::Asked,
        Point::Begun,
        Point::Written,
        Point::Committed,
        Point::Answered,
        Point::Lengthened,
        Point::BeforeFold,
        Point::Folded,
    ];
}

/// How a journal is opened.
#[derive(Clone)]
pub struct Options {
    /// Tells the time of leases and anchors.
    pub clock: Arc<dyn Clock>,
    /// Gives the number that tells one opened journal from another.
    pub entropy: Arc<dyn Entropy>,
    /// How large the file may grow before only results are taken.
    pub max_bytes: Option<u64>,
    /// Whether the log is folded into the file when nobody waits.
    pub folds_when_quiet: bool,
    /// Whether entries are written by the thread that asks, where nobody else is writing. That
    /// spares waking another one and back, which takes about as long as the disk does, and holds
    /// the asking thread up for one write. Whatever else it would do waits as well: futures of
    /// the same task with their deadlines, and the timers and sockets of a runtime that has no
    /// other thread to look at them. For runtimes with several, and tasks that only wait.
    pub writes_in_place: bool,
    /// Called from whoever writes, at every point of a commit. For tests.
    pub hook: Option<Hook>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            max_bytes: None,
            folds_when_quiet: true,
            writes_in_place: false,
            hook: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// A journal and store in one file. Clones are one journal; the last one that goes waits
/// for what was asked and gives its conversations back.
#[derive(Clone)]
pub struct SqliteJournal {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    desk: Desk,
    writes_in_place: bool,
}

impl SqliteJournal {
    /// Opens the file; makes it, for its owner alone, where there is none.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, Trouble> {
        let path = path.into();
        let random = options.entropy.bits().ok_or(Trouble::NoRandomness)?;
        let (db, schema) = open::writable(&path)?;
        let writer = Writer {
            room: Room::of(&db),
            db,
            path: path.display().to_string(),
            schema,
            me: Holder::this(random),
            clock: Arc::clone(&options.clock),
            most_bytes: options.max_bytes,
            hook: options.hook,
            held: BTreeSet::new(),
            tried: 0,
            folded: 0,
        };
        let desk =
            Desk::open(writer, options.folds_when_quiet).map_err(|error| Trouble::Other {
                path: path.display().to_string(),
                why: format!("no thread to write with: {error}"),
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                clock: options.clock,
                entropy: options.entropy,
                desk,
                writes_in_place: options.writes_in_place,
            }),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Takes a conversation for this process, and notes which workspace it is about. Every
    /// commit does so too; this says earlier whether another process has it.
    pub async fn begin(
        &self,
        conversation: &ConversationId,
        workspace: Option<&Path>,
    ) -> Result<(), Trouble> {
        let conversation = conversation.as_str().to_owned();
        let workspace = workspace.map(|path| path.to_string_lossy().into_owned());
        self.ask(false, move |work| {
            work.hold(&conversation)?;
            work.open(&conversation, workspace.as_deref(), work.now_ms)
        })
        .await
    }

    /// Gives a conversation back, so that another process can go on with it.
    pub async fn end(&self, conversation: &ConversationId) -> Result<(), Trouble> {
        let conversation = conversation.as_str().to_owned();
        self.ask(true, move |work| {
            lease::release(work.db, work.me, Some(&conversation))
                .map_err(|error| work.fail(&error))?;
            work.released.insert(conversation);
            Ok(())
        })
        .await
    }

    /// Does something in the writer's next transaction; durable when this returns.
    async fn ask<T: Send + 'static>(
        &self,
        beyond_limit: bool,
        task: impl FnOnce(&mut Work<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (request, answer) = Task::new(beyond_limit, task);
        self.inner.desk.hand_in(Box::new(request));
        answer.await.unwrap_or(Err(Trouble::Closed))
    }
}

impl Journal for SqliteJournal {
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        // A full journal starts nothing more, but what has happened is written down.
        let only_results = entries
            .iter()
            .all(|entry| matches!(entry.record, Record::Finished { .. }));
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| work.append(&entries, About::Meant);
            let (request, answer) = Task::new(only_results, task);
            if self.inner.writes_in_place {
                self.inner.desk.do_at_once(Box::new(request));
            } else {
                self.inner.desk.hand_in(Box::new(request));
            }
            Ok(answer.await.unwrap_or(Err(Trouble::Closed))?)
        })
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| {
                let at_ms = entry.at_ms;
                work.append(&[entry], About::Meant)?;
                work.keep_images(&images, at_ms)
            };
            // Whole files are hashed and written: that is left to the thread.
            Ok(self.ask(false, task).await?)
        })
    }
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqliteJournal")
            .field(&self.inner.path)
            .finish()
    }
}
