//! Why there is no sandbox, or why a command was not started.

use std::path::PathBuf;

use rustix::io::Errno;

use crate::command::caller::search::found::Missed;
use crate::command::protocol::message::BadOrder;
use crate::command::protocol::report::SetupError;

/// Why there is no sandbox, or why a command was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The program cannot start itself as a warden.
    #[error(
        "commands need a warden process: call `toolgate::sandbox::init()` first thing in `main`, before any thread starts (`#[tokio::main]` belongs on a second function), or name a program that does in `SandboxRules::warden`"
    )]
    NotInitialised,
    /// The warden could not be started or does not answer.
    #[error("the warden process did not start: {0}. Commands are refused without it")]
    Warden(std::io::Error),
    /// No level that the rules accept can be had.
    #[error("commands are refused: {failure}. {advice}")]
    Unavailable {
        /// The failure on the highest level tried.
        failure: SetupError,
        /// The next step.
        advice: &'static str,
    },
    /// A grant cannot be opened.
    #[error("the granted directory {path} cannot be opened: {errno}. Correct or remove the grant")]
    Grant {
        /// Which.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// A grant is a closed place of Toolgate's own, or lies in one.
    #[error(
        "the granted directory {path} lies in {place}, where Toolgate keeps its own files: commands may not see it. Remove the grant"
    )]
    OwnGrant {
        /// The grant.
        path: PathBuf,
        /// The place.
        place: PathBuf,
    },
    /// Toolgate's own files lie where commands see the system.
    #[error(
        "commands are refused: {place} holds Toolgate's own files, and commands see the system there. Move them out of /{system}, for example with TOOLGATE_HOME"
    )]
    OwnInSystem {
        /// The place.
        place: PathBuf,
        /// The directory of the system.
        system: &'static str,
    },
    /// A directory that was opened to the command is denied, or lies in a denied one.
    #[error("{path} is closed to commands by the deny pattern {rule:?}; it was not opened")]
    DeniedGrant {
        /// The directory.
        path: PathBuf,
        /// The pattern.
        rule: String,
    },
    /// A directory that was opened to the command is not the one that was shown.
    #[error(
        "{path} is not the directory that was shown: it or a link on the way changed. It was not opened; try again"
    )]
    Exchanged {
        /// The directory.
        path: PathBuf,
    },
    /// A placeholder cannot be made or recorded.
    #[error("{path} cannot be kept vacant while the command runs: {errno}")]
    Placeholder {
        /// Which.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// The records for the next start cannot be kept.
    #[error("the directory for records of commands cannot be used: {0}")]
    Records(std::io::Error),
    /// The search for secrets and protected names did not see everything.
    #[error(
        "the command was not started: the search for secrets and protected names was not complete. {0}"
    )]
    Search(Missed),
    /// More names would have to be masked than can be.
    #[error(
        "the command was not started: {path} holds {names} denied or protected names, more than can be masked. Move or remove what is not needed"
    )]
    TooManyGuarded {
        /// The root or grant.
        path: PathBuf,
        /// How many.
        names: usize,
    },
    /// A guarded name is moved each time it should be masked.
    #[error(
        "the command was not started: {path} is a guarded name that keeps moving. Stop the command that moves it, then try again"
    )]
    Restless {
        /// The name.
        path: String,
    },
    /// A layer was required and cannot be had.
    #[error("the command was not started: {0}")]
    NoLayer(#[from] crate::layer::NoLayer),
    /// The command does not fit into a message.
    #[error("{0}")]
    Order(#[from] BadOrder),
    /// There is no network of this kind on this level.
    #[error(
        "a loopback network of its own needs namespaces, which are not available here: use `network = \"off\"` or `\"on\"`"
    )]
    NoLoopback,
    /// The sandbox works, and has no room for another command now.
    #[error("the command sandbox is busy: {0}. Wait for a command to end, then try again")]
    Busy(&'static str),
    /// A system call failed on the way.
    #[error("the command could not be handed to the warden: {0}")]
    System(#[from] Errno),
}

impl SandboxError {
    /// Whether the same command may work later, when others have ended.
    pub fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Busy(_) | Self::System(Errno::MFILE | Errno::NFILE | Errno::AGAIN)
        )
    }
}
