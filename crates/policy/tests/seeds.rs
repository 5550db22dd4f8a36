//! What the five specifications ask of policy, by their own numbers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use support::*;
use toolgate_model::{Action, Decision, ErrorKind, Facts};
use toolgate_policy::{
    Chain, LayerSpec, Mode, Permission, Policy, Question, RuleSpec, RuleValidator, Scope, Settings,
    ShortForms, Trust, Validator, short_forms,
};

/// `[tools.approval]` of seed 001.
fn approval(mode: Mode, allow: &[&str], deny: &[&str], prompt: bool) -> Policy {
    let mut layer = trusted("user", &[]);
    layer.allowlist = Some(listed(allow));
    layer.denylist = listed(deny);
    let settings = Settings {
        mode: Some(mode),
        prompt_side_effects: prompt,
        ..Settings::default()
    };
    policy_with(settings, &[layer])
}

const MODES: [Mode; 3] = [Mode::Auto, Mode::Prompt, Mode::Deny];

#[test]
fn fr_apr_04a_disabled_denies_every_call_with_its_text() {
    let settings = Settings {
        enabled: false,
        ..Settings::default()
    };
    let policy = policy_with(settings, &[]);
    for call in [read("a"), write("a"), run("ls"), unknown("x")] {
        let decision = decide(&policy, &call);
        assert_eq!(decision.reason, "Tool execution disabled by policy");
        assert_eq!(decision.kind, Some(ErrorKind::Disabled));
    }
}

#[test]
fn fr_apr_04b_the_denylist_denies_in_every_mode() {
    for mode in MODES {
        let policy = approval(mode, &["write_file"], &["write_file"], false);
        assert_eq!(action(&policy, &write("a")), Deny);
        assert_eq!(action(&policy, &write("a").approving()), Deny);
    }
}

#[test]
fn fr_apr_04c_mode_deny_lets_only_the_allowlist_run() {
    let policy = approval(Mode::Deny, &["write_file"], &[], true);
    assert_eq!(action(&policy, &write("a")), Allow);
    assert_eq!(action(&policy, &write("a").approving()), Ask);
    assert_eq!(action(&policy, &read("a")), Deny);
    assert_eq!(action(&policy, &run("ls")), Deny);
}

#[test]
fn fr_apr_04d_mode_prompt_asks_side_effects_unless_allowlisted() {
    let policy = approval(Mode::Prompt, &["write_file"], &[], true);
    assert_eq!(action(&policy, &write("a")), Allow);
    assert_eq!(action(&policy, &write("a").approving()), Ask);
    assert_eq!(action(&policy, &delete("a")), Ask);
    assert_eq!(action(&policy, &read("a")), Allow);
}

#[test]
fn fr_apr_04e_a_tool_that_requires_approval_is_asked_unless_denied() {
    for mode in MODES {
        for allow in [&["write_file"][..], &[]] {
            for prompt in [true, false] {
                let policy = approval(mode, allow, &[], prompt);
                let expected = if mode == Mode::Deny && allow.is_empty() {
                    Deny
                } else {
                    Ask
                };
                assert_eq!(action(&policy, &write("a").approving()), expected);
            }
        }
    }
}

#[test]
fn fr_apr_05_earlier_checks_come_before_later_ones() {
    let off = Settings {
        enabled: false,
        ..Settings::default()
    };
    let mut denied = trusted("user", &[]);
    denied.denylist = listed(&["write_file"]);
    let kind = |settings: Settings, call: &Call| {
        let policy = policy_with(settings, std::slice::from_ref(&denied));
        decide(&policy, call).kind
    };
    assert_eq!(
        kind(off, &write("a").approving()),
        Some(ErrorKind::Disabled)
    );
    assert_eq!(
        kind(Settings::default(), &write("a").approving()),
        Some(ErrorKind::PolicyDenied)
    );
    let verdict = judge(&policy(&[]), &read("a").approving());
    assert_eq!(verdict.stage, toolgate_policy::Stage::Approval);
    assert_eq!(action(&policy(&[]), &read("a")), Allow);
}

#[test]
fn seed_004_trust_levels_ask_what_they_should() {
    for (trust, call, expected) in [
        (Trust::Supervised, read("a"), Ask),
        (Trust::Guided, read("a"), Allow),
        (Trust::Guided, run("ls"), Ask),
        (Trust::Autonomous, read("a"), Allow),
        (Trust::Autonomous, run("ls").approving(), Allow),
        (Trust::Autonomous, write("a").approving(), Allow),
    ] {
        let settings = Settings {
            trust,
            ..Settings::default()
        };
        assert_eq!(
            action(&policy_with(settings, &[]), &call),
            expected,
            "{trust:?}"
        );
    }
}

// Seed 000: validators and their chain.

struct Fixed(&'static str, Option<Action>);

impl Validator for Fixed {
    fn name(&self) -> &str {
        self.0
    }
    fn validate(&self, _: &Question<'_>) -> Option<Decision> {
        self.1.map(|action| Decision {
            action,
            kind: None,
            source: Default::default(),
            ..Decision::denied(ErrorKind::Failed, format!("rule of {}", self.0), "because")
        })
    }
}

fn blacklist() -> RuleValidator {
    let short = ShortForms {
        blocked_commands: listed(&["rm -rf /", "dd", "mkfs"]),
        ..ShortForms::default()
    };
    RuleValidator::new("blacklist", short_forms(&short), &canonical).unwrap()
}

fn sensitive() -> RuleValidator {
    let short = ShortForms {
        blocked_paths: listed(&[".env", ".ssh/", "*.pem"]),
        ..ShortForms::default()
    };
    RuleValidator::new("paths", short_forms(&short), &canonical).unwrap()
}

#[test]
fn seed_000_the_blacklist_blocks_commands_and_nothing_else() {
    for (line, blocked) in [
        ("rm -rf /", true),
        ("dd if=x of=y", true),
        ("/bin/dd if=x", true),
        ("mkfs /dev/x", true),
        ("ls ; dd", true),
        ("rm -rf build", false),
        ("git add x", false),
        ("echo dd", false),
    ] {
        let objection = blacklist().validate(&run(line).question());
        assert_eq!(objection.is_some(), blocked, "{line}");
        if let Some(decision) = objection {
            assert_eq!(decision.action, Deny);
            assert!(
                decision.reason.contains("blocked_commands"),
                "{}",
                decision.reason
            );
        }
    }
    assert_eq!(blacklist().validate(&read("dd").question()), None);
    assert_eq!(blacklist().name(), "blacklist");
}

#[test]
fn seed_000_the_path_validator_blocks_sensitive_files() {
    for (path, blocked) in [
        (".env", true),
        ("app/.env", true),
        (".ssh/id_rsa", true),
        ("key.pem", true),
        ("certs/key.pem", true),
        ("src/lib.rs", false),
        (".environment", false),
    ] {
        assert_eq!(
            sensitive().validate(&read(path).question()).is_some(),
            blocked,
            "{path}"
        );
        assert_eq!(
            sensitive().validate(&write(path).question()).is_some(),
            blocked,
            "{path}"
        );
        assert_eq!(
            sensitive().validate(&delete(path).question()).is_some(),
            blocked,
            "{path}"
        );
    }
    let mixed = RuleValidator::new(
        "mixed",
        vec![
            rule("*", Ask).reads(&["a"]),
            rule("*", Deny).reads(&["b"]),
            rule("*", Allow).reads(&["c"]),
        ],
        &canonical,
    )
    .unwrap();
    let mut call = read("a");
    call.facts.reads = strings(&["a", "b", "a"]);
    assert_eq!(mixed.validate(&call.question()).unwrap().action, Deny);
    call.facts.reads = strings(&["b/1", "b/2"]);
    let told = mixed.validate(&call.question()).unwrap();
    assert!(told.reason.contains("`read b/1`"), "{}", told.reason);
    assert_eq!(mixed.validate(&read("a").question()).unwrap().action, Ask);
    assert_eq!(mixed.validate(&read("c").question()), None);
    assert!(RuleValidator::new("x", vec![rule("", Deny)], &canonical).is_err());
}

#[test]
fn seed_000_a_chain_takes_the_strictest_answer_and_only_tightens() {
    let allowed = || decide(&rules(&[rule("*", Allow)]), &write("a"));
    let answers = [None, Some(Allow), Some(Ask), Some(Deny)];
    for one in answers {
        for two in answers {
            let chain = Chain::new().with(Fixed("one", one)).with(Fixed("two", two));
            let strictest = one.max(two).unwrap_or(Allow);
            let own = chain.validate(&write("a").question());
            assert_eq!(
                own.map(|d| d.action),
                (strictest > Allow).then_some(strictest)
            );
            for before in [Allow, Ask, Deny] {
                let start = Decision {
                    action: before,
                    ..allowed()
                };
                let after = chain.review(&write("a").question(), start.clone());
                assert_eq!(after.action, before.max(strictest));
                if strictest <= before {
                    assert_eq!(after, start);
                } else {
                    let told = after.atoms.last().unwrap();
                    assert_eq!(
                        (told.answer, told.rule.as_str()),
                        (after.action, after.rule.as_str())
                    );
                    assert_eq!(told.atom, "tool write_file");
                    assert_eq!(told.layer, after.source.layer);
                    assert!(after.atoms.len() > start.atoms.len());
                    let kind = (after.action == Deny).then_some(ErrorKind::PolicyDenied);
                    assert_eq!(after.kind.filter(|_| after.action == Deny), kind);
                }
            }
        }
    }
    let kept = Chain::new().with(rules(&[rule("*", Deny).at("p.toml", 3)]));
    let decision = kept.review(&write("a").question(), allowed());
    assert_eq!(decision.source.line, Some(3));
    assert_eq!(decision.source.layer, "user");
    let nested = Chain::new()
        .with(Chain::new().with(sensitive()))
        .with(blacklist());
    assert_eq!(
        nested.review(&read(".env").question(), allowed()).action,
        Deny
    );
    assert_eq!(nested.review(&run("dd").question(), allowed()).action, Deny);
    assert_eq!(
        nested.review(&read("a").question(), allowed()).action,
        Allow
    );
    assert_eq!(format!("{nested:?}"), "[\"validators\", \"blacklist\"]");
    let policy = rules(&[]);
    assert_eq!(Validator::name(&policy), "policy");
    assert!(policy.validate(&read("a").question()).is_none());
    assert_eq!(policy.validate(&write("a").question()).unwrap().action, Ask);
}

// Seed 002: short forms.

fn with_short(short: ShortForms, extra: &[RuleSpec]) -> Policy {
    let mut layer = trusted("user", extra);
    layer.short = short;
    policy(&[layer])
}

#[test]
fn seed_002_blocked_commands_are_leading_words_and_never_text() {
    let short = ShortForms {
        blocked_commands: listed(&["rm -rf /", "dd", "mkfs", ":(){:|:&};:", "./x.sh"]),
        ..ShortForms::default()
    };
    let allowing = [rule("run_command", Allow), rule("*", Allow)];
    let policy = with_short(short, &allowing);
    for (line, expected) in [
        ("dd if=/dev/zero", Deny),
        ("/usr/bin/dd", Deny),
        ("./dd", Allow),
        ("git add dd", Allow),
        ("rm -rf /", Deny),
        ("rm -rf /home", Allow),
        ("rm -r /", Allow),
        ("mkfs", Deny),
        ("./x.sh", Deny),
        ("x.sh", Allow),
        ("echo a; dd", Deny),
    ] {
        assert_eq!(action(&policy, &run(line)), expected, "{line}");
    }
    assert_eq!(action(&policy, &run("dd $X")), Deny);
}

#[test]
fn seed_002_allowed_commands_allow_each_and_no_other() {
    let short = ShortForms {
        allowed_commands: listed(&["cargo test", "ls"]),
        ..ShortForms::default()
    };
    let policy = with_short(short.clone(), &[rule("run_command", Allow).command("make")]);
    for (line, expected) in [
        ("cargo test -p x", Allow),
        ("ls", Allow),
        ("make", Allow),
        ("cargo build", Deny),
        ("ls ; cat", Deny),
        ("ls $X", Deny),
    ] {
        assert_eq!(action(&policy, &run(line)), expected, "{line}");
    }
    assert_eq!(
        action(&policy, &write("a")),
        Ask,
        "it is about commands only"
    );
    let decision = decide(&policy, &run("cat"));
    assert!(
        decision
            .reason
            .contains("Only the commands of allowed_commands may run.")
    );
    assert!(
        decision.rule.contains("from allowed_commands"),
        "{}",
        decision.rule
    );
    let blocked = ShortForms {
        blocked_commands: listed(&["cargo test --release"]),
        ..short
    };
    let policy = with_short(blocked, &[]);
    assert_eq!(action(&policy, &run("cargo test --release")), Deny);
    assert_eq!(action(&policy, &run("cargo test")), Allow);
    let mut theirs = untrusted("project", &[]);
    theirs.short.allowed_commands = listed(&["ls"]);
    assert_eq!(
        action(&support::policy(std::slice::from_ref(&theirs)), &run("ls")),
        Ask
    );
    assert_eq!(action(&support::policy(&[theirs]), &run("cat")), Deny);
}

#[test]
fn seed_002_path_lists_fence_and_block() {
    let short = ShortForms {
        allowed_paths: listed(&["src/**", "docs/", "Cargo.toml"]),
        blocked_paths: listed(&[".env", ".ssh/*", "*.pem", "*credentials*"]),
        ..ShortForms::default()
    };
    let policy = with_short(short.clone(), &[]);
    for (path, reading, writing) in [
        ("src/a.rs", Allow, Ask),
        ("docs/x", Allow, Ask),
        ("Cargo.toml", Allow, Ask),
        ("x/Cargo.toml", Deny, Deny),
        ("other", Deny, Deny),
        ("/etc/passwd", Deny, Deny),
        ("src/.env", Deny, Deny),
        ("src/key.pem", Deny, Deny),
        ("src/my_credentials.json", Deny, Deny),
        (".ssh/id", Deny, Deny),
    ] {
        assert_eq!(action(&policy, &read(path)), reading, "read {path}");
        assert_eq!(action(&policy, &write(path)), writing, "write {path}");
        assert_eq!(action(&policy, &delete(path)), writing, "delete {path}");
    }
    assert!(decide(&policy, &read("x")).reason.contains("allowed_paths"));
    // No rule that names a tool comes before a block list or leaves the fence.
    let open = with_short(short, &[rule("write_file", Allow)]);
    assert_eq!(action(&open, &write("src/a")), Allow);
    assert_eq!(action(&open, &write("src/a.pem")), Deny);
    assert_eq!(action(&open, &write("other")), Deny);
    assert_eq!(
        action(&open, &run("ls")),
        Ask,
        "lists of paths are silent about commands"
    );
}

#[test]
fn short_forms_keep_their_origin_and_place() {
    let mut list = listed(&["dd"]);
    list.source.file = Some("c.toml".into());
    list.source.line = Some(4);
    let short = ShortForms {
        blocked_commands: list,
        allowed_commands: listed(&["ls -l"]),
        allowed_paths: listed(&["src/"]),
        blocked_paths: listed(&["x"]),
    };
    let texts: Vec<_> = short_forms(&short)
        .iter()
        .map(|rule| rule.origin.clone().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "blocked_commands \"dd\"",
            "blocked_paths \"x\"",
            "allowed_paths \"src/\"",
            "allowed_paths, which names no other",
            "allowed_commands \"ls -l\"",
            "allowed_commands, which names no other",
        ]
    );
    let decision = decide(&with_short(short, &[]), &run("dd"));
    assert_eq!(decision.source.to_string(), "c.toml:4 (user)");
    assert!(
        decision.rule.ends_with("(from blocked_commands \"dd\")"),
        "{}",
        decision.rule
    );
    assert!(short_forms(&ShortForms::default()).is_empty());
    let empty = with_short(ShortForms::default(), &[]);
    assert_eq!(action(&empty, &read("anything")), Allow);
}

// Seed 004: scopes.

fn tools(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn permission(allowed: bool, paths: &[&str]) -> Permission {
    Permission {
        allowed,
        paths: strings(paths),
        timeout: None,
    }
}

fn scope(permissions: &[(&str, Permission)]) -> Scope {
    Scope {
        permissions: permissions
            .iter()
            .map(|(name, p)| ((*name).to_owned(), p.clone()))
            .collect::<BTreeMap<_, _>>(),
    }
}

const CORE: [&str; 4] = ["read_file", "write_file", "run_command", "web_search"];

fn offered(scope: Option<&Scope>) -> Vec<&'static str> {
    let safe = tools(&["read_file", "web_search"]);
    CORE.into_iter()
        .filter(|tool| scope.is_none_or(|scope| scope.permits(tool, &safe, &canonical)))
        .collect()
}

#[test]
fn ac_8_to_10_a_scope_offers_what_it_permits() {
    assert_eq!(offered(None), CORE);
    let two = scope(&[
        ("file_read", permission(true, &[])),
        ("web_search", permission(true, &[])),
    ]);
    assert_eq!(offered(Some(&two)), ["read_file", "web_search"]);
    assert_eq!(
        offered(Some(&Scope::default())),
        ["read_file", "web_search"]
    );
    let denied = scope(&[
        ("file_read", permission(false, &[])),
        ("read_file", permission(true, &[])),
        ("bash", permission(true, &[])),
    ]);
    assert_eq!(offered(Some(&denied)), ["run_command"]);
}

#[test]
fn a_scope_is_an_untrusted_layer_that_only_takes_away() {
    let safe = tools(&["read_file", "web_search"]);
    let mut own = trusted("user", &[rule("*", Allow).opaque()]);
    own.allowlist = Some(listed(&["write_file"]));
    let within = |scope: &Scope, call: &Call| {
        let layers: [LayerSpec; 2] = [own.clone(), scope.layer("scope", &safe)];
        action(&policy(&layers), call)
    };
    let empty = Scope::default();
    assert_eq!(within(&empty, &read("a")), Allow);
    assert_eq!(
        within(&empty, &Call::new("web_search", Facts::none())),
        Allow
    );
    assert_eq!(within(&empty, &write("a")), Deny);
    assert_eq!(within(&empty, &run("ls")), Deny);
    assert_eq!(within(&empty, &unknown("mcp")), Deny);

    let some = scope(&[
        ("file_write", permission(true, &["src", "docs/*.md"])),
        ("bash", permission(true, &[])),
        ("apply_patch", permission(false, &["src/"])),
        ("list", permission(true, &["./"])),
    ]);
    for (call, expected) in [
        (write("src/a"), Allow),
        (write("src"), Allow),
        (write("docs/a.md"), Allow),
        (write("docs/x/a.md"), Deny),
        (write("other"), Deny),
        (write("/src/a"), Deny),
        (write("src/../other"), Deny),
        (read("src/a"), Deny),
        (delete("src/a"), Deny),
        (run("ls"), Allow),
        (run("ls $X"), Allow),
        (Call::new("list", Facts::reading("any/where")), Allow),
    ] {
        assert_eq!(within(&some, &call), expected, "{call:?}");
    }
    // Where paths are limited, what is not known is denied and what is only claimed is asked.
    let limited = scope(&[("bash", permission(true, &["src/"]))]);
    assert_eq!(within(&limited, &run("ls $X")), Deny);
    assert_eq!(within(&limited, &run("ls")), Ask);
    let mut fetching = Call::new("run_command", Facts::none());
    fetching.facts.connects = vec!["h".into()];
    assert_eq!(within(&limited, &fetching), Allow);
    for access in 0..3 {
        let mut call = Call::new("run_command", Facts::none());
        let list = match access {
            0 => &mut call.facts.reads,
            1 => &mut call.facts.writes,
            _ => &mut call.facts.deletes,
        };
        list.push("src/a".into());
        assert_eq!(within(&limited, &call), Allow);
        let mut call = Call::new("run_command", Facts::none());
        let list = match access {
            0 => &mut call.facts.reads,
            1 => &mut call.facts.writes,
            _ => &mut call.facts.deletes,
        };
        list.push("b".into());
        assert_eq!(within(&limited, &call), Deny);
    }
    // Without the person's own allow, a scope consents to nothing.
    let alone = policy(&[some.layer("scope", &safe)]);
    assert_eq!(action(&alone, &write("src/a")), Ask);
    assert!(
        decide(&alone, &write("x"))
            .reason
            .contains("keeps this tool on its paths")
    );
    assert!(decide(&alone, &write("x")).rule.contains("(from scope)"));
}

#[test]
fn a_scope_knows_the_shortest_time_of_a_tool() {
    let timed = |seconds| Permission {
        allowed: true,
        timeout: Some(Duration::from_secs(seconds)),
        ..Permission::default()
    };
    let scope = scope(&[
        ("bash", timed(30)),
        ("shell", timed(10)),
        ("read_file", permission(true, &[])),
    ]);
    assert_eq!(
        scope.timeout("run_command", &canonical),
        Some(Duration::from_secs(10))
    );
    assert_eq!(scope.timeout("read_file", &canonical), None);
    assert_eq!(scope.timeout("other", &canonical), None);
}
