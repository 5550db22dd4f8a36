//! What the file of an untrusted project may do, key by key.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use support::{Texts, decide, workspace};
use toolgate_model::{Action, Facts, Risk};
use toolgate_sandbox::paths::{RootAccess, RootRule};

#[test]
fn the_roots_of_an_untrusted_project_keep_calls_in_and_move_nothing() {
    let user = "tools.sandbox.allowed_roots = ['.', '/srv/a', '/srv/b']\n\
                [[tools.rules]]\ntool = '*'\naction = 'deny'\nwrites = ['src/secret/**']\n";
    let project = "tools.sandbox.allowed_roots = ['src', { path = 'docs [x]', access = 'read' }, '/srv/a/in', '/etc']";
    let effective = Texts {
        user,
        project,
        ..Texts::default()
    }
    .effective();
    let read = |path: &str| {
        decide(
            &effective,
            &Facts {
                reads: vec![path.to_owned()],
                ..Facts::default()
            },
            true,
        )
    };
    let write = |path: &str| {
        decide(
            &effective,
            &Facts {
                writes: vec![path.to_owned()],
                ..Facts::default()
            },
            true,
        )
    };
    for (path, reads, writes) in [
        ("src/lib.rs", Action::Allow, Action::Ask),
        ("src", Action::Allow, Action::Ask),
        ("src/secret/x", Action::Allow, Action::Deny),
        ("docs [x]/a.md", Action::Allow, Action::Deny),
        ("docs x/a.md", Action::Deny, Action::Deny),
        ("Cargo.toml", Action::Deny, Action::Deny),
        ("srcs/x", Action::Deny, Action::Deny),
        ("/srv/a/in/x", Action::Ask, Action::Ask),
        ("/srv/a/x", Action::Deny, Action::Deny),
        ("/srv/b/x", Action::Deny, Action::Deny),
        (".", Action::Deny, Action::Deny),
    ] {
        assert_eq!((read(path), write(path)), (reads, writes), "{path}");
    }
    let root = |path: &str, access| RootRule {
        path: workspace().join(path),
        access,
    };
    assert_eq!(
        effective.path_rules().unwrap().roots,
        [
            RootRule {
                path: workspace(),
                access: RootAccess::ReadWrite
            },
            root("/srv/a", RootAccess::ReadWrite)
        ]
    );
    assert_eq!(effective.ignored().len(), 1);
    assert_eq!(effective.ignored()[0].key, "tools.sandbox.allowed_roots");

    let reading = Texts {
        project: "tools.sandbox.allowed_roots = [{ path = '.', access = 'read' }]",
        ..Texts::default()
    };
    let reading = reading.effective();
    assert_eq!(
        reading.path_rules().unwrap().roots,
        [RootRule {
            path: workspace(),
            access: RootAccess::ReadOnly
        }]
    );
    assert_eq!(
        decide(
            &reading,
            &Facts {
                writes: vec!["x".into()],
                ..Facts::default()
            },
            true
        ),
        Action::Deny
    );
    assert_eq!(
        decide(
            &reading,
            &Facts {
                reads: vec!["x".into()],
                ..Facts::default()
            },
            true
        ),
        Action::Allow
    );
}

#[test]
fn an_untrusted_project_only_tightens() {
    for (key, user, project, counts) in [
        // Limits may shrink.
        ("tools.max_tool_calls_per_batch", "", "7", true),
        ("tools.max_tool_calls_per_batch", "", "65", false),
        ("tools.max_tool_calls_per_batch", "20", "9", true),
        ("tools.max_tool_iterations_per_user_turn", "", "201", false),
        ("tools.max_tool_args_bytes", "", "1", true),
        ("tools.max_concurrent", "3", "2", true),
        ("tools.max_concurrent", "", "2", false),
        ("tools.timeouts.shell_commands_seconds", "", "299", true),
        ("tools.timeouts.shell_commands_seconds", "", "301", false),
        ("tools.output.max_bytes", "", "2048", true),
        ("tools.output.max_bytes", "", "999999", false),
        ("tools.output.max_lines", "", "9", true),
        ("tools.output.max_lines", "3", "9", false),
        ("tools.read_file.max_scan_bytes", "", "9", true),
        ("tools.write_file.max_file_bytes", "", "99999999", false),
        ("tools.apply_patch.max_patch_bytes", "", "9", true),
        ("tools.list_directory.max_depth", "", "5", false),
        // Less is not stricter: a late yes meets the next question, kept outputs are removed.
        ("tools.approval.timeout_seconds", "", "59", false),
        ("tools.approval.timeout_seconds", "", "61", false),
        ("tools.approval.timeout_seconds", "", "0", false),
        ("tools.approval.timeout_seconds", "0", "600", false),
        ("tools.output.keep_bytes", "", "1048576", false),
        ("tools.output.keep_bytes", "", "134217728", false),
        ("tools.output.keep_total_bytes", "", "1048576", false),
        ("tools.output.keep_total_bytes", "2097152", "1048576", false),
        // Switches go one way.
        ("tools.approval.enabled", "", "false", true),
        ("tools.approval.enabled", "false", "true", false),
        ("tools.approval.prompt_side_effects", "false", "true", true),
        ("tools.approval.prompt_side_effects", "", "false", false),
        ("tools.sandbox.allow_absolute", "true", "false", true),
        ("tools.sandbox.allow_absolute", "", "true", false),
        (
            "tools.sandbox.include_default_denies",
            "false",
            "true",
            true,
        ),
        ("tools.sandbox.include_default_denies", "", "false", false),
        // Words have an order.
        ("tools.mode", "", "'parse_only'", true),
        ("tools.mode", "", "'disabled'", true),
        ("tools.mode", "'disabled'", "'parse_only'", false),
        ("tools.mode", "'disabled'", "'enabled'", false),
        ("tools.on_error", "", "'stop'", true),
        ("tools.on_error", "'stop'", "'continue'", false),
        ("tools.approval.trust", "", "'supervised'", true),
        ("tools.approval.trust", "", "'autonomous'", false),
        ("tools.approval.trust", "'autonomous'", "'guided'", true),
        ("tools.approval.mode", "", "'deny'", true),
        ("tools.approval.mode", "", "'auto'", false),
        ("tools.approval.mode", "'auto'", "'prompt'", true),
        ("tools.approval.mode", "'deny'", "'prompt'", false),
        ("tools.approval.default_action", "", "'deny'", true),
        ("tools.approval.default_action", "", "'ask'", true),
        ("tools.approval.default_action", "", "'allow'", false),
        ("tools.approval.default_action", "'allow'", "'ask'", true),
        ("tools.approval.default_action", "'deny'", "'ask'", false),
        ("tools.sandbox.command_sandbox", "'off'", "'required'", true),
        ("tools.sandbox.command_sandbox", "", "'off'", false),
        ("tools.sandbox.network", "'on'", "'loopback'", true),
        ("tools.sandbox.network", "", "'loopback'", false),
        // Lists that deny count, lists that allow do not.
        ("tools.approval.denylist", "", "['a']", true),
        ("tools.approval.blocked_commands", "", "['a']", true),
        ("tools.approval.blocked_paths", "", "['a']", true),
        ("tools.approval.allowed_commands", "", "['a']", true),
        ("tools.approval.allowed_paths", "", "['a']", true),
        ("tools.approval.allowlist", "", "['run_command']", false),
        ("tools.approval.allowlist", "", "[]", false),
        ("tools.sandbox.denied_patterns", "", "['a']", true),
        ("tools.sandbox.protected_paths", "", "['a']", true),
        ("tools.sandbox.allowed_roots", "", "['src']", true),
        ("tools.sandbox.allowed_roots", "", "['/']", false),
        ("tools.sandbox.allowed_roots", "", "['..']", false),
        (
            "tools.sandbox.allowed_roots",
            "",
            "['../tests_evil']",
            false,
        ),
        ("tools.sandbox.grants", "", "['/etc']", false),
        ("tools.environment.strip", "", "['A']", true),
        ("tools.environment.denylist", "", "['A']", true),
        ("tools.environment.keep", "", "['A']", false),
        // The rest is the person's.
        ("tools.profile", "", "'x'", false),
        (
            "tools.definitions",
            "",
            "[{ name = 'x', description = 'y', parameters = { type = 'object' } }]",
            false,
        ),
        ("presets.x.system_prompt", "", "'obey'", false),
        ("providers.x.kind", "", "'ollama'", false),
        ("search.searxng.url", "", "'http://evil.example'", false),
        ("search.brave.api_key_env", "", "'HOME'", false),
        ("server.host", "", "'0.0.0.0'", false),
        (
            "server.allowed_origins",
            "",
            "['http://evil.example']",
            false,
        ),
        ("journal.path", "", "'/dev/null'", false),
        ("journal.max_bytes", "", "1048576", false),
    ] {
        let file = |value: &str| {
            if value.is_empty() {
                String::new()
            } else {
                format!("\n\n{key} = {value}\n")
            }
        };
        let (user, project) = (file(user), file(project));
        let with = Texts {
            user: &user,
            project: &project,
            ..Texts::default()
        }
        .effective();
        let without = Texts {
            user: &user,
            ..Texts::default()
        }
        .effective();
        if counts {
            assert_ne!(with.show(), without.show(), "{key}: {project}");
            assert_eq!(with.ignored(), [], "{key}: {project}");
        } else {
            assert_eq!(with.show(), without.show(), "{key}: {project}");
            let [ignored] = with.ignored() else {
                panic!("{key}: {project}: {:?}", with.ignored())
            };
            assert_eq!((ignored.file.as_str(), ignored.line), ("toolgate.toml", 3));
            assert_eq!(ignored.key, key);
            assert!(ignored.why.contains("trusted"), "{}", ignored.why);
        }
    }
}

#[test]
fn an_untrusted_value_that_already_holds_is_neither_taken_nor_complained_about() {
    let effective = Texts {
        project: "tools.mode = 'enabled'\ntools.max_concurrent = 1\n",
        ..Texts::default()
    }
    .effective();
    assert_eq!(effective.ignored(), []);
    assert!(effective.is_built_in("tools.mode") && effective.is_built_in("tools.max_concurrent"));
}

#[test]
fn a_projects_ask_by_default_does_not_soften_a_mode_that_denies() {
    for (user, config) in [
        ("tools.approval.mode = 'deny'", ""),
        ("", "tools.approval.mode = 'deny'"),
    ] {
        let texts = Texts {
            user,
            config,
            project: "tools.approval.default_action = 'ask'",
            ..Texts::default()
        };
        let effective = texts.effective();
        assert_eq!(
            effective.policy_settings().default_action,
            None,
            "{user:?} {config:?}"
        );
        assert_eq!(effective.ignored().len(), 1);
    }
}

#[test]
fn what_an_untrusted_projects_rules_say_in_vain_is_told_with_the_line() {
    let effective = Texts {
        project: "[[tools.rules]]\ntool = '*'\naction = 'allow'\nreads = ['**']\n\n[[tools.rules]]\ntool = 'x'\naction = 'ask'\nrisk = 'low'\n\n\
                  [[tools.rules]]\ntool = 'y'\naction = 'deny'\nrisk = 'high'\n",
        ..Texts::default()
    }
    .effective();
    let told: Vec<String> = effective
        .ignored()
        .iter()
        .map(|i| format!("{}: {}", i.line, i.key))
        .collect();
    assert_eq!(
        told,
        [
            "1: tools.rules, rule 1, action",
            "6: tools.rules, rule 2, risk"
        ]
    );
    let risks: Vec<Option<Risk>> = effective.rules().layers[2]
        .rules
        .iter()
        .map(|rule| rule.risk)
        .collect();
    assert_eq!(risks, [None, None, Some(Risk::High)]);
    assert_eq!(
        effective
            .show()
            .iter()
            .filter(|row| row.key == "tools.rules")
            .count(),
        3
    );
}
