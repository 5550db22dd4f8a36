//! The lower level: without namespaces, only a supervising process controls the command.
//!
//! The supervisor is the subreaper of everything the command starts: a process that loses its
//! parent becomes the supervisor's child. It ends all of it when the shell ends, when it
//! is told to, when the caller is gone, and when the warden is gone. It must not be
//! killed outright; that would set its children free, which is why ending a command on
//! this level means asking the supervisor. The command itself cannot signal it: that is
//! part of what Landlock scopes.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions};

use super::confine;
use super::init::{Kind, report};
use super::refusals::Refused;
use super::shell::{self, Places, Stdio};
use super::watchdog::{self, Signals};
use crate::command::protocol::message::Order;
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire;
use crate::command::sys::{self, Side};
use crate::command::warden::descendants;
use crate::command::warden::machine::Machine;

/// Runs the command and leaves nothing of it behind.
pub(crate) fn run(
    order: Order,
    stdio: Stdio,
    directories: Vec<OwnedFd>,
    status: &OwnedFd,
    kind: Kind,
    machine: &Machine,
) -> Result<(Outcome, Vec<Refused>), SetupError> {
    if !kind.fits(&order) {
        return Err(SetupError::new(Step::Order, Errno::BADMSG).about("another sandbox's order"));
    }
    let at = |step| move |errno| SetupError::new(step, errno);
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(at(Step::Fork))?;
    let signals = Signals::of_children_and_the_end().map_err(at(Step::Fork))?;
    let scratch = Scratch::make().map_err(at(Step::Scratch))?;
    confine::drop_privileges().map_err(at(Step::Privileges))?;
    let places = Places {
        home: &scratch.path,
        temporary: &scratch.path,
        private: &[&scratch.path],
    };
    let (ours, theirs) = wire::pair().map_err(at(Step::Fork))?;
    match sys::clone3(0).map_err(at(Step::Fork))? {
        Side::Child => {
            drop(ours);
            let open = directories.iter().map(AsFd::as_fd).collect();
            let failure = match shell::first_steps(kind, machine)
                .and_then(|listener| shell::hand_over(&theirs, listener))
                .and_then(|()| shell::middle_steps(&order, open, &places, machine))
            {
                Ok(()) => shell::last_steps(&order, &stdio, status, &places),
                Err(failure) => failure,
            };
            report(status, &Report::Ended(Outcome::Setup(failure)));
            sys::end(127)
        }
        Side::Parent(shell) => {
            drop((stdio, directories, theirs));
            let over = shell::take_over(&ours).map(|mut refusals| {
                // From here on the program may have begun.
                let outcome =
                    watchdog::keep(shell.pid, &signals, Some(status.as_fd()), &mut refusals);
                (outcome.unwrap_or(Outcome::Killed), refusals.counted())
            });
            end_descendants();
            drop(scratch);
            over.map_err(at(Step::Fork))
        }
    }
}

/// Kills until no process is left. A killed process cannot fork, and one that loses its
/// parent meanwhile is found in the next round.
fn end_descendants() {
    loop {
        for pid in descendants::descendants() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // Blocks until one of them is gone, and knows when there is none.
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    }
}

/// A private directory on disk, gone with its owner.
#[derive(Debug)]
struct Scratch {
    path: String,
}

impl Scratch {
    fn make() -> Result<Self, Errno> {
        let io = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
        let name = std::fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(io)?;
        let path = format!("/tmp/toolgate-{}", name.trim());
        rustix::fs::mkdir(&path, rustix::fs::Mode::RWXU)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
