//! Starting a warden, and finding the highest level it can reach.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::connection::Connection;
use super::sandbox::{PATIENCE, READY};
use crate::command::error::SandboxError;
use crate::command::inside::init::Kind;
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire;
use crate::command::rules::{Level, SandboxRules};
use crate::command::warden::serve;

/// Starts the warden from a thread that waits for its end: the warden is told to die when
/// the thread that started it does, not only when the process does.
pub(super) fn start_warden(program: Option<&Path>) -> Result<OwnedFd, SandboxError> {
    if program.is_none() && !READY.load(Ordering::Acquire) {
        return Err(SandboxError::NotInitialised);
    }
    let program = program.map_or_else(|| PathBuf::from("/proc/self/exe"), Path::to_path_buf);
    let (ours, theirs) = wire::pair()?;
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name(serve::NAME.to_owned())
        .spawn(move || {
            let started = Command::new(program)
                .arg0(serve::NAME)
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
        .map_err(SandboxError::Warden)?;
    told.recv()
        .map_err(|_| SandboxError::System(Errno::PIPE))?
        .map_err(SandboxError::Warden)?;
    if wire::readable(&ours, PATIENCE)?
        && wire::receive(&ours, RecvFlags::empty())?.bytes == serve::HELLO
    {
        Ok(ours)
    } else {
        let text = "it does not answer; the program named has to call `toolgate_sandbox::command::init()` first thing in `main`";
        Err(SandboxError::Warden(std::io::Error::other(text)))
    }
}

/// Tries the levels from the highest down to the lowest that is accepted.
pub(super) fn find_level(
    warden: &Connection,
    rules: &SandboxRules,
) -> Result<(Level, Option<SetupError>), SandboxError> {
    let mut first = None;
    if rules.highest == Level::Namespaces {
        match try_level(warden, true, rules)? {
            Ok(()) => return Ok((Level::Namespaces, None)),
            Err(failure) => first = Some(failure),
        }
    }
    if rules.lowest == Level::Landlock {
        match try_level(warden, false, rules)? {
            Ok(()) => return Ok((Level::Landlock, first)),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    let failure = first.unwrap_or_else(|| SetupError::new(Step::Clone, Errno::NOTSUP));
    let advice = super::doctor::advice(&failure);
    Err(SandboxError::Unavailable { failure, advice })
}

/// Tries one level. The inner error says why it cannot be had.
pub(super) fn try_level(
    warden: &Connection,
    namespaces: bool,
    rules: &SandboxRules,
) -> Result<Result<(), SetupError>, SandboxError> {
    if let Err(failure) = super::doctor::needs_kernel(namespaces, rules.omit) {
        return Ok(Err(failure));
    }
    let kind = Kind {
        namespaces,
        network: rules.network,
        omit: rules.omit,
        shared: namespaces && rules.shared,
    };
    warden.ask(|socket| {
        wire::send(socket, &serve::try_packet(kind), &[])?;
        if !wire::readable(socket, PATIENCE)? {
            return Err(SandboxError::System(Errno::TIMEDOUT));
        }
        let packet = wire::receive(socket, RecvFlags::empty())?;
        match Report::decode(&packet.bytes) {
            Some(Report::Ready) => Ok(Ok(())),
            Some(Report::Ended(Outcome::Setup(failure))) => Ok(Err(failure)),
            _ => Err(SandboxError::System(Errno::PIPE)),
        }
    })
}
