//! `read_output` and `sanitize`.

use std::io::Cursor;
use std::time::{Duration, Instant};

use futures::FutureExt;
use serde_json::{Value, json};
use toolgate_gate::session::{KeptInMemory, Session};
use toolgate_model::{ErrorKind, OutputHandle};

use crate::fixture::{Workspace, rows};

fn kept(text: &str) -> (Workspace, String) {
    let ws = Workspace::new();
    let handle = keep(&ws.session, text);
    (ws, handle.as_str().to_owned())
}

fn keep(session: &Session, text: &str) -> OutputHandle {
    let text = Box::new(Cursor::new(text.to_owned()));
    let kept = session.outputs().keep(session.id(), text);
    kept.now_or_never().unwrap().unwrap()
}

#[test]
fn outputs_are_read_by_lines_or_by_pattern() {
    let (ws, handle) = kept("one\ntwo\nthree\nfour\n");
    for (args, expected) in [
        (json!({}), "one\ntwo\nthree\nfour\n"),
        (json!({"start_line": 2, "end_line": 3}), "two\nthree"),
        (json!({"start_line": 4}), "four\n"),
        (json!({"pattern": "^t"}), "2: two\n3: three"),
        (json!({"pattern": "five"}), "No lines found."),
    ] {
        let mut call = args.clone();
        call["handle"] = handle.as_str().into();
        assert_eq!(ws.ok("read_output", call), expected, "{args}");
    }
    for (args, kind) in [
        (json!({"handle": "out_99"}), ErrorKind::NotFound),
        (
            json!({"handle": handle, "start_line": 9}),
            ErrorKind::BadArgs,
        ),
        (
            json!({"handle": handle, "start_line": 3, "end_line": 2}),
            ErrorKind::BadArgs,
        ),
        (
            json!({"handle": handle, "start_line": 3, "pattern": "x"}),
            ErrorKind::BadArgs,
        ),
        (
            json!({"handle": handle, "pattern": "("}),
            ErrorKind::BadArgs,
        ),
    ] {
        let shown = args.to_string();
        assert_eq!(ws.fails("read_output", args).0, kind, "{shown}");
    }
}

#[test]
fn a_long_output_comes_in_parts_that_lose_nothing() {
    let text: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    let (ws, handle) = kept(&text);
    ws.session.set_available_capacity(4_000);
    let (mut whole, mut next) = (String::new(), 1);
    loop {
        let result = ws.call("read_output", json!({"handle": handle, "start_line": next}));
        assert!(result.content.len() <= 4_000 && !result.truncated);
        let Some(more) = result.metadata.get("next_line").and_then(Value::as_u64) else {
            whole.push_str(&result.content);
            break;
        };
        let (part, note) = result.content.rsplit_once("\n[").unwrap();
        assert!(note.contains(&format!("start_line {more}")), "{note}");
        whole.push_str(part);
        whole.push('\n');
        next = more;
    }
    assert_eq!(whole, text);
    let found = ws.call("read_output", json!({"handle": handle, "pattern": "line"}));
    assert!(found.content.len() <= 4_000 && found.content.ends_with("by number]"));
}

#[test]
fn one_endless_line_is_cut_and_can_be_searched() {
    let (ws, handle) = kept(&format!(
        "{}needle{}",
        "ä".repeat(100_000),
        "ö".repeat(100_000)
    ));
    let part = ws.call("read_output", json!({"handle": handle}));
    assert!(part.content.len() <= 64 * 1024 && part.content.contains("has more"));
    let found = ws.ok(
        "read_output",
        json!({"handle": handle, "pattern": "needle"}),
    );
    assert!(found.len() < 2_000 && found.contains("needle"), "{found}");
}

#[test]
fn outputs_of_other_conversations_are_not_there() {
    let ws = Workspace::new();
    let store = std::sync::Arc::new(KeptInMemory::default());
    let other = Session::new("other").keeping_in(store.clone());
    let handle = keep(&other, "theirs");
    let mut ws = ws;
    ws.session = std::sync::Arc::new(Session::new("mine").keeping_in(store));
    let (kind, _) = ws.fails("read_output", json!({"handle": handle.as_str()}));
    assert_eq!(kind, ErrorKind::NotFound);
}

#[test]
fn sanitize_shows_every_sample_as_it_has_to_be() {
    let samples = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../gate/tests/data/escapes.jsonl"
    );
    let ws = Workspace::new();
    let mut tried = 0;
    for row in rows(&std::fs::read_to_string(samples).unwrap()) {
        let began = Instant::now();
        let content = ws.ok("sanitize", row["args"].clone());
        assert_eq!(
            content,
            row["expect_text"].as_str().unwrap(),
            "{}",
            row["id"]
        );
        if let Some(most) = row["timeout_ms"].as_u64() {
            assert!(
                began.elapsed() < Duration::from_millis(most * 2),
                "{}",
                row["id"]
            );
        }
        tried += 1;
    }
    assert!(tried >= 38, "{tried}");
}

#[test]
fn sanitize_takes_one_input_and_stays_within_bounds() {
    let ws = Workspace::new();
    for args in [
        json!({}),
        json!({"text": "a", "chunks": ["a"]}),
        json!({"bytes_hex": "6"}),
        json!({"bytes_hex": "xx"}),
        json!({"text": "a", "mode": "html"}),
        json!({"repeat": {"unit": "a", "count": 50_000_001}}),
    ] {
        assert_eq!(ws.fails("sanitize", args).0, ErrorKind::BadArgs);
    }
    let flood = ws.call(
        "sanitize",
        json!({"repeat": {"prefix": "<", "unit": "ab", "count": 1_000_000, "suffix": ">"}}),
    );
    assert!(
        flood.content.len() <= 64 * 1024
            && flood.content.starts_with("<ab")
            && flood.content.ends_with("ab>")
    );
    assert_eq!(flood.metadata["bytes"], 2_000_002);
    let (kind, _) = ws.fails(
        "sanitize",
        json!({"repeat": {"unit": "ab", "count": 1_000_000}, "mode": "approval"}),
    );
    assert_eq!(kind, ErrorKind::TooLarge);
    let short = ws.ok(
        "sanitize",
        json!({"repeat": {"unit": "\n", "count": 9}, "mode": "approval"}),
    );
    assert_eq!(short, r"[\n x9]");
}
