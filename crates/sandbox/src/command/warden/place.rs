//! What the commands of one conversation share: the file system in memory with `/tmp` and the home
//! directory, and the network with its loopback.
//!
//! A place is three namespaces and no process: the user namespace that owns the other two, a mount
//! namespace that holds the file system and nothing else, and the network namespace. The warden keeps
//! them open. Templates of the conversation live in the user and the network namespace and copy the
//! file system from the mount namespace, so a new template finds everything as it was.
//!
//! ```text
//!  warden ── clone ──▶ maker: mounts, network up ──▶ ready     (ends; the namespaces stay)
//!         ── fork ───▶ joins the user namespace ── clone ──▶ template
//! ```

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, Pid, Signal};
use rustix::thread::LinkNameSpaceType;

use super::template::{failure_in, let_go, open};
use crate::command::inside::init::{GO, report};
use crate::command::inside::scratch;
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire;
use crate::command::rules::Network;
use crate::command::sys::{self, Child, Side};

/// How long making one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shared part of a conversation's sandboxes. It is taken down when this is dropped and the last
/// process in it has ended.
#[derive(Debug)]
pub(super) struct Place {
    users: OwnedFd,
    mounts: OwnedFd,
    network: OwnedFd,
}

impl Place {
    /// Makes a place with nothing in it.
    pub(super) fn make() -> Result<Self, SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        let (ours, theirs) = wire::pair().map_err(failed)?;
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET;
        match sys::clone3(flags).map_err(failed)? {
            Side::Child => {
                let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
                if let Ok(control) = sys::keep_only(theirs)
                    && let Ok(packet) = wire::receive(&control, RecvFlags::empty())
                    && packet.bytes == GO
                {
                    report(&control, &populate());
                    // The namespaces are opened meanwhile.
                    let _ = wire::receive(&control, RecvFlags::empty());
                }
                sys::end(0)
            }
            Side::Parent(child) => {
                drop(theirs);
                let_go(&child, &ours, &[])?;
                let packet = answer(&ours)?;
                if Report::decode(&packet.bytes) != Some(Report::Ready) {
                    return Err(failure_in(&packet.bytes));
                }
                let of = |name| open(&format!("/proc/{}/ns/{name}", child.pid.as_raw_nonzero()));
                Ok(Self {
                    users: of("user").map_err(failed)?,
                    mounts: of("mnt").map_err(failed)?,
                    network: of("net").map_err(failed)?,
                })
            }
        }
    }

    /// The mount namespace, which a template copies the file system from.
    pub(super) fn mounts(&self) -> &OwnedFd {
        &self.mounts
    }

    /// Starts a process with new mount and PID namespaces in this place; `live` is its life. The
    /// process is a child of the warden. Gives the process and our end of its socket.
    pub(super) fn start(
        &self,
        network: Network,
        live: impl FnOnce(OwnedFd),
    ) -> Result<(Child, OwnedFd), SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        let (ours, theirs) = wire::pair().map_err(failed)?;
        match sys::clone3(0).map_err(failed)? {
            Side::Child => {
                let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
                drop(ours);
                match self.bear(network) {
                    Ok(Side::Child) => live(theirs),
                    Ok(Side::Parent(child)) => {
                        let pid = child.pid.as_raw_nonzero().get().to_le_bytes();
                        let _ = wire::send(&theirs, &pid, &[child.pidfd.as_fd()]);
                    }
                    Err(errno) => {
                        let failure = SetupError::new(Step::Clone, errno);
                        report(&theirs, &Report::Ended(Outcome::Setup(failure)));
                    }
                }
                sys::end(0)
            }
            Side::Parent(_) => {
                drop(theirs);
                let packet = answer(&ours)?;
                let pid = packet.bytes.as_slice().try_into().map(i32::from_le_bytes);
                let pid = pid.ok().and_then(Pid::from_raw);
                match (pid, packet.fds.into_iter().next()) {
                    (Some(pid), Some(pidfd)) => Ok((Child { pid, pidfd }, ours)),
                    _ => Err(failure_in(&packet.bytes)),
                }
            }
        }
    }

    /// Joins the place and makes the process, as a sibling.
    fn bear(&self, network: Network) -> Result<Side, Errno> {
        enter(&self.users, LinkNameSpaceType::User)?;
        if network != Network::On {
            enter(&self.network, LinkNameSpaceType::Network)?;
        }
        // Joining made it one that cannot be looked into, and such a process gets no id maps.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        sys::clone3(libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_PARENT)
    }
}

/// A copy of the file system of a place, for this process's own mount namespace.
pub(super) fn file_system(mounts: &OwnedFd) -> Result<OwnedFd, Errno> {
    let own = open("/proc/self/ns/mnt")?;
    enter(mounts, LinkNameSpaceType::Mount)?;
    let tree = scratch::copy();
    enter(&own, LinkNameSpaceType::Mount)?;
    tree
}

fn enter(namespace: &OwnedFd, kind: LinkNameSpaceType) -> Result<(), Errno> {
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(kind))
}

fn populate() -> Report {
    let made = scratch::make_shared()
        .map_err(|errno| SetupError::new(Step::Scratch, errno))
        .and_then(|()| sys::loopback_up().map_err(|errno| SetupError::new(Step::Network, errno)));
    match made {
        Ok(()) => Report::Ready,
        Err(failure) => Report::Ended(Outcome::Setup(failure)),
    }
}

fn answer(socket: &OwnedFd) -> Result<wire::Packet, SetupError> {
    let failed = |errno| SetupError::new(Step::Clone, errno);
    if !wire::readable(socket, PATIENCE).map_err(failed)? {
        return Err(failed(Errno::TIMEDOUT));
    }
    wire::receive(socket, RecvFlags::DONTWAIT).map_err(failed)
}
