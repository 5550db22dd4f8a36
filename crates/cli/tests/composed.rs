//! Several changes of one file in a batch: what runs is what was shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::Bench;
use serde_json::{Value, json};

const ROLES: &str = "use a;\nuse b;\nuse c;\n\nfn is_guest() {\n    // one\n    // two\n    // three\n    return GUEST;\n    // four\n    // five\n    // six\n}\n\nfn is_admin() {\n    // one\n    // two\n    // three\n    return ADMIN;\n    // four\n    // five\n    // six\n}\n\nend a;\nend b;\nend c;\nend d;\n";

/// Runs calls as one batch in a conversation that has read the file. Gives the kinds of errors.
fn batch(bench: &Bench, calls: &[Value]) -> Vec<Value> {
    let lines =
        |calls: &[Value]| -> String { calls.iter().map(|call| format!("{call}\n")).collect() };
    let read = [json!({"name": "read_file", "args": {"path": "roles.rs"}})];
    let run = |calls: &[Value]| {
        let args = ["--approve", "all", "batch", "--conversation", "c"];
        bench.feed(&args, lines(calls).as_bytes())
    };
    run(&read);
    let done = run(calls);
    let results = done.stdout.lines();
    let kinds: Vec<Value> = results
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["error"]["kind"].clone())
        .collect();
    assert_eq!(kinds.len(), calls.len(), "{done:?}");
    kinds
}

fn edit(old: &str, new: &str) -> Value {
    let args = json!({"path": "roles.rs", "edits": [{"target": old, "replacement": new}]});
    json!({"name": "edit_file", "args": args})
}

#[test]
fn a_call_that_would_land_elsewhere_than_shown_does_not_run() {
    let swap = json!({"name": "edit_file", "args": {"path": "roles.rs", "edits": [
        {"target": "return GUEST;", "replacement": "return NOBODY;"},
        {"target": "return ADMIN;", "replacement": "return GUEST;"},
    ]}});
    let longer = json!({"name": "edit_file", "args": {"path": "roles.rs", "edits": [
        {"target": "return GUEST;", "replacement": "return NOBODY;"},
        {"target": "return ADMIN;", "replacement": "return GUEST;"},
        {"target": "end d;", "replacement": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"},
    ]}});
    let checked = ROLES.replace("return GUEST;", "check(); return GUEST;");
    let check = edit("return GUEST;", "check(); return GUEST;");
    let overwrite = json!({"name": "write_file", "args": {
        "path": "roles.rs", "content": ROLES.replace("end d;", "end e;"), "overwrite": true}});
    for (calls, after) in [
        ([swap, edit("return GUEST;", "return true;")], None),
        ([longer, edit("return GUEST;", "return true;")], None),
        ([check, overwrite], Some(checked)),
    ] {
        let bench = Bench::new();
        bench.write("roles.rs", ROLES);
        let kinds = batch(&bench, &calls);
        assert_eq!(kinds[0], Value::Null, "{calls:?}");
        assert_eq!(kinds[1], "stale_file", "{calls:?}");
        let text = bench.read("roles.rs");
        assert!(!text.contains("return true"), "{text}");
        assert!(after.is_none_or(|after| after == text), "{calls:?}");
    }
}

#[test]
fn edits_of_other_parts_of_one_file_run_with_one_question() {
    for calls in [
        vec![
            edit("use a;", "use a;\nuse a2;"),
            edit("return GUEST;", "return 1;"),
        ],
        vec![edit("end d;", "end e;"), edit("return GUEST;", "return 1;")],
        vec![
            edit("use a;", "use x;"),
            edit("return GUEST;", "return 1;\n    // more"),
            edit("end d;", "end e;"),
        ],
    ] {
        let bench = Bench::new();
        bench.write("roles.rs", ROLES);
        let kinds = batch(&bench, &calls);
        assert!(kinds.iter().all(Value::is_null), "{calls:?}: {kinds:?}");
        assert!(bench.read("roles.rs").contains("return 1;"), "{calls:?}");
    }
}
