//! The system calls that a command may not make.
//!
//! A filter of the library has one answer for what it matches: not permitted. What does
//! not exist is told apart by a few steps in front of it: `clone3` (its flags lie in
//! memory, where no filter can look; libraries fall back to `clone`) and calls with x32
//! numbers, which carry the same architecture. Calls in another architecture end the
//! process. All of it is one filter, because the kernel compiles each one anew for every
//! process.
//!
//! A filter cannot count. So what is not permitted is handed to the process that watches
//! over the command, which counts and refuses (`refusals`). Honest programs run into a
//! filter a few times in their lives, so that costs next to nothing.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::rules::Network;
use super::sys;

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
    // Ways around a filter of system calls, and the kernel's widest doors.
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

/// Not permitted with some arguments.
const SOMETIMES: &[Call] = &[
    (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_ioctl, "ioctl"),
];

/// The name of a call that a filter refuses.
pub(super) fn name_of(number: i32) -> Option<&'static str> {
    let mut all = NEVER.iter().chain(NEVER_HERE).chain(SOMETIMES);
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

/// Requests that type on a terminal for somebody else.
const TERMINAL: [libc::Ioctl; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The filters, ready to be put in force.
#[derive(Clone, Debug)]
pub(super) struct Filters {
    with_internet: Filter,
    without_internet: Filter,
}

/// One filter in two forms: one that refuses, and one that hands what is to be refused to
/// whoever listens, so that it can be counted.
#[derive(Clone, Debug)]
struct Filter {
    refusing: BpfProgram,
    telling: BpfProgram,
}

impl Filters {
    /// Builds all filters once.
    pub(super) fn build() -> Result<Self, BackendError> {
        Ok(Self {
            with_internet: Filter::build(&[libc::AF_INET, libc::AF_INET6])?,
            without_internet: Filter::build(&[])?,
        })
    }

    /// Puts one in force for this thread, for good. Gives the descriptor over which refusals
    /// are told and have to be answered; none where the kernel has no such thing, or where
    /// somebody else's filter tells already.
    ///
    /// Where there is no network namespace, sockets of the internet are what stands for
    /// the network, because Landlock knows TCP only.
    pub(super) fn apply(
        &self,
        namespaces: bool,
        network: Network,
    ) -> Result<Option<OwnedFd>, seccompiler::Error> {
        let filter = if namespaces || network == Network::On {
            &self.with_internet
        } else {
            &self.without_internet
        };
        match sys::listen(&filter.telling) {
            Ok(listener) => Ok(Some(listener)),
            Err(_) => seccompiler::apply_filter(&filter.refusing).map(|()| None),
        }
    }
}

impl Filter {
    fn build(sockets: &[i32]) -> Result<Self, BackendError> {
        let mut refusing = not_there();
        refusing.extend(compile(not_permitted(sockets)?)?);
        let mut telling = refusing.clone();
        for step in &mut telling {
            if step.code == RETURN && step.k == NOT_PERMITTED {
                step.k = libc::SECCOMP_RET_USER_NOTIF;
            }
        }
        Ok(Self { refusing, telling })
    }
}

/// The step of a filter that ends it with an answer.
const RETURN: u16 = 0x06;
const NOT_PERMITTED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();

/// What is not permitted, besides sockets of other families than these.
fn not_permitted(sockets: &[i32]) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER
        .iter()
        .chain(NEVER_HERE)
        .map(|(call, _)| (*call, Vec::new()))
        .collect();
    // A list of families, not a list of bad ones: new ones are not permitted either. A
    // Unix socket can reach every daemon whose path is visible, and no filter can look at
    // the path; pairs of sockets reach nobody.
    let others = sockets
        .iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, *family))
        .collect::<Result<Vec<_>, _>>()?;
    let others = if others.is_empty() {
        Vec::new()
    } else {
        vec![SeccompRule::new(others)?]
    };
    rules.insert(libc::SYS_socket, others);
    rules.insert(
        libc::SYS_socketpair,
        vec![SeccompRule::new(vec![argument(
            0,
            SeccompCmpOp::Ne,
            libc::AF_UNIX,
        )?])?],
    );
    let namespaces = NAMESPACES
        .into_iter()
        .map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            SeccompRule::new(vec![SeccompCondition::new(
                0,
                SeccompCmpArgLen::Qword,
                SeccompCmpOp::MaskedEq(flag),
                flag,
            )?])
        })
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, namespaces);
    // The kernel looks at the lower half of a request only, and so does the filter.
    let terminal = TERMINAL
        .into_iter()
        .map(|request| {
            SeccompRule::new(vec![SeccompCondition::new(
                1,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::Eq,
                request,
            )?])
        })
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_ioctl, terminal);
    Ok(rules)
}

fn argument(number: u8, op: SeccompCmpOp, value: i32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(
        number,
        SeccompCmpArgLen::Dword,
        op,
        u64::from(value.unsigned_abs()),
    )
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        arch,
    )?
    .try_into()
}

/// Steps that say of some calls that they do not exist, and go on for all others.
fn not_there() -> BpfProgram {
    let code = |parts: u32| u16::try_from(parts).unwrap_or_default();
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let jump = |test, k| step(code(libc::BPF_JMP | test | libc::BPF_K), 0, 1, k);
    let no_such_call = step(
        RETURN,
        0,
        0,
        libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
    );
    let mut steps = vec![
        // The number of the call is the first word.
        step(code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS), 0, 0, 0),
        jump(
            libc::BPF_JEQ,
            u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX),
        ),
        no_such_call.clone(),
    ];
    if cfg!(target_arch = "x86_64") {
        const X32: u32 = 0x4000_0000;
        steps.extend([jump(libc::BPF_JGE, X32), no_such_call]);
    }
    steps
}
