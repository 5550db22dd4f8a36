//! Batches: exactly one result per call, in call order, whatever happens to each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::Answer;
use toolgate_gate::journal::Record;
use toolgate_gate::tool::{Facts, Output, Tool, typed};
use toolgate_gate::{BatchContext, OnError};
use toolgate_model::json::JsonLimits;
use toolgate_model::{Action, Call, ErrorKind, Event, EventKind, Status};
use toolgate_policy::RuleSpec;
use toolgate_testkit::{
    Act, Bench, Collected, FaultyJournal, Rig, Scripted, ScriptedApprover, Step, call, kinds,
    paused,
};

/// What a call of a random batch comes to when nobody interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Good,
    Slow,
    Fails,
    Panics,
    TimesOut,
    Denied,
    Approved,
    Rejected,
    BadArgs,
    Unknown,
    Damaged,
}

const SORTS: [Sort; 11] = [
    Sort::Good,
    Sort::Slow,
    Sort::Fails,
    Sort::Panics,
    Sort::TimesOut,
    Sort::Denied,
    Sort::Approved,
    Sort::Rejected,
    Sort::BadArgs,
    Sort::Unknown,
    Sort::Damaged,
];

impl Sort {
    fn kind(self) -> Option<ErrorKind> {
        match self {
            Self::Good | Self::Slow | Self::Approved => None,
            Self::Fails => Some(ErrorKind::Failed),
            Self::Panics => Some(ErrorKind::Panicked),
            Self::TimesOut => Some(ErrorKind::Timeout),
            Self::Denied => Some(ErrorKind::PolicyDenied),
            Self::Rejected => Some(ErrorKind::UserDenied),
            Self::BadArgs => Some(ErrorKind::BadArgs),
            Self::Unknown => Some(ErrorKind::UnknownTool),
            Self::Damaged => Some(ErrorKind::BadCall),
        }
    }

    fn starts(self) -> bool {
        matches!(
            self,
            Self::Good | Self::Slow | Self::Fails | Self::Panics | Self::TimesOut | Self::Approved
        )
    }

    fn call(self, index: usize) -> Call {
        let id = format!("c{index}");
        let whole = |name: &str| call(&id, name, json!({}));
        match self {
            Self::Good => whole("good"),
            Self::Slow => whole(["slow_a", "slow_b", "slow_write_a", "slow_opaque"][index % 4]),
            Self::Fails => whole("fails"),
            Self::Panics => whole("panics"),
            Self::TimesOut => whole("times_out"),
            Self::Denied => whole("denied"),
            Self::Approved | Self::Rejected => whole("asked"),
            Self::BadArgs => call(&id, "good", json!({"wrong": 1})),
            Self::Unknown => whole("nobody_knows"),
            Self::Damaged => {
                Call::from_wire(id, "good", b"{\"text\": \"cut o", JsonLimits::default())
            }
        }
    }
}

/// Tools for every sort. `good` looks itself up in the record before it has any effect.
fn tools(journal: &FaultyJournal, settings: impl FnOnce(&mut toolgate_gate::Settings)) -> Bench {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let record = journal.clone();
    let good = typed(
        "good",
        "Is on record before it runs.",
        move |_: Nothing, cx: toolgate_gate::tool::RunCtx| {
            let seen = record.of(cx.call_id().as_str());
            async move {
                assert_eq!(seen.last(), Some(&"started"), "durable before the effect");
                Ok(Output::plain("good"))
            }
        },
    );
    let slow = |name: &str, facts| {
        Scripted::new(name)
            .does(Act::Take(Duration::from_millis(500)))
            .facts(facts)
    };
    Rig::new()
        .tool(Arc::new(good) as Arc<dyn Tool>)
        .tool(slow("slow_a", Facts::reading("a")))
        .tool(slow("slow_b", Facts::reading("b")))
        .tool(slow("slow_write_a", Facts::writing("a")))
        .tool(slow("slow_opaque", Facts::opaque()))
        .tool(Scripted::new("fails").does(Act::Fail(toolgate_model::ToolError::failed("no"))))
        .tool(Scripted::new("panics").panics_in(Step::Run))
        .tool(
            Scripted::new("times_out")
                .does(Act::Sleep)
                .call_timeout(Duration::from_secs(2)),
        )
        .tool(Scripted::new("denied"))
        .tool(Scripted::new("asked").side_effects())
        .rule(RuleSpec::new("denied", Action::Deny))
        .rule(RuleSpec::new("slow_write_a", Action::Allow))
        .rule({
            let mut rule = RuleSpec::new("slow_opaque", Action::Allow);
            rule.opaque = true;
            rule
        })
        .journal(journal.clone())
        .settings(|all| {
            all.limits.max_calls = 64;
            settings(all);
        })
        .build()
}

/// Every call: received first, finished last and once, started at most once and only if it was planned.
fn check_record(journal: &FaultyJournal, calls: usize) -> BTreeSet<usize> {
    let mut started = BTreeSet::new();
    for index in 0..calls {
        let kinds = journal.of(&format!("c{index}"));
        let count = |kind: &str| kinds.iter().filter(|got| **got == kind).count();
        assert!(kinds[0].starts_with("received"), "{kinds:?}");
        assert_eq!(count("received") + count("received_bad"), 1, "{kinds:?}");
        assert_eq!(count("finished"), 1, "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"finished"), "{kinds:?}");
        assert_eq!(count("asked"), count("answered"), "{kinds:?}");
        assert!(count("started") <= count("planned"), "{kinds:?}");
        if count("started") == 1 {
            assert_eq!(kinds[kinds.len() - 2], "started", "{kinds:?}");
            started.insert(index);
        }
    }
    started
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn every_call_has_exactly_one_result_in_call_order(
        sorts in prop::collection::vec(prop::sample::select(SORTS.to_vec()), 0..12),
        max_concurrent in 0_usize..5,
        stop in any::<bool>(),
        cancel_at_ms in prop::option::of(0_u64..4_000),
    ) {
        paused(async {
            let journal = FaultyJournal::sound();
            let bench = tools(&journal, |settings| {
                settings.max_concurrent = max_concurrent;
                settings.on_error = if stop { OnError::Stop } else { OnError::Continue };
            });
            let calls: Vec<Call> = sorts.iter().enumerate().map(|(index, sort)| sort.call(index)).collect();
            let approved = (0..sorts.len()).filter(|index| sorts[*index] == Sort::Approved).map(|index| format!("c{index}"));
            let approver = ScriptedApprover::new([Answer::only(approved)]);
            let collected = Collected::listen(4);
            let passage = BatchContext {
                approver: Some(Arc::new(approver.clone())),
                events: collected.sink(),
                ..BatchContext::default()
            };
            let line = bench.run_through(calls, &passage);
            let interfere = async {
                if let Some(ms) = cancel_at_ms {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    passage.cancel.cancel();
                }
            };
            let (results, ()) = futures::join!(line, interfere);

            let ids: Vec<String> = results.iter().map(|result| result.call_id.to_string()).collect();
            assert_eq!(ids, (0..sorts.len()).map(|index| format!("c{index}")).collect::<Vec<_>>());
            let mut failed_before = false;
            for (sort, result) in sorts.iter().zip(&results) {
                let cancelled = result.kind() == Some(ErrorKind::Cancelled);
                let may_be_cancelled = cancel_at_ms.is_some() || (stop && sort.starts());
                assert!(result.kind() == sort.kind() || (cancelled && may_be_cancelled), "{sort:?}: {result:?}");
                if stop && max_concurrent <= 1 && failed_before && sort.starts() {
                    assert!(cancelled, "{sort:?} after a failure: {result:?}");
                }
                failed_before |= result.error.is_some();
            }
            assert!(approver.asked().len() <= 1, "one question per batch");
            let started = check_record(&journal, sorts.len());
            for index in &started {
                assert!(sorts[*index].starts(), "{:?} started", sorts[*index]);
            }
            if cancel_at_ms.is_none() && !stop {
                assert_eq!(started.len(), sorts.iter().filter(|sort| sort.starts()).count());
            }
            drop(passage);
            let events = collected.all().await;
            let finished = events.iter().filter(|event| matches!(event, Event { kind: EventKind::CallFinished { .. }, .. })).count();
            assert_eq!(finished, sorts.len());
            assert_eq!(bench.gate.still_running(), 0);
        });
    }
}

/// How long three calls of half a second take.
async fn three(max_concurrent: usize, names: [&str; 3]) -> u64 {
    let bench = tools(&FaultyJournal::sound(), |settings| {
        settings.max_concurrent = max_concurrent
    });
    let began = tokio::time::Instant::now();
    let calls = names
        .iter()
        .enumerate()
        .map(|(n, name)| call(&n.to_string(), name, json!({})))
        .collect();
    let results = bench.run(calls).await;
    assert!(
        results.iter().all(|result| result.status() == Status::Ok),
        "{results:?}"
    );
    u64::try_from(began.elapsed().as_millis()).unwrap()
}

#[test]
fn only_calls_that_cannot_disturb_each_other_run_side_by_side() {
    paused(async {
        for (max, names, took) in [
            (1, ["slow_a", "slow_a", "slow_b"], 1_500),
            (3, ["slow_a", "slow_a", "slow_b"], 500),
            (2, ["slow_a", "slow_a", "slow_b"], 1_000),
            (3, ["slow_a", "slow_write_a", "slow_a"], 1_500),
            (3, ["slow_write_a", "slow_b", "slow_b"], 500),
            (3, ["slow_opaque", "slow_a", "slow_b"], 1_000),
            (3, ["slow_a", "slow_opaque", "slow_b"], 1_500),
        ] {
            assert_eq!(three(max, names).await, took, "{max} {names:?}");
        }
    });
}

#[test]
fn test_executor_execute_many() {
    paused(async {
        let (ok, error, cancelled) = (Status::Ok, Status::Error, Status::Cancelled);
        let names = ["slow_a", "slow_b", "fails", "slow_b", "good"];
        // What runs is let finish, what has not started is not.
        for (max_concurrent, expected, took) in [
            (1, [ok, ok, error, cancelled, cancelled], 1_000),
            (2, [ok, ok, error, ok, cancelled], 1_000),
            (4, [ok, ok, error, ok, cancelled], 500),
        ] {
            let bench = tools(&FaultyJournal::sound(), |settings| {
                settings.max_concurrent = max_concurrent;
                settings.on_error = OnError::Stop;
            });
            let calls = names
                .iter()
                .enumerate()
                .map(|(n, name)| call(&n.to_string(), name, json!({})))
                .collect();
            let began = tokio::time::Instant::now();
            let results = bench.run(calls).await;
            let statuses: Vec<_> = results.iter().map(|result| result.status()).collect();
            assert_eq!(statuses, expected, "{max_concurrent} at a time");
            assert_eq!(
                began.elapsed().as_millis(),
                took,
                "{max_concurrent} at a time"
            );
            assert!(
                results[4].content.contains("on_error is \"stop\""),
                "{}",
                results[4].content
            );
        }
    });
}

#[test]
fn test_multiple_tools() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("one").gives("1"))
            .tool(Scripted::new("two").gives("2"))
            .tool(Scripted::new("three").gives("3"))
            .build();
        let calls = ["three", "one", "two"]
            .iter()
            .map(|name| call(name, name, json!({})))
            .collect();
        let contents: Vec<String> = bench
            .run(calls)
            .await
            .into_iter()
            .map(|result| result.content)
            .collect();
        assert_eq!(contents, ["3", "1", "2"]);
    });
}

#[test]
fn flow_batch_execution() {
    paused(async {
        let bench = tools(&FaultyJournal::sound(), |settings| {
            settings.on_error = OnError::Stop
        });
        let good = bench
            .run(vec![
                call("c0", "good", json!({})),
                call("c1", "slow_a", json!({})),
            ])
            .await;
        assert!(good.iter().all(|result| result.status() == Status::Ok));
        let calls = vec![
            call("c0", "fails", json!({})),
            call("c1", "good", json!({})),
        ];
        let failing = bench.run(calls).await;
        assert_eq!(
            failing[1].kind(),
            Some(ErrorKind::Cancelled),
            "fast failure on error"
        );
    });
}

#[test]
fn a_refused_call_stops_the_rest_too() {
    paused(async {
        let bench = tools(&FaultyJournal::sound(), |settings| {
            settings.on_error = OnError::Stop
        });
        let calls = vec![
            call("c0", "good", json!({})),
            call("c1", "denied", json!({})),
            call("c2", "good", json!({})),
        ];
        let statuses: Vec<_> = bench
            .run(calls)
            .await
            .iter()
            .map(|result| result.status())
            .collect();
        assert_eq!(statuses, [Status::Ok, Status::Denied, Status::Cancelled]);
    });
}

#[test]
fn an_empty_batch_is_no_work() {
    paused(async {
        let bench = tools(&FaultyJournal::sound(), |_| ());
        assert!(bench.run(Vec::new()).await.is_empty());
        assert!(bench.journal.commits().is_empty());
    });
}

#[test]
fn calls_of_two_batches_respect_each_others_paths() {
    paused(async {
        let bench = tools(&FaultyJournal::sound(), |_| ());
        let other = Arc::new(toolgate_gate::session::Session::new("other"));
        let began = tokio::time::Instant::now();
        let passage = BatchContext::default();
        let (first, second) = futures::join!(
            bench.run(vec![call("c0", "slow_write_a", json!({}))]),
            bench
                .gate
                .run(&other, vec![call("c0", "slow_a", json!({}))], &passage),
        );
        assert_eq!(
            (first[0].status(), second[0].status()),
            (Status::Ok, Status::Ok)
        );
        assert_eq!(began.elapsed().as_millis(), 1_000, "one after the other");
    });
}

#[test]
fn events_of_a_batch_keep_the_order_of_each_call() {
    paused(async {
        let bench = tools(&FaultyJournal::sound(), |settings| {
            settings.max_concurrent = 3
        });
        let collected = Collected::listen(64);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        let calls = vec![
            call("c0", "slow_a", json!({})),
            call("c1", "slow_b", json!({})),
            call("c2", "nobody", json!({})),
        ];
        bench.run_through(calls, &passage).await;
        drop(passage);
        let told = kinds(&collected.all().await);
        for (id, expected) in [
            (
                "c0",
                vec![
                    "call_received",
                    "call_planned",
                    "call_started",
                    "call_finished",
                ],
            ),
            (
                "c1",
                vec![
                    "call_received",
                    "call_planned",
                    "call_started",
                    "call_finished",
                ],
            ),
            ("c2", vec!["call_received", "call_finished"]),
        ] {
            let own: Vec<&str> = told
                .iter()
                .filter_map(|line| line.strip_suffix(&format!(" {id}")))
                .collect();
            assert_eq!(own, expected, "{id}");
        }
        let finished = bench
            .journal
            .entries()
            .into_iter()
            .filter(|entry| matches!(entry.record, Record::Finished { .. }));
        assert_eq!(finished.count(), 3);
    });
}
