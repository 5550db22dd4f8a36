//! A command that runs, and its end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;

use super::connection::Connection;
use super::guards::Hidden;
use super::layout::Watched;
use super::place::Place;
use super::sandbox::{InForce, Inner, end_signal};
use crate::command::caller::after::baseline::Listed;
use crate::command::caller::after::placeholders::Held;
use crate::command::caller::after::sweep::Settled;
use crate::command::caller::search::found::Missed;
use crate::command::inside::init::GO;
use crate::command::inside::refusals::Refused;
use crate::command::protocol::report::{Outcome, Report};
use crate::command::protocol::wire;
use crate::command::rules::Level;
use crate::layer::{Layer, NoLayer};

/// How long to wait for the end of a command after killing it. A result is due
/// within a second of a deadline, and clearing up takes part of that.
const GRACE: Duration = Duration::from_millis(700);

/// A command whose program has not begun. Dropped, it never begins.
#[derive(Debug)]
pub struct Poised(pub(crate) Running);

impl Poised {
    /// Lets it begin.
    pub fn go(mut self) -> Running {
        if let Some(layer) = &mut self.0.layer {
            layer.start();
        }
        // If sending fails the sandbox is gone, and the end reports that.
        let _ = wire::send(&self.0.status, GO, &[]);
        self.0.sandbox.tell_begun();
        self.0
    }
}

/// A command that was started.
///
/// [`Running::stdout`] and [`Running::stderr`] do not block. The command is over when it
/// and everything it started is gone, not at the end of a pipe; [`Running::drive`] and
/// [`Running::wait`] hear of that at once, and [`Running::end`] becomes readable a moment
/// later. Dropping it ends the command.
#[derive(Debug)]
pub struct Running {
    pub(super) sandbox: Arc<Inner>,
    /// The warden that started it, whose end would be its own.
    pub(super) _warden: Arc<Connection>,
    /// What it shares, which stays for as long as it runs.
    pub(super) _place: Option<Place>,
    pub(super) in_force: InForce,
    /// None where nothing was started; then the outcome is there.
    pub(crate) pidfd: Option<OwnedFd>,
    pub(crate) status: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) outcome: Option<Outcome>,
    /// The first report of the outcome, until the end.
    pub(crate) word: Option<Outcome>,
    /// The system calls that seccomp refused.
    pub(crate) refused: Vec<Refused>,
    /// Whether nothing more will be reported.
    pub(super) silent: bool,
    pub(crate) before: Option<Before>,
    /// Where its changes are.
    pub(crate) layer: Option<Layer>,
    pub(crate) no_layer: Option<NoLayer>,
}

/// The state before a command, and the resources held for it.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) held: Held,
    pub(super) watched: Vec<Watched>,
    pub(crate) listed: Listed,
    pub(crate) hidden: Vec<Hidden>,
}

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Why a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It ended.
    Itself,
    /// Its time was over.
    Timeout,
    /// It wrote nothing for too long.
    IdleTimeout,
    /// The cancellation descriptor became readable.
    Cancelled,
}

/// When to end a command that does not end itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadlines {
    /// After this, whatever happens.
    pub total: Option<Duration>,
    /// After this without output.
    pub idle: Option<Duration>,
}

/// A command that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub cause: Cause,
    /// The results of the sweep.
    pub settled: Settled,
    /// The system calls that seccomp refused. Also programs that do not mind make some: a
    /// look for a name service, for example, starts with a socket that is refused.
    pub refused: Vec<Refused>,
    /// What it changed in the roots, where it ran in a layer. Nothing of that is real yet.
    pub layer: Option<Layer>,
    /// Why it ran without a layer, where it was to run in one.
    pub no_layer: Option<NoLayer>,
}

impl Poised {
    /// The sandbox in force around it.
    pub fn in_force(&self) -> InForce {
        self.0.in_force
    }

    /// Whether its changes go to a layer.
    pub fn is_layered(&self) -> bool {
        self.0.is_layered()
    }

    /// Why they do not, where they were to.
    pub fn no_layer(&self) -> Option<&NoLayer> {
        self.0.no_layer()
    }
}

impl Running {
    /// Whether its changes go to a layer.
    pub fn is_layered(&self) -> bool {
        self.layer.is_some()
    }

    /// Why they do not, where they were to.
    pub fn no_layer(&self) -> Option<&NoLayer> {
        self.no_layer.as_ref()
    }

    /// Takes the layer of a command that is over; none while it runs, or if it has none.
    pub fn take_layer(&mut self) -> Option<Layer> {
        self.outcome.as_ref()?;
        self.layer.take()
    }

    /// The reading end of standard output.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    /// The reading end of standard error.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_fd()
    }

    /// Readable when everything is gone, the sandbox included. Where nothing was started it
    /// is readable at once.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.pidfd.as_ref().unwrap_or(&self.status).as_fd()
    }

    /// The system calls that seccomp refused, once the command is over.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The sandbox in force around it.
    pub fn in_force(&self) -> InForce {
        self.in_force
    }

    /// Ends the command and everything it started. The end is near when this returns;
    /// [`Running::end`] says when it is there.
    pub fn kill(&self) {
        if let Some(pidfd) = &self.pidfd {
            let signal = end_signal(self.in_force.level == Level::Namespaces);
            let _ = rustix::process::pidfd_send_signal(pidfd, signal);
        }
    }

    /// How the command ended, if it has.
    pub fn try_wait(&mut self) -> Option<Outcome> {
        self.wait(Duration::ZERO)
    }

    /// Waits for the end, for so long at most.
    pub fn wait(&mut self, at_most: Duration) -> Option<Outcome> {
        let until = Instant::now() + at_most;
        while self.outcome.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            let ends = [self.report(), self.end()];
            let [said, gone] = wire::readable_of(ends, left).unwrap_or([true; 2]);
            self.hear(said, gone);
            if !said && left.is_zero() {
                break;
            }
        }
        self.outcome.clone()
    }

    /// Readable when something was reported, or when everything is gone.
    pub(super) fn report(&self) -> BorrowedFd<'_> {
        if self.silent {
            self.end()
        } else {
            self.status.as_fd()
        }
    }

    /// Reads the reports. The first report of the outcome counts: if
    /// the program could not be started, the process that was to become it reports so and
    /// exits.
    pub(super) fn hear(&mut self, said: bool, gone: bool) {
        while (said || gone) && self.outcome.is_none() && !self.silent {
            let Ok(packet) = wire::receive(&self.status, RecvFlags::DONTWAIT) else {
                break;
            };
            match Report::decode(&packet.bytes) {
                Some(Report::Over(outcome)) => {
                    self.outcome = Some(self.word.take().unwrap_or(outcome));
                }
                Some(Report::Ended(outcome)) => {
                    self.word.get_or_insert(outcome);
                }
                Some(Report::Refused(calls)) => self.refused = calls,
                Some(_) => {}
                None => self.silent = true,
            }
        }
        if gone && self.outcome.is_none() {
            self.outcome = Some(self.word.take().unwrap_or(Outcome::Killed));
        }
    }

    /// Clears up after the command: ends it if it runs, removes placeholders, and moves
    /// aside what appeared under protected names.
    pub fn settle(mut self) -> Settled {
        self.finish()
    }

    pub(super) fn finish(&mut self) -> Settled {
        if self.try_wait().is_none() {
            self.kill();
            self.wait(GRACE);
        }
        let Some(before) = self.before.take() else {
            return Settled::default();
        };
        let hidden = before.hidden.clone();
        let mut settled = match self.pidfd.take() {
            // A process in the kernel that cannot be interrupted may still make something.
            Some(pidfd) if self.outcome.is_none() => {
                self.sandbox.settle_later(pidfd, before);
                Settled {
                    missed: Some(Missed::Ending),
                    ..Settled::default()
                }
            }
            pidfd => {
                self.pidfd = pidfd;
                self.sandbox.settle(before)
            }
        };
        settled.hidden = hidden;
        settled
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.finish();
    }
}
