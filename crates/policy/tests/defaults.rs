//! The table of defaults, cell by cell, and what surrounds it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_model::{Action, ErrorKind, Facts};
use toolgate_policy::{Mode, Policy, Settings, Stage, Trust};

const TRUSTS: [Trust; 3] = [Trust::Supervised, Trust::Guided, Trust::Autonomous];
const MODES: [Mode; 3] = [Mode::Auto, Mode::Prompt, Mode::Deny];

/// The table as it is written: trust columns, then mode columns with `prompt_side_effects`.
const TABLE: [(&str, [Action; 3], [Action; 3]); 4] = [
    ("allowlisted", [Ask, Allow, Allow], [Allow, Allow, Allow]),
    ("read-only", [Ask, Allow, Allow], [Allow, Allow, Deny]),
    ("side effects", [Ask, Ask, Allow], [Allow, Ask, Deny]),
    ("opaque", [Ask, Ask, Allow], [Ask, Ask, Deny]),
];

fn call_of(row: &str) -> Call {
    match row {
        "allowlisted" => write("a"),
        "read-only" => read("a"),
        "side effects" => write("a"),
        "opaque" => run("make $X"),
        other => panic!("{other}"),
    }
}

fn settings(trust: Trust, mode: Option<Mode>) -> Settings {
    Settings {
        trust,
        mode,
        ..Settings::default()
    }
}

fn with_list(settings: Settings, row: &str) -> Policy {
    let mut layer = trusted("user", &[]);
    if row == "allowlisted" {
        layer.allowlist = Some(listed(&["read_file", "file_write"]));
    }
    policy_with(settings, &[layer])
}

#[test]
fn every_cell_is_the_stricter_of_its_two_columns() {
    for (row, by_trust, by_mode) in TABLE {
        for (t, trust) in TRUSTS.into_iter().enumerate() {
            for (m, mode) in MODES.into_iter().enumerate() {
                let policy = with_list(settings(trust, Some(mode)), row);
                let verdict = judge(&policy, &call_of(row));
                let expected = by_trust[t].max(by_mode[m]);
                assert_eq!(
                    verdict.decision.action, expected,
                    "{row} {trust:?} {mode:?}"
                );
                assert_eq!(verdict.stage, Stage::Default);
                let kind = (expected == Deny).then_some(ErrorKind::PolicyDenied);
                assert_eq!(verdict.decision.kind, kind);
            }
        }
    }
}

#[test]
fn mode_prompt_asks_side_effects_only_if_told_to() {
    for (trust, expected) in TRUSTS.into_iter().zip([Ask, Ask, Allow]) {
        let settings = Settings {
            prompt_side_effects: false,
            ..settings(trust, Some(Mode::Prompt))
        };
        let policy = policy_with(settings, &[]);
        assert_eq!(action(&policy, &write("a")), expected, "{trust:?}");
        let opaque = action(&policy, &run("make $X"));
        assert_eq!(opaque, Ask, "what is opaque is asked all the same");
    }
}

#[test]
fn only_the_columns_that_were_named_count() {
    let default = Settings::default();
    assert!(default.enabled && default.prompt_side_effects);
    assert_eq!(default.trust_in_force(), Some(Trust::Guided));
    for (row, by_trust, by_mode) in TABLE {
        for (t, trust) in TRUSTS.into_iter().enumerate() {
            let policy = with_list(settings(trust, None), row);
            assert_eq!(
                action(&policy, &call_of(row)),
                by_trust[t],
                "{row} {trust:?}"
            );
        }
        for (m, mode) in MODES.into_iter().enumerate() {
            let alone = Settings {
                mode_alone: true,
                ..settings(Trust::Supervised, Some(mode))
            };
            assert_eq!(alone.trust_in_force(), None);
            let policy = with_list(alone, row);
            assert_eq!(action(&policy, &call_of(row)), by_mode[m], "{row} {mode:?}");
        }
    }
    // Without a mode there is nothing that could be alone.
    let nothing = Settings {
        mode_alone: true,
        ..settings(Trust::Supervised, None)
    };
    let policy = policy_with(nothing, &[]);
    assert_eq!(action(&policy, &read("a")), Ask);
}

#[test]
fn prompt_side_effects_counts_where_mode_prompt_is_alone() {
    for (ask, expected) in [(true, Ask), (false, Allow)] {
        let settings = Settings {
            prompt_side_effects: ask,
            mode_alone: true,
            ..settings(Trust::Guided, Some(Mode::Prompt))
        };
        let policy = policy_with(settings, &[]);
        assert_eq!(action(&policy, &write("a")), expected);
        assert_eq!(action(&policy, &run("make $X")), Ask);
    }
}

#[test]
fn an_autonomous_model_runs_unknown_commands_only_without_a_network() {
    let policy = policy_with(settings(Trust::Autonomous, None), &[]);
    for (call, expected) in [
        (run("make $X").approving(), Allow),
        (run("make $X").approving().connected(), Ask),
        (run("make").approving().connected(), Allow),
        (run("make $X").approving().unsandboxed(), Deny),
        (unknown("mcp"), Ask),
    ] {
        assert_eq!(action(&policy, &call), expected, "{call:?}");
    }
}

#[test]
fn defaults_depend_on_the_kind_of_effect() {
    let policy = policy_with(settings(Trust::Guided, Some(Mode::Auto)), &[]);
    for (call, expected) in [
        (read("a"), Allow),
        (read("/etc/x"), Ask),
        (read("src/../../x"), Ask),
        (write("a"), Ask),
        (delete("a"), Ask),
        (run("ls"), Ask),
        (fetch("h"), Ask),
        (Call::new("todo", Facts::none()), Allow),
        (unknown("mcp"), Ask),
    ] {
        assert_eq!(action(&policy, &call), expected, "{call:?}");
    }
    // A tool that says it only reads contacts hosts as it reads, but does not write so.
    let reads_only = |mut call: Call| {
        call.side_effects = false;
        action(&policy, &call)
    };
    assert_eq!(reads_only(fetch("h")), Allow);
    assert_eq!(reads_only(write("a")), Ask);
    assert_eq!(reads_only(delete("a")), Ask);
    assert_eq!(reads_only(run("ls")), Ask);
    let mut effects = Call::new("todo", Facts::none());
    effects.side_effects = true;
    assert_eq!(action(&policy, &effects), Ask);
}

#[test]
fn an_opaque_command_is_asked_even_of_an_allowlisted_tool() {
    let mut layer = trusted("user", &[]);
    layer.allowlist = Some(listed(&["run_command", "mcp"]));
    let policy = policy(&[layer]);
    assert_eq!(action(&policy, &run("make")), Allow);
    let opaque = decide(&policy, &run("make $X"));
    assert_eq!(opaque.action, Ask);
    assert!(opaque.atoms.iter().skip(1).all(|atom| atom.answer == Ask));
    assert_eq!(action(&policy, &unknown("mcp")), Ask);
}

#[test]
fn the_latest_trusted_allowlist_counts() {
    let layer = |name: &str, list: Option<&[&str]>| {
        let mut layer = trusted(name, &[]);
        layer.allowlist = list.map(listed);
        layer
    };
    let policy = policy(&[
        layer("built-in", Some(&["write_file"])),
        layer("user", Some(&["web_fetch"])),
        layer("config", None),
    ]);
    assert_eq!(action(&policy, &write("a")), Ask);
    let decision = decide(&policy, &fetch("h"));
    assert_eq!(decision.action, Allow);
    assert_eq!(decision.source.layer, "user");
    assert!(decision.rule.starts_with("allowlist"), "{}", decision.rule);
    let mut theirs = untrusted("project", &[]);
    theirs.allowlist = Some(listed(&["write_file"]));
    assert_eq!(action(&support::policy(&[theirs]), &write("a")), Ask);
}

#[test]
fn a_denylist_is_a_deny_rule_that_nothing_in_its_layer_precedes() {
    let mut layer = trusted("user", &[rule("write_file", Allow), rule("bash", Allow)]);
    layer.denylist = listed(&["file_write"]);
    layer.allowlist = Some(listed(&["write_file"]));
    let later = trusted("config", &[rule("write_file", Allow)]);
    for mode in MODES {
        for trust in TRUSTS {
            let policy = policy_with(settings(trust, Some(mode)), &[layer.clone(), later.clone()]);
            let decision = decide(&policy, &write("a"));
            assert_eq!(decision.action, Deny);
            assert_eq!(decision.kind, Some(ErrorKind::PolicyDenied));
            assert_eq!(
                decision.rule,
                "deny file_write (from denylist \"file_write\")"
            );
            assert_eq!(decision.source.layer, "user");
        }
    }
    assert_eq!(action(&policy(&[layer]), &run("ls")), Allow);
}

#[test]
fn default_action_replaces_every_cell_but_the_allowlists() {
    for default in [Allow, Ask, Deny] {
        for (row, by_trust, by_mode) in TABLE {
            for (t, trust) in TRUSTS.into_iter().enumerate() {
                for (m, mode) in MODES.into_iter().enumerate() {
                    let settings = Settings {
                        default_action: Some(default),
                        ..settings(trust, Some(mode))
                    };
                    let policy = with_list(settings, row);
                    let expected = if row == "allowlisted" {
                        by_trust[t].max(by_mode[m])
                    } else {
                        default
                    };
                    assert_eq!(action(&policy, &call_of(row)), expected, "{row} {default}");
                }
            }
        }
        let settings = Settings {
            default_action: Some(default),
            ..Settings::default()
        };
        let policy = policy_with(settings, &[trusted("user", &[rule("write_file", Ask)])]);
        assert_eq!(
            action(&policy, &write("a")),
            Ask,
            "a rule comes before {default}"
        );
    }
}

#[test]
fn no_command_runs_without_a_sandbox_unless_a_trusted_rule_matches_it() {
    let mut listed_tool = trusted("user", &[]);
    listed_tool.allowlist = Some(listed(&["run_command"]));
    for trust in TRUSTS {
        for mode in MODES {
            for default_action in [None, Some(Allow), Some(Ask)] {
                let settings = Settings {
                    default_action,
                    ..settings(trust, Some(mode))
                };
                let policy = policy_with(settings, std::slice::from_ref(&listed_tool));
                let decision = decide(&policy, &run("ls").unsandboxed());
                assert_eq!(decision.action, Deny);
                assert_eq!(decision.kind, Some(ErrorKind::SandboxUnavailable));
                assert!(decision.reason.contains("toolgate doctor"));
            }
        }
    }
    for (spoken, expected) in [
        (rule("run_command", Allow), Allow),
        (rule("run_command", Allow).command("ls"), Allow),
        (rule("*", Allow), Allow),
        (rule("run_command", Ask), Ask),
        (rule("run_command", Deny), Deny),
        (rule("run_command", Allow).command("cat"), Deny),
    ] {
        let decision = decide(
            &rules(std::slice::from_ref(&spoken)),
            &run("ls").unsandboxed(),
        );
        assert_eq!(decision.action, expected, "{spoken:?}");
        assert_eq!(
            decision.kind == Some(ErrorKind::SandboxUnavailable),
            spoken.command.is_some_and(|words| words == ["cat".into()])
        );
    }
    // A line that could not be read at all shows no commands and is still one.
    let mut unread = run("").unsandboxed();
    unread.facts.runs.clear();
    unread.facts.complete = false;
    let decision = decide(&rules(&[rule("*", Allow)]), &unread);
    assert_eq!(decision.kind, Some(ErrorKind::SandboxUnavailable));
    assert_eq!(action(&rules(&[rule("*", Allow).opaque()]), &unread), Allow);
    unread.command_sandbox = true;
    assert_eq!(action(&rules(&[rule("*", Allow)]), &unread), Ask);
    // Said by somebody who is not trusted it is silence.
    let theirs = policy(&[untrusted("project", &[rule("run_command", Allow)])]);
    assert_eq!(action(&theirs, &run("ls").unsandboxed()), Deny);
    // File tools stand behind the path sandbox, whatever the command sandbox is.
    let autonomous = policy_with(settings(Trust::Autonomous, None), &[]);
    assert_eq!(action(&autonomous, &write("a").unsandboxed()), Allow);
}

#[test]
fn what_is_opaque_runs_behind_sandboxes_or_is_asked() {
    let settings = Settings {
        default_action: Some(Allow),
        ..settings(Trust::Autonomous, None)
    };
    let policy = policy_with(settings, &[]);
    assert_eq!(action(&policy, &unknown("mcp")), Allow);
    assert_eq!(action(&policy, &unknown("mcp").unsandboxed()), Ask);
    assert_eq!(action(&policy, &run("make $X")), Allow);
    assert_eq!(action(&policy, &run("make $X").unsandboxed()), Deny);
}
