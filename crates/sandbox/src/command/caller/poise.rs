//! From a specification to a command whose program is the next thing to happen.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown};
use rustix::pipe::PipeFlags;

use super::connection::Connection;
use super::layering::{bases, no_layer_in};
use super::layout::{Prepared, Watched};
use super::place::Place;
use super::running::{Before, Poised, Running};
use super::sandbox::{CommandSandbox, InForce, PATIENCE, end_signal};
use crate::command::error::SandboxError;
use crate::command::inside::init::Kind;
use crate::command::protocol::report::{Outcome, Report, Step};
use crate::command::protocol::wire;
use crate::command::rules::{CommandSpec, Level, Network};
use crate::command::warden::serve;
use crate::layer::{Base, Layering};

/// How often the directories are searched again because a guarded name moved before its
/// mask was put on.
const SEARCHES: usize = 10;

impl CommandSandbox {
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
        let (mut places, mut no_layer) = match inner.places_for(spec.layering) {
            Ok(places) => (places, None),
            Err(why) => (None, Some(why)),
        };
        for _ in 0..SEARCHES {
            if spec.layering == Layering::Required
                && let Some(why) = no_layer
            {
                return Err(SandboxError::NoLayer(why));
            }
            let begun = places.as_ref().map(|places| places.now()).transpose()?;
            let Prepared {
                order,
                directories,
                held,
                mut watched,
                hidden,
                unlayerable,
            } = inner.layout.prepare(inner, &spec, kind, places.is_some())?;
            if let (Some(why), true) = (unlayerable, places.is_some()) {
                inner.placeholders.release(&held);
                (places, no_layer) = (None, Some(why));
                continue;
            }
            let layered: Vec<Watched> = match &places {
                Some(_) => watched.extract_if(.., |one| one.is_layerable()).collect(),
                None => Vec::new(),
            };
            let bases = places.as_ref().map(|places| bases(places, &layered));
            let bases = match bases.transpose() {
                Ok(bases) => bases.unwrap_or_default(),
                Err(errno) => {
                    inner.placeholders.release(&held);
                    return Err(SandboxError::System(errno));
                }
            };
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
            let sent = sent.and_then(|bytes| {
                let bases = places
                    .iter()
                    .flat_map(|places| bases.iter().filter_map(|base| places.base(*base)));
                let mut fds: Vec<BorrowedFd<'_>> = directories
                    .iter()
                    .map(|directory| directory.handle())
                    .collect();
                fds.extend(bases.map(Base::handle));
                self.send(&bytes, &spec, kind, &fds)
            });
            match sent {
                Err(error) => {
                    inner.release(&before);
                    return Err(error);
                }
                Ok(sent) => {
                    if let (Some(errno), true) = (no_layer_in(&sent), places.is_some()) {
                        inner.release(&before);
                        let why = inner.refuse_layers(&layered, errno);
                        (places, no_layer) = (None, Some(why));
                        continue;
                    }
                    match moved_away(&sent) {
                        Some(path) => moved = path,
                        None => {
                            let layer = sent.layer.clone().zip(places).zip(begun);
                            let layer = layer.map(|((name, places), begun)| {
                                self.layer(name, places, begun, layered, &bases)
                            });
                            let mut poised = self.poised(sent, before, network, spec.place);
                            poised.0.layer = layer.transpose()?;
                            poised.0.no_layer = no_layer;
                            return Ok(poised);
                        }
                    }
                }
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
            layer: None,
            no_layer: None,
        })
    }

    fn send(
        &self,
        order: &[u8],
        spec: &CommandSpec,
        kind: Kind,
        directories: &[BorrowedFd<'_>],
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
        fds.extend(directories);
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
        let mut layer = None;
        let (pidfd, outcome) = match Report::decode(&packet.bytes) {
            Some(Report::Started) => (packet.fds.into_iter().next(), None),
            Some(Report::StartedIn(name)) => {
                layer = Some(name).filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric()));
                (packet.fds.into_iter().next(), None)
            }
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
            layer,
        })
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

/// The descriptors of a command that was sent.
pub(super) struct Sent {
    warden: Arc<Connection>,
    pidfd: Option<OwnedFd>,
    status: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    pub(super) outcome: Option<Outcome>,
    /// The name of its layer.
    layer: Option<String>,
}
