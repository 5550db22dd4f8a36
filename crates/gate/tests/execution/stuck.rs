//! Tools that ignore that they should stop, and work that outlives a call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolgate_gate::tool::{Facts, Output, Tool, typed};
use toolgate_gate::{BatchContext, Gate};
use toolgate_model::{ErrorKind, Event, EventKind, Status, Stream, ToolError};
use toolgate_testkit::{
    Act, Bench, Blocking, Collected, Release, Rig, Scripted, call, kinds, paused,
};

use crate::fixture::{Nothing, real, text, with};

/// Waits until nothing is stuck any more, without sleeping.
async fn ended(gate: &Gate) {
    let all = async {
        while gate.still_running() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("it ends when it is released");
}

fn stuck(blocking: Blocking, release: &Release) -> Bench {
    let short = Duration::from_millis(60);
    Rig::new()
        .tool(
            Scripted::new("stuck")
                .does(Act::Block(blocking, release.clone()))
                .facts(Facts::reading("held"))
                .call_timeout(short),
        )
        .tool(
            Scripted::new("same")
                .facts(Facts::writing("held/inside"))
                .side_effects()
                .call_timeout(short),
        )
        .tool(Scripted::new("other").facts(Facts::reading("free")))
        .rule(toolgate_policy::RuleSpec::new(
            "*",
            toolgate_model::Action::Allow,
        ))
        .build()
}

#[test]
fn a_tool_that_ignores_that_it_should_stop_is_reported_counted_and_keeps_its_paths() {
    for blocking in [Blocking::TheRuntime, Blocking::AThread] {
        let release = Release::default();
        real(async {
            let _let_go = release.at_end();
            let bench = stuck(blocking, &release);
            let began = Instant::now();
            let result = bench.one("stuck", json!({})).await;
            let took = began.elapsed();
            assert!(
                took < Duration::from_millis(1060),
                "{blocking:?} took {took:?}"
            );
            assert_eq!(result.kind(), Some(ErrorKind::Timeout));
            assert_eq!(result.metadata["still_running"], true);
            assert_eq!(bench.gate.still_running(), 1);

            let waits = bench.one("same", json!({})).await;
            assert_eq!(waits.kind(), Some(ErrorKind::Timeout));
            assert!(
                waits.content.contains("an earlier call still uses"),
                "{}",
                waits.content
            );
            assert!(waits.error.unwrap().retryable);
            assert_eq!(
                bench.one("other", json!({})).await.status(),
                Status::Ok,
                "it is not in its way"
            );

            release.release();
            ended(&bench.gate).await;
            assert_eq!(
                bench.one("same", json!({})).await.status(),
                Status::Ok,
                "free again"
            );
        });
    }
}

#[test]
fn a_listener_does_not_wait_for_an_abandoned_tool() {
    for blocking in [Blocking::TheRuntime, Blocking::AThread] {
        let release = Release::default();
        real(async {
            let _let_go = release.at_end();
            let bench = stuck(blocking, &release);
            let collected = Collected::listen(8);
            let passage = BatchContext {
                events: collected.sink(),
                ..BatchContext::default()
            };
            bench
                .run_through(vec![call("1", "stuck", json!({}))], &passage)
                .await;
            drop(passage);
            let all = tokio::time::timeout(Duration::from_secs(20), collected.all());
            let events = all.await.expect("nobody can say more");
            assert!(matches!(
                events.last(),
                Some(Event {
                    kind: EventKind::CallFinished { .. },
                    ..
                })
            ));
            assert_eq!(bench.gate.still_running(), 1);
        });
    }
}

#[test]
fn cancelling_a_stuck_tool_does_not_wait_for_it_either() {
    let release = Release::default();
    real(async {
        let _let_go = release.at_end();
        let bench = stuck(Blocking::TheRuntime, &release);
        let passage = BatchContext::default();
        passage.cancel.cancel();
        let never = bench
            .run_through(vec![call("1", "stuck", json!({}))], &passage)
            .await;
        assert_eq!(never[0].kind(), Some(ErrorKind::Cancelled));
        assert_eq!(
            bench.journal.of("1"),
            ["received", "planned", "finished"],
            "it never began"
        );
        release.release();
    });
}

#[test]
fn the_output_of_an_abandoned_tool_is_dropped() {
    let release = Release::default();
    real(async {
        let _let_go = release.at_end();
        let inside = release.clone();
        let tool = typed("late", "Speaks too late.", move |_: Nothing, cx| {
            let inside = inside.clone();
            async move {
                cx.emit(Stream::Stdout, b"in time").await;
                inside.wait();
                cx.emit(Stream::Stdout, b"too late").await;
                Ok(Output::plain("never seen"))
            }
        })
        .timeout(Duration::from_millis(60));
        let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
        let collected = Collected::listen(16);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        bench
            .run_through(vec![call("1", "late", json!({}))], &passage)
            .await;
        release.release();
        ended(&bench.gate).await;
        drop(passage);
        let events = collected.all().await;
        assert_eq!(kinds(&events).last().unwrap(), "call_finished 1");
        assert_eq!(text(&events, Stream::Stdout), "in time");
    });
}

#[test]
fn dropping_the_run_ends_the_tool_and_notifies_it() {
    paused(async {
        let (told, hears) = tokio::sync::oneshot::channel();
        let told = std::sync::Mutex::new(Some(told));
        let tool = typed(
            "slow",
            "Waits to be told.",
            move |_: Nothing, cx: toolgate_gate::tool::RunCtx| {
                let (told, cancel) = (told.lock().unwrap().take(), cx.cancel().clone());
                tokio::spawn(async move {
                    cancel.cancelled().await;
                    told.map(|told| told.send(()))
                });
                std::future::pending::<Result<Output, ToolError>>()
            },
        )
        .facts(|_| Facts::writing("a"))
        .side_effects();
        let bench = Rig::new()
            .tool(Arc::new(tool) as Arc<dyn Tool>)
            .tool(Scripted::new("next").facts(Facts::reading("a")))
            .rule(toolgate_policy::RuleSpec::new(
                "slow",
                toolgate_model::Action::Allow,
            ))
            .build();
        let line = bench.run(vec![call("1", "slow", json!({}))]);
        assert!(
            tokio::time::timeout(Duration::from_secs(1), line)
                .await
                .is_err()
        );
        hears.await.expect("it was told");
        assert_eq!(
            bench.one("next", json!({})).await.status(),
            Status::Ok,
            "its paths are free"
        );
    });
}

#[test]
fn dropping_the_handle_cancels_the_call() {
    paused(async {
        let bench = with(Scripted::new("slow").does(Act::Sleep));
        let mut handle = bench.gate.start(
            &bench.session,
            call("1", "slow", json!({})),
            &BatchContext::default(),
        );
        while !matches!(
            handle.next_event().await,
            Some(Event {
                kind: EventKind::CallStarted { .. },
                ..
            })
        ) {}
        drop(handle);
        while bench.journal.of("1").last() != Some(&"finished") {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let entries = bench.journal.entries();
        let Some(toolgate_gate::journal::Record::Finished { result }) =
            entries.last().map(|entry| &entry.record)
        else {
            panic!("{entries:?}")
        };
        assert_eq!(result.kind(), Some(ErrorKind::Cancelled));
    });
}

#[test]
fn a_handle_without_a_listener_still_has_a_result() {
    paused(async {
        let pieces = (0..500).map(|n| {
            (
                Stream::Stdout,
                format!("{n:04}{}\n", "x".repeat(3_000)).into_bytes(),
            )
        });
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces.collect())));
        let handle = bench.gate.start(
            &bench.session,
            call("1", "chatty", json!({})),
            &BatchContext::default(),
        );
        assert_eq!(handle.result().await.content, "shown");
    });
}

#[test]
fn a_call_that_ends_with_the_program_says_so() {
    let bench = with(Scripted::new("slow").does(Act::Sleep));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let handle = runtime.block_on(async {
        bench.gate.start(
            &bench.session,
            call("1", "slow", json!({})),
            &BatchContext::default(),
        )
    });
    runtime.shutdown_background();
    let result = paused(handle.result());
    assert_eq!(result.kind(), Some(ErrorKind::Interrupted));
}

#[test]
fn a_task_that_outlives_its_call_does_not_keep_paths_locked() {
    paused(async {
        let tool = typed(
            "leaves",
            "Goes on in the background.",
            |_: Nothing, cx| async move {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(1_000)).await;
                    drop(cx);
                });
                Ok(Output::plain("started"))
            },
        )
        .facts(|_| Facts::reading("a"));
        let bench = Rig::new()
            .tool(Arc::new(tool) as Arc<dyn Tool>)
            .tool(Scripted::new("write").facts(Facts::writing("a")))
            .rule(toolgate_policy::RuleSpec::new(
                "*",
                toolgate_model::Action::Allow,
            ))
            .build();
        assert_eq!(bench.one("leaves", json!({})).await.status(), Status::Ok);
        assert_eq!(bench.one("write", json!({})).await.duration_ms, 0);
        assert_eq!(bench.gate.still_running(), 0);
    });
}
