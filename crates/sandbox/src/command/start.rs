//! Starting a warden, and finding the highest level it can reach.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::error::WallError;
use super::init::Kind;
use super::report::{Outcome, Report, SetupFailure, Step};
use super::rules::{Rung, WallRules};
use super::wall::{PATIENCE, READY};
use super::{warden, wire};

/// Starts the warden from a thread that waits for its end: the warden is told to die when
/// the thread that started it does, not only when the process does.
pub(super) fn start_warden(program: Option<&Path>) -> Result<OwnedFd, WallError> {
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
pub(super) fn find_rung(
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
