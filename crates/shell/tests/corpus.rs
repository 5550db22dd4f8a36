//! Lines of every class, and what has to be said about them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use serde::Deserialize;
use support::{analyse_line, rows, stands_out};
use toolgate_shell::Analysis;

#[derive(Debug, Deserialize)]
struct Row {
    line: String,
    #[serde(default)]
    rules: Vec<String>,
}

fn assert_all(file: &str, holds: impl Fn(&Row, &Analysis) -> bool) {
    let rows: Vec<Row> = rows(file);
    assert!(rows.len() > 50, "{file} has lost its rows");
    let mut wrong = Vec::new();
    for row in &rows {
        let analysis = analyse_line(&row.line);
        if !holds(row, &analysis) {
            wrong.push(format!(
                "{:?}: {:?} {:?}",
                row.line, analysis.facts, analysis.opaque
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

#[test]
fn catastrophic_lines_are_denied_in_every_disguise() {
    assert_all("deny.jsonl", |_, analysis| {
        !analysis.facts.catastrophic.is_empty()
    });
}

#[test]
fn lines_that_cannot_be_judged_are_incomplete() {
    assert_all("ask.jsonl", |_, analysis| {
        !analysis.facts.complete && !analysis.opaque.is_empty()
    });
}

#[test]
fn harmless_lines_stay_complete_and_are_not_denied() {
    assert_all("allow.jsonl", |_, analysis| {
        analysis.facts.complete && analysis.facts.catastrophic.is_empty()
    });
}

#[test]
fn allowing_a_program_never_allows_what_its_options_reach() {
    assert_all("rule.jsonl", |row, analysis| {
        stands_out(&analysis.facts, &row.rules)
    });
}

/// What a line is expected to touch; lists that are not given are empty, `runs` may be left out.
#[derive(Debug, Deserialize)]
struct Stated {
    line: String,
    runs: Option<Vec<Vec<String>>>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default)]
    deletes: Vec<String>,
    #[serde(default)]
    connects: Vec<String>,
}

#[test]
fn facts_name_exactly_what_a_line_touches() {
    let everyday = rows::<Stated>("daily.jsonl");
    assert!(everyday.len() >= 60, "daily.jsonl has lost its rows");
    for row in rows::<Stated>("facts.jsonl").into_iter().chain(everyday) {
        let analysis = analyse_line(&row.line);
        let facts = analysis.facts;
        assert!(facts.complete, "{}: {:?}", row.line, analysis.opaque);
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        assert_eq!(
            sorted(&facts.reads),
            sorted(&row.reads),
            "reads of {}",
            row.line
        );
        assert_eq!(
            sorted(&facts.writes),
            sorted(&row.writes),
            "writes of {}",
            row.line
        );
        assert_eq!(
            sorted(&facts.deletes),
            sorted(&row.deletes),
            "deletes of {}",
            row.line
        );
        assert_eq!(
            sorted(&facts.connects),
            sorted(&row.connects),
            "connects of {}",
            row.line
        );
        if let Some(expected) = &row.runs {
            let mut expected = expected.clone();
            let mut found: Vec<Vec<String>> = facts.runs.into_iter().map(|run| run.words).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "runs of {}", row.line);
        }
    }
}
