//! Programs that run others: everyday lines stay complete, and nothing beyond a rule does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use support::{analyse_line, lines};
use toolgate_model::{Facts, Run};

#[test]
fn everyday_lines_stay_complete() {
    let lines = lines("everyday.txt");
    assert!(lines.len() > 200);
    let wrong: Vec<String> = lines
        .iter()
        .map(|line| (line, analyse_line(line)))
        .filter(|(_, said)| !said.facts.complete || !said.facts.catastrophic.is_empty())
        .map(|(line, said)| format!("{line}: {:?}", said.opaque))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn flags_and_variables_beyond_a_rule_are_opaque() {
    let lines = lines("beyond.txt");
    assert!(lines.len() > 300);
    let wrong: Vec<&String> = lines
        .iter()
        .filter(|line| !is_seen(&analyse_line(line).facts))
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{wrong:#?}", wrong.len());
}

/// Whether a rule for the program alone does not cover what its words reach.
fn is_seen(facts: &Facts) -> bool {
    let elsewhere = |run: &Run| run.words.iter().take(1).any(|word| word.contains("evil"));
    !facts.complete
        || facts.runs.iter().any(elsewhere)
        || facts.paths().any(|(_, path)| path.starts_with('/'))
}
