//! Another process of this program, from the outside.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What the environment of a part holds: its name, the journal, and further words.
pub(crate) const PART: &str = "TOOLGATE_TEST_PART";
pub(crate) const JOURNAL: &str = "TOOLGATE_TEST_JOURNAL";
pub(crate) const WORDS: &str = "TOOLGATE_TEST_WORDS";

/// A running part. It is killed when it is dropped.
pub(crate) struct Part {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: Option<ChildStdin>,
}

/// A command that runs a part of this program.
pub(crate) fn command(part: &str, journal: &Path, words: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    prepare(&mut command, part, journal, words);
    command
}

/// Makes a command run a part, whatever its program is.
pub(crate) fn prepare(command: &mut Command, part: &str, journal: &Path, words: &str) {
    command
        .args(["parts::this_process_plays_its_part", "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env(PART, part)
        .env(JOURNAL, journal)
        .env(WORDS, words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
}

impl Part {
    pub(crate) fn start(part: &str, journal: &Path, words: &str) -> Self {
        Self::run(command(part, journal, words))
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take();
        Self {
            child,
            lines,
            stdin,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next thing the part says; nothing when it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            if let Some(said) = line.strip_prefix('@') {
                return Some(said.to_owned());
            }
        }
    }

    /// Kills it, and hands over what it had said before it died.
    pub(crate) fn kill(&mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Lets it end by itself, and hands over what it said.
    pub(crate) fn end(&mut self) -> Vec<String> {
        drop(self.stdin.take());
        let said = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "{said:?}");
        said
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
