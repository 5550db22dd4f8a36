//! The system calls that a command may not make.
//!
//! Forbidden calls get another error than missing ones: `clone3` (its flags lie in
//! memory, where no filter can look; libraries fall back to `clone`) and calls with x32
//! numbers, which carry the same architecture. Calls in another architecture end the
//! process.
//!
//! Unix sockets exist only as connected pairs. A pair of streams, or of packets in sequence,
//! stays a pair for good; one of datagrams can be sent to any name, and `sendmsg` keeps the
//! name in memory.
//!
//! A filter cannot count. So a forbidden call is handed to the process that watches
//! over the command, which counts and refuses (`refusals`). Harmless programs run into a
//! filter a few times in their lives, so that costs next to nothing. A command gets no
//! listener of its own: when ours is closed, a newer filter could permit what ours hands on.

use std::os::fd::OwnedFd;

use libc::sock_filter as Step;
use rustix::io::Errno;

use super::bpf::{Backwards, Place, Test, Word};
use crate::command::rules::Network;
use crate::command::sys;

/// A system call by its number, and its name.
type Call = (libc::c_long, &'static str);

/// Not permitted, whatever the arguments.
const NEVER: &[Call] = &[
    // Looking into other processes.
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"),
    (libc::SYS_process_madvise, "process_madvise"),
    (libc::SYS_kcmp, "kcmp"),
    (libc::SYS_pidfd_getfd, "pidfd_getfd"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    // Ways around a filter of system calls, and the kernel's most powerful calls.
    (libc::SYS_io_uring_setup, "io_uring_setup"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_io_uring_register, "io_uring_register"),
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_add_key, "add_key"),
    (libc::SYS_request_key, "request_key"),
    (libc::SYS_fanotify_init, "fanotify_init"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"),
    (libc::SYS_name_to_handle_at, "name_to_handle_at"),
    // Namespaces and mounts.
    (libc::SYS_unshare, "unshare"),
    (libc::SYS_setns, "setns"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_fsopen, "fsopen"),
    (libc::SYS_fsconfig, "fsconfig"),
    (libc::SYS_fsmount, "fsmount"),
    (libc::SYS_fspick, "fspick"),
    // Newer than the headers this is built with; the same number everywhere.
    (467, "open_tree_attr"),
    // The machine.
    (libc::SYS_kexec_load, "kexec_load"),
    (libc::SYS_kexec_file_load, "kexec_file_load"),
    (libc::SYS_init_module, "init_module"),
    (libc::SYS_finit_module, "finit_module"),
    (libc::SYS_delete_module, "delete_module"),
    (libc::SYS_reboot, "reboot"),
    (libc::SYS_swapon, "swapon"),
    (libc::SYS_swapoff, "swapoff"),
    (libc::SYS_syslog, "syslog"),
    (libc::SYS_acct, "acct"),
    (libc::SYS_quotactl, "quotactl"),
    (libc::SYS_quotactl_fd, "quotactl_fd"),
    (libc::SYS_settimeofday, "settimeofday"),
    (libc::SYS_clock_settime, "clock_settime"),
    (libc::SYS_clock_adjtime, "clock_adjtime"),
    (libc::SYS_adjtimex, "adjtimex"),
    (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_setdomainname, "setdomainname"),
    (libc::SYS_vhangup, "vhangup"),
    (libc::SYS_move_pages, "move_pages"),
    (libc::SYS_migrate_pages, "migrate_pages"),
];

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[Call] = &[
    (libc::SYS_iopl, "iopl"),
    (libc::SYS_ioperm, "ioperm"),
    (libc::SYS_modify_ldt, "modify_ldt"),
    (libc::SYS_lookup_dcookie, "lookup_dcookie"),
    (libc::SYS_uselib, "uselib"),
    (libc::SYS_ustat, "ustat"),
    (libc::SYS_sysfs, "sysfs"),
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[Call] = &[];

/// Not permitted where the IPC namespace is the machine's: Landlock does not know them, and
/// they reach whatever has the same owner.
const SHARED_IPC: &[Call] = &[
    (libc::SYS_shmget, "shmget"),
    (libc::SYS_shmat, "shmat"),
    (libc::SYS_shmctl, "shmctl"),
    (libc::SYS_semget, "semget"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_semtimedop, "semtimedop"),
    (libc::SYS_semctl, "semctl"),
    (libc::SYS_msgget, "msgget"),
    (libc::SYS_msgsnd, "msgsnd"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_msgctl, "msgctl"),
    (libc::SYS_mq_open, "mq_open"),
    (libc::SYS_mq_unlink, "mq_unlink"),
];

/// Not permitted where the only sockets are pairs, which need no names. A pair could take an
/// abstract name from the machine's programs, or tell which names exist.
const NAMES: &[Call] = &[(libc::SYS_bind, "bind"), (libc::SYS_connect, "connect")];

/// Not permitted for another process, where the others are the machine's: Landlock keeps
/// signals from them, and a limit of processor time ends a process as well as a signal does.
/// The process is the first argument.
const OTHERS: &[Call] = &[
    (libc::SYS_prlimit64, "prlimit64"),
    (libc::SYS_sched_setaffinity, "sched_setaffinity"),
    (libc::SYS_sched_setattr, "sched_setattr"),
    (libc::SYS_sched_setparam, "sched_setparam"),
    (libc::SYS_sched_setscheduler, "sched_setscheduler"),
];
/// The process that watches over a command, in a namespace of its own.
const FIRST_PROCESS: u32 = 1;
/// The same where the first argument says what the second one is: a process, a group or, from
/// this number on, a user.
const OTHERS_BY_KIND: &[(Call, u32)] = &[
    ((libc::SYS_setpriority, "setpriority"), 2),
    ((libc::SYS_ioprio_set, "ioprio_set"), 3),
];

/// Not permitted with some arguments.
const SOMETIMES: &[Call] = &[
    (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_seccomp, "seccomp"),
];

/// The name of a call that a filter refuses.
pub(super) fn name_of(number: i32) -> Option<&'static str> {
    let always = NEVER.iter().chain(NEVER_HERE);
    let by_kind = OTHERS_BY_KIND.iter().map(|(call, _)| call);
    let some = SOMETIMES.iter().chain(OTHERS).chain(by_kind);
    let mut all = always.chain(SHARED_IPC).chain(NAMES).chain(some);
    all.find(|(call, _)| *call == libc::c_long::from(number))
        .map(|(_, name)| *name)
}

/// Flags of `clone` that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests that type on another process's terminal.
const TERMINAL: [libc::Ioctl; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Types of socket pairs that cannot be connected or sent elsewhere.
const PAIRS: [u32; 2] = [
    libc::SOCK_STREAM.unsigned_abs(),
    libc::SOCK_SEQPACKET.unsigned_abs(),
];
/// Flags that may be added to the type of a socket.
const SOCKET_FLAGS: u32 = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).unsigned_abs();
/// From here on the types of internet sockets are for other families, or make them: type 10
/// is a packet socket.
const OTHER_TYPES: u32 = 4;
/// The protocol by which an internet socket is one of another family.
const SMC: u32 = 256;
/// The flag of `seccomp` that asks for a listener.
const LISTENER: u32 = 1 << 3;

/// The inputs of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scope {
    /// Whether sockets of the internet can be made.
    internet: bool,
    /// Whether other processes and the IPC namespace are the machine's.
    shared: bool,
}

impl Scope {
    /// It runs in namespaces, a network namespace among them.
    const NAMESPACES: Self = Self {
        internet: true,
        shared: false,
    };
    /// No namespaces, and the machine's network.
    const ALONE: Self = Self {
        internet: true,
        shared: true,
    };
    /// No namespaces and no network: Landlock knows TCP only, so sockets of the internet are
    /// the network.
    const ALONE_OFFLINE: Self = Self {
        internet: false,
        shared: true,
    };

    /// The calls that it does not permit, whatever the arguments.
    fn never(self) -> impl Iterator<Item = &'static Call> {
        let ipc = if self.shared { SHARED_IPC } else { &[] };
        let names = if self.internet { &[] } else { NAMES };
        let always = NEVER.iter().chain(NEVER_HERE);
        always.chain(ipc).chain(names)
    }
}

/// The filters, ready to be put in force.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    in_namespaces: Filter,
    alone: Filter,
    alone_offline: Filter,
}

/// One filter in two forms: one that refuses, and one that hands refused calls to
/// the listener, so that they can be counted.
#[derive(Clone, Debug)]
struct Filter {
    refusing: Vec<Step>,
    telling: Vec<Step>,
}

impl Filters {
    /// Builds all filters once. None for a machine whose calls this does not know.
    pub(crate) fn build() -> Option<Self> {
        Some(Self {
            in_namespaces: Filter::build(Scope::NAMESPACES)?,
            alone: Filter::build(Scope::ALONE)?,
            alone_offline: Filter::build(Scope::ALONE_OFFLINE)?,
        })
    }

    /// Puts one in force for this thread, for good. Gives the descriptor over which refusals
    /// are reported and have to be answered; none if the kernel does not support it, or if
    /// another filter has a listener already.
    pub(crate) fn apply(
        &self,
        namespaces: bool,
        network: Network,
    ) -> Result<Option<OwnedFd>, Errno> {
        let filter = match (namespaces, network) {
            (true, _) => &self.in_namespaces,
            (false, Network::On) => &self.alone,
            (false, Network::Off | Network::Loopback) => &self.alone_offline,
        };
        match sys::filter_and_listen(&filter.telling) {
            Ok(listener) => Ok(Some(listener)),
            Err(_) => sys::filter(&filter.refusing).map(|()| None),
        }
    }
}

impl Filter {
    fn build(scope: Scope) -> Option<Self> {
        Some(Self {
            refusing: program(scope, NOT_PERMITTED)?,
            telling: program(scope, libc::SECCOMP_RET_USER_NOTIF)?,
        })
    }
}

/// Families of sockets that reach other machines.
const INTERNET: [u32; 2] = [libc::AF_INET.unsigned_abs(), libc::AF_INET6.unsigned_abs()];

/// The architecture whose numbers of calls are permitted: the machine, in 64 bits, with the
/// lower half first.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(62 | 0xC000_0000)
} else if cfg!(target_arch = "aarch64") {
    Some(183 | 0xC000_0000)
} else {
    None
};

const NOT_PERMITTED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const NOT_THERE: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

/// The filter for a scope, with the answer to what it does not permit.
fn program(scope: Scope, not_permitted: u32) -> Option<Vec<Step>> {
    let mut program = Backwards::default();
    let allow = program.answer(libc::SECCOMP_RET_ALLOW);
    let refuse = program.answer(not_permitted);
    let missing = program.answer(NOT_THERE);
    let stop = program.answer(libc::SECCOMP_RET_KILL_PROCESS);

    // Lists of what is permitted, not of what is bad: new families are not permitted either.
    // A Unix socket can reach every daemon whose path is visible, and no filter can look at
    // the path.
    let socket = if scope.internet {
        program.compare(Test::Is, SMC, refuse, allow)?;
        let protocol = program.take(Word::Argument(2));
        program.compare(Test::IsFrom, OTHER_TYPES, refuse, protocol)?;
        program.keep_bits(!SOCKET_FLAGS);
        let kind = program.take(Word::Argument(1));
        one_of(&mut program, &INTERNET, kind, refuse)?;
        program.take(Word::Argument(0))
    } else {
        refuse
    };
    one_of(&mut program, &PAIRS, allow, refuse)?;
    program.keep_bits(!SOCKET_FLAGS);
    let kind = program.take(Word::Argument(1));
    program.compare(Test::Is, libc::AF_UNIX.unsigned_abs(), kind, refuse)?;
    let socketpair = program.take(Word::Argument(0));
    let namespaces = NAMESPACES.iter().fold(0, |all, flag| all | flag);
    program.compare(Test::HasAnyOf, namespaces.unsigned_abs(), refuse, allow)?;
    let clone = program.take(Word::Argument(0));
    // The kernel looks at the lower half of a request only, and so does the filter.
    let terminal = TERMINAL.map(|request| u32::try_from(request).ok());
    let terminal: Vec<u32> = terminal.into_iter().collect::<Option<_>>()?;
    one_of(&mut program, &terminal, refuse, allow)?;
    let ioctl = program.take(Word::Argument(1));
    program.compare(Test::HasAnyOf, LISTENER, refuse, allow)?;
    let seccomp = program.take(Word::Argument(1));
    program.compare(Test::Is, 0, allow, refuse)?;
    let only_own = program.take(Word::Argument(0));
    let mut others: Vec<(libc::c_long, Place)> = Vec::new();
    for ((call, _), user) in OTHERS_BY_KIND {
        program.compare(Test::IsFrom, *user, refuse, allow)?;
        let kind = program.take(Word::Argument(0));
        program.compare(Test::Is, 0, kind, refuse)?;
        others.push((*call, program.take(Word::Argument(1))));
    }
    others.extend(OTHERS.iter().map(|(call, _)| (*call, only_own)));
    if !scope.shared {
        // A command that takes the limits of the process which watches over it could have
        // its own end reported wrongly.
        program.compare(Test::Is, FIRST_PROCESS, refuse, allow)?;
        let but_first = program.take(Word::Argument(0));
        others = vec![(libc::SYS_prlimit64, but_first)];
    }

    let mut calls = scope
        .never()
        .map(|(call, _)| (*call, refuse))
        .chain(others)
        .chain([
            (libc::SYS_socket, socket),
            (libc::SYS_socketpair, socketpair),
            (libc::SYS_clone, clone),
            (libc::SYS_ioctl, ioctl),
            (libc::SYS_seccomp, seccomp),
            (libc::SYS_clone3, missing),
        ])
        .map(|(call, place)| u32::try_from(call).ok().map(|call| (call, place)))
        .collect::<Option<Vec<(u32, Place)>>>()?;
    calls.sort_unstable_by_key(|(call, _)| *call);
    let known = program.find(&calls, allow)?;
    if cfg!(target_arch = "x86_64") {
        const X32: u32 = 0x4000_0000;
        program.compare(Test::IsFrom, X32, missing, known)?;
    }
    let number = program.take(Word::Number);
    program.compare(Test::Is, ARCHITECTURE?, number, stop)?;
    program.take(Word::Architecture);
    Some(program.finish())
}

/// Whether the word that was taken is one of these numbers.
fn one_of(program: &mut Backwards, numbers: &[u32], yes: Place, no: Place) -> Option<Place> {
    let mut next = no;
    for number in numbers {
        next = program.compare(Test::Is, *number, yes, next)?;
    }
    Some(next)
}

#[cfg(test)]
mod tests;
