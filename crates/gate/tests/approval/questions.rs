//! Questions show calls completely and without secrets.

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::Answer;
use toolgate_gate::tool::Facts;
use toolgate_model::{Event, EventKind, Risk};
use toolgate_testkit::{
    Collected, Rig, Scripted, ScriptedApprover, Workspace, asking, call, call_because, paused,
};

use crate::fixture::{write, writes};

fn risk() -> impl Strategy<Value = Risk> {
    prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High])
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_37_confirmation_details_completeness(
        tools in prop::collection::btree_map("[a-z][a-z0-9_]{0,20}", risk(), 1..4),
        text in prop_oneof![any::<String>(), "[a-z]{0,20}"],
        reason in prop::option::of(any::<String>()),
        paths in prop::collection::vec("[a-z]{1,6}", 1..4),
    ) {
        paused(async {
            let facts = Facts { writes: paths.clone(), ..Facts::none() };
            let mut rig = Rig::new();
            for (name, risk) in &tools {
                let tool = Scripted::new(name).side_effects().facts(facts.clone());
                rig = rig.tool(tool.spec(|spec| spec.risk = *risk));
            }
            let approver = ScriptedApprover::new([Answer::no()]);
            let calls = tools.keys().map(|name| {
                let args = json!({"text": text});
                match &reason {
                    Some(reason) => call_because(name, name, args, reason),
                    None => call(name, name, args),
                }
            });
            rig.build().run_through(calls.collect(), &asking(approver.clone())).await;
            let request = approver.asked().remove(0);
            assert_eq!(request.conversation.as_str(), "test");
            // A tool that writes has at least a medium risk, whatever it declares.
            let expected = |declared: Risk| declared.max(Risk::Medium);
            assert_eq!(request.risk(), tools.values().copied().map(expected).max().unwrap());
            assert_eq!(request.items.len(), tools.len());
            for (item, (name, risk)) in request.items.iter().zip(&tools) {
                assert_eq!(&item.tool, name);
                assert!(item.summary.starts_with(name.as_str()));
                if text.bytes().all(|byte| byte.is_ascii_lowercase()) && text.len() <= 20 {
                    assert_eq!(item.summary.trim_end(), format!("{name} {text}").trim_end());
                }
                assert_eq!(item.risk, expected(*risk));
                assert!(paths.iter().all(|path| item.locations.contains(path)), "{:?}", item.locations);
                assert!(!item.why.is_empty() && !item.would_remember.is_empty());
                assert_eq!(item.model_reason.is_some(), reason.is_some());
                let texts = [&item.summary, &item.why].into_iter().chain(&item.model_reason)
                    .chain(&item.locations).chain(&item.would_remember);
                for text in texts {
                    assert!(text.chars().count() <= 200, "{text}");
                    assert!(!text.chars().any(char::is_control), "{text:?}");
                }
            }
        });
    }
}

/// A long line whose middle does the harm.
fn hidden_in_the_middle() -> String {
    let pad = "print(1); ".repeat(400);
    format!("python3 -c \"{pad}import shutil; shutil.rmtree('/'); {pad}\"")
}

#[test]
fn a_question_carries_every_argument_whole() {
    paused(async {
        let line = hidden_in_the_middle();
        let deep = json!({"list": [{"text": line}], "flag": true});
        for args in [
            json!({"text": line}),
            json!({"text": format!("https://host/?{}", "a=1&".repeat(200)), "more": line}),
            deep,
        ] {
            let tool = Scripted::new("write").side_effects();
            let tool = tool.spec(|spec| spec.schema = json!({"type": "object"}));
            let bench = Rig::new().tool(tool).build();
            let approver = ScriptedApprover::new([Answer::no()]);
            let calls = vec![
                call("1", "write", args.clone()),
                call("2", "write", args.clone()),
            ];
            bench.run_through(calls, &asking(approver.clone())).await;
            let items = approver.asked().remove(0).items;
            assert_eq!(items.len(), 2);
            for item in items {
                assert!(item.summary.chars().count() <= 200);
                assert!(item.whole.contains(&line), "{}", item.whole);
                assert_eq!(json!(item.args), args);
            }
        }
    });
}

#[test]
fn an_event_about_a_plan_carries_every_argument_whole() {
    paused(async {
        let line = format!("{}\u{202e}\u{1b}[8m", hidden_in_the_middle());
        let bench = writes();
        let collected = Collected::listen(16);
        let mut passage = asking(ScriptedApprover::new([Answer::no()]));
        passage.events = collected.sink();
        let calls = vec![call("1", "write", json!({"text": line}))];
        bench.run_through(calls, &passage).await;
        drop(passage);
        let events = collected.all().await;
        let plan = events.iter().find_map(|event| match event {
            Event {
                kind: EventKind::CallPlanned { plan },
                ..
            } => Some(plan),
            _ => None,
        });
        let whole = plan.and_then(|plan| plan.whole.as_deref()).unwrap();
        let shown = format!("{}\\u{{202e}}\\u{{1b}}[8m", hidden_in_the_middle());
        assert!(whole.contains(&shown), "{whole}");
    });
}

#[test]
fn a_remembered_yes_is_described_whole() {
    paused(async {
        let path = format!("{}/middle/{}", "a".repeat(150), "b".repeat(150));
        let tool = Scripted::new("write").side_effects();
        let bench = Rig::new()
            .tool(tool.facts(Facts::writing(path.as_str())))
            .build();
        let approver = ScriptedApprover::new([Answer::no()]);
        bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        let item = approver.asked().remove(0).items.remove(0);
        assert!(item.would_remember[0].contains("/middle/"), "{item:?}");
        assert!(item.locations[0].contains("/middle/"), "{item:?}");
    });
}

#[test]
fn a_name_is_written_out_once_wherever_a_question_says_it() {
    paused(async {
        let facts = Facts::writing("n\u{1b}[2J\n\u{202e}\\.txt");
        let tool = Scripted::new("write").side_effects().facts(facts);
        let bench = Rig::new().tool(tool).build();
        let approver = ScriptedApprover::new([Answer::no()]);
        bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        let item = approver.asked().remove(0).items.remove(0);
        let name = r"n\u{1b}[2J\n\u{202e}\\.txt";
        assert!(
            item.why.contains(&format!("`write {name}`")),
            "{}",
            item.why
        );
        assert_eq!(item.locations, [name]);
        assert_eq!(item.would_remember, [format!("write: write \"{name}\"")]);
        let planned = bench.gate.plan(&bench.session, vec![write("1")]).await;
        let decision = &planned.plans().next().unwrap().record().unwrap().decision;
        let told = bench.gate.redactor().shown_decision(decision);
        assert_eq!(told.atoms.last().unwrap().atom, format!("write {name}"));
        assert!(told.reason.contains(name), "{}", told.reason);
    });
}

#[test]
fn secrets_do_not_show_in_a_question() {
    paused(async {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let redactor = toolgate_gate::output::Redactor::new([("TOKEN", secret)]).unwrap();
        let facts = Facts {
            connects: vec![format!("{secret}.example")],
            ..Facts::none()
        };
        let tool = Scripted::new("send")
            .side_effects()
            .facts(facts)
            .shows("note");
        let workspace = Workspace::new().file("note", &format!("key {secret}"));
        let bench = Rig::new()
            .workspace(workspace)
            .tool(tool)
            .redactor(redactor)
            .build();
        let approver = ScriptedApprover::new([Answer::no()]);
        let asked = call_because(
            "1",
            "send",
            json!({"text": format!("to {secret}")}),
            &format!("because {secret}"),
        );
        bench
            .run_through(vec![asked], &asking(approver.clone()))
            .await;
        let item = serde_json::to_string(&approver.asked()[0].items[0]).unwrap();
        assert!(!item.contains(secret), "{item}");
        assert!(item.contains("redacted"), "{item}");
    });
}
