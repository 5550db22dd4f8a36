//! Which values of the environment are hidden (`data/hidden_values.jsonl`), and lines with hidden
//! values that a model sends back; through the program, for root and for an ordinary user.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "support/program.rs"]
mod support;

use std::os::unix::fs::{MetadataExt, chown};

use run::{Place, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    value: String,
    hidden: bool,
}

fn rows() -> Vec<Row> {
    include_str!("data/hidden_values.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn batch(place: &Place, calls: &[(&str, Value)]) -> Vec<Value> {
    let lines: Vec<String> = calls
        .iter()
        .map(|(name, args)| json!({"name": name, "args": args}).to_string())
        .collect();
    let mut command = place.toolgate();
    for Row { name, value, .. } in rows() {
        command.env(name, value);
    }
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["--approve", "all", "batch", "--unlimited"]);
    let done = support::finish(command, lines.join("\n").as_bytes());
    let results = done.stdout.lines();
    let results: Vec<Value> = results
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(results.len(), calls.len(), "{done:?}");
    results
}

fn write(place: &Place, name: &str, text: &str) {
    let file = place.path(name);
    std::fs::write(&file, text).unwrap();
    let owner = place.path("ws").metadata().unwrap().uid();
    chown(&file, Some(owner), Some(owner)).unwrap();
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn values_are_hidden_where_they_are_credentials_and_nowhere_else() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let config = "[tools.environment]\nkeep = [\"KEPT_*\"]\n";
        write(&place, "home/config.toml", config);
        let rows = rows();
        let text: String = rows
            .iter()
            .map(|row| format!("x {} y\n", row.value))
            .collect();
        write(&place, "ws/notes.txt", &text);
        let calls = [
            ("read_file", json!({"path": "notes.txt"})),
            ("run_command", json!({"command": "cat notes.txt"})),
            ("grep", json!({"pattern": "^x", "directory": "."})),
        ];
        for result in batch(&place, &calls) {
            let content = result["content"].as_str().unwrap();
            for row in &rows {
                let shows = content.contains(&format!("x {} y", row.value));
                assert_eq!(shows, !row.hidden, "{user:?} {}: {result}", row.name);
                assert!(!row.hidden || !content.contains(&row.value), "{result}");
            }
        }
        // A line with an ordinary value is edited like any other.
        let calls = [
            ("read_file", json!({"path": "notes.txt"})),
            (
                "edit_file",
                json!({"path": "notes.txt", "edits": [{"target": "x production y", "replacement": "x staging y"}]}),
            ),
        ];
        let results = batch(&place, &calls);
        assert_eq!(results[1]["status"], "ok", "{results:?}");
        assert_eq!(
            read(&place, "ws/notes.txt"),
            text.replace("x production y", "x staging y")
        );
    }
}

/// A configuration with a secret in the middle, known by its shape alone.
fn config() -> (String, String) {
    let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6");
    let text = format!("host = \"a\"\ntoken = \"{token}\"\nport = 1\npass = \"swordfish\"\n");
    (text, token)
}

/// The file after a change; none if it is refused.
type Wanted = Option<fn(&str) -> String>;

/// Changes of the file as it was shown, and what the file is then; none if they are refused.
fn changes(shown: &str) -> Vec<(&'static str, Value, Wanted)> {
    let other_port: fn(&str) -> String = |text| text.replace("port = 1", "port = 2");
    let edit = |target: &str, replacement: &str| json!({"path": "app.cfg", "edits": [{"target": target, "replacement": replacement}]});
    let whole = |content: String| json!({"path": "app.cfg", "content": content, "overwrite": true});
    let token = shown.lines().nth(1).unwrap();
    let changed = shown.replace("port = 1", "port = 2");
    let patch = |body: &str| json!({"patch": format!("*** Begin Patch\n*** Update File: app.cfg\n@@\n{body}*** End Patch\n")});
    vec![
        ("edit_file", edit("port = 1", "port = 2"), Some(other_port)),
        ("edit_file", edit(shown, &changed), Some(other_port)),
        (
            "edit_file",
            edit(&format!("{token}\nport = 1"), &format!("{token}\nport = 2")),
            Some(other_port),
        ),
        ("write_file", whole(changed.clone()), Some(other_port)),
        (
            "write_file",
            whole(format!("# new\n{changed}")),
            Some(|text| format!("# new\n{}", text.replace("port = 1", "port = 2"))),
        ),
        (
            "apply_patch",
            patch(&format!(" {token}\n-port = 1\n+port = 2\n")),
            Some(other_port),
        ),
        (
            "apply_patch",
            patch(&format!("-{token}\n-port = 1\n+{token}\n+port = 2\n")),
            Some(other_port),
        ),
        (
            "apply_patch",
            json!({"patch": format!("LP1\nF app.cfg\nR\n{token}\nport = 1\n.\n{token}\nport = 2\n.\nEND\n")}),
            Some(other_port),
        ),
        (
            "apply_patch",
            json!({"patch": format!("--- a/app.cfg\n+++ b/app.cfg\n@@ -2,2 +2,2 @@\n {token}\n-port = 1\n+port = 2\n")}),
            Some(other_port),
        ),
        // The line is not as it was shown.
        (
            "edit_file",
            edit(token, &format!("{token} # rotated")),
            None,
        ),
        (
            "edit_file",
            edit("host = \"a\"", "host = \"[redacted:token]\""),
            None,
        ),
        (
            "write_file",
            whole(changed.replace("token =", "key =")),
            None,
        ),
        (
            "apply_patch",
            patch(&format!(
                " {token}\n-port = 1\n+port = \"[redacted:env]\"\n"
            )),
            None,
        ),
        // A secret is not removed unseen.
        ("write_file", whole("port = 2\n".to_owned()), None),
        ("edit_file", edit(&format!("{token}\n"), ""), None),
    ]
}

#[test]
fn a_line_that_comes_back_as_it_was_shown_keeps_its_secret() {
    let _kept = program();
    for user in users() {
        let (text, token) = config();
        let place = Place::new(user);
        write(&place, "ws/app.cfg", &text);
        let first = batch(&place, &[("read_file", json!({"path": "app.cfg"}))]);
        let shown = first[0]["content"].as_str().unwrap().to_owned();
        assert!(
            !shown.contains(&token) && !shown.contains("swordfish"),
            "{shown}"
        );
        for (tool, args, wanted) in changes(&shown) {
            write(&place, "ws/app.cfg", &text);
            let calls = [
                ("read_file", json!({"path": "app.cfg"})),
                (tool, args.clone()),
                ("read_file", json!({"path": "app.cfg"})),
            ];
            let results = batch(&place, &calls);
            let now = read(&place, "ws/app.cfg");
            let expected = wanted.map_or_else(|| text.clone(), |wanted| wanted(&text));
            assert_eq!(now, expected, "{user:?} {tool} {args}: {results:?}");
            assert_eq!(
                results[1]["status"] == "ok",
                wanted.is_some(),
                "{tool} {args}: {results:?}"
            );
            let all = serde_json::to_string(&results).unwrap();
            assert!(
                !all.contains(&token) && !all.contains("swordfish"),
                "{tool}: {all}"
            );
        }
    }
}

#[test]
fn a_placeholder_is_text_in_a_file_without_secrets() {
    let place = Place::new(run::User::Same);
    write(
        &place,
        "ws/notes.md",
        "`[redacted:token]` stands for a token\n",
    );
    let calls = [
        ("read_file", json!({"path": "notes.md"})),
        (
            "edit_file",
            json!({"path": "notes.md", "edits": [{"target": "stands for", "replacement": "and `[redacted:env]` stand for"}]}),
        ),
        (
            "write_file",
            json!({"path": "new.md", "content": "[redacted:jwt]\n"}),
        ),
    ];
    let results = batch(&place, &calls);
    assert!(
        results.iter().all(|result| result["status"] == "ok"),
        "{results:?}"
    );
    assert!(read(&place, "ws/notes.md").contains("and `[redacted:env]` stand for"));
}
