//! The sample cases for paths, as far as the sandbox decides them.
//!
//! A shell prepares each case. Patches are the tool's to take apart, and the cases
//! with a swapper are outdone by `races.rs`; both are left out here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use place::{METHODS, Place, options};
use serde_json::Value;
use toolgate_sandbox::paths::{Flow, Method, PathError, PathSandbox, Visit, WalkOptions};

/// As much of a file as a result may hold.
const LIMIT: u64 = 1 << 20;

fn run(sandbox: &PathSandbox, tool: &str, path: &str, content: &str) -> Result<String, PathError> {
    match tool {
        "read_file" => {
            let (bytes, _) = sandbox.open_read(path)?.read_up_to(LIMIT)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        "write_file" => {
            let mut staged = sandbox.stage(path, options(true))?;
            staged.write_all(content.as_bytes())?;
            staged.commit().map(|_| String::new())
        }
        "grep" | "glob" => {
            let mut seen = String::new();
            let options = WalkOptions {
                hidden: true,
                ..WalkOptions::default()
            };
            sandbox.walk(".", &options, &mut |visit| {
                if let Visit::Entry(entry) = visit
                    && let Ok(mut file) = entry.open()
                {
                    let bytes = file.read_all(LIMIT).unwrap_or_default();
                    seen.push_str(&String::from_utf8_lossy(&bytes));
                }
                Flow::Continue
            })?;
            Ok(seen)
        }
        other => panic!("{other}"),
    }
}

fn check(case: &Value, method: Method, allow_absolute: bool) -> Result<(), String> {
    let text = |key: &str| case.get(key).and_then(Value::as_str);
    let place = Place::in_memory();
    std::fs::remove_dir_all(place.out()).unwrap();
    let shell = std::process::Command::new("bash")
        .args(["--norc", "-c", text("setup").unwrap()])
        .current_dir(place.top())
        .env("WS", place.ws())
        .env("OUT", place.out())
        .env("HOME", place.top().join("home"))
        .status()
        .unwrap();
    assert!(shell.success(), "{case}");
    std::fs::create_dir_all(place.out()).unwrap();
    let outside = place.outside();
    let sandbox = place.sandbox_with(method, |rules| rules.allow_absolute = allow_absolute);

    let path = case["args"]["path"].as_str().unwrap_or(".");
    let path = if case["literal"] == true {
        path.to_owned()
    } else {
        place.fill(path)
    };
    let content = case["args"]["content"].as_str().unwrap_or_default();
    let answer = run(&sandbox, text("tool").unwrap(), &path, content);
    let seen = answer.as_deref().unwrap_or_default();

    let fits = match text("expect").unwrap() {
        "deny" => answer.is_err(),
        "allow" if path.starts_with('/') && !allow_absolute => true,
        "allow" | "sanitized" => answer.is_ok(),
        "bounded" => answer.is_ok() && seen.len() as u64 <= LIMIT * 3,
        other => panic!("{other}"),
    };
    if !fits {
        return Err(format!("{answer:?}"));
    }
    if answer.is_ok() && text("must_contain").is_some_and(|wanted| !seen.contains(wanted)) {
        return Err(format!("does not hold what it should: {seen:?}"));
    }
    if text("must_not_contain").is_some_and(|canary| seen.contains(canary)) {
        return Err("holds what it must not".to_owned());
    }
    if text("must_not_exist").is_some_and(|path| std::path::Path::new(&place.fill(path)).exists()) {
        return Err("exists and must not".to_owned());
    }
    if place.outside() != outside {
        return Err("the outside was touched".to_owned());
    }
    Ok(())
}

#[test]
fn the_sample_cases_hold_with_absolute_paths_off_and_on() {
    let cases: Vec<Value> = include_str!("data/paths.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|case: &Value| case["tool"] != "apply_patch" && case.get("repeat").is_none())
        .collect();
    assert!(cases.len() > 50);
    let mut wrong = Vec::new();
    for method in METHODS {
        for case in &cases {
            for allow_absolute in [false, true] {
                if let Err(what) = check(case, method, allow_absolute) {
                    wrong.push(format!(
                        "{} ({method:?}, {allow_absolute}): {what}",
                        case["id"]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
