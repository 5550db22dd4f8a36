//! Why a journal did not do what it was asked to.

use std::fmt;

/// What an error says about the entries that were offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JournalErrorKind {
    /// This offer wrote nothing. The entries may be offered again, now or later.
    NotWritten,
    /// All of the entries are written, or none is: which is not known. Only the very batch may
    /// be offered again, by [`Batch::again`](super::Batch::again).
    Unknown,
    /// This offer wrote nothing and never will: the entries cannot follow what is there, or are
    /// no batch. They are not offered again as they are.
    Rejected,
    /// Another process holds the conversation. Nothing was written, and nothing of this process
    /// will be while that is so.
    InUse,
    /// What is there is not what was written. Nothing was written to it, and no file was changed
    /// because of it.
    Damaged,
    /// Something could not be read. Nothing was to be written.
    Unreadable,
}

/// Why a journal did not do what it was asked to. No tool runs after an error of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalError {
    /// What it means for what was offered.
    pub kind: JournalErrorKind,
    /// What went wrong and how to go on.
    pub message: String,
}

impl JournalError {
    /// An error of this kind.
    pub fn new(kind: JournalErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// Nothing was written; it may be offered again.
    pub fn not_written(message: impl Into<String>) -> Self {
        Self::new(JournalErrorKind::NotWritten, message)
    }

    /// It is not known whether it was written.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(JournalErrorKind::Unknown, message)
    }

    /// It can never be written.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::new(JournalErrorKind::Rejected, message)
    }

    /// Something could not be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::new(JournalErrorKind::Unreadable, message)
    }

    /// Whether the entries may be on record although this is an error.
    pub fn is_unknown(&self) -> bool {
        self.kind == JournalErrorKind::Unknown
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            JournalErrorKind::Unreadable => "read",
            JournalErrorKind::Damaged => "used",
            _ => "written",
        };
        write!(f, "the journal cannot be {what}: {}", self.message)
    }
}

impl std::error::Error for JournalError {}
