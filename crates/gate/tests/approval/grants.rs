//! Grants: approvals that are remembered for a conversation or a project.

use std::future::ready;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use toolgate_gate::approve::{
    Answer, Grant, GrantError, GrantScope, GrantStore, GrantsInMemory, NoGrants, Remember,
};
use toolgate_gate::session::Session;
use toolgate_model::{Action, Decision, ErrorKind};
use toolgate_policy::{Question, RuleSpec, Validator};
use toolgate_testkit::{
    Bench, Rig, Scripted, ScriptedApprover, Workspace, asking, call, paused, states_facts,
};

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
        let listed = store.list().await.unwrap();
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
            assert!(store.revoke(&grant.id).await.unwrap());
        }
        assert!(!store.revoke(&listed[0].id).await.unwrap());
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
fn a_grant_that_is_too_wide_or_useless_is_not_saved_and_reported() {
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
        assert!(!NoGrants.revoke("x").await.unwrap());
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
            (Remember::Project, &|| {
                store.list().now_or_never().unwrap().unwrap().len()
            }),
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

/// A store whose list can be spoilt by another program.
#[derive(Default)]
struct Spoilt(std::sync::atomic::AtomicU8);

impl GrantStore for Spoilt {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>> {
        let list = match self.0.load(std::sync::atomic::Ordering::Relaxed) {
            0 => Ok(Vec::new()),
            1 => Err(GrantError {
                message: "unreadable".into(),
            }),
            _ => Ok(vec![Grant {
                id: "g1".into(),
                at_ms: 0,
                tool: "edit".into(),
                scope: GrantScope::Host("not a host/at all".into()),
            }]),
        };
        Box::pin(ready(list))
    }

    fn add<'a>(&'a self, _: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>> {
        Box::pin(ready(Ok(())))
    }

    fn revoke<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, GrantError>> {
        Box::pin(ready(Ok(false)))
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
