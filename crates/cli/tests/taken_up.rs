//! `toolgate run --conversation`: a turn that was really cut off is decided about before it
//! goes on, on a terminal by an answer, elsewhere by a command that is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;
use std::process::{Child, Stdio};

use program::{Bench, Done, Process, answer, finish, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const FIRST: &str = r#"
[[steps]]
text = "I begin."
[[steps.calls]]
id = "done"
name = "write_file"
args = { path = "done.txt", content = "x" }
[[steps.calls]]
id = "runs"
name = "run_command"
args = { command = "echo begun >> log.txt; sleep 600; echo ended >> log.txt" }
[[steps.calls]]
id = "waits"
name = "write_file"
args = { path = "waits.txt", content = "x" }
"#;

const SECOND: &str = r#"
[[steps]]
text = "I look."
[[steps.calls]]
id = "look"
name = "read_file"
args = { path = "log.txt" }
[[steps]]
text = "Gone on."
"#;

/// A turn in the middle of its second call.
fn running() -> (Bench, Child) {
    running_with("")
}

fn running_with(settings: &str) -> (Bench, Child) {
    let bench = Bench::new();
    bench.home("config.toml", settings);
    // Where the project has a file of its own, the sandbox needs no directory in its place.
    bench.write("toolgate.toml", "");
    bench.home("first.toml", FIRST);
    bench.home("second.toml", SECOND);
    let mut command = bench.toolgate();
    command.args(["run", "--approve", "all", "--script"]);
    command.arg(bench.home_directory().join("first.toml"));
    let child = command
        .arg("go")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = bench.workspace().join("log.txt");
    until("the command runs", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text == "begun\n")
    });
    (bench, child)
}

fn cut_off() -> Bench {
    let (bench, mut child) = running();
    child.kill().unwrap();
    child.wait().unwrap();
    bench
}

fn listed(bench: &Bench) -> Vec<Value> {
    let listed = bench.run(&["--json", "journal", "list"]);
    let lines = listed.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn conversation(bench: &Bench) -> String {
    let all = listed(bench);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]["conversation"].as_str().unwrap().to_owned()
}

/// The results on record, by call, each with what resuming put there.
fn results(bench: &Bench, id: &str) -> Vec<(String, Value, Value)> {
    let shown = bench.run(&["--json", "journal", "show", id, "--kind", "finished"]);
    let lines = shown.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found: Vec<_> = lines
        .map(|line| {
            let result = &line["body"]["result"];
            let meta = &result["metadata"];
            (
                line["call"].as_str().unwrap().to_owned(),
                meta["resumed"].clone(),
                meta["class"].clone(),
            )
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The status and the content of each call, as an export tells it.
fn exported(bench: &Bench, id: &str) -> Vec<(String, String)> {
    let page = bench.run(&["journal", "export", id, "--format", "json"]);
    let page: Value = serde_json::from_str(&page.stdout).unwrap();
    let messages = page["messages"].as_array().unwrap().iter();
    let told = messages.filter(|message| message["role"] == "tool");
    told.map(|message| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let result = &message["tool_result"];
        (text(&result["status"]), text(&result["content"]))
    })
    .collect()
}

fn go_on(bench: &Bench, id: &str) -> Done {
    let script = bench.home_directory().join("second.toml");
    let script = script.to_str().unwrap();
    bench.run(&["run", "--conversation", id, "--script", script, "go on"])
}

/// Goes on at a terminal of its own, at which this is typed.
fn typing(bench: &Bench, id: &str, typed: &str) -> Done {
    let line = format!(
        "{} --quiet run --conversation {id} --script {} 'go on' < /dev/null",
        env!("CARGO_BIN_EXE_toolgate"),
        bench.home_directory().join("second.toml").display()
    );
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    answer(command, typed.split_inclusive('\n'))
}

fn nothing_ran_again(bench: &Bench) {
    assert_eq!(bench.read("log.txt"), "begun\n");
    assert!(!bench.workspace().join("waits.txt").exists());
    assert_eq!(bench.read("done.txt"), "x");
    let sound = bench.run(&["journal", "verify"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
}

#[test]
fn it_jrn_02_the_person_at_a_terminal_is_asked_what_becomes_of_calls_that_were_cut_off() {
    for (typed, choice) in [("what\nkeep\n", "keep"), ("\nd\n", "discard")] {
        let bench = cut_off();
        let id = conversation(&bench);
        let done = typing(&bench, &id, typed);
        assert_eq!(done.code, Some(0), "{typed:?}: {done:?}");
        // The calls stand in their order, each with what is known of it.
        let mut rest = done.stdout.as_str();
        for (call, class) in [
            ("done", "finished"),
            ("runs", "outcome unknown"),
            ("waits", "not started"),
        ] {
            let line = rest.lines().position(|line| {
                let mut words = line.split_whitespace();
                words.next() == Some(call) && line.contains(class)
            });
            let line = line.unwrap_or_else(|| panic!("{call} {class}: {done:?}"));
            rest = rest.splitn(line + 2, '\n').last().unwrap();
        }
        assert!(done.stdout.contains("Gone on."), "{done:?}");
        let told = |class: &str| (json!(choice), json!(class));
        let (unknown, waiting) = (told("outcome_unknown"), told("not_started"));
        assert_eq!(
            results(&bench, &id),
            [
                ("done".to_owned(), Value::Null, Value::Null),
                ("look".to_owned(), Value::Null, Value::Null),
                ("runs".to_owned(), unknown.0, unknown.1),
                ("waits".to_owned(), waiting.0, waiting.1),
            ]
        );
        // What is on record stays; what is told of a discarded batch is that all of it failed.
        let told = exported(&bench, &id);
        let done = if choice == "keep" { "ok" } else { "error" };
        let statuses: Vec<&str> = told.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(statuses, [done, "error", "error", "ok"], "{told:?}");
        let discarded = told
            .iter()
            .filter(|(_, text)| text.contains("discarded this batch"));
        assert_eq!(discarded.count(), if choice == "keep" { 0 } else { 3 });
        nothing_ran_again(&bench);
    }
}

#[test]
fn a_person_who_goes_away_has_decided_nothing() {
    let bench = cut_off();
    let id = conversation(&bench);
    // The end of what is typed, as a terminal says it.
    let done = typing(&bench, &id, "\u{4}");
    assert_eq!(done.code, Some(4), "{done:?}");
    assert_eq!(results(&bench, &id).len(), 1);
    nothing_ran_again(&bench);
}

#[test]
fn it_jrn_02_without_a_terminal_the_commands_are_told_and_typing_them_is_enough() {
    for choice in ["--keep", "--discard"] {
        let bench = cut_off();
        let id = conversation(&bench);
        let refused = go_on(&bench, &id);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        for part in ["finished", "outcome unknown", "not started"] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
        assert_eq!(results(&bench, &id).len(), 1, "nothing is settled");
        let told = refused.stderr.lines().map(str::trim);
        let mut told = told.filter(|line| line.starts_with("toolgate resume"));
        let line = told.find(|line| line.contains(choice)).unwrap();
        let end = line.find(choice).unwrap() + choice.len();
        let line: String = line.chars().take(end).collect();
        let program = Path::new(env!("CARGO_BIN_EXE_toolgate")).parent().unwrap();
        let mut command = bench.command(Path::new("sh"));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", program.display()));
        command.args(["-c", &line]);
        let resumed = finish(command, b"");
        assert_eq!(resumed.code, Some(0), "{line}: {resumed:?}");
        let done = go_on(&bench, &id);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Gone on.\n"),
            "{done:?}"
        );
        nothing_ran_again(&bench);
    }
}

/// Ends processes that a failed test would leave.
struct Ends(Vec<Process>);

impl Drop for Ends {
    fn drop(&mut self) {
        for process in self.0.iter().filter(|process| process.lives()) {
            let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
        }
    }
}

#[test]
fn what_a_killed_run_left_running_is_ended_by_the_next_start() {
    // Without namespaces a supervisor ends what a command started, and it can be stopped.
    let settings = "[tools.sandbox]\ncommand_sandbox = 'off'\n";
    let (bench, mut child) = running_with(settings);
    let started = Process::started_by(child.id());
    let _at_last = Ends(started.clone());
    let left = || started.iter().filter(|process| process.lives()).count();
    let below = |process: &&Process| !Process::started_by(process.pid.unsigned_abs()).is_empty();
    let watchers: Vec<&Process> = started.iter().filter(below).collect();
    let runs = bench.home_directory().join("runs");
    until("all of them are put down", || {
        let mut files = std::fs::read_dir(&runs).unwrap().flatten();
        let text = files.find_map(|file| std::fs::read_to_string(file.path()).ok());
        let put_down = |process: &&Process| {
            let pid = format!("\"pid\":{},", process.pid);
            text.as_ref().is_some_and(|text| text.contains(&pid))
        };
        let mut living = started.iter().filter(|process| process.lives());
        living.all(|process| put_down(&process))
    });
    for process in &watchers {
        kill_process(Pid::from_raw(process.pid).unwrap(), Signal::STOP).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(left() > 0, "nothing is left to end: {started:?}");
    let id = conversation(&bench);
    let refused = go_on(&bench, &id);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("that a killed run had left"),
        "{refused:?}"
    );
    until("nobody is left", || left() == 0);
    nothing_ran_again(&bench);
    assert_eq!(std::fs::read_dir(runs).unwrap().count(), 0);
}

#[test]
fn a_conversation_that_somebody_works_on_is_not_taken_up() {
    let (bench, mut child) = running();
    let id = conversation(&bench);
    let refused = go_on(&bench, &id);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let who = format!("process {}", child.id());
    assert!(refused.stderr.contains(&who), "{refused:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(go_on(&bench, &id).code, Some(4));
}

#[test]
fn a_mistake_leaves_no_empty_conversation() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    bench.write("results", "{\"call_id\":\"c\",\"content\":\"x\"}\n");
    for args in [
        &["run", "--script", "s.toml", "--conversation", "nope", "x"][..],
        &["run", "--script", "s.toml", " "],
        &[
            "run",
            "--script",
            "s.toml",
            "--conversation",
            "nope",
            "--results",
            "results",
        ],
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert_eq!(listed(&bench), Vec::<Value>::new(), "{args:?}");
    }
}

#[test]
fn a_record_of_a_newer_toolgate_is_left_alone_and_stops_tools_not_the_conversation() {
    let bench = Bench::new();
    bench.write("s.toml", &format!("{FIRST}[[steps]]\ntext = \"I stop.\"\n"));
    bench.write("a.txt", "x");
    let made = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let journal = bench.home_directory().join("journal.db");
    let mut bytes = std::fs::read(&journal).unwrap();
    // Where SQLite keeps the number that a program gives to its tables.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&journal, &bytes).unwrap();
    for (more, code, said) in [(&[][..], 0, "I stop.\n"), (&["--conversation", "x"], 1, "")] {
        let mut args = vec!["run", "--approve", "all", "--script", "s.toml"];
        args.extend(more);
        args.push("go");
        let done = bench.run(&args);
        assert_eq!((done.code, &*done.stdout), (Some(code), said), "{done:?}");
        assert!(
            done.stderr.contains("written by a newer toolgate")
                && done.stderr.contains("schema 99"),
            "{done:?}"
        );
        assert_eq!(std::fs::read(&journal).unwrap(), bytes);
        for never in ["done.txt", "log.txt", "waits.txt"] {
            assert!(!bench.workspace().join(never).exists(), "{never}");
        }
    }
}

#[test]
fn a_record_whose_making_is_cut_off_is_there_whole_or_not_at_all() {
    let mut kills = 0;
    for (step, most, stride) in [
        ("fsync", 20, 1),
        ("linkat", 20, 1),
        ("pwrite64", 60, 6),
        ("ftruncate", 20, 1),
    ] {
        for nth in (1..most).step_by(stride) {
            let bench = Bench::new();
            bench.write("a.txt", "x");
            let mut command = bench.command(Path::new("strace"));
            let trace = format!("trace={step}");
            let inject = format!("inject={step}:signal=SIGKILL:when={nth}");
            command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.arg(env!("CARGO_BIN_EXE_toolgate"));
            command.args(["exec", "read_file", r#"{"path":"a.txt"}"#]);
            if finish(command, b"").code == Some(0) {
                break;
            }
            kills += 1;
            let at = format!("{step} {nth}");
            let verified = bench.run(&["journal", "verify"]);
            let missing = verified.stderr.contains("there is no journal");
            assert!(verified.code == Some(0) || missing, "{at}: {verified:?}");
            let next = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
            assert_eq!(next.code, Some(0), "{at}: {next:?}");
            let verified = bench.run(&["journal", "verify"]);
            assert_eq!(verified.code, Some(0), "{at}: {verified:?}");
            let names: Vec<_> = std::fs::read_dir(bench.home_directory())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| !name.starts_with("journal.db"))
                .collect();
            let known = ["outputs", "grants.toml"];
            let strange = names.iter().any(|name| !known.contains(&name.as_str()));
            assert!(!strange, "{at}: {names:?}");
        }
    }
    assert!(kills >= 6, "only {kills} kills");
}

#[test]
fn an_empty_file_in_the_records_place_is_completed_by_the_next_command_that_writes() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.write("a.txt", "x");
    bench.home("journal.db", "");
    let journal = bench.home_directory().join("journal.db");
    std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(0o600)).unwrap();
    let looked = bench.run(&["journal", "list"]);
    assert_eq!(looked.code, Some(1), "{looked:?}");
    assert!(looked.stderr.contains("cut off"), "{looked:?}");
    let next = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert_eq!(bench.run(&["journal", "verify"]).code, Some(0));
}
