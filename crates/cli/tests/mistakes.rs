//! Bad input of every kind: a clear message, the right exit code, never a backtrace.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use program::{Bench, Done, answer, finish};

fn clean(done: &Done) {
    for word in ["panicked", "backtrace", "internal error", "RUST_BACKTRACE"] {
        assert!(!done.stderr.contains(word), "{done:?}");
        assert!(!done.stdout.contains(word), "{done:?}");
    }
}

#[test]
fn wrong_usage_ends_with_two_and_says_what_is_known() {
    let bench = Bench::new();
    for (args, part) in [
        (&["frobnicate"][..], "unrecognized subcommand"),
        (&["exec"], "required"),
        (&["exec", "read_file"], "required"),
        (
            &["--trust", "absolute", "exec", "read_file", "{}"],
            "supervised, guided and autonomous",
        ),
        (&["--approve", "maybe", "demo"], "possible values"),
        (
            &["--workspace", "/nonexistent", "exec", "read_file", "{}"],
            "workspace /nonexistent",
        ),
        (
            &["--config", "missing.toml", "config", "show"],
            "missing.toml",
        ),
        (&["batch", "missing.jsonl"], "missing.jsonl"),
        (&["policy", "grants", "revoke", "g1"], "g1"),
        (&["parse", "--format", "xml"], "possible values"),
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.stderr.contains(part), "{args:?}: {done:?}");
        clean(&done);
    }
}

#[test]
fn a_configuration_that_is_wrong_is_shown_with_its_place() {
    for (text, parts) in [
        ("[tools\n", &["config.toml:1", "^"][..]),
        (
            "[tools]\nmdoe = 1\n",
            &["config.toml:2:1", "did you mean `mode`"],
        ),
        (
            "[tools]\nmode = \"fast\"\n",
            &["config.toml:2:8", "disabled"],
        ),
        (
            "[tools.approval]\nallowlist = 3\n",
            &["config.toml:2", "allowlist"],
        ),
        (
            "[[tools.rules]]\ntool = \"*\"\naction = \"maybe\"\n",
            &["config.toml:3", "allow"],
        ),
        (
            "[[tools.rules]]\ntool = \"x\"\naction = \"deny\"\nwhen = [{ param = \"p\", operator = \"matches\", value = \"(\" }]\n",
            &["config.toml:", "("],
        ),
        (
            "[tools.timeouts]\ndefault_seconds = 0\n",
            &["config.toml:2", "default_seconds"],
        ),
    ] {
        let bench = Bench::new();
        bench.home("config.toml", text);
        let done = bench.run(&["exec", "read_file", "{}"]);
        assert_eq!(done.code, Some(2), "{text}: {done:?}");
        for part in parts {
            assert!(
                done.stderr.contains(part),
                "{text}: {part}: {}",
                done.stderr
            );
        }
        assert_eq!(done.stdout, "", "nothing was run");
        clean(&done);
    }
    let bench = Bench::new();
    // An empty directory is what the command sandbox leaves there while a command runs.
    let directory = bench.workspace().join("toolgate.toml");
    std::fs::create_dir(&directory).unwrap();
    bench.write("a.txt", "hello\n");
    let vacant = bench.run(&["exec", "read_file", r#"{"path":"a.txt"}"#]);
    assert_eq!(vacant.code, Some(0), "{vacant:?}");
    std::fs::write(directory.join("x"), "").unwrap();
    let done = bench.run(&["exec", "read_file", "{}"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("is a directory"), "{done:?}");
}

#[test]
fn huge_input_is_refused_without_being_kept() {
    let bench = Bench::new();
    let done = bench.feed(&["exec", "read_file", "-"], &vec![b' '; 40_000_000]);
    assert_eq!(done.code, Some(3));
    assert!(done.stdout.contains("limit_exceeded"), "{done:?}");
    let done = bench.feed(&["batch"], &vec![b'x'; 70_000_000]);
    assert_eq!(done.code, Some(2), "{done:?}");
    clean(&done);
}

#[test]
fn a_reader_that_goes_away_and_a_full_disk_are_no_reason_to_panic() {
    let bench = Bench::new();
    bench.write("a.txt", "hello\n");
    let mut command = bench.toolgate();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command
        .args(["exec", "read_file", r#"{"path":"a.txt"}"#])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"));
    let mut child = bench
        .toolgate()
        .args(["config", "schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let mut closed = bench.command(Path::new("bash"));
    closed
        .args([
            "-c",
            "exec \"$0\" exec read_file '{\"path\":\"a.txt\"}' >&- 2>&-",
        ])
        .arg(env!("CARGO_BIN_EXE_toolgate"));
    assert_eq!(finish(closed, b"").code, Some(0));
}

#[test]
fn ctrl_c_ends_a_call_with_a_result_and_130() {
    let bench = Bench::new();
    // One command of the demo waits for a second; the interrupt comes when it has started.
    let mut child = bench
        .toolgate()
        .args(["--json", "demo"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = String::new();
    let mut chunk = [0; 4096];
    while seen.matches("call_started").count() < 4 {
        let count = stdout.read(&mut chunk).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    stdout.read_to_string(&mut seen).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(seen.contains("\"cancelled\""), "{seen}");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn ctrl_c_while_input_is_awaited_ends_at_once() {
    let bench = Bench::new();
    // Whoever runs the tests in the background may have them ignore interrupts.
    let mut child = bench
        .command(Path::new("env"))
        .arg("--default-signal=INT")
        .arg(env!("CARGO_BIN_EXE_toolgate"))
        .args(["exec", "read_file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Before it is the program itself, an interrupt may still be ignored.
    let name = format!("/proc/{}/comm", child.id());
    while std::fs::read_to_string(&name).unwrap() != "toolgate\n" {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(2), "{status:?}");
}

#[test]
fn the_person_is_asked_on_the_terminal_and_never_on_standard_input() {
    // `script` gives the program a terminal of its own; what it gets as input is what a person types.
    for (typed, code, there) in [
        ("y\n", 0, true),
        ("n use b\n", 3, false),
        ("what\nyes\n", 0, true),
        ("\ny\n", 0, true),
    ] {
        let bench = Bench::new();
        let line = format!(
            "{} exec write_file '{{\"path\":\"n\",\"content\":\"x\"}}' < /dev/null",
            env!("CARGO_BIN_EXE_toolgate")
        );
        let mut command = bench.command(Path::new("script"));
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        let done = answer(command, typed.split_inclusive('\n'));
        assert_eq!(done.code, Some(code), "{typed:?}: {done:?}");
        assert!(
            done.stdout.contains("Toolgate asks") && done.stdout.contains("Write n"),
            "{done:?}"
        );
        assert_eq!(
            bench.listing().contains(&"n".to_owned()),
            there,
            "{typed:?}"
        );
        if code == 3 {
            assert!(
                done.stdout.contains("the person said no: use b"),
                "{done:?}"
            );
        }
    }
}

#[test]
fn a_yes_for_the_project_is_remembered_listed_and_taken_back() {
    let bench = Bench::new();
    let line = format!(
        "{} exec write_file '{{\"path\":\"n\",\"content\":\"x\"}}'",
        env!("CARGO_BIN_EXE_toolgate")
    );
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let done = answer(command, ["p\n"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let again = [
        "exec",
        "write_file",
        r#"{"path":"n","content":"y","overwrite":true}"#,
    ];
    assert_eq!(
        bench.run(&again).code,
        Some(0),
        "nobody is there and nobody needs to be"
    );
    assert_eq!(
        bench
            .run(&["exec", "write_file", r#"{"path":"m","content":"y"}"#])
            .code,
        Some(4),
        "it was for one path"
    );
    let listed = bench.run(&["policy", "grants"]).stdout;
    let id = listed.split_whitespace().next().unwrap();
    assert!(listed.contains("write_file: write \"n\""), "{listed}");
    assert_eq!(bench.run(&["policy", "grants", "revoke", id]).code, Some(0));
    assert_eq!(bench.run(&again).code, Some(4));
}

#[test]
fn a_rule_about_a_tool_that_is_not_there_is_told_before_anything_runs() {
    let bench = Bench::new();
    bench.write("a.txt", "x");
    bench.home(
        "config.toml",
        "[tools.approval]\ndenylist = [\"run_comand\", \"bash\"]\n[[tools.rules]]\ntool = \"reed_file\"\naction = \"ask\"\n",
    );
    for args in [
        &["exec", "read_file", r#"{"path":"a.txt"}"#][..],
        &["policy", "explain", "read_file", r#"{"path":"a.txt"}"#],
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(0), "{done:?}");
        for (name, near) in [("run_comand", "run_command"), ("reed_file", "read_file")] {
            let told = format!("no tool is called `{name}`; `{near}` is the nearest name");
            assert!(done.stderr.contains(&told), "{done:?}");
        }
        assert!(done.stderr.contains("config.toml:2"), "{done:?}");
        assert!(!done.stderr.contains("bash"), "{done:?}");
    }
}
