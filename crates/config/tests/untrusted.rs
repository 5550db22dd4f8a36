//! The law of untrusted projects: whatever their file says, nothing gets looser.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::Texts;
use toolgate_config::settings::{CommandSandboxMode, Network};
use toolgate_config::{Effective, Options};
use toolgate_gate::OnError;
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_model::{Args, Facts, Risk, Run};
use toolgate_policy::{Mode, Policy, Question, Trust};
use toolgate_sandbox::paths::{PathRules, RootAccess};

/// Keys with values that are right, for files that have no mistake.
const VALUES: &[(&str, &[&str])] = &[
    ("tools.mode", &["'disabled'", "'parse_only'", "'enabled'"]),
    ("tools.max_tool_calls_per_batch", &["1", "8", "99"]),
    (
        "tools.max_tool_iterations_per_user_turn",
        &["1", "200", "999"],
    ),
    ("tools.max_tool_args_bytes", &["2", "262144", "9999999"]),
    ("tools.max_concurrent", &["1", "2", "16"]),
    ("tools.allow_parallel", &["true", "false"]),
    ("tools.on_error", &["'stop'", "'continue'"]),
    ("tools.profile", &["'a'", "'b'"]),
    ("tools.approval.enabled", &["true", "true", "true", "false"]),
    (
        "tools.approval.trust",
        &["'supervised'", "'guided'", "'autonomous'"],
    ),
    ("tools.approval.mode", &["'auto'", "'prompt'", "'deny'"]),
    (
        "tools.approval.default_action",
        &["'allow'", "'ask'", "'deny'"],
    ),
    ("tools.approval.prompt_side_effects", &["true", "false"]),
    ("tools.approval.timeout_seconds", &["0", "1", "60", "600"]),
    (
        "tools.approval.allowlist",
        &["[]", "['edit_file']", "['run_command', 'read_file']"],
    ),
    (
        "tools.approval.denylist",
        &["[]", "['edit_file']", "['run_command']"],
    ),
    (
        "tools.approval.allowed_commands",
        &["[]", "['git']", "['git status', 'ls']"],
    ),
    (
        "tools.approval.blocked_commands",
        &["[]", "['rm']", "['git push']"],
    ),
    (
        "tools.approval.allowed_paths",
        &["[]", "['src/**']", "['**']", "['/srv/**', 'docs/']"],
    ),
    (
        "tools.approval.blocked_paths",
        &["[]", "['*.pem']", "['src/a']"],
    ),
    (
        "tools.sandbox.allowed_roots",
        &[
            "['.']",
            "['src']",
            "['.', '/srv/a']",
            "['/']",
            "[{ path = '.', access = 'read' }]",
            "['src', 'docs']",
            "['..']",
        ],
    ),
    ("tools.sandbox.denied_patterns", &["[]", "['*.db']"]),
    ("tools.sandbox.protected_paths", &["[]", "['Makefile']"]),
    ("tools.sandbox.allow_absolute", &["true", "false"]),
    ("tools.sandbox.include_default_denies", &["true", "false"]),
    ("tools.sandbox.command_sandbox", &["'required'", "'off'"]),
    ("tools.sandbox.network", &["'off'", "'loopback'", "'on'"]),
    ("tools.sandbox.grants", &["[]", "['/etc']"]),
    ("tools.timeouts.default_seconds", &["1", "30", "900"]),
    (
        "tools.timeouts.file_operations_seconds",
        &["1", "30", "900"],
    ),
    (
        "tools.timeouts.shell_commands_seconds",
        &["1", "300", "900"],
    ),
    ("tools.output.max_bytes", &["1024", "102400", "999999"]),
    ("tools.output.max_lines", &["1", "50"]),
    ("tools.environment.keep", &["[]", "['AWS_*']"]),
    ("tools.environment.strip", &["[]", "['A']"]),
    ("tools.environment.denylist", &["['B']"]),
    ("tools.read_file.max_file_read_bytes", &["1", "999999"]),
    ("tools.read_file.max_scan_bytes", &["1", "99999999"]),
    ("tools.write_file.max_file_bytes", &["1", "99999999"]),
    // Above `max_tool_args_bytes` it is an error.
    ("tools.apply_patch.max_patch_bytes", &["1", "2"]),
    ("tools.list_directory.max_entries", &["1", "9999"]),
    ("tools.list_directory.max_depth", &["1", "99"]),
    (
        "tools.definitions",
        &[
            "[]",
            "[{ name = 'a', description = 'b', parameters = { type = 'object' } }]",
        ],
    ),
    ("presets.x.trust", &["'autonomous'", "'supervised'"]),
    ("providers.x.kind", &["'ollama'", "'replay'"]),
    ("search.searxng.url", &["'http://a'", "'http://b'"]),
    ("server.host", &["'0.0.0.0'"]),
    ("journal.path", &["'/tmp/x'"]),
];

const TOOLS: &[&str] = &["edit_file", "run_command", "read_file"];
const PATHS: &[&str] = &[
    "src/a",
    "src/b/c.pem",
    "docs/x",
    ".",
    "Makefile",
    "/srv/a/x",
    "/etc/passwd",
];
const PATTERNS: &[&str] = &[
    "src/**", "**", "src/a", "*.pem", "docs/", "/srv/**", "Makefile",
];
const COMMANDS: &[&str] = &["git status", "git push", "rm -rf x", "ls", "/bin/rm x"];
const HOSTS: &[&str] = &["example.com", "evil.example:80"];

fn one(pool: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(pool)
}

/// A rule as an inline table.
fn rule() -> impl Strategy<Value = String> {
    let quoted_list =
        |pool| proptest::collection::vec(one(pool), 1..3).prop_map(|all| format!("{all:?}"));
    let path_key = (one(&["reads", "writes", "deletes"]), quoted_list(PATTERNS))
        .prop_map(|(key, list)| format!("{key} = {list}"));
    let host_key = quoted_list(HOSTS).prop_map(|list| format!("connects = {list}"));
    let command_key = (one(COMMANDS), any::<bool>()).prop_map(|(command, opaque)| {
        let words: Vec<&str> = command.split(' ').take(2).collect();
        format!("command = {words:?}, opaque = {opaque}")
    });
    let narrowed = prop_oneof![
        2 => path_key,
        1 => host_key,
        2 => command_key,
        1 => Just("opaque = true".to_owned()),
        1 => Just("opaque = false".to_owned()),
    ];
    let tools = one(&["*", "edit_file", "run_command", "read_file"]);
    let rest = prop_oneof![
        4 => Just(String::new()),
        1 => one(&["low", "medium", "high"]).prop_map(|risk| format!(", risk = '{risk}'")),
        1 => Just(", when = [{ param = 'path', operator = 'contains', value = 'a' }]".to_owned()),
    ];
    (tools, one(&["allow", "ask", "deny"]), narrowed, rest).prop_map(
        |(tool, action, narrowed, rest)| {
            format!("{{ tool = '{tool}', action = '{action}', {narrowed}{rest} }}")
        },
    )
}

/// A file without a mistake.
fn file() -> impl Strategy<Value = String> {
    let value =
        proptest::sample::select(VALUES).prop_flat_map(|(key, values)| (Just(key), one(values)));
    let values = proptest::collection::vec(value, 0..12);
    let rules = proptest::collection::vec(rule(), 0..5);
    (values, rules).prop_map(|(values, rules)| {
        let keys: BTreeMap<&str, &str> = values.into_iter().collect();
        let mut text: String = keys
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        if !rules.is_empty() {
            text.push_str(&format!("tools.rules = [\n  {},\n]\n", rules.join(",\n  ")));
        }
        text
    })
}

fn options() -> impl Strategy<Value = Options> {
    let trust = proptest::option::weighted(
        0.3,
        proptest::sample::select(&[Trust::Supervised, Trust::Guided, Trust::Autonomous][..]),
    );
    let mode = proptest::option::weighted(
        0.2,
        proptest::sample::select(&[Mode::Auto, Mode::Prompt, Mode::Deny][..]),
    );
    (trust, mode).prop_map(|(trust, approval_mode)| Options {
        trust,
        approval_mode,
        ..Options::default()
    })
}

/// A call: its facts, and what surrounds it.
#[derive(Clone, Debug)]
struct Call {
    tool: &'static str,
    facts: Facts,
    flags: [bool; 4],
    risk: Risk,
}

fn call() -> impl Strategy<Value = Call> {
    let some = |pool| proptest::collection::vec(one(pool).prop_map(str::to_owned), 0..3);
    let runs = proptest::collection::vec((one(COMMANDS), any::<bool>()), 0..3).prop_map(|runs| {
        let run = |(line, opaque): (&str, bool)| Run {
            words: line.split(' ').map(str::to_owned).collect(),
            opaque,
        };
        runs.into_iter().map(run).collect::<Vec<_>>()
    });
    let facts = (
        some(PATHS),
        some(PATHS),
        some(PATHS),
        runs,
        some(HOSTS),
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(reads, writes, deletes, runs, connects, [complete, claimed])| Facts {
                reads,
                writes,
                deletes,
                runs,
                connects,
                complete,
                claimed,
                ..Facts::default()
            },
        );
    let risk = proptest::sample::select(&[Risk::Low, Risk::Medium, Risk::High][..]);
    (
        proptest::sample::select(TOOLS),
        facts,
        any::<[bool; 4]>(),
        risk,
    )
        .prop_map(|(tool, facts, flags, risk)| Call {
            tool,
            facts,
            flags,
            risk,
        })
}

fn policy(effective: &Effective) -> Policy {
    let rules = effective.rules();
    Policy::compile(rules.settings, &rules.layers, &str::to_owned).unwrap()
}

/// Everything that has an order from strict to loose, as numbers.
fn sizes(effective: &Effective) -> Vec<(&'static str, u64)> {
    let settings = effective.settings();
    let tools = &settings.tools;
    let wide = |number: usize| u64::try_from(number).unwrap();
    vec![
        (
            "mode",
            match tools.mode {
                ToolsMode::Disabled => 0,
                ToolsMode::ParseOnly => 1,
                ToolsMode::Enabled => 2,
            },
        ),
        ("calls", wide(tools.max_tool_calls_per_batch)),
        ("iterations", wide(tools.max_tool_iterations_per_user_turn)),
        ("args", wide(tools.max_tool_args_bytes)),
        ("concurrent", wide(tools.max_concurrent)),
        ("on_error", u64::from(tools.on_error == OnError::Continue)),
        ("enabled", u64::from(tools.approval.enabled)),
        (
            "approval timeout",
            tools
                .approval
                .timeout()
                .map_or(u64::MAX, |timeout| timeout.as_secs()),
        ),
        ("allow_absolute", u64::from(tools.sandbox.allow_absolute)),
        (
            "default denies",
            u64::from(!tools.sandbox.include_default_denies),
        ),
        (
            "command sandbox",
            u64::from(tools.sandbox.command_sandbox == CommandSandboxMode::Off),
        ),
        (
            "network",
            match tools.sandbox.network {
                Network::Off => 0,
                Network::Loopback => 1,
                Network::On => 2,
            },
        ),
        ("default timeout", tools.timeouts.default_seconds),
        ("file timeout", tools.timeouts.file_operations_seconds),
        ("command timeout", tools.timeouts.shell_commands_seconds),
        ("output", wide(tools.output.max_bytes)),
        ("lines", tools.output.max_lines.map_or(u64::MAX, wide)),
        ("read", tools.read_file.max_file_read_bytes),
        ("scan", tools.read_file.max_scan_bytes),
        ("write", tools.write_file.max_file_bytes),
        ("patch", tools.apply_patch.max_patch_bytes),
        ("entries", wide(tools.list_directory.max_entries)),
        ("depth", wide(tools.list_directory.max_depth)),
    ]
}

fn contains_all<T: PartialEq>(larger: &[T], smaller: &[T]) -> bool {
    smaller.iter().all(|entry| larger.contains(entry))
}

fn narrower(with: &PathRules, without: &PathRules) -> bool {
    let roots = with.roots.iter().all(|root| {
        without.roots.iter().any(|other| {
            root.path == other.path
                && (root.access == other.access || root.access == RootAccess::ReadOnly)
        })
    });
    roots
        && with.roots[0].path == without.roots[0].path
        && contains_all(&with.denied_patterns, &without.denied_patterns)
        && contains_all(&with.protected_paths, &without.protected_paths)
        && contains_all(&without.named, &with.named)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    #[test]
    fn an_untrusted_file_loosens_nothing(
        user in file(),
        project in file(),
        config in file(),
        options in options(),
        calls in proptest::collection::vec(call(), 16),
    ) {
        let layers = Texts { user: &user, config: &config, options: options.clone(), ..Texts::default() };
        let without = layers.effective();
        let with = Texts { project: &project, ..layers }.effective();

        for ((what, new), (_, old)) in sizes(&with).into_iter().zip(sizes(&without)) {
            prop_assert!(new <= old, "{what}: {new} > {old}");
        }
        prop_assert!(narrower(&with.path_rules().unwrap(), &without.path_rules().unwrap()));
        let (new, old) = (with.settings(), without.settings());
        prop_assert_eq!(&new.tools.environment.keep, &old.tools.environment.keep);
        prop_assert!(contains_all(&new.tools.environment.strip, &old.tools.environment.strip));
        prop_assert_eq!(with.command_directories(), without.command_directories());
        prop_assert_eq!(&new.tools.profile, &old.tools.profile);
        prop_assert_eq!(&new.tools.definitions, &old.tools.definitions);
        prop_assert_eq!(
            (&new.presets, &new.providers, &new.search, &new.server, &new.journal),
            (&old.presets, &old.providers, &old.search, &old.server, &old.journal)
        );

        let (with, without) = (policy(&with), policy(&without));
        for call in &calls {
            let [side_effects, requires_approval, command_sandbox, sandbox_from_facts] = call.flags;
            let mut args = Args::new();
            args.insert("path".to_owned(), call.facts.reads.first().cloned().unwrap_or_default().into());
            let question = Question {
                tool: call.tool,
                args: &args,
                facts: &call.facts,
                side_effects,
                requires_approval,
                risk: call.risk,
                command_sandbox,
                network_closed: true,
                sandbox_from_facts,
            };
            let (new, old) = (with.judge(question), without.judge(question));
            prop_assert!(new.decision.action >= old.decision.action, "{call:?}\n{new:?}\n{old:?}");
            if new.decision.action == old.decision.action && with.settings().enabled {
                prop_assert!(new.risk >= old.risk, "{call:?}\n{new:?}\n{old:?}");
            }
        }
    }

    #[test]
    fn a_trusted_file_is_never_ignored(user in file(), project in file()) {
        let effective = Texts { user: &user, project: &project, trusted: true, ..Texts::default() }.effective();
        prop_assert_eq!(effective.ignored(), []);
        let as_config = Texts { user: &user, config: &project, ..Texts::default() }.effective();
        prop_assert_eq!(effective.settings(), as_config.settings());
    }

    #[test]
    fn an_empty_file_changes_nothing(user in file(), config in file(), options in options()) {
        let layers = Texts { user: &user, config: &config, options, ..Texts::default() };
        let with = Texts { project: "# nothing\n", ..layers.clone() }.effective();
        prop_assert_eq!(with.show(), layers.effective().show());
    }
}
