//! Patches as data: files before, a patch, files after or an error.
//!
//! Each row of `tests/data` has `files` (each is read once first, in the same
//! conversation), `patch`, and in `expect` either `files`, which is everything that is
//! there then, or `error`; then every file is as it was. `kind` and `says` are what the
//! error is and contains.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fixture::{Workspace, rows};

/// Every file of the workspace with its content.
fn all(ws: &Workspace) -> BTreeMap<String, String> {
    fn walk(directory: &std::path::Path, name: &str, into: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                into.insert(format!("{name}/"), String::new());
                walk(&entry.path(), &format!("{name}/"), into);
            } else {
                let bytes = std::fs::read(entry.path()).unwrap();
                into.insert(name, String::from_utf8(bytes).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&ws.path(""), "", &mut files);
    files
}

fn files(value: &Value) -> BTreeMap<String, String> {
    let object = value.as_object().unwrap();
    let mut files = BTreeMap::new();
    for (name, content) in object {
        for (at, _) in name.match_indices('/') {
            files.insert(format!("{}/", &name[..at]), String::new());
        }
        files.insert(name.clone(), content.as_str().unwrap().to_owned());
    }
    files
}

fn check(case: &Value) -> Result<(), String> {
    let ws = Workspace::new();
    let before = files(&case["files"]);
    for (name, content) in before.iter().filter(|(name, _)| !name.ends_with('/')) {
        ws.put(name, content);
        ws.read(name);
    }
    let result = ws.call("apply_patch", json!({"patch": case["patch"]}));
    let after = all(&ws);
    let expect = &case["expect"];
    if let Some(wanted) = expect.get("files") {
        if let Some(error) = result.error {
            return Err(format!("failed: {error}"));
        }
        let mut wanted = files(wanted);
        // Directories that a deletion or a move empties stay.
        for name in before.keys().filter(|name| name.ends_with('/')) {
            wanted.insert(name.clone(), String::new());
        }
        if after != wanted {
            return Err(format!("is {after:?}, not {wanted:?}"));
        }
        if let Some(says) = expect.get("says").and_then(Value::as_str)
            && !result.content.contains(says)
        {
            return Err(format!("does not say {says:?}: {}", result.content));
        }
        return Ok(());
    }
    let Some(error) = result.error else {
        return Err(format!("went well: {after:?}"));
    };
    if after != before {
        return Err(format!("left something else behind: {after:?}"));
    }
    let wrong_kind = |kind: &Value| *kind != error.kind.as_str();
    if expect.get("kind").is_some_and(wrong_kind) {
        return Err(format!(
            "is a {} error: {}",
            error.kind.as_str(),
            error.message
        ));
    }
    match expect.get("says").and_then(Value::as_str) {
        Some(says) if !error.message.contains(says) => {
            Err(format!("does not say {says:?}: {}", error.message))
        }
        _ => Ok(()),
    }
}

fn all_of(text: &str, least: usize) {
    let cases = rows(text);
    assert!(cases.len() >= least, "{}", cases.len());
    let mut seen = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        assert!(seen.insert(id), "{id} is there twice");
        if let Err(why) = check(case) {
            wrong.push(format!("{id}: {why}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn line_patches_of_the_sample() {
    all_of(include_str!("../data/lp1.jsonl"), 50);
}

#[test]
fn line_patches_of_our_own() {
    all_of(include_str!("../data/own_lp1.jsonl"), 150);
}

#[test]
fn envelopes_of_our_own() {
    all_of(include_str!("../data/own_envelope.jsonl"), 60);
}

#[test]
fn unified_diffs_of_our_own() {
    all_of(include_str!("../data/own_unified.jsonl"), 60);
}
