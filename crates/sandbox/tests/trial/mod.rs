//! A test runner for programs that have to own `main`, and a place to run commands in.
//!
//! Every trial runs as whoever started the tests and, where that is root, once more as
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
    CommandSpec, CommandWall, Deadlines, Finished, Omit, Outcome, Rung, Stream, WallRules,
};
use toolgate_sandbox::paths::{RootAccess, RootRule};
use toolgate_sandbox::{PathRules, PathWall};

/// A name that reads like a sentence, and its proof.
pub type Trial = (&'static str, fn());

/// The marker by which the program knows that it is the ordinary user's run.
const AS_USER: &str = "--as-user";
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

/// A folder with `ws`, the only root, and `out`, outside.
pub struct Place {
    pub folder: TempDir,
    pub ws: PathBuf,
    pub out: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        Self::in_folder("/tmp")
    }

    pub fn in_folder(folder: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("wall-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir_in(folder)
            .expect("a place");
        let ws = folder.path().join("ws");
        let out = folder.path().join("out");
        std::fs::create_dir(&ws).expect("ws");
        std::fs::create_dir(&out).expect("out");
        Self { folder, ws, out }
    }

    pub fn rules(&self) -> WallRules {
        let paths = PathWall::open(&PathRules::new(&self.ws)).expect("paths");
        let mut rules = WallRules::new(paths);
        // So that a look after a command sees what is left of it.
        rules.linger = Duration::ZERO;
        rules
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folders");
        std::fs::write(path, text).expect("write");
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).expect("read")
    }

    pub fn exists(&self, path: &str) -> bool {
        self.folder.path().join(path).symlink_metadata().is_ok()
    }

    /// Prepares with a shell script, outside of any wall.
    pub fn setup(&self, script: &str) {
        let status = Command::new("bash")
            .args(["-ec", script])
            .current_dir(self.folder.path())
            .env("WS", &self.ws)
            .env("OUT", &self.out)
            .status()
            .expect("bash");
        assert!(status.success(), "setup failed: {script}");
    }
}

/// What a command did.
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

pub fn run_spec(wall: &CommandWall, spec: CommandSpec, deadlines: Deadlines) -> Ran {
    let begun = Instant::now();
    let running = wall.run(spec).expect("started");
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

/// Runs a line in the workspace, with a deadline that no honest line needs.
pub fn line(wall: &CommandWall, place: &Place, line: &str) -> Ran {
    let deadlines = Deadlines {
        total: Some(Duration::from_secs(60)),
        idle: None,
    };
    run_spec(wall, spec(line, &place.ws), deadlines)
}

pub fn wall(rules: &WallRules) -> CommandWall {
    CommandWall::start(rules).expect("a wall")
}

pub fn only(place: &Place, rung: Rung, omit: Omit) -> CommandWall {
    let mut rules = place.rules();
    rules.highest = rung;
    rules.lowest = rung;
    rules.omit = omit;
    let wall = wall(&rules);
    assert_eq!(wall.rung(), rung);
    wall
}

pub const ALL: Omit = Omit {
    landlock: true,
    seccomp: true,
};

pub fn refused(wall: &CommandWall, place: &Place, lines: &[&str]) {
    for text in lines {
        let ran = line(wall, place, text);
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

pub fn with_roots(roots: &[(&std::path::Path, RootAccess)]) -> WallRules {
    let mut rules = PathRules::new("/");
    rules.roots = roots
        .iter()
        .map(|(path, access)| RootRule {
            path: path.to_path_buf(),
            access: *access,
        })
        .collect();
    WallRules::new(PathWall::open(&rules).unwrap())
}

pub fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(&place.ws).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
