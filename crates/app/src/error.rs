//! Errors of the assembly, as opposed to results of calls.
//!
//! ```
//! use toolgate_app::{AppError, ErrorClass};
//!
//! let error = AppError::Usage("there is no preset \"x\"".into());
//! assert_eq!(error.class(), ErrorClass::Usage);
//! assert_eq!(error.to_string(), "there is no preset \"x\"");
//! ```

use std::path::PathBuf;

use toolgate_config::ConfigError;
use toolgate_gate::approve::AnswerError;
use toolgate_gate::journal::JournalError;
use toolgate_journal::SqliteError;
use toolgate_model::{CallId, ConversationId};

use crate::interrupted::Interrupted;

/// Why the app did not do what a face asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// An option, an argument or a setting is wrong.
    #[error("{0}")]
    Usage(String),
    /// The configuration cannot be read or has errors.
    #[error("{0}")]
    Config(ConfigError),
    /// No provider is configured and none is named.
    #[error("no provider is configured")]
    NoProvider,
    /// A script that plays the model cannot be read.
    #[error("the script {}: {message}", path.display())]
    Script {
        /// The script.
        path: PathBuf,
        /// Why, perhaps in several lines.
        message: String,
    },
    /// The journal has nothing of this conversation.
    #[error("nothing is on record of {:?}", .0.as_str())]
    NotFound(ConversationId),
    /// More than one conversation, call or approval begins like this.
    #[error("{prefix:?} is the beginning of {} ids:\n{}", candidates.len(), candidates.join("\n"))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// A line for each that is meant by it.
        candidates: Vec<String>,
    },
    /// The workspace has no conversation that can go on.
    #[error("no conversation of {} is on record", .0.display())]
    NoneHere(PathBuf),
    /// The journal has no turn of this conversation.
    #[error("no turn is on record of {:?}", .0.as_str())]
    NoTurns(ConversationId),
    /// The conversation is about another workspace than the one that was named.
    #[error("conversation {id} is about {}", workspace.display())]
    OtherWorkspace {
        /// The conversation.
        id: ConversationId,
        /// Its workspace.
        workspace: PathBuf,
    },
    /// Another process works on the conversation.
    #[error("process {process} works on conversation {id}; wait until it ends, or end it")]
    InUse {
        /// The conversation.
        id: ConversationId,
        /// The process.
        process: u32,
    },
    /// A turn of this conversation is running.
    #[error("a turn of conversation {0} is running; cancel it or wait until it ends")]
    Busy(ConversationId),
    /// The last turn was interrupted before its calls had results: the user decides first.
    #[error("the last turn was interrupted; decide what becomes of its calls first")]
    Undecided(Box<Interrupted>),
    /// Calls of the last turn wait for results of the user.
    #[error("calls of the last turn wait for results")]
    ResultsWanted(Box<Interrupted>),
    /// A supplied result has no call that waits for it, or is malformed.
    #[error("result {number}: {reason}")]
    Result {
        /// The line of the result, from 1.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Calls have no result yet.
    #[error("a result is still wanted for {}", listed(.0))]
    ResultsMissing(Vec<CallId>),
    /// There is neither a prompt nor anything left to answer.
    #[error("the prompt is empty; say what to do")]
    EmptyPrompt,
    /// An answer was not taken.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The journal failed.
    #[error("{}", .0.message)]
    Journal(JournalError),
    /// The journal's file cannot be opened.
    #[error(transparent)]
    JournalFile(#[from] SqliteError),
    /// Something on this machine went wrong.
    #[error("{0}")]
    Internal(String),
}

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The user: options, configuration or input are wrong.
    Usage,
    /// An approver has to decide first.
    NoApprover,
    /// Neither: the machine or the journal failed.
    Internal,
}

impl AppError {
    /// Who can do something about it.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Undecided(_) => ErrorClass::NoApprover,
            Self::Usage(_)
            | Self::Config(_)
            | Self::NoProvider
            | Self::Script { .. }
            | Self::NoTurns(_)
            | Self::Ambiguous { .. }
            | Self::NoneHere(_)
            | Self::OtherWorkspace { .. }
            | Self::ResultsWanted(_)
            | Self::Result { .. }
            | Self::ResultsMissing(_)
            | Self::EmptyPrompt
            | Self::Answer(_) => ErrorClass::Usage,
            Self::NotFound(_)
            | Self::InUse { .. }
            | Self::Busy(_)
            | Self::Journal(_)
            | Self::JournalFile(_)
            | Self::Internal(_) => ErrorClass::Internal,
        }
    }

    pub(crate) fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<JournalError> for AppError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

fn listed(calls: &[CallId]) -> String {
    let calls: Vec<&str> = calls.iter().map(CallId::as_str).collect();
    calls.join(", ")
}
