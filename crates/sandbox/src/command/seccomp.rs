//! The system calls that a command may not make.
//!
//! What is not permitted is told apart from what does not exist: `clone3` (its flags lie in
//! memory, where no filter can look; libraries fall back to `clone`) and calls with x32
//! numbers, which carry the same architecture. Calls in another architecture end the
//! process.
//!
//! A filter cannot count. So what is not permitted is handed to the process that watches
//! over the command, which counts and refuses (`refusals`). Honest programs run into a
//! filter a few times in their lives, so that costs next to nothing.

use std::os::fd::OwnedFd;

use libc::sock_filter as Step;
use rustix::io::Errno;

use super::filter::{Backwards, Place, Test, Word};
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
    refusing: Vec<Step>,
    telling: Vec<Step>,
}

impl Filters {
    /// Builds all filters once. None for a machine whose calls this does not know.
    pub(super) fn build() -> Option<Self> {
        Some(Self {
            with_internet: Filter::build(&INTERNET)?,
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
    ) -> Result<Option<OwnedFd>, Errno> {
        let filter = if namespaces || network == Network::On {
            &self.with_internet
        } else {
            &self.without_internet
        };
        match sys::filter_and_listen(&filter.telling) {
            Ok(listener) => Ok(Some(listener)),
            Err(_) => sys::filter(&filter.refusing).map(|()| None),
        }
    }
}

impl Filter {
    fn build(sockets: &[u32]) -> Option<Self> {
        Some(Self {
            refusing: program(sockets, NOT_PERMITTED)?,
            telling: program(sockets, libc::SECCOMP_RET_USER_NOTIF)?,
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

/// The filter that permits sockets of these families, with the answer to what it does not
/// permit.
fn program(sockets: &[u32], not_permitted: u32) -> Option<Vec<Step>> {
    let mut program = Backwards::default();
    let allow = program.answer(libc::SECCOMP_RET_ALLOW);
    let refuse = program.answer(not_permitted);
    let missing = program.answer(NOT_THERE);
    let stop = program.answer(libc::SECCOMP_RET_KILL_PROCESS);

    // A list of families, not a list of bad ones: new ones are not permitted either. A
    // Unix socket can reach every daemon whose path is visible, and no filter can look at
    // the path; pairs of sockets reach nobody.
    let socket = one_of(&mut program, 0, sockets, allow, refuse)?;
    let pairs = [libc::AF_UNIX.unsigned_abs()];
    let socketpair = one_of(&mut program, 0, &pairs, allow, refuse)?;
    let namespaces = NAMESPACES.iter().fold(0, |all, flag| all | flag);
    program.compare(Test::HasAnyOf, namespaces.unsigned_abs(), refuse, allow)?;
    let clone = program.take(Word::Argument(0));
    // The kernel looks at the lower half of a request only, and so does the filter.
    let terminal = TERMINAL.map(|request| u32::try_from(request).ok());
    let terminal: Vec<u32> = terminal.into_iter().collect::<Option<_>>()?;
    let ioctl = one_of(&mut program, 1, &terminal, refuse, allow)?;

    let mut calls = NEVER
        .iter()
        .chain(NEVER_HERE)
        .map(|(call, _)| (*call, refuse))
        .chain([
            (libc::SYS_socket, socket),
            (libc::SYS_socketpair, socketpair),
            (libc::SYS_clone, clone),
            (libc::SYS_ioctl, ioctl),
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

/// Whether an argument is one of these numbers.
fn one_of(
    program: &mut Backwards,
    argument: u8,
    numbers: &[u32],
    yes: Place,
    no: Place,
) -> Option<Place> {
    let mut next = no;
    for number in numbers {
        next = program.compare(Test::Is, *number, yes, next)?;
    }
    // Without anything to compare with there is nothing to take.
    let compares = !numbers.is_empty();
    Some(if compares {
        program.take(Word::Argument(argument))
    } else {
        no
    })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A call as the kernel shows it to a filter.
    #[derive(Clone, Debug)]
    struct Seen {
        number: u32,
        architecture: u32,
        arguments: [u64; 6],
    }

    /// What the kernel does with a program.
    fn run(program: &[Step], seen: &Seen) -> (u32, usize) {
        let (mut at, mut word, mut steps) = (0, 0, 0);
        loop {
            let step = program.get(at).expect("a step");
            let code = u32::from(step.code);
            (at, steps) = (at + 1, steps + 1);
            if code == libc::BPF_RET | libc::BPF_K {
                return (step.k, steps);
            }
            if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                word = match step.k {
                    0 => seen.number,
                    4 => seen.architecture,
                    offset => {
                        let (index, half) = ((offset - 16) / 8, (offset - 16) % 8);
                        assert_eq!(half, 0, "only lower halves are looked at");
                        let argument = seen.arguments.get(index as usize).expect("an argument");
                        (argument & u64::from(u32::MAX)) as u32
                    }
                };
                continue;
            }
            let holds = match code & !(libc::BPF_JMP | libc::BPF_K) {
                libc::BPF_JEQ => word == step.k,
                libc::BPF_JGE => word >= step.k,
                libc::BPF_JSET => word & step.k != 0,
                other => panic!("no step of ours: {other}"),
            };
            at += usize::from(if holds { step.jt } else { step.jf });
        }
    }

    /// The same from the lists alone, one call after the other.
    fn expected(seen: &Seen, sockets: &[u32], not_permitted: u32) -> u32 {
        if Some(seen.architecture) != ARCHITECTURE {
            return libc::SECCOMP_RET_KILL_PROCESS;
        }
        let number = libc::c_long::from(seen.number);
        let is_x32 = cfg!(target_arch = "x86_64") && seen.number >= 0x4000_0000;
        if is_x32 || number == libc::SYS_clone3 {
            return NOT_THERE;
        }
        let [first, second, ..] = seen.arguments.map(|argument| argument as u32);
        let permitted = match number {
            libc::SYS_socket => sockets.contains(&first),
            libc::SYS_socketpair => first == libc::AF_UNIX as u32,
            libc::SYS_clone => NAMESPACES.iter().all(|flag| first & *flag as u32 == 0),
            libc::SYS_ioctl => TERMINAL.iter().all(|request| *request as u32 != second),
            number => !NEVER
                .iter()
                .chain(NEVER_HERE)
                .any(|(call, _)| *call == number),
        };
        if permitted {
            libc::SECCOMP_RET_ALLOW
        } else {
            not_permitted
        }
    }

    fn agree(seen: &Seen) {
        for sockets in [&INTERNET[..], &[]] {
            for answer in [NOT_PERMITTED, libc::SECCOMP_RET_USER_NOTIF] {
                let program = program(sockets, answer).expect("a filter");
                let (said, steps) = run(&program, seen);
                assert_eq!(said, expected(seen, sockets, answer), "{seen:?}");
                assert!(steps <= 20, "{steps} steps for {seen:?}");
            }
        }
    }

    /// Every call there is, and some that are not, on every architecture we know.
    #[test]
    fn filters_say_of_every_call_what_the_lists_say() {
        let here = ARCHITECTURE.expect("a known machine");
        for number in (0..1_000).chain([0x3FFF_FFFF, 0x4000_0000, 0x4000_0001, u32::MAX]) {
            for architecture in [here, here ^ 0x8000_0000, 0] {
                agree(&Seen {
                    number,
                    architecture,
                    arguments: [0; 6],
                });
            }
        }
    }

    proptest! {
        #[test]
        fn filters_look_at_arguments_as_the_lists_say(
            number in prop::sample::select(vec![
                libc::SYS_socket, libc::SYS_socketpair, libc::SYS_clone, libc::SYS_ioctl,
            ]),
            low in prop_oneof![
                0_u32..64,
                any::<u32>(),
                (0_u32..32).prop_map(|bit| 1 << bit),
                prop::sample::select(TERMINAL.map(|request| request as u32).to_vec()),
            ],
            high in prop_oneof![Just(0_u32), any::<u32>()],
        ) {
            let argument = u64::from(high) << 32 | u64::from(low);
            for arguments in [[argument, 0, 0, 0, 0, 0], [0, argument, 0, 0, 0, 0]] {
                agree(&Seen {
                    number: u32::try_from(number).expect("a number"),
                    architecture: ARCHITECTURE.expect("a known machine"),
                    arguments,
                });
            }
        }
    }
}
