//! Why the database did not do what it was asked to.

use tokio_postgres::error::SqlState;
use toolgate_gate::journal::{JournalError, JournalErrorKind};
use toolgate_gate::store::StoreError;
use toolgate_model::ToolError;

/// Why the database did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// There is no connection.
    #[error("the database cannot be reached: {why}. Check the address, and that it runs")]
    Unreachable {
        /// What went wrong.
        why: String,
    },
    /// The connection ended before an answer.
    #[error("the database did not answer: {why}")]
    Lost {
        /// What went wrong.
        why: String,
    },
    /// It refused a statement. Nothing was changed.
    #[error("the database refused: {why}")]
    Refused {
        /// What it said.
        why: String,
    },
    /// The tables are from a newer version.
    #[error(
        "the database has version {found} of the tables, and this program knows {known}. Update toolgate"
    )]
    Newer {
        /// Their version.
        found: i32,
        /// The newest known version.
        known: i32,
    },
    /// Another worker holds the conversation.
    #[error("conversation {conversation} is in use by {holder}")]
    InUse {
        /// The conversation.
        conversation: String,
        /// Who holds it.
        holder: String,
    },
    /// This worker was silent for longer than its lease.
    #[error(
        "conversation {conversation} is lost to this worker: it was silent for longer than its lease, or another one took it. Open it anew"
    )]
    Fenced {
        /// The conversation.
        conversation: String,
    },
    /// An entry cannot follow what is on record about its call.
    #[error("call {call} of conversation {conversation} is {standing}; `{kind}` cannot follow")]
    OutOfOrder {
        /// The conversation.
        conversation: String,
        /// The call.
        call: String,
        /// How far it has come.
        standing: String,
        /// What was offered.
        kind: &'static str,
    },
    /// A batch with the same key has other entries.
    #[error("conversation {conversation} has other entries under the key {key}")]
    OtherEntries {
        /// The conversation.
        conversation: String,
        /// The key.
        key: String,
    },
    /// Something cannot be written at all.
    #[error("this cannot be written: {why}")]
    Unwritable {
        /// Why.
        why: String,
    },
    /// A row is not what was written.
    #[error("the journal is damaged: {why}")]
    Damaged {
        /// What is wrong.
        why: String,
    },
    /// A change of a stored value was refused, by itself or for its size.
    #[error("{0}")]
    NotStored(StoreError),
}

impl FleetError {
    /// An error of a statement that was sent.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        let why = described(error);
        match error.code() {
            // The server went away, perhaps after the commit.
            Some(code) if code.code().starts_with("57P") || code.code().starts_with("08") => {
                Self::Lost { why }
            }
            Some(_) => Self::Refused { why },
            // The database did not say no, so it may have done it.
            None => Self::Lost { why },
        }
    }

    /// An error of connecting: no statement was sent.
    pub(crate) fn unreachable(error: &tokio_postgres::Error) -> Self {
        Self::Unreachable {
            why: described(error),
        }
    }

    /// Whether the whole transaction may be tried again as it was.
    pub(crate) fn is_conflict(error: &tokio_postgres::Error) -> bool {
        let codes = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        error.code().is_some_and(|code| codes.contains(code))
    }

    /// The error of the journal, for something that was to be written.
    pub(crate) fn into_journal(self) -> JournalError {
        let kind = match &self {
            Self::Unreachable { .. } | Self::Refused { .. } | Self::Newer { .. } => {
                JournalErrorKind::NotWritten
            }
            Self::Lost { .. } => JournalErrorKind::Unknown,
            Self::InUse { .. } | Self::Fenced { .. } => JournalErrorKind::InUse,
            Self::OutOfOrder { .. }
            | Self::OtherEntries { .. }
            | Self::Unwritable { .. }
            | Self::NotStored(_) => JournalErrorKind::Rejected,
            Self::Damaged { .. } => JournalErrorKind::Damaged,
        };
        JournalError::new(kind, self.to_string())
    }

    /// The error of the journal, for something that was to be read.
    pub(crate) fn into_reading(self) -> JournalError {
        match self {
            Self::Damaged { .. } | Self::InUse { .. } | Self::Fenced { .. } => self.into_journal(),
            _ => JournalError::unreadable(self.to_string()),
        }
    }
}

impl From<FleetError> for StoreError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::NotStored(error) => error,
            other => Self::Unavailable {
                message: other.to_string(),
            },
        }
    }
}

impl From<ToolError> for FleetError {
    fn from(error: ToolError) -> Self {
        Self::NotStored(StoreError::Refused(error))
    }
}

/// The error with its causes, without what was to be written.
fn described(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} ({})", said.message(), said.code().code());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
