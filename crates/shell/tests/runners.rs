//! Programs that run others: everyday lines stay complete, and nothing beyond a rule does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use proptest::prelude::*;
use support::{analyse_line, lines};
use toolgate_model::{Facts, Run};
use toolgate_shell::{leading_words, lookalikes};

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

/// The names of `runners.txt`.
fn runners() -> Vec<&'static str> {
    let names = include_str!("../src/programs/runners.txt").lines();
    names
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect()
}

#[test]
fn code_points_of_a_program_name_are_told() {
    for (line, told) in [
        ("ɡit status", Some("ɡ (U+0261)")),
        ("ls && сurl x", Some("с (U+0441)")),
        ("$'\\u0261it' status", Some("ɡ (U+0261)")),
        ("git stаtus", Some("а (U+0430)")),
        ("git commit -m größe", None),
        ("ls größe", None),
        ("ls", None),
    ] {
        assert_eq!(lookalikes(line).as_deref(), told, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_unlisted_option_of_a_runner_is_opaque(
        program in proptest::sample::select(runners()),
        option in "--zq[a-z]{3,8}(=[a-z./]{1,6})?",
    ) {
        let said = analyse_line(&format!("{program} {option}"));
        prop_assert!(!said.facts.complete, "{program} {option}");
    }

    #[test]
    fn an_unlisted_variable_before_a_runner_is_opaque(
        program in proptest::sample::select(runners()),
        variable in "(ZQ|Zq|zq)[A-Za-z0-9_]{1,8}",
        how in proptest::sample::select(vec!["", "env ", "export "]),
    ) {
        let end = if how == "export " { "; " } else { " " };
        let line = format!("{how}{variable}=1{end}{program} x");
        prop_assert!(!analyse_line(&line).facts.complete, "{line}");
    }

    #[test]
    fn what_is_remembered_starts_the_command_and_names_more_than_a_runner(
        program in proptest::sample::select(vec!["git", "cargo", "npm", "make", "python3", "docker", "go", "node", "sudo"]),
        words in proptest::collection::vec("(-[a-zA-Z]|--[a-z]{2,6}|[a-z]{1,6}|\\./[a-z]{1,3}|\\.)", 0..5),
    ) {
        let mut all = vec![program.to_owned()];
        all.extend(words);
        let leading = leading_words(&all);
        prop_assert!(all.starts_with(&leading));
        prop_assert!(leading.len() != 1, "{all:?}");
    }
}
