//! Watches a command: reaps ended processes and counts refused system calls, until
//! the shell has ended or there is a reason to end it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::refusals::Refusals;
use crate::command::protocol::report::Outcome;
use crate::command::sys;

/// The signals that a watching process takes as messages.
#[derive(Debug)]
pub(super) struct Signals(OwnedFd);

impl Signals {
    /// Holds back the signal that a child has ended.
    ///
    /// No other one: those that the kernel keeps from the first process of a namespace
    /// would reach it if they were held back.
    pub(super) fn of_children() -> Result<Self, Errno> {
        sys::signal_fd(&[libc::SIGCHLD]).map(Self)
    }

    /// Holds back the order to end as well.
    pub(super) fn of_children_and_the_end() -> Result<Self, Errno> {
        sys::signal_fd(&[libc::SIGTERM, libc::SIGCHLD]).map(Self)
    }

    /// Takes all signals that came; says whether one of them was the order to end.
    fn take(&self) -> Result<bool, Errno> {
        let mut told = false;
        loop {
            let mut one = [0_u8; size_of::<libc::signalfd_siginfo>()];
            match rustix::io::read(&self.0, &mut one) {
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
}

/// Waits for the end of the shell, for the order to end, or for `status` to be closed at
/// the other end, where that is a reason.
pub(super) fn keep(
    shell: Pid,
    signals: &Signals,
    status: Option<BorrowedFd<'_>>,
    refusals: &mut Refusals,
) -> Result<Outcome, Errno> {
    loop {
        if let Some(outcome) = reap(shell)? {
            return Ok(outcome);
        }
        // A missing descriptor is replaced by another one, and its event is ignored.
        let own = signals.0.as_fd();
        let (hung_up, called, left) = {
            let listener = refusals.listener();
            let mut fds = [
                PollFd::from_borrowed_fd(own, PollFlags::IN),
                // Messages on it are for the shell; only its end matters here.
                PollFd::from_borrowed_fd(status.unwrap_or(own), PollFlags::RDHUP),
                PollFd::from_borrowed_fd(listener.unwrap_or(own), PollFlags::IN),
            ];
            match rustix::event::poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            let [_, status_now, listener_now] = fds.map(|fd| fd.revents());
            (
                status.is_some() && !status_now.is_empty(),
                listener.is_some() && listener_now.contains(PollFlags::IN),
                listener.is_some() && listener_now.contains(PollFlags::HUP),
            )
        };
        if called {
            refusals.answer();
        } else if left {
            refusals.close();
        }
        if hung_up || signals.take()? {
            return Ok(Outcome::Killed);
        }
    }
}

/// Reaps all ended processes; gives the outcome if the shell was among them.
fn reap(shell: Pid) -> Result<Option<Outcome>, Errno> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == shell => return Ok(Some(outcome_of(status))),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(Errno::CHILD) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
}

/// How a process ended, for the caller.
fn outcome_of(status: WaitStatus) -> Outcome {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(signal)) => Outcome::Signaled(signal),
        (None, None) => Outcome::Killed,
    }
}
