//! The numbered properties of seed 003, over random tools, rules and parameters.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use support::*;
use toolgate_model::{Action, Facts, Risk};
use toolgate_policy::{Operator, RuleSpec, Settings, Stage};

fn actions() -> impl Strategy<Value = Action> {
    select(&[Allow, Ask, Deny][..])
}

fn risks() -> impl Strategy<Value = Risk> {
    select(&[Risk::Low, Risk::Medium, Risk::High][..])
}

fn tool_name() -> impl Strategy<Value = String> {
    "[abc_-]{1,20}"
}

/// The texts of one parameter: one, or a list of any length.
fn param() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        "[ab]{0,4}".prop_map(|text| vec![text]),
        prop::collection::vec("[ab]{0,4}", 0..4),
    ]
}

type Meaning = fn(&str) -> bool;

/// Regular expressions over `a` and `b`, and what each of them means.
const EXPRESSIONS: [(&str, Meaning); 7] = [
    ("^a+$", |text| {
        !text.is_empty() && text.chars().all(|letter| letter == 'a')
    }),
    ("^$", str::is_empty),
    ("b{2}", |text| text.contains("bb")),
    ("^[^b]*$", |text| !text.contains('b')),
    ("^(a|bb)", |text| {
        text.starts_with('a') || text.starts_with("bb")
    }),
    ("(?i)B$", |text| text.ends_with('b')),
    ("a\\.", |_| false),
];

/// A tool without facts, as the specification knows it: a name and parameters.
fn plain(tool: &str, params: &[(String, String)]) -> Call {
    let mut call = Call::new(tool, Facts::none());
    for (name, value) in params {
        call = call.with(name, json!(value));
    }
    call
}

fn with_default(default: Action, list: &[RuleSpec]) -> toolgate_policy::Policy {
    let settings = Settings {
        default_action: Some(default),
        ..Settings::default()
    };
    policy_with(settings, &[trusted("user", list)])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(512) })]

    // Feature: stage-03-tools-policy, Property 33: a matching rule's action, else the default action
    #[test]
    fn property_33_policy_decision_evaluation(
        tool in tool_name(),
        others in prop::collection::vec((tool_name(), actions()), 0..8),
        own in prop::option::of(actions()),
        default in actions(),
    ) {
        let mut list: Vec<RuleSpec> = others
            .iter()
            .filter(|(name, _)| *name != tool)
            .map(|(name, action)| rule(name, *action))
            .collect();
        if let Some(action) = own {
            list.insert(list.len() / 2, rule(&tool, action));
        }
        let verdict = judge(&with_default(default, &list), &plain(&tool, &[]));
        prop_assert_eq!(verdict.decision.action, own.unwrap_or(default));
        prop_assert_eq!(verdict.stage, if own.is_some() { Stage::Rule } else { Stage::Default });
        prop_assert_eq!(verdict.decision.kind.is_some(), verdict.decision.action == Deny);
    }

    // Feature: stage-03-tools-policy, Property 34: the tool's own rule before the star
    #[test]
    fn property_34_policy_rule_precedence(
        tool in tool_name(),
        own in actions(),
        star in actions(),
        star_first in any::<bool>(),
        default in actions(),
    ) {
        let mut list = vec![rule(&tool, own), rule("*", star)];
        if star_first {
            list.reverse();
        }
        let policy = with_default(default, &list);
        prop_assert_eq!(action(&policy, &plain(&tool, &[])), own);
        prop_assert_eq!(action(&policy, &plain("another", &[])), star);
    }

    // Feature: stage-03-tools-policy, Property 35: a rule applies only if all its conditions hold
    #[test]
    fn property_35_policy_condition_evaluation(
        params in prop::collection::btree_map("[pqr]", param(), 0..3),
        conditions in prop::collection::vec(("[pqr]", 0..4usize, prop::collection::vec(("[ab]{0,2}", 0..EXPRESSIONS.len()), 1..3)), 0..4),
        own in actions(),
        default in actions(),
    ) {
        const OPERATORS: [Operator; 4] = [Operator::Equals, Operator::Contains, Operator::Matches, Operator::StartsWith];
        let mut conditional = rule("tool", own);
        let mut holds = true;
        for (param, operator, values) in &conditions {
            let operator = OPERATORS[*operator];
            let written: Vec<&str> = values
                .iter()
                .map(|(value, expression)| match operator {
                    Operator::Matches => EXPRESSIONS[*expression].0,
                    _ => value.as_str(),
                })
                .collect();
            conditional = conditional.when(param, operator, &written);
            let fits = |text: &String| values.iter().any(|(value, expression)| match operator {
                Operator::Equals => text == value,
                Operator::Contains => text.contains(value.as_str()),
                Operator::Matches => EXPRESSIONS[*expression].1(text),
                Operator::StartsWith => text.starts_with(value.as_str()),
            });
            // Of several values a rule that makes stricter needs one, an allow needs all.
            holds &= params.get(param).is_some_and(|texts| match own {
                Allow => !texts.is_empty() && texts.iter().all(fits),
                Ask | Deny => texts.iter().any(fits),
            });
        }
        let mut call = plain("tool", &[]);
        for (name, texts) in &params {
            call = call.with(name, match texts.as_slice() {
                [one] => json!(one),
                many => json!(many),
            });
        }
        let verdict = judge(&with_default(default, &[conditional]), &call);
        prop_assert_eq!(verdict.decision.action, if holds { own } else { default });
        prop_assert_eq!(verdict.stage == Stage::Rule, holds);
    }

    // Feature: stage-03-tools-policy, Property 36: every tool has a risk: its rule's, else its own
    #[test]
    fn property_36_policy_risk_classification(
        tool in tool_name(),
        declared in risks(),
        by_rule in prop::option::of(risks()),
        action in actions(),
        write in any::<bool>(),
    ) {
        let mut call = plain(&tool, &[]);
        call.risk = declared;
        if write {
            call.facts = Facts::writing("a");
        }
        let mut own = rule(&tool, action);
        own.risk = by_rule;
        let least = if write { Risk::Medium } else { Risk::Low };
        let expected = by_rule.unwrap_or(declared.max(least));
        prop_assert_eq!(rules(&[own]).risk(&call.question()), expected);
        prop_assert_eq!(rules(&[]).risk(&call.question()), declared.max(least));
    }

    #[test]
    fn a_check_never_calls_a_rule_unreachable_that_decides_something(
        earlier in reach_rule(),
        later in reach_rule(),
        path in select(&["a", "src/a", "src/x/b", "src", ".", "/etc/a", "b"][..]),
        kind in 0..4usize,
        opaque in any::<bool>(),
    ) {
        let policy = rules(&[earlier.at("f", 1), later.at("f", 2)]);
        let unreachable = toolgate_policy::check(&policy, &[], &|_: &str, _: &str| Err(String::new()))
            .iter()
            .any(|finding| finding.message.starts_with("nothing reaches it"));
        if unreachable {
            let mut call = match kind {
                0 => Call::new("tool", Facts::reading(path)),
                1 => Call::new("tool", Facts::writing(path)),
                2 => Call { tool: "tool".into(), ..delete(path) },
                _ => Call { tool: "tool".into(), ..run(&format!("git {path}")) },
            };
            call.facts.complete = !opaque;
            prop_assert_ne!(decide(&policy, &call).source.line, Some(2));
        }
    }
}

fn reach_rule() -> impl Strategy<Value = RuleSpec> {
    let patterns = select(
        &[
            "a", "src/", "src/**", "src/a", "**", "*", "/etc/", "src/*", "./",
        ][..],
    );
    let words = select(&["git", "git a", "git a|b", "git|ls"][..]);
    (actions(), 0..5usize, patterns, words, any::<bool>()).prop_map(
        |(action, key, pattern, words, opaque)| {
            let base = rule("tool", action);
            match key {
                0 => base.reads(&[pattern]),
                1 => base.writes(&[pattern]),
                2 => base.deletes(&[pattern]),
                3 if opaque => base.command(words).opaque(),
                3 => base.command(words),
                _ if opaque => base.opaque(),
                _ => base,
            }
        },
    )
}
