//! How layers become one: what replaces and what adds up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::path::PathBuf;

use support::{Texts, rows, source, user, workspace};
use toolgate_config::{Effective, Options, Project, Sources};
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_policy::{Mode, Trust};

#[test]
fn values_replace_and_lists_that_deny_strip_or_protect_add_up() {
    for (key, user, config, expected) in [
        (
            "tools.mode",
            "'disabled'",
            "'enabled'",
            &["config: \"enabled\""][..],
        ),
        ("tools.max_concurrent", "2", "1", &["config: 1"]),
        ("tools.approval.enabled", "false", "true", &["config: true"]),
        (
            "tools.approval.allowlist",
            "['a']",
            "['b']",
            &["config: [\"b\"]"],
        ),
        ("tools.approval.allowlist", "['a']", "[]", &["config: []"]),
        (
            "tools.approval.denylist",
            "['a']",
            "['b']",
            &["user: [\"a\"]", "config: [\"b\"]"],
        ),
        ("tools.approval.denylist", "['a']", "[]", &["user: [\"a\"]"]),
        (
            "tools.approval.blocked_commands",
            "['dd']",
            "['mkfs']",
            &["user: [\"dd\"]", "config: [\"mkfs\"]"],
        ),
        (
            "tools.approval.blocked_paths",
            "['a']",
            "['b']",
            &["user: [\"a\"]", "config: [\"b\"]"],
        ),
        (
            "tools.approval.allowed_commands",
            "['a']",
            "['b']",
            &["config: [\"b\"]"],
        ),
        (
            "tools.approval.allowed_paths",
            "['a']",
            "['b']",
            &["config: [\"b\"]"],
        ),
        (
            "tools.sandbox.allowed_roots",
            "['.', '/a']",
            "['.']",
            &["config: [\".\"]"],
        ),
        (
            "tools.sandbox.denied_patterns",
            "['a']",
            "['b']",
            &["user: [\"a\"]", "config: [\"b\"]"],
        ),
        (
            "tools.sandbox.protected_paths",
            "['a']",
            "['b']",
            &["user: [\"a\"]", "config: [\"b\"]"],
        ),
        (
            "tools.sandbox.grants",
            "['/a']",
            "['/b']",
            &["config: [\"/b\"]"],
        ),
        (
            "tools.environment.strip",
            "['A']",
            "['B']",
            &["user: [\"A\"]", "config: [\"B\"]"],
        ),
        (
            "tools.environment.keep",
            "['A']",
            "['B']",
            &["config: [\"B\"]"],
        ),
        ("tools.output.max_lines", "5", "7", &["config: 7"]),
        (
            "server.allowed_origins",
            "['http://a']",
            "['http://b']",
            &["config: [\"http://b\"]"],
        ),
    ] {
        let file = |value: &str| format!("{key} = {value}\n");
        let (user, config) = (file(user), file(config));
        let effective = Texts {
            user: &user,
            config: &config,
            ..Texts::default()
        }
        .effective();
        assert_eq!(rows(&effective, key), expected, "{key}");
        // A trusted project is a layer like the others.
        let effective = Texts {
            user: &user,
            project: &config,
            trusted: true,
            ..Texts::default()
        }
        .effective();
        let expected: Vec<String> = expected
            .iter()
            .map(|row| row.replace("config:", "project:"))
            .collect();
        assert_eq!(rows(&effective, key), expected, "{key}");
        assert_eq!(effective.ignored(), []);
    }
}

#[test]
fn setting_one_key_of_a_section_changes_no_other() {
    let before = support::built_in();
    for file in [
        "[tools.approval]\nmode = 'auto'\n",
        "[tools.sandbox]\nnetwork = 'on'\n",
        "[tools.timeouts]\ndefault_seconds = 3\n",
        "[tools.environment]\nkeep = ['A']\n",
        "[server]\nport = 1\n",
    ] {
        let after = user(file);
        let changed: Vec<_> = after
            .show()
            .into_iter()
            .zip(before.show())
            .filter(|(a, b)| a != b)
            .collect();
        assert_eq!(changed.len(), 1, "{file}: {changed:?}");
    }
    let named = user("[providers.a]\nkind = 'ollama'\nmodel = 'x'\n");
    assert_eq!(named.settings().providers["a"].timeout_seconds, 300);
}

#[test]
fn named_sections_merge_key_by_key() {
    let effective = Texts {
        user: "[providers.a]\nkind = 'ollama'\nmodel = 'x'\ntimeout_seconds = 5\n",
        config: "[providers.a]\nmodel = 'y'\n[providers.'b.c']\nkind = 'replay'\n",
        ..Texts::default()
    }
    .effective();
    let providers = &effective.settings().providers;
    assert_eq!(
        (
            providers["a"].model.as_deref(),
            providers["a"].timeout_seconds
        ),
        (Some("y"), 5)
    );
    assert_eq!(
        rows(&effective, "providers.\"b.c\".kind"),
        ["config: \"replay\""]
    );
}

#[test]
fn short_spellings_mean_their_keys() {
    for (file, concurrent) in [
        ("tools.allow_parallel = true\n", 4),
        ("tools.allow_parallel = false\n", 1),
        ("tools.allow_parallel = true\ntools.max_concurrent = 2\n", 2),
        (
            "tools.allow_parallel = false\ntools.max_concurrent = 2\n",
            2,
        ),
    ] {
        assert_eq!(
            user(file).settings().tools.max_concurrent,
            concurrent,
            "{file}"
        );
    }
    let layered = Texts {
        user: "tools.max_concurrent = 3",
        config: "tools.allow_parallel = false",
        ..Texts::default()
    };
    assert_eq!(layered.effective().settings().tools.max_concurrent, 1);
    let both = user("[tools.environment]\nstrip = ['A']\ndenylist = ['B']\n");
    assert_eq!(both.settings().tools.environment.strip, ["A", "B"]);
}

#[test]
fn options_come_last() {
    let effective = Texts {
        config: "tools.mode = 'disabled'\ntools.approval.trust = 'supervised'\njournal.path = '/a'\n",
        options: Options {
            trust: Some(Trust::Autonomous),
            approval_mode: Some(Mode::Deny),
            tools_mode: Some(ToolsMode::ParseOnly),
            profile: Some("p".to_owned()),
            journal: Some(PathBuf::from("/b")),
        },
        ..Texts::default()
    }
    .effective();
    let tools = &effective.settings().tools;
    assert_eq!(
        (tools.mode, tools.profile.as_deref()),
        (ToolsMode::ParseOnly, Some("p"))
    );
    assert_eq!(
        (tools.approval.trust, tools.approval.mode),
        (Trust::Autonomous, Some(Mode::Deny))
    );
    assert_eq!(effective.settings().journal.path, Some(PathBuf::from("/b")));
    assert_eq!(
        effective
            .origin("tools.approval.trust")
            .unwrap()
            .to_string(),
        "option --trust"
    );
    assert_eq!(effective.origin("tools.nothing"), None);
}

#[test]
fn a_mode_is_in_force_where_it_was_named_and_alone_without_a_trust() {
    for (file, mode, alone) in [
        ("tools.approval.trust = 'autonomous'", None, false),
        (
            "tools.approval.trust = 'autonomous'\ntools.approval.mode = 'prompt'",
            Some(Mode::Prompt),
            false,
        ),
        ("tools.approval.mode = 'auto'", Some(Mode::Auto), true),
    ] {
        let settings = user(file).policy_settings();
        assert_eq!(
            (settings.mode, settings.mode_alone),
            (mode, alone),
            "{file}"
        );
    }
    // A project that only says what is implied does not fix it; one that is stricter does.
    let project = |project| {
        Texts {
            user: "tools.approval.trust = 'autonomous'",
            project,
            ..Texts::default()
        }
        .effective()
    };
    assert_eq!(
        project("tools.approval.mode = 'auto'")
            .policy_settings()
            .mode,
        None
    );
    assert_eq!(
        project("tools.approval.mode = 'prompt'")
            .policy_settings()
            .mode,
        Some(Mode::Prompt)
    );
}

#[test]
fn a_limit_follows_its_bound_where_the_bound_was_lowered_elsewhere() {
    let user = "[tools.apply_patch]\nmax_patch_bytes = 200000\n";
    for (user, project, trusted, is_error) in [
        ("[tools]\nmax_tool_args_bytes = 9\n", "", false, false),
        (user, "[tools]\nmax_tool_args_bytes = 100\n", false, false),
        (user, "[tools]\nmax_tool_args_bytes = 100\n", true, true),
        (
            user,
            "[tools.apply_patch]\nmax_patch_bytes = 99999999\n",
            false,
            false,
        ),
        (
            "[tools.apply_patch]\nmax_patch_bytes = 300000\n",
            "",
            false,
            true,
        ),
    ] {
        let sources = Sources {
            workspace: workspace(),
            user: Some(source("user.toml", user)),
            project: Some(Project {
                source: source("toolgate.toml", project),
                trusted,
            }),
            ..Sources::default()
        };
        let loaded = Effective::load(&sources);
        assert_eq!(loaded.is_err(), is_error, "{user} {project} {trusted}");
    }
}
