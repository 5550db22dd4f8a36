//! The last steps before a program runs.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::confine;
use super::init::{GO, Kind};
use super::landlock::AllowedAccess;
use super::refusals::Refusals;
use crate::command::protocol::message::Order;
use crate::command::protocol::report::{SetupError, Step};
use crate::command::protocol::wire;
use crate::command::sys;
use crate::command::warden::machine::Machine;

/// The three standard descriptors of a command.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// The private directories of a command.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(crate) home: &'a str,
    pub(crate) temporary: &'a str,
    /// All directories that are its own.
    pub(crate) private: &'a [&'a str],
}

/// The steps that do not depend on the command: a session without a terminal, signals as every
/// program expects them, and the filter of system calls, which takes the longest. The filter
/// permits all remaining steps. Gives the descriptor over which refusals are
/// reported.
pub(super) fn first_steps(kind: Kind, machine: &Machine) -> Result<Option<OwnedFd>, SetupError> {
    // A session of its own has no terminal, so nothing can be typed on it.
    rustix::process::setsid().map_err(|errno| SetupError::new(Step::Session, errno))?;
    sys::let_signals_through();
    if kind.omit.seccomp {
        return Ok(None);
    }
    let applied = machine.filters.apply(kind.namespaces, kind.network);
    applied.map_err(|errno| SetupError::new(Step::Seccomp, errno))
}

/// Hands the descriptor of refusals to the process that watches, which waits for it.
pub(super) fn hand_over(line: &OwnedFd, listener: Option<OwnedFd>) -> Result<(), SetupError> {
    let fds: Vec<BorrowedFd<'_>> = listener.iter().map(AsFd::as_fd).collect();
    wire::send(line, HERE, &fds).map_err(|errno| SetupError::new(Step::Seccomp, errno))
}

/// Takes the descriptor from [`hand_over`].
pub(super) fn take_over(line: &OwnedFd) -> Result<Refusals, Errno> {
    let packet = wire::receive(line, RecvFlags::empty())?;
    Ok(Refusals::heard_over(packet.fds.into_iter().next()))
}

/// The first message of a process that will be the shell.
const HERE: &[u8] = b"here";

/// The steps that depend on the directories and limits of the command only:
/// limits, and Landlock. Nothing can be mounted by this process afterwards.
pub(super) fn middle_steps(
    order: &Order,
    directories: Vec<BorrowedFd<'_>>,
    places: &Places<'_>,
    machine: &Machine,
) -> Result<(), SetupError> {
    confine::set_limits(&order.limits).map_err(|errno| SetupError::new(Step::Limits, errno))?;
    if order.omit.landlock {
        return Ok(());
    }
    AllowedAccess {
        abi: machine.landlock_abi,
        namespaces: order.namespaces,
        network: order.network,
        directories: directories
            .into_iter()
            .zip(order.directories.iter().map(|directory| directory.writable))
            .collect(),
        private: places.private,
        private_system: if order.namespaces {
            &[]
        } else {
            machine.system.hidden()
        },
    }
    .close()
    .map_err(|errno| {
        SetupError::new(Step::Landlock, errno)
            .about(format!("the kernel has version {}", machine.landlock_abi))
    })
}

/// Becomes the program, once the go message comes over `status`. It returns why that did
/// not happen.
pub(super) fn last_steps(
    order: &Order,
    stdio: &Stdio,
    status: &OwnedFd,
    places: &Places<'_>,
) -> SetupError {
    match become_program(order, stdio, status, places) {
        Ok(never) => match never {},
        Err(failure) => failure,
    }
}

fn become_program(
    order: &Order,
    stdio: &Stdio,
    status: &OwnedFd,
    places: &Places<'_>,
) -> Result<std::convert::Infallible, SetupError> {
    let (argv, env) = texts(order, places)?;
    let program = argv
        .first()
        .ok_or_else(|| SetupError::new(Step::Order, Errno::INVAL))?;
    (|| {
        sys::put_at(&stdio.stdin, 0)?;
        sys::put_at(&stdio.stdout, 1)?;
        sys::put_at(&stdio.stderr, 2)?;
        sys::close_rest_on_exec()
    })()
    .map_err(|errno| SetupError::new(Step::Session, errno))?;
    rustix::process::chdir(order.cwd.as_slice()).map_err(|errno| {
        SetupError::new(Step::Cwd, errno).about(String::from_utf8_lossy(&order.cwd))
    })?;
    if order.namespaces {
        write_home(order, places);
    }
    let word = wire::receive(status, RecvFlags::empty());
    if word.is_ok_and(|packet| packet.bytes == GO) {
        let errno = sys::exec(program, &argv, &env);
        return Err(SetupError::new(Step::Exec, errno).about(program.to_string_lossy()));
    }
    // The caller is gone.
    Err(SetupError::new(Step::Order, Errno::CANCELED))
}

/// Writes the files of the private home directory. A command of the conversation may have put its own
/// there, or filled the directory: then programs go without, as they would have.
fn write_home(order: &Order, places: &Places<'_>) {
    for (name, content) in &order.home {
        let path = [places.home.as_bytes(), b"/", name].concat();
        let how = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY;
        // A pipe would wait for its reader.
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)) {
            let _ = rustix::io::write(file, content);
        }
    }
}

fn texts(order: &Order, places: &Places<'_>) -> Result<(Vec<CString>, Vec<CString>), SetupError> {
    let failed = |_| SetupError::new(Step::Order, Errno::INVAL);
    let own = [
        [b"HOME=", places.home.as_bytes()].concat(),
        [b"TMPDIR=", places.temporary.as_bytes()].concat(),
        [b"PWD=", order.cwd.as_slice()].concat(),
    ];
    let argv = order.argv.iter().cloned().map(CString::new).collect();
    let env = order.env.iter().cloned().chain(own).map(CString::new);
    Ok((
        Result::map_err(argv, failed)?,
        env.collect::<Result<_, _>>().map_err(failed)?,
    ))
}
