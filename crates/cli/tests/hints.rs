//! Hints of results, through the program, for root and for an ordinary user:
//! `data/hints.jsonl`. The line of configuration that a hint names is tried: with it the same
//! command does what it could not do before.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/paste.rs"]
mod paste;
#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "support/program.rs"]
mod support;

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use run::{Place, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    command: String,
    /// What stands under `[tools.sandbox]` already.
    #[serde(default)]
    config: String,
    /// The hint.
    hint: Option<String>,
    /// What a note in the output tells to paste.
    note: Option<String>,
    /// What else the output says.
    says: Option<String>,
    /// What it does not say.
    silent: Option<String>,
    /// What the command prints once the line is configuration. Where there is none, the hint is gone.
    then: Option<String>,
}

const SETUP: &str = r#"
    mkdir -p $OUT/data $OUT/me/odd $OUT/me/tools $OUT/me/.cargo/registry $OUT/me/.cache/pip $OUT/me/.npm
    echo of-the-data > $OUT/data/file.txt; echo of-the-tools > $OUT/me/tools/one
    for c in .cargo/registry .cache/pip .npm; do echo in-the-cache > $OUT/me/$c/index; done
    printf '#!/bin/sh\necho of-the-tool\n' > $OUT/me/odd/mytool; chmod 755 $OUT/me/odd/mytool
    echo of-the-secret > $WS/secrets.json
    printf 'could not resolve host: in a file\n' > $WS/notes.txt
"#;

/// A server of the machine, which greets everybody.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            drop(stream.write_all(b"of-the-server"));
        }
    });
    port
}

fn toolgate(place: &Place, more: &[&str]) -> support::Done {
    let home = place.path("out/me");
    let path = format!("/usr/bin:/bin:{}", home.join("odd").display());
    let mut program = place.toolgate();
    program.env("HOME", &home).env("PATH", path);
    program.arg("--workspace").arg(place.path("ws"));
    program.args(["--approve", "all"]).args(more);
    support::finish(program, b"")
}

fn exec(place: &Place, command: &str) -> Value {
    let args = json!({"command": command, "timeout_seconds": 8}).to_string();
    let done = toolgate(place, &["exec", "run_command", &args]);
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

fn hints(result: &Value) -> Vec<&str> {
    let hints = result["metadata"]["possibly_blocked"].as_array();
    hints
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The error says what was wrong with a row.
fn check(place: &Place, row: &Row, port: u16) -> Result<(), String> {
    let filled = |text: &str| place.filled_in(text).replace("$PORT", &port.to_string());
    let config = match row.config.as_str() {
        "" => String::new(),
        line => format!("[tools.sandbox]\n{}\n", filled(line)),
    };
    let file = place.path("home").join("config.toml");
    paste::write(&file, &config);
    let command = filled(&row.command);
    let result = exec(place, &command);
    let content = result["content"].as_str().unwrap_or_default();
    if let Some(words) = row
        .says
        .as_ref()
        .filter(|words| !content.contains(words.as_str()))
    {
        return Err(format!("does not say {words}: {result}"));
    }
    if row
        .silent
        .as_ref()
        .is_some_and(|words| content.contains(words.as_str()))
    {
        return Err(format!("says too much: {result}"));
    }
    let wanted = row.hint.as_deref().or(row.note.as_deref()).map(filled);
    let notes: Vec<&str> = content
        .lines()
        .map(|line| line.trim_matches(['[', ']']))
        .collect();
    let said = if row.note.is_some() {
        notes
    } else {
        hints(&result)
    };
    let Some(wanted) = wanted else {
        return match said.is_empty() {
            true => Ok(()),
            false => Err(format!("{said:?}")),
        };
    };
    let hint = said.iter().find(|hint| hint.contains(&wanted));
    let hint = hint.ok_or_else(|| format!("{said:?}: {result}"))?;
    let Some(config) = paste::pasted(&config, hint) else {
        // What is not installed has no line.
        return match row.then {
            None if !hint.contains("[tools.sandbox]") => Ok(()),
            _ => Err(format!("no line in {hint}")),
        };
    };
    paste::write(&file, &config);
    let result = exec(place, &command);
    let content = result["content"].as_str().unwrap_or_default();
    let works = match &row.then {
        Some(then) => content.contains(then),
        None => result["metadata"]["sandbox"].is_string() && !hints(&result).contains(hint),
    };
    if works {
        return Ok(());
    }
    Err(format!("with {config}: {result}"))
}

#[test]
fn a_hint_names_the_cause_and_its_line_opens_just_that() {
    let _kept = program();
    let port = server();
    let rows: Vec<Row> = include_str!("data/hints.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    for user in users() {
        let place = Place::new(user);
        let mut setup = place.command(Path::new("bash"));
        let output = setup.args(["-ec", SETUP]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let wrong = rows.iter().filter_map(|row| {
            let why = check(&place, row, port).err()?;
            Some(format!("{}: {why}", row.why))
        });
        let wrong: Vec<String> = wrong.collect();
        assert!(wrong.is_empty(), "{user:?}: {}", wrong.join("\n"));
    }
}

#[test]
fn a_background_command_gets_hints_too() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let calls = [
            json!({"id": "a", "name": "run_command", "args": {"background": true,
                "command": "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6"}}),
            json!({"id": "b", "name": "command_output", "args": {"handle": "cmd_1", "wait_seconds": 30}}),
            json!({"id": "c", "name": "command_output", "args": {"handle": "cmd_1", "wait_seconds": 30}}),
            json!({"id": "d", "name": "command_output", "args": {"handle": "cmd_1", "from": 0}}),
        ];
        let file = place.path("ws").join("calls.jsonl");
        let text: Vec<String> = calls.iter().map(Value::to_string).collect();
        std::fs::write(&file, text.join("\n")).unwrap();
        let done = toolgate(&place, &["batch", file.to_str().unwrap()]);
        let last = done.stdout.lines().last().unwrap_or_default();
        assert!(last.contains("network = \\\"on\\\""), "{user:?}: {done:?}");
    }
}
