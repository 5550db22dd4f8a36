//! What a call that looks through directories does not get to see, rule by rule.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_model::Facts;
use toolgate_policy::{LayerSpec, Operator};

fn search(directory: &str) -> Call {
    Call::new("grep", Facts::reading(directory)).with("directory", directory.into())
}

/// Which of some files are left out; nothing where no rule hides anything at all.
fn left_out(layers: &[LayerSpec], call: &Call) -> Option<Vec<&'static str>> {
    let policy = policy(layers);
    let hidden = policy.hidden(&call.tool, &call.args, &call.facts)?;
    let files = ["a.txt", "private/deep/q.txt", "private/p.txt", "src/a.txt"];
    Some(
        files
            .into_iter()
            .filter(|file| hidden.hides(file))
            .collect(),
    )
}

#[test]
fn a_deny_or_ask_about_reading_leaves_files_out_and_nothing_else_does() {
    let private = ["private/**"];
    let both = ["private/deep/q.txt", "private/p.txt"];
    for (list, left) in [
        (vec![rule("*", Deny).reads(&private)], Some(&both[..])),
        (vec![rule("*", Ask).reads(&private)], Some(&both)),
        (vec![rule("grep", Deny).reads(&private)], Some(&both)),
        // About another tool, about writing, and what allows.
        (vec![rule("read_file", Deny).reads(&private)], None),
        (vec![rule("*", Deny).writes(&private)], None),
        (vec![rule("*", Deny)], None),
        (vec![rule("*", Allow).reads(&private)], None),
        // The first that fits speaks, and who names the tool before who names every tool.
        (
            vec![
                rule("*", Allow).reads(&["private/p.txt"]),
                rule("*", Deny).reads(&private),
            ],
            Some(&both[..1]),
        ),
        (
            vec![
                rule("*", Deny).reads(&private),
                rule("grep", Allow).reads(&private),
            ],
            Some(&[]),
        ),
        // Conditions are about the call that searches.
        (
            vec![rule("*", Deny).reads(&private).when(
                "directory",
                Operator::Equals,
                &["elsewhere"],
            )],
            Some(&[]),
        ),
    ] {
        let layers = [trusted("user", &list)];
        let found = left_out(&layers, &search("."));
        assert_eq!(found.as_deref(), left, "{list:?}");
    }
}

#[test]
fn whoever_let_a_call_into_a_directory_knew_the_rules_about_that_directory() {
    let deny_txt = rule("*", Deny).reads(&["**/*.txt"]);
    for (directory, action, left) in [
        // It was asked about the very directory that it reads.
        ("private", Ask, vec!["a.txt", "src/a.txt"]),
        (
            "src",
            Ask,
            vec!["a.txt", "private/deep/q.txt", "private/p.txt", "src/a.txt"],
        ),
    ] {
        let of_directory = rule("*", action).reads(&["private", "private/**"]);
        let layers = [trusted("user", &[of_directory, deny_txt.clone()])];
        let found = left_out(&layers, &search(directory)).unwrap();
        assert_eq!(found, left, "{directory}");
    }
}

#[test]
fn layers_that_are_not_trusted_hide_too_and_show_nothing() {
    let private = ["private/**"];
    let deny = rule("*", Deny).reads(&private);
    let allow = rule("*", Allow).reads(&private);
    let both = ["private/deep/q.txt", "private/p.txt"];
    for (layers, left) in [
        (
            vec![untrusted("project", std::slice::from_ref(&deny))],
            &both[..],
        ),
        (
            vec![
                trusted("user", std::slice::from_ref(&deny)),
                untrusted("project", std::slice::from_ref(&allow)),
            ],
            &both,
        ),
        // Of two trusted layers a deny is final, whoever comes later.
        (
            vec![trusted("user", &[deny]), trusted("later", &[allow])],
            &both,
        ),
    ] {
        assert_eq!(left_out(&layers, &search(".")).as_deref(), Some(left));
    }
}
