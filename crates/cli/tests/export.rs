//! `toolgate journal export`: the documented JSON, and the same on paper and on a page.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used
)]

#[path = "support/program.rs"]
mod program;

use program::Bench;
use serde_json::{Value, json};

const TALK: &str = "talk";

/// A conversation of two batches, the second with a call that is refused.
fn talked() -> Bench {
    let bench = Bench::new();
    let far: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    bench.write("long.txt", &format!("first\n{far}far away\n"));
    for (calls, code) in [
        (
            vec![
                json!({"id": "a", "name": "read_file", "args": {"path": "long.txt", "lines": 2}}),
                json!({"id": "b", "name": "write_file", "args": {"path": "b.txt", "content": "b\n"}, "reason": "because"}),
            ],
            0,
        ),
        (
            vec![
                json!({"id": "c", "name": "edit_file", "args": {"path": "long.txt", "edits": [{"target": "first", "replacement": "FIRST"}]}}),
                json!({"id": "d", "name": "read_file", "args": {"path": "../x"}}),
            ],
            3,
        ),
    ] {
        let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
        let args = ["--approve", "all", "batch", "--conversation", TALK];
        let done = bench.feed(&args, input.as_bytes());
        assert_eq!(done.code, Some(code), "{done:?}");
    }
    bench
}

fn exported(bench: &Bench, format: &str) -> String {
    let done = bench.run(&["journal", "export", TALK, "--format", format]);
    assert_eq!(done.code, Some(0), "{done:?}");
    done.stdout
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn json_has_the_documented_form() {
    let bench = talked();
    let page: Value = serde_json::from_str(&exported(&bench, "json")).unwrap();
    assert_eq!(
        keys(&page),
        ["conversation", "messages", "model", "usage", "workspace"]
    );
    assert_eq!(page["conversation"], TALK);
    let workspace = bench.workspace().canonicalize().unwrap();
    assert_eq!(page["workspace"], workspace.to_str().unwrap());
    assert_eq!(
        (&page["model"], &page["usage"]),
        (&Value::Null, &Value::Null)
    );
    let messages = page["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["assistant", "tool", "tool", "assistant", "tool", "tool"]
    );
    let allowed = [
        "id",
        "role",
        "content",
        "thinking",
        "timestamp",
        "tool_calls",
        "tool_result",
        "approval",
    ];
    let mut ids = std::collections::BTreeSet::new();
    for message in messages {
        assert!(
            keys(message).iter().all(|key| allowed.contains(key)),
            "{message}"
        );
        for key in ["id", "role", "content", "timestamp"] {
            assert!(message[key].is_string(), "{key}: {message}");
        }
        assert!(ids.insert(message["id"].to_string()), "{message}");
        let at = message["timestamp"].as_str().unwrap();
        assert!(
            at.ends_with('Z') && at.as_bytes()[10] == b'T' && at.len() == 24,
            "{at}"
        );
        if let Some(approval) = message.get("approval") {
            assert_eq!(keys(approval), ["at", "by", "decision", "scope"]);
        }
    }
    assert_eq!(messages[0]["tool_calls"][1]["reason"], "because");
    assert_eq!(messages[2]["tool_result"]["status"], "ok");
    assert_eq!(
        messages[2]["content"],
        messages[2]["tool_result"]["content"]
    );
    let approval = &messages[2]["approval"];
    assert_eq!(
        (&approval["by"], &approval["decision"]),
        (&json!("approve-all"), &json!("approved"))
    );
    assert_eq!(
        messages[5]["tool_result"]["error"]["kind"],
        "outside_sandbox"
    );
    assert!(messages[5].get("approval").is_none());
}

#[test]
fn every_format_has_every_call_once_and_in_order() {
    let bench = talked();
    let markdown = exported(&bench, "md");
    let told = markdown.lines().filter(|line| line.starts_with("## Tool "));
    let ids: Vec<&str> = told.map(|line| line.split(" · ").nth(1).unwrap()).collect();
    assert_eq!(ids, ["`a`", "`b`", "`c`", "`d`"]);
    let html = exported(&bench, "html");
    let cards: Vec<&str> = html.split("<li class=\"call ").skip(1).collect();
    assert_eq!(cards.len(), 4);
    for (card, id) in cards.iter().zip(["a", "b", "c", "d"]) {
        assert!(card.contains(&format!("<code>{id}</code>")), "{id}: {card}");
        for part in ["Asked by", "Let through by", "Took"] {
            assert!(card.contains(part), "{part}: {card}");
        }
    }
    assert!(
        cards[1].contains("created") && cards[2].contains("changed"),
        "{html}"
    );
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
}

#[test]
fn what_files_held_before_is_never_exported() {
    let bench = talked();
    for format in ["json", "md", "html"] {
        let page = exported(&bench, format);
        assert!(page.contains("FIRST"), "{format}");
        assert!(
            !page.contains("far away") && !page.contains("line 1999"),
            "{format}"
        );
    }
}

#[test]
fn a_file_is_written_and_mistakes_are_said() {
    let bench = talked();
    let file = bench.home_directory().join("talk.html");
    let name = file.to_str().unwrap();
    let done = bench.run(&[
        "journal", "export", TALK, "--format", "html", "--output", name,
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{done:?}");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        exported(&bench, "html")
    );
    let unknown = bench.run(&["journal", "export", "other", "--format", "md"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("journal list"), "{unknown:?}");
    let nowhere = bench.run(&[
        "journal",
        "export",
        TALK,
        "--format",
        "md",
        "-o",
        "no/such/directory",
    ]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    let format = bench.run(&["journal", "export", TALK, "--format", "pdf"]);
    assert_eq!(format.code, Some(2), "{format:?}");
}
