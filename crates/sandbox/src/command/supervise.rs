//! The lower rung: no namespaces, so nothing but a process stands over the command.
//!
//! The supervisor is the subreaper of everything the command starts: whatever loses its
//! parent becomes the supervisor's child. It ends all of it when the shell ends, when it
//! is told to, when nobody listens any more, and when the warden is gone. It is not to be
//! killed outright; that would set its children free, which is why ending a command on
//! this rung means asking the supervisor. The command itself cannot signal it: that is
//! part of what Landlock scopes.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use super::confine;
use super::init::{Kind, outcome_of, report};
use super::kin;
use super::message::Order;
use super::report::{Outcome, Report, SetupFailure, Step};
use super::shell::{self, Places, Stdio};
use super::sys::{self, Side};
use super::warden::Machine;

/// Runs the command and leaves nothing of it behind.
pub(super) fn run(
    order: Order,
    stdio: Stdio,
    folders: Vec<OwnedFd>,
    status: &OwnedFd,
    kind: Kind,
    machine: &Machine,
) -> Result<Outcome, SetupFailure> {
    if !kind.fits(&order) {
        return Err(SetupFailure::new(Step::Order, Errno::BADMSG).about("another sandbox's order"));
    }
    let at = |step| move |errno| SetupFailure::new(step, errno);
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(at(Step::Fork))?;
    let signals = sys::signal_fd(&[libc::SIGTERM, libc::SIGCHLD]).map_err(at(Step::Fork))?;
    let scratch = Scratch::make().map_err(at(Step::Scratch))?;
    confine::drop_privileges().map_err(at(Step::Privileges))?;
    let places = Places {
        home: &scratch.path,
        temporary: &scratch.path,
        private: &[&scratch.path],
    };
    match sys::clone3(0).map_err(at(Step::Fork))? {
        Side::Child => {
            let open = folders.iter().map(AsFd::as_fd).collect();
            let failure = match shell::first_steps(kind, machine) {
                Ok(()) => shell::last_steps(&order, &stdio, open, &places, machine),
                Err(failure) => failure,
            };
            report(status, &Report::Ended(Outcome::Setup(failure)));
            sys::end(127)
        }
        Side::Parent(shell) => {
            drop((stdio, folders));
            let outcome = watch(shell.pid, &signals, status);
            end_descendants();
            drop(scratch);
            outcome.map_err(at(Step::Fork))
        }
    }
}

/// Waits for the end of the shell or for a reason to end it.
fn watch(shell: Pid, signals: &OwnedFd, status: &OwnedFd) -> Result<Outcome, Errno> {
    loop {
        let mut fds = [
            PollFd::new(signals, PollFlags::IN),
            // Nothing is ever sent this way: what happens here is the end of it.
            PollFd::new(status, PollFlags::RDHUP),
        ];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let [signalled, hung_up] = fds.map(|fd| !fd.revents().is_empty());
        if hung_up {
            return Ok(Outcome::Killed);
        }
        if signalled && drain(signals)? {
            return Ok(Outcome::Killed);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == shell => return Ok(outcome_of(status)),
                Ok(Some(_)) => {}
                Ok(None) | Err(Errno::CHILD) => break,
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// Takes all signals that came; says whether one of them was the order to end.
fn drain(signals: &OwnedFd) -> Result<bool, Errno> {
    let mut told = false;
    loop {
        let mut one = [0_u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(signals, &mut one) {
            // The number is the first field.
            Ok(_) => {
                let number = one
                    .first_chunk::<4>()
                    .map(|bytes| u32::from_ne_bytes(*bytes));
                told |= number == Some(libc::SIGTERM.unsigned_abs());
            }
            Err(Errno::AGAIN) => return Ok(told),
            Err(errno) => return Err(errno),
        }
    }
}

/// Kills until there is nobody left. What is killed cannot fork, and what loses its
/// parent meanwhile is found in the next round.
fn end_descendants() {
    loop {
        for pid in kin::descendants() {
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

/// A private folder on disk, gone with its owner.
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
