//! What the wall costs: `true` through it, against a plain shell and against bubblewrap.
//!
//! One line of JSON per figure. The medians of interleaved runs, so that whatever else
//! the machine does hits both sides.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolgate_sandbox::command::{self, CommandSpec, CommandWall, Deadlines, Outcome, WallRules};
use toolgate_sandbox::{PathRules, PathWall};

/// Enough memory for `fork` to feel it.
const BALLAST: usize = 512 << 20;

fn main() {
    command::init();
    let rounds = if std::env::args().any(|argument| argument == "--test") {
        3
    } else {
        300
    };
    let folder = tempfile::tempdir().expect("a folder");
    let ws = folder.path().join("ws");
    std::fs::create_dir(&ws).expect("a workspace");
    let paths = PathWall::open(&PathRules::new(&ws)).expect("paths");
    let wall = CommandWall::start(&WallRules::new(paths)).expect("a wall");

    let walled = || {
        let mut spec = CommandSpec::line("true", &ws);
        spec.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let running = wall.run(spec).expect("started");
        let finished = running.drive(Deadlines::default(), None, |_, _| {});
        assert_eq!(finished.outcome, Outcome::Exited(0));
    };
    let plain = || {
        let output = Command::new("/bin/bash")
            .args(["--noprofile", "--norc", "-c", "true"])
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        assert!(output.status.success());
    };
    let (small, shell) = compare("command_true_vs_plain_shell", rounds, &walled, &plain);

    let bwrap = || {
        let output = Command::new("bwrap")
            .args([
                "--unshare-user",
                "--unshare-pid",
                "--unshare-ipc",
                "--unshare-net",
                "--die-with-parent",
                "--ro-bind",
                "/usr",
                "/usr",
                "--ro-bind",
                "/etc",
                "/etc",
                "--symlink",
                "usr/bin",
                "/bin",
                "--symlink",
                "usr/lib",
                "/lib",
                "--symlink",
                "usr/lib64",
                "/lib64",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--tmpfs",
                "/tmp",
                "--bind",
            ])
            .args([&ws, &ws])
            .args(["/bin/bash", "--noprofile", "--norc", "-c", "true"])
            .stdin(Stdio::null())
            .output()
            .expect("bwrap");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    if Command::new("bwrap").arg("--version").output().is_ok() {
        compare("command_true_vs_bwrap", rounds, &walled, &bwrap);
    } else {
        eprintln!("bwrap is not installed: no comparison with it");
    }

    let ballast = vec![1_u8; BALLAST];
    std::hint::black_box(&ballast);
    let (large, _) = compare(
        "command_true_vs_plain_shell_512mib",
        rounds,
        &walled,
        &plain,
    );
    drop(ballast);
    report("command_true_512mib_vs_small_parent", large, small);
    std::hint::black_box(shell);
}

/// Medians of both, and their ratio as a line.
fn compare(name: &str, rounds: usize, ours: &dyn Fn(), theirs: &dyn Fn()) -> (Duration, Duration) {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        times.0.push(time(ours));
        times.1.push(time(theirs));
    }
    let medians = (median(times.0), median(times.1));
    report(name, medians.0, medians.1);
    medians
}

fn report(name: &str, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let (ours, theirs) = (ours.as_nanos(), theirs.as_nanos());
    println!(r#"{{"name":"{name}","ours_ns":{ours},"theirs_ns":{theirs},"ratio":{ratio:.3}}}"#);
}

fn time(work: &dyn Fn()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
