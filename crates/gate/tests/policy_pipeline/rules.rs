//! Rules, aliases, the switch and the denylist.

use std::sync::Arc;

use serde_json::json;
use toolgate_gate::registry::{Alias, Registry};
use toolgate_gate::tool::Spelling;
use toolgate_model::{Action, ErrorKind, Facts, Risk};
use toolgate_policy::{
    Condition, LayerSpec, LayerTrust, Listed, Operator, Question, RuleSpec, Values, misfits,
};
use toolgate_testkit::{Rig, Scripted, Workspace, paused, raw_call};

use crate::fixture::{planned, shell_tool};

#[test]
fn a_rule_that_names_an_alias_means_its_tool_whenever_the_alias_came() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("run_command"))
            .rule(RuleSpec::new("bash", Action::Deny))
            .build();
        assert_eq!(
            planned(&bench, "run_command", json!({})).await.0,
            Action::Allow,
            "no such alias yet"
        );
        bench
            .registry
            .alias(Alias::new("bash", "run_command"))
            .unwrap();
        for name in ["run_command", "bash"] {
            assert_eq!(
                planned(&bench, name, json!({})).await.0,
                Action::Deny,
                "{name}"
            );
        }
    });
}

#[test]
fn a_rule_that_cannot_be_understood_is_an_error_of_the_builder() {
    let mut rule = RuleSpec::new("*", Action::Deny);
    rule.when.push(Condition {
        param: "x".into(),
        operator: Operator::Matches,
        value: "(".into(),
    });
    let workspace = Workspace::new();
    let registry = Arc::new(toolgate_gate::registry::Registry::new());
    let journal = Arc::new(toolgate_journal::MemoryJournal::new());
    let rules = toolgate_gate::Rules {
        layers: vec![LayerSpec::new("user", LayerTrust::Trusted, vec![rule])],
        ..toolgate_gate::Rules::default()
    };
    let error = toolgate_gate::Gate::builder(registry, rules, workspace.sandbox().clone(), journal)
        .build()
        .unwrap_err();
    assert!(
        matches!(error, toolgate_gate::BuildError::Policy(_)),
        "{error}"
    );
}

#[test]
fn the_switch_denies_everything_with_the_specified_words() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("noop"))
            .rule(RuleSpec::new("noop", Action::Allow))
            .rules(|rules| rules.settings.enabled = false)
            .build();
        let result = bench.one("noop", json!({})).await;
        assert_eq!(result.kind(), Some(ErrorKind::Disabled));
        assert_eq!(result.content, "Tool execution disabled by policy");
    });
}

#[test]
fn the_denylist_denies_in_every_mode() {
    paused(async {
        for mode in [
            toolgate_policy::Mode::Auto,
            toolgate_policy::Mode::Prompt,
            toolgate_policy::Mode::Deny,
        ] {
            let mut layer = LayerSpec::new("user", LayerTrust::Trusted, Vec::new());
            layer.denylist = Listed {
                entries: vec!["noop".into()],
                ..Listed::default()
            };
            layer.allowlist = Some(Listed {
                entries: vec!["noop".into(), "other".into()],
                ..Listed::default()
            });
            let bench = Rig::new()
                .tool(Scripted::new("noop"))
                .tool(Scripted::new("other"))
                .rules(|rules| {
                    rules.settings.mode = Some(mode);
                    rules.layers.push(layer);
                })
                .build();
            assert_eq!(
                planned(&bench, "noop", json!({})).await.0,
                Action::Deny,
                "{mode:?}"
            );
            assert_eq!(
                planned(&bench, "other", json!({})).await.0,
                Action::Allow,
                "{mode:?}"
            );
        }
    });
}

#[test]
fn a_denying_rule_is_reported_before_the_sandbox_and_a_denying_default_after_it() {
    paused(async {
        let (denied, outside) = (ErrorKind::PolicyDenied, ErrorKind::OutsideSandbox);
        for (rule, default, path, told) in [
            (Some(Action::Deny), Action::Allow, "../out.txt", denied),
            (Some(Action::Deny), Action::Deny, "../out.txt", denied),
            (Some(Action::Allow), Action::Allow, "../out.txt", outside),
            (None, Action::Allow, "../out.txt", outside),
            (None, Action::Deny, "../out.txt", outside),
            (None, Action::Deny, "inside.txt", denied),
        ] {
            let facts = Facts {
                reads: vec![path.to_owned()],
                ..Facts::none()
            };
            let mut rig = Rig::new()
                .tool(Scripted::new("subject").facts(facts))
                .rules(|rules| rules.settings.default_action = Some(default));
            if let Some(action) = rule {
                rig = rig.rule(RuleSpec::new("subject", action));
            }
            let result = rig.build().one("subject", json!({})).await;
            assert_eq!(result.kind(), Some(told), "{rule:?} {default:?} {path}");
        }
    });
}

/// Seed 003 spells its parameters so; a call is compared under the canonical names.
#[test]
fn a_condition_on_another_spelling_of_an_argument_means_the_argument() {
    let tool = Scripted::new("echo").spec(|spec| {
        spec.schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"max_results": {"type": "string"}}});
        spec.spellings = vec![Spelling::same("maxResults", "max_results")];
    });
    for (named, param, decided) in [
        ("echo", "max_results", true),
        ("echo", "maxResults", true),
        ("parrot", "maxResults", true),
        ("parrot", "most", true),
        ("echo", "most", false),
    ] {
        let registry = Registry::new();
        registry.register(Arc::new(tool.clone())).unwrap();
        let alias = Alias::new("parrot", "echo").spelling(Spelling::same("most", "max_results"));
        registry.alias(alias).unwrap();
        let mut rule = RuleSpec::new(named, Action::Deny);
        rule.when = vec![Condition {
            param: param.to_owned(),
            operator: Operator::Equals,
            value: Values::One("9".to_owned()),
        }];
        let layer = LayerSpec::new("user", LayerTrust::Trusted, vec![rule]);
        let policy = registry.policy(Default::default(), &[layer]).unwrap();
        let misfit = misfits(&policy, &registry.known_tools());
        assert_eq!(misfit.is_empty(), decided, "{named} {param}: {misfit:?}");
        let args = raw_call("1", "echo", json!({"max_results": "9"})).args;
        let decision = policy.decide(Question {
            tool: "echo",
            args: &args,
            facts: &Facts::none(),
            side_effects: false,
            requires_approval: false,
            risk: Risk::Low,
            command_sandbox: false,
            network_closed: false,
            sandbox_from_facts: false,
        });
        assert_eq!(decision.action == Action::Deny, decided, "{named} {param}");
    }
}

/// The answer to a line where a trusted rule allows the programs and another denies `.env`.
async fn judged(line: &str) -> Option<ErrorKind> {
    let programs = ["git", "npm", "make", "gcc", "cargo", "rg", "awk", "hg"];
    let bench = Rig::new()
        .tool(shell_tool(line))
        .rules(|rules| {
            let mut allow = RuleSpec::new("run_command", Action::Allow);
            let words = programs.iter().map(|&name| name.to_owned()).collect();
            allow.command = Some(vec![toolgate_policy::WordPattern::Any(words)]);
            let mut deny = RuleSpec::new("run_command", Action::Deny);
            deny.reads = Some(vec![".env".into()]);
            let layer = LayerSpec::new("user", LayerTrust::Trusted, vec![allow, deny]);
            rules.layers.push(layer);
        })
        .settings(|settings| settings.command_sandbox = true)
        .build();
    bench.one("run_command", json!({})).await.kind()
}

#[test]
fn an_allow_for_a_program_does_not_cover_other_effects() {
    paused(async {
        for (line, expected) in [
            ("npm test", None),
            ("NODE_ENV=test npm run build --silent", None),
            ("make -j8 all", None),
            ("cargo clippy --all-targets -- -D warnings", None),
            ("git show HEAD:README.md", None),
            ("npm --userconfig x test", Some(ErrorKind::NoApprover)),
            (
                "Npm_config_script_shell=./x npm test",
                Some(ErrorKind::NoApprover),
            ),
            ("RM=./x make clean", Some(ErrorKind::NoApprover)),
            ("make CC=./x", Some(ErrorKind::NoApprover)),
            ("gcc -specs=x a.c", Some(ErrorKind::NoApprover)),
            (
                "cargo rustc -- --codegen linker=./x",
                Some(ErrorKind::NoApprover),
            ),
            (
                "awk 'BEGIN { a++ / system(\"id\") / 1 }'",
                Some(ErrorKind::NoApprover),
            ),
            ("git cat-file -p 8ab686e", Some(ErrorKind::NoApprover)),
            ("git stash show -p", Some(ErrorKind::NoApprover)),
            ("ɡit status", Some(ErrorKind::NoApprover)),
            ("git show HEAD:.env", Some(ErrorKind::PolicyDenied)),
            ("git log -p -- conf/.env", Some(ErrorKind::PolicyDenied)),
            ("git checkout HEAD~1 -- .env", Some(ErrorKind::PolicyDenied)),
            ("hg cat -r 3 .env", Some(ErrorKind::PolicyDenied)),
        ] {
            assert_eq!(judged(line).await, expected, "{line}");
        }
    });
}
