//! What a decision tells the person and the model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_model::{Facts, Risk};
use toolgate_policy::{Mode, Operator, RuleSpec, Settings, Trust, WordPattern};

fn reason(rule: RuleSpec, call: &Call) -> String {
    decide(&rules(&[rule.at("toolgate.toml", 12)]), call).reason
}

#[test]
fn a_reason_names_the_rule_its_place_and_the_next_step() {
    assert_eq!(
        reason(
            rule("write_file", Deny)
                .writes(&["migrations/"])
                .message("Use the migration tool."),
            &write("migrations/1.sql")
        ),
        "Denied by the rule `deny write_file writes=[\"migrations/\"]` in toolgate.toml:12 (user), which matches `write migrations/1.sql`. Use the migration tool. Go another way, or let the user change that rule."
    );
    assert_eq!(
        reason(
            rule("bash", Ask)
                .command("git push")
                .message("It publishes."),
            &run("git push")
        ),
        "Needs approval by the rule `ask bash command=[\"git\",\"push\"]` in toolgate.toml:12 (user), which matches `command git push`. It publishes."
    );
    assert_eq!(
        reason(rule("read_file", Allow).message("not shown"), &read("a")),
        "Allowed by the rule `allow read_file` in toolgate.toml:12 (user), which matches `read a`."
    );
    let mut claimed = run("x");
    claimed.facts.writes = vec!["w".into()];
    claimed.facts.runs.clear();
    assert_eq!(
        reason(rule("*", Allow).writes(&["w"]), &claimed),
        "The rule `allow * writes=[\"w\"]` in toolgate.toml:12 (user) allows `write w`, but no sandbox is built from what a command claims, so it needs approval."
    );
}

#[test]
fn a_default_says_which_settings_made_it() {
    let default = |settings: Settings, call: &Call| {
        let decision = decide(&policy_with(settings, &[]), call);
        assert_eq!(decision.source.layer, "built-in");
        (decision.rule, decision.reason)
    };
    let (rule, reason) = default(Settings::default(), &write("a"));
    assert_eq!(rule, "default for side effects: trust = \"guided\"");
    assert_eq!(
        reason,
        "No rule covers `write a`; with trust = \"guided\" it needs approval. A rule that allows it saves the question."
    );
    let (rule, reason) = default(Settings::default(), &read("a"));
    assert_eq!(rule, "default for read-only: trust = \"guided\"");
    assert!(reason.ends_with("it is allowed."), "{reason}");
    let deny = Settings {
        trust: Trust::Autonomous,
        mode: Some(Mode::Deny),
        ..Settings::default()
    };
    let (rule, reason) = default(deny, &read("a"));
    assert_eq!(
        rule,
        "default for read-only: trust = \"autonomous\", mode = \"deny\""
    );
    assert!(
        reason.ends_with("it is denied. The user can allow it with a rule or the allowlist."),
        "{reason}"
    );
    let fixed = Settings {
        trust: Trust::Supervised,
        mode: Some(Mode::Auto),
        default_action: Some(Ask),
        ..Settings::default()
    };
    let (rule, reason) = default(fixed.clone(), &unknown("mcp"));
    assert_eq!(rule, "default for side effects: default_action = \"ask\"");
    assert!(reason.contains("`tool mcp`"), "{reason}");
    let mut opaque = unknown("mcp");
    opaque.facts.reads = vec!["a".into()];
    opaque.side_effects = false;
    let trusting = Settings {
        trust: Trust::Autonomous,
        mode: None,
        ..Settings::default()
    };
    let (rule, reason) = default(trusting, &opaque);
    assert_eq!(rule, "default for opaque: trust = \"autonomous\"");
    assert!(
        reason.contains("only known when it runs") && reason.contains("opaque = true"),
        "{reason}"
    );

    let mut layer = trusted("user", &[]);
    layer.allowlist = Some(listed(&["write_file"]));
    let decision = decide(&policy_with(fixed, &[layer]), &write("a"));
    assert_eq!(
        decision.rule,
        "allowlist, trust = \"supervised\", mode = \"auto\""
    );
    assert_eq!(
        decision.reason,
        "The tool is on the allowlist in user; with trust = \"supervised\", mode = \"auto\" it needs approval."
    );
}

#[test]
fn sandboxes_floors_and_approvals_say_what_they_are() {
    let decision = decide(&rules(&[]), &run("ls").unsandboxed());
    assert_eq!(decision.rule, "default: no command without a sandbox");
    assert!(
        decision
            .reason
            .starts_with("No rule covers `command ls`, and without the command sandbox")
    );
    let mut call = run("x");
    call.facts.catastrophic = vec!["one".into(), "two\nlines".into()];
    let decision = decide(&rules(&[]), &call);
    assert_eq!(decision.rule, "floor: catastrophic");
    assert!(
        decision
            .reason
            .starts_with("Denied in every mode: one; two\\nlines.")
    );
    let decision = decide(&rules(&[]), &read("a").approving());
    assert_eq!(decision.rule, "requires_approval");
    assert!(
        decision
            .reason
            .contains("`read_file` wants this call approved")
    );
    assert_eq!(decision.source.layer, "built-in");
    assert_eq!(decision.atoms.len(), 2);
}

#[test]
fn every_atom_is_explained_by_layer_rule_and_answer() {
    let mut call = run("git status");
    call.facts.reads = vec!["a".into()];
    let policy = rules(&[rule("run_command", Allow).command("git")]);
    let decision = decide(&policy, &call);
    let told: Vec<_> = decision
        .atoms
        .iter()
        .map(|a| (a.atom.as_str(), a.layer.as_str(), a.rule.as_str(), a.answer))
        .collect();
    assert_eq!(
        told,
        [
            ("tool run_command", "built-in", "its facts decide", Allow),
            (
                "read a",
                "built-in",
                "default for read-only: trust = \"guided\"",
                Allow
            ),
            (
                "command git status",
                "user",
                "allow run_command command=[\"git\"]",
                Allow
            ),
        ]
    );
    assert_eq!(
        decision.source.layer, "user",
        "of equal answers the rule's is told"
    );
}

#[test]
fn the_rules_of_the_documentation_can_be_read() {
    #[derive(serde::Deserialize)]
    struct File {
        rules: Vec<RuleSpec>,
    }
    let text = r#"
        [[rules]]
        tool = "run_command"
        action = "allow"
        command = ["cargo", ["test", "check"]]
        message = "shown when it asks or denies"
        examples = { match = ["cargo test -p x"], not_match = ["cargo test; curl x"] }

        [[rules]]
        tool = "write_file"
        action = "deny"
        when = [{ param = "path", operator = "starts_with", value = "migrations/" }]

        [[rules]]
        tool = "*"
        action = "allow"
        reads = ["src/**"]
        risk = "low"

        [[rules]]
        tool = "x"
        action = "ask"
        opaque = true
        when = [{ param = "p", operator = "startsWith", value = ["a", "b"] }]
    "#;
    let file: File = toml::from_str(text).unwrap();
    let [cargo, migrations, sources, opaque] = &file.rules[..] else {
        panic!()
    };
    assert_eq!(
        cargo.command.as_deref(),
        Some(
            &[
                "cargo".into(),
                WordPattern::Any(strings(&["test", "check"]))
            ][..]
        )
    );
    assert_eq!(cargo.examples.matches, ["cargo test -p x"]);
    assert_eq!(cargo.examples.not_matches, ["cargo test; curl x"]);
    assert_eq!(migrations.when[0].operator, Operator::StartsWith);
    assert_eq!(sources.risk, Some(Risk::Low));
    assert!(opaque.opaque);
    assert_eq!(opaque.when[0].operator, Operator::StartsWith);
    assert_eq!(opaque.when[0].value.list(), ["a", "b"]);
    for rule in &file.rules {
        let written = toml::to_string(rule).unwrap();
        assert_eq!(
            &toml::from_str::<RuleSpec>(&written).unwrap(),
            rule,
            "{written}"
        );
    }
    let bare = toml::to_string(sources).unwrap();
    assert!(
        !bare.contains("opaque") && !bare.contains("examples"),
        "{bare}"
    );
    for half in [
        rule("x", Deny).examples(&["a"], &[]),
        rule("x", Deny).examples(&[], &["a"]),
    ] {
        let written = toml::to_string(&half).unwrap();
        assert_eq!(toml::from_str::<RuleSpec>(&written).unwrap(), half);
    }
    let policy = rules(&file.rules);
    assert_eq!(action(&policy, &run("cargo test -p x")), Allow);
    assert_eq!(action(&policy, &run("cargo test; curl x")), Ask);
    assert_eq!(action(&policy, &write("migrations/1.sql")), Deny);
    assert_eq!(action(&policy, &read("src/a")), Allow);
    for wrong in [
        "tool = \"x\"\naction = \"maybe\"",
        "tool = \"x\"",
        "tool = \"x\"\naction = \"deny\"\nwriting = []",
        "tool = \"x\"\naction = \"deny\"\nwhen = [{ param = \"p\", operator = \"like\", value = \"x\" }]",
        "tool = \"x\"\naction = \"deny\"\nexamples = { matches = [] }",
    ] {
        assert!(toml::from_str::<RuleSpec>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn risk_comes_from_the_rule_or_else_from_the_call() {
    let risk = |list: &[RuleSpec], call: &Call| {
        let policy = rules(list);
        let risk = policy.risk(&call.question());
        assert_eq!(policy.judge(call.question()).risk, risk);
        risk
    };
    let declared = |mut call: Call, risk| {
        call.risk = risk;
        call
    };
    for (call, expected) in [
        (read("a"), Risk::Low),
        (declared(read("a"), Risk::High), Risk::High),
        (write("a"), Risk::Medium),
        (fetch("h"), Risk::Medium),
        (delete("a"), Risk::High),
        (run("ls"), Risk::High),
        (run("ls $X"), Risk::High),
        (run("ls").unsandboxed(), Risk::High),
        (unknown("x"), Risk::Medium),
        (Call::new("todo", Facts::none()), Risk::Low),
        (
            declared(Call::new("todo", Facts::none()), Risk::Medium),
            Risk::Medium,
        ),
    ] {
        assert_eq!(risk(&[], &call), expected, "{call:?}");
    }
    // A trusted rule may lower what it decides, and only that.
    let status = rule("run_command", Allow)
        .command("git status")
        .risk(Risk::Low);
    let shell = |line: &str| declared(run(line), Risk::High);
    assert_eq!(
        risk(std::slice::from_ref(&status), &shell("git status")),
        Risk::Low
    );
    assert_eq!(
        risk(std::slice::from_ref(&status), &shell("git status; ls")),
        Risk::High
    );
    assert_eq!(
        risk(std::slice::from_ref(&status), &shell("ls")),
        Risk::High
    );
    let mut writing = shell("git status");
    writing.facts.writes = vec!["w".into()];
    assert_eq!(risk(std::slice::from_ref(&status), &writing), Risk::Medium);
    assert_eq!(
        risk(&[rule("read_file", Ask).risk(Risk::High)], &read("a")),
        Risk::High
    );
    let named = rule("todo", Allow).risk(Risk::Low);
    let todo = declared(Call::new("todo", Facts::none()), Risk::High);
    assert_eq!(risk(&[named], &todo), Risk::Low);
    // An untrusted one can only raise.
    for (theirs, expected) in [(Risk::Low, Risk::Medium), (Risk::High, Risk::High)] {
        let layer = untrusted("project", &[rule("write_file", Ask).risk(theirs)]);
        assert_eq!(policy(&[layer]).risk(&write("a").question()), expected);
    }
    let silent = untrusted("project", &[rule("write_file", Allow).risk(Risk::High)]);
    assert_eq!(policy(&[silent]).risk(&write("a").question()), Risk::Medium);
    let off = policy_with(
        Settings {
            enabled: false,
            ..Settings::default()
        },
        &[],
    );
    assert_eq!(
        judge(&off, &declared(read("a"), Risk::High)).risk,
        Risk::High
    );
}
