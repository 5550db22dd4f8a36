//! The command sandbox, between a command that a model wrote and the machine.
//!
//! ```text
//!  caller                    warden, one thread,     inside the sandbox
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
//! A [`CommandSpec`] goes in, a [`Running`] with two pipes comes out. In between a command can be
//! [`Poised`]: its sandbox is up and its program has not begun.
//!
//! | directory | process | moment |
//! |---|---|---|
//! | `caller/` | the gate's | starts, reads and waits; it never forks |
//! | `caller/search/` | the gate's | before a command: which names to mask |
//! | `caller/after/` | the gate's | after it: which guarded names appeared |
//! | `warden/` | a copy of the program, started once ([`init`]) | makes sandboxes ahead of need |
//! | `inside/` | the sandbox's own | from its first process to the exec |
//! | `protocol/` | both ends | the messages between them |
//!
//! The warden prepares the next sandboxes from a template with the directories and guards of the
//! last command in them. An order that does not fit gets another template. All sandboxes of a process
//! that would start the same warden share one.
//!
//! Starting fails if the machine lacks a layer of the sandbox ([`SandboxError::Unavailable`];
//! [`probe`] says what to do), or if a step fails ([`Outcome::Setup`], with the step, the kernel's
//! reason and the path). It is never tried again with fewer layers.

mod caller;
mod error;
mod inside;
mod protocol;
mod rules;
mod sys;
mod warden;

use std::sync::atomic::Ordering;

pub(crate) use caller::layout::Watched;

pub use caller::after::records::RECORDS_LOCK;
pub use caller::after::sweep::{Appeared, Settled};
pub use caller::doctor::{DoctorReport, Protection, probe};
pub use caller::driving::{Driving, Turn};
pub use caller::exact::ExactDirectory;
pub use caller::guards::Hidden;
pub use caller::left_out::LeftOut;
pub use caller::place::Place;
pub use caller::reach::{Barrier, Denial, Reach, seen_by_all};
pub use caller::remedy::Remedy;
pub use caller::running::{Cause, Deadlines, Finished, Poised, Running, Stream};
pub use caller::sandbox::{CommandSandbox, InForce};
pub use caller::search::found::Missed;
pub use error::SandboxError;
pub use inside::refusals::Refused;
pub use protocol::message::{BadOrder, Mask, MaskKind, Order, SharedDirectory};
pub use protocol::report::{Outcome, Report, SetupError, Step};
pub use rules::{
    CommandSpec, Grant, Level, Limits, Network, Omit, Program, SandboxRules, SetAside,
};

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
        .is_some_and(|name| name == warden::serve::NAME)
    {
        // A copy of a process with several threads could not be trusted to do anything.
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads == 1 {
            warden::serve::serve();
        }
        sys::end(1);
    }
    caller::sandbox::READY.store(true, Ordering::Release);
}
