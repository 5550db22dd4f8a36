//! `toolgate resume`: what a crash left open gets its one result, and nothing runs twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use program::{Bench, Process};
use serde_json::{Value, json};

const TALK: &str = "talk";

/// The calls of the batch: one that is done, one that runs until it is killed, one that waits.
fn calls() -> String {
    let command = "echo begun >> log.txt; sleep 600; echo ended >> log.txt";
    let calls = [
        json!({"id": "done", "name": "write_file", "args": {"path": "done.txt", "content": "x\n"}}),
        json!({"id": "runs", "name": "run_command", "args": {"command": command}}),
        json!({"id": "waits", "name": "write_file", "args": {"path": "waits.txt", "content": "x\n"}}),
    ];
    calls.map(|call| format!("{call}\n")).concat()
}

/// Waits until something is so; the machine may be busy.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}

fn start(bench: &Bench) -> Child {
    let mut command = bench.toolgate();
    command.args(["--approve", "all", "batch", "--conversation", TALK]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(calls().as_bytes())
        .unwrap();
    let log = bench.workspace().join("log.txt");
    until("the command runs", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text == "begun\n")
    });
    child
}

/// Kills a batch in the middle of its second call.
fn killed() -> Bench {
    let bench = Bench::new();
    let mut child = start(&bench);
    child.kill().unwrap();
    child.wait().unwrap();
    bench
}

/// Every entry of the conversation of a kind, by call.
fn entries(bench: &Bench, kind: &str) -> BTreeMap<String, Vec<Value>> {
    let shown = bench.run(&["--json", "journal", "show", TALK, "--kind", kind]);
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in shown.stdout.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let call = line["call"].as_str().unwrap().to_owned();
        found.entry(call).or_default().push(line);
    }
    found
}

fn sound(bench: &Bench) {
    let sound = bench.run(&["--json", "journal", "verify"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
}

fn exactly_one_end_each(bench: &Bench) {
    let finished = entries(bench, "finished");
    let count = |call: &str| finished.get(call).map_or(0, Vec::len);
    assert_eq!(
        [count("done"), count("runs"), count("waits")],
        [1, 1, 1],
        "{finished:?}"
    );
}

fn resume(bench: &Bench, choice: &str) -> Value {
    let done = bench.run(&["--json", "resume", TALK, choice]);
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn it_jrn_02_a_crash_during_execution_leaves_the_outcome_unknown_and_nothing_runs_twice() {
    let bench = killed();
    let report = resume(&bench, "--keep");
    let classes: Vec<_> = report["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            (
                call["call_id"].clone(),
                call["class"].clone(),
                call["result"]["error"]["kind"].clone(),
            )
        })
        .collect();
    assert_eq!(
        classes,
        [
            (
                json!("runs"),
                json!("outcome_unknown"),
                json!("interrupted")
            ),
            (json!("waits"), json!("not_started"), json!("interrupted")),
        ],
        "{report}"
    );
    assert!(
        report["calls"][0]["result"]["content"]
            .as_str()
            .unwrap()
            .contains("not known"),
        "{report}"
    );
    exactly_one_end_each(&bench);
    sound(&bench);
    // A second time there is nothing left to settle.
    assert_eq!(resume(&bench, "--keep")["calls"], json!([]));
    exactly_one_end_each(&bench);
    // The conversation goes on, and what was cut off has not been run again.
    let next = bench.run(&[
        "exec",
        "--conversation",
        TALK,
        "read_file",
        r#"{"path":"log.txt"}"#,
    ]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert_eq!(bench.read("log.txt"), "begun\n");
    assert!(!bench.workspace().join("waits.txt").exists());
    assert_eq!(bench.read("done.txt"), "x\n");
    assert_eq!(
        entries(&bench, "started").get("runs").map(Vec::len),
        Some(1)
    );
}

#[test]
fn discarded_calls_say_that_the_person_gave_them_up() {
    let bench = killed();
    let report = resume(&bench, "--discard");
    assert_eq!(report["choice"], "discard");
    let kinds = |at: usize| report["calls"][at]["result"]["error"]["kind"].clone();
    assert_eq!(
        (kinds(0), kinds(1)),
        (json!("interrupted"), json!("interrupted")),
        "{report}"
    );
    for call in report["calls"].as_array().unwrap() {
        assert_eq!(call["result"]["metadata"]["resumed"], "discard", "{call}");
        assert!(
            call["result"]["content"]
                .as_str()
                .unwrap()
                .contains("discarded"),
            "{call}"
        );
    }
    exactly_one_end_each(&bench);
    sound(&bench);
    assert!(!bench.workspace().join("waits.txt").exists());
}

#[test]
fn the_command_of_a_killed_run_has_ended_with_it() {
    let bench = Bench::new();
    let mut child = start(&bench);
    let started = Process::started_by(child.id());
    assert!(
        started.len() >= 3,
        "warden, first process, shell: {started:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    until("nobody is left", || {
        !started.iter().any(|process| process.lives())
    });
    let done = bench.run(&["resume", TALK, "--keep"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("outcome unknown"), "{done:?}");
    assert!(done.stderr.contains("have ended"), "{done:?}");
}

#[test]
fn without_a_word_and_without_a_terminal_nothing_is_settled() {
    let bench = killed();
    let asked = bench.run(&["resume", TALK]);
    assert_eq!(asked.code, Some(4), "{asked:?}");
    assert!(
        asked.stderr.contains("--keep") && asked.stderr.contains("outcome unknown"),
        "{asked:?}"
    );
    assert_eq!(entries(&bench, "finished").len(), 1);
    let both = bench.run(&["resume", TALK, "--keep", "--discard"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    let unknown = bench.run(&["resume", "other", "--keep"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}

#[test]
fn a_conversation_that_somebody_works_on_is_left_alone() {
    let bench = Bench::new();
    // Where the project has a file of its own, the running command's sandbox needs no directory in
    // its place, and others can read the configuration meanwhile.
    bench.write("toolgate.toml", "");
    let mut child = start(&bench);
    for command in ["resume", "undo"] {
        let last = if command == "resume" {
            "--keep"
        } else {
            "--yes"
        };
        let refused = bench.run(&[command, TALK, last]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let who = format!("process {}", child.id());
        assert!(refused.stderr.contains(&who), "{refused:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        resume(&bench, "--keep")["calls"].as_array().unwrap().len(),
        2
    );
    sound(&bench);
}

/// A batch of three writes that is killed at the n-th call of a kind; nothing if it came to its end.
fn killed_at(bench: &Bench, step: &str, nth: u32) -> Option<String> {
    let mut command = bench.command(std::path::Path::new("strace"));
    let trace = format!("trace={step}");
    let inject = format!("inject={step}:signal=SIGKILL:when={nth}");
    command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
    command.arg(env!("CARGO_BIN_EXE_toolgate"));
    command.args(["--approve", "all", "batch", "--conversation", TALK]);
    let write =
        |id: &str| json!({"id": id, "name": "write_file", "args": {"path": id, "content": id}});
    let input = ["a", "b", "c"].map(|id| format!("{}\n", write(id)));
    let done = program::finish(command, input.concat().as_bytes());
    (done.code != Some(0)).then_some(done.stdout)
}

#[test]
fn it_jrn_01_what_was_acknowledged_before_a_crash_is_on_record() {
    let (mut kills, mut cut_off) = (0, 0);
    // Which thread comes to the n-th of its writes first is different every time.
    for (step, stride) in [("fsync", 1), ("pwrite64", 25), ("linkat", 1)].repeat(2) {
        for nth in (1..200).step_by(stride) {
            let bench = Bench::new();
            bench.write("other", "x");
            // Another conversation makes the journal's file: kills meet the batch, not that.
            let first = bench.run(&["exec", "read_file", r#"{"path":"other"}"#]);
            assert_eq!(first.code, Some(0), "{first:?}");
            let Some(told) = killed_at(&bench, step, nth) else {
                break;
            };
            kills += 1;
            let at = format!("{step} {nth}");
            sound(&bench);
            let (started, finished) = (entries(&bench, "started"), entries(&bench, "finished"));
            for line in told.lines() {
                let result: Value = serde_json::from_str(line).unwrap();
                let id = result["call_id"].as_str().unwrap();
                assert!(
                    finished.contains_key(id),
                    "{at}: {id} was told and is not on record"
                );
            }
            for id in ["a", "b", "c"] {
                // No effect without a record of its beginning.
                let happened = bench.workspace().join(id).exists();
                assert!(
                    !happened || started.contains_key(id),
                    "{at}: {id} is off the record"
                );
            }
            let received = entries(&bench, "received").len();
            cut_off += u32::from(finished.len() < received);
            let resumed = bench.run(&["resume", TALK, "--keep"]);
            if received > 0 {
                assert_eq!(resumed.code, Some(0), "{at}: {resumed:?}");
            }
            let finished = entries(&bench, "finished");
            assert_eq!(finished.len(), received, "{at}");
            assert!(
                finished.values().all(|ends| ends.len() == 1),
                "{at}: {finished:?}"
            );
            sound(&bench);
        }
    }
    assert!(
        kills >= 15 && cut_off >= 8,
        "{kills} kills, {cut_off} of them in the middle"
    );
}
