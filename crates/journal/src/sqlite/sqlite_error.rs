//! What can go wrong with the file, and how to go on.

use rusqlite::ErrorCode;
use toolgate_gate::journal::{JournalError, JournalErrorKind};
use toolgate_gate::store::StoreError;
use toolgate_model::ToolError;

/// Why the record could not be used. Nothing that was acknowledged is lost by any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqliteError {
    /// There is no journal here.
    #[error("{path}: there is no journal; give another with --journal")]
    Missing {
        /// The file.
        path: String,
    },
    /// The directory or the file cannot be made or opened.
    #[error("{path}: {why}; make it writable, or give another place with --journal")]
    NotWritable {
        /// The file or directory.
        path: String,
        /// What the system said.
        why: String,
    },
    /// Others can read the file, and it holds contents of files.
    #[error("{path}: others can read it (mode {mode:03o}); run `chmod 600` on it, then try again")]
    Exposed {
        /// The file.
        path: String,
        /// Its rights.
        mode: u32,
    },
    /// A later version of the program wrote it.
    #[error(
        "{path}: written by a newer toolgate (schema {found}; this one knows {known}); use the newer one"
    )]
    Newer {
        /// The file.
        path: String,
        /// The version of the file.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The file is empty: the program ended while it was made.
    #[error(
        "{path}: nothing is on record yet, its making was cut off; the next command that writes completes it"
    )]
    Unmade {
        /// The file.
        path: String,
    },
    /// It is something else.
    #[error(
        "{path}: not a journal of toolgate; it is left alone, give another place with --journal"
    )]
    NotAJournal {
        /// The file.
        path: String,
    },
    /// Its bytes are damaged.
    #[error(
        "{path}: damaged ({why}); keep a copy, see what is left with `toolgate journal verify`, and go on with a new file by moving this one away"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What SQLite said.
        why: String,
    },
    /// A rollback journal lies beside it, which would change it when it is opened.
    #[error(
        "{path}: not made by toolgate, and SQLite would change the journal by it; nothing was read or written. Move it away, then try again"
    )]
    Rollback {
        /// The rollback journal.
        path: String,
    },
    /// Its tables are not those that the program made.
    #[error(
        "{path}: {what}; nothing was read or written. See `toolgate journal verify`, and move the file away to start a new one"
    )]
    Altered {
        /// The file.
        path: String,
        /// What is different.
        what: String,
    },
    /// No space is left.
    #[error(
        "{path}: no space is left ({why}); free some, or run `toolgate journal prune`. What was written before is safe"
    )]
    Full {
        /// The file.
        path: String,
        /// What SQLite said.
        why: String,
    },
    /// The journal has reached the size it may have.
    #[error(
        "{path}: {bytes} bytes, and its limit is {most}; run `toolgate journal prune`, or raise `journal.max_bytes`"
    )]
    Limit {
        /// The file.
        path: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        most: u64,
    },
    /// Others kept the file locked.
    #[error("{path}: another process kept it locked for too long; try again")]
    Busy {
        /// The file.
        path: String,
    },
    /// Another process works on the conversation.
    #[error(
        "conversation {conversation} is in use by process {pid}; end that one, or use another conversation"
    )]
    InUse {
        /// The conversation.
        conversation: String,
        /// The process that holds it.
        pid: u32,
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
    },
    /// Another process took the conversation over, because this one seemed gone.
    #[error(
        "conversation {conversation} was taken over by {by} while this process did not answer; start it anew to go on"
    )]
    TakenOver {
        /// The conversation.
        conversation: String,
        /// Who took it.
        by: String,
    },
    /// An entry that cannot follow what is on record about its call.
    #[error("call {call} of conversation {conversation} is {standing}; `{kind}` cannot follow")]
    OutOfOrder {
        /// The conversation.
        conversation: String,
        /// The call.
        call: String,
        /// How far the call has come.
        standing: String,
        /// What was to be written.
        kind: &'static str,
    },
    /// A batch whose key is on record with other entries.
    #[error("conversation {conversation} has other entries under the key {key}")]
    KeyTaken {
        /// The conversation.
        conversation: String,
        /// The key.
        key: String,
    },
    /// The last step of a commit failed: a crash right now could still bring it to light.
    #[error("{trouble}")]
    Unsure {
        /// What went wrong.
        trouble: Box<SqliteError>,
    },
    /// What is to be written cannot be written down.
    #[error("an entry cannot be written down: {why}")]
    Unwritable {
        /// What is wrong with it.
        why: String,
    },
    /// A change of a stored value did not want to happen.
    #[error("{0}")]
    Refused(StoreError),
    /// No source of randomness.
    #[error("the system has no randomness to give; the journal was not opened")]
    NoRandomness,
    /// The journal was closed, or its thread died.
    #[error("the journal is closed")]
    Closed,
    /// Anything else.
    #[error("{path}: {why}")]
    Other {
        /// The file.
        path: String,
        /// What SQLite said.
        why: String,
    },
}

impl SqliteError {
    /// Reads SQLite's error.
    pub(crate) fn of(path: &str, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let why = error.to_string();
        let Some(code) = error.sqlite_error_code() else {
            return match error {
                // A column that holds something else than this program ever writes.
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Damaged { path, why },
                _ => Self::Other { path, why },
            };
        };
        match code {
            ErrorCode::DiskFull => Self::Full { path, why },
            ErrorCode::DatabaseCorrupt => Self::Damaged { path, why },
            ErrorCode::NotADatabase => Self::NotAJournal { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { path },
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::NotWritable { path, why }
            }
            ErrorCode::SystemIoFailure => {
                // A write that the system cut short or forbade by a limit: as good as full.
                let extended = error.sqlite_extended_error_code();
                if extended == Some(rusqlite::ffi::SQLITE_IOERR_WRITE) {
                    Self::Full { path, why }
                } else {
                    Self::Other { path, why }
                }
            }
            _ => Self::Other { path, why },
        }
    }
}

impl From<SqliteError> for JournalError {
    fn from(trouble: SqliteError) -> Self {
        let kind = match &trouble {
            // The writer may have died after it had written.
            SqliteError::Closed | SqliteError::Unsure { .. } => JournalErrorKind::Unknown,
            SqliteError::InUse { .. } | SqliteError::TakenOver { .. } => JournalErrorKind::InUse,
            SqliteError::OutOfOrder { .. }
            | SqliteError::Unwritable { .. }
            | SqliteError::KeyTaken { .. } => JournalErrorKind::Rejected,
            SqliteError::Damaged { .. } | SqliteError::Altered { .. } => JournalErrorKind::Damaged,
            _ => JournalErrorKind::NotWritten,
        };
        Self::new(kind, trouble.to_string())
    }
}

impl SqliteError {
    /// The same for whoever only reads.
    pub(crate) fn of_reading(self) -> JournalError {
        match self {
            Self::Damaged { .. } | Self::Altered { .. } => self.into(),
            other => JournalError::unreadable(other.to_string()),
        }
    }
}

impl From<SqliteError> for StoreError {
    fn from(trouble: SqliteError) -> Self {
        match trouble {
            SqliteError::Refused(error) => error,
            other => Self::Unavailable {
                message: other.to_string(),
            },
        }
    }
}

impl From<ToolError> for SqliteError {
    fn from(error: ToolError) -> Self {
        Self::Refused(StoreError::Refused(error))
    }
}
