//! The filters against the lists they are made from.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// A call as the kernel shows it to a filter.
#[derive(Clone, Debug)]
struct Seen {
    number: u32,
    architecture: u32,
    arguments: [u64; 6],
}

/// Runs a program as the kernel does.
fn run(program: &[Step], seen: &Seen) -> (u32, usize) {
    let (mut at, mut word, mut steps) = (0, 0, 0);
    loop {
        let step = program.get(at).expect("a step");
        let code = u32::from(step.code);
        (at, steps) = (at + 1, steps + 1);
        if code == libc::BPF_RET | libc::BPF_K {
            return (step.k, steps);
        }
        if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K {
            word &= step.k;
            continue;
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
fn expected(seen: &Seen, scope: Scope, not_permitted: u32) -> u32 {
    if Some(seen.architecture) != ARCHITECTURE {
        return libc::SECCOMP_RET_KILL_PROCESS;
    }
    let number = libc::c_long::from(seen.number);
    let is_x32 = cfg!(target_arch = "x86_64") && seen.number >= 0x4000_0000;
    if is_x32 || number == libc::SYS_clone3 {
        return NOT_THERE;
    }
    let [first, second, third, ..] = seen.arguments.map(|argument| argument as u32);
    let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32;
    let kind = (second & !flags) as i32;
    let permitted = match number {
        libc::SYS_socket => {
            scope.internet
                && matches!(first as i32, libc::AF_INET | libc::AF_INET6)
                && (0..4).contains(&kind)
                && third != 256
        }
        libc::SYS_socketpair => {
            first == libc::AF_UNIX as u32
                && matches!(kind, libc::SOCK_STREAM | libc::SOCK_SEQPACKET)
        }
        libc::SYS_bind | libc::SYS_connect => scope.internet,
        libc::SYS_seccomp => second & 8 == 0,
        libc::SYS_setpriority => !scope.shared || (first < 2 && second == 0),
        libc::SYS_ioprio_set => !scope.shared || (first < 3 && second == 0),
        libc::SYS_prlimit64 if !scope.shared => first != FIRST_PROCESS,
        number if OTHERS.iter().any(|(call, _)| *call == number) => !scope.shared || first == 0,
        libc::SYS_clone => NAMESPACES.iter().all(|flag| first & *flag as u32 == 0),
        libc::SYS_ioctl => TERMINAL.iter().all(|request| *request as u32 != second),
        number => {
            let listed = |calls: &[Call]| calls.iter().any(|(call, _)| *call == number);
            let ipc = scope.shared && listed(SHARED_IPC);
            !(listed(NEVER) || listed(NEVER_HERE) || ipc)
        }
    };
    if permitted {
        libc::SECCOMP_RET_ALLOW
    } else {
        not_permitted
    }
}

/// Every filter, with its scope and its answer.
static PROGRAMS: LazyLock<Vec<(Scope, u32, Vec<Step>)>> = LazyLock::new(|| {
    let scopes = [Scope::NAMESPACES, Scope::ALONE, Scope::ALONE_OFFLINE];
    let answers = [NOT_PERMITTED, libc::SECCOMP_RET_USER_NOTIF];
    let all = scopes.into_iter().flat_map(|s| answers.map(|a| (s, a)));
    all.map(|(scope, answer)| (scope, answer, program(scope, answer).expect("a filter")))
        .collect()
});

fn agree(seen: &Seen) {
    for (scope, answer, program) in PROGRAMS.iter() {
        let (said, steps) = run(program, seen);
        assert_eq!(said, expected(seen, *scope, *answer), "{scope:?} {seen:?}");
        assert!(steps <= 20, "{steps} steps for {seen:?}");
    }
}

/// Every call there is, and some that are not, on every architecture we know.
#[test]
fn filters_answer_every_call_as_the_lists_say() {
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

/// Every family with every type, flags and the protocols around those that are permitted.
#[test]
fn filters_permit_only_sockets_on_the_lists() {
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        for family in 0..64 {
            for kind in 0..32_u64 {
                for protocol in [0, 6, 17, 255, 256, 257] {
                    for flags in [0, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK | 1 << 20] {
                        agree(&Seen {
                            number: number as u32,
                            architecture: ARCHITECTURE.expect("a known machine"),
                            arguments: [family, kind | flags as u64, protocol, 0, 0, 0],
                        });
                    }
                }
            }
        }
    }
}

/// A number that is often one of those that the filters look for.
fn word() -> impl Strategy<Value = u64> {
    let low = prop_oneof![
        0_u32..64,
        any::<u32>(),
        (0_u32..32).prop_map(|bit| 1 << bit),
        prop::sample::select(TERMINAL.map(|request| request as u32).to_vec()),
        254_u32..264,
        (0_u32..16, any::<bool>(), any::<bool>()).prop_map(|(kind, cloexec, nonblock)| {
            let cloexec = u32::from(cloexec) * libc::SOCK_CLOEXEC as u32;
            kind | cloexec | (u32::from(nonblock) * libc::SOCK_NONBLOCK as u32)
        }),
    ];
    let high = prop_oneof![Just(0_u32), any::<u32>()];
    (high, low).prop_map(|(high, low)| (u64::from(high) << 32) | u64::from(low))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn filters_look_at_arguments_as_the_lists_say(
        number in prop::sample::select(vec![
            libc::SYS_socket, libc::SYS_socketpair, libc::SYS_clone, libc::SYS_ioctl,
            libc::SYS_seccomp, libc::SYS_bind, libc::SYS_connect, libc::SYS_shmget,
            libc::SYS_prlimit64, libc::SYS_setpriority, libc::SYS_ioprio_set,
        ]),
        first in prop_oneof![word(), 0_u64..12],
        second in prop_oneof![word(), Just(0)],
        third in word(),
    ) {
        agree(&Seen {
            number: u32::try_from(number).expect("a number"),
            architecture: ARCHITECTURE.expect("a known machine"),
            arguments: [first, second, third, 0, 0, 0],
        });
    }
}
