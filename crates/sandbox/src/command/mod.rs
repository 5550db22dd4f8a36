//! The command sandbox: what stands between a command that a model wrote and the machine.
//!
//! ```text
//!  gate's side               warden, one thread,     in the sandbox
//!  CommandSpec               empty environment       template ── the mounts and masks
//!    │ search, placeholders    │                       │ copied by the kernel
//!    ▼                         │                       ▼
//!  Order ── memfd, pipes, ──▶ hands it to a ────────▶ init ── namespaces of its own,
//!    ▲      root descriptors  sandbox made before      │      limits, no privileges
//!    │                                                 ▼
//!    │                                               shell ── session, Landlock,
//!    │                                                 │      seccomp, exec
//!    └── outcome ◀─ status socket ◀────────────────────┘
//!    └── pidfd: readable when everything is gone; killing it ends everything
//! ```
//!
//! In comes a [`CommandSpec`], out comes a [`Running`] with two pipes and an end; between
//! the two it can be held ([`Poised`]), with all sandboxes up and the program not begun. The
//! gate's process never forks: it starts a copy of itself once ([`init`]), and that small
//! process makes the others. The next sandbox is made before it is asked for, after a template
//! with the directories and guards of the last command; an order that it does not suit gets
//! another template.
//!
//! What can go wrong: the machine lacks a sandbox ([`SandboxError::Unavailable`], and
//! [`probe`] says what to do), or a step of the way fails ([`Outcome::Setup`], with the
//! step, the kernel's reason and the path). There is no second try with fewer sandboxes.

mod baseline;
mod bind;
mod confine;
mod deep;
mod descendants;
mod directory;
mod doctor;
mod entry;
mod error;
mod exact;
mod fence;
mod filter;
mod found;
mod git_state;
mod guards;
mod init;
mod layout;
mod links;
mod machine;
mod memory;
mod message;
mod mounts;
mod own_files;
mod owner;
mod packets;
mod placeholders;
mod planted;
mod populate;
mod reach;
mod ready;
mod recheck;
mod records;
mod refusals;
mod report;
mod repository;
mod rules;
mod running;
mod sandbox;
mod search;
mod seccomp;
mod shell;
mod start;
mod supervise;
mod sweep;
mod sys;
mod system;
mod system_mounts;
mod template;
mod user_limits;
mod warden;
mod watchdog;
mod ways;
mod wire;

use std::sync::atomic::Ordering;

pub use doctor::{DoctorReport, Protection, probe};
pub use error::SandboxError;
pub use exact::ExactDirectory;
pub use found::Missed;
pub use guards::Hidden;
pub use message::{BadOrder, Mask, MaskKind, Order, SharedDirectory};
pub use reach::{Barrier, Denial, Reach, Remedy, seen_by_all};
pub use refusals::Refused;
pub use report::{Outcome, Report, SetupError, Step};
pub use rules::{
    CommandSpec, Grant, Level, Limits, Network, Omit, Program, SandboxRules, SetAside,
};
pub use running::{Cause, Deadlines, Finished, Poised, Running, Stream};
pub use sandbox::{CommandSandbox, InForce};
pub use sweep::{Appeared, Settled};

/// Makes this program able to run commands. Call it first thing in `main`, before any thread
/// starts: a process with several threads refuses to become the warden.
///
/// Where the program was started as a warden, this becomes the warden and never returns.
/// Otherwise it only notes that the program can start itself as one.
///
/// `#[tokio::main]` starts threads before the body of its function runs. Put it on a second
/// function:
///
/// ```
/// fn main() {
///     toolgate_sandbox::command::init();
///     start();
/// }
///
/// // #[tokio::main]
/// fn start() {}
/// ```
pub fn init() {
    if std::env::args_os()
        .next()
        .is_some_and(|name| name == warden::NAME)
    {
        // A copy of a process with several threads could not be trusted to do anything.
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads == 1 {
            warden::serve();
        }
        sys::end(1);
    }
    sandbox::READY.store(true, Ordering::Release);
}
