//! Options and subcommands that reach further than the program's name says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use serde::Deserialize;
use support::{analyse_line, judged_rows, rows};

#[test]
fn unlisted_subcommands_and_options_are_opaque() {
    judged_rows("reach.jsonl");
}

/// Paths that a line has to state, besides others.
#[derive(Debug, Deserialize)]
struct Stated {
    line: String,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
}

#[test]
fn files_that_an_option_implies_are_stated() {
    let mut wrong = Vec::new();
    for row in rows::<Stated>("stated.jsonl") {
        let analysis = analyse_line(&row.line);
        let facts = &analysis.facts;
        let all = row.reads.iter().all(|path| facts.reads.contains(path))
            && row
                .writes
                .iter()
                .all(|path| facts.writes.contains(path) || facts.deletes.contains(path));
        if !all {
            wrong.push(format!("{}: {facts:?} {:?}", row.line, analysis.opaque));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
