//! The program in a workspace and a home of its own.

#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// A workspace, a home and the program.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ws", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.workspace().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace().join(name)).unwrap()
    }

    pub(crate) fn home(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("home").join(name), text).unwrap();
    }

    /// Where Toolgate keeps its own files.
    pub(crate) fn home_folder(&self) -> PathBuf {
        self.folder.path().join("home")
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
            .env("TOOLGATE_HOME", self.folder.path().join("home"));
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
