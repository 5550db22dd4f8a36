//! The first process behind the wall.
//!
//! On the upper rung it is process 1 of a PID namespace: when it ends, the kernel ends
//! everything else in there. It is made before there is a command, prepares all that
//! does not depend on one, and waits. It runs on a copy of the warden's memory and never
//! returns to it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::confine;
use super::message::{MOST_BYTES, Order};
use super::mounts::NewRoot;
use super::report::{Outcome, Report, SetupFailure, Step};
use super::rules::{Network, Omit};
use super::shell::{self, Places, Stdio};
use super::supervise;
use super::sys::{self, Child, Side};
use super::warden::Machine;
use super::wire::{self, Packet};
use crate::env::HOME;

/// What the warden says once the id maps are written.
pub(super) const GO: &[u8] = b"go";

/// Which sandbox to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) namespaces: bool,
    pub(super) network: Network,
    pub(super) omit: Omit,
}

impl Kind {
    /// Whether this is the sandbox that an order asks for.
    pub(super) fn fits(self, order: &Order) -> bool {
        self.namespaces == order.namespaces
            && self.network == order.network
            && self.omit == order.omit
    }
}

/// A command as it arrived: the order's bytes and the descriptors beside it.
struct Arrived {
    body: OwnedFd,
    status: OwnedFd,
    stdio: Stdio,
    folders: Vec<OwnedFd>,
}

impl Arrived {
    fn from(packet: Packet) -> Option<Self> {
        let mut fds = packet.fds.into_iter();
        Some(Self {
            body: fds.next()?,
            status: fds.next()?,
            stdio: Stdio {
                stdin: fds.next()?,
                stdout: fds.next()?,
                stderr: fds.next()?,
            },
            folders: fds.collect(),
        })
    }

    fn order(&self) -> Result<Order, SetupFailure> {
        let failed = |errno| SetupFailure::new(Step::Order, errno);
        let length = rustix::fs::fstat(&self.body).map_err(failed)?.st_size;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MOST_BYTES)
            .ok_or_else(|| failed(Errno::MSGSIZE))?;
        let mut bytes = vec![0; length];
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            let offset = u64::try_from(read).map_err(|_| failed(Errno::MSGSIZE))?;
            match rustix::io::pread(&self.body, rest, offset).map_err(failed)? {
                0 => return Err(failed(Errno::MSGSIZE)),
                more => read += more,
            }
        }
        let order =
            Order::decode(&bytes).map_err(|bad| failed(Errno::BADMSG).about(bad.to_string()))?;
        if order.folders.len() != self.folders.len() {
            return Err(failed(Errno::BADMSG).about("folders without descriptors"));
        }
        Ok(order)
    }
}

/// Sends a report; where nobody listens any more, nobody needs it.
pub(super) fn report(to: impl AsFd, report: &Report) {
    let _ = wire::send(to, &report.encode(), &[]);
}

/// The life of the process, from the clone on.
pub(super) fn live(control: OwnedFd, kind: Kind, machine: &Machine) -> ! {
    // The signal comes when the warden's thread ends, and it has only one. Inside a PID
    // namespace a parent that is gone cannot be told from one that is outside; the go
    // byte that never comes tells it.
    let signal = if kind.namespaces {
        Signal::KILL
    } else {
        Signal::TERM
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
    // The warden has its children reaped by the kernel; here they are waited for.
    sys::reset_signals();
    if let Ok(control) = sys::keep_only(control)
        && wire::receive(&control, RecvFlags::empty()).is_ok_and(|packet| packet.bytes == GO)
    {
        serve(&control, kind, machine);
    }
    sys::end(0)
}

fn serve(control: &OwnedFd, kind: Kind, machine: &Machine) {
    let prepared = if kind.namespaces {
        prepare(kind, machine).map(Some)
    } else {
        Ok(None)
    };
    match &prepared {
        Ok(_) => report(control, &Report::Ready),
        Err(failure) => report(control, &Report::Ended(Outcome::Setup(failure.clone()))),
    }
    let Ok(packet) = wire::receive(control, RecvFlags::empty()) else {
        return;
    };
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    let Ok(status) = arrived.status.try_clone() else {
        return;
    };
    let outcome = prepared
        .and_then(|prepared| match prepared {
            Some(prepared) => in_namespaces(arrived, prepared, kind, machine),
            None => supervise::run(
                arrived.order()?,
                arrived.stdio,
                arrived.folders,
                &arrived.status,
                kind,
                machine,
            ),
        })
        .unwrap_or_else(Outcome::Setup);
    report(&status, &Report::Ended(outcome));
}

/// What waits for a command: the new root, and the process that will be the shell.
struct Prepared {
    root: NewRoot,
    shell: Child,
    /// Over which the shell is told to go on.
    line: OwnedFd,
}

fn prepare(kind: Kind, machine: &Machine) -> Result<Prepared, SetupFailure> {
    let failed = |errno| SetupFailure::new(Step::Fork, errno);
    let root = NewRoot::prepare(kind.network, &machine.hidden)?;
    let (ours, theirs) = wire::pair().map_err(failed)?;
    match sys::clone3(0).map_err(failed)? {
        Side::Child => {
            drop(ours);
            wait_for_order(&theirs, kind, machine);
            sys::end(127)
        }
        Side::Parent(shell) => Ok(Prepared {
            root,
            shell,
            line: ours,
        }),
    }
}

/// The life of the process that becomes the shell. It gives up everything before there is
/// a command; the root it sees changes under it when init enters the new one.
fn wait_for_order(line: &OwnedFd, kind: Kind, machine: &Machine) {
    let ready = confine::drop_privileges()
        .map_err(|errno| SetupFailure::new(Step::Privileges, errno))
        .and_then(|()| shell::first_steps(kind, machine));
    let Ok(packet) = wire::receive(line, RecvFlags::empty()) else {
        return;
    };
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    let places = Places {
        home: HOME,
        temporary: "/tmp",
        private: &["/tmp", "/run", "/dev/shm"],
    };
    let failure = ready.and_then(|()| arrived.order()).map(|order| {
        let folders = arrived.folders.iter().map(AsFd::as_fd).collect();
        shell::last_steps(&order, &arrived.stdio, folders, &places, machine)
    });
    let failure = failure.unwrap_or_else(|failure| failure);
    report(&arrived.status, &Report::Ended(Outcome::Setup(failure)));
}

fn in_namespaces(
    arrived: Arrived,
    prepared: Prepared,
    kind: Kind,
    machine: &Machine,
) -> Result<Outcome, SetupFailure> {
    let Prepared { root, shell, line } = prepared;
    let order = arrived.order()?;
    if !kind.fits(&order) {
        return Err(SetupFailure::new(Step::Order, Errno::BADMSG).about("another sandbox's order"));
    }
    let shown = arrived
        .folders
        .iter()
        .zip(&order.folders)
        .map(|(fd, folder)| root.show(fd.as_fd(), folder.writable))
        .collect::<Result<Vec<_>, _>>()?;
    for mask in &order.masks {
        if let Some(folder) = shown.get(usize::from(mask.folder)) {
            root.guard(folder, mask)?;
        }
    }
    root.enter(&order.limits, machine.own_pid_max)?;
    confine::drop_privileges().map_err(|errno| SetupFailure::new(Step::Privileges, errno))?;
    let mut fds = vec![
        arrived.body.as_fd(),
        arrived.status.as_fd(),
        arrived.stdio.stdin.as_fd(),
        arrived.stdio.stdout.as_fd(),
        arrived.stdio.stderr.as_fd(),
    ];
    fds.extend(shown.iter().map(AsFd::as_fd));
    wire::send(&line, GO, &fds).map_err(|errno| SetupFailure::new(Step::Fork, errno))?;
    drop((arrived, shown));
    reap_until(shell.pid)
}

/// Reaps whatever ends until it is the shell.
fn reap_until(shell: Pid) -> Result<Outcome, SetupFailure> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => return Ok(outcome_of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(SetupFailure::new(Step::Fork, errno)),
        }
    }
}

/// How a process ended, for whoever waits for the command.
pub(super) fn outcome_of(status: WaitStatus) -> Outcome {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(signal)) => Outcome::Signaled(signal),
        (None, None) => Outcome::Killed,
    }
}
