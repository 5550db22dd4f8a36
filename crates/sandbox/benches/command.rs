//! The cost of the sandbox: `true` in it, against a plain shell and against bubblewrap;
//! from a large parent, over large workspaces; and the memory that a flood of output takes.
//!
//! One line of JSON per figure. Times are medians of interleaved runs, so that other load
//! on the machine affects both sides. Before each one is a pause in which the warden
//! prepares the next sandbox, except where the name says that there is none.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolgate_sandbox::command::{
    self, CommandSandbox, CommandSpec, Deadlines, Outcome, SandboxRules,
};
use toolgate_sandbox::{PathRules, PathSandbox};

/// The same for both sides: without them a shell looks for them, which takes longer.
const ENV: [(&str, &str); 5] = [
    ("PATH", "/usr/bin:/bin"),
    ("SHELL", "/bin/bash"),
    ("HOME", "/run/home"),
    ("TMPDIR", "/tmp"),
    ("PWD", "/"),
];
/// Enough memory for `fork` to feel it.
const BALLAST: usize = 512 << 20;
/// Enough time to prepare a sandbox, also on a machine that has other things to do.
const PAUSE: Duration = Duration::from_millis(50);
/// After this, placeholders are gone and have to be made again.
const REST: Duration = Duration::from_millis(1300);
/// After this, the cache of a directory is valid.
const SETTLED: Duration = Duration::from_millis(2200);

fn main() {
    command::init();
    let quick = std::env::args().any(|argument| argument == "--test");
    let (rounds, few) = if quick { (3, 2) } else { (200, 20) };
    // First, while the process is small: its peak never goes down again.
    flood(if quick { 1 << 20 } else { 10 << 30 });

    let workspace = Workspace::new(0);
    let sandboxed = || workspace.run_true();
    let plain = || {
        let output = Command::new("/bin/bash")
            .args(["--noprofile", "--norc", "-c", "true"])
            .env_clear()
            .envs(ENV)
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        assert!(output.status.success());
    };
    let small = compare(
        "command_true_vs_plain_shell",
        rounds,
        PAUSE,
        &sandboxed,
        &plain,
    );
    compare(
        "command_true_vs_plain_shell_without_pause",
        rounds,
        Duration::ZERO,
        &sandboxed,
        &plain,
    );
    compare(
        "command_true_vs_plain_shell_after_rest",
        few,
        REST,
        &sandboxed,
        &plain,
    );

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
            .args([&workspace.path, &workspace.path])
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
        compare("command_true_vs_bwrap", rounds, PAUSE, &sandboxed, &bwrap);
    } else {
        eprintln!("bwrap is not installed: no comparison with it");
    }

    let ballast = vec![1_u8; BALLAST];
    std::hint::black_box(&ballast);
    let large = compare(
        "command_true_vs_plain_shell_512mib",
        rounds,
        PAUSE,
        &sandboxed,
        &plain,
    );
    drop(ballast);
    report("command_true_512mib_vs_small_parent", large, small);

    for files in if quick { [100, 200] } else { [10_000, 100_000] } {
        let many = Workspace::new(files);
        let first = time(&|| many.run_true());
        report(
            &format!("command_true_first_in_{files}_files"),
            first,
            small,
        );
        std::thread::sleep(SETTLED);
        many.run_true();
        compare(
            &format!("command_true_in_{files}_files"),
            few,
            PAUSE,
            &|| many.run_true(),
            &sandboxed,
        );
    }
}

/// A root with so many files in it, a hundred to a directory, and its sandbox.
struct Workspace {
    path: PathBuf,
    sandbox: CommandSandbox,
    _directory: tempfile::TempDir,
}

impl Workspace {
    fn new(files: usize) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ws");
        std::fs::create_dir(&path).expect("a workspace");
        for number in 0..files {
            let place = path.join(format!("{}/{}", number / 1000, number / 100));
            if number % 100 == 0 {
                std::fs::create_dir_all(&place).expect("a directory");
            }
            std::fs::write(place.join(format!("{number}.rs")), "").expect("a file");
        }
        let mut rules =
            SandboxRules::new(PathSandbox::open(&PathRules::new(&path)).expect("paths"));
        rules.scan_entries = 1_000_000;
        Self {
            path,
            sandbox: CommandSandbox::start(&rules).expect("a sandbox"),
            _directory: directory,
        }
    }

    fn spec(&self, line: &str) -> CommandSpec {
        let mut spec = CommandSpec::line(line, &self.path);
        spec.env = ENV
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
        spec
    }

    fn run_true(&self) {
        let running = self.sandbox.run(self.spec("true")).expect("started");
        let finished = running.drive(Deadlines::default(), None, |_, _| {});
        assert_eq!(finished.outcome, Outcome::Exited(0));
        assert_eq!(finished.settled.missed, None);
    }
}

/// A command that writes so many bytes, all of them taken and thrown away.
fn flood(bytes: u64) {
    let workspace = Workspace::new(0);
    let before = peak_kib();
    let begun = Instant::now();
    let line = format!("head -c {bytes} /dev/zero");
    let running = workspace
        .sandbox
        .run(workspace.spec(&line))
        .expect("started");
    let mut taken = 0_u64;
    let finished = running.drive(Deadlines::default(), None, |_, chunk| {
        taken += u64::try_from(chunk.len()).unwrap_or_default();
    });
    let ns = begun.elapsed().as_nanos();
    assert_eq!((finished.outcome, taken), (Outcome::Exited(0), bytes));
    let (growth, peak) = (peak_kib().saturating_sub(before), peak_kib());
    println!(
        r#"{{"name":"command_flood","ours_ns":{ns},"total_bytes":{taken},"peak_growth_kib":{growth},"peak_kib":{peak}}}"#
    );
}

/// The most memory this process ever had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a peak")
}

/// Medians of both, their ratio as a line, and ours.
fn compare(
    name: &str,
    rounds: usize,
    pause: Duration,
    ours: &dyn Fn(),
    theirs: &dyn Fn(),
) -> Duration {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::sleep(pause);
        times.0.push(time(ours));
        std::thread::sleep(pause.min(PAUSE));
        times.1.push(time(theirs));
    }
    let (ours, theirs) = (median(times.0), median(times.1));
    report(name, ours, theirs);
    ours
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
