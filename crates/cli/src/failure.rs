//! Mistakes of the user and troubles of the machine, as opposed to results of calls.

use toolgate_model::ErrorKind;

use crate::clean::Clean;

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
