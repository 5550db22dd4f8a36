//! Scopes handed in by a caller: they take away and give nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::time::Duration;

use serde_json::json;
use toolgate_gate::registry::{Alias, Registry};
use toolgate_gate::session::Session;
use toolgate_model::ErrorKind;
use toolgate_policy::{Permission, Scope, Trust};
use toolgate_testkit::{Act, Bench, Rig, Scripted, call, paused, states_facts};

fn core_tools() -> Registry {
    let registry = Registry::new();
    for tool in [
        Scripted::new("read_file"),
        Scripted::new("web_search"),
        Scripted::new("write_file").side_effects(),
        Scripted::new("run_command").side_effects(),
    ] {
        registry.register(tool.into()).unwrap();
    }
    registry
        .alias(Alias::new("file_read", "read_file"))
        .unwrap();
    registry
}

fn scope(allowed: &[(&str, bool)]) -> Scope {
    let permissions = allowed.iter().map(|(name, allowed)| {
        let permission = Permission {
            allowed: *allowed,
            ..Permission::default()
        };
        ((*name).to_owned(), permission)
    });
    Scope {
        permissions: permissions.collect(),
    }
}

fn listed(scope: Option<&Scope>) -> Vec<String> {
    core_tools()
        .list_for_scope(scope)
        .iter()
        .map(|entry| entry.spec().name.clone())
        .collect()
}

#[test]
fn ac_08_without_a_scope_all_four_core_tools_are_listed() {
    assert_eq!(
        listed(None),
        ["read_file", "run_command", "web_search", "write_file"]
    );
}

#[test]
fn ac_09_a_scope_that_allows_two_tools_lists_those_two() {
    let scope = scope(&[
        ("file_read", true),
        ("web_search", true),
        ("run_command", false),
    ]);
    assert_eq!(
        listed(Some(&scope)),
        ["read_file", "web_search"],
        "an alias means its tool"
    );
}

#[test]
fn ac_10_a_scope_without_permissions_lists_the_safe_defaults() {
    assert_eq!(listed(Some(&Scope::default())), ["read_file", "web_search"]);
}

fn scoped(scope: Scope) -> Bench {
    Rig::new()
        .tool(Scripted::new("read_file"))
        .tool(Scripted::new("write_file").side_effects())
        .tool(states_facts("touch"))
        .tool(Scripted::new("slow").does(Act::Sleep))
        .rules(|rules| rules.settings.trust = Trust::Autonomous)
        .session(Session::new("scoped").scoped(scope))
        .build()
}

#[test]
fn a_scope_denies_what_it_does_not_name_whatever_the_rules_say() {
    paused(async {
        let bench = scoped(scope(&[("read_file", true)]));
        let results = bench
            .run(vec![
                call("1", "read_file", json!({})),
                call("2", "write_file", json!({})),
            ])
            .await;
        assert_eq!(results[0].kind(), None);
        assert_eq!(results[1].kind(), Some(ErrorKind::PolicyDenied));
        assert!(
            results[1].content.contains("scope"),
            "{}",
            results[1].content
        );
    });
}

#[test]
fn a_scope_gives_nothing_that_the_rules_would_ask() {
    paused(async {
        let mut rig = Rig::new().tool(Scripted::new("write_file").side_effects());
        rig = rig.session(Session::new("s").scoped(scope(&[("write_file", true)])));
        let result = rig.build().one("write_file", json!({})).await;
        assert_eq!(
            result.kind(),
            Some(ErrorKind::NoApprover),
            "still a question"
        );
    });
}

#[test]
fn a_scope_keeps_a_tool_on_its_paths() {
    paused(async {
        let mut scope = scope(&[("touch", true)]);
        scope.permissions.get_mut("touch").unwrap().paths = vec!["src".into()];
        let bench = scoped(scope);
        for (args, allowed) in [
            (json!({"reads": ["src/a"]}), true),
            (json!({"writes": ["src/deep/a"]}), true),
            (json!({"reads": ["other/a"]}), false),
            (json!({"reads": ["src/a"], "writes": ["other"]}), false),
            (json!({"opaque": true}), false),
        ] {
            let result = bench.one("touch", args.clone()).await;
            assert_eq!(
                result.kind().is_none(),
                allowed,
                "{args}: {}",
                result.content
            );
        }
    });
}

#[test]
fn a_scope_can_only_shorten_the_time() {
    paused(async {
        for (seconds, expected) in [(2, "2 s"), (600, "30 s")] {
            let mut scope = scope(&[("slow", true)]);
            scope.permissions.get_mut("slow").unwrap().timeout = Some(Duration::from_secs(seconds));
            let result = scoped(scope).one("slow", json!({})).await;
            assert_eq!(result.kind(), Some(ErrorKind::Timeout));
            assert!(result.content.contains(expected), "{}", result.content);
        }
    });
}
