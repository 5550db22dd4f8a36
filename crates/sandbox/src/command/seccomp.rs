//! The system calls that a command may not make.
//!
//! A filter of the library has one answer for what it matches, so filters are stacked:
//! `clone3` does not exist (its flags lie in memory, where no filter can look; libraries
//! fall back to `clone`), the rest is not permitted. The library ends a process that
//! calls in another architecture; calls with x32 numbers are a filter by hand, because
//! they carry the same architecture.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::rules::Network;

/// Not permitted, whatever the arguments.
const NEVER: &[libc::c_long] = &[
    // Looking into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    // Ways around a filter of system calls, and the kernel's widest doors.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    OPEN_TREE_ATTR,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Newer than the headers this is built with; the same number everywhere.
const OPEN_TREE_ATTR: libc::c_long = 467;

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_lookup_dcookie,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[libc::c_long] = &[];

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
    apart: Vec<BpfProgram>,
    without_internet: BpfProgram,
}

impl Filters {
    /// Builds all filters once.
    pub(super) fn build() -> Result<Self, BackendError> {
        let mut apart = vec![
            compile(not_permitted()?, libc::EPERM)?,
            compile(
                BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
                libc::ENOSYS,
            )?,
        ];
        if cfg!(target_arch = "x86_64") {
            apart.push(no_x32());
        }
        let internet = [libc::AF_INET, libc::AF_INET6]
            .into_iter()
            .map(|family| SeccompRule::new(vec![argument(0, SeccompCmpOp::Eq, family)?]))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            apart,
            without_internet: compile(BTreeMap::from([(libc::SYS_socket, internet)]), libc::EPERM)?,
        })
    }

    /// Puts them in force for this thread, for good.
    ///
    /// Where there is no network namespace, sockets of the internet are what stands for
    /// the network, because Landlock knows TCP only.
    pub(super) fn apply(
        &self,
        namespaces: bool,
        network: Network,
    ) -> Result<(), seccompiler::Error> {
        if !namespaces && network != Network::On {
            seccompiler::apply_filter(&self.without_internet)?;
        }
        for filter in &self.apart {
            seccompiler::apply_filter(filter)?;
        }
        Ok(())
    }
}

fn not_permitted() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER
        .iter()
        .chain(NEVER_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    // A list of families, not a list of bad ones: new ones are not permitted either. A
    // Unix socket can reach every daemon whose path is visible, and no filter can look at
    // the path; pairs of sockets reach nobody.
    rules.insert(
        libc::SYS_socket,
        vec![SeccompRule::new(vec![
            argument(0, SeccompCmpOp::Ne, libc::AF_INET)?,
            argument(0, SeccompCmpOp::Ne, libc::AF_INET6)?,
        ])?],
    );
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

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        arch,
    )?
    .try_into()
}

/// Refuses every call whose number has the x32 bit.
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let code = |parts: u32| u16::try_from(parts).unwrap_or_default();
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // The number of the call is the first word.
        step(code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS), 0, 0, 0),
        step(code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K), 0, 1, X32),
        step(
            code(libc::BPF_RET | libc::BPF_K),
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        step(
            code(libc::BPF_RET | libc::BPF_K),
            0,
            0,
            libc::SECCOMP_RET_ALLOW,
        ),
    ]
}
