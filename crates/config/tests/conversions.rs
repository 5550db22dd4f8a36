//! What the gate, policy and the sandbox get.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::path::PathBuf;
use std::time::Duration;

use support::{Texts, decide, user, workspace};
use toolgate_gate::OnError;
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_model::{Action, Facts, Run};
use toolgate_policy::LayerTrust;
use toolgate_sandbox::paths::{PathRules, PathSandbox, RootAccess, RootRule, StageOptions};

fn runs(words: &str) -> Facts {
    let words = words.split(' ').map(str::to_owned).collect();
    Facts {
        runs: vec![Run {
            words,
            opaque: false,
        }],
        ..Facts::default()
    }
}

#[test]
fn every_setting_of_the_gate_comes_from_its_key() {
    let effective = user(
        "tools.mode = 'parse_only'
         tools.max_tool_calls_per_batch = 3
         tools.max_tool_args_bytes = 5
         tools.max_concurrent = 6
         tools.on_error = 'stop'
         tools.approval.timeout_seconds = 0
         tools.timeouts.default_seconds = 7
         tools.timeouts.file_operations_seconds = 8
         tools.timeouts.shell_commands_seconds = 9
         tools.output.max_bytes = 2048
         tools.output.max_lines = 11
         tools.output.max_block_bytes = 3000
         tools.output.max_blocks_bytes = 4000",
    );
    let settings = effective.gate_settings(false);
    assert_eq!(settings.mode, ToolsMode::ParseOnly);
    assert_eq!(
        (settings.limits.max_calls, settings.limits.max_args_bytes),
        (3, 5)
    );
    assert_eq!(
        (settings.max_concurrent, settings.on_error),
        (6, OnError::Stop)
    );
    assert_eq!(settings.approval_timeout, None);
    let timeouts = [
        settings.timeouts.default,
        settings.timeouts.file,
        settings.timeouts.exec,
    ];
    assert_eq!(timeouts, [7, 8, 9].map(Duration::from_secs));
    assert_eq!(
        (settings.max_output_bytes, settings.max_output_lines),
        (2048, Some(11))
    );
    assert_eq!(
        (
            settings.blocks.max_block_bytes,
            settings.blocks.max_total_bytes
        ),
        (3000, 4000)
    );
    assert!(!settings.command_sandbox);
}

#[test]
fn rules_keep_their_layer_file_and_line() {
    let effective = Texts {
        user: "\n[[tools.rules]]\ntool = 'a'\naction = 'allow'\n\n[[tools.rules]]\ntool = 'b'\naction = 'ask'\n",
        project: "[tools.approval]\ndenylist = ['c']\n",
        config: "tools.rules = [\n  { tool = 'd', action = 'deny' },\n  { tool = 'e', action = 'deny' },\n]\n",
        ..Texts::default()
    }
    .effective();
    let layers = effective.rules().layers;
    let names: Vec<(&str, LayerTrust)> = layers
        .iter()
        .map(|layer| (layer.name.as_str(), layer.trust))
        .collect();
    use LayerTrust::{Trusted, Untrusted};
    assert_eq!(
        names,
        [
            ("built-in", Trusted),
            ("user", Trusted),
            ("project", Untrusted),
            ("config", Trusted)
        ]
    );
    let places: Vec<String> = layers
        .iter()
        .flat_map(|layer| &layer.rules)
        .map(|rule| format!("{} {}", rule.tool, rule.source))
        .collect();
    assert_eq!(
        places,
        [
            "a user.toml:2 (user)",
            "b user.toml:6 (user)",
            "d config.toml:2 (config)",
            "e config.toml:3 (config)"
        ]
    );
    assert_eq!(
        layers[2].denylist.source.to_string(),
        "toolgate.toml:2 (project)"
    );
}

#[test]
fn without_a_sandbox_commands_are_refused_until_the_configuration_says_otherwise() {
    let allow = "[[tools.rules]]\ntool = 'run_command'\naction = 'allow'\ncommand = ['ls']\n";
    let off = "tools.sandbox.command_sandbox = 'off'\n";
    for (user, config, command, expected) in [
        ("", "", "ls", Action::Deny),
        (off, "", "ls", Action::Ask),
        ("", off, "ls", Action::Ask),
        (allow, off, "ls", Action::Allow),
        (allow, off, "rm x", Action::Ask),
        (
            "tools.approval.trust = 'autonomous'",
            off,
            "ls",
            Action::Ask,
        ),
    ] {
        let effective = Texts {
            user,
            config,
            ..Texts::default()
        }
        .effective();
        assert_eq!(
            decide(&effective, &runs(command), false),
            expected,
            "{user} {config} {command}"
        );
    }
    let effective = Texts {
        project: off,
        ..Texts::default()
    }
    .effective();
    assert_eq!(decide(&effective, &runs("ls"), false), Action::Deny);
}

#[test]
fn the_latest_trusted_list_of_allowed_commands_counts_and_an_untrusted_one_besides() {
    let list = |names: &str| format!("tools.approval.allowed_commands = {names}");
    let (both, one, other) = (list("['a', 'b']"), list("['a']"), list("['b']"));
    for (user, project, config, a, b, c) in [
        (&both, "", "", Action::Allow, Action::Allow, Action::Deny),
        (
            &one,
            "",
            other.as_str(),
            Action::Deny,
            Action::Allow,
            Action::Deny,
        ),
        (
            &both,
            one.as_str(),
            "",
            Action::Allow,
            Action::Deny,
            Action::Deny,
        ),
        (
            &one,
            both.as_str(),
            "",
            Action::Allow,
            Action::Deny,
            Action::Deny,
        ),
        (
            &String::new(),
            one.as_str(),
            "",
            Action::Ask,
            Action::Deny,
            Action::Deny,
        ),
    ] {
        let effective = Texts {
            user,
            project,
            config,
            ..Texts::default()
        }
        .effective();
        let answers = ["a", "b", "c"].map(|command| decide(&effective, &runs(command), true));
        assert_eq!(answers, [a, b, c], "{user} {project} {config}");
    }
}

#[test]
fn roots_and_grants_become_directories_of_the_sandboxes() {
    let effective = user(
        "[tools.sandbox]
         allowed_roots = [
           '.',
           './sub/../a',
           { path = '/srv', access = 'read' },
           { path = 'w', access = 'write' },
           { path = 'x' },
         ]
         grants = ['/opt', { path = '/var', access = 'write' }, 'here']
         denied_patterns = ['d']
         protected_paths = ['p']
         allow_absolute = true
         include_default_denies = false",
    );
    use RootAccess::{ReadOnly, ReadWrite};
    let plain = |roots: Vec<RootRule>| -> Vec<(String, RootAccess)> {
        roots
            .into_iter()
            .map(|root| {
                (
                    root.path
                        .display()
                        .to_string()
                        .replace(workspace().to_str().unwrap(), "W"),
                    root.access,
                )
            })
            .collect()
    };
    let rules = effective.path_rules().unwrap();
    assert_eq!(
        plain(rules.roots),
        [
            ("W", ReadWrite),
            ("W/a", ReadWrite),
            ("/srv", ReadOnly),
            ("W/w", ReadWrite),
            ("W/x", ReadWrite)
        ]
        .map(|(path, access)| (path.to_owned(), access))
    );
    assert_eq!(
        (rules.denied_patterns, rules.protected_paths),
        (vec!["d".to_owned()], vec!["p".to_owned()])
    );
    assert!(rules.allow_absolute && !rules.include_default_denies);
    assert_eq!(
        plain(effective.command_directories()),
        [
            ("/opt", ReadOnly),
            ("/var", ReadWrite),
            ("W/here", ReadOnly)
        ]
        .map(|(path, access)| (path.to_owned(), access))
    );
}

#[test]
fn only_a_trusted_rule_that_names_a_path_for_writing_lifts_its_protection() {
    let rule = |body: &str| format!("[[tools.rules]]\ntool = 'write_file'\n{body}\n");
    for (body, named) in [
        ("action = 'allow'\nwrites = ['toolgate.toml']", true),
        ("action = 'ask'\nwrites = ['toolgate.toml']", true),
        ("action = 'deny'\nwrites = ['toolgate.toml']", false),
        ("action = 'allow'\nwrites = ['*.toml']", false),
        ("action = 'allow'\nreads = ['toolgate.toml']", false),
        ("action = 'allow'\ndeletes = ['toolgate.toml']", false),
        (
            "action = 'allow'\nwrites = ['toolgate.toml']\nwhen = [{ param = 'x', operator = 'equals', value = 'y' }]",
            false,
        ),
        ("action = 'allow'\nwrites = ['/etc/passwd']", false),
    ] {
        let text = rule(body);
        let expected: Vec<PathBuf> = if named {
            vec!["toolgate.toml".into()]
        } else {
            Vec::new()
        };
        assert_eq!(user(&text).path_rules().unwrap().named, expected, "{body}");
        let project = |trusted| {
            Texts {
                project: &text,
                trusted,
                ..Texts::default()
            }
            .effective()
            .path_rules()
            .unwrap()
            .named
        };
        assert_eq!(project(true), expected, "{body}");
        assert_eq!(project(false), Vec::<PathBuf>::new(), "{body}");
    }
}

#[test]
fn the_rule_that_a_denial_prints_opens_the_path() {
    let options = || StageOptions {
        overwrite: true,
        create_parents: true,
        nonce: 7,
    };
    // What a person's file may hold already.
    let before = "[tools]\nmax_concurrent = 2\n\n[[tools.rules]]\ntool = '*'\naction = 'deny'\nwrites = ['no']\n";
    for path in [
        ".cargo/config.toml",
        "./a//.envrc",
        "app/[id]/{x}/.envrc",
        "~/.bashrc",
        "quo\"te's/.vscode/tasks.json",
        "back\\slash/.husky/pre-commit",
        ".git/rebase-merge/git-rebase-todo",
        "toolgate.toml",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let rules = PathRules::new(directory.path());
        let staged = PathSandbox::open(&rules).unwrap().stage(path, options());
        let text = staged.map(drop).unwrap_err().to_string();
        let (_, rule) = text.split_once("configuration:\n").expect(&text);
        let named = user(&format!("{before}\n{rule}\n"))
            .path_rules()
            .unwrap()
            .named;
        let opened = PathSandbox::open(&PathRules { named, ..rules }).unwrap();
        let staged = opened.stage(path, options());
        let mut staged = staged.unwrap_or_else(|error| panic!("{path}: {error}"));
        staged.write_all(b"x").unwrap();
        staged.commit().unwrap();
        let other = opened.stage(format!("other/{path}"), options());
        assert!(other.is_err(), "{path}");
    }
}
