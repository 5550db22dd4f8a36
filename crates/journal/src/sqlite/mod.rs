//! The record in one SQLite file of the user's own.
//!
//! ```text
//! SqliteJournal ──request──▶ desk ──▶ writer (its thread) ──▶ work: leases, states, chain, bodies ──▶ file, mode 0600
//!        ▲                                 └── commit: on disk before anybody is answered
//!        └── Journal, Store, recovery, prune
//! ```
//!
//! In: entries, intents with the contents they replace, small values of tools. Out:
//! an answer when they are on disk. Several processes can use one file at once, each
//! with conversations of its own. What can go wrong is said by [`SqliteError`].

mod layout;
mod lease;
mod note;
mod open;
mod preallocation;
mod prune;
mod read;
mod reader;
mod recover;
mod schema;
mod sqlite_error;
mod store;
mod verify;
mod work;
mod write_queue;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use toolgate_gate::journal::{
    Anchor, Batch, Conversation, ConversationFilter, Entry, Filter, Image, Journal, JournalError,
    LeaseJournal, Line, ReadJournal, Verified, VerifyJournal,
};
use toolgate_gate::{Clock, Entropy, SystemClock, SystemEntropy};
use toolgate_model::ConversationId;

pub use read::{Reader, Size};
pub use reader::SqliteReader;
pub use sqlite_error::SqliteError;
pub use writer::Hook;

use lease::Holder;
use preallocation::Preallocation;
use work::{About, Work};
use write_queue::WriteQueue;
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
    /// How large the file may grow. Then the oldest contents are pruned, except those of
    /// conversations that a process works on and younger ones; where that is not enough, only
    /// results are taken.
    pub max_bytes: Option<u64>,
    /// Whether the log is folded into the file when nobody waits.
    pub folds_when_quiet: bool,
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
    /// Opened by the first who reads, and closed before the file is given up.
    reader: Mutex<Option<SqliteReader>>,
    desk: WriteQueue,
}

impl SqliteJournal {
    /// Opens the file; makes it, for its owner alone, where there is none.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, SqliteError> {
        let path = path.into();
        let random = options.entropy.bits().ok_or(SqliteError::NoRandomness)?;
        let (db, schema) = open::writable(&path)?;
        let writer = Writer {
            room: Preallocation::of(&db),
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
            no_room_until: std::cell::Cell::new(0),
        };
        let desk = WriteQueue::open(writer, options.folds_when_quiet).map_err(|error| {
            SqliteError::Other {
                path: path.display().to_string(),
                why: format!("no thread to write with: {error}"),
            }
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                clock: options.clock,
                reader: Mutex::new(None),
                desk,
            }),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Does something in the writer's next transaction; durable when this returns.
    async fn ask<T: Send + 'static>(
        &self,
        beyond_limit: bool,
        task: impl FnOnce(&mut Work<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let (request, answer) = Task::new(beyond_limit, task);
        self.inner.desk.hand_in(Box::new(request));
        answer.await.unwrap_or(Err(SqliteError::Closed))
    }

    /// Reads on a thread of its own, so that nothing waits for it.
    fn reader(&self) -> Result<SqliteReader, JournalError> {
        let mut reader = self
            .inner
            .reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = &*reader {
            return Ok(reader.clone());
        }
        let clock = Arc::clone(&self.inner.clock);
        let opened = SqliteReader::with_clock(&self.inner.path, clock);
        Ok(reader
            .insert(opened.map_err(SqliteError::of_reading)?)
            .clone())
    }
}

impl Journal for SqliteJournal {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        Box::pin(async move {
            // A full journal starts nothing more, but what has happened is written down.
            let only_results = batch.is_only_results();
            let task = move |work: &mut Work<'_>| work.append_once(&batch);
            Ok(self.ask(only_results, task).await?)
        })
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| {
                let at_ms = entry.at_ms;
                work.append(&[entry], About::Meant)?;
                work.keep_images(&images, at_ms)
            };
            Ok(self.ask(false, task).await?)
        })
    }

    fn release(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.as_str().to_owned();
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| {
                lease::release(work.db, work.me, Some(&conversation))
                    .map_err(|error| work.fail(&error))?;
                work.released.insert(conversation);
                Ok(())
            };
            Ok(self.ask(true, task).await?)
        })
    }
}

impl LeaseJournal for SqliteJournal {
    fn begin(
        &self,
        conversation: &ConversationId,
        workspace: Option<&Path>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.as_str().to_owned();
        let workspace = workspace.map(|path| path.to_string_lossy().into_owned());
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| {
                work.hold(&conversation)?;
                work.open(&conversation, workspace.as_deref(), work.now_ms)
            };
            Ok(self.ask(false, task).await?)
        })
    }
}

impl ReadJournal for SqliteJournal {
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, JournalError>> {
        Box::pin(async move { self.reader()?.conversations(filter).await })
    }

    fn entries(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        Box::pin(async move { self.reader()?.entries(filter).await })
    }

    fn image(&self, sha256: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move {
            let image = self.ask(true, move |work| work.image(&sha256)).await;
            image.map_err(SqliteError::of_reading)
        })
    }
}

impl VerifyJournal for SqliteJournal {
    fn verify(&self, against: Option<Anchor>) -> BoxFuture<'_, Result<Verified, JournalError>> {
        Box::pin(async move { self.reader()?.verify(against).await })
    }

    fn verify_conversation(
        &self,
        conversation: &ConversationId,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.clone();
        Box::pin(async move { self.reader()?.verify_conversation(&conversation).await })
    }
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqliteJournal")
            .field(&self.inner.path)
            .finish()
    }
}
