//! Resources that are counted per user, and the user's other processes: a command can neither
//! use up nor change them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::{Command, ExitCode};

use toolgate_sandbox::command::{self, Level, Omit};
use trial::{Place, Trial, line, only, refused, sandbox};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "all commands together leave the user most inotify instances",
        instances,
    ),
    ("limits of the kernel cannot be written", settings),
    (
        "no user namespace can be made, with no filter either",
        no_namespaces,
    ),
    (
        "a command has a share of the user's limits",
        resource_limits,
    ),
    (
        "without namespaces other processes keep limits and priorities",
        other_processes,
    ),
    ("a command sets its own limits and priorities", own_process),
];

/// Makes all it can, says how many, and holds them until the test opens the second FIFO.
const GREEDY: &str = "python3 -c 'import ctypes
l = ctypes.CDLL(None); n = 0
while l.inotify_init() >= 0: n += 1
print(n, file=open(\"made\", \"w\")); open(\"done\", \"r\")'";

fn limit(name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/sys/user/{name}")).unwrap();
    text.trim().parse().unwrap()
}

fn instances() {
    let place = Place::new();
    place.setup("mkfifo ws/made ws/done");
    let sandbox = sandbox(&place.rules());
    let most = limit("max_inotify_instances") / 4;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| line(&sandbox, &place, GREEDY));
        let made = place.read("ws/made");
        let made: u64 = made.trim().parse().unwrap();
        assert!((1..=most).contains(&made), "{made} of {most}");
        // Nothing is left for another command, and enough for processes outside.
        let second = "python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init())'";
        assert_eq!(line(&sandbox, &place, second).stdout, "-1\n");
        let outside = Command::new("python3")
            .args([
                "-c",
                "import ctypes; print(ctypes.CDLL(None).inotify_init())",
            ])
            .output()
            .unwrap();
        assert_eq!(outside.stdout, b"3\n");
        place.write("ws/done", "");
        assert!(first.join().unwrap().succeeded());
    });
    // They come back with the end of the command.
    let again = "python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init())'";
    assert_eq!(line(&sandbox, &place, again).stdout, "3\n");
}

fn settings() {
    let place = Place::new();
    let names = [
        "user/max_inotify_instances",
        "user/max_inotify_watches",
        "user/max_user_namespaces",
        "user/max_net_namespaces",
        "user/max_fanotify_groups",
        "fs/inotify/max_user_instances",
        "fs/inotify/max_user_watches",
        "fs/epoll/max_user_watches",
        "fs/pipe-user-pages-soft",
        "fs/file-max",
        "kernel/pid_max",
        "kernel/threads-max",
        "kernel/keys/maxkeys",
        "kernel/shmmax",
        "vm/overcommit_memory",
    ];
    let mut lines = Vec::new();
    for name in names {
        let path = format!("/proc/sys/{name}");
        if std::path::Path::new(&path).exists() {
            lines.push(format!("exec 3<>{path}"));
            lines.push(format!("cat {path} > /proc/self/root{path}"));
        }
    }
    assert!(lines.len() > 20, "{lines:?}");
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let omits = [(false, true), (true, true)].map(|(landlock, seccomp)| Omit { landlock, seccomp });
    for (level, omit) in [
        (Level::Namespaces, omits[0]),
        (Level::Namespaces, omits[1]),
        (Level::Landlock, omits[0]),
    ] {
        refused(&only(&place, level, omit), &place, &lines);
    }
}

fn no_namespaces() {
    let place = Place::new();
    let omit = Omit {
        seccomp: true,
        landlock: false,
    };
    for omit in [omit, trial::ALL] {
        let sandbox = only(&place, Level::Namespaces, omit);
        refused(
            &sandbox,
            &place,
            &[
                "unshare -U true",
                "unshare -r true",
                "unshare -rm true",
                "unshare -m true",
                "unshare -rn true",
            ],
        );
    }
}

fn resource_limits() {
    let place = Place::new();
    let read = "python3 -c 'import resource as r
for n in \"SIGPENDING\", \"MSGQUEUE\", \"MEMLOCK\", \"RTPRIO\", \"NICE\": print(*r.getrlimit(getattr(r, \"RLIMIT_\" + n)))'";
    let outside = Command::new("bash").args(["-c", read]).output().unwrap();
    let numbers = |text: &str| -> Vec<i64> {
        text.split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect()
    };
    let outside = numbers(&String::from_utf8_lossy(&outside.stdout));
    for level in [Level::Namespaces, Level::Landlock] {
        let ran = line(&only(&place, level, Omit::default()), &place, read);
        let inside = numbers(&ran.stdout);
        assert_eq!((inside.len(), outside.len()), (10, 10), "{ran:?}");
        for (index, (inside, outside)) in inside.iter().zip(&outside).enumerate() {
            let most = match index {
                0..4 => *outside / 4,
                4 | 5 => 64 << 20,
                _ => 0,
            };
            let unlimited = *outside < 0;
            assert!((0..).contains(inside), "{index}: {inside}");
            assert!(unlimited || *inside <= most, "{index}: {inside} of {most}");
        }
    }
}

/// Calls by number, so that every way to another process is tried as it is.
fn other_processes() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let place = Place::new();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let (pid, user) = (other.id(), rustix::process::geteuid().as_raw());
    let script = format!(
        r"
import ctypes
l = ctypes.CDLL(None, use_errno=True)
limits = ctypes.create_string_buffer(16)
mask = ctypes.create_string_buffer(b'\xff' * 128)
zero = ctypes.create_string_buffer(64)
attr = ctypes.create_string_buffer(b'\x30' + b'\0' * 47)
for name, *call in (
    ('limit', 302, {pid}, 0, limits, 0),
    ('look at a limit', 302, {pid}, 7, 0, limits),
    ('priority', 141, 0, {pid}, 5),
    ('priority of a group', 141, 1, {pid}, 5),
    ('priority of a user', 141, 2, {user}, 5),
    ('priority of the own user', 141, 2, 0, 5),
    ('disk priority', 251, 1, {pid}, 0x6000),
    ('disk priority of a user', 251, 3, {user}, 0x6000),
    ('disk priority of the own user', 251, 3, 0, 0x6000),
    ('processors', 203, {pid}, 128, mask),
    ('scheduler', 144, {pid}, 5, zero),
    ('scheduling', 142, {pid}, zero),
    ('attributes', 314, {pid}, attr, 0),
):
    if l.syscall(*call) != -1 or ctypes.get_errno() != 1:
        print(name, ctypes.get_errno())
"
    );
    place.write("ws/others.py", &script);
    let sandbox = only(&place, Level::Landlock, Omit::default());
    let ran = line(&sandbox, &place, "python3 others.py");
    assert!(ran.succeeded() && ran.text().is_empty(), "{ran:?}");
    assert!(!ran.finished.refused.is_empty(), "{ran:?}");
    for call in &ran.finished.refused {
        assert_ne!(call.name(), "unknown");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

fn own_process() {
    let place = Place::new();
    for level in [Level::Namespaces, Level::Landlock] {
        let sandbox = only(&place, level, Omit::default());
        let ran = line(
            &sandbox,
            &place,
            "set -e; ulimit -n 100; ulimit -n; nice -n 5 nice; ionice -c 3 true; taskset 1 true; \
             python3 -c 'import os; os.sched_setaffinity(0, os.sched_getaffinity(0)); os.setpriority(os.PRIO_PGRP, 0, 7); print(os.getpriority(0, 0))'",
        );
        assert_eq!(ran.stdout, "100\n5\n7\n", "{level:?}: {ran:?}");
    }
}
