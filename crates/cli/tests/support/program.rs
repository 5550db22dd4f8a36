//! The program in a workspace and a home of its own.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// Waits for something that happens in another process.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}

/// A workspace, a home and the program.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["ws", "home"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("ws")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.workspace().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace().join(name)).unwrap()
    }

    pub(crate) fn home(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join("home").join(name), text).unwrap();
    }

    /// Where Toolgate keeps its own files.
    pub(crate) fn home_directory(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// The names in the workspace.
    pub(crate) fn listing(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.workspace()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// A command in the workspace with a clean environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm")
            .env("TOOLGATE_HOME", self.directory.path().join("home"));
        command
    }

    pub(crate) fn toolgate(&self) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_toolgate")))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.feed(args, b"")
    }

    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Done {
        let mut command = self.toolgate();
        command.args(args);
        finish(command, input)
    }
}

/// Runs a command to its end with this input.
pub(crate) fn finish(mut command: Command, input: &[u8]) -> Done {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Done {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

/// Runs a command at a terminal of its own to its end. Each line is typed when the program
/// has asked for one; an empty one is not typed.
pub(crate) fn answer<'a>(mut command: Command, lines: impl IntoIterator<Item = &'a str>) -> Done {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let (mut stdin, mut stdout) = (child.stdin.take(), child.stdout.take().unwrap());
    let mut lines = lines.into_iter().peekable();
    let (mut shown, mut answered, mut piece) = (Vec::new(), 0, [0; 4096]);
    loop {
        let count = stdout.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..count]);
        let asked = String::from_utf8_lossy(&shown).matches(" > ").count();
        while answered < asked {
            answered += 1;
            if let (Some(keys), Some(line)) = (&mut stdin, lines.next()) {
                keys.write_all(line.as_bytes()).unwrap();
            }
            if lines.peek().is_none() {
                // The person goes away.
                stdin = None;
            }
        }
    }
    Done {
        stdout: String::from_utf8_lossy(&shown).into_owned(),
        stderr: String::new(),
        code: child.wait().unwrap().code(),
    }
}

/// Runs a command at a terminal of its own to its end. The line is typed so long after this text
/// was shown.
pub(crate) fn answer_late(mut command: Command, after: &str, pause: Duration, line: &str) -> Done {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let (mut stdin, mut stdout) = (child.stdin.take(), child.stdout.take().unwrap());
    let (mut shown, mut piece, mut typist) = (Vec::new(), [0; 4096], None);
    loop {
        let count = stdout.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..count]);
        if String::from_utf8_lossy(&shown).contains(after)
            && let Some(mut keys) = stdin.take()
        {
            let line = line.to_owned();
            typist = Some(std::thread::spawn(move || {
                // A reader takes this long; there is no event to wait for.
                std::thread::sleep(pause);
                keys.write_all(line.as_bytes()).unwrap();
                keys
            }));
        }
    }
    drop(typist.map(std::thread::JoinHandle::join));
    Done {
        stdout: String::from_utf8_lossy(&shown).into_owned(),
        stderr: String::new(),
        code: child.wait().unwrap().code(),
    }
}

/// A process, told from others that get its number later by when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    began: String,
}

impl Process {
    fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X");
        let began = fields.nth(18)?.to_owned();
        (!ended).then_some(Self { pid, began })
    }

    /// Whether it has not ended.
    pub(crate) fn lives(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }

    /// What a process has started, and those in turn, the nearest first.
    pub(crate) fn started_by(pid: u32) -> Vec<Self> {
        let (mut found, mut next): (Vec<Self>, _) = (Vec::new(), 0);
        let mut parent = i32::try_from(pid).unwrap();
        loop {
            let threads = std::fs::read_dir(format!("/proc/{parent}/task"));
            for thread in threads.into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(thread.path().join("children"));
                for child in children.unwrap_or_default().split_whitespace() {
                    found.extend(Self::of(child.parse().unwrap()));
                }
            }
            let Some(process) = found.get(next) else {
                return found;
            };
            (parent, next) = (process.pid, next + 1);
        }
    }
}
