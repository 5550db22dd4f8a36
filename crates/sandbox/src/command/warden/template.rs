//! Templates: processes whose mounts are what commands will see.
//!
//! Mounting takes most of the time it takes to make a sandbox, and one command mostly gets
//! what the one before got. So it is done once, in a template, and a sandbox is a copy of it:
//! a process in a user, mount, process and IPC namespace of its own, for which the kernel
//! copies the mounts. Parts that no two sandboxes may share it makes for itself.
//!
//! No command runs in a template. It is the first process of a PID namespace that holds
//! everything made from it, so that all of it ends with the template, and the template with the
//! warden.
//!
//! ```text
//!  warden ── GO ──────────────▶ prepares the system's part ──▶ ready
//!         ── form, an order ──▶ directories and guards, enters ──▶ ready
//!         ── make ────────────▶ clone, id maps ──────────────▶ made, with descriptors
//! ```

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal};
use rustix::thread::LinkNameSpaceType;

use super::machine::Machine;
use super::place::{self, Place};
use crate::command::inside::init::{self, Blueprint, GO, Kind, Pattern, report};
use crate::command::inside::mounts::NewRoot;
use crate::command::inside::populate::Form;
use crate::command::inside::system::Tree;
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire;
use crate::command::rules::Network;
use crate::command::sys::{self, Child, Side};

/// How long a template may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many networks are kept for later sandboxes.
const MOST_SPARE: usize = 4;

const FORM: &[u8] = b"form";
const MAKE: &[u8] = b"make";
const MADE: &[u8] = b"made";

/// A template, as the warden holds it. Its process ends when this is dropped.
#[derive(Debug)]
pub(super) struct Template {
    pub(crate) kind: Kind,
    child: Child,
    control: OwnedFd,
    /// Networks whose sandboxes are gone.
    spare: RefCell<Vec<OwnedFd>>,
}

/// A sandbox that came out of a template.
#[derive(Debug)]
pub(super) struct Made {
    pub(crate) pidfd: OwnedFd,
    pub(crate) control: OwnedFd,
    /// The network, where it is not the machine's.
    pub(crate) network: Option<OwnedFd>,
    /// The mount and the IPC namespace.
    pub(crate) namespaces: Vec<OwnedFd>,
}

impl Template {
    /// Starts a template, which then prepares what does not depend on a command.
    pub(crate) fn start(
        kind: Kind,
        machine: &Machine,
        place: Option<&Place>,
    ) -> Result<Self, SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        let trees = machine.system.trees()?;
        if let Some(place) = place {
            let names: Vec<&str> = trees.iter().map(|(name, _)| *name).collect();
            let life = |theirs| live(theirs, kind, machine, &names);
            let (child, control) = place.start(kind.network, life)?;
            let mut fds: Vec<BorrowedFd<'_>> = trees.iter().map(|(_, fd)| fd.as_fd()).collect();
            fds.push(place.mounts().as_fd());
            wire::send(&control, GO, &fds).map_err(failed)?;
            let spare = RefCell::default();
            return Ok(Self {
                kind,
                child,
                control,
                spare,
            });
        }
        let (ours, theirs) = wire::pair().map_err(failed)?;
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
        match sys::clone3(flags).map_err(failed)? {
            Side::Child => {
                let names: Vec<&str> = trees.iter().map(|(name, _)| *name).collect();
                live(theirs, kind, machine, &names)
            }
            Side::Parent(child) => {
                let trees: Vec<BorrowedFd<'_>> = trees.iter().map(|(_, fd)| fd.as_fd()).collect();
                let_go(&child, &ours, &trees)?;
                Ok(Self {
                    kind,
                    child,
                    control: ours,
                    spare: RefCell::default(),
                })
            }
        }
    }

    /// Gives it the form of an order, whose bytes and directories these are; without any, the
    /// form of a command that has no directories. To be done once.
    pub(crate) fn form(&self, pattern: &[BorrowedFd<'_>]) -> Result<(), SetupError> {
        self.is_ready()?;
        wire::send(&self.control, FORM, pattern)
            .map_err(|errno| SetupError::new(Step::Clone, errno))?;
        self.is_ready()
    }

    /// Makes a sandbox.
    pub(crate) fn make(&self) -> Result<Made, SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        let network = self.spare.borrow_mut().pop();
        let fds: Vec<BorrowedFd<'_>> = network.iter().map(AsFd::as_fd).collect();
        wire::send(&self.control, MAKE, &fds).map_err(failed)?;
        let packet = self.answer()?;
        if packet.bytes != MADE {
            return Err(failure_in(&packet.bytes));
        }
        let mut fds = packet.fds.into_iter();
        match (fds.next(), fds.next(), fds.next(), fds.next()) {
            (Some(pidfd), Some(control), Some(mounts), Some(ipc)) => Ok(Made {
                pidfd,
                control,
                network: fds.next(),
                namespaces: vec![mounts, ipc],
            }),
            _ => Err(failed(Errno::BADMSG)),
        }
    }

    /// Takes back the network of a sandbox that has ended.
    ///
    /// Only one without any device that is up: no process in it could send or had the
    /// capabilities to change it, so it is as it was when it was new.
    pub(super) fn take_back(&self, network: OwnedFd) {
        let mut spare = self.spare.borrow_mut();
        if self.kind.network == Network::Off && spare.len() < MOST_SPARE {
            spare.push(network);
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.child.pid
    }

    fn is_ready(&self) -> Result<(), SetupError> {
        let packet = self.answer()?;
        match Report::decode(&packet.bytes) {
            Some(Report::Ready) => Ok(()),
            _ => Err(failure_in(&packet.bytes)),
        }
    }

    fn answer(&self) -> Result<wire::Packet, SetupError> {
        let failed = |errno| SetupError::new(Step::Clone, errno);
        if !wire::readable(&self.control, PATIENCE).map_err(failed)? {
            let _ = rustix::process::pidfd_send_signal(&self.child.pidfd, Signal::KILL);
            return Err(failed(Errno::TIMEDOUT));
        }
        wire::receive(&self.control, RecvFlags::DONTWAIT).map_err(failed)
    }
}

pub(super) fn failure_in(bytes: &[u8]) -> SetupError {
    match Report::decode(bytes) {
        Some(Report::Ended(Outcome::Setup(failure))) => failure,
        // It was ended.
        _ => SetupError::new(Step::Clone, Errno::PIPE),
    }
}

/// The life of a template's process, from the clone on.
fn live(control: OwnedFd, kind: Kind, machine: &Machine, names: &[&'static str]) -> ! {
    // As in a sandbox, the go message never comes if the parent is gone already.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if let Ok(control) = sys::keep_only(control)
        && let Ok(packet) = wire::receive(&control, RecvFlags::empty())
        && packet.bytes == GO
        && packet.fds.len() == names.len() + usize::from(kind.shared)
        && let mut fds = packet.fds.into_iter()
        && let trees = names.iter().copied().zip(fds.by_ref()).collect()
        && let Err(failure) = serve(&control, kind, machine, trees, fds.next())
    {
        report(&control, &Report::Ended(Outcome::Setup(failure)));
    }
    sys::end(0)
}

fn serve(
    control: &OwnedFd,
    kind: Kind,
    machine: &Machine,
    trees: Vec<Tree>,
    place: Option<OwnedFd>,
) -> Result<(), SetupError> {
    let scratch = place.as_ref().map(place::file_system).transpose();
    let scratch = scratch.map_err(|errno| SetupError::new(Step::Scratch, errno))?;
    drop(place);
    let (hidden, limits) = (machine.system.hidden(), &machine.user_limits);
    let root = NewRoot::prepare(trees, hidden, limits, scratch.as_ref())?;
    let names = match kind.network {
        Network::On => root.name_servers()?,
        Network::Off | Network::Loopback => None,
    };
    report(control, &Report::Ready);
    let packet = hear(control)?;
    if packet.bytes != FORM {
        return Ok(());
    }
    let form = match Pattern::from(packet.fds) {
        Some(pattern) => Some(Form::after(
            pattern.order(kind)?,
            &root,
            &pattern.directories,
        )?),
        None => None,
    };
    root.enter()?;
    drop(root);
    report(control, &Report::Ready);
    let template = Blueprint {
        kind,
        machine,
        form,
        names,
    };
    loop {
        let packet = hear(control)?;
        if packet.bytes != MAKE {
            return Ok(());
        }
        let network = packet.fds.into_iter().next();
        if let Err(failure) = make(control, &template, network) {
            report(control, &Report::Ended(Outcome::Setup(failure)));
        }
    }
}

fn hear(control: &OwnedFd) -> Result<wire::Packet, SetupError> {
    wire::receive(control, RecvFlags::empty()).map_err(|errno| SetupError::new(Step::Clone, errno))
}

fn make(
    control: &OwnedFd,
    template: &Blueprint<'_>,
    spare: Option<OwnedFd>,
) -> Result<(), SetupError> {
    let failed = |errno| SetupError::new(Step::Clone, errno);
    // One that is shared is where this process is already.
    let network = if template.kind.shared {
        Ok(None)
    } else {
        network(template.kind.network, spare)
    };
    let network = network.map_err(|errno| SetupError::new(Step::Network, errno))?;
    let (ours, theirs) = wire::pair().map_err(failed)?;
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    template.machine.stay();
    match sys::clone3(flags).map_err(failed)? {
        Side::Child => init::live(theirs, template),
        Side::Parent(child) => {
            // Before it goes on: later these cannot be opened.
            let of = |name| open(&format!("/proc/{}/ns/{name}", child.pid.as_raw_nonzero()));
            let mounts = of("mnt").map_err(failed)?;
            let ipc = of("ipc").map_err(failed)?;
            let_go(&child, &ours, &[])?;
            let mut fds = vec![
                child.pidfd.as_fd(),
                ours.as_fd(),
                mounts.as_fd(),
                ipc.as_fd(),
            ];
            fds.extend(network.iter().map(AsFd::as_fd));
            wire::send(control, MADE, &fds).map_err(failed)
        }
    }
}

/// Moves this process into the network of the next sandbox, which is cloned into it: one
/// that was used before, or a new one.
fn network(kind: Network, spare: Option<OwnedFd>) -> Result<Option<OwnedFd>, Errno> {
    match (kind, spare) {
        (Network::On, _) => Ok(None),
        (Network::Off, Some(spare)) => {
            let kind = Some(LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(spare.as_fd(), kind)?;
            Ok(Some(spare))
        }
        (kind, _) => {
            sys::new_network()?;
            if kind == Network::Loopback {
                sys::loopback_up()?;
            }
            open("/proc/self/ns/net").map(Some)
        }
    }
}

pub(super) fn open(path: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::{CWD, Mode, OFlags};
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Maps the ids of a process in a new user namespace, and tells it to go on. A process that
/// gets no message, because the socket is closed, ends.
pub(super) fn let_go(
    child: &Child,
    line: &OwnedFd,
    fds: &[BorrowedFd<'_>],
) -> Result<(), SetupError> {
    write_maps(child)
        .and_then(|()| wire::send(line, GO, fds))
        .map_err(|errno| SetupError::new(Step::IdMaps, errno))
}

/// Every id means itself inside, as far as this process may say so.
fn write_maps(child: &Child) -> Result<(), Errno> {
    let io = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
    let of = |file: &str| format!("/proc/{}/{file}", child.pid.as_raw_nonzero());
    let own = rustix::process::geteuid();
    if own.is_root()
        && let (Ok(users), Ok(groups)) = (identity("uid_map"), identity("gid_map"))
        && std::fs::write(of("uid_map"), users).is_ok()
    {
        return std::fs::write(of("gid_map"), groups).map_err(io);
    }
    let group = rustix::process::getegid().as_raw();
    let user = own.as_raw();
    std::fs::write(of("uid_map"), format!("{user} {user} 1")).map_err(io)?;
    // Without this the kernel takes no group map from an ordinary user.
    std::fs::write(of("setgroups"), "deny").map_err(io)?;
    std::fs::write(of("gid_map"), format!("{group} {group} 1")).map_err(io)
}

/// The ids that exist here, each mapped to itself.
fn identity(file: &str) -> std::io::Result<String> {
    let mut out = String::new();
    for line in std::fs::read_to_string(format!("/proc/self/{file}"))?.lines() {
        let mut words = line.split_whitespace();
        if let (Some(first), Some(count)) = (words.next(), words.nth(1)) {
            out.push_str(&format!("{first} {first} {count}\n"));
        }
    }
    Ok(out)
}
