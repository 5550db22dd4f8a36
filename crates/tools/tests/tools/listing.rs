//! `list_directory` and `ls`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};
use toolgate_gate::Settings;
use toolgate_model::ErrorKind;
use toolgate_tools::{ListSettings, ToolSettings};

use crate::fixture::Workspace;

fn example() -> Workspace {
    let ws = Workspace::new();
    for name in [
        "b.txt",
        "a/x.txt",
        "a/y/deep.txt",
        "a-b.txt",
        ".hidden",
        ".env",
        "a/id_rsa",
        "out.log",
    ] {
        ws.put(name, "12345");
    }
    ws.put(".gitignore", "*.log\n");
    ws.put(".git/HEAD", "");
    symlink("/etc", ws.path("link")).unwrap();
    UnixListener::bind(ws.path("socket")).unwrap();
    ws
}

fn paths(ws: &Workspace, args: Value) -> Vec<String> {
    let listing: Value = serde_json::from_str(&ws.ok("list_directory", args)).unwrap();
    let entries = listing["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn listings_show_what_is_asked_for_in_the_order_of_paths() {
    let ws = example();
    for (args, expected) in [
        (json!({}), "a a-b.txt b.txt link"),
        (json!({"path": "."}), "a a-b.txt b.txt link"),
        (json!({"path": "./a/"}), "a/x.txt a/y"),
        (
            json!({"recursive": true}),
            "a a-b.txt a/x.txt a/y a/y/deep.txt b.txt link",
        ),
        (
            json!({"recursive": true, "max_depth": 2}),
            "a a-b.txt a/x.txt a/y b.txt link",
        ),
        (json!({"maxDepth": 2}), "a a-b.txt a/x.txt a/y b.txt link"),
        (
            json!({"recursive": false, "max_depth": 3}),
            "a a-b.txt b.txt link",
        ),
        (
            json!({"include_hidden": true}),
            ".git .gitignore .hidden a a-b.txt b.txt link",
        ),
        (
            json!({"includeHidden": true, "recursive": true, "include_dirs": false, "include_symlinks": false}),
            ".gitignore .hidden a-b.txt a/x.txt a/y/deep.txt b.txt",
        ),
        (json!({"include_files": false}), "a link"),
        (
            json!({"include_files": false, "include_dirs": false}),
            "link",
        ),
        (
            json!({"include_other": true, "include_files": false}),
            "a link socket",
        ),
        (
            json!({"include_ignored": true}),
            "a a-b.txt b.txt link out.log",
        ),
        (json!({"max_entries": 2}), "a a-b.txt"),
    ] {
        let shown = args.to_string();
        assert_eq!(paths(&ws, args).join(" "), expected, "{shown}");
    }
}

#[test]
fn entries_have_the_documented_form() {
    let ws = example();
    let result = ws.call(
        "list_directory",
        json!({"max_entries": 3, "include_dirs": false, "recursive": true}),
    );
    let listing: Value = serde_json::from_str(&result.content).unwrap();
    let keys: Vec<&String> = listing.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "entries",
            "max_entries",
            "path",
            "returned",
            "truncated",
            "truncated_reason"
        ]
    );
    assert_eq!(
        (
            &listing["path"],
            &listing["returned"],
            &listing["max_entries"]
        ),
        (&json!("."), &json!(3), &json!(3))
    );
    assert_eq!(
        (&listing["truncated"], &listing["truncated_reason"]),
        (&json!(true), &json!("max_entries"))
    );
    let mut entry = listing["entries"][2].clone();
    assert!(entry["modified_epoch_ms"].as_i64().unwrap() > 1_600_000_000_000);
    entry["modified_epoch_ms"] = 0.into();
    assert_eq!(
        entry,
        json!({"name": "deep.txt", "path": "a/y/deep.txt", "depth": 3, "type": "file", "size_bytes": 5,
            "modified_epoch_ms": 0, "is_hidden": false, "error": null})
    );
    assert_eq!(result.display, "Listed . (3 entries and more)");
    let types: Value = serde_json::from_str(&ws.ok(
        "list_directory",
        json!({"include_other": true, "include_hidden": true}),
    ))
    .unwrap();
    let types: Vec<String> = types["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            format!(
                "{}:{}",
                entry["name"].as_str().unwrap(),
                entry["type"].as_str().unwrap()
            )
        })
        .collect();
    for expected in [
        "a:dir",
        "b.txt:file",
        "link:symlink",
        "socket:other",
        ".hidden:file",
    ] {
        assert!(
            types.iter().any(|shown| shown == expected),
            "{expected} in {types:?}"
        );
    }
}

#[test]
fn arguments_that_ask_for_too_much_or_nothing_are_refused() {
    let ws = example();
    for (args, part) in [
        (json!({"max_entries": 201}), "at most 200"),
        (json!({"max_depth": 5}), "at most 4"),
        (json!({"max_entries": 0}), "at least 1"),
        (
            json!({"include_files": false, "include_dirs": false, "include_symlinks": false}),
            "nothing is included",
        ),
        (json!({"format": "xml"}), "\"tree\""),
        (json!({"recursiv": true}), "did you mean"),
    ] {
        let (kind, message) = ws.fails("list_directory", args);
        assert_eq!(kind, ErrorKind::BadArgs);
        assert!(message.contains(part), "{message}");
    }
    let (kind, message) = ws.fails("list_directory", json!({"path": "b.txt"}));
    assert_eq!(kind, ErrorKind::NotADirectory);
    assert!(message.contains("read_file"), "{message}");
    assert_eq!(
        ws.fails("ls", json!({"path": "nowhere"})).0,
        ErrorKind::NotFound
    );
    assert_eq!(
        ws.fails("ls", json!({"path": "link"})).0,
        ErrorKind::OutsideSandbox
    );
}

#[test]
fn caps_are_configured() {
    let tools = ToolSettings {
        list: ListSettings {
            max_entries: 2,
            max_depth: 1,
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default());
    for name in ["a/x", "b", "c"] {
        ws.put(name, "");
    }
    assert_eq!(paths(&ws, json!({"recursive": true})), ["a", "b"]);
    assert_eq!(
        ws.fails("list_directory", json!({"max_entries": 3})).0,
        ErrorKind::BadArgs
    );
}

#[test]
fn too_much_output_means_fewer_entries_and_valid_json() {
    let ws = Workspace::new();
    for n in 0..100 {
        ws.put(&format!("file-{n:03}.txt"), "");
    }
    for capacity in [300, 1_000, 5_000] {
        ws.session.set_available_capacity(capacity);
        let result = ws.call("list_directory", json!({}));
        assert!(
            result.content.len() <= capacity,
            "{capacity}: {}",
            result.content.len()
        );
        let listing: Value = serde_json::from_str(&result.content).unwrap();
        assert_eq!(listing["truncated_reason"], "max_output_bytes");
        assert_eq!(
            listing["returned"],
            listing["entries"].as_array().unwrap().len()
        );
    }
}

#[test]
fn names_of_any_bytes_are_listed() {
    let ws = Workspace::new();
    std::fs::write(ws.path("").join(OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    ws.put("two\nlines", "");
    let listing: Value = serde_json::from_str(&ws.ok("list_directory", json!({}))).unwrap();
    assert_eq!(listing["entries"][0]["name"], "caf\u{fffd}");
    assert_eq!(listing["entries"][1]["name"], "two\nlines");
    assert_eq!(ws.ok("ls", json!({})), "- caf\u{fffd}\n- two\\nlines");
}

#[test]
fn ls_is_a_tree() {
    let ws = example();
    assert_eq!(ws.ok("ls", json!({})), "d a\n- a-b.txt\n- b.txt\nl link");
    assert_eq!(
        ws.ok("ls", json!({"path": ".", "recursive": true})),
        "d a\n  - x.txt\n  d y\n    - deep.txt\n- a-b.txt\n- b.txt\nl link"
    );
    let cut = ws.ok("ls", json!({"max_entries": 1}));
    assert!(cut.starts_with("d a\n[only the first 1 entries"), "{cut}");
    std::fs::create_dir(ws.path("empty")).unwrap();
    assert_eq!(ws.ok("ls", json!({"path": "empty"})), "(empty)");
}
