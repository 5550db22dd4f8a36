//! A test runner for programs that have to own `main`, and a place to run commands in.
//!
//! Every trial runs as the user who started the tests and, if that is root, once more as
//! an ordinary user, in a process of its own.
#![allow(dead_code, unreachable_pub, clippy::print_stdout)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use toolgate_sandbox::command::{
    CommandSandbox, CommandSpec, Deadlines, Finished, Level, Omit, Outcome, SandboxRules, Stream,
};
use toolgate_sandbox::paths::{RootAccess, RootRule};
use toolgate_sandbox::{PathRules, PathSandbox};

/// A name that reads like a sentence, and its proof.
pub type Trial = (&'static str, fn());

/// The marker by which the program knows that it is the ordinary user's run.
pub const AS_USER: &str = "--as-user";
/// The ordinary user's number.
const NOBODY: u32 = 65534;

/// Runs the trials; to be called from `main` after `init`.
pub fn run(trials: &[Trial]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in trials {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let as_user = arguments.iter().any(|argument| argument == AS_USER);
    let mut filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let filter = filters.next().cloned().unwrap_or_default();
    let who = if is_root() { "root" } else { "user" };
    let mut failed = 0;
    for (name, trial) in trials.iter().filter(|(name, _)| name.contains(&filter)) {
        let begun = Instant::now();
        let passed = catch_unwind(AssertUnwindSafe(trial)).is_ok();
        let verdict = if passed { "ok" } else { "FAILED" };
        println!(
            "{who}: {name} … {verdict} ({} ms)",
            begun.elapsed().as_millis()
        );
        failed += usize::from(!passed);
    }
    if is_root() && !as_user {
        let exe = std::env::current_exe().expect("own program");
        let status = Command::new(exe)
            .arg(AS_USER)
            .arg(&filter)
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .status()
            .expect("run as an ordinary user");
        failed += usize::from(!status.success());
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        println!("{who}: {failed} failed");
        ExitCode::FAILURE
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory with `ws`, the only root, and `out`, outside.
pub struct Place {
    pub directory: TempDir,
    pub ws: PathBuf,
    pub out: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        Self::in_directory("/tmp")
    }

    pub fn in_directory(directory: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("sandbox-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir_in(directory)
            .expect("a place");
        let ws = directory.path().join("ws");
        let out = directory.path().join("out");
        std::fs::create_dir(&ws).expect("ws");
        std::fs::create_dir(&out).expect("out");
        Self { directory, ws, out }
    }

    pub fn rules(&self) -> SandboxRules {
        let paths = PathSandbox::open(&PathRules::new(&self.ws)).expect("paths");
        let mut rules = SandboxRules::new(paths);
        // So that a check after a command sees its remains.
        rules.linger = Duration::ZERO;
        rules
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("directories");
        std::fs::write(path, text).expect("write");
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(path)).expect("read")
    }

    pub fn exists(&self, path: &str) -> bool {
        self.directory.path().join(path).symlink_metadata().is_ok()
    }

    /// Prepares with a shell script, outside of any sandbox.
    pub fn setup(&self, script: &str) {
        let status = Command::new("bash")
            .args(["-ec", script])
            .current_dir(self.directory.path())
            .env("WS", &self.ws)
            .env("OUT", &self.out)
            .status()
            .expect("bash");
        assert!(status.success(), "setup failed: {script}");
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub finished: Finished,
    pub took: Duration,
}

impl Ran {
    pub fn succeeded(&self) -> bool {
        self.finished.outcome == Outcome::Exited(0)
    }

    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// The variables every command gets here.
pub fn plain_env() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    vec![(
        "PATH".into(),
        "/usr/local/bin:/usr/bin:/bin:/usr/sbin".into(),
    )]
}

pub fn spec(line: &str, cwd: &Path) -> CommandSpec {
    let mut spec = CommandSpec::line(line, cwd);
    spec.env = plain_env();
    spec
}

pub fn run_spec(sandbox: &CommandSandbox, spec: CommandSpec, deadlines: Deadlines) -> Ran {
    let begun = Instant::now();
    let running = sandbox.run(spec).expect("started");
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let finished = running.drive(deadlines, None, |stream, bytes| match stream {
        Stream::Stdout => stdout.extend_from_slice(bytes),
        Stream::Stderr => stderr.extend_from_slice(bytes),
    });
    Ran {
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        finished,
        took: begun.elapsed(),
    }
}

/// Runs a line in the workspace, with a deadline that no correct line needs.
pub fn line(sandbox: &CommandSandbox, place: &Place, line: &str) -> Ran {
    let deadlines = Deadlines {
        total: Some(Duration::from_secs(60)),
        idle: None,
    };
    run_spec(sandbox, spec(line, &place.ws), deadlines)
}

pub fn sandbox(rules: &SandboxRules) -> CommandSandbox {
    CommandSandbox::start(rules).expect("a sandbox")
}

pub fn only(place: &Place, level: Level, omit: Omit) -> CommandSandbox {
    let mut rules = place.rules();
    rules.highest = level;
    rules.lowest = level;
    rules.omit = omit;
    let sandbox = sandbox(&rules);
    assert_eq!(sandbox.level(), level);
    sandbox
}

pub const ALL: Omit = Omit {
    landlock: true,
    seccomp: true,
};

pub fn refused(sandbox: &CommandSandbox, place: &Place, lines: &[&str]) {
    for text in lines {
        let ran = line(sandbox, place, text);
        assert!(
            matches!(ran.finished.outcome, Outcome::Exited(code) if code != 0),
            "got through: {text}: {ran:?}"
        );
        assert!(
            !ran.text().contains("command not found"),
            "cannot run: {text}"
        );
    }
}

pub fn own_program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    command
}

pub fn with_roots(roots: &[(&std::path::Path, RootAccess)]) -> SandboxRules {
    let mut rules = PathRules::new("/");
    rules.roots = roots
        .iter()
        .map(|(path, access)| RootRule {
            path: path.to_path_buf(),
            access: *access,
        })
        .collect();
    SandboxRules::new(PathSandbox::open(&rules).unwrap())
}

pub fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(&place.ws).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
