//! Mistakes of the person and troubles of the machine, as opposed to results of calls.

use std::fmt;

use toolgate_model::ErrorKind;

/// Why a command could not do its job.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or the configuration is wrong.
    Usage(String),
    /// A person has to say something, and nobody is there.
    Nobody(String),
    /// Something on this machine went wrong.
    Internal(String),
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn nobody(message: impl Into<String>) -> Self {
        Self::Nobody(message.into())
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Nobody(_) => ErrorKind::NoApprover.exit_code(),
            Self::Internal(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Nobody(message) | Self::Internal(message) => {
                f.write_str(message)
            }
        }
    }
}
