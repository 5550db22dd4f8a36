//! The system calls that no safe interface offers, each wrapped once.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::process::Pid;

/// A process and its descriptor.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
}

/// Which side of a clone this is.
pub(super) enum Side {
    Parent(Child),
    Child,
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Makes a process like `fork`, in the namespaces that `flags` name.
///
/// Only a process with a single thread may call this: the child goes on with a copy
/// of everything, locks included.
#[allow(unsafe_code)]
pub(super) fn clone3(flags: i32) -> Result<Side, Errno> {
    let mut pidfd: RawFd = -1;
    let flags = u64::from(flags.unsigned_abs()) | u64::from(libc::CLONE_PIDFD.unsigned_abs());
    // SAFETY: all fields of the structure are integers, for which zero is "not used".
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags;
    args.pidfd = std::ptr::from_mut(&mut pidfd).expose_provenance() as u64;
    // A sibling gets the signal of this process.
    if flags & u64::from(libc::CLONE_PARENT.unsigned_abs()) == 0 {
        args.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    }
    // SAFETY: `args` lives through the call and names no stack and no shared memory, so
    // the child gets a copy of this process as after `fork`. The process has one thread,
    // so no lock is held by a thread that the copy lacks.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            std::ptr::from_mut(&mut args),
            size_of::<libc::clone_args>(),
        )
    };
    match i32::try_from(pid) {
        Ok(0) => Ok(Side::Child),
        Ok(pid) if pid > 0 => {
            let pid = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
            // SAFETY: the kernel has just made this descriptor, and it has no other owner.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Side::Parent(Child { pid, pidfd }))
        }
        _ => Err(last_errno()),
    }
}

/// Sets attributes on a mount, or on all mounts beneath it.
pub(super) fn mount_setattr(
    mount: impl AsFd,
    path: &CStr,
    recursive: bool,
    set: u64,
) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    set_attributes(mount, path, recursive, &attributes)
}

/// Maps the owners of all files in a mount, and in all beneath it, to what they are in a user
/// namespace, and sets attributes. All of it, or an error.
pub(super) fn map_owners(mount: impl AsFd, users: impl AsFd, set: u64) -> Result<(), Errno> {
    let users = users.as_fd().as_raw_fd();
    let attributes = libc::mount_attr {
        attr_set: set | libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: u64::try_from(users).map_err(|_| Errno::BADF)?,
    };
    set_attributes(mount, c"", true, &attributes)
}

#[allow(unsafe_code)]
fn set_attributes(
    mount: impl AsFd,
    path: &CStr,
    recursive: bool,
    attributes: &libc::mount_attr,
) -> Result<(), Errno> {
    let mut flags = libc::AT_EMPTY_PATH;
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path is a C string and the structure has the size that is stated; the
    // kernel only reads both.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Closes everything but one descriptor and the empty outputs, right after a clone.
///
/// The copies of the warden's other owners are never used and never dropped: the caller
/// ends by exec or by [`end`].
#[allow(unsafe_code)]
pub(super) fn keep_only(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    const KEPT: RawFd = 3;
    // SAFETY: `fd` is given up here and lives on as `KEPT`; whatever else had one of the
    // numbers that are closed is unreachable in this process. Number 1 is `/dev/null`, and
    // takes the place of the warden's socket at number 0.
    unsafe {
        let raw = fd.into_raw_fd();
        let kept = if raw == KEPT {
            KEPT
        } else {
            libc::dup3(raw, KEPT, libc::O_CLOEXEC)
        };
        if kept != KEPT
            || libc::dup2(1, 0) != 0
            || libc::syscall(libc::SYS_close_range, 4, u32::MAX, 0) != 0
        {
            return Err(last_errno());
        }
        Ok(OwnedFd::from_raw_fd(KEPT))
    }
}

/// Has everything but the standard descriptors closed on exec.
#[allow(unsafe_code)]
pub(super) fn close_rest_on_exec() -> Result<(), Errno> {
    // SAFETY: sets a flag on descriptors; nothing is closed under an owner.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Makes a descriptor one of the first three.
#[allow(unsafe_code)]
pub(super) fn put_at(fd: impl AsFd, number: RawFd) -> Result<(), Errno> {
    // SAFETY: standard descriptors belong to no `OwnedFd`, so replacing one pulls nothing
    // away from under an owner.
    let done = unsafe { libc::dup2(fd.as_fd().as_raw_fd(), number) };
    if done == number {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Takes standard input over as the owner of its descriptor.
#[allow(unsafe_code)]
pub(super) fn own_stdin() -> OwnedFd {
    // SAFETY: called once, first thing in a process that was started with its socket
    // there; nothing reads standard input besides.
    unsafe { OwnedFd::from_raw_fd(0) }
}

/// Gives every signal its default meaning and lets all of them through.
#[allow(unsafe_code)]
pub(super) fn reset_signals() {
    // SAFETY: only constants are passed; numbers that are no signals, or that cannot be
    // changed, are refused by the kernel without effect.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    let_signals_through();
}

/// Lets all signals through.
#[allow(unsafe_code)]
pub(super) fn let_signals_through() {
    // SAFETY: the set is made here and outlives the calls.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Has the kernel reap children by itself.
pub(super) fn ignore_children() {
    on_child(libc::SIG_IGN);
}

/// Has children wait until their end was heard of, after [`ignore_children`].
pub(super) fn mind_children() {
    on_child(libc::SIG_DFL);
}

#[allow(unsafe_code)]
fn on_child(disposition: libc::sighandler_t) {
    // SAFETY: a constant disposition; no handler runs.
    unsafe {
        libc::signal(libc::SIGCHLD, disposition);
    }
}

/// A descriptor that becomes readable when one of these signals comes, which are held
/// back from now on.
#[allow(unsafe_code)]
pub(super) fn signal_fd(signals: &[i32]) -> Result<OwnedFd, Errno> {
    // SAFETY: the set is made here and outlives the calls; the descriptor is new.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(last_errno());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Becomes another program. Returns only when that fails.
#[allow(unsafe_code)]
pub(super) fn exec(program: &CStr, argv: &[CString], env: &[CString]) -> Errno {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts
            .iter()
            .map(|text| text.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both lists end with a null pointer and point to C strings that live until
    // the call returns.
    unsafe {
        libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr());
    }
    last_errno()
}

/// Ends this process at once, without running anything that a copy of a process has no
/// business running.
#[allow(unsafe_code)]
pub(super) fn end(code: i32) -> ! {
    // SAFETY: ends the process; there is no state to keep sound.
    unsafe { libc::_exit(code) }
}

/// Puts a filter of system calls in force for this thread, for good.
pub(super) fn filter(filter: &[libc::sock_filter]) -> Result<(), Errno> {
    set_filter(filter, 0).map(drop)
}

/// Puts a filter of system calls in force for this thread, for good. Gives the descriptor
/// over which the calls that the filter hands on have to be answered.
#[allow(unsafe_code)]
pub(super) fn filter_and_listen(filter: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    let fd = set_filter(filter, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: with this flag the kernel answers with a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[allow(unsafe_code)]
fn set_filter(filter: &[libc::sock_filter], flags: libc::c_ulong) -> Result<RawFd, Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel only reads the program, which outlives the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::from_ref(&program),
        )
    };
    RawFd::try_from(answer)
        .ok()
        .filter(|answer| *answer >= 0)
        .ok_or_else(last_errno)
}

/// Takes the next call that a filter handed on, and says that it is not permitted. Gives
/// its number.
#[allow(unsafe_code)]
pub(super) fn refuse_next(listener: impl AsFd) -> Result<i32, Errno> {
    let fd = listener.as_fd().as_raw_fd();
    // SAFETY: both structures are integers, for which zero is right, and as large as the
    // requests say; they outlive the calls.
    unsafe {
        let mut call: libc::seccomp_notif = std::mem::zeroed();
        if libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) != 0 {
            return Err(last_errno());
        }
        let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
        answer.id = call.id;
        answer.error = -libc::EPERM;
        if libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) != 0 {
            return Err(last_errno());
        }
        Ok(call.data.nr)
    }
}

/// Moves this process into a new network namespace.
#[allow(unsafe_code)]
pub(super) fn new_network() -> Result<(), Errno> {
    // SAFETY: the flag concerns neither the table of descriptors nor memory.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
}

/// Brings up the loopback device of this network namespace.
#[allow(unsafe_code)]
pub(super) fn loopback_up() -> Result<(), Errno> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    // SAFETY: the structure is plain data; the name is shorter than its field and ends
    // with a zero; the kernel reads the flags from the union's member that is written.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).unwrap_or(1);
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) != 0 {
            return Err(last_errno());
        }
    }
    Ok(())
}

/// The version of Landlock that the kernel speaks; none where it is not there.
#[allow(unsafe_code)]
pub(super) fn landlock_abi() -> Option<i32> {
    const ASK_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no structure and only returns a number.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            ASK_VERSION,
        )
    };
    i32::try_from(abi).ok().filter(|abi| *abi > 0)
}
