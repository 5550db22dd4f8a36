//! The program is killed at every step of a change of files; the next start mends it.
//!
//! `strace` sends the signal at the n-th system call of a kind, so that every step is met
//! for certain and nothing of the program is built for the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;

use program::{Bench, finish};
use serde_json::{Value, json};

/// The calls by which files and the record change.
const STEPS: [&str; 11] = [
    "renameat2",
    "renameat",
    "rename",
    "linkat",
    "unlinkat",
    "unlink",
    "fsync",
    "fdatasync",
    "pwrite64",
    "write",
    "ftruncate",
];

const FILES: [(&str, &str, &str); 3] = [
    ("a.txt", "one\ntwo\n", "one\nTWO\n"),
    ("sub/b.txt", "x\n", "y\n"),
    ("c.txt", "gone\n", "come\n"),
];

fn patch() -> String {
    let mut text = "LP1\n".to_owned();
    for (name, old, new) in FILES {
        let (old, new) = (old.lines().last().unwrap(), new.lines().last().unwrap());
        text.push_str(&format!("F {name}\nR\n{old}\n.\n{new}\n.\n"));
    }
    text.push_str("F new.txt\nT\nfresh\n.\nEND\n");
    text
}

fn prepared() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace().join("sub")).unwrap();
    for (name, old, _) in FILES {
        bench.write(name, old);
    }
    bench
}

/// What the files are: all old, all new, or a mixture of whole ones.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Old,
    New,
    Mixed,
}

fn state(bench: &Bench) -> State {
    let mut states = Vec::new();
    for (name, old, new) in FILES {
        let text = bench.read(name);
        assert!(
            text == old || text == new,
            "{name} is half written: {text:?}"
        );
        states.push(text == new);
    }
    let fresh = std::fs::read_to_string(bench.workspace().join("new.txt"));
    if let Ok(text) = &fresh {
        assert_eq!(text, "fresh");
    }
    states.push(fresh.is_ok());
    match (states.iter().all(|new| *new), states.iter().any(|new| *new)) {
        (true, _) => State::New,
        (_, false) => State::Old,
        _ => State::Mixed,
    }
}

/// No file is in the workspace but those that belong there.
fn nothing_left_behind(bench: &Bench) {
    let mut names = bench.listing();
    names.retain(|name| !["a.txt", "c.txt", "sub", "new.txt"].contains(&name.as_str()));
    assert!(names.is_empty(), "{names:?}");
    let inner = std::fs::read_dir(bench.workspace().join("sub"))
        .unwrap()
        .count();
    assert_eq!(inner, 1);
}

/// Kills the program at the n-th call of this kind. Whether it was killed.
fn killed_at(bench: &Bench, step: &str, nth: u32) -> bool {
    let mut command = bench.command(Path::new("strace"));
    let trace = format!("trace={step}");
    let inject = format!("inject={step}:signal=SIGKILL:when={nth}");
    command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
    command.arg(env!("CARGO_BIN_EXE_toolgate"));
    command.args(["--approve", "all", "exec", "apply_patch", "-"]);
    let args = json!({"patch": patch()}).to_string();
    let done = finish(command, args.as_bytes());
    match done.code {
        Some(0) => {
            let result: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!(result["status"], "ok", "{result}");
            false
        }
        // A result that was printed before the end counts as said.
        _ => true,
    }
}

#[test]
fn every_file_is_old_or_new_at_every_kill_and_they_agree_after_the_next_start() {
    let (mut kills, mut mixed) = (0, 0);
    for step in STEPS {
        for nth in 1..60 {
            let bench = prepared();
            if !killed_at(&bench, step, nth) {
                assert_eq!(state(&bench), State::New);
                nothing_left_behind(&bench);
                break;
            }
            kills += 1;
            mixed += u32::from(state(&bench) == State::Mixed);
            let next = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
            assert_eq!(next.code, Some(0), "{step} {nth}: {next:?}");
            assert_ne!(state(&bench), State::Mixed, "{step} {nth}: {next:?}");
            nothing_left_behind(&bench);
            let sound = bench.run(&["--json", "journal", "verify"]);
            assert_eq!(sound.code, Some(0), "{step} {nth}: {sound:?}");
        }
    }
    assert!(kills >= 20, "only {kills} kills");
    assert!(mixed >= 2, "only {mixed} kills met a change in the middle");
}

/// A change that was cut off in the middle, and a configuration that may not look at it.
fn half_made() -> (Bench, String) {
    let bench = prepared();
    let met = (1..10).find(|nth| {
        let killed = killed_at(&bench, "renameat2", *nth);
        assert!(killed, "no kill met the middle");
        state(&bench) == State::Mixed
    });
    assert!(met.is_some());
    let narrow = bench.workspace().with_file_name("narrow.toml");
    let text = "[tools.sandbox]\ndenied_patterns = [\"sub/**\", \"c.txt\"]\n";
    std::fs::write(&narrow, text).unwrap();
    (bench, narrow.to_str().unwrap().to_owned())
}

#[test]
fn a_start_that_may_not_look_at_a_file_leaves_the_change_for_the_next_one() {
    let (bench, narrow) = half_made();
    let read = ["exec", "read_file", r#"{"path":"a.txt"}"#];
    for _ in 0..2 {
        let next = bench.run(&[&["--config", &narrow], &read[..]].concat());
        assert_eq!(next.code, Some(0), "{next:?}");
        let told = &next.stderr;
        assert!(told.contains("the next start tries again"), "{told}");
        assert!(!told.contains("has changed since"), "{told}");
        assert_eq!(state(&bench), State::Mixed);
    }
    let next = bench.run(&read);
    assert!(next.stderr.contains("were completed"), "{next:?}");
    assert_eq!(state(&bench), State::New);
    nothing_left_behind(&bench);
    assert_eq!(bench.run(&["journal", "verify"]).code, Some(0));
}

#[test]
fn a_person_can_give_up_a_change_that_cannot_be_looked_at() {
    let (bench, narrow) = half_made();
    let listed = bench.run(&["--json", "journal", "list"]);
    let mut all = listed.stdout.lines().map(|line| {
        let listed: Value = serde_json::from_str(line).unwrap();
        listed["conversation"].as_str().unwrap().to_owned()
    });
    let last = all.next_back().unwrap();
    let resume = ["--config", &narrow, "resume", &last, "--keep"];
    let given_up = bench.run(&resume);
    assert_eq!(given_up.code, Some(0), "{given_up:?}");
    let words = "could not be looked at or mended";
    assert!(given_up.stdout.contains(words), "{given_up:?}");
    let next = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
    assert_eq!((next.code, next.stderr.as_str()), (Some(0), ""));
    assert_eq!(state(&bench), State::Mixed);
    assert_eq!(bench.run(&["journal", "verify"]).code, Some(0));
}
