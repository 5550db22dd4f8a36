//! The first process in the sandbox.
//!
//! On the upper level it is process 1 of a PID namespace: when it ends, the kernel ends
//! everything else in there. It is made from a template before there is a command, prepares
//! its own mounts, and waits. It runs on a copy of its maker's memory and never returns to
//! it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{PidfdFlags, Signal, WaitOptions};

use super::confine;
use super::mounts::NewRoot;
use super::populate::{Fit, Form, Populated};
use super::refusals::{Refusals, Refused};
use super::shell::{self, Places, Stdio};
use super::supervise;
use super::watchdog::{self, Signals};
use crate::command::protocol::message::{MOST_BYTES, Order};
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire::{self, Packet};
use crate::command::rules::{Limits, Network, Omit};
use crate::command::sys::{self, Child, Side};
use crate::command::warden::machine::Machine;
use crate::env::HOME;

/// The maker sends this once the id maps are written, and the caller when the
/// program may begin.
pub(crate) const GO: &[u8] = b"go";

/// Which sandbox to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) namespaces: bool,
    pub(crate) network: Network,
    pub(crate) omit: Omit,
    /// Whether it shares the place of a conversation.
    pub(crate) shared: bool,
}

impl Kind {
    /// Whether this is the sandbox that an order asks for.
    pub(crate) fn fits(self, order: &Order) -> bool {
        self.namespaces == order.namespaces
            && self.network == order.network
            && self.omit == order.omit
    }
}

/// The data that a sandbox is made from.
#[derive(Debug)]
pub(crate) struct Blueprint<'a> {
    pub(crate) kind: Kind,
    pub(crate) machine: &'a Machine,
    /// The directories and guards of the template; none on the lower level, and in one that is only
    /// tried.
    pub(crate) form: Option<Form>,
    /// The file of the name servers, where one had to be shown.
    pub(crate) names: Option<Vec<u8>>,
}

/// How many descriptors come before those of the directories: the order's bytes, the status and
/// three for the program.
const DIRECTORIES: usize = 5;

/// A command as it arrived: the order's bytes and the descriptors beside it.
struct Arrived {
    body: OwnedFd,
    status: OwnedFd,
    stdio: Stdio,
    directories: Vec<OwnedFd>,
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
            directories: fds.collect(),
        })
    }

    fn order(&self) -> Result<Order, SetupError> {
        read_order(&self.body, &self.directories)
    }
}

/// A command that was, after which a template is formed for the next one.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The order's bytes.
    body: OwnedFd,
    /// Its directories.
    pub(crate) directories: Vec<OwnedFd>,
}

impl Pattern {
    /// The order and the directories of a packet.
    pub(crate) fn of(packet: Packet) -> Option<Self> {
        Arrived::from(packet).map(|arrived| Self {
            body: arrived.body,
            directories: arrived.directories,
        })
    }

    /// The directories of a packet.
    pub(crate) fn directories_in(packet: &Packet) -> &[OwnedFd] {
        packet.fds.get(DIRECTORIES..).unwrap_or_default()
    }

    /// The same of a packet that is still needed, to be passed along.
    pub(crate) fn fds_in(packet: &Packet) -> Vec<BorrowedFd<'_>> {
        let (body, directories) = (
            packet.fds.iter().take(1),
            packet.fds.iter().skip(DIRECTORIES),
        );
        body.chain(directories).map(AsFd::as_fd).collect()
    }

    /// All of it, to be passed along.
    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let directories = self.directories.iter().map(AsFd::as_fd);
        std::iter::once(self.body.as_fd())
            .chain(directories)
            .collect()
    }

    /// The pattern from passed descriptors; none if there are none.
    pub(crate) fn from(fds: Vec<OwnedFd>) -> Option<Self> {
        let mut fds = fds.into_iter();
        Some(Self {
            body: fds.next()?,
            directories: fds.collect(),
        })
    }

    /// The order.
    pub(crate) fn order(&self, kind: Kind) -> Result<Order, SetupError> {
        let order = read_order(&self.body, &self.directories)?;
        if kind.fits(&order) {
            Ok(order)
        } else {
            Err(SetupError::new(Step::Order, Errno::BADMSG).about("another sandbox's order"))
        }
    }
}

fn read_order(body: &OwnedFd, directories: &[OwnedFd]) -> Result<Order, SetupError> {
    let failed = |errno| SetupError::new(Step::Order, errno);
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
    if order.directories.len() + order.layers() != directories.len() {
        return Err(failed(Errno::BADMSG).about("directories without descriptors"));
    }
    Ok(order)
}

/// Sends a report. If the other end is closed, the report is not needed.
pub(crate) fn report(to: impl AsFd, report: &Report) {
    let _ = wire::send(to, &report.encode(), &[]);
}

/// The life of the process, from the clone on.
pub(crate) fn live(control: OwnedFd, template: &Blueprint<'_>) -> ! {
    // The signal comes when the maker's thread ends, and it has only one. Inside a PID
    // namespace a parent that is gone cannot be distinguished from one that is outside; the go
    // message that never comes ends the process.
    let signal = if template.kind.namespaces {
        Signal::KILL
    } else {
        Signal::TERM
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
    // The maker has its children reaped by the kernel; here they are waited for. Every
    // other signal means what it means by default: the warden saw to that.
    sys::mind_children();
    if let Ok(control) = sys::keep_only(control)
        && let Ok(packet) = wire::receive(&control, RecvFlags::empty())
        && packet.bytes == GO
    {
        serve(&control, template);
    }
    sys::end(0)
}

fn serve(control: &OwnedFd, template: &Blueprint<'_>) {
    let kind = template.kind;
    let prepared = if kind.namespaces {
        match prepare(template) {
            Ok(prepared) => Some(prepared),
            Err(failure) => return report(control, &Report::Ended(Outcome::Setup(failure))),
        }
    } else {
        None
    };
    report(control, &Report::Ready);
    let Ok(packet) = wire::receive(control, RecvFlags::empty()) else {
        return;
    };
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    template.machine.spread();
    if let Some(prepared) = &prepared {
        let Some(fit) = prepared.suits(&arrived, template.machine) else {
            return;
        };
        let as_made = fit == Fit::AsMade;
        report(control, &Report::Taken { as_made });
    }
    let (Ok(status), Ok(own)) = (
        arrived.status.try_clone(),
        rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()),
    ) else {
        return;
    };
    // If the caller is gone, nothing begins.
    let layer = prepared.as_ref().and_then(Prepared::layer);
    let started = layer.map_or(Report::Started, Report::StartedIn);
    if wire::send(&status, &started.encode(), &[own.as_fd()]).is_err() {
        return;
    }
    drop(own);
    let over = match prepared {
        Some(prepared) => in_namespaces(arrived, prepared),
        None => arrived.order().and_then(|order| {
            let Arrived {
                status,
                stdio,
                directories,
                ..
            } = arrived;
            supervise::run(order, stdio, directories, &status, kind, template.machine)
        }),
    };
    let (outcome, refused) = over.unwrap_or_else(|failure| (Outcome::Setup(failure), Vec::new()));
    if !refused.is_empty() {
        report(&status, &Report::Refused(refused));
    }
    if !no_child_is_left() {
        return report(&status, &Report::Ended(outcome));
    }
    let said = Report::Over(outcome);
    report(&status, &said);
    if kind.namespaces {
        // Ending a process takes CPU time that others need now. So it ends when the
        // warden closes its control socket.
        drop(status);
        report(control, &said);
        let _ = wire::receive(control, RecvFlags::empty());
    }
}

/// Whether this process has no children. Orphans become children of it, so
/// then no other process is left.
fn no_child_is_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return true,
            Ok(None) | Err(_) => return false,
        }
    }
}

/// A sandbox that waits for a command: the root, and the process that will be the shell.
struct Prepared<'a> {
    root: NewRoot,
    populated: Option<Populated<'a>>,
    shell: Child,
    /// The socket over which the shell gets its order.
    line: OwnedFd,
    signals: Signals,
    refusals: Refusals,
}

impl Prepared<'_> {
    /// The name of its layers, if it has any.
    fn layer(&self) -> Option<String> {
        self.populated.as_ref()?.layer()
    }

    fn suits(&self, arrived: &Arrived, machine: &Machine) -> Option<Fit> {
        let order = arrived.order().ok()?;
        let populated = self.populated.as_ref()?;
        populated.suits(
            &self.root,
            &order,
            &arrived.directories,
            machine.system.hidden(),
        )
    }
}

fn prepare<'a>(template: &'a Blueprint<'_>) -> Result<Prepared<'a>, SetupError> {
    let failed = |errno| SetupError::new(Step::Fork, errno);
    let root = NewRoot::within()?;
    let form = template.form.as_ref();
    let limits = form.map_or_else(Limits::default, |form| form.order.limits);
    let shown = form.into_iter().flat_map(Form::paths);
    root.make_own(
        shown.chain(template.names.as_deref()),
        &limits,
        template.machine.own_pid_max,
        template.kind.shared,
    )?;
    let populated = form.map(|form| Populated::from(form, &root)).transpose()?;
    confine::narrow().map_err(|errno| SetupError::new(Step::Privileges, errno))?;
    let signals = Signals::of_children().map_err(failed)?;
    let (ours, theirs) = wire::pair().map_err(failed)?;
    match sys::clone3(0).map_err(failed)? {
        Side::Child => {
            drop(ours);
            wait_for_order(&theirs, template, populated.as_ref());
            sys::end(127)
        }
        Side::Parent(shell) => {
            drop(theirs);
            Ok(Prepared {
                root,
                populated,
                shell,
                refusals: shell::take_over(&ours).map_err(failed)?,
                line: ours,
                signals,
            })
        }
    }
}

/// The life of the process that becomes the shell. It gives up everything before there is
/// a command.
fn wait_for_order(line: &OwnedFd, template: &Blueprint<'_>, populated: Option<&Populated<'_>>) {
    let places = Places {
        home: HOME,
        temporary: "/tmp",
        private: &["/tmp", "/run", "/dev/shm", "/var/tmp"],
    };
    let machine = template.machine;
    let (listener, ready) = match confine::drop_capabilities()
        .map_err(|errno| SetupError::new(Step::Privileges, errno))
        .and_then(|()| shell::first_steps(template.kind, machine))
    {
        Ok(listener) => (listener, Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    // Sent even after a failure: init waits for it.
    let handed_over = shell::hand_over(line, listener);
    let ready = ready.and(handed_over).and_then(|()| match populated {
        Some(populated) => {
            let directories = populated.directories().collect();
            shell::middle_steps(populated.order(), directories, &places, machine)
        }
        None => Ok(()),
    });
    let Ok(packet) = wire::receive(line, RecvFlags::empty()) else {
        return;
    };
    machine.spread();
    let Some(arrived) = Arrived::from(packet) else {
        return;
    };
    let failure = ready
        .and_then(|()| arrived.order())
        .map(|order| shell::last_steps(&order, &arrived.stdio, &arrived.status, &places));
    let failure = failure.unwrap_or_else(|failure| failure);
    report(&arrived.status, &Report::Ended(Outcome::Setup(failure)));
}

fn in_namespaces(
    arrived: Arrived,
    prepared: Prepared<'_>,
) -> Result<(Outcome, Vec<Refused>), SetupError> {
    let Prepared {
        root,
        populated,
        shell,
        line,
        signals,
        mut refusals,
    } = prepared;
    confine::drop_capabilities().map_err(|errno| SetupError::new(Step::Privileges, errno))?;
    let mut fds = vec![
        arrived.body.as_fd(),
        arrived.status.as_fd(),
        arrived.stdio.stdin.as_fd(),
        arrived.stdio.stdout.as_fd(),
        arrived.stdio.stderr.as_fd(),
    ];
    fds.extend(arrived.directories.iter().map(AsFd::as_fd));
    wire::send(&line, GO, &fds).map_err(|errno| SetupError::new(Step::Fork, errno))?;
    drop((arrived, populated, root));
    // From here on the program may have begun, so no failure counts as "never started".
    let outcome = watchdog::keep(shell.pid, &signals, None, &mut refusals);
    Ok((outcome.unwrap_or(Outcome::Killed), refusals.counted()))
}
