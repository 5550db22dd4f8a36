//! The environment of commands: the shared cases, our own, and the laws of the lists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::ffi::OsString;

use proptest::prelude::*;
use serde::Deserialize;
use toolgate_sandbox::env::{HOME, clean, fits, holds_credential};

const NONE: &[&str] = &[];

#[derive(Deserialize)]
struct Shared {
    id: String,
    args: Variable,
    expect: String,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct Own {
    name: String,
    value: String,
    expect: String,
}

fn is_kept(name: &str, value: &str) -> bool {
    let vars = clean([(name, value)], NONE, NONE);
    vars.iter().any(|(found, _)| found == name)
}

fn lines<'a, T: Deserialize<'a>>(text: &'a str) -> Vec<T> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn shared_cases_are_stripped_or_kept_as_they_say() {
    let cases: Vec<Shared> = lines(include_str!("data/env.jsonl"));
    assert!(cases.len() >= 40);
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| is_kept(&case.args.name, &case.args.value) != (case.expect == "keep"))
        .map(|case| format!("{}: {} {}", case.id, case.args.name, case.expect))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn own_cases_are_stripped_or_kept_as_they_say() {
    let cases: Vec<Own> = lines(include_str!("data/env_own.jsonl"));
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| is_kept(&case.name, &case.value) != (case.expect == "keep"))
        .map(|case| format!("{} {}", case.name, case.expect))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[derive(Deserialize)]
struct Credential {
    name: String,
    value: String,
    hidden: bool,
}

#[test]
fn values_are_hidden_where_name_and_value_say_credential() {
    let cases: Vec<Credential> = lines(include_str!("data/credentials.jsonl"));
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| holds_credential(&case.name, &case.value) != case.hidden)
        .map(|case| format!("{}={} {}", case.name, case.value, case.hidden))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn value_of(vars: &[(OsString, OsString)], name: &str) -> Option<String> {
    let found = vars.iter().find(|(found, _)| found == name)?;
    found.1.to_str().map(str::to_owned)
}

#[test]
fn home_and_terminal_are_the_commands_own() {
    let vars = clean(
        [("HOME", "/home/me"), ("TERM", "xterm-256color")],
        NONE,
        NONE,
    );
    assert_eq!(value_of(&vars, "HOME").as_deref(), Some(HOME));
    assert_eq!(value_of(&vars, "TERM").as_deref(), Some("dumb"));
}

#[test]
fn path_has_a_default() {
    let vars = clean(Vec::<(&str, &str)>::new(), NONE, NONE);
    assert!(value_of(&vars, "PATH").unwrap().contains("/usr/bin"));
}

#[test]
fn keep_restores_variables_stripped_by_default() {
    let vars = clean([("AWS_REGION", "eu")], &["aws_region"], NONE);
    assert_eq!(value_of(&vars, "AWS_REGION").as_deref(), Some("eu"));
}

#[test]
fn strip_wins_over_keep_and_needed_variables() {
    let vars = clean(
        [("AWS_REGION", "eu"), ("LANG", "C"), ("HOME", "/x")],
        &["AWS_*", "LANG", "HOME"],
        &["aws_region", "lang", "h?me"],
    );
    for name in ["AWS_REGION", "LANG", "HOME"] {
        assert_eq!(value_of(&vars, name), None, "{name}");
    }
}

#[test]
fn exported_functions_are_code_and_do_not_pass() {
    let name = "BASH_FUNC_ls%%";
    let vars = clean([(name, "() { evil; }")], &["BASH_FUNC_*"], NONE);
    assert_eq!(value_of(&vars, name), None);
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn variables_stripped_by_configuration_never_come_out(
        names in prop::collection::vec("[A-Za-z_]{1,12}", 1..8), kept in "[A-Z*?_]{0,8}"
    ) {
        let vars: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
        let out = clean(vars, &[kept], &names);
        for name in &names {
            prop_assert_eq!(value_of(&out, name), None);
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing(
        vars in prop::collection::vec(("[A-Z_]{1,10}", "[ -~]{0,20}"), 0..12)
    ) {
        let once = clean(vars, NONE, NONE);
        prop_assert_eq!(clean(once.clone(), NONE, NONE), once);
    }

    #[test]
    fn patterns_fit_as_a_plain_reading_says(pattern in "[ab*?]{0,8}", name in "[abAB]{0,10}") {
        fn plain(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern.split_first(), name.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) => {
                    plain(rest, name) || name.split_first().is_some_and(|(_, n)| plain(pattern, n))
                }
                (Some((b'?', rest)), Some((_, n))) => plain(rest, n),
                (Some((a, rest)), Some((b, n))) => a.eq_ignore_ascii_case(b) && plain(rest, n),
                _ => false,
            }
        }
        prop_assert_eq!(fits(&pattern, name.as_bytes()), plain(pattern.as_bytes(), name.as_bytes()));
    }
}
