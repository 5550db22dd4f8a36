//! The caller's side of the sandbox: starts a warden and gives it commands.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use rustix::pipe::PipeFlags;
use rustix::process::Signal;

use super::connection::Connection;
use super::directory::Directory;
use super::layout::{Layout, Prepared};
use super::left_out::{LeftOut, leave_out};
use super::place::Place;
use super::reach::Reach;
use super::running::{Before, Poised, Running};
use super::start::{find_level, try_level};
use crate::command::caller::after::baseline::{Baseline, LeftBehind};
use crate::command::caller::after::placeholders::{Held, Placeholders};
use crate::command::caller::after::sweep::{Appeared, Settled};
use crate::command::error::SandboxError;
use crate::command::inside::init::Kind;
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire;
use crate::command::rules::{CommandSpec, Grant, Level, Network, Omit, SandboxRules};
use crate::command::warden::serve;

/// Whether this program became able to be a warden.
pub(crate) static READY: AtomicBool = AtomicBool::new(false);

/// How long the warden may take to answer. It does so in milliseconds; a machine that
/// needs longer than this is not one to start commands on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How often the directories are searched again because a guarded name moved before its
/// mask was put on.
const SEARCHES: usize = 10;

/// How many commands with an incomplete sweep are remembered.
const MOST_PENDING: usize = 16;

/// The sandbox in force, for the metadata of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The level.
    pub level: Level,
    /// The layers that are left out.
    pub omit: Omit,
    /// The network.
    pub network: Network,
}

impl std::fmt::Display for InForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.level == Level::Namespaces, "namespaces"),
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

/// The sandbox around commands. Cheap to clone. The warden ends with the last sandbox that uses
/// it, and with the warden every command.
#[derive(Clone, Debug)]
pub struct CommandSandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(crate) rules: SandboxRules,
    pub(crate) placeholders: Placeholders,
    pub(crate) layout: Layout,
    pub(crate) baseline: Baseline,
    /// Guarded names that commands of killed programs made, until they are reported.
    earlier: Mutex<Vec<Appeared>>,
    /// Guarded names that no result reported.
    unreported: Mutex<Vec<Appeared>>,
    /// The states before commands whose sweep was incomplete.
    pending: Mutex<Vec<Before>>,
    warden: Mutex<Arc<Connection>>,
    level: Level,
    /// Why the highest level was not reached.
    stepped_down: Option<SetupError>,
    left_out: Vec<LeftOut>,
}

impl CommandSandbox {
    /// Finds the highest level that a warden can reach. Sandboxes of one process share a warden
    /// where they would start the same one; the first starts it.
    pub fn start(rules: &SandboxRules) -> Result<Self, SandboxError> {
        let (usable, granted, left_out) = leave_out(rules);
        let rules = &usable;
        let warden = Connection::open(rules.warden.as_deref())?;
        let (level, stepped_down) = find_level(&warden, rules)?;
        let placeholders = Placeholders::open(&rules.paths, rules.records.as_deref(), rules.linger)
            .map_err(SandboxError::Records)?;
        let (baseline, left) =
            Baseline::open(rules.records.as_deref()).map_err(SandboxError::Records)?;
        let layout = Layout::open(rules, granted)?;
        let earlier = sweep_left_behind(rules, &layout, left);
        Ok(Self {
            inner: Arc::new(Inner {
                layout,
                rules: rules.clone(),
                placeholders,
                baseline,
                earlier: Mutex::new(earlier),
                unreported: Mutex::default(),
                pending: Mutex::default(),
                warden: Mutex::new(warden),
                level,
                stepped_down,
                left_out,
            }),
        })
    }

    /// The level that commands run on. On [`Level::Landlock`] every command needs approval,
    /// whatever the rules say.
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// The network of commands that ask for none of their own.
    pub fn network(&self) -> Network {
        self.inner.rules.network
    }

    /// Why the level is not the highest that was allowed.
    pub fn stepped_down(&self) -> Option<&SetupError> {
        self.inner.stepped_down.as_ref()
    }

    /// Grants that commands do not get, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.inner.left_out
    }

    /// Guarded names that commands of killed programs left: moved aside when this
    /// one started. The next command's result reports it too.
    pub fn earlier(&self) -> Vec<Appeared> {
        lock(&self.inner.earlier).clone()
    }

    /// Stores guarded names that a command left and no result will report, for
    /// [`CommandSandbox::unreported`].
    pub fn keep_unreported(&self, appeared: impl IntoIterator<Item = Appeared>) {
        lock(&self.inner.unreported).extend(appeared);
    }

    /// Takes the guarded names that no result reported: background commands that ended with
    /// their conversation left them.
    pub fn unreported(&self) -> Vec<Appeared> {
        std::mem::take(&mut *lock(&self.inner.unreported))
    }

    /// The paths that commands can reach, with these grants beside those of the rules.
    pub fn reach(&self, more: &[Grant]) -> Reach {
        self.inner.rules.reach(self.inner.level, more)
    }

    /// The rules against paths that a command line names, on whatever level it would run.
    pub fn rules_about(&self) -> Reach {
        self.inner.rules.reach(Level::Namespaces, &[])
    }

    /// Starts a command. It returns when the command has a process, not when it ends.
    pub fn run(&self, spec: CommandSpec) -> Result<Running, SandboxError> {
        self.poise(spec).map(Poised::go)
    }

    /// Brings a command to the point where its program is the next thing to happen: it has
    /// a process, and its sandbox is up. Nothing runs before [`Poised::go`].
    pub fn poise(&self, spec: CommandSpec) -> Result<Poised, SandboxError> {
        let inner = &self.inner;
        let network = spec.network.unwrap_or(inner.rules.network);
        let kind = Kind {
            namespaces: inner.level == Level::Namespaces,
            network,
            omit: inner.rules.omit,
            shared: inner.level == Level::Namespaces && spec.place.is_some(),
        };
        if !kind.namespaces && network == Network::Loopback {
            return Err(SandboxError::NoLoopback);
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
                    return Err(SandboxError::Records(error));
                }
            };
            let before = Before {
                held,
                watched,
                listed,
                hidden,
            };
            let sent = order.encode().map_err(SandboxError::from);
            let sent = sent.and_then(|bytes| self.send(&bytes, &spec, kind, &directories));
            match sent {
                Err(error) => {
                    inner.release(&before);
                    return Err(error);
                }
                Ok(sent) => match moved_away(&sent) {
                    None => return Ok(self.poised(sent, before, network, spec.place)),
                    Some(path) => moved = path,
                },
            }
            inner.release(&before);
            inner.layout.search_again(&inner.rules);
        }
        Err(SandboxError::Restless { path: moved })
    }

    fn poised(&self, sent: Sent, before: Before, network: Network, place: Option<Place>) -> Poised {
        let inner = &self.inner;
        Poised(Running {
            sandbox: Arc::clone(inner),
            _warden: sent.warden,
            _place: place,
            in_force: InForce {
                level: inner.level,
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
        spec: &CommandSpec,
        kind: Kind,
        directories: &[Arc<Directory>],
    ) -> Result<Sent, SandboxError> {
        let body = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC)?;
        let mut rest = order;
        while !rest.is_empty() {
            let written = rustix::io::write(&body, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        let nothing;
        let stdin = match &spec.stdin {
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
        let warden = self.inner.warden()?;
        let place = spec.place.as_ref().filter(|_| kind.shared);
        let place = place.map(|place| place.within(&warden));
        wire::send(warden.socket(), &serve::run_packet(kind, place), &fds)?;
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
            _ if in_time => return Err(SandboxError::System(Errno::PIPE)),
            _ => (None, None),
        };
        if !in_time {
            if let Some(pidfd) = pidfd {
                rustix::process::pidfd_send_signal(pidfd, end_signal(kind.namespaces))?;
            }
            return Err(SandboxError::Busy("the warden did not answer in time"));
        }
        Ok(Sent {
            warden,
            pidfd,
            status,
            stdout,
            stderr,
            outcome,
        })
    }
}

impl Inner {
    /// The warden. One that was killed is replaced, if the new one reaches the same level.
    fn warden(&self) -> Result<Arc<Connection>, SandboxError> {
        let mut warden = lock(&self.warden);
        if !warden.works() {
            let new = Connection::open(self.rules.warden.as_deref())?;
            if let Err(failure) = try_level(&new, self.level == Level::Namespaces, &self.rules)? {
                let advice = super::doctor::advice(&failure);
                return Err(SandboxError::Unavailable { failure, advice });
            }
            *warden = new;
        }
        Ok(Arc::clone(&warden))
    }

    /// Moves aside the guarded names that appeared. If the sweep was incomplete,
    /// the state before the command is kept until a sweep is complete.
    pub(super) fn settle(&self, before: Before) -> Settled {
        let mut settled = Settled {
            appeared: std::mem::take(&mut *lock(&self.earlier)),
            ..Settled::default()
        };
        let mut pending = lock(&self.pending);
        for before in std::mem::take(&mut *pending).into_iter().chain([before]) {
            let mut missed = None;
            for watched in &before.watched {
                let (appeared, not_seen) = watched.sweep(&self.rules);
                settled.appeared.extend(appeared);
                missed = missed.or(not_seen);
            }
            self.placeholders.release(&before.held);
            if missed.is_some() {
                // The oldest states tell best which names are new.
                if pending.len() < MOST_PENDING {
                    pending.push(Before {
                        held: Held::default(),
                        ..before
                    });
                }
                settled.missed = settled.missed.or(missed);
            } else {
                self.baseline.end(&before.listed);
            }
        }
        settled
    }

    /// Settles a command when everything of it has ended. The next result reports it.
    pub(super) fn settle_later(self: &Arc<Self>, pidfd: OwnedFd, before: Before) {
        let sandbox = Arc::clone(self);
        let waiting = std::thread::Builder::new().name("toolgate-ending".to_owned());
        // Without a thread the record says that a command runs, and the next start looks.
        let _ = waiting.spawn(move || {
            while wire::readable(&pidfd, Duration::from_secs(3600)) == Ok(false) {}
            let settled = sandbox.settle(before);
            lock(&sandbox.earlier).extend(settled.appeared);
        });
    }

    /// Releases the resources of a command.
    pub(crate) fn release(&self, before: &Before) {
        self.placeholders.release(&before.held);
        self.baseline.end(&before.listed);
    }

    /// Tells the warden that a program begins. A warden that is too busy to listen has no
    /// use for it.
    pub(super) fn tell_begun(&self) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let warden = Arc::clone(&lock(&self.warden));
        let _ = rustix::net::send(warden.socket(), serve::BEGUN, flags);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Sweeps after commands of killed programs, in the directories of this sandbox.
fn sweep_left_behind(
    rules: &SandboxRules,
    layout: &Layout,
    left: Vec<LeftBehind>,
) -> Vec<Appeared> {
    let mut appeared: Vec<Appeared> = Vec::new();
    for mut left in left {
        let mut others = false;
        for stood in &mut left.stood {
            match layout.watched_before(stood) {
                Some(watched) => {
                    let (moved, missed) = watched.sweep(rules);
                    appeared.extend(moved);
                    others |= missed.is_some();
                }
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

/// The signal that ends a sandbox. On the lower level the supervisor kills, and has to live
/// for it.
pub(super) fn end_signal(namespaces: bool) -> Signal {
    if namespaces {
        Signal::KILL
    } else {
        Signal::TERM
    }
}

/// The descriptors of a command that was sent.
struct Sent {
    warden: Arc<Connection>,
    pidfd: Option<OwnedFd>,
    status: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    outcome: Option<Outcome>,
}

/// The bytes of a path or an argument.
pub(crate) fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}
