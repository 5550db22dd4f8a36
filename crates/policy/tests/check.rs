//! Policy tested like code.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_policy::{
    Example, Finding, FindingKind, LayerSpec, Operator, RuleSpec, check, in_vain,
};

use FindingKind::{
    Caught, Contradiction, Ignored, Missed, NeverFits, Shadowed, UnknownTool, Unreadable,
};

/// Examples are command lines; `read PATH` and `write PATH` are calls of the file tools.
fn reader(tool: &str, text: &str) -> Result<Example, String> {
    let call = match (tool, text.split_once(' ')) {
        _ if text == "?" => return Err("it is a question".into()),
        ("read_file" | "*", Some(("read", path))) => read(path),
        ("write_file" | "*", Some(("write", path))) => write(path),
        ("web_fetch", _) => fetch(text),
        ("apply_patch", _) => delete(text),
        ("mcp", _) => unknown("mcp"),
        _ => run(text),
    };
    Ok(Example {
        tool: call.tool,
        args: call.args,
        facts: call.facts,
    })
}

fn found_in(layers: &[LayerSpec], known: &[&str]) -> Vec<Finding> {
    check(&policy(layers), known, &reader)
}

fn kinds(list: &[RuleSpec]) -> Vec<FindingKind> {
    found_in(&[trusted("user", list)], &[])
        .into_iter()
        .map(|finding| finding.kind)
        .collect()
}

fn told(list: &[RuleSpec]) -> String {
    found_in(&[trusted("user", list)], &[])
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn examples_that_hold_are_silent() {
    let cargo = rule("run_command", Allow).command("cargo test|check");
    for good in [
        cargo.clone().examples(
            &["cargo test -p x", "cargo check; cargo test"],
            &["cargo test; curl x", "cargo", "cargo test $X"],
        ),
        cargo
            .clone()
            .opaque()
            .examples(&["cargo test $X", "cargo test"], &["cargo test $X; ls"]),
        rule("*", Deny)
            .command("curl")
            .examples(&["ls; curl x", "curl $X"], &["ls", "write a"]),
        rule("run_command", Deny)
            .opaque()
            .examples(&["ls $X"], &["ls"]),
        rule("write_file", Ask)
            .writes(&["src/"])
            .examples(&["write src/a"], &["write docs/a"]),
        rule("write_file", Deny)
            .when("path", Operator::StartsWith, &["m/"])
            .examples(&["write m/1"], &["write n"]),
        rule("read_file", Allow).examples(&["read a"], &[]),
        rule("*", Allow)
            .reads(&["a"])
            .examples(&["read a"], &["read b", "write a"]),
        rule("web_fetch", Allow)
            .connects(&["docs.rs"])
            .examples(&["docs.rs"], &["evil.rs"]),
        rule("apply_patch", Deny)
            .deletes(&["a/"])
            .examples(&["a/b", "a"], &["b"]),
        rule("mcp", Allow).opaque().examples(&["any"], &[]),
        rule("mcp", Allow).examples(&[], &["any"]),
    ] {
        let findings = found_in(&[trusted("user", &[good])], &[]);
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[test]
fn examples_that_do_not_hold_are_told_with_their_place() {
    let cargo = rule("run_command", Allow)
        .command("cargo test")
        .at("c.toml", 9);
    let list = [cargo.clone().examples(
        &["cargo test", "cargo test; curl x"],
        &["cargo test -v", "ls"],
    )];
    assert_eq!(kinds(&list), [Missed, Caught]);
    let text = told(&list);
    assert!(text.contains("c.toml:9 (user): `allow run_command command=[\"cargo\",\"test\"]`: it must match \"cargo test; curl x\", but it does not fit `command curl x`"), "{text}");
    assert!(
        text.contains("it must not match \"cargo test -v\", but it does"),
        "{text}"
    );

    // The very rule has to decide, not another one before it.
    let list = [
        rule("run_command", Ask).command("cargo").at("c.toml", 3),
        cargo.clone().examples(&["cargo test"], &[]),
    ];
    assert!(kinds(&list).contains(&Missed));
    let text = told(&list);
    assert!(text.contains("`command cargo test` is taken by `ask run_command command=[\"cargo\"]` in c.toml:3 (user)"), "{text}");
    // A later rule of the same words is no obstacle.
    let list = [
        cargo.clone().examples(&["cargo test"], &[]),
        rule("run_command", Ask).command("cargo"),
    ];
    assert_eq!(kinds(&list), []);

    let list = [cargo.clone().examples(&["?"], &["?"])];
    assert_eq!(kinds(&list), [Unreadable, Unreadable]);
    assert!(told(&list).contains("the example \"?\" is no call: it is a question"));
    let list = [rule("*", Allow)
        .command("x")
        .examples(&["read a"], &["read a"])];
    assert_eq!(kinds(&list), [Missed]);
    assert!(told(&list).contains("nothing in it matches the rule"));
    let deny = rule("*", Deny)
        .command("curl")
        .examples(&["ls; cat"], &["ls; curl x"]);
    assert_eq!(kinds(std::slice::from_ref(&deny)), [Missed, Caught]);
    assert!(told(&[deny]).contains("but it does not fit `command cat`"));
    let missed = rule("mcp", Allow).examples(&["x"], &[]);
    assert!(told(&[missed]).contains("it does not fit `opaque`"));
    let gated = rule("write_file", Deny)
        .when("path", Operator::Equals, &["b"])
        .examples(&["write a"], &[]);
    assert_eq!(kinds(&[gated]), [Missed]);
}

#[test]
fn a_rule_shadowed_by_an_earlier_one_is_found() {
    let r = |action| rule("run_command", action);
    let when = |rule: RuleSpec| rule.when("command", Operator::Contains, &["x"]);
    for (earlier, later, shadowed) in [
        (r(Allow), r(Deny), true),
        (r(Allow), r(Deny).command("git"), true),
        (r(Allow), r(Deny).reads(&["a"]), true),
        (r(Allow), when(r(Deny)), true),
        (when(r(Deny)), r(Allow), false),
        (when(r(Deny)), when(r(Allow)), true),
        (when(r(Allow)), when(r(Deny)), false),
        (when(r(Allow)), when(r(Allow)), true),
        (
            when(r(Deny)),
            r(Deny).when("command", Operator::Contains, &["y"]),
            false,
        ),
        (rule("*", Allow), r(Deny), false),
        (r(Allow), rule("*", Deny), false),
        (rule("*", Allow), rule("*", Deny), true),
        (rule("bash", Allow), r(Deny), true),
        (rule("write_file", Allow), r(Deny), false),
        (r(Deny).command("git"), r(Allow), false),
        (r(Deny).command("git"), r(Allow).command("git push"), true),
        (r(Deny).command("git push"), r(Allow).command("git"), false),
        (r(Deny).command("git|hg"), r(Allow).command("hg"), true),
        (r(Deny).command(""), r(Allow).command("hg"), true),
        (r(Allow).command("git"), r(Deny).command("git push"), true),
        (r(Deny).command("git"), r(Deny).reads(&["a"]), false),
        (
            r(Deny).command("git"),
            r(Deny).reads(&["a"]).command("git"),
            false,
        ),
        (r(Deny).reads(&["a"]), r(Deny).command("git"), false),
        (
            r(Deny).reads(&["a/"]).command("git"),
            r(Allow).reads(&["a/b"]),
            true,
        ),
        (
            r(Deny).reads(&["a/"]),
            r(Allow).reads(&["a/b", "a/*.rs", "a/c/**"]),
            true,
        ),
        (r(Deny).reads(&["a/"]), r(Allow).reads(&["a/b", "b"]), false),
        (r(Deny).reads(&["a/"]), r(Allow).reads(&["ab"]), false),
        (r(Deny).reads(&["a/"]), r(Allow).writes(&["a/b"]), false),
        (r(Deny).writes(&["a/"]), r(Allow).writes(&["a/b"]), true),
        (r(Deny).writes(&["a/*"]), r(Allow).writes(&["a/b"]), false),
        (r(Deny).writes(&["*/b"]), r(Allow).writes(&["*/b/c"]), false),
        (r(Deny).writes(&["b"]), r(Allow).writes(&["c"]), false),
        (r(Allow).writes(&["a/b"]), r(Allow).writes(&["a/b"]), true),
        (r(Allow).writes(&["a/b"]), r(Deny).writes(&["a/b"]), false),
        (r(Allow).writes(&["a/"]), r(Deny).writes(&["a/b"]), true),
        (r(Allow).writes(&["**"]), r(Deny).writes(&["a/b"]), true),
        (r(Allow).writes(&["**"]), r(Deny).writes(&["*.pem"]), false),
        (r(Allow).writes(&["**"]), r(Allow).writes(&["*.pem"]), true),
        (
            r(Allow).writes(&["**"]),
            r(Allow).writes(&["/etc/x"]),
            false,
        ),
        (r(Deny).writes(&["**"]), r(Allow).writes(&["/etc/x"]), true),
        (
            r(Allow).writes(&["/etc/"]),
            r(Allow).writes(&["/etc/x"]),
            true,
        ),
        (
            r(Allow).writes(&["/etc/"]),
            r(Deny).writes(&["/etc/x"]),
            true,
        ),
        (r(Deny).writes(&["**"]), r(Deny).writes(&["*.pem"]), true),
        (
            r(Deny).deletes(&["a/b/"]),
            r(Deny).deletes(&["a/b/c"]),
            false,
        ),
        (
            r(Deny).deletes(&["a/b/"]),
            r(Allow).deletes(&["a/b/c"]),
            true,
        ),
        (
            r(Allow).deletes(&["a/b/"]),
            r(Deny).deletes(&["a/b/c"]),
            false,
        ),
        (
            r(Deny).deletes(&["a/b/c"]),
            r(Ask).deletes(&["a/b/c"]),
            true,
        ),
        (r(Deny).deletes(&["**"]), r(Ask).deletes(&["a/b/c"]), true),
        (r(Allow).deletes(&["**"]), r(Ask).deletes(&["a/b/c"]), true),
        (
            r(Deny).connects(&["*"]),
            r(Allow).connects(&["a", "b"]),
            true,
        ),
        (
            r(Deny).connects(&["a"]),
            r(Allow).connects(&["a", "b"]),
            false,
        ),
        (
            r(Deny).connects(&["a:1"]),
            r(Allow).connects(&["a:1"]),
            true,
        ),
        (
            r(Allow).connects(&["a:1"]),
            r(Deny).connects(&["a:1"]),
            false,
        ),
        (
            r(Allow).connects(&["a:1"]),
            r(Allow).connects(&["a:1"]),
            true,
        ),
        (r(Allow).connects(&["a"]), r(Deny).connects(&["a:1"]), true),
        // opaque
        (r(Allow), r(Allow).opaque(), false),
        (r(Allow).opaque(), r(Allow).opaque(), true),
        (r(Allow).opaque(), r(Allow), true),
        (r(Allow).opaque(), r(Deny).opaque(), true),
        (r(Allow), r(Deny).opaque(), false),
        (r(Deny).opaque(), r(Deny), false),
        (r(Deny).opaque(), r(Deny).opaque(), true),
        (r(Deny).opaque(), r(Allow).opaque(), false),
        (r(Deny).opaque(), r(Deny).opaque().command("x"), false),
        (r(Deny).opaque(), r(Allow).command("x"), false),
        (r(Deny).opaque().command("x"), r(Deny).opaque(), false),
        (
            r(Deny).opaque().command("x"),
            r(Deny).opaque().command("x y"),
            true,
        ),
        (r(Deny).command("x"), r(Deny).opaque().command("x y"), true),
        (
            r(Allow).opaque().command("x"),
            r(Allow).opaque().command("x y"),
            true,
        ),
        (r(Allow).opaque().command("x"), r(Allow).opaque(), false),
        (
            r(Allow).opaque().command("x y"),
            r(Allow).opaque().command("x"),
            false,
        ),
        (r(Allow).command("x"), r(Allow).opaque().command("x"), false),
        (r(Deny).command("x"), r(Allow).opaque().command("x"), false),
        (r(Allow).opaque().command("x"), r(Deny).opaque(), false),
    ] {
        let list = [earlier.clone(), later.clone()];
        let expected: &[FindingKind] = if shadowed { &[Shadowed] } else { &[] };
        assert_eq!(
            kinds(&list),
            expected,
            "{}\n{earlier:?}\n{later:?}",
            told(&list)
        );
    }
    let list = [
        r(Allow).command("git").at("c.toml", 1),
        r(Deny).command("git push").at("c.toml", 5),
    ];
    assert_eq!(
        told(&list),
        "c.toml:5 (user): `deny run_command command=[\"git\",\"push\"]`: only commands whose words are not all known reach it: `allow run_command command=[\"git\"]` in c.toml:1 (user) comes first; move the narrower rule up"
    );
    let list = [
        r(Deny).command("git").at("c.toml", 1),
        r(Deny).command("git push").at("c.toml", 5),
    ];
    assert!(told(&list).contains("nothing reaches it"));
    // Layers do not shadow each other.
    let apart = [trusted("a", &[r(Allow)]), trusted("b", &[r(Deny)])];
    assert!(found_in(&apart, &[]).is_empty());
}

#[test]
fn conditions_that_no_value_fulfils_are_found() {
    use Operator::{Contains, Equals, Matches, StartsWith};
    let r = || rule("write_file", Allow);
    for (rule, found) in [
        (
            r().when("path", Equals, &["a"])
                .when("path", Equals, &["b"]),
            true,
        ),
        (
            r().when("path", Equals, &["a", "b"])
                .when("path", Equals, &["b"]),
            false,
        ),
        (
            r().when("path", Equals, &["a"])
                .when("mode", Equals, &["b"]),
            false,
        ),
        (
            r().when("path", Equals, &["a"])
                .when("path", StartsWith, &["b"]),
            true,
        ),
        (
            r().when("path", StartsWith, &["b"])
                .when("path", Equals, &["a"]),
            true,
        ),
        (
            r().when("path", Equals, &["ba"])
                .when("path", StartsWith, &["b"]),
            false,
        ),
        (
            r().when("path", Equals, &["a"])
                .when("path", Contains, &["b"]),
            true,
        ),
        (
            r().when("path", Equals, &["abc"])
                .when("path", Contains, &["b"]),
            false,
        ),
        (
            r().when("path", Equals, &["a"])
                .when("path", Matches, &["b"]),
            false,
        ),
        (
            r().when("path", StartsWith, &["a"])
                .when("path", StartsWith, &["b"]),
            false,
        ),
        (r().when("path", Equals, &["a"]), false),
    ] {
        let expected: &[FindingKind] = if found { &[Contradiction] } else { &[] };
        assert_eq!(kinds(std::slice::from_ref(&rule)), expected, "{rule:?}");
    }
    let text = told(&[r()
        .when("path", Equals, &["a"])
        .when("path", Equals, &["b"])]);
    assert!(
        text.ends_with(
            "no single value of `path` fulfils both `path equals \"a\"` and `path equals \"b\"`"
        ),
        "{text}"
    );
}

#[test]
fn patterns_that_no_command_line_has_are_found() {
    for (words, found) in [
        (vec!["git", "status"], None),
        (vec!["git status"], Some("write [\"git\",\"status\"]")),
        (vec!["git", "*"], Some("`*` is a plain word")),
        (vec![":(){:|:&};:"], Some("is shell syntax")),
        (vec!["a;b"], Some("is shell syntax")),
        (vec!["awk", "{print $1; x}"], None),
        (vec!["git", "a b"], None),
    ] {
        let mut rule = rule("run_command", Deny);
        rule.command = Some(words.iter().map(|&word| word.into()).collect());
        let expected: &[FindingKind] = if found.is_some() { &[NeverFits] } else { &[] };
        assert_eq!(kinds(std::slice::from_ref(&rule)), expected, "{words:?}");
        assert!(told(&[rule]).contains(found.unwrap_or("")));
    }
    assert_eq!(
        kinds(&[rule("run_command", Deny).command("a|b;c x")]),
        [NeverFits]
    );
    assert_eq!(kinds(&[rule("run_command", Deny).command("")]), []);
}

#[test]
fn names_of_no_tool_are_found_with_the_nearest() {
    let known = ["read_file", "run_command", "write_file"];
    let list = [
        rule("reed_file", Deny),
        rule("bash", Deny),
        rule("*", Ask),
        rule("qqqqqqqqq", Deny),
    ];
    let findings = found_in(&[trusted("user", &list)], &known);
    let told: Vec<_> = findings
        .iter()
        .map(|f| (f.kind, f.message.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                UnknownTool,
                "no tool is called `reed_file`; `read_file` is the nearest name"
            ),
            (UnknownTool, "no tool is called `qqqqqqqqq`"),
        ]
    );
    assert!(found_in(&[trusted("user", &list)], &[]).is_empty());
}

#[test]
fn every_kind_of_finding_has_one_spelling() {
    for (kind, spelling) in [
        (Missed, "missed"),
        (Caught, "caught"),
        (Unreadable, "unreadable"),
        (Shadowed, "shadowed"),
        (Contradiction, "contradiction"),
        (NeverFits, "never_fits"),
        (UnknownTool, "unknown_tool"),
        (Ignored, "ignored"),
    ] {
        assert_eq!(kind.as_str(), spelling);
    }
}

#[test]
fn who_denies_or_asks_in_vain_is_told() {
    let known = ["read_file", "run_command", "write_file"];
    let canonical = |name: &str| name.replace("bash", "run_command");
    let mut layer = trusted(
        "user",
        &[
            rule("reed_file", Ask).at("config.toml", 3),
            rule("bash", Deny),
            rule("*", Ask),
            rule("typo", Allow),
            rule("run_command", Deny).with_command(["git push"]),
            rule("run_command", Deny).with_command(["git", "push"]),
        ],
    );
    layer.denylist = listed(&["run_comand", "write_file"]);
    let found = in_vain(&[layer], &known, &canonical);
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "user: `deny run_comand (from denylist \"run_comand\")`: no tool is called `run_comand`; `run_command` is the nearest name",
            "config.toml:3 (user): `ask reed_file`: no tool is called `reed_file`; `read_file` is the nearest name",
            "user: `deny run_command command=[\"git push\"]`: \"git push\" is one word with a blank in it, and no program is called so; write [\"git\",\"push\"]",
        ]
    );
}

#[test]
fn what_an_untrusted_layer_would_widen_is_ignored_and_said() {
    let mut layer = untrusted(
        "project",
        &[
            rule("write_file", Allow).at("toolgate.toml", 2),
            rule("read_file", Deny),
        ],
    );
    layer.allowlist = Some(listed(&["bash"]));
    layer.short.allowed_commands = listed(&["ls"]);
    layer.short.allowed_paths = listed(&["src/"]);
    layer.denylist = listed(&["x"]);
    let findings = found_in(std::slice::from_ref(&layer), &[]);
    assert!(findings.iter().all(|finding| finding.kind == Ignored));
    let rules: Vec<_> = findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!(
        rules,
        [
            "allow write_file",
            "allow run_command command=[\"ls\"] (from allowed_commands \"ls\")",
            "allowlist"
        ]
    );
    assert!(
        findings[0]
            .to_string()
            .starts_with("toolgate.toml:2 (project): ")
    );
    assert_eq!(findings[2].source.layer, "project");
    layer.trust = toolgate_policy::LayerTrust::Trusted;
    assert!(found_in(&[layer], &[]).is_empty());
}

#[test]
fn only_what_does_not_do_what_it_says_is_a_mistake() {
    for (kind, mistake) in [
        (Missed, true),
        (Caught, true),
        (Unreadable, true),
        (Shadowed, true),
        (Contradiction, true),
        (NeverFits, true),
        (UnknownTool, false),
        (Ignored, false),
    ] {
        assert_eq!(kind.is_mistake(), mistake, "{kind:?}");
    }
}
