//! `--log` and `--metrics`: what other programs are told of a run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::os::unix::fs::PermissionsExt;

use program::Bench;
use serde_json::Value;

const CALLS: &str = r#"{"id":"a","name":"read_file","args":{"path":"private-name.txt"}}
{"id":"b","name":"bash","args":{"command":"touch private-words"}}
{"id":"c","name":"private_tool","args":{"x":"private-argument"}}
"#;

fn lines(bench: &Bench) -> Vec<Value> {
    let text = bench.read("log.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_log_has_a_line_for_every_call_and_never_what_was_in_it() {
    let bench = Bench::new();
    bench.write("private-name.txt", "private-content\n");
    let run = || {
        bench.feed(
            &["batch", "--approve", "none", "--log", "log.jsonl"],
            CALLS.as_bytes(),
        )
    };
    let done = run();
    assert_eq!(done.code, Some(4), "{done:?}");
    let told = lines(&bench);
    let of = |kind: &str, id: &str| {
        let key = match kind {
            "span" => "gen_ai.tool.call.id",
            _ => "call_id",
        };
        told.iter()
            .find(|line| line.get(kind).is_some() && line[key] == id)
            .cloned()
    };
    let read = of("event", "a").expect("a line for the call");
    assert_eq!(
        (&read["tool"], &read["decision"], &read["status"]),
        (&"read_file".into(), &"allow".into(), &"ok".into())
    );
    assert!(read["duration_ms"].is_u64() && read["time"].is_string());
    assert!(read["conversation"].as_str().unwrap().starts_with("batch_"));
    let span = of("span", "a").expect("a span for what ran");
    assert_eq!(span["gen_ai.tool.name"], "read_file");
    assert!(span["lasted_ms"].is_u64());
    let asked = of("event", "b").unwrap();
    assert_eq!(
        (&asked["decision"], &asked["error"]),
        (&"ask".into(), &"no_approver".into())
    );
    assert_eq!(of("span", "b"), None, "what did not run has no span");
    let unknown = of("event", "c").unwrap();
    assert_eq!(
        (&unknown["tool"], &unknown["error"]),
        (&Value::Null, &"unknown_tool".into())
    );
    let text = bench.read("log.jsonl");
    assert!(!text.contains("private"), "{text}");
    let mode = std::fs::metadata(bench.workspace().join("log.jsonl")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    // The next run goes on after it.
    run();
    assert_eq!(lines(&bench).len(), 2 * told.len());
    assert!(bench.read("log.jsonl").starts_with(&text));
}

#[test]
fn metrics_count_every_call_and_replace_the_file_at_the_end() {
    let bench = Bench::new();
    bench.write("private-name.txt", "12345\n");
    bench.write("m.prom", "old");
    let done = bench.feed(
        &["batch", "--approve", "none", "--metrics", "m.prom"],
        CALLS.as_bytes(),
    );
    assert_eq!(done.code, Some(4), "{done:?}");
    let text = bench.read("m.prom");
    for line in [
        "toolgate_calls_total{tool=\"read_file\",kind=\"ok\"} 1",
        "toolgate_calls_total{tool=\"run_command\",kind=\"no_approver\"} 1",
        "toolgate_calls_total{tool=\"unknown\",kind=\"unknown_tool\"} 1",
        "toolgate_denied_total{tool=\"run_command\"} 1",
    ] {
        assert!(text.lines().any(|told| told == line), "{line}\n{text}");
    }
    assert!(!text.contains("private") && !text.contains("old"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_said() {
    let bench = Bench::new();
    let nowhere = "no/such/directory/file";
    let logged = bench.run(&["exec", "list_directory", "{}", "--log", nowhere]);
    assert_eq!(logged.code, Some(2), "{logged:?}");
    assert!(
        logged.stdout.is_empty() && logged.stderr.contains(nowhere),
        "{logged:?}"
    );
    let counted = bench.run(&["exec", "list_directory", "{}", "--metrics", nowhere]);
    assert_eq!(counted.code, Some(1), "{counted:?}");
    assert!(counted.stderr.contains(nowhere), "{counted:?}");
}
