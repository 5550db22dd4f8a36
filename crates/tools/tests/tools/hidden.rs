//! What rules say about files holds for whoever comes across them.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_gate::registry::Registry;
use toolgate_gate::{Rules, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, ErrorKind};
use toolgate_policy::{LayerSpec, LayerTrust, RuleSpec};
use toolgate_tools::{ToolSettings, register_all};

use crate::fixture::Workspace;

const FILES: [&str; 6] = [
    "a.txt",
    "notes.log",
    "open/b.txt",
    "open/notes.log",
    "private/deep/q.txt",
    "private/p.txt",
];

fn rule(tool: &str, action: Action, reads: &[&str]) -> RuleSpec {
    let mut rule = RuleSpec::new(tool, action);
    rule.reads = Some(reads.iter().map(|&pattern| pattern.to_owned()).collect());
    rule
}

fn ruled(trust: LayerTrust, rules: Vec<RuleSpec>) -> Workspace {
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let rules = Rules {
        layers: vec![LayerSpec::new("user", trust, rules)],
        ..Rules::default()
    };
    let journal = Arc::new(MemoryJournal::new());
    let ws = Workspace::ruled(Arc::new(registry), Settings::default(), journal, rules);
    for file in FILES {
        ws.put(file, "canary\n");
    }
    ws
}

/// The files that a search in a directory comes across, by each tool that does it.
fn found(ws: &Workspace, directory: &str) -> [Vec<String>; 3] {
    let lines = |tool: &str, args: Value| -> Vec<String> {
        let result = ws.call(tool, args);
        assert_eq!(result.error, None, "{tool}");
        let lines = result
            .content
            .lines()
            .filter(|line| !line.starts_with("[some of"));
        let paths = lines.map(|line| line.split(':').next().unwrap_or_default().to_owned());
        paths
            .filter(|path| FILES.contains(&path.as_str()))
            .collect()
    };
    let listed = ws.call(
        "list_directory",
        json!({"path": directory, "recursive": true, "include_dirs": false}),
    );
    let listed: Value = serde_json::from_str(&listed.content).unwrap();
    let entries = listed["entries"].as_array().unwrap().iter();
    [
        lines("grep", json!({"pattern": "canary", "directory": directory})),
        lines("glob", json!({"pattern": "**/*", "directory": directory})),
        entries
            .map(|entry| entry["path"].as_str().unwrap().to_owned())
            .collect(),
    ]
}

fn each_finds(ws: &Workspace, directory: &str, wanted: &[&str]) {
    for (tool, mut found) in ["grep", "glob", "list_directory"]
        .into_iter()
        .zip(found(ws, directory))
    {
        found.sort();
        assert_eq!(found, wanted, "{tool} in {directory}");
    }
}

#[test]
fn what_a_rule_denies_to_read_is_found_by_no_search() {
    for trust in [LayerTrust::Trusted, LayerTrust::Untrusted] {
        for (patterns, wanted) in [
            (
                vec!["private/**"],
                vec!["a.txt", "notes.log", "open/b.txt", "open/notes.log"],
            ),
            (
                vec!["private/"],
                vec!["a.txt", "notes.log", "open/b.txt", "open/notes.log"],
            ),
            (
                vec!["private/*.txt"],
                vec![
                    "a.txt",
                    "notes.log",
                    "open/b.txt",
                    "open/notes.log",
                    "private/deep/q.txt",
                ],
            ),
            (
                vec!["*.log"],
                vec!["a.txt", "open/b.txt", "private/deep/q.txt", "private/p.txt"],
            ),
            (vec!["*.log", "private/"], vec!["a.txt", "open/b.txt"]),
        ] {
            let ws = ruled(trust, vec![rule("*", Action::Deny, &patterns)]);
            each_finds(&ws, ".", &wanted);
        }
    }
}

#[test]
fn a_search_says_that_rules_left_something_out_and_names_nothing_of_it() {
    let ws = ruled(
        LayerTrust::Trusted,
        vec![rule("*", Action::Deny, &["private/"])],
    );
    for (tool, args, left_out) in [
        ("grep", json!({"pattern": "canary"}), 2),
        ("glob", json!({"pattern": "**/*.txt"}), 2),
        ("list_directory", json!({"recursive": true}), 1),
    ] {
        let result = ws.call(tool, args);
        assert_eq!(result.metadata["left_out_by_rules"], left_out, "{tool}");
        assert!(
            !result.content.contains("private"),
            "{tool}: {}",
            result.content
        );
    }
    let (kind, _) = ws.fails("read_file", json!({"path": "private/p.txt"}));
    assert_eq!(kind, ErrorKind::PolicyDenied);
    let none = ws.call("grep", json!({"pattern": "canary", "directory": "open"}));
    assert_eq!(none.metadata.get("left_out_by_rules"), None);
}

/// A rule that asks is asked about the directory; with a yes to that, its files are there.
#[test]
fn what_was_asked_about_as_a_directory_is_found_and_what_was_not_asked_about_is_not() {
    let ws = ruled(
        LayerTrust::Trusted,
        vec![rule("*", Action::Ask, &["private/**"])],
    );
    each_finds(&ws, "private", &["private/deep/q.txt", "private/p.txt"]);
    each_finds(
        &ws,
        ".",
        &["a.txt", "notes.log", "open/b.txt", "open/notes.log"],
    );
    // The stricter rule further down was not asked about.
    let rules = vec![
        rule("*", Action::Deny, &["private/deep/"]),
        rule("*", Action::Ask, &["private/**"]),
    ];
    each_finds(
        &ruled(LayerTrust::Trusted, rules),
        "private",
        &["private/p.txt"],
    );
}

#[test]
fn the_first_rule_that_fits_a_file_decides_about_it_in_a_search_too() {
    let rules = vec![
        rule("grep", Action::Allow, &["private/p.txt"]),
        rule("*", Action::Deny, &["private/**"]),
    ];
    let ws = ruled(LayerTrust::Trusted, rules);
    let [grep, glob, _] = found(&ws, ".");
    assert!(grep.contains(&"private/p.txt".to_owned()));
    assert!(!grep.contains(&"private/deep/q.txt".to_owned()));
    assert!(!glob.contains(&"private/p.txt".to_owned()));
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    /// A file is found exactly if it can be read by its name, whatever the rules are.
    #[test]
    fn a_search_finds_what_can_be_read_by_name(
        patterns in prop::collection::vec(
            (prop::sample::select(vec![
                "private/**", "private/", "private/*.txt", "*.log", "open/*", "**/b.txt", "open/notes.log", "a.txt", "deep",
            ]), any::<bool>()),
            1..4,
        ),
    ) {
        let action = |deny| if deny { Action::Deny } else { Action::Allow };
        let rules = patterns.iter().map(|(pattern, deny)| rule("*", action(*deny), &[pattern]));
        let ws = ruled(LayerTrust::Trusted, rules.collect());
        let readable: Vec<&str> = FILES
            .into_iter()
            .filter(|path| ws.call("read_file", json!({"path": path})).error.is_none())
            .collect();
        let [grep, glob, _] = found(&ws, ".");
        prop_assert_eq!(&grep, &readable);
        prop_assert_eq!(&glob, &readable);
    }
}
