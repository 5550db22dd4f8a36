//! What can go wrong with a call: a closed set of kinds, one spelling everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a call ended, derived from its error kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The tool did its work.
    Ok,
    /// It was tried, or could not be understood, and failed.
    Error,
    /// A rule, the user or a sandbox said no.
    Denied,
    /// It was stopped before it was done.
    Cancelled,
}

impl Status {
    /// The spelling of results, journal and wires.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal => $status:ident, $exit:literal;)*) => {
        /// Why a call did not end well. The kind decides status and exit code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl ErrorKind {
            /// Every kind there is, in the order of the documentation.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)*];

            /// The one spelling of this kind, in results, journal, metrics and wires.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorKind::$variant => $text,)* }
            }

            /// The status of a result with this kind.
            pub const fn status(self) -> Status {
                match self { $(ErrorKind::$variant => Status::$status,)* }
            }

            /// The exit code of a program whose call ended with this kind.
            pub const fn exit_code(self) -> u8 {
                match self { $(ErrorKind::$variant => $exit,)* }
            }
        }
    };
}

kinds! {
    /// The call was damaged on its way: not JSON, no name, duplicate keys, cut off.
    BadCall = "bad_call" => Error, 1;
    /// The arguments do not fit the tool's schema.
    BadArgs = "bad_args" => Error, 1;
    /// No tool has this name.
    UnknownTool = "unknown_tool" => Error, 1;
    /// Another call of the batch has the same id.
    DuplicateCallId = "duplicate_call_id" => Error, 1;
    /// The file was not read, or has changed since.
    StaleFile = "stale_file" => Error, 1;
    /// Nothing is there.
    NotFound = "not_found" => Error, 1;
    /// Something is there already.
    AlreadyExists = "already_exists" => Error, 1;
    /// The path is no regular file.
    NotAFile = "not_a_file" => Error, 1;
    /// The path is no directory.
    NotADirectory = "not_a_directory" => Error, 1;
    /// The operating system refused.
    Permission = "permission" => Error, 1;
    /// Larger than the limit.
    TooLarge = "too_large" => Error, 1;
    /// Text was wanted and the content is binary.
    Binary = "binary" => Error, 1;
    /// The text to replace is not there.
    TargetNotFound = "target_not_found" => Error, 1;
    /// The text to replace is there more than once.
    TargetAmbiguous = "target_ambiguous" => Error, 1;
    /// The patch does not apply.
    PatchFailed = "patch_failed" => Error, 1;
    /// A command ended with a code other than zero, or by a signal.
    ExitStatus = "exit_status" => Error, 1;
    /// The time for the call ran out.
    Timeout = "timeout" => Error, 1;
    /// A command was silent for too long.
    IdleTimeout = "idle_timeout" => Error, 1;
    /// The network failed.
    Network = "network" => Error, 1;
    /// A server answered with an error status.
    HttpStatus = "http_status" => Error, 1;
    /// The tool, a middleware or a policy panicked.
    Panicked = "panicked" => Error, 1;
    /// The journal could not be written, so nothing was run.
    Journal = "journal" => Error, 1;
    /// The process ended while the call ran; its outcome is unknown.
    Interrupted = "interrupted" => Error, 1;
    /// The same call came again and again.
    RepeatedCall = "repeated_call" => Error, 1;
    /// The turn had its number of steps.
    MaxIterations = "max_iterations" => Error, 1;
    /// A quota is used up.
    Quota = "quota" => Error, 1;
    /// The tool failed in its own way.
    Failed = "failed" => Error, 1;
    /// Tools are switched off.
    Disabled = "disabled" => Denied, 3;
    /// A rule said no.
    PolicyDenied = "policy_denied" => Denied, 3;
    /// The user said no.
    UserDenied = "user_denied" => Denied, 3;
    /// The path is outside every root.
    OutsideSandbox = "outside_sandbox" => Denied, 3;
    /// The path is protected against writing.
    ProtectedPath = "protected_path" => Denied, 3;
    /// The path fits a deny pattern.
    DeniedPattern = "denied_pattern" => Denied, 3;
    /// The host or address is not allowed.
    BlockedHost = "blocked_host" => Denied, 3;
    /// A sandbox stopped the command.
    BlockedBySandbox = "blocked_by_sandbox" => Denied, 3;
    /// This machine cannot build the sandbox that are needed.
    SandboxUnavailable = "sandbox_unavailable" => Denied, 3;
    /// The call or the batch is larger than allowed.
    LimitExceeded = "limit_exceeded" => Denied, 3;
    /// It needs approval and there is no approver.
    NoApprover = "no_approver" => Denied, 4;
    /// No answer came in time.
    ApprovalExpired = "approval_expired" => Denied, 4;
    /// It was cancelled.
    Cancelled = "cancelled" => Cancelled, 130;
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of a call: its kind, a message for the model, and whether trying again can help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{kind}: {message}")]
pub struct ToolError {
    /// What class of error it is.
    pub kind: ErrorKind,
    /// What was wrong, what is there instead, what to do next.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ToolError {
    /// An error that trying again will not cure.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: false,
        }
    }

    /// An error that may go away by itself.
    pub fn retryable(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: true,
        }
    }

    /// Shorthand for [`ErrorKind::BadArgs`].
    pub fn bad_args(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadArgs, message)
    }

    /// Shorthand for [`ErrorKind::Failed`].
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_spelling_and_the_exit_code_of_its_status() {
        let mut seen = std::collections::BTreeSet::new();
        for &kind in ErrorKind::ALL {
            assert!(seen.insert(kind.as_str()), "{kind} twice");
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
            let back: ErrorKind = serde_json::from_str(&format!("\"{kind}\"")).unwrap();
            assert_eq!(back, kind);
            let expected = match kind.status() {
                Status::Ok => unreachable!("no error is ok"),
                Status::Error => vec![1],
                Status::Denied => vec![3, 4],
                Status::Cancelled => vec![130],
            };
            assert!(expected.contains(&kind.exit_code()), "{kind}");
        }
        assert_eq!(ErrorKind::NoApprover.exit_code(), 4);
        assert_eq!(ErrorKind::ApprovalExpired.exit_code(), 4);
        assert_eq!(ErrorKind::PolicyDenied.exit_code(), 3);
    }

    #[test]
    fn an_error_says_its_kind_and_message() {
        let error = ToolError::retryable(ErrorKind::Network, "no route");
        assert_eq!(error.to_string(), "network: no route");
        assert!(error.retryable);
        assert!(!ToolError::failed("x").retryable);
        assert_eq!(ToolError::bad_args("x").kind, ErrorKind::BadArgs);
    }
}
