//! The sample patches and our own, through `toolgate batch`: every file is read once, then
//! the patch is applied, in one conversation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeMap;

use program::Bench;
use serde_json::{Value, json};

type Files = BTreeMap<String, String>;

fn on_disk(bench: &Bench, names: impl Iterator<Item = String>) -> Files {
    names
        .filter_map(|name| {
            let bytes = std::fs::read(bench.workspace().join(&name)).ok()?;
            Some((name, String::from_utf8(bytes).unwrap()))
        })
        .collect()
}

fn check(row: &Value) -> Result<(), String> {
    let bench = Bench::new();
    let before: Files = serde_json::from_value(row["files"].clone()).unwrap();
    for (name, text) in &before {
        let path = bench.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut calls: Vec<String> = before
        .keys()
        .map(|name| json!({"name": "read_file", "args": {"path": name}}).to_string())
        .collect();
    calls.push(json!({"name": "apply_patch", "args": {"patch": row["patch"]}}).to_string());
    let arguments = ["--approve", "all", "batch", "--unlimited"];
    let done = bench.feed(&arguments, calls.join("\n").as_bytes());
    let last = done.stdout.lines().last().unwrap_or_default();
    let result: Value = serde_json::from_str(last).map_err(|error| format!("{error}: {done:?}"))?;
    let ok = result["status"] == "ok";
    let fails = row["expect"].get("error").is_some();
    if ok == fails {
        return Err(format!("expected {}, got {result}", row["expect"]));
    }
    let after: Files = match row["expect"].get("files") {
        Some(files) if !fails => serde_json::from_value(files.clone()).unwrap(),
        _ => before.clone(),
    };
    let names = before.keys().chain(after.keys()).cloned();
    let found = on_disk(&bench, names);
    if found == after {
        Ok(())
    } else {
        Err(format!("expected {after:?}, found {found:?}: {result}"))
    }
}

#[test]
fn patches_of_the_sample_and_our_own_do_what_they_say() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for data in [
        include_str!("../../tools/tests/data/lp1.jsonl"),
        include_str!("../../tools/tests/data/own_envelope.jsonl"),
        include_str!("../../tools/tests/data/own_unified.jsonl"),
    ] {
        for line in data.lines().filter(|line| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).unwrap();
            if let Err(why) = check(&row) {
                wrong.push(format!("{}: {why}", row["id"]));
            }
            tried += 1;
        }
    }
    assert!(tried >= 100, "only {tried}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
