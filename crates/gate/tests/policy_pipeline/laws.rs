//! Laws of decisions over random rules and calls.

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::plan::Plan;
use toolgate_model::{Action, ErrorKind, Risk};
use toolgate_policy::{
    Condition, LayerSpec, LayerTrust, Listed, Mode as PolicyMode, Operator, RuleSpec, Trust, Values,
};
use toolgate_testkit::{Rig, Scripted, call, paused, states_facts};

use crate::fixture::planned;

type Meaning = fn(&str) -> bool;

/// Regular expressions over `a`, `b` and `c`, and the meaning of each.
const EXPRESSIONS: [(&str, Meaning); 8] = [
    ("^a+$", |text| {
        !text.is_empty() && text.chars().all(|letter| letter == 'a')
    }),
    ("^$", str::is_empty),
    ("b{2}", |text| text.contains("bb")),
    ("^[^c]*$", |text| !text.contains('c')),
    ("a|cc", |text| text.contains('a') || text.contains("cc")),
    ("a.b", |text| {
        let letters = text.as_bytes();
        letters
            .windows(3)
            .any(|three| three[0] == b'a' && three[2] == b'b')
    }),
    ("(?i)^B", |text| text.starts_with('b')),
    ("c\\.", |_| false),
];

fn action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Action::Allow, Action::Ask, Action::Deny])
}

fn risk() -> impl Strategy<Value = Risk> {
    prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High])
}

fn trust() -> impl Strategy<Value = Trust> {
    prop::sample::select(vec![Trust::Supervised, Trust::Guided, Trust::Autonomous])
}

fn mode() -> impl Strategy<Value = PolicyMode> {
    prop::sample::select(vec![PolicyMode::Auto, PolicyMode::Prompt, PolicyMode::Deny])
}

/// The answers of a rule after which a call still runs.
fn consent() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Action::Allow, Action::Ask])
}

fn tool_name() -> impl Strategy<Value = String> {
    "[a-c_]{1,8}"
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_33_policy_decision_evaluation(
        tool in tool_name(),
        others in prop::collection::vec((tool_name(), action()), 0..6),
        own in prop::option::of((action(), 0_usize..6)),
        default in action(),
        side_effects in any::<bool>(),
        text in "[a-z /.]{0,12}",
    ) {
        paused(async {
            let mut rules: Vec<RuleSpec> = others
                .iter()
                .filter(|(name, _)| *name != tool)
                .map(|(name, action)| RuleSpec::new(name.as_str(), *action))
                .collect();
            if let Some((action, at)) = own {
                rules.insert(at.min(rules.len()), RuleSpec::new(tool.as_str(), action));
            }
            let subject = Scripted::new(&tool).spec(|spec| spec.side_effects = side_effects);
            let mut rig = Rig::new()
                .tool(subject)
                .rules(|rules| rules.settings.default_action = Some(default));
            for rule in rules {
                rig = rig.rule(rule);
            }
            let (got, kind, _) = planned(&rig.build(), &tool, json!({"text": text})).await;
            assert_eq!(got, own.map_or(default, |(action, _)| action));
            assert_eq!(kind.is_some(), got == Action::Deny);
        });
    }

    #[test]
    fn property_34_policy_rule_precedence(
        specific in action(),
        general in action(),
        general_first in any::<bool>(),
    ) {
        paused(async {
            let mut rules = vec![RuleSpec::new("subject", specific), RuleSpec::new("*", general)];
            if general_first {
                rules.reverse();
            }
            let mut rig = Rig::new().tool(Scripted::new("subject")).tool(Scripted::new("other"));
            for rule in rules {
                rig = rig.rule(rule);
            }
            let bench = rig.build();
            assert_eq!(planned(&bench, "subject", json!({})).await.0, specific);
            assert_eq!(planned(&bench, "other", json!({})).await.0, general);
        });
    }

    #[test]
    fn property_35_policy_condition_evaluation(
        texts in prop::option::of(prop::collection::vec("[abc]{0,6}", 0..4)),
        tests in prop::collection::vec(
            (0_usize..4, prop::collection::vec(("[abc]{0,2}", 0..EXPRESSIONS.len()), 1..3)), 1..4),
    ) {
        paused(async {
            let mut rule = RuleSpec::new("subject", Action::Deny);
            let mut all = true;
            for (operator, values) in &tests {
                let operator = [Operator::Equals, Operator::Contains, Operator::StartsWith, Operator::Matches][*operator];
                let holds = |text: &String| values.iter().any(|(value, expression)| match operator {
                    Operator::Equals => text == value,
                    Operator::Contains => text.contains(value.as_str()),
                    Operator::StartsWith => text.starts_with(value.as_str()),
                    Operator::Matches => EXPRESSIONS[*expression].1(text),
                });
                all &= texts.iter().flatten().any(holds);
                let written = values.iter().map(|(value, expression)| match operator {
                    Operator::Matches => EXPRESSIONS[*expression].0.to_owned(),
                    _ => value.clone(),
                });
                rule.when.push(Condition { param: "text".into(), operator, value: Values::Any(written.collect()) });
            }
            let tool = Scripted::new("subject").spec(|spec| spec.schema = json!({"type": "object"}));
            let bench = Rig::new().tool(tool).rule(rule).build();
            // A parameter is absent, one text or a list of texts.
            let args = match texts.as_deref() {
                None => json!({}),
                Some([one]) => json!({"text": one}),
                Some(many) => json!({"text": many}),
            };
            let (got, _, _) = planned(&bench, "subject", args.clone()).await;
            assert_eq!(got == Action::Deny, all, "{args} {tests:?}");
        });
    }

    #[test]
    fn property_36_policy_risk_classification(
        declared in risk(),
        side_effects in any::<bool>(),
        touched in prop::collection::vec((0_usize..5, "[a-z]{1,6}"), 0..4),
        by_rule in prop::option::of((action(), prop::option::of(risk()))),
    ) {
        paused(async {
            let of = |kind: usize| -> Vec<&str> {
                let fitting = touched.iter().filter(|(one, _)| *one == kind);
                fitting.map(|(_, name)| name.as_str()).collect()
            };
            let commands: Vec<_> = of(3).into_iter().map(|word| [word]).collect();
            let args = json!({"reads": of(0), "writes": of(1), "deletes": of(2),
                "commands": commands, "connects": of(4)});
            let tool = states_facts("subject").spec(|spec| {
                spec.side_effects = side_effects;
                spec.risk = declared;
            });
            let mut rig = Rig::new()
                .tool(tool)
                .settings(|settings| settings.command_sandbox = true);
            if let Some((action, risk)) = by_rule {
                let mut rule = RuleSpec::new("subject", action);
                rule.risk = risk;
                rig = rig.rule(rule);
            }
            let (_, _, risk) = planned(&rig.build(), "subject", args).await;
            let of_facts = touched.iter().map(|(kind, _)| match kind {
                0 => Risk::Low,
                1 | 4 => Risk::Medium,
                _ => Risk::High,
            });
            let own = of_facts.fold(declared, Risk::max);
            let named = by_rule.and_then(|(_, risk)| risk);
            assert_eq!(risk.unwrap(), named.unwrap_or(own), "{declared:?} {touched:?} {by_rule:?}");
        });
    }

    #[test]
    fn property_47_tool_invocation_confirmation_check(
        side_effects in any::<bool>(),
        requires in any::<bool>(),
        (trust, mode, prompts) in (trust(), prop::option::of(mode()), any::<bool>()),
        (listed, sandbox) in any::<(bool, bool)>(),
        (own, star) in (prop::option::of(consent()), prop::option::of(consent())),
        text in "[a-z]{0,8}",
    ) {
        paused(async {
            let tool = Scripted::new("subject").spec(|spec| {
                spec.side_effects = side_effects;
                spec.requires_approval = requires;
            });
            let named = own.map(|action| RuleSpec::new("subject", action));
            let general = star.map(|action| RuleSpec::new("*", action));
            let rules = named.into_iter().chain(general).collect();
            let mut layer = LayerSpec::new("user", LayerTrust::Trusted, rules);
            layer.allowlist = Some(Listed {
                entries: listed.then(|| "subject".to_owned()).into_iter().collect(),
                ..Listed::default()
            });
            let bench = Rig::new()
                .tool(tool)
                .settings(|settings| settings.command_sandbox = sandbox)
                .rules(|rules| {
                    rules.settings.trust = trust;
                    rules.settings.mode = mode;
                    rules.settings.prompt_side_effects = prompts;
                    rules.layers.push(layer);
                })
                .build();
            let calls = vec![call("c", "subject", json!({"text": text}))];
            let plans = bench.gate.plan(&bench.session, calls).await;
            let got = match plans.plans().next().unwrap() {
                Plan::Go(_) => Action::Allow,
                Plan::Ask(needs) => {
                    assert!(needs.record().summary.contains(&text));
                    assert!(!needs.record().decision.reason.is_empty());
                    Action::Ask
                }
                Plan::Settled(refusal) => {
                    assert_eq!(refusal.error.kind, ErrorKind::PolicyDenied);
                    Action::Deny
                }
                Plan::Manual(_) => panic!("tools are enabled"),
            };
            let autonomous = trust == Trust::Autonomous;
            let mode = mode.unwrap_or(if autonomous { PolicyMode::Auto } else { PolicyMode::Prompt });
            let by_trust = match trust {
                Trust::Supervised => Action::Ask,
                Trust::Guided if side_effects && !listed => Action::Ask,
                Trust::Guided | Trust::Autonomous => Action::Allow,
            };
            let by_mode = match mode {
                _ if listed => Action::Allow,
                PolicyMode::Deny => Action::Deny,
                PolicyMode::Prompt if side_effects && prompts => Action::Ask,
                PolicyMode::Prompt | PolicyMode::Auto => Action::Allow,
            };
            let answer = own.or(star).unwrap_or(by_trust.max(by_mode));
            let lifted = own == Some(Action::Allow) || (autonomous && sandbox);
            let expected = if answer == Action::Allow && requires && !lifted {
                Action::Ask
            } else {
                answer
            };
            assert_eq!(got, expected);
        });
    }
}
