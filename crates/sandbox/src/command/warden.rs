//! The warden: a small process with one thread that makes sandboxes.
//!
//! The program starts itself under a private name, with nothing in its environment and a
//! socket as standard input. The end of the socket ends the warden, and the end of the
//! warden ends every command. It never looks into an order: it passes the packet on to a
//! sandbox.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{PidfdFlags, Signal};

use super::init::{self, GO, Kind, Pattern};
use super::kin;
use super::message::{network_byte, network_of};
use super::report::{Outcome, Report, SetupFailure, Step};
use super::rules::{Network, Omit};
use super::seccomp::Filters;
use super::sys::{self, Child, Side};
use super::wire::{self, Packet};

/// The name under which the program is a warden.
pub(super) const NAME: &str = "toolgate-warden";
/// What the warden says first.
pub(super) const HELLO: &[u8] = b"toolgate warden 1";

/// How long a sandbox that was furnished ahead may take to look at an order.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it takes at most to make a sandbox.
const BREATH: Duration = Duration::from_millis(5);

/// What is the same for all commands on this machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) filters: Filters,
    /// Files of the system that only root can read.
    pub(super) hidden: Vec<String>,
    pub(super) landlock_abi: i32,
    /// Whether a PID namespace has a limit of its own.
    pub(super) own_pid_max: bool,
}

impl Machine {
    fn look() -> Option<Self> {
        Some(Self {
            filters: Filters::build().ok()?,
            hidden: if rustix::process::geteuid().is_root() {
                only_for_root(Path::new("/etc"))
            } else {
                Vec::new()
            },
            landlock_abi: sys::landlock_abi().unwrap_or(0),
            own_pid_max: has_own_pid_max(),
        })
    }
}

/// Whether `pid_max` belongs to the PID namespace. Before it did, writing it would have
/// changed the whole machine's.
pub(super) fn has_own_pid_max() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        _ => false,
    }
}

/// What an ordinary user could not read here. User 0 could, even without capabilities,
/// because it owns it.
fn only_for_root(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.path().symlink_metadata() else {
                continue;
            };
            let mode = metadata.permissions().mode();
            let others = if metadata.is_dir() { 0o005 } else { 0o004 };
            let path = entry.path();
            if metadata.is_symlink() {
                continue;
            } else if mode & others != others && metadata.uid() == 0 {
                found.extend(path.to_str().map(str::to_owned));
            } else if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A sandbox that waits for its command, or has it.
#[derive(Debug)]
struct Ready {
    kind: Kind,
    /// Whether it has the folders of the command before.
    furnished: bool,
    child: Child,
    /// Kept open while the sandbox lives: closing it with the sandbox's first word unread
    /// would reset the connection, and the order in it would be lost.
    control: OwnedFd,
    /// The last reference to the namespaces. Taking them down takes as long as putting
    /// them up; held here, that happens after everybody knows that the command is over.
    _namespaces: Vec<std::fs::File>,
}

/// The warden's life. The caller has made sure that there is only one thread.
pub(super) fn serve() -> ! {
    let socket = sys::own_stdin();
    // The socket says the same, but not while the warden is busy.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
    sys::reset_signals();
    sys::ignore_children();
    if let Some(machine) = Machine::look()
        && wire::send(&socket, HELLO, &[]).is_ok()
    {
        let mut warden = Warden {
            machine,
            ready: None,
            wanted: None,
            pattern: None,
            ended: None,
            hurried: false,
            at_work: Vec::new(),
        };
        while let Ok(packet) = warden.next(&socket) {
            if packet.bytes.is_empty() {
                break;
            }
            warden.answer(&socket, packet);
        }
    }
    sys::end(0)
}

struct Warden {
    machine: Machine,
    ready: Option<Ready>,
    /// What to make ready when there is time.
    wanted: Option<Kind>,
    /// The last command on the upper rung.
    pattern: Option<Pattern>,
    /// When the last command ended.
    ended: Option<Instant>,
    /// Whether commands come one right after the other.
    hurried: bool,
    /// Sandboxes that have a command.
    at_work: Vec<Ready>,
}

impl Warden {
    /// The next packet. Meanwhile, sandboxes that ended are taken down, and one is made
    /// ready for the next command: when the last one has ended, or has run for a while.
    /// Not at once, because that would take the time from the command that just began;
    /// only where the next one would come too soon.
    fn next(&mut self, socket: &OwnedFd) -> Result<Packet, Errno> {
        loop {
            let wait = Timespec {
                tv_sec: 0,
                tv_nsec: if self.hurried { 500_000 } else { 20_000_000 },
            };
            let wait = self.wanted.map(|_| &wait);
            let ended: Vec<bool> = {
                let mut fds = vec![PollFd::new(socket, PollFlags::IN)];
                fds.extend(
                    self.at_work
                        .iter()
                        .map(|ready| PollFd::new(&ready.child.pidfd, PollFlags::IN)),
                );
                match rustix::event::poll(&mut fds, wait) {
                    Ok(_) => {}
                    Err(Errno::INTR) => continue,
                    Err(errno) => return Err(errno),
                }
                fds.iter().map(|fd| !fd.revents().is_empty()).collect()
            };
            if ended.first() == Some(&true) {
                return wire::receive(socket, RecvFlags::empty());
            }
            if let Some(kind) = self.wanted.take() {
                let pattern = self.pattern.as_ref().filter(|_| kind.namespaces);
                self.ready = self.make(kind, pattern).ok();
            }
            let mut gone = ended.iter().skip(1);
            let mut unwatched = false;
            if ended.contains(&true) {
                self.ended = Some(Instant::now());
            }
            // Forgetting one takes its namespaces down.
            self.at_work.retain(|ready| {
                let gone = gone.next() == Some(&true);
                unwatched |= gone && !ready.kind.namespaces;
                !gone
            });
            if unwatched {
                self.end_strays();
            }
        }
    }

    /// A supervisor that was killed leaves its command to the warden, which ends it. A
    /// stray is a child of the warden that it did not make.
    fn end_strays(&self) {
        let known = self.ready.iter().chain(&self.at_work);
        let known: Vec<_> = known.map(|ready| ready.child.pid).collect();
        loop {
            let mut strays = kin::children();
            strays.retain(|pid| !known.contains(pid));
            if strays.is_empty() {
                return;
            }
            for pid in strays {
                let Ok(stray) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
                    continue;
                };
                let _ = rustix::process::pidfd_send_signal(&stray, Signal::KILL);
                // Its children are the warden's from then on, and found in the next round.
                let _ = wire::readable(&stray, Duration::from_millis(200));
            }
        }
    }

    fn answer(&mut self, socket: &OwnedFd, packet: Packet) {
        let [tag, namespaces, network, landlock, seccomp] = packet.bytes.as_slice() else {
            return;
        };
        let Ok(network) = network_of(*network) else {
            return;
        };
        let kind = Kind {
            namespaces: *namespaces == 1,
            network,
            omit: Omit {
                landlock: *landlock == 1,
                seccomp: *seccomp == 1,
            },
        };
        if *tag == TRY {
            let tried = self.make(kind, None).and_then(|ready| {
                let said = first_word(&ready);
                self.ready = Some(ready);
                said
            });
            let said = match tried {
                Ok(()) => Report::Ready,
                Err(failure) => {
                    self.ready = None;
                    Report::Ended(Outcome::Setup(failure))
                }
            };
            init::report(socket, &said);
        } else {
            self.hurried = self.ended.is_some_and(|ended| ended.elapsed() < BREATH);
            self.start(kind, packet);
            self.wanted = Some(kind).filter(|_| self.ready.is_none());
        }
    }

    /// Gives the packet to a sandbox.
    fn start(&mut self, kind: Kind, packet: Packet) {
        let Some(status) = packet.fds.get(1) else {
            return;
        };
        let fds: Vec<BorrowedFd<'_>> = packet.fds.iter().map(AsFd::as_fd).collect();
        let failed = |errno| SetupFailure::new(Step::Clone, errno);
        let handed = |ready: Ready| {
            let taken = give(&ready, &packet.bytes, &fds).map_err(failed)?;
            Ok(Some(ready).filter(|_| taken))
        };
        let ahead = self.ready.take().filter(|ready| ready.kind == kind);
        let given = ahead
            .map_or(Ok(None), handed)
            .and_then(|ready| match ready {
                Some(ready) => Ok(ready),
                None => {
                    let ready = self.make(kind, None)?;
                    handed(ready)?.ok_or_else(|| failed(Errno::PIPE))
                }
            });
        match given {
            Ok(ready) => self.at_work.push(ready),
            Err(failure) => init::report(status, &Report::Ended(Outcome::Setup(failure))),
        }
        if kind.namespaces {
            self.pattern = Pattern::of(packet);
        }
    }

    fn make(&self, kind: Kind, pattern: Option<&Pattern>) -> Result<Ready, SetupFailure> {
        let failed = |errno| SetupFailure::new(Step::Clone, errno);
        let (ours, theirs) = wire::pair().map_err(failed)?;
        let mut flags = 0;
        if kind.namespaces {
            flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
            flags |= libc::CLONE_NEWIPC;
            if kind.network != Network::On {
                flags |= libc::CLONE_NEWNET;
            }
        }
        match sys::clone3(flags).map_err(failed)? {
            Side::Child => init::live(theirs, kind, &self.machine),
            Side::Parent(child) => {
                let maps = if kind.namespaces {
                    write_maps(&child)
                } else {
                    Ok(())
                };
                let namespaces = ["mnt", "net", "ipc"].map(|name| {
                    std::fs::File::open(format!("/proc/{}/ns/{name}", child.pid.as_raw_nonzero()))
                });
                // A child that gets no word, because `ours` is closed, ends.
                let pattern_fds = pattern.map(Pattern::fds).unwrap_or_default();
                maps.and_then(|()| wire::send(&ours, GO, &pattern_fds))
                    .map_err(|errno| SetupFailure::new(Step::IdMaps, errno))?;
                Ok(Ready {
                    kind,
                    furnished: pattern.is_some(),
                    child,
                    control: ours,
                    _namespaces: namespaces
                        .into_iter()
                        .flatten()
                        .filter(|_| kind.namespaces)
                        .collect(),
                })
            }
        }
    }
}

/// Asks for a sandbox to be made, and how that went.
const TRY: u8 = b't';
/// Brings an order.
const RUN: u8 = b'r';

/// The packet that asks whether a sandbox can be made.
pub(super) fn try_packet(kind: Kind) -> [u8; 5] {
    packet(TRY, kind)
}

/// The packet that an order travels with.
pub(super) fn run_packet(kind: Kind) -> [u8; 5] {
    packet(RUN, kind)
}

fn packet(tag: u8, kind: Kind) -> [u8; 5] {
    [
        tag,
        u8::from(kind.namespaces),
        network_byte(kind.network),
        u8::from(kind.omit.landlock),
        u8::from(kind.omit.seccomp),
    ]
}

/// Gives a packet to a sandbox; `false` where it does not suit one that was furnished
/// ahead. Such a one says that it has taken the order before it begins with it, so another
/// one can be given the order if, and only if, that was never said.
fn give(ready: &Ready, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<bool, Errno> {
    let sent = wire::send(&ready.control, bytes, fds);
    if !ready.furnished {
        return sent.map(|()| true);
    }
    loop {
        if !wire::readable(&ready.control, PATIENCE)? {
            // Once it is dead, what it said before is all it will ever say.
            rustix::process::pidfd_send_signal(&ready.child.pidfd, Signal::KILL)?;
            if !wire::readable(&ready.child.pidfd, PATIENCE)? {
                return Err(Errno::TIMEDOUT);
            }
        }
        let packet = match wire::receive(&ready.control, RecvFlags::DONTWAIT) {
            // It ended without having read the order.
            Err(Errno::CONNRESET) => return Ok(false),
            other => other?,
        };
        match Report::decode(&packet.bytes) {
            Some(Report::Ready) => {}
            Some(Report::Taken) => return Ok(true),
            _ => return Ok(false),
        }
    }
}

fn first_word(ready: &Ready) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::new(Step::Clone, errno);
    let packet = wire::receive(&ready.control, RecvFlags::empty()).map_err(failed)?;
    match Report::decode(&packet.bytes) {
        Some(Report::Ready) => Ok(()),
        Some(Report::Ended(Outcome::Setup(failure))) => Err(failure),
        _ => Err(failed(Errno::PIPE)),
    }
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
