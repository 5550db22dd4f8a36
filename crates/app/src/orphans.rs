//! What a run that was killed left running: ended by the next start.
//!
//! Commands end with the program that ran them, because the kernel tells their sandbox. A
//! supervisor that cannot be told, for it is stopped or hangs, is found by the number and
//! the beginning that the run put down while it went on: a process that only has the same
//! number is another one and left alone.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use toolgate_journal::process::{Process, boot, namespace};

use crate::options::AppOptions;

/// What ends is gone within this many short waits, or does not end.
const WAITS: u32 = 200;
const WAIT: Duration = Duration::from_millis(5);

/// So many times is looked for who was started while others were ended.
const ROUNDS: u32 = 5;
/// Of more processes than this the first are known.
const MOST: usize = 1_000;
/// How often is looked whether a run has started something else. What takes less time ends by itself.
const LOOK: Duration = Duration::from_millis(500);

/// Ends a process for good, unless it has ended. Whether it was there.
fn kill(process: Process) -> bool {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // The handle stays with the process that has the number now; only then it is looked at.
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    process.lives() && pidfd_send_signal(&handle, Signal::KILL).is_ok()
}

/// What a run puts down.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    /// The start of the machine, and what its process numbers are good for.
    boot: String,
    namespace: String,
    run: Process,
    started: Vec<Process>,
}

impl Run {
    /// This process and those below it.
    fn this() -> Option<Self> {
        let run = Process::of(std::process::id())?;
        Some(Self {
            boot: boot()?,
            namespace: namespace()?,
            run,
            started: below(children(run)),
        })
    }

    /// Ends what it started, and what that has started since. How many were there.
    fn end(&self) -> usize {
        let mut ended = 0;
        // A supervisor that is about to end what it watches does that better.
        self.wait();
        // A process that starts others while it is ended is met the next time.
        for _ in 0..ROUNDS {
            let living = self.started.iter().copied().filter(|one| one.lives());
            let killed = below(living.collect())
                .iter()
                .filter(|one| kill(**one))
                .count();
            if killed == 0 {
                break;
            }
            ended += killed;
            self.wait();
        }
        ended
    }

    fn wait(&self) {
        for _ in 0..WAITS {
            if !self.started.iter().any(|one| one.lives()) {
                break;
            }
            std::thread::sleep(WAIT);
        }
    }

    /// Puts it down, whole or not at all.
    fn write(&self, path: &Path) -> std::io::Result<()> {
        let half = path.with_extension("half");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&half)?.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(half, path)
    }
}

/// These and all below them, so many at most.
fn below(mut these: Vec<Process>) -> Vec<Process> {
    let mut next = 0;
    while let Some(process) = these.get(next).copied().filter(|_| next < MOST) {
        for child in children(process) {
            if !these.contains(&child) {
                these.push(child);
            }
        }
        next += 1;
    }
    these
}

fn children(of: Process) -> Vec<Process> {
    let threads = fs::read_dir(format!("/proc/{}/task", of.pid));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let numbers = children.split_ascii_whitespace();
        found.extend(numbers.filter_map(|pid| Process::of(pid.parse().ok()?)));
    }
    found
}

/// A run that is put down until it ends.
#[derive(Debug)]
pub(crate) struct Noted {
    path: PathBuf,
    over: Option<Sender<Work>>,
    looks: Option<JoinHandle<()>>,
}

/// Whether something runs that may start processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Begins,
    Ends,
    /// The run is over.
    Over,
}

/// Work of a run, until this is dropped: what it starts is looked for.
#[derive(Debug)]
pub(crate) struct Busy(Sender<Work>);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.send(Work::Ends);
    }
}

impl Noted {
    /// Looks for what is started until the returned value is dropped, and once more then. A run
    /// without work takes no time.
    pub(crate) fn busy(&self) -> Option<Busy> {
        let to = self.over.clone()?;
        to.send(Work::Begins).ok()?;
        Some(Busy(to))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(over) = self.over.take() {
            // Work that has not ended holds nobody up.
            let _ = over.send(Work::Over);
        }
        if let Some(looks) = self.looks.take() {
            let _ = looks.join();
        }
        // One that stays speaks of a process that has ended, and is removed then.
        let _ = fs::remove_file(&self.path);
    }
}

/// Puts this process down, with what it starts, until the end. Without a place to put it a
/// run goes on all the same: this is the second net.
pub(crate) fn note(directory: &Path) -> Option<Noted> {
    let mut run = Run::this()?;
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory).ok()?;
    let path = directory.join(named(run.run));
    run.write(&path).ok()?;
    let (over, until) = channel();
    let place = path.clone();
    let look = move || {
        let mut works = 0_usize;
        loop {
            let word = match works {
                0 => until.recv().map_err(|_| RecvTimeoutError::Disconnected),
                _ => until.recv_timeout(LOOK),
            };
            match word {
                Ok(Work::Begins) => works += 1,
                Ok(Work::Ends) => works = works.saturating_sub(1),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Work::Over) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Run::this().filter(|now| *now != run);
            if let Some(now) = now.filter(|now| now.write(&place).is_ok()) {
                run = now;
            }
        }
    };
    let thread = std::thread::Builder::new().name("toolgate-started".to_owned());
    Some(Noted {
        path,
        over: Some(over),
        looks: thread.spawn(look).ok(),
    })
}

/// The file of a run.
fn named(run: Process) -> String {
    format!("{}-{}.json", run.pid, run.began)
}

/// The run that a file belongs to, also one that was not written to its end.
fn named_by(path: &Path) -> Option<Process> {
    let (pid, began) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(Process {
        pid: pid.parse().ok()?,
        began: began.parse().ok()?,
    })
}

/// Ends what dead runs left, and says how many processes that were.
pub(crate) fn end(directory: &Path, options: &AppOptions) {
    let left = end_all(directory);
    if left > 0 {
        let noun = if left == 1 { "process" } else { "processes" };
        options.notice(format!("ended {left} {noun} that a killed run had left"));
    }
}

/// Ends what dead runs left. How many processes that were.
fn end_all(directory: &Path) -> usize {
    let (Some(boot), Some(namespace)) = (boot(), namespace()) else {
        return 0;
    };
    let mut ended = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let read = fs::read(&path).ok();
        let run = read.and_then(|bytes| serde_json::from_slice::<Run>(&bytes).ok());
        let Some(run) = run else {
            // Half written by a run that starts now, or that was killed then.
            if named_by(&path).is_some_and(|run| !run.lives()) {
                let _ = fs::remove_file(&path);
            }
            continue;
        };
        let here = run.boot == boot && run.namespace == namespace;
        if run.boot == boot && (!here || run.run.lives()) {
            continue;
        }
        if here {
            ended += run.end();
        }
        let _ = fs::remove_file(&path);
    }
    ended
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    fn put(directory: &Path, name: &str, run: &Run) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, serde_json::to_vec(run).unwrap()).unwrap();
        path
    }

    #[test]
    fn only_what_a_dead_run_started_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let mut children: Vec<Child> = (0..4).map(|_| sleeper()).collect();
        let processes: Vec<Process> = children
            .iter()
            .map(|child| Process::of(child.id()).unwrap())
            .collect();
        let [left, reused, held, elsewhere] = processes[..] else {
            unreachable!()
        };
        let me = Run::this().unwrap();
        let dead = Process { began: 1, ..me.run };
        let run = |run, started| Run {
            boot: me.boot.clone(),
            namespace: me.namespace.clone(),
            run,
            started,
        };
        let other = Process {
            began: reused.began + 1,
            ..reused
        };
        let gone = put(directory.path(), "dead.json", &run(dead, vec![left, other]));
        let kept = put(directory.path(), "alive.json", &run(me.run, vec![held]));
        let boot = Run {
            boot: "another".to_owned(),
            ..run(dead, vec![elsewhere])
        };
        let boot = put(directory.path(), "boot.json", &boot);
        let half = |run: Process| {
            let path = directory.path().join(named(run)).with_extension("half");
            fs::write(&path, "{\"boot").unwrap();
            path
        };
        let (half, being_written) = (half(dead), half(me.run));
        assert_eq!(end_all(directory.path()), 1);
        assert!(!left.lives() && reused.lives() && held.lives() && elsewhere.lives());
        assert!(!gone.exists() && kept.exists() && !boot.exists());
        assert!(!half.exists() && being_written.exists());
        assert_eq!(end_all(directory.path()), 0);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_run_is_put_down_with_what_it_starts_and_forgotten_when_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("runs");
        let noted = note(&place).unwrap();
        let _busy = noted.busy().unwrap();
        // Started later, and below another one.
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & wait"])
            .spawn()
            .unwrap();
        let shell_process = Process::of(shell.id()).unwrap();
        let mut below = Vec::new();
        let mut seen = Vec::new();
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while below.is_empty() || !below.iter().all(|one| seen.contains(one)) {
            assert!(std::time::Instant::now() < deadline, "{below:?} {seen:?}");
            below = children(shell_process);
            let run: Run = serde_json::from_slice(&fs::read(&noted.path).unwrap()).unwrap();
            assert!(run.run.lives());
            seen = run.started;
            std::thread::yield_now();
        }
        assert!(seen.contains(&shell_process));
        assert_eq!(end_all(&place), 0, "the run goes on");
        drop(noted);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        assert!(below.iter().all(|one| kill(*one)));
        shell.wait().unwrap();
    }
}
