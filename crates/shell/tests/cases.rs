//! The sample cases, as the policy function would see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use support::{Case, analyse_line, cases, stands_out};

#[test]
fn every_sample_case_has_the_expected_outcome() {
    let mut wrong = Vec::new();
    for case in cases("shell.jsonl") {
        if let Err(why) = check(&case) {
            wrong.push(format!("{} {:?}: {why}", case.id, case.args.command));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn check(case: &Case) -> Result<(), String> {
    let analysis = analyse_line(&case.args.command);
    let facts = &analysis.facts;
    let said = format!("{facts:?} {:?}", analysis.opaque);
    match (case.profile.as_str(), case.expect.as_str()) {
        ("denylist", "deny") => {
            let asks = case.accept.iter().any(|outcome| outcome == "ask") && !facts.complete;
            if facts.catastrophic.is_empty() && !asks {
                Err(said)
            } else {
                Ok(())
            }
        }
        ("denylist", "allow") => {
            if facts.catastrophic.is_empty() && facts.complete {
                Ok(())
            } else {
                Err(said)
            }
        }
        ("rule", "deny") => {
            if stands_out(facts, &case.rules) {
                Ok(())
            } else {
                Err(said)
            }
        }
        other => Err(format!("unknown kind of case {other:?}")),
    }
}
