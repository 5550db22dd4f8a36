//! What a person sees of a turn on standard error, where it is no terminal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::io::Read;
use std::process::Stdio;

use program::Bench;
use toolgate_testkit::{Loopback, Told};

/// What is shown while a command runs, as `(until this is shown, make this file)` tells it to go on.
fn shown(command: &str, steps: &[(&str, &str)]) -> String {
    let bench = Bench::new();
    bench.write(
        "s.toml",
        &format!("[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"run_command\"\nargs = {{ command = {command:?} }}\n[[steps]]\ntext = \"ok\"\n"),
    );
    let mut child = bench
        .toolgate()
        .args(["run", "--script", "s.toml", "--approve", "all", "go"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut steps = steps.iter().peekable();
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    loop {
        let count = stderr.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        seen.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        if let Some((_, file)) = steps.next_if(|(part, _)| seen.contains(part)) {
            bench.write(file, "");
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
    seen
}

#[test]
fn a_line_of_a_command_is_shown_as_one_however_it_comes() {
    let wait = "until [ -e go ]; do :; done";
    let seen = shown(
        &format!("printf 'count: abc'; {wait}; printf 'def\\nlast'"),
        &[("count: ", "go")],
    );
    assert!(
        seen.contains("\ncount: abcdef\nlast\n  ok run_command"),
        "{seen}"
    );
}

#[test]
fn a_line_that_is_open_ends_where_another_stream_writes() {
    let wait = "until [ -e go ]; do :; done";
    let seen = shown(
        &format!("printf 'count: abc '; {wait}; echo 'an error' >&2"),
        &[("count: ", "go")],
    );
    let lines: Vec<&str> = seen.lines().collect();
    assert!(lines.contains(&"an error"), "{seen}");
    assert!(!seen.contains("\n\n"), "{seen}");
}

#[test]
fn what_was_said_before_an_error_is_shown_before_it() {
    let answers = [
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half of it\"}}]}\n\n",
        "data: {\"error\":{\"message\":\"it broke\",\"type\":\"invalid_request_error\"}}\n\n",
    ];
    let server = Loopback::start(move |_| Told::new(200, "text/event-stream", answers.concat()));
    let bench = Bench::new();
    let done = bench.run(&[
        "run",
        "--provider",
        "openai-chat",
        "--model",
        "m",
        "--base-url",
        &server.url(),
        "go",
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{done:?}");
    let place = |part: &str| done.stderr.find(part).expect(part);
    assert!(place("Half of it") < place("it broke"), "{done:?}");
    assert_eq!(done.stderr.matches("Half of it").count(), 1, "{done:?}");
}
