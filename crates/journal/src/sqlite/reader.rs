//! A journal that is only read, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use futures::channel::oneshot;
use futures::future::BoxFuture;
use toolgate_gate::journal::{
    Anchor, Conversation, ConversationFilter, Filter, JournalError, Line, ReadJournal, Verified,
    VerifyJournal,
};
use toolgate_gate::{Clock, SystemClock};
use toolgate_model::ConversationId;

use super::read::Reader;
use super::sqlite_error::SqliteError;

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// Reads a journal's file, also while another process writes it. Nothing is ever written, and no
/// file is made. Contents of files cannot be had from it. Clones are one reader.
#[derive(Clone)]
pub struct SqliteReader {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    to: Mutex<Option<Sender<Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteReader {
    /// Opens the file for reading only.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        Self::with_clock(path.as_ref(), Arc::new(SystemClock))
    }

    /// The same with a clock that says whether a lease is still held.
    pub(crate) fn with_clock(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, SqliteError> {
        let reader = Reader::open(path)?;
        let (to, jobs) = channel::<Job>();
        let thread = std::thread::Builder::new()
            .name("journal-reader".to_owned())
            .spawn(move || {
                for job in jobs {
                    job(&reader);
                }
            })
            .map_err(|error| SqliteError::Other {
                path: path.display().to_string(),
                why: format!("no thread to read with: {error}"),
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                clock,
                to: Mutex::new(Some(to)),
                thread: Some(thread),
            }),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Reader) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (to, answer) = oneshot::channel();
        let job = move |reader: &Reader| {
            // Whoever asked may have gone.
            let _ = to.send(job(reader));
        };
        self.inner.send(Box::new(job));
        let answer = answer.await.unwrap_or(Err(SqliteError::Closed));
        answer.map_err(SqliteError::of_reading)
    }
}

impl Inner {
    fn send(&self, job: Job) {
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(to) = &*to {
            // A job that is not taken is dropped, and its asker learns that.
            let _ = to.send(job);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let to = self.to.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(to.take());
        let here = std::thread::current().id();
        let thread = self.thread.take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != here) {
            // A reader that panicked has told everybody by not answering.
            let _ = thread.join();
        }
    }
}

impl ReadJournal for SqliteReader {
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, JournalError>> {
        let now_ms = self.inner.clock.now_ms();
        Box::pin(self.ask(move |reader| reader.conversations_of(&filter, now_ms)))
    }

    fn entries(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        Box::pin(self.ask(move |reader| {
            let mut lines = Vec::new();
            reader.show(&filter, |line| {
                lines.push(line);
                true
            })?;
            Ok(lines)
        }))
    }

    fn image(&self, _: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        let message = "contents of files are given out only where the journal can be written";
        let refused = JournalError::unreadable(message);
        Box::pin(std::future::ready(Err(refused)))
    }
}

impl VerifyJournal for SqliteReader {
    fn verify(&self, against: Option<Anchor>) -> BoxFuture<'_, Result<Verified, JournalError>> {
        Box::pin(self.ask(move |reader| reader.verify(against.as_ref())))
    }

    fn verify_conversation(
        &self,
        conversation: &ConversationId,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.clone();
        Box::pin(self.ask(move |reader| reader.check_conversation(conversation.as_str())))
    }
}

impl std::fmt::Debug for SqliteReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqliteReader")
            .field(&self.inner.path)
            .finish()
    }
}
