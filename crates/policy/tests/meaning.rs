//! Every sentence of the meaning of rules, one by one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use serde_json::json;
use support::*;
use toolgate_model::{Access, Action, ErrorKind, Facts, Run};
use toolgate_policy::{
    Grant, GrantScope, LayerSpec, Mode, Operator, RuleSpec, Settings, Stage, Trust, atom_texts,
};

/// Facts of every kind at once, complete.
fn everything() -> Call {
    let mut call = run("git status");
    call.facts.reads = vec!["r".into()];
    call.facts.writes = vec!["w".into()];
    call.facts.deletes = vec!["d".into()];
    call.facts.connects = vec!["h".into()];
    call.facts.claimed = false;
    call
}

fn atoms_answered(rule: RuleSpec, call: &Call) -> Vec<String> {
    decide(&rules(&[rule]), call)
        .atoms
        .into_iter()
        .filter(|atom| atom.layer == "user")
        .map(|atom| atom.atom)
        .collect()
}

#[test]
fn a_call_has_the_atoms_of_its_tool_its_facts_and_opaque() {
    let mut call = everything();
    let atoms = |call: &Call| -> Vec<String> {
        let decision = decide(&rules(&[]), call);
        let atoms: Vec<String> = decision.atoms.into_iter().map(|atom| atom.atom).collect();
        // Who names them without a decision names the same.
        assert_eq!(atom_texts(&call.tool, &call.facts), atoms);
        atoms
    };
    let complete = [
        "tool run_command",
        "read r",
        "write w",
        "delete d",
        "command git status",
        "connect h",
    ];
    assert_eq!(atoms(&call), complete);
    call.facts.complete = false;
    assert_eq!(atoms(&call)[..6], complete);
    assert_eq!(atoms(&call)[6..], ["opaque"]);
    // A run that says it is opaque counts, even where the list claims to be complete.
    call.facts.complete = true;
    call.facts.runs[0].opaque = true;
    assert_eq!(atoms(&call)[6..], ["opaque"]);
}

#[test]
fn a_rule_with_fact_keys_speaks_only_to_atoms_of_those_kinds_that_fit() {
    let any = |action| rule("run_command", action);
    for (spoken, rule) in [
        ("read r", any(Deny).reads(&["r"])),
        ("write w", any(Deny).writes(&["w"])),
        ("delete d", any(Deny).deletes(&["d"])),
        ("command git status", any(Deny).command("git")),
        ("connect h", any(Deny).connects(&["h"])),
    ] {
        assert_eq!(atoms_answered(rule.clone(), &everything()), [spoken]);
        let mut allow = rule;
        allow.action = Allow;
        assert_eq!(atoms_answered(allow, &everything()), [spoken]);
    }
    for silent in [
        any(Deny).reads(&["w"]),
        any(Deny).writes(&["r"]),
        any(Deny).deletes(&["r"]),
        any(Deny).command("git log"),
        any(Deny).connects(&["g"]),
    ] {
        assert!(atoms_answered(silent, &everything()).is_empty());
    }
    let two = any(Deny).reads(&["r"]).connects(&["h"]);
    assert_eq!(atoms_answered(two, &everything()), ["read r", "connect h"]);
}

#[test]
fn a_rule_without_fact_keys_speaks_to_every_atom_except_opaque() {
    let mut call = everything();
    call.facts.complete = false;
    for action in [Allow, Ask, Deny] {
        let spoken = atoms_answered(rule("run_command", action), &call);
        assert_eq!(spoken.len(), 5);
        assert!(!spoken.contains(&"opaque".to_owned()));
    }
}

#[test]
fn the_tool_itself_is_decided_where_its_facts_do_not_show_what_it_does() {
    let deny = rules(&[rule("tool", Allow).reads(&["a"]), rule("tool", Deny)]);
    let mut call = Call::new("tool", Facts::reading("a"));
    assert_eq!(
        action(&deny, &call),
        Allow,
        "a read-only tool is what it reads"
    );
    call.side_effects = true;
    assert_eq!(action(&deny, &call), Deny, "a read shows no side effect");
    assert_eq!(action(&rules(&[]), &call), Ask);
    call.facts.writes = vec!["a".into()];
    let allow = rules(&[
        rule("tool", Allow).reads(&["a"]).writes(&["a"]),
        rule("tool", Deny),
    ]);
    assert_eq!(action(&allow, &call), Allow);
    // What is not known shows nothing: a rule about the tool still holds.
    assert_eq!(action(&rules(&[rule("mcp", Deny)]), &unknown("mcp")), Deny);
    assert_eq!(action(&rules(&[rule("mcp", Allow)]), &unknown("mcp")), Ask);
    assert_eq!(
        action(&rules(&[rule("mcp", Allow).opaque()]), &unknown("mcp")),
        Allow
    );
    let none = Call::new("todo", Facts::none());
    assert_eq!(action(&rules(&[rule("todo", Deny)]), &none), Deny);
    assert_eq!(action(&rules(&[]), &none), Allow);
}

#[test]
fn opaque_is_matched_only_by_a_rule_that_says_so() {
    let mut call = everything();
    call.facts.complete = false;
    // An allow: even if not everything is known.
    let allow = rule("run_command", Allow).opaque();
    assert_eq!(atoms_answered(allow.clone(), &call).len(), 6);
    assert_eq!(atoms_answered(allow, &everything()).len(), 5);
    // A deny or ask: only if not everything is known.
    for action in [Ask, Deny] {
        let rule = rule("run_command", action).opaque();
        assert_eq!(atoms_answered(rule.clone(), &call), ["opaque"]);
        assert!(atoms_answered(rule, &everything()).is_empty());
    }
}

#[test]
fn the_command_of_an_allow_does_not_fit_words_that_are_not_known() {
    let git = || rule("run_command", Allow).command("git");
    assert_eq!(action(&rules(&[git()]), &run("git log")), Allow);
    assert_eq!(action(&rules(&[git()]), &run("git log $X")), Ask);
    assert!(atoms_answered(git(), &run("git log $X")).is_empty());
    assert_eq!(action(&rules(&[git().opaque()]), &run("git log $X")), Allow);
    assert_eq!(action(&rules(&[git().opaque()]), &run("git log")), Allow);
    // It speaks for its own program only: with another on the line the unknown is asked.
    let two = decide(&rules(&[git().opaque()]), &run("git log $X; ls"));
    assert_eq!(two.action, Ask);
    assert_eq!(two.atoms.last().unwrap().answer, Ask);
    // A list of facts that is not complete, and no command to be seen.
    let mut none = run("");
    none.facts.runs.clear();
    none.facts.complete = false;
    assert_eq!(action(&rules(&[git().opaque()]), &none), Ask);
}

#[test]
fn the_command_of_a_deny_matches_as_far_as_words_are_known() {
    let rm = |action| rule("run_command", action).command("rm");
    assert_eq!(action(&rules(&[rm(Deny)]), &run("rm $X")), Deny);
    assert_eq!(atoms_answered(rm(Ask), &run("rm $X")), ["command rm $X"]);
    // With opaque it holds only for calls that are not known wholly.
    assert_eq!(action(&rules(&[rm(Deny).opaque()]), &run("rm $X")), Deny);
    assert_eq!(action(&rules(&[rm(Deny).opaque()]), &run("rm x")), Ask);
    assert_eq!(
        action(&rules(&[rm(Deny).opaque()]), &run("rm x; ls $Y")),
        Deny
    );
    assert_eq!(action(&rules(&[rm(Deny).opaque()]), &run("ls $Y")), Ask);
}

#[test]
fn conditions_are_about_the_whole_call() {
    let gated = rule("run_command", Deny).when("command", Operator::Contains, &["status"]);
    assert_eq!(atoms_answered(gated, &everything()).len(), 5);
    let shut = rule("run_command", Deny).when("command", Operator::Contains, &["push"]);
    assert!(atoms_answered(shut, &everything()).is_empty());
    let shut =
        rule("run_command", Deny)
            .command("git")
            .when("command", Operator::Contains, &["push"]);
    assert!(atoms_answered(shut, &everything()).is_empty());
}

#[test]
fn a_rule_whose_conditions_do_not_hold_leaves_the_atom_to_the_next() {
    let never = |rule: RuleSpec| rule.when("nothing", Operator::Equals, &["x"]);
    for (first, second, call) in [
        (rule("*", Allow), rule("*", Deny), write("a")),
        (
            rule("*", Allow).writes(&["a"]),
            rule("*", Deny).writes(&["a"]),
            write("a"),
        ),
        (
            rule("*", Allow).command("a"),
            rule("*", Deny).command("a"),
            run("a"),
        ),
        (
            rule("*", Allow).connects(&["a"]),
            rule("*", Deny).connects(&["a"]),
            fetch("a"),
        ),
        (
            rule("*", Allow).connects(&["*"]),
            rule("*", Deny).connects(&["*"]),
            fetch("a"),
        ),
        (
            rule("*", Allow).opaque(),
            rule("*", Deny).opaque(),
            run("a $X"),
        ),
        (rule("*", Allow).writes(&["a"]), rule("*", Deny), write("a")),
        (rule("*", Allow), rule("*", Deny).writes(&["a"]), write("a")),
    ] {
        let list = [never(first.clone()), second.clone(), first];
        assert_eq!(action(&rules(&list), &call), Deny, "{list:?}");
        let list = [never(second.clone()), list[2].clone(), second];
        assert_ne!(action(&rules(&list), &call), Deny, "{list:?}");
    }
}

#[test]
fn hosts_are_fitted_by_name_and_port() {
    for (pattern, host, fits) in [
        ("h.io", "h.io", true),
        ("h.io", "x.io", false),
        ("h.io:80", "h.io:80", true),
        ("h.io:80", "h.io:81", false),
        ("*.h.io", "a.h.io", true),
        ("*.h.io", "h.io", false),
        ("*.h.io", "a.x.io", false),
        ("*:80", "h.io:81", false),
        ("*", "h.io:81", true),
    ] {
        for action in [Allow, Deny] {
            let policy = rules(&[rule("*", action).connects(&[pattern])]);
            let stage = judge(&policy, &fetch(host)).stage;
            assert_eq!(stage == Stage::Rule, fits, "{action} {pattern} on {host}");
        }
    }
}

#[test]
fn a_rule_names_a_tool_its_alias_or_every_tool() {
    for name in ["run_command", "bash", "shell", "*", " bash "] {
        assert_eq!(
            action(&rules(&[rule(name, Deny)]), &run("ls")),
            Deny,
            "{name}"
        );
    }
    assert_eq!(action(&rules(&[rule("read_file", Deny)]), &run("ls")), Ask);
}

#[test]
fn within_a_layer_an_atom_takes_the_first_rule_that_matches() {
    let first = |one, two| action(&rules(&[one, two]), &write("src/a"));
    let w = |action, pattern: &str| rule("write_file", action).writes(&[pattern]);
    assert_eq!(first(w(Allow, "src/**"), w(Deny, "**")), Allow);
    assert_eq!(first(w(Deny, "**"), w(Allow, "src/**")), Deny);
    assert_eq!(first(w(Deny, "docs/**"), w(Allow, "src/**")), Allow);
    assert_eq!(first(w(Allow, "src/**"), rule("write_file", Deny)), Allow);
    assert_eq!(first(w(Allow, "docs/**"), rule("write_file", Deny)), Deny);
    assert_eq!(first(rule("write_file", Allow), w(Deny, "src/**")), Allow);
    // The order of rules, not of patterns or keys.
    let call = run("git push");
    let c = |action, words: &str| rule("run_command", action).command(words);
    assert_eq!(
        action(&rules(&[c(Allow, "git"), c(Deny, "git push")]), &call),
        Allow
    );
    assert_eq!(
        action(&rules(&[c(Deny, "git push"), c(Allow, "git")]), &call),
        Deny
    );
    assert_eq!(action(&rules(&[c(Deny, ""), c(Allow, "git")]), &call), Deny);
    assert_eq!(
        action(&rules(&[c(Allow, "git"), c(Deny, "")]), &call),
        Allow
    );
    let h = |action, host: &str| rule("web_fetch", action).connects(&[host]);
    assert_eq!(
        action(&rules(&[h(Deny, "*"), h(Allow, "a")]), &fetch("a")),
        Deny
    );
    assert_eq!(
        action(&rules(&[h(Allow, "a"), h(Deny, "*")]), &fetch("a")),
        Allow
    );
}

#[test]
fn rules_that_name_the_tool_come_before_the_star() {
    let both = [rule("*", Deny), rule("write_file", Allow)];
    assert_eq!(action(&rules(&both), &write("a")), Allow);
    assert_eq!(action(&rules(&both), &read("a")), Deny);
    // Where the tool's own rules are silent, the star speaks.
    let silent = [rule("*", Deny), rule("write_file", Allow).writes(&["b"])];
    assert_eq!(action(&rules(&silent), &write("a")), Deny);
}

#[test]
fn a_deny_of_any_trusted_layer_is_final_else_the_latest_that_speaks() {
    let layer = |name: &str, answer: Option<Action>| {
        trusted(
            name,
            &answer
                .map(|answer| rule("write_file", answer))
                .into_iter()
                .collect::<Vec<_>>(),
        )
    };
    let answers = [None, Some(Allow), Some(Ask), Some(Deny)];
    for one in answers {
        for two in answers {
            for three in answers {
                let policy = policy(&[
                    layer("built-in", one),
                    layer("user", two),
                    layer("config", three),
                ]);
                let spoken: Vec<Action> = [one, two, three].into_iter().flatten().collect();
                let expected = if spoken.contains(&Deny) {
                    Deny
                } else {
                    spoken.last().copied().unwrap_or(Ask)
                };
                assert_eq!(
                    action(&policy, &write("a")),
                    expected,
                    "{one:?} {two:?} {three:?}"
                );
            }
        }
    }
    let policy = policy(&[
        layer("built-in", Some(Deny)),
        layer("user", Some(Deny)),
        layer("config", Some(Allow)),
    ]);
    assert_eq!(decide(&policy, &write("a")).source.layer, "built-in");
}

#[test]
fn untrusted_layers_can_only_make_the_answer_stricter() {
    let answers = [Allow, Ask, Deny];
    for own in answers {
        for theirs in answers {
            let policy = policy(&[
                untrusted("project", &[rule("write_file", theirs)]),
                trusted("user", &[rule("write_file", own)]),
                untrusted("scope", &[rule("write_file", Allow)]),
            ]);
            assert_eq!(
                action(&policy, &write("a")),
                own.max(theirs),
                "{own} {theirs}"
            );
        }
    }
    // Their allow is silence: the default stays, and so does what the rule would have lifted.
    let only = policy(&[untrusted("project", &[rule("write_file", Allow)])]);
    assert_eq!(action(&only, &write("a")), Ask);
    assert_eq!(judge(&only, &write("a")).stage, Stage::Default);
    let own = trusted("user", &[rule("*", Allow)]);
    let only = policy(&[own, untrusted("project", &[rule("write_file", Allow)])]);
    assert_eq!(action(&only, &write("a").approving()), Ask);
    // It is still the first rule of its layer that fits.
    let shadow = untrusted(
        "project",
        &[rule("write_file", Allow), rule("write_file", Deny)],
    );
    assert_eq!(action(&policy(&[shadow]), &write("a")), Ask);
    // Where a default and a rule are equally strict, the rule is the one that is named.
    let same = policy(&[untrusted("project", &[rule("write_file", Ask)])]);
    assert_eq!(decide(&same, &write("a")).source.layer, "project");
    let strictest = policy(&[
        untrusted("a", &[rule("write_file", Ask)]),
        untrusted("b", &[rule("write_file", Deny)]),
        untrusted("c", &[rule("write_file", Deny)]),
    ]);
    assert_eq!(decide(&strictest, &write("a")).source.layer, "b");
    let tied = policy(&[
        trusted("user", &[rule("write_file", Ask)]),
        untrusted("project", &[rule("write_file", Ask)]),
    ]);
    assert_eq!(decide(&tied, &write("a")).source.layer, "user");
}

#[test]
fn a_call_takes_the_strictest_of_its_atoms() {
    let policy = rules(&[
        rule("*", Allow).reads(&["a"]),
        rule("*", Ask).reads(&["b"]),
        rule("*", Deny).reads(&["c"]),
    ]);
    for (paths, expected) in [
        (vec!["a"], Allow),
        (vec!["a", "b"], Ask),
        (vec!["b", "a"], Ask),
        (vec!["a", "b", "c"], Deny),
        (vec!["c", "b", "a"], Deny),
    ] {
        let mut call = read("");
        call.facts.reads = strings(&paths);
        assert_eq!(action(&policy, &call), expected, "{paths:?}");
    }
}

#[test]
fn the_floor_is_never_lifted_by_anything() {
    let mut call = run("rm -rf /").approving();
    call.facts.catastrophic = vec!["removes the whole file system".into()];
    let everything = [
        rule("run_command", Allow).opaque(),
        rule("run_command", Allow).command("rm"),
    ];
    let mut layer = trusted("user", &everything);
    layer.allowlist = Some(listed(&["run_command"]));
    let grants = LayerSpec::grants(&[Grant {
        tool: "run_command".into(),
        scope: GrantScope::Tool,
        source: Default::default(),
    }]);
    for trust in [Trust::Supervised, Trust::Guided, Trust::Autonomous] {
        for mode in [Mode::Auto, Mode::Prompt, Mode::Deny] {
            let settings = Settings {
                trust,
                mode: Some(mode),
                default_action: Some(Allow),
                prompt_side_effects: false,
                ..Settings::default()
            };
            let policy = policy_with(settings, &[layer.clone(), grants.clone()]);
            let verdict = judge(&policy, &call);
            assert_eq!(verdict.decision.action, Deny);
            assert_eq!(verdict.decision.kind, Some(ErrorKind::PolicyDenied));
            assert_eq!(verdict.stage, Stage::Floor);
            assert!(
                verdict
                    .decision
                    .reason
                    .contains("removes the whole file system")
            );
            assert_eq!(verdict.risk, toolgate_model::Risk::High);
            assert_eq!(verdict.decision.atoms.len(), 2);
        }
    }
}

#[test]
fn a_disabled_policy_denies_with_the_specified_text() {
    let settings = Settings {
        enabled: false,
        trust: Trust::Autonomous,
        default_action: Some(Allow),
        ..Settings::default()
    };
    let policy = policy_with(settings, &[trusted("user", &[rule("*", Allow).opaque()])]);
    let mut call = read("a");
    call.facts.catastrophic = vec!["x".into()];
    let verdict = judge(&policy, &call);
    assert_eq!(verdict.decision.action, Deny);
    assert_eq!(verdict.decision.kind, Some(ErrorKind::Disabled));
    assert_eq!(verdict.decision.reason, "Tool execution disabled by policy");
    assert_eq!(verdict.stage, Stage::Disabled);
}

#[test]
fn protected_paths_are_named_by_trusted_rules_that_write_them_out() {
    let policy = policy(&[
        trusted(
            "user",
            &[
                rule("write_file", Allow).writes(&[
                    ".vscode/settings.json",
                    "./.mcp.json",
                    "x/*.json",
                    ".idea/",
                    r"app/\[id\]/.envrc",
                    r"\*/x",
                ]),
                rule("*", Ask).reads(&[".git/config"]).deletes(&["old"]),
                rule("*", Deny).writes(&[".bashrc"]),
                rule("*", Allow)
                    .writes(&[".zshrc"])
                    .when("path", Operator::Equals, &[".zshrc"]),
            ],
        ),
        untrusted("project", &[rule("*", Allow).writes(&[".profile"])]),
    ]);
    for (tool, access, path, named) in [
        ("write_file", Access::Write, ".vscode/settings.json", true),
        ("write_file", Access::Write, ".mcp.json", true),
        ("write_file", Access::Read, ".vscode/settings.json", false),
        ("run_command", Access::Write, ".vscode/settings.json", false),
        ("write_file", Access::Write, "x/a.json", false),
        ("write_file", Access::Write, "x/*.json", false),
        ("write_file", Access::Write, ".idea", false),
        ("write_file", Access::Write, "app/[id]/.envrc", true),
        ("write_file", Access::Write, "*/x", true),
        ("write_file", Access::Write, "a/x", false),
        ("anything", Access::Read, ".git/config", true),
        ("anything", Access::Delete, "old", true),
        ("anything", Access::Write, ".git/config", false),
        ("write_file", Access::Write, ".bashrc", false),
        ("write_file", Access::Write, ".zshrc", false),
        ("write_file", Access::Write, ".profile", false),
    ] {
        assert_eq!(
            policy.names_path(tool, access, path),
            named,
            "{tool} {access:?} {path}"
        );
    }
    assert_eq!(policy.named_paths().count(), 6);
}

#[test]
fn requires_approval_turns_allow_into_ask_unless_a_rule_names_the_tool() {
    let ask = |layers: &[LayerSpec], call: &Call| {
        let verdict = judge(&policy(layers), &call.clone().approving());
        assert_eq!(
            verdict.stage == Stage::Approval,
            verdict.decision.rule == "requires_approval"
        );
        verdict.decision.action
    };
    let user = |list: &[RuleSpec]| trusted("user", list);
    assert_eq!(ask(&[], &read("a")), Ask, "a default is no rule");
    assert_eq!(
        ask(&[user(&[rule("*", Allow)])], &write("a")),
        Ask,
        "the star names nobody"
    );
    assert_eq!(
        ask(&[user(&[rule("write_file", Allow)])], &write("a")),
        Allow
    );
    assert_eq!(
        ask(&[user(&[rule("file_write", Allow)])], &write("a")),
        Allow
    );
    assert_eq!(
        ask(
            &[user(&[rule("write_file", Allow).writes(&["a"])])],
            &write("a")
        ),
        Allow
    );
    assert_eq!(
        ask(
            &[user(&[rule("read_file", Allow).reads(&["a"])])],
            &read("a")
        ),
        Allow
    );
    assert_eq!(ask(&[user(&[rule("write_file", Ask)])], &write("a")), Ask);
    assert_eq!(ask(&[user(&[rule("write_file", Deny)])], &write("a")), Deny);
    let mut list = user(&[]);
    list.allowlist = Some(listed(&["write_file"]));
    assert_eq!(ask(&[list], &write("a")), Ask, "an allowlist is no rule");
    assert_eq!(
        ask(
            &[untrusted("project", &[rule("read_file", Allow)])],
            &read("a")
        ),
        Ask
    );

    // Every effect of the call has to be consented to, every read if it only reads.
    let cat = rule("run_command", Allow).command("cat");
    let ls = rule("*", Allow).command("ls");
    let mut reading = run("cat a");
    reading.facts.reads = vec!["a".into()];
    assert_eq!(ask(&[user(std::slice::from_ref(&cat))], &reading), Allow);
    assert_eq!(
        ask(&[user(&[cat.clone(), ls.clone()])], &run("cat a; ls")),
        Ask
    );
    assert_eq!(ask(&[user(&[cat, ls])], &run("ls")), Ask);
    let mut two = read("a");
    two.facts.reads.push("b".into());
    assert_eq!(
        ask(&[user(&[rule("read_file", Allow).reads(&["a"])])], &two),
        Ask
    );
    assert_eq!(
        ask(
            &[user(&[rule("read_file", Allow).reads(&["a", "b"])])],
            &two
        ),
        Allow
    );
    assert_eq!(ask(&[user(&[rule("read_file", Allow)])], &two), Allow);
}

#[test]
fn requires_approval_is_waived_for_an_autonomous_model_behind_the_command_sandbox() {
    for (trust, sandbox, expected) in [
        (Trust::Autonomous, true, Allow),
        (Trust::Autonomous, false, Ask),
        (Trust::Guided, true, Ask),
    ] {
        let settings = Settings {
            trust,
            ..Settings::default()
        };
        let mut call = read("a").approving();
        call.command_sandbox = sandbox;
        assert_eq!(
            action(&policy_with(settings, &[]), &call),
            expected,
            "{trust:?} {sandbox}"
        );
    }
}

#[test]
fn an_allow_that_rests_on_what_a_command_claims_holds_only_behind_a_sandbox_of_the_same_facts() {
    let mut call = run("tool");
    call.facts.reads = vec!["r".into()];
    call.facts.writes = vec!["w".into()];
    call.facts.deletes = vec!["d".into()];
    call.facts.connects = vec!["h".into()];
    let commands = rule("run_command", Allow).command("tool");
    let by_facts = [
        commands.clone(),
        rule("run_command", Allow).reads(&["r"]),
        rule("run_command", Allow).writes(&["w"]),
        rule("run_command", Allow).deletes(&["d"]),
        rule("run_command", Allow).connects(&["h"]),
    ];
    let decision = decide(&rules(&by_facts), &call);
    assert_eq!(decision.action, Ask);
    assert!(
        decision
            .reason
            .contains("no sandbox is built from what a command claims"),
        "{}",
        decision.reason
    );
    for atom in &decision.atoms {
        let claimed = !atom.atom.starts_with("command") && !atom.atom.starts_with("tool");
        assert_eq!(atom.answer == Ask, claimed, "{}", atom.atom);
    }
    call.sandbox_from_facts = true;
    assert_eq!(action(&rules(&by_facts), &call), Allow);
    call.sandbox_from_facts = false;
    call.facts.claimed = false;
    assert_eq!(action(&rules(&by_facts), &call), Allow);
    // The words of a command are no claim, even where the same rule is about paths too.
    let both = [rule("run_command", Allow).command("tool").reads(&["r"])];
    assert_eq!(action(&rules(&both), &run("tool")), Allow);
    // An allow of the whole tool does not rest on claims.
    call.facts.claimed = true;
    assert_eq!(action(&rules(&[rule("run_command", Allow)]), &call), Allow);
    // Nor does a denial become weaker by being about a claim.
    let denied = [
        rule("run_command", Deny).writes(&["w"]),
        rule("run_command", Allow),
    ];
    assert_eq!(action(&rules(&denied), &call), Deny);
    let asked = [
        rule("run_command", Ask).writes(&["w"]),
        rule("run_command", Allow),
    ];
    call.sandbox_from_facts = true;
    assert_eq!(action(&rules(&asked), &call), Ask);
}

#[test]
fn grants_are_the_top_layer_and_beat_neither_a_deny_nor_the_floor() {
    let grant = |scope| Grant {
        tool: "bash".into(),
        scope,
        source: Default::default(),
    };
    let granted = |scope, below: RuleSpec, call: &Call| {
        let layers = [
            trusted("user", &[below]),
            LayerSpec::grants(&[grant(scope)]),
        ];
        decide(&policy(&layers), call)
    };
    let words = |line: &str| GrantScope::Command(line.split(' ').map(str::to_owned).collect());
    let ask = rule("run_command", Ask);
    let deny = rule("run_command", Deny).command("git status");
    let other = rule("read_file", Deny);
    let status = run("git status -s").approving();
    let decision = granted(words("git status"), other.clone(), &status);
    assert_eq!(
        (decision.action, decision.source.layer.as_str()),
        (Allow, "grants")
    );
    assert_eq!(granted(words("git status"), deny, &status).action, Deny);
    assert_eq!(
        granted(words("git status"), other.clone(), &run("git push")).action,
        Ask
    );
    assert_eq!(
        granted(words("git status"), ask.clone(), &status).action,
        Allow
    );
    assert_eq!(
        granted(GrantScope::Tool, ask, &run("git status $X")).action,
        Allow
    );

    let path = |access, path: &str| GrantScope::Path {
        access,
        path: path.into(),
    };
    let mut call = run("x");
    call.facts.claimed = false;
    call.facts.runs.clear();
    call.facts.writes = vec!["a[1]*\\~.txt".into()];
    assert_eq!(
        granted(path(Access::Write, "./a[1]*\\~.txt"), other.clone(), &call).action,
        Allow
    );
    assert_eq!(
        granted(path(Access::Read, "a[1]*\\~.txt"), other.clone(), &call).action,
        Ask
    );
    call.facts.writes = vec!["a1x~.txt".into()];
    assert_eq!(
        granted(path(Access::Write, "a[1]*\\~.txt"), other.clone(), &call).action,
        Ask
    );
    call.facts.writes.clear();
    call.facts.deletes = vec!["~x".into()];
    assert_eq!(
        granted(path(Access::Delete, "~x"), other.clone(), &call).action,
        Allow
    );
    call.facts.deletes.clear();
    call.facts.reads = vec!["/etc/x".into()];
    assert_eq!(
        granted(path(Access::Read, "/etc/x"), other.clone(), &call).action,
        Ask,
        "the tool has side effects"
    );
    call.side_effects = false;
    assert_eq!(
        granted(path(Access::Read, "/etc/x"), other.clone(), &call).action,
        Allow
    );
    call.facts.reads.clear();
    call.facts.connects = vec!["h:1".into()];
    assert_eq!(
        granted(GrantScope::Host("h".into()), other, &call).action,
        Allow
    );
}

#[test]
fn every_command_of_a_line_has_to_be_allowed() {
    let policy = rules(&[rule("run_command", Allow).command("cargo test|check")]);
    for (line, expected) in [
        ("cargo test", Allow),
        ("cargo check -p x ; cargo test", Allow),
        ("cargo test ; curl x", Ask),
        ("curl x ; cargo test", Ask),
        ("cargo", Ask),
        ("./cargo test", Ask),
        ("/x/cargo test", Ask),
        ("cargo testing", Ask),
    ] {
        assert_eq!(action(&policy, &run(line)), expected, "{line}");
    }
    let policy = rules(&[
        rule("run_command", Allow),
        rule("run_command", Deny).command("curl"),
    ]);
    assert_eq!(
        action(&policy, &run("cargo test ; curl x")),
        Allow,
        "the first that fits"
    );
    let policy = rules(&[
        rule("run_command", Deny).command("curl"),
        rule("run_command", Allow),
    ]);
    assert_eq!(action(&policy, &run("cargo test ; curl x")), Deny);
    // More commands than anybody reads do not make a deny weaker.
    let line = format!("{}curl x", "cargo test ; ".repeat(2000));
    assert_eq!(action(&policy, &run(&line)), Deny);
}

#[test]
fn a_command_with_no_words_is_fitted_by_nothing_but_every_command() {
    let mut call = run("");
    call.facts.runs = vec![Run::default()];
    assert_eq!(
        action(&rules(&[rule("run_command", Deny).command("ls")]), &call),
        Ask
    );
    assert_eq!(
        action(&rules(&[rule("run_command", Deny).command("")]), &call),
        Deny
    );
}

#[test]
fn allowing_a_program_does_not_allow_what_it_writes_or_contacts() {
    let policy = rules(&[rule("run_command", Allow).command("cat")]);
    let with = |change: fn(&mut Facts)| {
        let mut call = run("cat a");
        change(&mut call.facts);
        action(&policy, &call)
    };
    assert_eq!(with(|facts| facts.reads = vec!["a".into()]), Allow);
    assert_eq!(with(|facts| facts.reads = vec!["/etc/shadow".into()]), Ask);
    assert_eq!(with(|facts| facts.reads = vec!["//etc".into()]), Ask);
    assert_eq!(with(|facts| facts.writes = vec!["a".into()]), Ask);
    assert_eq!(with(|facts| facts.deletes = vec!["a".into()]), Ask);
    assert_eq!(with(|facts| facts.connects = vec!["a".into()]), Ask);
    assert_eq!(with(|facts| facts.complete = false), Ask);
}

#[test]
fn denies_come_before_the_sandboxes_and_defaults_after() {
    let stage = |policy: &toolgate_policy::Policy, call: &Call| judge(policy, call).stage;
    let denied = rules(&[rule("*", Deny)]);
    assert_eq!(stage(&denied, &read("a")), Stage::Rule);
    let mode = policy_with(
        Settings {
            mode: Some(Mode::Deny),
            ..Settings::default()
        },
        &[],
    );
    assert_eq!(stage(&mode, &read("a")), Stage::Default);
    let claimed = rules(&[rule("run_command", Allow).command("x").writes(&["a"])]);
    let mut call = run("x");
    call.facts.writes = vec!["a".into()];
    assert_eq!(stage(&claimed, &call), Stage::Rule);
    // Of a rule's denial and a default's, the rule's is the one that is told.
    let both = rules(&[rule("run_command", Deny).command("b")]);
    let decision = decide(&both, &run("a ; b").unsandboxed());
    assert_eq!(decision.kind, Some(ErrorKind::PolicyDenied));
    assert_eq!(decision.source.layer, "user");
}

#[test]
fn conditions_compare_by_their_operator() {
    use Operator::{Contains, Equals, Matches, StartsWith};
    for (operator, values, value, strict, allow) in [
        (Equals, vec!["a"], json!("a"), true, true),
        (Equals, vec!["a"], json!("ab"), false, false),
        (Equals, vec!["x", "a"], json!("a"), true, true),
        (Contains, vec!["b"], json!("abc"), true, true),
        (Contains, vec!["d"], json!("abc"), false, false),
        (StartsWith, vec!["ab"], json!("abc"), true, true),
        (StartsWith, vec!["b"], json!("abc"), false, false),
        (Matches, vec!["^a.c$"], json!("abc"), true, true),
        (Matches, vec!["b"], json!("abc"), true, true),
        (Matches, vec!["x", "c$"], json!("abc"), true, true),
        (Matches, vec!["^b"], json!("abc"), false, false),
        (Equals, vec!["1"], json!(1), true, true),
        (Equals, vec!["true"], json!(true), true, true),
        (Equals, vec!["null"], json!(null), true, true),
        (Equals, vec!["a"], json!(["a", "a"]), true, true),
        (Equals, vec!["a"], json!(["a", "b"]), true, false),
        (Equals, vec!["a"], json!(["b", "a"]), true, false),
        (Equals, vec!["a"], json!(["b", "c"]), false, false),
        (
            Equals,
            vec!["a"],
            json!({"x": "a", "y": ["a", {"z": "a"}]}),
            true,
            true,
        ),
        (
            Equals,
            vec!["a"],
            json!({"x": "a", "y": ["a", {"z": "b"}]}),
            true,
            false,
        ),
        (Equals, vec!["a"], json!([]), false, false),
        (Equals, vec!["a"], json!([[], "a"]), true, true),
    ] {
        let call = read("a").with("p", value.clone());
        let one = |action| rules(&[rule("read_file", action).when("p", operator, &values)]);
        let context = format!("{operator:?} {values:?} on {value}");
        assert_eq!(action(&one(Deny), &call) == Deny, strict, "deny {context}");
        assert_eq!(action(&one(Ask), &call) == Ask, strict, "ask {context}");
        assert_eq!(
            judge(&one(Allow), &call).stage == Stage::Rule,
            allow,
            "allow {context}"
        );
    }
    let missing = rules(&[rule("read_file", Deny).when("q", Contains, &[""])]);
    assert_eq!(
        action(&missing, &read("a")),
        Allow,
        "a parameter that is not there fulfils nothing"
    );
    let both = rules(&[rule("read_file", Deny)
        .when("path", StartsWith, &["a"])
        .when("path", Contains, &["z"])]);
    assert_eq!(action(&both, &read("az")), Deny);
    assert_eq!(action(&both, &read("a")), Allow);
    assert_eq!(action(&both, &read("z")), Allow);
}
