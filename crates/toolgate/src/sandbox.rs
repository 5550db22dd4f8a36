//! The sandboxes: for paths always, for commands with the feature `sandbox`.
//!
//! ```
//! use toolgate::sandbox::{PathRules, PathSandbox};
//! use toolgate::call::Access;
//!
//! # let directory = tempfile::tempdir()?;
//! let paths = PathSandbox::open(&PathRules::new(directory.path()))?;
//! assert!(paths.preflight("new.txt", Access::Write).is_ok());
//! assert!(paths.preflight("../outside.txt", Access::Read).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Commands
//!
//! The command sandbox starts a copy of the running program as its warden. So a program that
//! runs commands calls [`init`] **first thing in `main`, before any thread starts**.
//! `#[tokio::main]` starts threads before the body runs; put it on a second function:
//!
//! ```
//! fn main() {
//!     # #[cfg(feature = "sandbox")]
//!     toolgate::sandbox::init();
//!     start();
//! }
//!
//! #[tokio::main]
//! async fn start() {
//!     // open workspaces, run turns
//! }
//! ```
//!
//! A program that never calls `init` works without commands: no command runs, and
//! [`Workspace::command_sandbox`](crate::Workspace::command_sandbox) says why.

pub use toolgate_sandbox::env;
pub use toolgate_sandbox::paths::{
    Committed, DirectoryEntry, FileStat, Flow, Method, OwnPlaces, PathError, PathRules,
    PathSandbox, ReadHandle, Resolved as ResolvedPath, Root, RootAccess, RootRule, Roots,
    RulesError as PathRulesError, StageOptions, Staged, StagedDelete, Visit, WalkEntry,
    WalkOptions,
};

#[cfg(feature = "sandbox")]
pub use toolgate_sandbox::command::{
    CommandSandbox, CommandSpec, DoctorReport, Grant as DirectoryGrant, Level,
    Limits as CommandLimits, Network as CommandNetwork, Protection, SandboxError, SandboxRules,
    init, probe,
};
