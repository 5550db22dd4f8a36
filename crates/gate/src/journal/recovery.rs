//! After a crash: which calls have no result, and what to do about half-made changes.
//!
//! ```text
//! unfinished ──▶ not started │ outcome unknown
//!                              └─ with an intent: compare every file ──▶ forward, back, or left alone ──▶ on record
//!                                                    └─ one cannot be looked at or mended ──▶ still open
//! settle: the one result
//! ```
//!
//! Nothing is ever run again. Files are touched only if each of them is what it was
//! before the change or what the change wanted; one with a third content means that
//! the file was changed since, and nothing is touched at all. A file that merely could not
//! be looked at or mended decides nothing: the intent stays open, and the next recovery
//! tries again, unless the user gives it up.

use std::sync::Arc;

use futures::future::BoxFuture;
use toolgate_model::{CallId, ConversationId, ErrorKind, ToolError, ToolResult};

use super::mending::{Looked, bring_to_an_end};
use super::states::{Class, State};
use super::{
    FileError, Files, IntendedFile, JournalError, ReadJournal, Record, Recovered, RecoveredFile,
};
use crate::blocking;
use crate::clock::{Entropy, SystemEntropy};

/// A call without a result, or with files it may have half changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call.
    pub call: CallId,
    /// Which call of that id; the first is 1.
    pub nth: u64,
    /// How far it had come.
    pub state: State,
    /// Whether files may be half changed because of it.
    pub half_changed: bool,
    /// The tool, where it was planned.
    pub tool: Option<String>,
    /// When it was received, in milliseconds since 1970.
    pub received_ms: u64,
    /// The workspace its conversation is about, where that is known.
    pub workspace: Option<String>,
}

/// What became of a half-made change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What was done.
    pub outcome: Recovered,
    /// What was found of each file.
    pub files: Vec<RecoveredFile>,
    /// Why nothing is decided yet: a file could not be looked at or mended this time.
    pub hindered: Option<FileError>,
}

impl Recovery {
    /// The record that says it.
    pub fn record(&self) -> Record {
        Record::Recovered {
            outcome: self.outcome,
            files: self.files.clone(),
        }
    }
}

impl Unfinished {
    /// What is known of it.
    pub fn class(&self) -> Class {
        self.state.class()
    }

    /// The result for a call that a crash cut off: what is known, in a model's words.
    pub fn result(&self, recovery: Option<&Recovery>) -> ToolResult {
        let hindered = recovery.is_some_and(|recovery| recovery.hindered.is_some());
        let message = match (self.class(), recovery.map(|recovery| recovery.outcome)) {
            (Class::NotStarted, _) => {
                "the program ended before this call was started; nothing was done"
            }
            (_, Some(Recovered::Forward)) => {
                "the program ended while this call ran; its changes of files were completed"
            }
            (_, Some(Recovered::Back)) => {
                "the program ended while this call ran; its changes of files were taken back"
            }
            (_, Some(Recovered::LeftAlone)) if hindered => {
                "the program ended while this call changed files, and a file could not be looked at or mended since; look at its files before going on"
            }
            (_, Some(Recovered::LeftAlone)) => {
                "the program ended while this call changed files, and a file has changed since; look at its files before going on"
            }
            (_, None) => {
                "the program ended while this call ran; whether it did anything is not known, look before trying it again"
            }
        };
        let tool = self.tool.clone().unwrap_or_default();
        let error = ToolError::new(ErrorKind::Interrupted, message);
        ToolResult::failed(self.call.clone(), tool, error)
    }
}

/// The runtime ended before the files were looked at. The next start tries again.
fn cut_off() -> JournalError {
    JournalError::not_written("the program is about to end")
}

/// Settles what a crash cut off.
pub trait RecoverJournal: ReadJournal {
    /// Calls that a crash left without a result or with half-changed files, of one
    /// conversation or of all that no other process works on. To be asked before anything
    /// of the conversation runs: a call that runs now has no result either.
    fn unfinished(
        &self,
        conversation: Option<&ConversationId>,
    ) -> BoxFuture<'_, Result<Vec<Unfinished>, JournalError>>;

    /// What a call was about to do to files. Its conversation is taken for that, and refused if
    /// it is not as it was written.
    fn intent(&self, call: &Unfinished) -> BoxFuture<'_, Result<Vec<IntendedFile>, JournalError>>;

    /// Puts a record about this very call at the end of its conversation, also where the journal
    /// is full. It takes the conversation.
    fn put(&self, call: &Unfinished, record: Record) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Brings a half-made change of files to an end and puts that on record; one that was
    /// hindered stays open. Files are looked at and changed on a thread that may wait.
    fn recover<'a>(
        &'a self,
        call: &'a Unfinished,
        files: Arc<dyn Files>,
    ) -> BoxFuture<'a, Result<Recovery, JournalError>> {
        Box::pin(async move {
            let intent = self.intent(call).await?;
            let at = Arc::clone(&files);
            let looked = blocking::run(move || {
                let looked = intent.into_iter().map(|file| Looked::at(file, &*at));
                looked.collect::<Vec<Looked>>()
            });
            let mut looked = looked.await.ok_or_else(cut_off)?;
            for looked in &mut looked {
                if let Some(hash) = looked.wants_image() {
                    looked.image = self.image(&hash).await?;
                }
            }
            let recovery = blocking::run(move || {
                let random = || SystemEntropy.bits().unwrap_or_default();
                bring_to_an_end(&looked, &*files, &random)
            });
            let recovery = recovery.await.ok_or_else(cut_off)?;
            if recovery.hindered.is_none() {
                self.put(call, recovery.record()).await?;
            }
            Ok(recovery)
        })
    }

    /// Puts on record that a user gave up on a change that could not be brought to an end.
    fn give_up(
        &self,
        call: &Unfinished,
        recovery: &Recovery,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        self.put(call, recovery.record())
    }

    /// Gives a call that a crash cut off its one result. A call that has one, and is only
    /// known for files it may have half changed, is refused.
    fn settle(
        &self,
        call: &Unfinished,
        result: ToolResult,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let result = Box::new(result);
        self.put(call, Record::Finished { result })
    }
}
