//! What stands around every call: order, tightening, repetition, metrics, audit, tracing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolgate_gate::approve::{Answer, Remember};
use toolgate_gate::middleware::{
    Audit, AuditLine, Chain, Denied, Ended, Metrics, Middleware, RepetitionGuard,
};
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Facts, Output, Tool, typed};
use toolgate_model::{
    Action, Call, Decision, ErrorKind, PlanRecord, Status, ToolCall, ToolError, ToolResult,
};
use toolgate_policy::RuleSpec;
use toolgate_testkit::{
    Act, Bench, Rig, Scripted, ScriptedApprover, asking, call, paused, states_facts,
};

type Log = Arc<Mutex<Vec<String>>>;

/// Says what it is asked, and does what its functions say.
#[derive(Default)]
struct Layer {
    name: &'static str,
    log: Log,
    rewrite: Option<fn(ToolCall) -> Result<ToolCall, Denied>>,
    review: Option<fn(&PlanRecord) -> Option<Decision>>,
    after: Option<fn(ToolResult) -> ToolResult>,
}

impl Middleware for Layer {
    fn name(&self) -> &str {
        self.name
    }

    fn rewrite(&self, call: ToolCall) -> Result<ToolCall, Denied> {
        self.log
            .lock()
            .unwrap()
            .push(format!("rewrite {}", self.name));
        self.rewrite.map_or(Ok(call.clone()), |act| act(call))
    }

    fn review(&self, _: &Session, plan: &PlanRecord) -> Option<Decision> {
        self.log
            .lock()
            .unwrap()
            .push(format!("review {}", self.name));
        self.review.and_then(|act| act(plan))
    }

    fn after(&self, _: &Ended<'_>, result: ToolResult) -> ToolResult {
        self.log
            .lock()
            .unwrap()
            .push(format!("after {}", self.name));
        match self.after {
            Some(act) => act(result),
            None => result,
        }
    }
}

fn around(layers: Vec<Layer>) -> Bench {
    let mut rig = Rig::new()
        .tool(Scripted::new("echo").does(Act::Echo))
        .tool(Scripted::new("fails").does(Act::Fail(ToolError::failed("broken"))))
        .tool(Scripted::new("write").side_effects());
    for layer in layers {
        rig = rig.middleware(Arc::new(layer));
    }
    rig.build()
}

fn tags(layers: [(&'static str, &Log); 3]) -> Vec<Layer> {
    layers
        .into_iter()
        .map(|(name, log)| Layer {
            name,
            log: Arc::clone(log),
            ..Layer::default()
        })
        .collect()
}

#[test]
fn test_middleware_chain() {
    paused(async {
        let log = Log::default();
        let bench = around(tags([("a", &log), ("b", &log), ("c", &log)]));
        bench.one("echo", json!({"text": "x"})).await;
        let expected = [
            "rewrite a",
            "rewrite b",
            "rewrite c",
            "review a",
            "review b",
            "review c",
            "after c",
            "after b",
            "after a",
        ];
        assert_eq!(*log.lock().unwrap(), expected);
    });
}

#[test]
fn test_middleware() {
    paused(async {
        let layer = Layer {
            name: "shouts",
            rewrite: Some(|mut call| {
                if let Some(text) = call.args.get("text").and_then(|text| text.as_str()) {
                    call.args.insert("text".into(), text.to_uppercase().into());
                }
                call.id = "forged".into();
                Ok(call)
            }),
            after: Some(|mut result| {
                result
                    .content
                    .push_str(&format!("! ({:?})", result.status()));
                result.call_id = "forged".into();
                result.tool = "forged".into();
                result.duration_ms = 99;
                result
            }),
            ..Layer::default()
        };
        let bench = around(vec![layer]);
        let result = bench.one("echo", json!({"text": "hello"})).await;
        assert_eq!(result.content, "HELLO! (Ok)");
        assert_eq!(
            (
                result.call_id.as_str(),
                result.tool.as_str(),
                result.duration_ms
            ),
            ("one", "echo", 0)
        );
        let failed = bench.one("fails", json!({})).await;
        assert_eq!(
            failed.content, "fails failed: broken! (Error)",
            "errors are seen too"
        );
    });
}

#[test]
fn test_middleware_integration() {
    paused(async {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&lines);
        let metrics = Metrics::new();
        let bench = Rig::new()
            .tool(Scripted::new("echo").does(Act::Echo))
            .middleware(Arc::new(metrics.clone()))
            .middleware(Arc::new(Audit::new(move |line: AuditLine| {
                into.lock().unwrap().push(line)
            })))
            .middleware(Arc::new(RepetitionGuard::new([])))
            .build();
        bench.one("echo", json!({"text": "x"})).await;
        assert_eq!(lines.lock().unwrap().len(), 1);
        assert!(
            metrics
                .render()
                .contains("toolgate_calls_total{tool=\"echo\",kind=\"ok\"} 1")
        );
    });
}

#[test]
fn a_middleware_can_refuse_before_anything_is_planned() {
    paused(async {
        let log = Log::default();
        let mut layers = tags([("first", &log), ("second", &log), ("third", &log)]);
        layers[1].rewrite = Some(|_| {
            Err(Denied {
                reason: "not today".into(),
            })
        });
        let bench = around(layers);
        let result = bench.one("echo", json!({})).await;
        assert_eq!(result.kind(), Some(ErrorKind::PolicyDenied));
        assert_eq!(result.content, "denied by second: not today");
        assert!(!log.lock().unwrap().contains(&"rewrite third".to_owned()));
        assert_eq!(bench.journal.of("one"), ["received", "finished"]);
        assert_eq!(Denied { reason: "x".into() }.to_string(), "x");
    });
}

#[test]
fn a_middleware_that_panics_fails_its_call_closed() {
    paused(async {
        for part in ["rewrite", "review", "after"] {
            let mut layer = Layer {
                name: "bomb",
                ..Layer::default()
            };
            match part {
                "rewrite" => layer.rewrite = Some(|_| panic!("boom\u{1b}[0m")),
                "review" => layer.review = Some(|_| panic!("boom\u{1b}[0m")),
                _ => layer.after = Some(|_| panic!("boom\u{1b}[0m")),
            }
            let tool = Scripted::new("echo").does(Act::Echo);
            let ran = tool.ran();
            let bench = Rig::new().tool(tool).middleware(Arc::new(layer)).build();
            let results = bench
                .run(vec![
                    call("1", "echo", json!({})),
                    call("2", "echo", json!({})),
                ])
                .await;
            assert_eq!(results.len(), 2);
            for result in results {
                assert_eq!(result.kind(), Some(ErrorKind::Panicked), "{part}");
                assert_eq!(result.content, "bomb panicked: boom\\u{1b}[0m", "{part}");
            }
            assert_eq!(ran.get(), if part == "after" { 2 } else { 0 }, "{part}");
        }
    });
}

fn says(action: Action) -> Decision {
    let mut decision = Decision::denied(ErrorKind::PolicyDenied, "review", "the review says so");
    decision.action = action;
    decision
}

#[test]
fn a_review_can_only_tighten() {
    paused(async {
        for (rule, reviews, expected) in [
            (Action::Allow, vec![Action::Allow], None),
            (
                Action::Allow,
                vec![Action::Ask],
                Some(ErrorKind::NoApprover),
            ),
            (
                Action::Allow,
                vec![Action::Deny],
                Some(ErrorKind::PolicyDenied),
            ),
            (
                Action::Ask,
                vec![Action::Allow],
                Some(ErrorKind::NoApprover),
            ),
            (
                Action::Deny,
                vec![Action::Allow],
                Some(ErrorKind::PolicyDenied),
            ),
            (
                Action::Allow,
                vec![Action::Deny, Action::Ask, Action::Allow],
                Some(ErrorKind::PolicyDenied),
            ),
            (
                Action::Allow,
                vec![Action::Ask, Action::Deny],
                Some(ErrorKind::PolicyDenied),
            ),
        ] {
            let mut rig = Rig::new()
                .tool(Scripted::new("echo"))
                .rule(RuleSpec::new("echo", rule));
            for review in &reviews {
                let act: fn(&PlanRecord) -> Option<Decision> = match review {
                    Action::Allow => |_| Some(says(Action::Allow)),
                    Action::Ask => |_| Some(says(Action::Ask)),
                    Action::Deny => |_| Some(says(Action::Deny)),
                };
                rig = rig.middleware(Arc::new(Layer {
                    name: "review",
                    review: Some(act),
                    ..Layer::default()
                }));
            }
            let bench = rig.build();
            assert_eq!(
                bench.one("echo", json!({})).await.kind(),
                expected,
                "{rule} {reviews:?}"
            );
        }
    });
}

#[test]
fn a_review_keeps_what_policy_said_to_each_atom() {
    paused(async {
        let layer = Layer {
            name: "review",
            review: Some(|_| Some(says(Action::Ask))),
            ..Layer::default()
        };
        let bench = around(vec![layer]);
        let planned = bench
            .gate
            .plan(&bench.session, vec![call("1", "echo", json!({}))])
            .await;
        let record = planned.plans().next().unwrap().record().unwrap();
        assert_eq!(record.decision.reason, "the review says so");
        assert_eq!(record.decision.atoms.len(), 1);
    });
}

#[test]
fn after_cannot_make_a_failure_look_well() {
    paused(async {
        let whitewash = Layer {
            name: "whitewash",
            after: Some(|mut result| {
                result.error = None;
                result.content = "all fine".into();
                result
            }),
            ..Layer::default()
        };
        let bench = around(vec![whitewash]);
        for (name, kind) in [
            ("fails", ErrorKind::Failed),
            ("write", ErrorKind::NoApprover),
            ("nobody", ErrorKind::UnknownTool),
        ] {
            let result = bench.one(name, json!({})).await;
            assert_eq!(result.kind(), Some(kind));
            assert_ne!(result.status(), Status::Ok);
        }
    });
}

#[test]
fn what_a_middleware_adds_is_cleaned_and_bounded_like_the_rest() {
    paused(async {
        let adds = Layer {
            name: "adds",
            after: Some(|mut result| {
                result.content = format!("\u{1b}[31m{}", "long ".repeat(50_000));
                result
                    .metadata
                    .insert("evil\u{1b}[0m".into(), "\u{1b}[31mred".into());
                result
            }),
            ..Layer::default()
        };
        let result = around(vec![adds]).one("echo", json!({})).await;
        assert!(result.truncated && result.content.len() <= 65_536);
        assert!(!result.content.contains('\u{1b}'));
        assert_eq!(result.metadata["evil"], "red");
    });
}

#[test]
fn a_chain_names_its_parts() {
    let mut chain = Chain::default();
    chain.push(Arc::new(Metrics::new()));
    chain.push(Arc::new(RepetitionGuard::default()));
    chain.push(Arc::new(Audit::new(|_| ())));
    assert_eq!(
        format!("{chain:?}"),
        "[\"metrics\", \"repetition guard\", \"audit\"]"
    );
}

fn guarded(tool: impl Into<Arc<dyn Tool>>) -> Bench {
    Rig::new()
        .tool(tool)
        .tool(Scripted::new("other"))
        .middleware(Arc::new(RepetitionGuard::new(["poll".to_owned()])))
        .build()
}

fn same(id: usize) -> Call {
    call(&format!("c{id}"), "echo", json!({"text": "same"}))
}

fn echo() -> Scripted {
    Scripted::new("echo").does(Act::Echo)
}

#[test]
fn the_third_same_call_asks_and_the_fifth_settles_across_batches() {
    paused(async {
        let bench = guarded(echo());
        let mut kinds = Vec::new();
        for turn in 1..=6 {
            // Ids repeat across batches with some providers.
            kinds.push(bench.run_asked(vec![same(turn % 2)], Answer::yes()).await[0].kind());
        }
        let over = Some(ErrorKind::RepeatedCall);
        assert_eq!(kinds, [None, None, None, None, over, over]);
        let bench = guarded(echo());
        for turn in 1..=2 {
            assert_eq!(bench.run(vec![same(turn)]).await[0].kind(), None);
        }
        let third = bench.run(vec![same(3)]).await.remove(0);
        assert_eq!(
            third.kind(),
            Some(ErrorKind::NoApprover),
            "the third asks, and nobody is there"
        );
        assert!(third.content.contains("3. time in a row"), "{third:?}");
    });
}

/// A no changes nothing, so the call after it is one more of the same.
#[test]
fn a_repeated_call_that_was_refused_does_not_begin_anew() {
    paused(async {
        let (no, over) = (Some(ErrorKind::UserDenied), Some(ErrorKind::RepeatedCall));
        let bench = guarded(echo());
        let mut kinds = Vec::new();
        for turn in 1..=6 {
            kinds.push(bench.run_asked(vec![same(turn)], Answer::no()).await[0].kind());
        }
        assert_eq!(kinds, [None, None, no, no, over, over]);
        let nobody = Some(ErrorKind::NoApprover);
        let bench = guarded(echo());
        let mut kinds = Vec::new();
        for turn in 1..=6 {
            kinds.push(bench.run(vec![same(turn)]).await[0].kind());
        }
        assert_eq!(kinds, [None, None, nobody, nobody, over, over]);
    });
}

#[test]
fn repetition_inside_one_batch_is_seen() {
    paused(async {
        let bench = guarded(echo());
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through((1..=6).map(same).collect(), &asking(approver.clone()))
            .await;
        let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
        let over = Some(ErrorKind::RepeatedCall);
        assert_eq!(kinds, [None, None, None, None, over, over]);
        let asked: Vec<String> = approver.asked()[0]
            .items
            .iter()
            .map(|item| item.call_id.to_string())
            .collect();
        assert_eq!(asked, ["c3", "c4"]);
        assert!(
            approver.asked()[0].items[0]
                .why
                .contains("3. time in a row")
        );
        assert!(
            results[4].content.contains("do something else"),
            "{}",
            results[4].content
        );
    });
}

#[test]
fn something_else_in_between_another_result_or_another_conversation_starts_anew() {
    paused(async {
        let bench = guarded(echo());
        for turn in 0..6 {
            assert_eq!(bench.run(vec![same(turn)]).await[0].kind(), None);
            assert_eq!(
                bench.run(vec![call("x", "other", json!({}))]).await[0].kind(),
                None
            );
        }
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Nothing {}
        let count = std::sync::atomic::AtomicUsize::new(0);
        let counts = typed(
            "counts",
            "Says another number each time.",
            move |_: Nothing, _| {
                let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                async move { Ok(Output::plain(n.to_string())) }
            },
        );
        let bench = guarded(Arc::new(counts) as Arc<dyn Tool>);
        for turn in 0..8 {
            let result = bench
                .run(vec![call("c", "counts", json!({}))])
                .await
                .remove(0);
            assert_eq!(result.kind(), None, "turn {turn}");
        }
        let bench = guarded(echo());
        for turn in 0..6 {
            let session = Arc::new(Session::new(format!("conversation {turn}")));
            let results = bench
                .gate
                .run(&session, vec![same(1)], &Default::default())
                .await;
            assert_eq!(results[0].kind(), None);
        }
    });
}

#[test]
fn tools_whose_purpose_is_to_be_asked_again_are_exempt() {
    paused(async {
        let bench = guarded(Scripted::new("poll"));
        for turn in 0..8 {
            assert_eq!(
                bench.one("poll", json!({})).await.kind(),
                None,
                "turn {turn}"
            );
        }
    });
}

#[test]
fn a_plan_made_again_is_still_the_same_call() {
    paused(async {
        let workspace = toolgate_testkit::Workspace::new().file("a.txt", "0");
        let path = workspace.path().join("a.txt");
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .middleware(Arc::new(RepetitionGuard::new([])))
            .build();
        let turn = std::sync::atomic::AtomicUsize::new(0);
        // Two questions per call, and nobody is told that it repeats itself.
        let approver = ScriptedApprover::new(vec![Answer::yes(); 8]).before(move |request| {
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if turn.is_multiple_of(2) {
                std::fs::write(&path, format!("changed {turn}")).unwrap();
            }
            assert!(
                !request.items[0].why.contains("in a row"),
                "{}",
                request.items[0].why
            );
        });
        for turn in 0..2 {
            let results = bench
                .run_through(
                    vec![call(&turn.to_string(), "edit", json!({}))],
                    &asking(approver.clone()),
                )
                .await;
            assert_eq!(results[0].kind(), None, "{}", results[0].content);
        }
        assert_eq!(approver.asked().len(), 4);
    });
}

#[test]
fn always_does_not_silence_the_repetition_guard() {
    paused(async {
        let bench = guarded(echo());
        bench.run(vec![same(1), same(2)]).await;
        let yes = Answer::yes().remember(Remember::Conversation);
        let result = bench.run_asked(vec![same(3)], yes).await.remove(0);
        assert_eq!(result.kind(), None);
        let said = result.metadata["not_remembered"].as_str().unwrap();
        assert!(said.contains("in a row"), "{said}");
        assert!(bench.session.grants().is_empty());
    });
}

#[test]
fn a_guard_watches_any_number_of_conversations() {
    paused(async {
        let bench = guarded(echo());
        let sessions: Vec<_> = (0..2_000)
            .map(|n| Arc::new(Session::new(format!("conversation {n}"))))
            .collect();
        for turn in 1..=3 {
            for session in &sessions {
                let passage = Default::default();
                let results = bench.gate.run(session, vec![same(1)], &passage).await;
                let kind = results[0].kind();
                let asked = (turn == 3).then_some(ErrorKind::NoApprover);
                assert_eq!(kind, asked, "turn {turn} of {}", session.id());
            }
        }
    });
}

#[test]
fn two_guards_count_for_themselves() {
    paused(async {
        let bench = Rig::new()
            .tool(echo())
            .middleware(Arc::new(RepetitionGuard::new([])))
            .middleware(Arc::new(RepetitionGuard::new([])))
            .build();
        for turn in 1..=2 {
            assert_eq!(bench.run(vec![same(turn)]).await[0].kind(), None);
        }
    });
}

/// Lets so many calls start, and counts the others and the ends.
#[derive(Default)]
struct Budget {
    left: std::sync::atomic::AtomicUsize,
    ran: Mutex<Vec<(String, Option<std::time::Duration>)>>,
    ended: Mutex<Vec<String>>,
}

impl Middleware for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    fn before_start(&self, _: &Session, _: &PlanRecord) -> Result<(), Denied> {
        use std::sync::atomic::Ordering::SeqCst;
        let take = self
            .left
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        take.map(drop).map_err(|_| Denied {
            reason: "the budget is used up".into(),
        })
    }

    fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let call = result.call_id.to_string();
        self.ran.lock().unwrap().push((call, ended.ran_for));
        result
    }

    fn end(&self, session: &Session) {
        self.ended.lock().unwrap().push(session.id().to_string());
    }
}

#[test]
fn a_budget_holds_within_a_batch() {
    paused(async {
        let budget = Arc::new(Budget::default());
        budget.left.store(2, std::sync::atomic::Ordering::SeqCst);
        let slow = std::time::Duration::from_micros(1_500);
        let tool = Scripted::new("slow").does(Act::Take(slow));
        let ran = tool.ran();
        let bench = Rig::new()
            .tool(tool)
            .middleware(Arc::clone(&budget) as Arc<dyn Middleware>)
            .settings(|settings| settings.max_concurrent = 4)
            .build();
        let calls = ["1", "2", "3", "4"].map(|id| call(id, "slow", json!({})));
        let results = bench.run(calls.into()).await;
        let kinds: Vec<_> = results.iter().map(ToolResult::kind).collect();
        let over = Some(ErrorKind::PolicyDenied);
        assert_eq!(kinds, [None, None, over, over]);
        assert!(
            results[2]
                .content
                .contains("denied by budget: the budget is used up")
        );
        assert_eq!(ran.get(), 2);
        assert!(!bench.journal.of("3").contains(&"started"));
        let mut after = budget.ran.lock().unwrap().clone();
        after.sort();
        let ids: Vec<_> = after
            .iter()
            .map(|(id, ran_for)| (id.as_str(), ran_for.is_some()))
            .collect();
        assert_eq!(ids, [("1", true), ("2", true), ("3", false), ("4", false)]);
        assert!(after[0].1 >= Some(slow), "{after:?}");
    });
}

#[test]
fn the_end_of_a_conversation_is_told_once() {
    paused(async {
        let budget = Arc::new(Budget::default());
        let bench = Rig::new()
            .tool(echo())
            .middleware(Arc::clone(&budget) as Arc<dyn Middleware>)
            .build();
        for turn in 1..=2 {
            bench.run(vec![same(turn)]).await;
        }
        bench.session.end().await;
        bench.session.end().await;
        bench.run(vec![same(3)]).await;
        bench.session.end().await;
        Session::new("silent").end().await;
        assert_eq!(*budget.ended.lock().unwrap(), ["test"]);
    });
}

#[test]
fn metrics_count_calls_kinds_denials_and_bytes() {
    paused(async {
        let metrics = Metrics::new();
        let bench = Rig::new()
            .tool(echo())
            .tool(Scripted::new("write").side_effects())
            .tool(Scripted::new("slow").does(Act::Take(std::time::Duration::from_millis(60))))
            .middleware(Arc::new(metrics.clone()))
            .build();
        for text in ["12345", "123"] {
            bench.one("echo", json!({"text": text})).await;
        }
        bench.one("write", json!({})).await;
        bench.one("slow", json!({})).await;
        for evil in ["no\"body", "no\nbody"] {
            bench.one(evil, json!({})).await;
        }
        let text = metrics.render();
        for line in [
            "# TYPE toolgate_calls_total counter",
            "toolgate_calls_total{tool=\"echo\",kind=\"ok\"} 2",
            "toolgate_calls_total{tool=\"write\",kind=\"no_approver\"} 1",
            "toolgate_calls_total{tool=\"unknown\",kind=\"unknown_tool\"} 2",
            "toolgate_denied_total{tool=\"write\"} 1",
            "toolgate_denied_total{tool=\"echo\"} 0",
            "toolgate_result_bytes_total{tool=\"echo\"} 8",
            "# TYPE toolgate_call_duration_ms histogram",
            "toolgate_call_duration_ms_bucket{tool=\"slow\",le=\"50\"} 0",
            "toolgate_call_duration_ms_bucket{tool=\"slow\",le=\"100\"} 1",
            "toolgate_call_duration_ms_bucket{tool=\"slow\",le=\"+Inf\"} 1",
            "toolgate_call_duration_ms_count{tool=\"slow\"} 1",
        ] {
            assert!(text.lines().any(|got| got == line), "{line}\n{text}");
        }
        let sum = text
            .lines()
            .find_map(|line| line.strip_prefix("toolgate_call_duration_ms_sum{tool=\"slow\"} "));
        assert!(
            (60..70).contains(&sum.unwrap().parse::<u32>().unwrap()),
            "{sum:?}"
        );
        assert!(!text.contains("body"), "names from the model are no labels");
    });
}

#[test]
fn every_call_has_an_audit_line_also_if_it_never_ran() {
    paused(async {
        let lines = Arc::new(Mutex::new(Vec::<AuditLine>::new()));
        let into = Arc::clone(&lines);
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .tool(Scripted::new("denied"))
            .tool(echo())
            .rule(RuleSpec::new("denied", Action::Deny))
            .middleware(Arc::new(Audit::new(move |line| {
                into.lock().unwrap().push(line)
            })))
            .build();
        bench
            .run(vec![
                call("1", "echo", json!({"text": "secret words"})),
                call("2", "denied", json!({})),
                call("3", "touch", json!({"writes": ["a.txt"]})),
                call("4", "nobody", json!({})),
            ])
            .await;
        let mut lines = lines.lock().unwrap().clone();
        lines.sort_by(|left, right| left.call_id.cmp(&right.call_id));
        let brief: Vec<_> = lines
            .iter()
            .map(|line| (line.tool.as_str(), line.decision, line.status, line.error))
            .collect();
        assert_eq!(
            brief,
            [
                ("echo", Some(Action::Allow), Status::Ok, None),
                (
                    "denied",
                    Some(Action::Deny),
                    Status::Denied,
                    Some(ErrorKind::PolicyDenied)
                ),
                (
                    "touch",
                    Some(Action::Ask),
                    Status::Denied,
                    Some(ErrorKind::NoApprover)
                ),
                ("nobody", None, Status::Error, Some(ErrorKind::UnknownTool)),
            ]
        );
        assert_eq!(lines[2].locations, ["a.txt"]);
        assert!(
            lines[1].rule.as_deref().unwrap().contains("[user]"),
            "{:?}",
            lines[1].rule
        );
        assert!(lines[3].conversation.is_none() && lines[0].conversation.is_some());
        assert!(
            serde_json::to_string(&lines[0])
                .unwrap()
                .contains("\"decision\":\"allow\"")
        );
    });
}

#[test]
fn facts_decide_what_is_told_not_the_model() {
    paused(async {
        let bench = Rig::new()
            .tool(
                Scripted::new("write")
                    .side_effects()
                    .facts(Facts::writing("real.txt")),
            )
            .build();
        let approver = ScriptedApprover::new([Answer::no()]);
        let asked =
            toolgate_testkit::call_because("1", "write", json!({}), "this only reads harmless.txt");
        bench
            .run_through(vec![asked], &asking(approver.clone()))
            .await;
        let item = approver.asked()[0].items[0].clone();
        assert_eq!(item.locations, ["real.txt"]);
        assert_eq!(
            item.model_reason.as_deref(),
            Some("this only reads harmless.txt")
        );
        assert!(!item.summary.contains("harmless"));
    });
}
