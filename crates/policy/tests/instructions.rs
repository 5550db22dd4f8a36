//! Changes of instructions to agents need approval.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_model::{Access, Action, Facts};
use toolgate_policy::{Grant, GrantScope, LayerSpec, Mode, Policy, Settings, Stage, Trust};

const INSTRUCTIONS: [&str; 6] = [
    "AGENTS.md",
    "docs/CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".github/copilot-instructions.md",
    "./pkg//agents.md",
];

fn autonomous() -> Settings {
    Settings {
        trust: Trust::Autonomous,
        ..Settings::default()
    }
}

/// Policies that allow every write.
fn generous() -> Vec<Policy> {
    let mut allowlisted = trusted("user", &[]);
    allowlisted.allowlist = Some(listed(&["write_file", "apply_patch", "run_command"]));
    let any = [rule("*", Allow)];
    let paths = [rule("*", Allow).writes(&["**"]).deletes(&["**"])];
    let glob = [
        rule("write_file", Allow).writes(&["*.md"]),
        rule("*", Allow),
    ];
    let auto = Settings {
        mode: Some(Mode::Auto),
        ..autonomous()
    };
    let default = Settings {
        default_action: Some(Allow),
        ..Settings::default()
    };
    vec![
        policy_with(autonomous(), &[]),
        policy_with(Settings::default(), &[allowlisted]),
        policy_with(auto, &[]),
        policy_with(default, &[]),
        policy(&[trusted("user", &any)]),
        policy(&[trusted("user", &paths)]),
        policy(&[trusted("user", &glob)]),
        policy(&[LayerSpec::grants(&[Grant {
            tool: "write_file".into(),
            scope: GrantScope::Tool,
            source: Default::default(),
        }])]),
    ]
}

#[test]
fn no_general_allow_changes_instructions_without_approval() {
    for (at, policy) in generous().iter().enumerate() {
        for path in INSTRUCTIONS {
            let verdict = judge(policy, &write(path));
            assert_eq!(verdict.decision.action, Ask, "{at} {path}");
            assert_eq!(verdict.stage, Stage::Approval, "{at} {path}");
            assert_eq!(verdict.decision.rule, "instructions to agents");
            assert_ne!(action(policy, &delete(path)), Allow, "{at} {path}");
        }
        assert_eq!(action(policy, &write("README.md")), Allow, "{at}");
        assert_eq!(action(policy, &read("AGENTS.md")), Allow, "{at}");
    }
}

#[test]
fn commands_that_write_or_delete_instructions_ask() {
    let policy = policy_with(autonomous(), &[]);
    let command = |change: &dyn Fn(&mut Facts)| {
        let mut call = run("cp a b");
        change(&mut call.facts);
        action(&policy, &call)
    };
    let path = || vec!["AGENTS.md".to_owned()];
    assert_eq!(command(&|facts| facts.writes = path()), Ask);
    assert_eq!(command(&|facts| facts.deletes = path()), Ask);
    assert_eq!(command(&|facts| facts.reads = path()), Allow);
    assert_eq!(command(&|facts| facts.writes = vec!["b".into()]), Allow);
}

#[test]
fn a_trusted_rule_that_names_the_path_allows_it() {
    let named = [rule("write_file", Allow).writes(&["AGENTS.md", "docs/CLAUDE.md"])];
    let policy_named = policy(&[trusted("user", &named)]);
    for (path, expected) in [
        ("AGENTS.md", Allow),
        ("docs/CLAUDE.md", Allow),
        ("./AGENTS.md", Allow),
        ("CLAUDE.md", Ask),
        ("pkg/AGENTS.md", Ask),
    ] {
        assert_eq!(action(&policy_named, &write(path)), expected, "{path}");
    }
    let generous = trusted("user", &[rule("*", Allow)]);
    let untrusted_rule = policy(&[generous.clone(), untrusted("project", &named)]);
    assert_eq!(action(&untrusted_rule, &write("AGENTS.md")), Ask);
    let grant = LayerSpec::grants(&[Grant {
        tool: "write_file".into(),
        scope: GrantScope::Path {
            access: Access::Write,
            path: "AGENTS.md".into(),
        },
        source: Default::default(),
    }]);
    let granted = policy(&[generous, grant]);
    assert_eq!(action(&granted, &write("AGENTS.md")), Allow);
    assert_eq!(action(&granted, &write("CLAUDE.md")), Ask);
}

#[test]
fn a_denial_stays_one() {
    let strict = Settings {
        mode: Some(Mode::Deny),
        ..Settings::default()
    };
    assert_eq!(action(&policy_with(strict, &[]), &write("AGENTS.md")), Deny);
    let denied = [rule("*", Deny).writes(&["AGENTS.md"])];
    let denied: Action = action(&policy(&[trusted("user", &denied)]), &write("AGENTS.md"));
    assert_eq!(denied, Deny);
}
