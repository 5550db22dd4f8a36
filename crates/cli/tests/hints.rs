//! Hints of results, through the program, for root and for an ordinary user:
//! `data/hints.jsonl`. The line of configuration that a hint names is tried: with it the same
//! command does what it could not do before.

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
use std::path::Path;

use run::{Place, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    command: String,
    /// The hint; none if there may be none.
    hint: Option<String>,
    /// What the command prints once the line of the hint is configuration.
    then: Option<String>,
}

const SETUP: &str = r#"
    mkdir -p $OUT/data $OUT/me/odd $OUT/me/.cargo/registry
    echo of-the-data > $OUT/data/file.txt
    printf '#!/bin/sh\necho of-the-tool\n' > $OUT/me/odd/mytool; chmod 755 $OUT/me/odd/mytool
    echo of-the-secret > $WS/secrets.json
    printf 'could not resolve host: in a file\n' > $WS/notes.txt
"#;

fn exec(place: &Place, command: &str) -> Value {
    let home = place.path("out/me");
    let path = format!("/usr/bin:/bin:{}", home.join("odd").display());
    let args = json!({"command": place.filled_in(command), "timeout_seconds": 8}).to_string();
    let mut program = place.toolgate();
    program.env("HOME", &home).env("PATH", path);
    program.arg("--workspace").arg(place.path("ws"));
    program.args(["--approve", "all", "exec", "run_command", &args]);
    let done = support::finish(program, b"");
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

fn configure(place: &Place, text: &str) {
    let file = place.path("home").join("config.toml");
    std::fs::write(&file, text).unwrap();
    let owner = place.path("home").metadata().unwrap().uid();
    chown(&file, Some(owner), Some(owner)).unwrap();
}

/// The configuration that a hint tells to paste.
fn told(hint: &str) -> Option<String> {
    if let Some(rule) = hint.find("[[tools.rules]]").and_then(|at| hint.get(at..)) {
        return Some(rule.trim_end().trim_end_matches('.').to_owned() + "\n");
    }
    let end = hint.find(" under [tools.sandbox]")?;
    let line = hint.get(..end)?;
    let line = line.get(line.rfind(": ")? + 2..)?;
    Some(format!("[tools.sandbox]\n{line}\n"))
}

#[test]
fn a_hint_names_the_cause_and_its_line_opens_just_that() {
    let _kept = program();
    let rows: Vec<Row> = include_str!("data/hints.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    for user in users() {
        let place = Place::new(user);
        let mut setup = place.command(Path::new("bash"));
        let output = setup.args(["-ec", SETUP]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut wrong = Vec::new();
        for row in &rows {
            configure(&place, "");
            let result = exec(&place, &row.command);
            let hints = result["metadata"]["possibly_blocked"].as_array();
            let hints: Vec<&str> = hints
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let Some(wanted) = &row.hint else {
                if !hints.is_empty() {
                    wrong.push(format!("{}: {hints:?}", row.why));
                }
                continue;
            };
            let wanted = place.filled_in(wanted);
            let Some(hint) = hints.iter().find(|hint| hint.contains(&wanted)) else {
                wrong.push(format!("{}: {result}", row.why));
                continue;
            };
            let Some(then) = &row.then else { continue };
            let Some(line) = told(hint) else {
                wrong.push(format!("{}: no line in {hint}", row.why));
                continue;
            };
            configure(&place, &line);
            let result = exec(&place, &row.command);
            if !result["content"]
                .as_str()
                .is_some_and(|text| text.contains(then))
            {
                wrong.push(format!("{} with {line}: {result}", row.why));
            }
        }
        assert!(wrong.is_empty(), "{user:?}: {}", wrong.join("\n"));
    }
}
