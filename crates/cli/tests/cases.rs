//! The sample cases and our own, through the program itself, for root and for an ordinary user.
//!
//! One JSON object per line; `tests/data/README.md` says what the fields mean.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

#[path = "cases/run.rs"]
mod run;

use run::{Case, User, check, program, users};

/// Tools of the samples that come with a later capability. Until then a call of them is an
/// unknown tool, which is asserted, so that this list cannot outlive its reason.
const LATER: [&str; 0] = [];

fn all(file: &str) {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let cases: Vec<Case> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {error}: {line}"))
        })
        .collect();
    assert!(!cases.is_empty());
    let _kept = program();
    let mut wrong = Vec::new();
    for user in users() {
        for case in &cases {
            if let Err(why) = check(case, user, &LATER) {
                wrong.push(format!("{} as {user:?}: {why}", case.id));
            }
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
fn paths_of_the_sample() {
    all("paths.jsonl");
}

#[test]
fn arguments_of_the_sample() {
    all("json_args.jsonl");
}

#[test]
fn escapes_of_the_sample() {
    all("escapes.jsonl");
}

#[test]
fn paths_of_our_own() {
    all("own_paths.jsonl");
}

#[test]
fn arguments_of_our_own() {
    all("own_args.jsonl");
}

#[test]
fn escapes_of_our_own() {
    all("own_escapes.jsonl");
}

#[test]
fn both_users_are_tried_where_the_tests_run_as_root() {
    let expected = if rustix::process::getuid().is_root() {
        vec![User::Same, User::Ordinary]
    } else {
        vec![User::Same]
    };
    assert_eq!(users(), expected);
}
