//! What path patterns fit, on the side of an allow and on the side of a deny.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_model::RuleSource;
use toolgate_policy::{PolicyError, RuleError, Settings, Stage};

/// Whether a rule with this pattern answers for a write of this path.
fn answers(action: toolgate_model::Action, pattern: &str, path: &str) -> bool {
    let policy = rules(&[rule("*", action).writes(&[pattern])]);
    judge(&policy, &write(path)).stage == Stage::Rule
}

#[test]
fn an_allow_matches_literal_paths_and_a_deny_also_their_aliases() {
    for (pattern, path, allow, deny) in [
        // A path, and what lies beneath it.
        ("src/lib.rs", "src/lib.rs", true, true),
        ("src/lib.rs", "src/lib.rs.bak", false, false),
        ("src/lib.rs", "a/src/lib.rs", false, false),
        ("src/lib.rs", "src/LIB.rs", false, false),
        ("a/src", "a/src/lib.rs", false, true),
        ("./src/lib.rs", "src/lib.rs", true, true),
        ("././src/lib.rs", "src/lib.rs", true, true),
        // A directory and all that is in it.
        ("migrations/", "migrations/1.sql", true, true),
        ("migrations/", "migrations/a/b/1.sql", true, true),
        ("migrations/", "migrations", true, true),
        ("migrations/", "migrations2/x", false, false),
        ("migrations/", "db/migrations/x", false, false),
        ("src/**", "src/a/b", true, true),
        ("src/**", "src", true, true),
        ("src/**", "src2", false, false),
        // Stars stay in one name.
        ("src/*", "src/a", true, true),
        ("src/*", "src/a/b", false, true),
        ("src/*.rs", "src/a.rs", true, true),
        ("src/*.rs", "src/x/a.rs", false, false),
        ("**/*.rs", "a.rs", true, true),
        ("**/*.rs", "x/y/a.rs", true, true),
        ("**/*.rs", "a.rs2", false, false),
        ("a/**/b", "a/b", true, true),
        ("a/**/b", "a/x/y/b", true, true),
        ("a?c/{x,y}.[ab]", "abc/x.a", true, true),
        ("a?c/{x,y}.[ab]", "abc/z.a", false, false),
        // A bare name: denied in every directory, allowed where it is written.
        ("*.pem", "key.pem", true, true),
        ("*.pem", "certs/key.pem", false, true),
        (".env", ".env", true, true),
        (".env", "app/.env", false, true),
        (".env", "app/.env/x", false, true),
        (".env", "app/.environment", false, false),
        ("*", "a", true, true),
        ("*", "a/b", false, true),
        // Everything.
        ("**", "a/b/c", true, true),
        ("**", ".", true, true),
        ("./", "a/b", true, true),
        (".", ".", true, true),
        (".", "a/b", false, true),
        ("**/", "a/b", true, true),
        // Outside every root only what is written from there; a deny may float there.
        ("**", "/etc/passwd", false, true),
        ("**/passwd", "/etc/passwd", false, true),
        ("passwd", "/etc/passwd", false, true),
        ("etc/passwd", "/etc/passwd", false, false),
        ("/etc/**", "/etc/passwd", true, true),
        ("/etc", "/etc/passwd", false, true),
        ("/etc/passwd", "/etc/passwd", true, true),
        ("/etc/passwd", "etc/passwd", false, false),
        ("/", "/etc/passwd", true, true),
        ("/**", "/etc/passwd", true, true),
        ("/**", "etc/passwd", false, false),
        // Paths that are not tidy: denied by what they come to, allowed only if they do not climb.
        ("src/a", "./src//a", true, true),
        ("src/a", "src/./a/", true, true),
        ("src/**", "src/../secret", false, false),
        ("secret", "src/../secret", false, true),
        ("secret", "../../secret", false, true),
        ("**", "src/..", false, true),
        ("/etc/x", "/etc//x", true, true),
        ("/**", "/..", false, true),
        ("**", "", true, true),
        // Signs that are escaped are plain.
        ("a\\*", "a*", true, true),
        ("a\\*", "ab", false, false),
    ] {
        assert_eq!(
            answers(Allow, pattern, path),
            allow,
            "allow {pattern} on {path}"
        );
        assert_eq!(
            answers(Deny, pattern, path),
            deny,
            "deny {pattern} on {path}"
        );
        assert_eq!(answers(Ask, pattern, path), deny, "ask {pattern} on {path}");
    }
}

#[test]
fn deleting_a_directory_is_deleting_what_a_deny_keeps_in_it() {
    for (pattern, path, denied) in [
        ("db/migrations/", "db", true),
        ("db/migrations/", "db/migrations", true),
        ("db/migrations/", ".", true),
        ("db/migrations/", "d", false),
        ("db/migrations/", "db/other", false),
        ("db/*.sql", "db", true),
        ("db/*.sql", "db/x", false),
        ("db/x/y.sql", "db/x", true),
        ("**/*.sql", ".", true),
        (".", ".", true),
        (".", "db", true),
        ("**/*.sql", "db", false),
        ("*.sql", ".", false),
        ("/srv/data/", "/srv", true),
        ("/srv/data/", "/", true),
        ("/srv/data/", "srv", false),
        ("/srv/data/", ".", false),
    ] {
        let deny = rules(&[rule("*", Deny).deletes(&[pattern])]);
        assert_eq!(
            action(&deny, &delete(path)) == Deny,
            denied,
            "{pattern} on {path}"
        );
        let allow = rules(&[rule("*", Allow).deletes(&[pattern])]);
        let below = path.len() >= pattern.trim_end_matches('/').len();
        if !below {
            assert_eq!(
                action(&allow, &delete(path)),
                Ask,
                "allow {pattern} on {path}"
            );
        }
        // Writing a file of a directory's name is no deletion.
        let write_rule = rules(&[rule("*", Deny).writes(&["db/migrations/"])]);
        assert_eq!(action(&write_rule, &write("db")), Ask);
    }
    // The order of rules holds for directories around as for the rest.
    let first = rules(&[
        rule("*", Allow).deletes(&["db"]),
        rule("*", Deny).deletes(&["db/migrations/"]),
    ]);
    assert_eq!(action(&first, &delete("db")), Allow);
    let first = rules(&[
        rule("*", Deny).deletes(&["db/migrations/"]),
        rule("*", Allow).deletes(&["db"]),
    ]);
    assert_eq!(action(&first, &delete("db")), Deny);
}

#[test]
fn an_invalid_rule_is_an_error_with_its_place() {
    let faulty = |rule: toolgate_policy::RuleSpec| {
        let layers = [trusted("user", &[rule.at("c.toml", 7)])];
        let error =
            toolgate_policy::Policy::compile(Settings::default(), &layers, &canonical).unwrap_err();
        assert_eq!(
            error.place(),
            Some(&RuleSource {
                layer: "user".into(),
                file: Some("c.toml".into()),
                line: Some(7)
            })
        );
        let text = error.to_string();
        assert!(text.starts_with("c.toml:7 (user): the rule `"), "{text}");
        assert_eq!(
            toolgate_policy::faults(&layers, &canonical),
            std::slice::from_ref(&error)
        );
        let PolicyError::Rule { fault, .. } = error else {
            panic!("{text}")
        };
        (fault, text)
    };
    for pattern in [
        "", "~/x", "a//b", "a/../b", "a/./b", "..", "/.", "/..", "[", "{a",
    ] {
        let (fault, text) = faulty(rule("*", Allow).writes(&[pattern]));
        assert!(
            matches!(&fault, RuleError::Path { key: "writes", pattern: p, .. } if p == pattern)
        );
        assert!(text.contains(&format!("`{pattern}`")), "{text}");
        assert!(matches!(
            faulty(rule("*", Allow).reads(&[pattern])).0,
            RuleError::Path { key: "reads", .. }
        ));
        assert!(matches!(
            faulty(rule("*", Deny).deletes(&[pattern])).0,
            RuleError::Path { key: "deletes", .. }
        ));
    }
    for (wrong, key) in [
        (rule("*", Allow).reads(&[]), "reads"),
        (rule("*", Allow).writes(&[]), "writes"),
        (rule("*", Allow).deletes(&[]), "deletes"),
        (rule("*", Allow).connects(&[]), "connects"),
        (rule("*", Allow).command(""), "command"),
        (
            rule("*", Allow).when("a", toolgate_policy::Operator::Equals, &[]),
            "value",
        ),
    ] {
        assert_eq!(faulty(wrong).0, RuleError::EmptyList { key });
    }
    for tool in ["", " ", "mcp_*", "a b", "x?"] {
        assert!(
            matches!(faulty(rule(tool, Deny)).0, RuleError::Tool { .. }),
            "{tool}"
        );
    }
    for wrong in [
        rule("*", Allow).reads(&["a"]).opaque(),
        rule("*", Deny).writes(&["a"]).opaque(),
        rule("*", Deny).deletes(&["a"]).opaque(),
        rule("*", Deny).connects(&["a"]).opaque(),
    ] {
        assert_eq!(faulty(wrong).0, RuleError::OpaqueWithPaths);
    }
    assert!(matches!(
        faulty(rule("*", Allow).connects(&["a/b"])).0,
        RuleError::Host { .. }
    ));
    for regex in ["(", "a{1000}{1000}{1000}", &"(".repeat(60)] {
        let wrong = rule("*", Deny).when("p", toolgate_policy::Operator::Matches, &[regex]);
        let (fault, text) = faulty(wrong);
        assert!(matches!(fault, RuleError::Regex { .. }), "{regex}");
        assert!(text.contains("the condition on `p`"), "{text}");
    }
    let nested = format!("{}a{}", "(".repeat(60), ")".repeat(60));
    let wrong = rule("*", Deny).when("p", toolgate_policy::Operator::Matches, &[&nested]);
    assert!(matches!(faulty(wrong).0, RuleError::Regex { .. }));
}

#[test]
fn patterns_that_are_too_large_are_refused_and_not_left_out() {
    let compile = |patterns: &[&str]| {
        let layers = [trusted("user", &[rule("*", Deny).writes(patterns)])];
        toolgate_policy::Policy::compile(Settings::default(), &layers, &canonical)
    };
    let long = "a".repeat(4097);
    assert!(matches!(
        compile(&[&long]),
        Err(PolicyError::Rule {
            fault: RuleError::Path { .. },
            ..
        })
    ));
    assert!(compile(&[&long[..4096]]).is_ok());
    let wide: Vec<String> = (0..40)
        .map(|at| format!("{at}{}", "?".repeat(4000)))
        .collect();
    let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
    let error = compile(&wide).unwrap_err();
    assert!(
        matches!(&error, PolicyError::Layer { layer, .. } if layer == "user"),
        "{error}"
    );
    assert_eq!(error.place(), None);
}

#[test]
fn every_faulty_rule_is_reported_and_not_only_the_first() {
    let mut layer = trusted(
        "user",
        &[
            rule("", Deny),
            rule("*", Deny),
            rule("*", Deny).reads(&[""]),
        ],
    );
    layer.denylist = listed(&["x y"]);
    layer.short.blocked_commands = listed(&[" "]);
    layer.short.allowed_commands = listed(&[""]);
    let faults = toolgate_policy::faults(&[layer], &canonical);
    assert_eq!(faults.len(), 5);
}
