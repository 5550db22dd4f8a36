//! Words and texts that come through pipes, under conditions or inside the code of other
//! languages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use serde::Deserialize;
use support::{analyse_line, rows};

#[derive(Debug, Deserialize)]
struct Row {
    line: String,
    /// `allow`: complete. `ask`: incomplete, but not catastrophic. `deny`: catastrophic.
    expect: String,
    /// Paths that are stated even where the facts are not complete.
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    deletes: Vec<String>,
}

#[test]
fn streams_are_followed_or_opaque() {
    let rows: Vec<Row> = rows("streams.jsonl");
    assert!(rows.len() > 150, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let analysis = analyse_line(&row.line);
        let facts = &analysis.facts;
        let found = match (facts.catastrophic.is_empty(), facts.complete) {
            (false, _) => "deny",
            (true, false) => "ask",
            (true, true) => "allow",
        };
        let states = |stated: &[String], wanted: &[String]| {
            let all = wanted.iter().all(|path| stated.contains(path));
            assert!(all, "{}: {facts:?}", row.line);
        };
        states(&facts.reads, &row.reads);
        states(&facts.deletes, &row.deletes);
        if found != row.expect {
            wrong.push(format!(
                "{} instead of {}: {:?}",
                found, row.expect, row.line
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} wrong:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}
