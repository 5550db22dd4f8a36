//! A prepared sandbox, and how it gets its command.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal};

use super::machine::Machine;
use super::template::Template;
use crate::command::inside::init::{self, Blueprint, GO, Kind};
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire::{self, Packet};
use crate::command::sys::{self, Side};

/// How long a sandbox may take to look at an order.
const PATIENCE: Duration = Duration::from_secs(2);

/// A sandbox that waits for its command, or has it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) kind: Kind,
    /// Where it comes from; on the lower level the warden made it itself. A template has to stay
    /// for as long as what was made from it.
    pub(super) template: Option<Rc<Template>>,
    /// Its number, where the warden made it itself.
    pub(crate) pid: Option<Pid>,
    pub(crate) pidfd: OwnedFd,
    /// Kept open while the sandbox lives: closing it with the first report unread
    /// would reset the connection, and the order in it would be lost.
    pub(crate) control: OwnedFd,
    pub(crate) network: Option<OwnedFd>,
    /// The last reference to the namespaces. Taking them down takes as long as putting
    /// them up; held here, that happens after the end of the command is reported.
    _namespaces: Vec<OwnedFd>,
}

impl Ready {
    /// Readable when its command is over. A supervisor, on the lower
    /// level, is over when it is gone.
    pub(crate) fn end(&self) -> &OwnedFd {
        if self.kind.namespaces {
            &self.control
        } else {
            &self.pidfd
        }
    }

    /// A copy of a template.
    pub(super) fn of(template: &Rc<Template>) -> Result<Self, SetupError> {
        let made = template.make()?;
        Ok(Self {
            kind: template.kind,
            template: Some(Rc::clone(template)),
            pid: None,
            pidfd: made.pidfd,
            control: made.control,
            network: made.network,
            _namespaces: made.namespaces,
        })
    }

    /// A process that will be a supervisor, on the lower level.
    pub(super) fn without_namespaces(kind: Kind, machine: &Machine) -> Result<Self, SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        let (ours, theirs) = wire::pair().map_err(failed)?;
        let template = Blueprint {
            kind,
            machine,
            form: None,
            names: None,
        };
        match sys::clone3(0).map_err(failed)? {
            Side::Child => init::live(theirs, &template),
            Side::Parent(child) => {
                wire::send(&ours, GO, &[]).map_err(failed)?;
                Ok(Self {
                    kind,
                    template: None,
                    pid: Some(child.pid),
                    pidfd: child.pidfd,
                    control: ours,
                    network: None,
                    _namespaces: Vec::new(),
                })
            }
        }
    }
}

/// Gives a packet to a sandbox with namespaces. It reports that it has taken the order
/// before it begins with it, and whether its template fitted. Another sandbox can be
/// given the order if, and only if, this was never reported.
pub(crate) fn give(ready: &Ready, packet: &Packet) -> Result<Option<bool>, SetupError> {
    let failed = |errno| SetupError::new(Step::Clone, errno);
    let fds: Vec<BorrowedFd<'_>> = packet.fds.iter().map(AsFd::as_fd).collect();
    // If it has ended, the answer shows it.
    let _ = wire::send(&ready.control, &packet.bytes, &fds);
    loop {
        if !wire::readable(&ready.control, PATIENCE).map_err(failed)? {
            // Once it is dead, what it said before is all it will ever say.
            rustix::process::pidfd_send_signal(&ready.pidfd, Signal::KILL).map_err(failed)?;
            if !wire::readable(&ready.pidfd, PATIENCE).map_err(failed)? {
                return Err(failed(Errno::TIMEDOUT));
            }
        }
        let packet = match wire::receive(&ready.control, RecvFlags::DONTWAIT) {
            // It ended without having read the order.
            Err(Errno::CONNRESET) => return Ok(None),
            other => other.map_err(failed)?,
        };
        match Report::decode(&packet.bytes) {
            Some(Report::Ready) => {}
            Some(Report::Taken { as_made }) => return Ok(Some(as_made)),
            _ => return Ok(None),
        }
    }
}

pub(super) fn first_word(ready: &Ready) -> Result<(), SetupError> {
    let failed = |errno| SetupError::new(Step::Clone, errno);
    // The order and every later order wait for this.
    if !wire::readable(&ready.control, PATIENCE).map_err(failed)? {
        return Err(failed(Errno::TIMEDOUT));
    }
    let packet = wire::receive(&ready.control, RecvFlags::DONTWAIT).map_err(failed)?;
    match Report::decode(&packet.bytes) {
        Some(Report::Ready) => Ok(()),
        Some(Report::Ended(Outcome::Setup(failure))) => Err(failure),
        _ => Err(failed(Errno::PIPE)),
    }
}
