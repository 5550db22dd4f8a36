//! Asking the person: one question, bound to what was shown, remembered as far as was said.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::{
    Answer, GrantScope, GrantStore, GrantsInMemory, NoGrants, Remember, Unanswered,
};
use toolgate_gate::journal::Record;
use toolgate_gate::middleware::Middleware;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Facts;
use toolgate_model::{Action, Call, Decision, ErrorKind, Event, Risk, Status};
use toolgate_policy::{Question, RuleSpec, Validator};
use toolgate_testkit::{
    Act, Bench, Collected, DryEntropy, FaultyJournal, Reply, Rig, Scripted, ScriptedApprover,
    Workspace, asking, call, call_because, kinds, paused, states_facts,
};

fn writes() -> Bench {
    Rig::new()
        .tool(Scripted::new("write").side_effects())
        .tool(Scripted::new("read"))
        .build()
}

fn write(id: &str) -> Call {
    call(id, "write", json!({}))
}

#[test]
fn t_apr_01_a_mixed_batch_prompts_before_any_execution() {
    paused(async {
        let reads = Scripted::new("read");
        let ran = reads.ran();
        let bench = Rig::new()
            .tool(reads)
            .tool(Scripted::new("write").side_effects())
            .build();
        let seen = ran.clone();
        let approver = ScriptedApprover::new([Answer::yes()])
            .before(move |_| assert_eq!(seen.get(), 0, "nothing of the batch has run"));
        let calls = vec![
            call("1", "read", json!({})),
            write("2"),
            call("3", "read", json!({})),
            write("4"),
        ];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert!(results.iter().all(|result| result.status() == Status::Ok));
        let asked = approver.asked();
        assert_eq!(asked.len(), 1, "one question for the batch");
        let about: Vec<&str> = asked[0]
            .items
            .iter()
            .map(|item| item.call_id.as_str())
            .collect();
        assert_eq!(about, ["2", "4"]);
        assert_eq!(ran.get(), 2);
    });
}

#[test]
fn t_apr_02_approve_selected_executes_only_selected() {
    paused(async {
        let bench = writes();
        let calls = || (1..=3).map(|n| write(&n.to_string())).collect::<Vec<_>>();
        let denied = Some(ErrorKind::UserDenied);
        for (answer, expected) in [
            (Answer::only(["2", "nobody"]), [denied, None, denied]),
            (Answer::only(["nobody"]), [denied; 3]),
            (Answer::yes(), [None; 3]),
            (Answer::no(), [denied; 3]),
        ] {
            let results = bench.run_asked(calls(), answer.clone()).await;
            let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
            assert_eq!(kinds, expected, "{answer:?}");
        }
    });
}

#[test]
fn test_executor_user_denied() {
    paused(async {
        let tool = Scripted::new("write").side_effects();
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let results = bench.run_asked(vec![write("1")], Answer::no()).await;
        assert_eq!(
            (results[0].kind(), results[0].exit_code()),
            (Some(ErrorKind::UserDenied), 3)
        );
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn test_confirmation_integration() {
    paused(async {
        let bench = writes();
        let collected = Collected::listen(16);
        let mut passage = asking(ScriptedApprover::new([Answer::only(["2"])]));
        passage.events = collected.sink();
        bench
            .run_through(vec![write("1"), write("2")], &passage)
            .await;
        drop(passage);
        let events = collected.all().await;
        let Some(Event::ApprovalRequested {
            approval_id,
            call_ids,
            risk,
        }) = events
            .iter()
            .find(|event| matches!(event, Event::ApprovalRequested { .. }))
        else {
            panic!("{events:?}")
        };
        assert_eq!((call_ids.len(), *risk), (2, Risk::Medium));
        let answered = Event::ApprovalAnswered {
            approval_id: *approval_id,
            approved: vec!["2".into()],
            denied: vec!["1".into()],
        };
        assert!(events.contains(&answered), "{events:?}");
        assert_eq!(
            kinds(&events),
            [
                "call_received 1",
                "call_received 2",
                "call_planned 1",
                "call_planned 2",
                "approval_requested",
                "approval_answered",
                "call_finished 1",
                "call_started 2",
                "call_finished 2"
            ]
        );
    });
}

#[test]
fn test_nil_confirmation_handler_settles_as_no_approver() {
    paused(async {
        let tool = Scripted::new("write").side_effects();
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let result = bench.one("write", json!({})).await;
        assert_eq!(
            (result.kind(), result.exit_code()),
            (Some(ErrorKind::NoApprover), 4)
        );
        assert!(
            result.content.contains("nobody is there to ask"),
            "{}",
            result.content
        );
        assert_eq!(ran.get(), 0, "nobody skips consent by forgetting an option");
    });
}

#[test]
fn flow_confirmation() {
    paused(async {
        let tool = Scripted::new("write")
            .spec(|spec| spec.requires_approval = true)
            .gives("written");
        let bench = Rig::new().tool(tool).build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        assert_eq!(approver.asked().len(), 1);
        assert_eq!(results[0].content, "written");
    });
}

#[test]
fn flow_confirmation_denial() {
    paused(async {
        let tool = Scripted::new("write").spec(|spec| spec.requires_approval = true);
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let results = bench.run_asked(vec![write("1")], Answer::no()).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn test_example_tool() {
    paused(async {
        let example = Scripted::new("greet")
            .does(Act::Echo)
            .spec(|spec| spec.requires_approval = true);
        let ran = example.ran();
        let bench = Rig::new().tool(example).build();
        let calls = || vec![call("1", "greet", json!({"text": "hello"}))];
        let approver = ScriptedApprover::new([Answer::yes(), Answer::no()]);
        let passage = asking(approver.clone());
        let results = bench.run_through(calls(), &passage).await;
        assert_eq!(results[0].content, "hello");
        let asked = approver.asked();
        assert_eq!((asked.len(), ran.get()), (1, 1), "asked, then run");
        assert_eq!(
            (asked[0].items[0].tool.as_str(), asked[0].items.len()),
            ("greet", 1)
        );
        let refused = bench.run_through(calls(), &passage).await;
        assert_eq!(refused[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!((approver.asked().len(), ran.get()), (2, 1));
    });
}

#[test]
fn the_reason_of_a_no_reaches_the_model_on_one_line() {
    paused(async {
        let bench = writes();
        let no = Answer::no().because("use the other file\n\u{1b}[31mplease");
        let results = bench.run_asked(vec![write("1")], no).await;
        assert!(
            results[0]
                .content
                .contains("the person said no: use the other file\\n"),
            "{}",
            results[0].content
        );
        assert!(!results[0].content.contains('\u{1b}'));
        let results = bench
            .run_asked(vec![write("1")], Answer::no().because("  "))
            .await;
        assert!(
            results[0].content.contains("do not try the same again"),
            "{}",
            results[0].content
        );
    });
}

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
            // What writes is not harmless, whatever it says about itself.
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
            Event::CallPlanned { plan } => Some(plan),
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

fn granting(tool: Scripted, store: Arc<dyn GrantStore>) -> Bench {
    Rig::new()
        .tool(tool)
        .grants(store)
        .settings(|settings| settings.command_sandbox = true)
        .build()
}

#[test]
fn a_yes_for_the_conversation_is_not_asked_again_until_it_is_taken_back() {
    paused(async {
        let bench = granting(states_facts("touch").side_effects(), Arc::new(NoGrants));
        let calls = || vec![call("1", "touch", json!({"writes": ["a"]}))];
        let other = || vec![call("1", "touch", json!({"writes": ["b"]}))];
        let yes = Answer::yes().remember(Remember::Conversation);
        let first = bench.run_asked(calls(), yes).await;
        assert_eq!(first[0].kind(), None);
        assert!(first[0].metadata.get("not_remembered").is_none());
        assert_eq!(bench.run(calls()).await[0].kind(), None, "remembered");
        assert_eq!(
            bench.run(other()).await[0].kind(),
            Some(ErrorKind::NoApprover),
            "another path is not"
        );
        let grants = bench.session.grants();
        assert_eq!(grants.len(), 1);
        assert_eq!(grants[0].describe(), "touch: write \"a\"");
        assert!(!bench.session.revoke("nobody"));
        assert!(bench.session.revoke(&grants[0].id));
        assert_eq!(
            bench.run(calls()).await[0].kind(),
            Some(ErrorKind::NoApprover),
            "asked again"
        );
        let stranger = Rig::new()
            .tool(states_facts("touch").side_effects())
            .session(Session::new("other"))
            .build();
        assert_eq!(
            stranger.run(calls()).await[0].kind(),
            Some(ErrorKind::NoApprover),
            "not for others"
        );
    });
}

#[test]
fn a_yes_for_the_project_holds_in_every_conversation_of_it() {
    paused(async {
        let store = Arc::new(GrantsInMemory::default());
        let tool = || states_facts("touch").side_effects();
        let bench = granting(tool(), Arc::clone(&store) as _);
        let calls = || {
            vec![call(
                "1",
                "touch",
                json!({"connects": ["example.com"], "reads": ["r"], "deletes": ["d"]}),
            )]
        };
        bench
            .run_asked(calls(), Answer::yes().remember(Remember::Project))
            .await;
        let listed = store.list().unwrap();
        let mut words: Vec<String> = listed.iter().map(|grant| grant.describe()).collect();
        words.sort();
        assert_eq!(
            words,
            [
                "touch: contact \"example.com\"",
                "touch: delete \"d\"",
                "touch: read \"r\""
            ]
        );
        assert!(
            listed
                .iter()
                .all(|grant| grant.id.starts_with('g') && grant.at_ms == 1_700_000_000_000)
        );
        let second = granting(tool(), Arc::clone(&store) as _);
        assert_eq!(second.run(calls()).await[0].kind(), None);
        for grant in &listed {
            assert!(store.revoke(&grant.id).unwrap());
        }
        assert!(!store.revoke(&listed[0].id).unwrap());
        assert_eq!(
            second.run(calls()).await[0].kind(),
            Some(ErrorKind::NoApprover)
        );
    });
}

#[test]
fn a_command_is_remembered_by_its_leading_words() {
    paused(async {
        let bench = granting(states_facts("run").side_effects(), Arc::new(NoGrants));
        let line = |words: &[&str]| vec![call("1", "run", json!({"commands": [words]}))];
        let yes = Answer::yes().remember(Remember::Conversation);
        bench
            .run_asked(line(&["git", "status", "--short"]), yes)
            .await;
        assert_eq!(
            bench.session.grants()[0].scope,
            GrantScope::Command(vec!["git".into(), "status".into()])
        );
        assert_eq!(
            bench.run(line(&["git", "status", "-b"])).await[0].kind(),
            None
        );
        assert_eq!(
            bench.run(line(&["git", "push"])).await[0].kind(),
            Some(ErrorKind::NoApprover)
        );
        assert_eq!(
            bench.run(line(&["./git", "status"])).await[0].kind(),
            Some(ErrorKind::NoApprover)
        );
    });
}

#[test]
fn a_command_with_options_before_its_subcommand_is_not_remembered_as_its_program() {
    paused(async {
        let line = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            vec![call("1", "run", json!({"commands": [words]}))]
        };
        for (granted, covered, asked) in [
            (
                "git -C . status",
                &["git -C . status -s", "git status"][..],
                &["git push", "git -C . push", "git -C x status"][..],
            ),
            (
                "git -C x status",
                &["git -C x status"],
                &["git status", "git -C x push"],
            ),
            (
                "cargo +nightly build",
                &["cargo +nightly build -q"],
                &["cargo run", "cargo build"],
            ),
            (
                "npm --prefix web run dev",
                &["npm --prefix web run dev"],
                &["npm run dev", "npm ci"],
            ),
            (
                "make -C sub test",
                &["make -C sub test"],
                &["make", "make -C sub install"],
            ),
            (
                "python3 a.py",
                &["python3 a.py x"],
                &["python3 b.py", "python3"],
            ),
        ] {
            let bench = granting(states_facts("run").side_effects(), Arc::new(NoGrants));
            let yes = Answer::yes().remember(Remember::Conversation);
            bench.run_asked(line(granted), yes).await;
            for words in covered {
                assert_eq!(
                    bench.run(line(words)).await[0].kind(),
                    None,
                    "{granted}: {words}"
                );
            }
            for words in asked {
                let kind = bench.run(line(words)).await[0].kind();
                assert_eq!(kind, Some(ErrorKind::NoApprover), "{granted}: {words}");
            }
        }
    });
}

#[test]
fn a_bare_runner_is_allowed_once_and_not_remembered() {
    paused(async {
        for words in [
            "git -c user.name=x status",
            "python3",
            "make -j8",
            "npm run",
            "cargo",
        ] {
            let bench = granting(states_facts("run").side_effects(), Arc::new(NoGrants));
            let parts: Vec<&str> = words.split(' ').collect();
            let calls = vec![call("1", "run", json!({"commands": [parts]}))];
            let approver = ScriptedApprover::new([Answer::yes().remember(Remember::Conversation)]);
            let results = bench.run_through(calls, &asking(approver.clone())).await;
            assert!(
                approver.asked()[0].items[0].would_remember.is_empty(),
                "{words}"
            );
            assert_eq!(results[0].kind(), None, "{words}");
            let said = results[0].metadata["not_remembered"].as_str().unwrap();
            assert!(
                said.contains("would allow more than this command"),
                "{words}: {said}"
            );
            assert!(bench.session.grants().is_empty(), "{words}");
        }
    });
}

#[test]
fn what_would_be_saved_too_wide_or_to_no_use_is_not_saved_and_said() {
    struct Asks;
    impl Validator for Asks {
        fn name(&self) -> &str {
            "asks"
        }
        fn validate(&self, question: &Question<'_>) -> Option<Decision> {
            let mut ask =
                Decision::denied(ErrorKind::PolicyDenied, "asks", "the validator always asks");
            ask.action = Action::Ask;
            (question.tool == "validated").then_some(ask)
        }
    }
    paused(async {
        let mut project = RuleSpec::new("fenced", Action::Ask);
        project.message = Some("the project asks".into());
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .tool(states_facts("fenced").side_effects())
            .tool(states_facts("validated"))
            .rules(|rules| {
                let layer = toolgate_policy::LayerSpec::new(
                    "project",
                    toolgate_policy::LayerTrust::Untrusted,
                    vec![project],
                );
                rules.layers.push(layer);
                rules.validators.push(Arc::new(Asks));
            })
            .settings(|settings| settings.command_sandbox = true)
            .build();
        for (tool, args, why) in [
            (
                "touch",
                json!({"opaque": true}),
                "not everything this call does is known",
            ),
            (
                "touch",
                json!({"commands": [[]]}),
                "not everything this call does is known",
            ),
            ("fenced", json!({"writes": ["a"]}), "the project asks"),
            (
                "validated",
                json!({}),
                "would not have allowed this very call: the validator always asks",
            ),
        ] {
            let yes = Answer::yes().remember(Remember::Conversation);
            let approver = ScriptedApprover::new([yes]);
            let calls = vec![call("1", tool, args.clone())];
            let results = bench.run_through(calls, &asking(approver.clone())).await;
            let offered = &approver.asked()[0].items[0].would_remember;
            assert!(offered.is_empty(), "{tool} {args}: {offered:?}");
            assert_eq!(
                results[0].kind(),
                None,
                "the yes itself counts: {tool} {args}"
            );
            let said = results[0].metadata["not_remembered"].as_str().unwrap();
            assert!(said.contains(why), "{tool} {args}: {said}");
            assert!(bench.session.grants().is_empty(), "{tool} {args}");
        }
    });
}

#[test]
fn a_project_without_a_store_says_that_it_does_not_remember() {
    paused(async {
        let bench = granting(states_facts("touch").side_effects(), Arc::new(NoGrants));
        let calls = vec![call("1", "touch", json!({"writes": ["a"]}))];
        let results = bench
            .run_asked(calls, Answer::yes().remember(Remember::Project))
            .await;
        let said = results[0].metadata["not_remembered"].as_str().unwrap();
        assert!(said.contains("not remembered here"), "{said}");
        assert!(!NoGrants.revoke("x").unwrap());
    });
}

#[test]
fn the_same_approval_is_not_remembered_twice() {
    paused(async {
        let store = Arc::new(GrantsInMemory::default());
        let bench = granting(
            states_facts("touch").side_effects(),
            Arc::clone(&store) as _,
        );
        let twins = || {
            vec![
                call("1", "touch", json!({"writes": ["a"]})),
                call("2", "touch", json!({"writes": ["a"]})),
            ]
        };
        for (remember, count) in [
            (
                Remember::Conversation,
                &(|| bench.session.grants().len()) as &dyn Fn() -> usize,
            ),
            (Remember::Project, &|| store.list().unwrap().len()),
        ] {
            bench
                .run_asked(twins(), Answer::yes().remember(remember))
                .await;
            assert_eq!(count(), 1, "{remember:?}: one revocation has to be enough");
            let id = bench.session.grants().first().map(|grant| grant.id.clone());
            id.map(|id| bench.session.revoke(&id));
        }
    });
}

#[test]
fn the_same_path_is_remembered_for_each_tool() {
    paused(async {
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .tool(states_facts("poke").side_effects())
            .build();
        let calls = ["touch", "poke"].map(|tool| call(tool, tool, json!({"writes": ["a"]})));
        let answer = Answer::yes().remember(Remember::Conversation);
        bench.run_asked(calls.to_vec(), answer).await;
        let tools = bench.session.grants().into_iter().map(|grant| grant.tool);
        assert_eq!(tools.collect::<Vec<_>>(), ["touch", "poke"]);
    });
}

#[test]
fn a_grant_beats_no_deny() {
    paused(async {
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .grants(Arc::new(GrantsInMemory::default()))
            .build();
        let yes = Answer::yes().remember(Remember::Conversation);
        bench
            .run_asked(vec![call("1", "touch", json!({"writes": ["a"]}))], yes)
            .await;
        let strict = Rig::new()
            .tool(states_facts("touch").side_effects())
            .rule(RuleSpec::new("touch", Action::Deny))
            .session(Session::new("s"))
            .build();
        let result = strict
            .gate
            .run(
                &bench.session,
                vec![call("1", "touch", json!({"writes": ["a"]}))],
                &Default::default(),
            )
            .await;
        assert_eq!(result[0].kind(), Some(ErrorKind::PolicyDenied));
    });
}

fn editing(before: &str, after: &str) -> Bench {
    let write = Act::Write {
        path: "a.txt".into(),
        content: after.into(),
    };
    Rig::new()
        .workspace(Workspace::new().file("a.txt", before))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .facts(Facts::writing("a.txt"))
                .does(write),
        )
        .build()
}

#[test]
fn what_changed_while_the_person_looked_is_asked_again() {
    paused(async {
        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver =
            ScriptedApprover::new([Answer::yes(), Answer::yes()]).before(move |request| {
                if request.items[0].preview.as_deref() == Some("one") {
                    std::fs::write(&path, "two").unwrap();
                }
            });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), None, "{}", results[0].content);
        let asked = approver.asked();
        let shown: Vec<_> = asked
            .iter()
            .map(|request| request.items[0].preview.clone().unwrap())
            .collect();
        assert_eq!(shown, ["one", "two"]);
        assert_ne!(asked[0].id, asked[1].id, "two questions never share an id");
        assert_ne!(asked[0].items[0].plan_hash, asked[1].items[0].plan_hash);
        assert_eq!(bench.workspace.read("a.txt").as_deref(), Some("done"));
        assert_eq!(
            bench.journal.of("1"),
            [
                "received", "planned", "asked", "answered", "planned", "asked", "answered",
                "started", "finished"
            ]
        );
    });
}

#[test]
fn ground_that_never_rests_is_given_up_after_three_questions() {
    paused(async {
        let bench = editing("0", "done");
        let path = bench.workspace.path().join("a.txt");
        let turn = std::sync::atomic::AtomicUsize::new(1);
        let approver = ScriptedApprover::new(vec![Answer::yes(); 5]).before(move |_| {
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::fs::write(&path, turn.to_string()).unwrap();
        });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::StaleFile));
        assert_eq!(approver.asked().len(), 3);
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("3"),
            "nothing was run"
        );
    });
}

#[test]
fn only_what_changed_is_asked_again_and_a_second_no_counts() {
    paused(async {
        let bench = Rig::new()
            .workspace(Workspace::new().file("a.txt", "one"))
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .tool(Scripted::new("other").side_effects())
            .build();
        let path = bench.workspace.path().join("a.txt");
        let approver = ScriptedApprover::new([Answer::yes(), Answer::no()])
            .before(move |_| std::fs::write(&path, "two").unwrap());
        let calls = vec![call("1", "edit", json!({})), call("2", "other", json!({}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(results[1].kind(), None);
        assert_eq!(approver.asked()[1].items.len(), 1);
    });
}

#[test]
fn what_is_asked_again_may_meet_another_policy() {
    paused(async {
        // The tool is gone when the plan is made again.
        let bench = editing("one", "done");
        let (path, registry) = (
            bench.workspace.path().join("a.txt"),
            Arc::clone(&bench.registry),
        );
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::write(&path, "two").unwrap();
            registry.unregister("edit").unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UnknownTool));

        // It needs no yes any more.
        let bench = editing("one", "done");
        let (path, registry) = (
            bench.workspace.path().join("a.txt"),
            Arc::clone(&bench.registry),
        );
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::write(&path, "two").unwrap();
            registry
                .replace(Scripted::new("edit").gives("harmless now").into())
                .unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(results[0].content, "harmless now");
    });
}

struct ChangesBeforeRun(std::path::PathBuf, &'static str);

impl ChangesBeforeRun {
    /// Writes when the first call of the batch has run.
    fn act(&self) {
        std::fs::write(&self.0, self.1).unwrap();
    }
}

impl Middleware for ChangesBeforeRun {
    fn name(&self) -> &str {
        "changes"
    }

    fn after(
        &self,
        ended: &toolgate_gate::middleware::Ended<'_>,
        result: toolgate_model::ToolResult,
    ) -> toolgate_model::ToolResult {
        if ended.plan.is_some_and(|plan| plan.tool == "first") {
            self.act();
        }
        result
    }
}

fn between(change: &'static str) -> Bench {
    let workspace = Workspace::new().file("a.txt", "shown");
    let changes = ChangesBeforeRun(workspace.path().join("a.txt"), change);
    let write = |content: &str| Act::Write {
        path: "a.txt".into(),
        content: content.into(),
    };
    Rig::new()
        .workspace(workspace)
        .middleware(Arc::new(changes))
        .tool(Scripted::new("first"))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .does(write("edited")),
        )
        .tool(
            Scripted::new("again")
                .side_effects()
                .shows("a.txt")
                .does(write("edited again")),
        )
        .build()
}

#[test]
fn what_changed_between_approval_and_run_is_stale() {
    paused(async {
        let bench = between("somebody else");
        let calls = vec![call("1", "first", json!({})), call("2", "edit", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(
            results[1].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            results[1].content
        );
        assert!(
            results[1].content.contains("a.txt"),
            "{}",
            results[1].content
        );
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("somebody else")
        );
    });
}

#[test]
fn toolgates_own_write_in_the_batch_does_not_invalidate() {
    paused(async {
        let bench = between("never");
        let calls = vec![call("1", "edit", json!({})), call("2", "again", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(results[1].kind(), None, "{}", results[1].content);
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("edited again")
        );
    });
}

#[test]
fn an_own_write_from_before_the_question_does_not_count() {
    paused(async {
        // Toolgate wrote "edited" once; then somebody wrote "shown", which the person saw, and
        // while the batch runs the file goes back to "edited".
        let bench = between("edited");
        bench
            .run_asked(vec![call("0", "edit", json!({}))], Answer::yes())
            .await;
        assert_eq!(bench.workspace.read("a.txt").as_deref(), Some("edited"));
        bench.workspace.write("a.txt", "shown");
        let calls = vec![call("1", "first", json!({})), call("2", "again", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(
            results[1].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            results[1].content
        );
    });
}

#[test]
fn a_file_that_is_gone_or_cannot_be_looked_at_is_no_ground() {
    paused(async {
        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver =
            ScriptedApprover::new([Answer::yes(), Answer::no()]).before(move |request| {
                if request.items[0].preview.as_deref() == Some("one") {
                    std::fs::remove_file(&path).unwrap();
                }
            });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(approver.asked().len(), 2);

        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(
            results[0].kind(),
            Some(ErrorKind::NotAFile),
            "{}",
            results[0].content
        );
    });
}

#[test]
fn nobody_there_expired_cancelled_and_panicking_are_told_apart() {
    paused(async {
        let bench = writes();
        let nobody = (ErrorKind::NoApprover, "nobody is there to ask");
        let late = (ErrorKind::ApprovalExpired, "Confirmation request timed out");
        let cancelled = (ErrorKind::Cancelled, "Confirmation request cancelled");
        for (reply, (kind, words)) in [
            (Reply::None(Unanswered::NobodyThere), nobody),
            (Reply::None(Unanswered::Expired), late),
            (Reply::None(Unanswered::Cancelled), cancelled),
            (Reply::Never, late),
            (Reply::Panic, nobody),
        ] {
            let approver = ScriptedApprover::new([reply.clone()]);
            let calls = vec![write("1"), call("2", "read", json!({}))];
            let results = bench.run_through(calls, &asking(approver)).await;
            assert_eq!(results[0].kind(), Some(kind), "{reply:?}");
            assert!(results[0].content.contains(words), "{:?}", results[0]);
            assert!(
                results[0].content.contains("it was not run"),
                "{:?}",
                results[0]
            );
            assert_eq!(results[1].kind(), None, "what needs no yes runs");
        }
        let answered: Vec<String> = bench
            .journal
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.record {
                Record::Answered {
                    approved,
                    by,
                    reason,
                    ..
                } => {
                    assert!(!approved && by == "nobody");
                    reason
                }
                _ => None,
            })
            .collect();
        assert_eq!(answered.len(), 5);
    });
}

#[test]
fn without_a_time_limit_a_question_waits() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .settings(|settings| settings.approval_timeout = None)
            .build();
        let passage = asking(ScriptedApprover::new([Reply::Never]));
        let line = bench.run_through(vec![write("1")], &passage);
        let waited = tokio::time::timeout(Duration::from_secs(365 * 24 * 3600), line).await;
        assert!(waited.is_err(), "a year is not too long");
    });
}

#[test]
fn without_randomness_nobody_is_asked() {
    paused(async {
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .entropy(Arc::new(DryEntropy))
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let calls = vec![call("1", "touch", json!({"writes": ["a"]}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::NoApprover));
        assert!(results[0].content.contains("no randomness"));
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn a_journal_that_fails_before_the_question_means_nobody_is_asked() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .journal(FaultyJournal::failing_at([1]))
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Journal));
        assert!(approver.asked().is_empty());
        assert_eq!(
            bench.journal.of("1"),
            ["received", "planned", "finished"],
            "written when it works again"
        );
    });
}

#[test]
fn who_answered_what_for_how_long_is_on_record() {
    paused(async {
        let bench = writes();
        let answer = Answer::only(["1"])
            .remember(Remember::Conversation)
            .because("careful")
            .by("ann");
        bench.run_asked(vec![write("1"), write("2")], answer).await;
        let answered: Vec<_> = bench
            .journal
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.record {
                Record::Answered {
                    approved,
                    scope,
                    by,
                    reason,
                    ..
                } => Some((entry.call.to_string(), approved, scope, by, reason)),
                _ => None,
            })
            .collect();
        let line = |call: &str, approved| {
            (
                call.to_owned(),
                approved,
                "conversation".to_owned(),
                "ann".to_owned(),
                Some("careful".to_owned()),
            )
        };
        assert_eq!(answered, [line("1", true), line("2", false)]);
    });
}

#[test]
fn what_changed_while_a_call_waited_for_its_paths_is_stale() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    paused(async {
        let workspace = Workspace::new().file("a.txt", "shown");
        let path = workspace.path().join("a.txt");
        let holds = toolgate_gate::tool::typed(
            "holds",
            "Changes the file at last.",
            move |_: Nothing, _| {
                let path = path.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    std::fs::write(path, "changed").unwrap();
                    Ok(toolgate_gate::tool::Output::plain("changed"))
                }
            },
        )
        .facts(|_| Facts::writing("a.txt"))
        .side_effects();
        let edit = Scripted::new("edit")
            .side_effects()
            .shows("a.txt")
            .facts(Facts::writing("a.txt"));
        let ran = edit.ran();
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Arc::new(holds) as Arc<dyn toolgate_gate::tool::Tool>)
            .tool(edit)
            .rule(RuleSpec::new("holds", Action::Allow))
            .build();
        let other = Arc::new(Session::new("other"));
        let passage = asking(ScriptedApprover::new([Answer::yes()]));
        let (first, second) = futures::join!(
            bench.run(vec![call("1", "holds", json!({}))]),
            bench
                .gate
                .run(&other, vec![call("1", "edit", json!({}))], &passage),
        );
        assert_eq!(first[0].kind(), None);
        assert_eq!(
            second[0].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            second[0].content
        );
        assert_eq!(ran.get(), 0);
    });
}

/// A store whose list can be spoilt by another program.
#[derive(Default)]
struct Spoilt(std::sync::atomic::AtomicU8);

impl GrantStore for Spoilt {
    fn list(
        &self,
    ) -> Result<Vec<toolgate_gate::approve::Grant>, toolgate_gate::approve::GrantError> {
        match self.0.load(std::sync::atomic::Ordering::Relaxed) {
            0 => Ok(Vec::new()),
            1 => Err(toolgate_gate::approve::GrantError {
                message: "unreadable".into(),
            }),
            _ => Ok(vec![toolgate_gate::approve::Grant {
                id: "g1".into(),
                at_ms: 0,
                tool: "edit".into(),
                scope: GrantScope::Host("not a host/at all".into()),
            }]),
        }
    }

    fn add(
        &self,
        _: &[toolgate_gate::approve::Grant],
    ) -> Result<(), toolgate_gate::approve::GrantError> {
        Ok(())
    }

    fn revoke(&self, _: &str) -> Result<bool, toolgate_gate::approve::GrantError> {
        Ok(false)
    }
}

impl Spoilt {
    fn set(&self, state: u8) {
        self.0.store(state, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_store_that_cannot_be_read_grants_nothing_and_one_that_makes_no_sense_denies() {
    paused(async {
        let store = Arc::new(Spoilt::default());
        let bench = Rig::new()
            .workspace(Workspace::new().file("a.txt", "one"))
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .tool(Scripted::new("read"))
            .grants(Arc::clone(&store) as _)
            .build();
        store.set(1);
        let calls = || vec![call("1", "edit", json!({})), call("2", "read", json!({}))];
        let kinds = |results: Vec<toolgate_model::ToolResult>| {
            results.iter().map(|r| r.kind()).collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(bench.run(calls()).await),
            [Some(ErrorKind::NoApprover), None]
        );
        let project = Answer::yes().remember(Remember::Project);
        let results = bench
            .run_asked(vec![call("1", "edit", json!({}))], project)
            .await;
        assert!(
            results[0].metadata["not_remembered"]
                .as_str()
                .unwrap()
                .contains("unreadable")
        );
        store.set(2);
        let denied = Some(ErrorKind::PolicyDenied);
        assert_eq!(
            kinds(bench.run(calls()).await),
            [denied, denied],
            "fails closed"
        );

        // The same, found out between the question and the run.
        store.set(0);
        let (spoils, path) = (Arc::clone(&store), bench.workspace.path().join("a.txt"));
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            spoils.set(2);
            std::fs::write(&path, "two").unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(results[0].kind(), denied);
    });
}
