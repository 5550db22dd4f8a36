//! One warden serves all sandboxes of a process, and keeps a few of their sandboxes prepared.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod trial;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use toolgate_sandbox::command::{
    self, CommandSandbox, Deadlines, Level, Outcome, Running, SandboxError,
};

use trial::{Place, Trial, line, sandbox, spec};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("two workspaces share a warden and no files", shared),
    (
        "a thread with fewer rights gets its own warden",
        fewer_rights,
    ),
    (
        "dropping one sandbox leaves the commands of another",
        dropped_other,
    ),
    ("a killed warden is replaced", killed),
    (
        "overlapping commands prepare up to four sandboxes",
        overlapping,
    ),
    (
        "each workspace keeps its own prepared sandbox",
        prepared_for_each,
    ),
];

/// Parents of all processes.
fn parents() -> BTreeMap<u32, u32> {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    parents
}

fn children(of: u32) -> Vec<u32> {
    let parents = parents();
    let all = parents.iter().filter(|(_, parent)| **parent == of);
    all.map(|(pid, _)| *pid).collect()
}

fn wardens() -> Vec<u32> {
    children(std::process::id())
}

/// The first processes of all sandboxes, with and without a command.
fn inits() -> Vec<u32> {
    let templates = wardens().into_iter().flat_map(children);
    let inits = templates.flat_map(children);
    inits.filter(|init| !children(*init).is_empty()).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

/// Starts a command and waits until it runs.
fn start(sandbox: &CommandSandbox, place: &Place) -> Running {
    let line = "echo started; exec sleep 1000";
    let running = sandbox.run(spec(line, &place.ws)).unwrap();
    let mut buffer = [0; 64];
    wait_until("the command starts", || {
        rustix::io::read(running.stdout(), &mut buffer).is_ok_and(|read| read > 0)
    });
    running
}

fn shared() {
    for level in [Level::Namespaces, Level::Landlock] {
        let places = [Place::new(), Place::new()];
        let sandboxes = places.each_ref().map(|place| {
            let mut rules = place.rules();
            (rules.highest, rules.lowest) = (level, level);
            place.write("ws/own", "own");
            sandbox(&rules)
        });
        assert_eq!(wardens().len(), 1);
        let holding = start(&sandboxes[0], &places[0]);
        for (nth, other) in [(0, 1), (1, 0)] {
            let (place, sandbox) = (&places[nth], &sandboxes[nth]);
            assert_eq!(line(sandbox, place, "cat own").stdout, "own");
            let theirs = places[other].ws.display();
            for try_it in [
                format!("cat {theirs}/own"),
                format!("echo x > {theirs}/planted"),
                "for fd in /proc/self/fd/*; do [ -d $fd/. ] && ls $fd/own; done 2>/dev/null | grep own".to_owned(),
            ] {
                let ran = line(sandbox, place, &try_it);
                assert!(!ran.succeeded(), "{level:?}: {try_it}: {ran:?}");
            }
            assert!(!places[other].exists("ws/planted"));
        }
        drop(holding);
    }
}

fn fewer_rights() {
    let places = [Place::new(), Place::new()];
    let first = sandbox(&places[0].rules());
    let rules = places[1].rules();
    let second = std::thread::spawn(move || {
        rustix::thread::set_no_new_privs(true).unwrap();
        sandbox(&rules)
    });
    let second = second.join().unwrap();
    assert_eq!(wardens().len(), 2);
    assert!(line(&first, &places[0], "true").succeeded());
    assert!(line(&second, &places[1], "true").succeeded());
    drop(second);
    wait_until("the second warden ends", || wardens().len() == 1);
    assert!(line(&first, &places[0], "true").succeeded());
}

fn dropped_other() {
    let places = [Place::new(), Place::new()];
    let [first, second] = places.each_ref().map(|place| sandbox(&place.rules()));
    let mut kept = start(&first, &places[0]);
    let ended = start(&second, &places[1]);
    drop(second);
    drop(ended);
    assert_eq!(kept.try_wait(), None);
    assert!(line(&first, &places[0], "true").succeeded());
    drop(first);
    assert_eq!(kept.try_wait(), None, "a command keeps its warden");
    drop(kept);
    wait_until("the warden ends", || wardens().is_empty());
}

fn killed() {
    for level in [Level::Namespaces, Level::Landlock] {
        let places = [Place::new(), Place::new()];
        let [first, second] = places.each_ref().map(|place| {
            let mut rules = place.rules();
            (rules.highest, rules.lowest) = (level, level);
            sandbox(&rules)
        });
        let running = start(&first, &places[0]);
        let warden = wardens();
        let [old] = warden.as_slice() else {
            panic!("{warden:?}")
        };
        let pid = Pid::from_raw(i32::try_from(*old).unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
        let finished = running.drive(Deadlines::default(), None, |_, _| {});
        assert_eq!(finished.outcome, Outcome::Killed);
        for (sandbox, place) in [(&first, &places[0]), (&second, &places[1])] {
            // An order that was sent before the end was known fails, and the next one works.
            let again = match sandbox.run(spec("true", &place.ws)) {
                Err(SandboxError::System(_)) => sandbox.run(spec("true", &place.ws)),
                other => other,
            };
            let finished = again.unwrap().drive(Deadlines::default(), None, |_, _| {});
            assert_eq!(finished.outcome, Outcome::Exited(0), "{level:?}");
        }
        let new = wardens();
        assert!(new.len() == 1 && new != [*old], "{new:?}");
    }
}

/// Whether a sandbox runs the command of [`start`].
fn has_command(init: u32) -> bool {
    let lines = children(init).into_iter().map(|shell| {
        let line = std::fs::read(format!("/proc/{shell}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).into_owned()
    });
    lines.into_iter().any(|line| line.contains("sleep"))
}

fn overlapping() {
    let place = Place::new();
    let mut rules = place.rules();
    // Placeholders that stay fit the prepared sandboxes.
    rules.linger = Duration::from_secs(3600);
    let sandbox = sandbox(&rules);
    for _ in 0..2 {
        let running: Vec<Running> = (0..7).map(|_| start(&sandbox, &place)).collect();
        let ready = || inits().len().saturating_sub(running.len());
        wait_until("four sandboxes are prepared", || ready() == 4);
        drop(running);
        wait_until("the commands are taken down", || inits().len() == 4);
    }
    let prepared = inits();
    let running = [start(&sandbox, &place), start(&sandbox, &place)];
    let used = prepared.iter().filter(|init| has_command(**init));
    assert_eq!(used.count(), 2, "both had a sandbox waiting");
    drop(running);
}

fn prepared_for_each() {
    let places = [Place::new(), Place::new()];
    let sandboxes = places.each_ref().map(|place| sandbox(&place.rules()));
    for (sandbox, place) in sandboxes.iter().zip(&places) {
        assert!(line(sandbox, place, "true").succeeded());
    }
    wait_until("one is prepared for each", || inits().len() == 2);
    let prepared = inits();
    let running = start(&sandboxes[0], &places[0]);
    let used = prepared.iter().find(|init| has_command(**init));
    assert!(used.is_some(), "the first workspace uses its own");
    drop(running);
}
