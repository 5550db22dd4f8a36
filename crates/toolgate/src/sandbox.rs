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
//! A program that never calls `init` works without commands: `run_command` answers with
//! `sandbox_unavailable`.

pub use toolgate_sandbox::env;
pub use toolgate_sandbox::paths::{
    OwnPlaces, PathError, PathRules, PathSandbox, Resolved as ResolvedPath, Root, RootAccess,
    RootRule, Roots, RulesError as PathRulesError,
};

#[cfg(feature = "sandbox")]
pub use toolgate_sandbox::command::{
    CommandSandbox, CommandSpec, DoctorReport, Grant as DirectoryGrant, Level,
    Limits as CommandLimits, Network as CommandNetwork, Protection, SandboxError, SandboxRules,
    init, probe,
};
