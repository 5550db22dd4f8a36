//! What is refused, how it is told, and that `policy explain` says the same beforehand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use program::{Bench, Done, finish};
use serde_json::{Value, json};

fn run(bench: &Bench, words: &[&str], tool: &OsStr, args: &OsStr) -> Done {
    let mut command = bench.toolgate();
    command.args(["--approve", "all", "--trust", "autonomous"]);
    command.args(words).arg(tool).arg(args);
    finish(command, b"")
}

/// The kind of a call's error, what it told the model, and how the program ended.
fn exec(bench: &Bench, tool: &str, args: &str) -> (String, String, Option<i32>) {
    let done = run(bench, &["exec"], tool.as_ref(), args.as_ref());
    told(&done)
}

fn told(done: &Done) -> (String, String, Option<i32>) {
    let result: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let kind = result["error"]["kind"].as_str().unwrap_or("none");
    let content = result["content"].as_str().unwrap();
    (kind.to_owned(), content.to_owned(), done.code)
}

#[test]
fn arguments_that_cannot_be_meant_end_before_policy_with_their_kind() {
    let bench = Bench::new();
    bench.write("a.txt", "hi\n");
    let long = json!({ "path": "n".repeat(300) });
    let parts = json!({ "path": vec!["a"; 3000].join("/") });
    let many = json!({ "paths": vec!["a.txt"; 201] });
    let key = json!({ "path": "a.txt", "k".repeat(3000): 1 });
    let nul = "a\u{0}b";
    for (tool, args, part) in [
        ("read_file", json!({ "path": nul }), "NUL"),
        ("read_file", long, "too long"),
        ("read_file", parts, "too long"),
        ("read_file", key, "(3002 characters)"),
        (
            "read_file",
            json!({"path": "a.txt", "limit": 1.5}),
            "a whole number, got 1.5",
        ),
        ("list_directory", json!({ "path": nul }), "NUL"),
        ("glob", json!({"pattern": "*", "directory": nul}), "NUL"),
        ("grep", json!({"pattern": "x", "path": nul}), "NUL"),
        ("read_many_files", json!({ "paths": ["a.txt", nul] }), "NUL"),
        ("read_many_files", many, "at most 200 items, got 201"),
        ("write_file", json!({"path": nul, "content": ""}), "NUL"),
        (
            "edit_file",
            json!({"path": nul, "edits": [{"target": "a", "replacement": "b"}]}),
            "NUL",
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "edits": [{"target": "hi", "replacement": "b", "linehint": 1}]}),
            "edits.0: unknown argument \"linehint\", did you mean \"lineHint\"?; known are lineHint, line_hint, replace_all, replacement, target",
        ),
        ("run_command", json!({"command": "true", "cwd": nul}), "NUL"),
        ("run_command", json!({"command": "true\u{0}"}), "NUL"),
        ("run_command", json!({"command": " \t\n"}), "blank"),
        (
            "run_command",
            json!({"command": "true", "timeout": 3}),
            "did you mean \"timeout_ms\" or \"timeout_seconds\"?",
        ),
        (
            "bash",
            json!({"command": "true", "timout": 3}),
            "did you mean \"timeout\"?",
        ),
        (
            "shell",
            json!({"cmd": "true"}),
            "\"command\" is missing; unknown argument \"cmd\", did you mean \"command\"?",
        ),
        // Spellings that nobody promised are not known, and not offered.
        (
            "run_command",
            json!({"command": "true", "timeoutMs": 3}),
            "did you mean \"timeout_ms\"?",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "lineNumbers": true}),
            "did you mean \"line_numbers\"?",
        ),
        (
            "list_directory",
            json!({"maxdepth": 1}),
            "did you mean \"max_depth\"?",
        ),
    ] {
        let args = args.to_string();
        let canonical = if matches!(tool, "bash" | "shell") {
            "run_command"
        } else {
            tool
        };
        let (kind, content, code) = exec(&bench, tool, &args);
        assert_eq!(
            (kind.as_str(), code),
            ("bad_args", Some(1)),
            "{tool}: {content}"
        );
        assert!(
            content.starts_with(&format!("{canonical} failed: ")),
            "{content}"
        );
        assert!(content.contains(part), "{tool}: {content}");
        let done = run(&bench, &["policy", "explain"], tool.as_ref(), args.as_ref());
        let page: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(page["decision"], "deny", "{page}");
        assert_eq!(page["kind"], "bad_args", "{page}");
        assert_eq!(done.code, Some(3), "{page}");
    }
    // These are promised, and a whole number may have a point.
    for (tool, args) in [
        ("list_directory", json!({"recursive": true, "maxDepth": 1})),
        ("read_file", json!({"path": "a.txt", "limit": 1.0})),
    ] {
        let (kind, content, _) = exec(&bench, tool, &args.to_string());
        assert_eq!(kind, "none", "{content}");
    }
}

#[test]
fn a_damaged_call_still_has_a_result_and_is_never_run() {
    let bench = Bench::new();
    let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    for (tool, args, wanted) in [
        ("list_directory".into(), "".into(), "bad_call"),
        ("list_directory".into(), " \n".into(), "bad_call"),
        ("list_directory".into(), "-".into(), "bad_call"),
        ("read_file".into(), "-5".into(), "bad_call"),
        ("read_file".into(), "-x".into(), "bad_call"),
        ("read_file".into(), "--nonsense".into(), "bad_call"),
        (
            "read_file".into(),
            bytes(b"{\"path\":\"\xff\"}"),
            "bad_call",
        ),
        (bytes(b"\xff"), "{}".into(), "unknown_tool"),
    ] {
        let done = run(&bench, &["exec"], &tool, &args);
        let (kind, content, code) = told(&done);
        assert_eq!(
            (kind.as_str(), code),
            (wanted, Some(1)),
            "{args:?}: {content}"
        );
        let done = run(&bench, &["policy", "explain"], &tool, &args);
        let page: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(page["kind"], wanted, "{page}");
    }
    // Options of the program are still its own.
    bench.write("a.txt", "hi\n");
    let done = bench.run(&[
        "exec",
        "read_file",
        "--quiet",
        r#"{"path":"a.txt"}"#,
        "--json",
    ]);
    assert_eq!(told(&done).1, "hi\n");
}

#[test]
fn names_are_shown_as_they_are_and_nothing_acts_on_a_terminal() {
    let bench = Bench::new();
    bench.write("c\u{202e}.txt", "\u{9b}31m\u{200b}\n");
    for (tool, args, wanted, part) in [
        (
            "read_file",
            json!({"path": "c.txt"}),
            "not_found",
            "`c\\u{202e}.txt`",
        ),
        (
            "read_file",
            json!({"path": "c\u{202e}.tx"}),
            "not_found",
            "`c\\u{202e}.tx` does not exist",
        ),
        ("glob", json!({"pattern": "*"}), "none", "c\\u{202e}.txt"),
        ("grep", json!({"pattern": "31m"}), "none", "c\\u{202e}.txt"),
        ("ls", json!({}), "none", "c\\u{202e}.txt"),
        (
            "list_directory",
            json!({}),
            "none",
            "\"name\":\"c\\u202e.txt\"",
        ),
        (
            "read_file",
            json!({"path": "c\u{202e}.txt"}),
            "none",
            "\u{9b}31m\u{200b}\n",
        ),
    ] {
        let done = run(&bench, &["exec"], tool.as_ref(), args.to_string().as_ref());
        assert!(
            !done.stdout.contains(['\u{202e}', '\u{9b}', '\u{200b}']),
            "{done:?}"
        );
        let (kind, content, _) = told(&done);
        assert_eq!(kind, wanted, "{content}");
        assert!(content.contains(part), "{tool}: {content:?}");
    }
    let listed = exec(&bench, "list_directory", "{}").1;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["entries"][0]["name"], "c\u{202e}.txt");
}

#[test]
fn a_patch_is_refused_in_whole_sentences() {
    let bench = Bench::new();
    bench.write("a.txt", "hi\n");
    let plant = "*** Begin Patch\n*** Add File: r/HEAD\n+x\n*** Add File: r/objects/a\n+x\n*** Add File: r/refs/a\n+x\n*** Add File: r/config\n+x\n*** End Patch\n";
    for (patch, kind, part) in [
        (
            "hello",
            "patch_failed",
            "cannot be read: line 1 of the patch: Missing LP1 header",
        ),
        (
            "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n",
            "already_exists",
            "instead of adding it. No file was changed.",
        ),
        (plant, "protected_path", "a bare repository"),
    ] {
        let args = json!({ "patch": patch }).to_string();
        let (said, content, _) = exec(&bench, "apply_patch", &args);
        assert_eq!(said, kind, "{content}");
        assert!(content.contains(part), "{content}");
    }
    let args = json!({ "patch": plant }).to_string();
    let done = run(
        &bench,
        &["policy", "explain"],
        "apply_patch".as_ref(),
        args.as_ref(),
    );
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(page["kind"], "protected_path", "{page}");
    assert!(!bench.workspace().join("r").exists());
}

#[test]
fn what_lies_too_deep_for_a_search_is_said() {
    let bench = Bench::new();
    let deep = vec!["d"; 250].join("/");
    std::fs::create_dir_all(bench.workspace().join(&deep)).unwrap();
    bench.write(&format!("{deep}/needle.txt"), "needle");
    bench.write("near.txt", "needle");
    for (tool, args) in [
        ("glob", json!({"pattern": "**/*.txt"})),
        ("grep", json!({"pattern": "needle"})),
    ] {
        let done = run(&bench, &["exec"], tool.as_ref(), args.to_string().as_ref());
        let result: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(result["metadata"]["truncated"], true, "{result}");
        let content = result["content"].as_str().unwrap();
        assert!(
            content.contains("near.txt") && content.contains("too deep"),
            "{content}"
        );
    }
}
