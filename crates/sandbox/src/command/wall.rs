//! The gate's side: starting a warden and giving it commands.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use rustix::pipe::PipeFlags;
use rustix::process::Signal;

use super::baseline::{Baseline, LeftBehind};
use super::directory::Directory;
use super::error::WallError;
use super::init::Kind;
use super::layout::{Layout, Prepared, Watched};
use super::placeholders::Placeholders;
use super::reach::Reach;
use super::report::{Outcome, Report, SetupFailure, Step};
use super::rules::{CommandSpec, Grant, Network, Omit, Rung, WallRules};
use super::running::{Before, Poised, Running};
use super::sweep::{Appeared, Settled};
use super::{warden, wire};

/// Whether this program became able to be a warden.
pub(super) static READY: AtomicBool = AtomicBool::new(false);

/// How long the warden may take to answer. It does so in milliseconds; a machine that
/// needs longer than this is not one to start commands on.
const PATIENCE: Duration = Duration::from_secs(10);

/// So often are the directories searched again where a guarded name moved away before its
/// mask was put on.
const SEARCHES: usize = 10;

/// The walls in force, for the metadata of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The rung.
    pub rung: Rung,
    /// What is left out.
    pub omit: Omit,
    /// The network.
    pub network: Network,
}

impl std::fmt::Display for InForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.rung == Rung::Namespaces, "namespaces"),
            (!self.omit.landlock, "landlock"),
            (!self.omit.seccomp, "seccomp"),
        ];
        let names: Vec<&str> = parts
            .iter()
            .filter_map(|(there, name)| there.then_some(*name))
            .collect();
        f.write_str(&names.join("+"))
    }
}

/// The wall around commands. Cheap to clone; the last clone ends the warden, and with it
/// every command.
#[derive(Clone, Debug)]
pub struct CommandWall {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) rules: WallRules,
    pub(super) placeholders: Placeholders,
    pub(super) layout: Layout,
    pub(super) baseline: Baseline,
    /// What commands of killed programs had made, until it is reported.
    earlier: Mutex<Vec<Appeared>>,
    socket: OwnedFd,
    rung: Rung,
    /// Why the highest rung was not reached.
    stepped_down: Option<SetupFailure>,
}

impl CommandWall {
    /// Starts a warden and finds the highest rung it can reach.
    pub fn start(rules: &WallRules) -> Result<Self, WallError> {
        let socket = start_warden(rules.warden.as_deref())?;
        let (rung, stepped_down) = find_rung(&socket, rules)?;
        let placeholders = Placeholders::open(&rules.paths, rules.records.as_deref(), rules.linger)
            .map_err(WallError::Records)?;
        let (baseline, left) =
            Baseline::open(rules.records.as_deref()).map_err(WallError::Records)?;
        let layout = Layout::open(rules)?;
        let earlier = sweep_left_behind(rules, &layout, left);
        Ok(Self {
            inner: Arc::new(Inner {
                layout,
                rules: rules.clone(),
                placeholders,
                baseline,
                earlier: Mutex::new(earlier),
                socket,
                rung,
                stepped_down,
            }),
        })
    }

    /// The rung that commands run on. On [`Rung::Landlock`] every command has to be asked
    /// for, whatever the rules say.
    pub fn rung(&self) -> Rung {
        self.inner.rung
    }

    /// Why the rung is not the highest that was allowed.
    pub fn stepped_down(&self) -> Option<&SetupFailure> {
        self.inner.stepped_down.as_ref()
    }

    /// What commands of killed programs had left under guarded names: moved aside when this
    /// one started. The next command's result reports it too.
    pub fn earlier(&self) -> Vec<Appeared> {
        let earlier = self.inner.earlier.lock();
        earlier.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What commands can reach, with these grants beside those of the rules.
    pub fn reach(&self, more: &[Grant]) -> Reach {
        self.inner.rules.reach(self.inner.rung, more)
    }

    /// What rules say against paths that a line names, on whatever rung it would run.
    pub fn rules_about(&self) -> Reach {
        self.inner.rules.reach(Rung::Namespaces, &[])
    }

    /// Starts a command. It returns when the command has a process, not when it ends.
    pub fn run(&self, spec: CommandSpec) -> Result<Running, WallError> {
        self.poise(spec).map(Poised::go)
    }

    /// Brings a command to the point where its program is the next thing to happen: it has
    /// a process, and all walls stand. Nothing runs before [`Poised::go`].
    pub fn poise(&self, spec: CommandSpec) -> Result<Poised, WallError> {
        let inner = &self.inner;
        let network = spec.network.unwrap_or(inner.rules.network);
        let kind = Kind {
            namespaces: inner.rung == Rung::Namespaces,
            network,
            omit: inner.rules.omit,
        };
        if !kind.namespaces && network == Network::Loopback {
            return Err(WallError::NoLoopback);
        }
        let mut moved = String::new();
        for _ in 0..SEARCHES {
            let Prepared {
                order,
                directories,
                held,
                watched,
                hidden,
            } = inner.layout.prepare(inner, &spec, kind)?;
            let stood = watched.iter();
            let stood = stood.map(|watched| (watched.directory.path.as_path(), &watched.found));
            let listed = match inner.baseline.begin(stood) {
                Ok(listed) => listed,
                Err(error) => {
                    inner.placeholders.release(&held);
                    return Err(WallError::Records(error));
                }
            };
            let before = Before {
                held,
                watched,
                listed,
                hidden,
            };
            let sent = order.encode().map_err(WallError::from);
            let stdin = spec.stdin.as_ref();
            let sent = sent.and_then(|bytes| self.send(&bytes, stdin, kind, &directories));
            match sent {
                Err(error) => {
                    inner.release(&before);
                    return Err(error);
                }
                Ok(sent) => match moved_away(&sent) {
                    None => return Ok(self.poised(sent, before, network)),
                    Some(path) => moved = path,
                },
            }
            inner.release(&before);
        }
        Err(WallError::Restless { path: moved })
    }

    fn poised(&self, sent: Sent, before: Before, network: Network) -> Poised {
        let inner = &self.inner;
        Poised(Running {
            wall: Arc::clone(inner),
            in_force: InForce {
                rung: inner.rung,
                omit: inner.rules.omit,
                network,
            },
            pidfd: sent.pidfd,
            status: sent.status,
            stdout: sent.stdout,
            stderr: sent.stderr,
            outcome: sent.outcome,
            word: None,
            refused: Vec::new(),
            silent: false,
            before: Some(before),
        })
    }

    fn send(
        &self,
        order: &[u8],
        stdin: Option<&OwnedFd>,
        kind: Kind,
        directories: &[Arc<Directory>],
    ) -> Result<Sent, WallError> {
        let body = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC)?;
        let mut rest = order;
        while !rest.is_empty() {
            let written = rustix::io::write(&body, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        let nothing;
        let stdin = match stdin {
            Some(stdin) => stdin,
            None => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                nothing = rustix::fs::openat(CWD, "/dev/null", flags, Mode::empty())?;
                &nothing
            }
        };
        let (stdout, stdout_in) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, stderr_in) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        for end in [&stdout, &stderr] {
            // Only the reading end: a program does not expect its output to be non-blocking.
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let (status, status_in) = wire::pair()?;
        let mut fds: Vec<BorrowedFd<'_>> = vec![
            body.as_fd(),
            status_in.as_fd(),
            stdin.as_fd(),
            stdout_in.as_fd(),
            stderr_in.as_fd(),
        ];
        fds.extend(directories.iter().map(|directory| directory.handle()));
        wire::send(&self.inner.socket, &warden::run_packet(kind), &fds)?;
        drop(status_in);
        let in_time = wire::readable(&status, PATIENCE)?;
        if !in_time {
            // From here on nothing can begin; what has begun meanwhile is ended below.
            rustix::net::shutdown(&status, Shutdown::Both)?;
        }
        let packet = wire::receive(&status, RecvFlags::DONTWAIT)?;
        let (pidfd, outcome) = match Report::decode(&packet.bytes) {
            Some(Report::Started) => (packet.fds.into_iter().next(), None),
            Some(Report::Ended(outcome)) => (None, Some(outcome)),
            _ if in_time => return Err(WallError::System(Errno::PIPE)),
            _ => (None, None),
        };
        if !in_time {
            if let Some(pidfd) = pidfd {
                rustix::process::pidfd_send_signal(pidfd, end_signal(kind.namespaces))?;
            }
            return Err(WallError::System(Errno::TIMEDOUT));
        }
        Ok(Sent {
            pidfd,
            status,
            stdout,
            stderr,
            outcome,
        })
    }
}

impl Inner {
    /// Moves aside what appeared where a command could write.
    pub(super) fn sweep(&self, watched: &[Watched]) -> Settled {
        let mut settled = Settled::default();
        settled
            .appeared
            .append(&mut self.earlier.lock().unwrap_or_else(PoisonError::into_inner));
        for watched in watched {
            let (appeared, missed) = watched.sweep(&self.rules);
            settled.appeared.extend(appeared);
            settled.missed = settled.missed.or(missed);
        }
        settled
    }

    /// Lets go of what was held for a command.
    pub(super) fn release(&self, before: &Before) {
        self.placeholders.release(&before.held);
        self.baseline.end(&before.listed);
    }

    /// Lets the warden know that a program begins. One that is too busy to listen has no
    /// use for it.
    pub(super) fn tell_begun(&self) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = rustix::net::send(&self.socket, warden::BEGUN, flags);
    }
}

/// The guarded name that was not where the search had found it, if that is why nothing was
/// started.
fn moved_away(sent: &Sent) -> Option<String> {
    let Some(Outcome::Setup(failure)) = &sent.outcome else {
        return None;
    };
    let moved = match failure.step {
        Step::Mask => [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].as_slice(),
        Step::Order => &[Errno::STALE],
        _ => &[],
    };
    let errno = Errno::from_raw_os_error(failure.errno);
    moved.contains(&errno).then(|| failure.about.clone())
}

/// Looks at what commands of killed programs made, where commands of this one could run it.
fn sweep_left_behind(rules: &WallRules, layout: &Layout, left: Vec<LeftBehind>) -> Vec<Appeared> {
    let mut appeared: Vec<Appeared> = Vec::new();
    for mut left in left {
        let mut others = false;
        for stood in &mut left.stood {
            match layout.watched_before(stood) {
                Some(watched) => appeared.extend(watched.sweep(rules).0),
                // A start that uses it looks there.
                None => others |= stood.tree.exists(),
            }
        }
        if !others {
            let _ = left.forget();
        }
    }
    for one in &mut appeared {
        one.earlier = true;
    }
    appeared
}

/// What ends a sandbox. On the lower rung the supervisor does the killing, and has to live
/// for it.
pub(super) fn end_signal(namespaces: bool) -> Signal {
    if namespaces {
        Signal::KILL
    } else {
        Signal::TERM
    }
}

/// What is held of a command that was sent off.
struct Sent {
    pidfd: Option<OwnedFd>,
    status: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    outcome: Option<Outcome>,
}

/// Starts the warden from a thread that waits for its end: the warden is told to die when
/// the thread that started it does, not only when the process does.
fn start_warden(program: Option<&Path>) -> Result<OwnedFd, WallError> {
    if program.is_none() && !READY.load(Ordering::Acquire) {
        return Err(WallError::NotInitialised);
    }
    let program = program.map_or_else(|| PathBuf::from("/proc/self/exe"), Path::to_path_buf);
    let (ours, theirs) = wire::pair()?;
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name(warden::NAME.to_owned())
        .spawn(move || {
            let started = Command::new(program)
                .arg0(warden::NAME)
                .env_clear()
                .current_dir("/")
                .stdin(theirs)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            match started {
                Ok(mut child) => {
                    let _ = tell.send(Ok(()));
                    let _ = child.wait();
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                }
            }
        })
        .map_err(WallError::Warden)?;
    told.recv()
        .map_err(|_| WallError::System(Errno::PIPE))?
        .map_err(WallError::Warden)?;
    if wire::readable(&ours, PATIENCE)?
        && wire::receive(&ours, RecvFlags::empty())?.bytes == warden::HELLO
    {
        Ok(ours)
    } else {
        let text = "it does not answer; the program named has to call `toolgate_sandbox::command::init()` first thing in `main`";
        Err(WallError::Warden(std::io::Error::other(text)))
    }
}

/// Tries the rungs from the highest down to the lowest that is accepted.
fn find_rung(
    socket: &OwnedFd,
    rules: &WallRules,
) -> Result<(Rung, Option<SetupFailure>), WallError> {
    let mut first = None;
    if rules.highest == Rung::Namespaces {
        match try_rung(socket, true, rules)? {
            Ok(()) => return Ok((Rung::Namespaces, None)),
            Err(failure) => first = Some(failure),
        }
    }
    if rules.lowest == Rung::Landlock {
        match try_rung(socket, false, rules)? {
            Ok(()) => return Ok((Rung::Landlock, first)),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    let failure = first.unwrap_or_else(|| SetupFailure::new(Step::Clone, Errno::NOTSUP));
    let advice = super::doctor::advice(&failure);
    Err(WallError::Unavailable { failure, advice })
}

fn try_rung(
    socket: &OwnedFd,
    namespaces: bool,
    rules: &WallRules,
) -> Result<Result<(), SetupFailure>, WallError> {
    if let Err(failure) = super::doctor::needs_kernel(namespaces, rules.omit) {
        return Ok(Err(failure));
    }
    let kind = Kind {
        namespaces,
        network: rules.network,
        omit: rules.omit,
    };
    wire::send(socket, &warden::try_packet(kind), &[])?;
    if !wire::readable(socket, PATIENCE)? {
        return Err(WallError::System(Errno::TIMEDOUT));
    }
    let packet = wire::receive(socket, RecvFlags::empty())?;
    match Report::decode(&packet.bytes) {
        Some(Report::Ready) => Ok(Ok(())),
        Some(Report::Ended(Outcome::Setup(failure))) => Ok(Err(failure)),
        _ => Err(WallError::System(Errno::PIPE)),
    }
}

/// The bytes of a path or an argument.
pub(super) fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}
