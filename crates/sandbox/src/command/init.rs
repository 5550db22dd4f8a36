//! The first process behind the wall.
//!
//! On the upper rung it is process 1 of a PID namespace: when it ends, the kernel ends
//! everything else in there. It is made before there is a command, prepares all that
//! does not depend on one, and waits. It runs on a copy of the warden's memory and never
//! returns to it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{PidfdFlags, Signal, WaitOptions};

use super::confine;
use super::furnish::{Furnished, furnish};
use super::message::{MOST_BYTES, Order};
use super::mounts::NewRoot;
use super::refusals::{Refusals, Refused};
use super::report::{Outcome, Report, SetupFailure, Step};
use super::rules::{Network, Omit};
use super::shell::{self, Places, Stdio};
use super::supervise;
use super::sys::{self, Child, Side};
use super::vigil::{self, Signals};
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
        read_order(&self.body, &self.folders)
    }
}

/// A command that was, after which a sandbox is furnished for the next one.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The order's bytes.
    pub(super) body: OwnedFd,
    /// Its folders.
    pub(super) folders: Vec<OwnedFd>,
}

impl Pattern {
    /// What is left of a packet that brought an order.
    pub(super) fn of(packet: Packet) -> Option<Self> {
        Arrived::from(packet).map(|arrived| Self {
            body: arrived.body,
            folders: arrived.folders,
        })
    }

    /// All of it, to be passed along.
    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let folders = self.folders.iter().map(AsFd::as_fd);
        std::iter::once(self.body.as_fd()).chain(folders).collect()
    }

    fn from(fds: Vec<OwnedFd>) -> Option<Self> {
        let mut fds = fds.into_iter();
        Some(Self {
            body: fds.next()?,
            folders: fds.collect(),
        })
    }
}

fn read_order(body: &OwnedFd, folders: &[OwnedFd]) -> Result<Order, SetupFailure> {
    let failed = |errno| SetupFailure::new(Step::Order, errno);
    let length = rustix::fs::fstat(body).map_err(failed)?.st_size;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= MOST_BYTES)
        .ok_or_else(|| failed(Errno::MSGSIZE))?;
    let mut bytes = vec![0; length];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        let offset = u64::try_from(read).map_err(|_| failed(Errno::MSGSIZE))?;
        match rustix::io::pread(body, rest, offset).map_err(failed)? {
            0 => return Err(failed(Errno::MSGSIZE)),
            more => read += more,
        }
    }
    let order =
        Order::decode(&bytes).map_err(|bad| failed(Errno::BADMSG).about(bad.to_string()))?;
    if order.folders.len() != folders.len() {
        return Err(failed(Errno::BADMSG).about("folders without descriptors"));
    }
    Ok(order)
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
        && let Ok(packet) = wire::receive(&control, RecvFlags::empty())
        && packet.bytes == GO
    {
        serve(&control, kind, machine, Pattern::from(packet.fds));
    }
    sys::end(0)
}

fn serve(control: &OwnedFd, kind: Kind, machine: &Machine, pattern: Option<Pattern>) {
    let ahead = pattern.is_some();
    let prepared = if kind.namespaces {
        prepare(kind, machine, pattern).map(Some)
    } else {
        Ok(None)
    };
    match &prepared {
        Ok(_) => report(control, &Report::Ready),
        // Without the pattern it may work; the warden makes another one.
        Err(_) if ahead => return,
        Err(failure) => report(control, &Report::Ended(Outcome::Setup(failure.clone()))),
    }
    let Ok(packet) = wire::receive(control, RecvFlags::empty()) else {
        return;
    };
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    if let Ok(Some(prepared)) = &prepared
        && let Some(furnished) = &prepared.furnished
    {
        let order = arrived.order();
        if !order.is_ok_and(|order| furnished.suits(&prepared.root, &order, &arrived.folders)) {
            return;
        }
        report(control, &Report::Taken);
    }
    let (Ok(status), Ok(own)) = (
        arrived.status.try_clone(),
        rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()),
    ) else {
        return;
    };
    // Where nobody waits for it any more, nothing begins.
    if wire::send(&status, &Report::Started.encode(), &[own.as_fd()]).is_err() {
        return;
    }
    drop(own);
    let over = prepared
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
        .unwrap_or_else(|failure| (Outcome::Setup(failure), Vec::new()));
    let (outcome, refused) = over;
    if !refused.is_empty() {
        report(&status, &Report::Refused(refused));
    }
    let said = if nobody_is_left() {
        Report::Over(outcome)
    } else {
        Report::Ended(outcome)
    };
    report(&status, &said);
}

/// Whether this process has no children. Whoever lost a parent here is a child of it, so
/// then there is nobody else.
fn nobody_is_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return true,
            Ok(None) | Err(_) => return false,
        }
    }
}

/// What waits for a command: the new root, and the process that will be the shell.
struct Prepared {
    root: NewRoot,
    furnished: Option<Furnished>,
    shell: Child,
    /// Over which the shell is told to go on.
    line: OwnedFd,
    signals: Signals,
    refusals: Refusals,
}

fn prepare(
    kind: Kind,
    machine: &Machine,
    pattern: Option<Pattern>,
) -> Result<Prepared, SetupFailure> {
    let failed = |errno| SetupFailure::new(Step::Fork, errno);
    let root = NewRoot::prepare(kind.network, &machine.hidden)?;
    let furnished = pattern
        .map(|pattern| furnish_after(&pattern, &root, kind, machine))
        .transpose()?;
    confine::narrow().map_err(|errno| SetupFailure::new(Step::Privileges, errno))?;
    let signals = Signals::of_children().map_err(failed)?;
    let (ours, theirs) = wire::pair().map_err(failed)?;
    match sys::clone3(0).map_err(failed)? {
        Side::Child => {
            drop(ours);
            wait_for_order(&theirs, kind, machine, furnished.as_ref());
            sys::end(127)
        }
        Side::Parent(shell) => {
            drop(theirs);
            Ok(Prepared {
                root,
                furnished,
                shell,
                refusals: shell::take_over(&ours).map_err(failed)?,
                line: ours,
                signals,
            })
        }
    }
}

fn furnish_after(
    pattern: &Pattern,
    root: &NewRoot,
    kind: Kind,
    machine: &Machine,
) -> Result<Furnished, SetupFailure> {
    let order = read_order(&pattern.body, &pattern.folders)?;
    check_kind(kind, &order)?;
    let furnished = Furnished::after(order, root, &pattern.folders)?;
    root.enter(&furnished.order.limits, machine.own_pid_max)?;
    Ok(furnished)
}

fn check_kind(kind: Kind, order: &Order) -> Result<(), SetupFailure> {
    if kind.fits(order) {
        Ok(())
    } else {
        Err(SetupFailure::new(Step::Order, Errno::BADMSG).about("another sandbox's order"))
    }
}

/// The life of the process that becomes the shell. It gives up everything before there is
/// a command; the root it sees changes under it when init enters the new one.
fn wait_for_order(line: &OwnedFd, kind: Kind, machine: &Machine, furnished: Option<&Furnished>) {
    let places = Places {
        home: HOME,
        temporary: "/tmp",
        private: &["/tmp", "/run", "/dev/shm"],
    };
    let fence = |order: &Order, folders| shell::middle_steps(order, folders, &places, machine);
    let (listener, ready) = match confine::drop_capabilities()
        .map_err(|errno| SetupFailure::new(Step::Privileges, errno))
        .and_then(|()| shell::first_steps(kind, machine))
    {
        Ok(listener) => (listener, Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    // Whatever came of it: init waits for this.
    let handed_over = shell::hand_over(line, listener);
    let ready = ready.and(handed_over).and_then(|()| match furnished {
        Some(Furnished { order, shown, .. }) => fence(
            order,
            shown.iter().map(|shown| shown.tree.as_fd()).collect(),
        ),
        None => Ok(()),
    });
    let Ok(packet) = wire::receive(line, RecvFlags::empty()) else {
        return;
    };
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    let failure = ready
        .and_then(|()| {
            let order = arrived.order()?;
            if furnished.is_none() {
                fence(&order, arrived.folders.iter().map(AsFd::as_fd).collect())?;
            }
            Ok(order)
        })
        .map(|order| shell::last_steps(&order, &arrived.stdio, &places));
    let failure = failure.unwrap_or_else(|failure| failure);
    report(&arrived.status, &Report::Ended(Outcome::Setup(failure)));
}

fn in_namespaces(
    arrived: Arrived,
    prepared: Prepared,
    kind: Kind,
    machine: &Machine,
) -> Result<(Outcome, Vec<Refused>), SetupFailure> {
    let Prepared {
        root,
        furnished,
        shell,
        line,
        signals,
        mut refusals,
    } = prepared;
    let shown = match furnished {
        Some(furnished) => furnished.shown,
        None => {
            let order = arrived.order()?;
            check_kind(kind, &order)?;
            let shown = furnish(&root, &order, &arrived.folders, |_, _| {})?;
            root.enter(&order.limits, machine.own_pid_max)?;
            shown
        }
    };
    confine::drop_capabilities().map_err(|errno| SetupFailure::new(Step::Privileges, errno))?;
    let mut fds = vec![
        arrived.body.as_fd(),
        arrived.status.as_fd(),
        arrived.stdio.stdin.as_fd(),
        arrived.stdio.stdout.as_fd(),
        arrived.stdio.stderr.as_fd(),
    ];
    fds.extend(shown.iter().map(|shown| shown.tree.as_fd()));
    wire::send(&line, GO, &fds).map_err(|errno| SetupFailure::new(Step::Fork, errno))?;
    drop((arrived, shown, root));
    let outcome = vigil::keep(shell.pid, &signals, None, &mut refusals)
        .map_err(|errno| SetupFailure::new(Step::Fork, errno))?;
    Ok((outcome, refusals.counted()))
}
