//! Mistakes of the user and troubles of the machine, as opposed to results of calls.

use toolgate_app::{AppError, ConfigError, ErrorClass};
use toolgate_model::{ConversationId, ErrorKind};

use crate::clean::{Clean, say};
use crate::out::Out;

/// Why a command could not do its job.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line or the configuration is wrong.
    Usage(Clean),
    /// An approver has to answer, and there is none.
    Nobody(Clean),
    /// Something on this machine went wrong.
    Internal(Clean),
}

impl CliError {
    pub(crate) fn usage(message: impl Into<Clean>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn nobody(message: impl Into<Clean>) -> Self {
        Self::Nobody(message.into())
    }

    pub(crate) fn internal(message: impl Into<Clean>) -> Self {
        Self::Internal(message.into())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Nobody(_) => ErrorKind::NoApprover.exit_code(),
            Self::Internal(_) => 1,
        }
    }

    pub(crate) fn message(&self) -> &Clean {
        match self {
            Self::Usage(message) | Self::Nobody(message) | Self::Internal(message) => message,
        }
    }
}

/// Where nothing is configured and nothing is named.
const NO_PROVIDER: &str = "No provider is configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or configure one, as in\n\n    [providers.mine]\n    kind = \"ollama\"\n    model = \"…\"\n\nor name one with --provider ollama --model …, or play a recording with --script FILE";

/// The message about a conversation that is not in the journal.
pub(crate) fn nothing_of(id: &ConversationId) -> String {
    let id = id.as_str();
    format!("nothing is on record of {id:?}; `toolgate journal list` shows what is")
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        match &error {
            AppError::Config(ConfigError::SettingErrors(mistakes)) => Self::usage(say!(
                "the configuration has mistakes\n{}",
                Clean::painted(&mistakes.pictures(Out::colours_on_stderr()))
            )),
            AppError::NoProvider => Self::usage(NO_PROVIDER),
            AppError::Script { path, message } => {
                Self::usage(say!("the script {}: {}", path, Clean::lines(message)))
            }
            AppError::NotFound(id) => Self::internal(nothing_of(id)),
            AppError::NoTurns(_) => {
                Self::usage(format!("{error}; `toolgate journal list` shows what is"))
            }
            AppError::Ambiguous { prefix, candidates } => {
                let lines = candidates.iter().map(Clean::line);
                Self::usage(say!(
                    "{} is the beginning of more than one id:\n{}",
                    prefix,
                    Clean::join(lines, "\n")
                ))
            }
            AppError::NoneHere(_) => {
                Self::usage(format!("{error}; `toolgate journal list` shows what is"))
            }
            AppError::OtherWorkspace { .. } => {
                Self::usage(format!("{error}; leave --workspace out"))
            }
            _ => match error.class() {
                ErrorClass::Usage => Self::usage(error.to_string()),
                ErrorClass::NoApprover => Self::nobody(error.to_string()),
                ErrorClass::Internal => Self::internal(error.to_string()),
            },
        }
    }
}
