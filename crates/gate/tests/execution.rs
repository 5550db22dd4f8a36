//! One call at a time: timeout, cancellation, panics, stuck tools, events, handles.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::Answer;
use toolgate_gate::execute::EventSink;
use toolgate_gate::session::{Session, Staleness};
use toolgate_gate::tool::{
    Facts, Invocation, Output, Preview, RunCtx, Spelling, Tool, ToolSpec, typed,
};
use toolgate_gate::{BatchContext, Gate};
use toolgate_model::{Args, Category, ErrorKind, Event, Risk, Status, Stream, ToolError};
use toolgate_testkit::{
    Act, Bench, Blocking, Collected, Release, Rig, Scripted, ScriptedApprover, Step, asking, call,
    kinds, paused,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn with(tool: Scripted) -> Bench {
    Rig::new().tool(tool).build()
}

/// A runtime whose time is real and whose threads are two.
fn real<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn what_needs_no_question_is_planned_and_runs() {
    paused(async {
        let bench = with(Scripted::new("echo").does(Act::Echo));
        let result = bench.one("echo", json!({"text": "hello"})).await;
        assert_eq!(
            (result.status(), result.content.as_str()),
            (Status::Ok, "hello")
        );
        assert_eq!(
            bench.journal.of("one"),
            ["received", "planned", "started", "finished"]
        );
    });
}

#[test]
fn test_executor_execute_sync() {
    paused(async {
        let bench = with(Scripted::new("echo").does(Act::Echo).side_effects());
        let calls = vec![call("one", "echo", json!({"text": "hello"}))];
        let approver = ScriptedApprover::new([Answer::yes()]);
        let collected = Collected::listen(16);
        let mut passage = asking(approver.clone());
        passage.events = collected.sink();
        let results = bench.run_through(calls, &passage).await;
        drop(passage);
        assert_eq!(
            (results[0].status(), results[0].content.as_str()),
            (Status::Ok, "hello")
        );
        assert_eq!(approver.asked().len(), 1);
        let events = collected.all().await;
        assert_eq!(
            kinds(&events),
            [
                "call_received one",
                "call_planned one",
                "approval_requested",
                "approval_answered",
                "call_started one",
                "call_finished one"
            ],
            "policy, approval, execution"
        );
        assert_eq!(
            bench.journal.of("one"),
            [
                "received", "planned", "asked", "answered", "started", "finished"
            ]
        );
    });
}

#[test]
fn test_executor_execute_context() {
    paused(async {
        let bench = with(Scripted::new("slow").does(Act::Sleep));
        let passage = BatchContext::default();
        let line = bench.run_through(vec![call("1", "slow", json!({}))], &passage);
        let stop = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            passage.cancel.cancel();
        };
        let (results, ()) = futures::join!(line, stop);
        assert_eq!(
            (results[0].status(), results[0].exit_code()),
            (Status::Cancelled, 130)
        );
        assert_eq!(results[0].content, "Cancelled by user");
        assert_eq!(bench.gate.still_running(), 0);
    });
}

#[test]
fn test_executor_timeout() {
    paused(async {
        let began = tokio::time::Instant::now();
        let result = with(Scripted::new("slow").does(Act::Sleep))
            .one("slow", json!({}))
            .await;
        assert_eq!(result.kind(), Some(ErrorKind::Timeout));
        assert!(
            result.content.starts_with("ran out of time after 30 s"),
            "{}",
            result.content
        );
        let late = began.elapsed() - Duration::from_secs(30);
        assert!(late < Duration::from_secs(1), "{late:?} after the deadline");
        assert!(result.metadata.get("still_running").is_none());
        assert!(result.duration_ms >= 30_000);
    });
}

#[test]
fn test_executor_execute_async() {
    paused(async {
        let bench = with(Scripted::new("echo").does(Act::Echo));
        let calls = call("1", "echo", json!({"text": "later"}));
        let mut handle = bench
            .gate
            .start(&bench.session, calls, &BatchContext::default());
        assert_eq!(handle.call_id().as_str(), "1");
        let mut events = Vec::new();
        while let Some(event) = handle.next_event().await {
            events.push(event);
        }
        assert_eq!(
            kinds(&events),
            [
                "call_received 1",
                "call_planned 1",
                "call_started 1",
                "call_finished 1"
            ]
        );
        assert_eq!(handle.result().await.content, "later");
    });
}

#[test]
fn test_panic_recovery() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("bomb").panics_in(Step::Run))
            .tool(Scripted::new("fine"))
            .build();
        let results = bench
            .run(vec![
                call("1", "bomb", json!({})),
                call("2", "fine", json!({})),
            ])
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Panicked));
        assert_eq!(
            results[0].content,
            "Tool panicked: \\u{1b}[31mboom in Run\\nsecond line"
        );
        assert_eq!(results[1].status(), Status::Ok);
    });
}

#[test]
fn a_panic_without_a_text_is_a_result_too() {
    paused(async {
        let tool = typed("odd", "Panics oddly.", |_: Nothing, _| async {
            std::panic::panic_any(7)
        });
        let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
        assert_eq!(
            bench.one("odd", json!({})).await.content,
            "Tool panicked: no message"
        );
    });
}

#[test]
fn test_error_types() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("slow").does(Act::Sleep))
            .tool(Scripted::new("ask").side_effects())
            .tool(Scripted::new("never"))
            .rule(toolgate_policy::RuleSpec::new(
                "never",
                toolgate_model::Action::Deny,
            ))
            .build();
        for (name, answer, kind) in [
            ("nobody", Some(Answer::yes()), ErrorKind::UnknownTool),
            ("slow", Some(Answer::yes()), ErrorKind::Timeout),
            ("never", Some(Answer::yes()), ErrorKind::PolicyDenied),
            ("ask", Some(Answer::no()), ErrorKind::UserDenied),
            ("ask", None, ErrorKind::NoApprover),
        ] {
            let passage = answer.map_or_else(BatchContext::default, |answer| {
                asking(ScriptedApprover::new([answer]))
            });
            let calls = vec![call("1", name, json!({}))];
            let result = bench.run_through(calls, &passage).await.remove(0);
            let error = result.error.unwrap();
            assert_eq!(error.kind, kind);
            assert!(error.to_string().starts_with(kind.as_str()), "{error}");
        }
    });
}

#[test]
fn test_error_wrapping() {
    paused(async {
        let error = ToolError::retryable(ErrorKind::Network, "no route to example.com");
        let result = with(Scripted::new("fetch").does(Act::Fail(error.clone())))
            .one("fetch", json!({}))
            .await;
        assert_eq!(result.content, "fetch failed: no route to example.com");
        assert_eq!(
            result.error,
            Some(error),
            "kind, message and retryable as the tool said"
        );
    });
}

#[test]
fn flow_register_and_execute_tool() {
    paused(async {
        let bench = Rig::new().build();
        bench
            .registry
            .register(Scripted::new("late").gives("output").into())
            .unwrap();
        let result = bench.one("late", json!({})).await;
        assert_eq!(
            (result.status(), result.content.as_str()),
            (Status::Ok, "output")
        );
    });
}

#[test]
fn flow_context_cancellation() {
    paused(async {
        let tool = Scripted::new("slow").does(Act::Sleep);
        let ran = tool.ran();
        let bench = with(tool);
        let mut handle = bench.gate.start(
            &bench.session,
            call("1", "slow", json!({})),
            &BatchContext::default(),
        );
        while !matches!(
            handle.next_event().await.expect("it starts"),
            Event::CallStarted { .. }
        ) {}
        while ran.get() == 0 {
            tokio::task::yield_now().await;
        }
        handle.cancel();
        assert_eq!(handle.result().await.kind(), Some(ErrorKind::Cancelled));
        assert_eq!(bench.gate.still_running(), 0);
    });
}

#[test]
fn flow_timeout() {
    paused(async {
        let tool = Scripted::new("five")
            .does(Act::Take(Duration::from_secs(5)))
            .call_timeout(Duration::from_secs(1));
        let began = tokio::time::Instant::now();
        let result = with(tool).one("five", json!({})).await;
        assert_eq!(result.kind(), Some(ErrorKind::Timeout));
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "after one second, not after five"
        );
    });
}

#[test]
fn t_tmo_01_timeout_yields_an_error_and_the_batch_continues() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("slow").does(Act::Sleep))
            .tool(Scripted::new("fine"))
            .build();
        let results = bench
            .run(vec![
                call("1", "slow", json!({})),
                call("2", "fine", json!({})),
            ])
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Timeout));
        assert_eq!(results[1].status(), Status::Ok);
    });
}

#[test]
fn t_can_01_cancel_mid_execution_marks_remaining_as_cancelled() {
    paused(async {
        let after = Scripted::new("after");
        let ran = after.ran();
        let bench = Rig::new()
            .tool(Scripted::new("before"))
            .tool(Scripted::new("slow").does(Act::Sleep))
            .tool(after)
            .build();
        let passage = BatchContext::default();
        let calls = vec![
            call("1", "before", json!({})),
            call("2", "slow", json!({})),
            call("3", "after", json!({})),
        ];
        let line = bench.run_through(calls, &passage);
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            passage.cancel.cancel();
        };
        let (results, ()) = futures::join!(line, stop);
        let statuses: Vec<_> = results.iter().map(|result| result.status()).collect();
        assert_eq!(statuses, [Status::Ok, Status::Cancelled, Status::Cancelled]);
        assert_eq!(results[1].content, "Cancelled by user");
        assert_eq!(results[2].content, "Cancelled by user");
        assert_eq!(ran.get(), 0);
        assert_eq!(bench.journal.of("3"), ["received", "planned", "finished"]);
    });
}

#[test]
fn the_calls_timeout_comes_before_the_tools_before_the_categorys() {
    paused(async {
        let slow = || Scripted::new("slow").does(Act::Sleep);
        let seconds = Duration::from_secs;
        for (tool, expected) in [
            (
                slow()
                    .call_timeout(seconds(3))
                    .spec(|spec| spec.timeout = Some(seconds(4))),
                "3 s",
            ),
            (slow().spec(|spec| spec.timeout = Some(seconds(4))), "4 s"),
            (slow().spec(|spec| spec.category = Category::File), "31 s"),
            (slow().spec(|spec| spec.category = Category::Exec), "32 s"),
            (slow().spec(|spec| spec.category = Category::Web), "33 s"),
            (slow().call_timeout(Duration::from_millis(1500)), "1500 ms"),
        ] {
            let bench = Rig::new().tool(tool).settings(|settings| {
                settings.timeouts.file = seconds(31);
                settings.timeouts.exec = seconds(32);
                settings.timeouts.default = seconds(33);
            });
            let result = bench.build().one("slow", json!({})).await;
            assert!(
                result.content.contains(&format!("after {expected};")),
                "{expected}: {}",
                result.content
            );
        }
    });
}

#[test]
fn a_timeout_that_no_clock_can_show_is_just_far_away() {
    paused(async {
        let tool = Scripted::new("forever")
            .does(Act::Take(Duration::from_secs(100)))
            .call_timeout(Duration::MAX);
        assert_eq!(
            with(tool).one("forever", json!({})).await.status(),
            Status::Ok
        );
    });
}

#[test]
fn what_a_tool_had_when_it_was_stopped_is_kept() {
    paused(async {
        let so_far = Output::plain("half of it").with("lines", 3);
        let result = with(Scripted::new("slow").does(Act::StopWith(so_far)))
            .one("slow", json!({}))
            .await;
        assert_eq!(
            result.kind(),
            Some(ErrorKind::Timeout),
            "the line says how it ended"
        );
        assert_eq!(
            (result.content.as_str(), &result.metadata["lines"]),
            ("half of it", &json!(3))
        );
        let nothing = Output::default().with("lines", 0);
        let result = with(Scripted::new("slow").does(Act::StopWith(nothing)))
            .one("slow", json!({}))
            .await;
        assert!(
            result.content.starts_with("ran out of time"),
            "{}",
            result.content
        );
        assert_eq!(result.metadata["lines"], 0);
    });
}

#[test]
fn what_a_tool_says_when_it_is_stopped_is_told_after_the_reason() {
    paused(async {
        for (error, said) in [
            (
                ToolError::failed("half of a.txt is written"),
                "; the tool said: half of",
            ),
            (ToolError::failed("ä".repeat(5_000)), "; the tool said: ää"),
            (ToolError::new(ErrorKind::Cancelled, "told to stop"), ""),
        ] {
            let tool = typed("stops", "Stops.", move |_: Nothing, cx: RunCtx| {
                let error = error.clone();
                async move {
                    cx.cancel().cancelled().await;
                    Err::<Output, _>(error)
                }
            })
            .timeout(Duration::from_secs(1));
            let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
            let result = bench.one("stops", json!({})).await;
            assert_eq!(result.kind(), Some(ErrorKind::Timeout));
            let (told, own) = result
                .content
                .split_once("; the tool")
                .unwrap_or((&result.content, ""));
            assert!(told.starts_with("ran out of time after 1 s"), "{told}");
            assert_eq!(own.is_empty(), said.is_empty(), "{own}");
            assert!(result.content.contains(said) && result.content.len() < 1_200);
        }
    });
}

#[test]
fn ending_a_conversation_ends_its_calls() {
    paused(async {
        let bench = with(Scripted::new("slow").does(Act::Sleep));
        let passage = BatchContext::default();
        let line = bench.run_through(vec![call("1", "slow", json!({}))], &passage);
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            bench.session.cancel().cancel();
        };
        let (results, ()) = futures::join!(line, stop);
        assert_eq!(results[0].kind(), Some(ErrorKind::Cancelled));
    });
}

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
fn whoever_listens_is_not_kept_waiting_for_a_tool_that_was_given_up_on() {
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
            assert!(matches!(events.last(), Some(Event::CallFinished { .. })));
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
fn what_a_given_up_tool_still_says_goes_nowhere() {
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
fn whoever_goes_away_ends_the_tool_and_tells_it() {
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
        while !matches!(handle.next_event().await, Some(Event::CallStarted { .. })) {}
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
fn a_handle_whose_events_nobody_takes_still_has_a_result() {
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

fn text(events: &[Event], wanted: Stream) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        Event::OutputChunk { stream, text, .. } if *stream == wanted => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

fn numbered(count: usize) -> (Vec<(Stream, Vec<u8>)>, String) {
    let lines: Vec<String> = (0..count)
        .map(|n| format!("line {n} {}\n", "ab ".repeat(n % 700)))
        .collect();
    let whole = lines.concat();
    (
        lines
            .into_iter()
            .map(|line| (Stream::Stdout, line.into_bytes()))
            .collect(),
        whole,
    )
}

#[test]
fn started_comes_before_chunks_before_finished_and_a_slow_reader_loses_nothing() {
    paused(async {
        let (pieces, whole) = numbered(200);
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let (events, mut arriving) = EventSink::channel(1);
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let line = async {
            let results = bench
                .run_through(vec![call("1", "chatty", json!({}))], &passage)
                .await;
            drop(passage);
            results
        };
        let reader = async {
            let mut all = Vec::new();
            while let Some(event) = arriving.recv().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
                all.push(event);
            }
            all
        };
        let (results, events) = futures::join!(line, reader);
        assert_eq!(results[0].status(), Status::Ok);
        let mut order = kinds(&events);
        order.dedup();
        assert_eq!(
            order,
            [
                "call_received 1",
                "call_planned 1",
                "call_started 1",
                "output_chunk 1",
                "call_finished 1"
            ]
        );
        assert_eq!(text(&events, Stream::Stdout), whole);
    });
}

#[test]
fn a_piece_that_was_on_its_way_when_the_tool_was_stopped_still_arrives() {
    paused(async {
        let piece = |c: char| {
            (
                Stream::Stderr,
                format!("{}\n", c.to_string().repeat(5))
                    .repeat(2_000)
                    .into_bytes(),
            )
        };
        let tool = Scripted::new("chatty").does(Act::ShowAndSleep(vec![
            piece('a'),
            piece('b'),
            piece('c'),
        ]));
        let bench = with(tool.call_timeout(Duration::from_secs(5)));
        let (events, mut arriving) = EventSink::channel(1);
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let line = async {
            bench
                .run_through(vec![call("1", "chatty", json!({}))], &passage)
                .await;
            drop(passage);
        };
        let reader = async {
            let mut all = Vec::new();
            for _ in 0..3 {
                all.push(arriving.recv().await.unwrap());
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
            while let Some(event) = arriving.recv().await {
                all.push(event);
            }
            all
        };
        let ((), events) = futures::join!(line, reader);
        let said = text(&events, Stream::Stderr);
        assert_eq!(
            (
                said.matches("aaaaa\n").count(),
                said.matches("bbbbb\n").count()
            ),
            (2_000, 2_000)
        );
        assert_eq!(said.matches('c').count(), 0, "the third was never begun");
    });
}

#[test]
fn a_listener_that_hung_up_does_not_hold_the_line() {
    paused(async {
        let (pieces, _) = numbered(50);
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let (events, arriving) = EventSink::channel(1);
        drop(arriving);
        assert!(!events.is_open() && !EventSink::none().is_open());
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let results = bench
            .run_through(vec![call("1", "chatty", json!({}))], &passage)
            .await;
        assert_eq!(results[0].status(), Status::Ok);
    });
}

/// A passage whose listener has taken what came before the start of a call, and no more.
fn unread(room: usize) -> (BatchContext, tokio::sync::mpsc::Receiver<Event>) {
    let (events, arriving) = EventSink::channel(room);
    let passage = BatchContext {
        events,
        ..BatchContext::default()
    };
    (passage, arriving)
}

#[test]
fn what_happened_is_on_record_although_nobody_reads_and_cancelling_ends_the_wait() {
    paused(async {
        let speaks = |name: &str| {
            let piece = (Stream::Stdout, b"some words".to_vec());
            Scripted::new(name).does(Act::Show(vec![piece; 3]))
        };
        let bench = with(speaks("act").call_timeout(Duration::from_secs(5)));
        let (passage, mut arriving) = unread(5);
        let calls = vec![call("1", "act", json!({})), call("2", "act", json!({}))];
        let line = bench.run_through(calls, &passage);
        let mut line = std::pin::pin!(line);
        let waited = tokio::time::timeout(Duration::from_secs(60), &mut line).await;
        assert!(waited.is_err(), "it waits for its listener");
        let done = ["received", "planned", "started", "finished"];
        assert_eq!(bench.journal.of("1"), done);
        passage.cancel.cancel();
        let began = tokio::time::Instant::now();
        let results = line.await;
        assert!(began.elapsed() < Duration::from_secs(1));
        assert_eq!(results[0].kind(), Some(ErrorKind::Timeout));
        assert_eq!(results[1].kind(), Some(ErrorKind::Cancelled));
        let mut seen = Vec::new();
        while let Ok(event) = arriving.try_recv() {
            seen.push(event);
        }
        assert_eq!(kinds(&seen).last().unwrap(), "call_started 1");
    });
}

#[test]
fn a_listener_that_reads_slowly_is_told_how_every_cancelled_call_ended() {
    paused(async {
        let bench = with(Scripted::new("act").does(Act::Sleep));
        let (passage, mut arriving) = unread(1);
        let calls: Vec<_> = ["1", "2", "3"].map(|id| call(id, "act", json!({}))).into();
        let cancel = passage.cancel.clone();
        let line = async {
            let results = bench.run_through(calls, &passage).await;
            drop(passage);
            results
        };
        let reader = async {
            let mut all = Vec::new();
            while let Some(event) = arriving.recv().await {
                if matches!(event, Event::CallStarted { .. }) {
                    cancel.cancel();
                }
                tokio::time::sleep(Duration::from_millis(150)).await;
                all.push(event);
            }
            all
        };
        let (results, events) = futures::join!(line, reader);
        assert_eq!(results.len(), 3);
        let ends = kinds(&events).split_off(7);
        assert_eq!(
            ends,
            ["call_finished 1", "call_finished 2", "call_finished 3"]
        );
    });
}

#[test]
fn both_outputs_keep_their_own_text() {
    paused(async {
        let pieces = vec![
            (Stream::Stdout, b"out\x1b[3".to_vec()),
            (Stream::Stderr, b"err \xe2\x82".to_vec()),
            (Stream::Stdout, b"1mred".to_vec()),
            (Stream::Stderr, b"\xac".to_vec()),
        ];
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let collected = Collected::listen(8);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        bench
            .run_through(vec![call("1", "chatty", json!({}))], &passage)
            .await;
        drop(passage);
        let events = collected.all().await;
        assert_eq!(
            text(&events, Stream::Stdout),
            "outred",
            "a sequence cut across chunks"
        );
        assert_eq!(
            text(&events, Stream::Stderr),
            "err €",
            "a character cut across chunks"
        );
    });
}

#[test]
fn a_running_tool_reaches_what_it_needs() {
    paused(async {
        let tool = typed(
            "looks",
            "Looks around.",
            |_: Nothing, cx: toolgate_gate::tool::RunCtx| async move {
                let limits = cx.limits();
                assert_eq!(
                    limits.effective(),
                    limits.max_bytes.min(limits.available_capacity)
                );
                assert!(
                    cx.redactor()
                        .holds_secret("ghp_0123456789abcdefghijABCDEFGHIJ012345")
                );
                assert!(cx.sandbox().open_read("missing").is_err());
                assert!(cx.entropy().bits().is_some());
                Ok(Output::plain(format!(
                    "{} {} {cx:?}",
                    cx.call_id(),
                    cx.clock().now_ms()
                )))
            },
        );
        let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
        let content = bench.one("looks", json!({})).await.content;
        assert!(content.starts_with("one 1700000000000 RunCtx"), "{content}");
    });
}

fn outcome() -> impl Strategy<Value = (Act, Option<ErrorKind>)> {
    let kind = prop::sample::select(ErrorKind::ALL.to_vec());
    prop_oneof![
        any::<String>().prop_map(|text| (Act::Give(Output::plain(text)), None)),
        any::<String>().prop_map(|text| (Act::Give(Output::exact(text).display("short")), None)),
        (kind.clone(), any::<String>())
            .prop_map(|(kind, text)| (Act::Fail(ToolError::new(kind, text)), Some(kind))),
        (kind, any::<String>(), any::<String>()).prop_map(|(kind, content, message)| {
            let output = Output {
                error: Some(ToolError::new(kind, message)),
                ..Output::plain(content)
            };
            (Act::Give(output), Some(kind))
        }),
        Just((Act::Sleep, Some(ErrorKind::Timeout))),
    ]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_48_tool_invocation_abort_signal_respect(after_ms in 0_u64..5_000, polite in any::<bool>()) {
        paused(async {
            let act = if polite { Act::StopWith(Output::plain("so far")) } else { Act::Sleep };
            let bench = with(Scripted::new("slow").does(act));
            let passage = BatchContext::default();
            let line = bench.run_through(vec![call("1", "slow", json!({}))], &passage);
            let stop = async {
                tokio::time::sleep(Duration::from_millis(after_ms)).await;
                passage.cancel.cancel();
            };
            let began = tokio::time::Instant::now();
            let (results, ()) = futures::join!(line, stop);
            assert_eq!(results[0].kind(), Some(ErrorKind::Cancelled));
            let late = began.elapsed() - Duration::from_millis(after_ms);
            assert!(late < Duration::from_secs(1), "{late:?}");
            assert_eq!(bench.gate.still_running(), 0);
        });
    }

    #[test]
    fn property_49_tool_result_format((act, kind) in outcome()) {
        paused(async {
            let result = with(Scripted::new("subject").does(act)).one("subject", json!({})).await;
            let json = serde_json::to_value(&result).unwrap();
            for field in ["content", "display", "tool", "call_id", "status"] {
                assert!(json[field].is_string(), "{field} of {json}");
            }
            assert!(json["truncated"].is_boolean() && json["duration_ms"].is_u64() && json["metadata"].is_object());
            assert_eq!(result.kind(), kind);
            assert!(result.display.len() <= 102_400 && result.content.len() <= 65_536);
            assert_eq!(serde_json::from_value::<toolgate_model::ToolResult>(json).unwrap(), result);
        });
    }

    #[test]
    fn property_57_error_result_format((act, kind) in outcome()) {
        paused(async {
            let result = with(Scripted::new("subject").does(act)).one("subject", json!({})).await;
            let json = serde_json::to_value(&result).unwrap();
            let Some(kind) = kind else {
                assert!(json.get("error").is_none() && json["status"] == "ok");
                return;
            };
            assert_eq!(json["error"]["kind"], kind.as_str());
            assert!(json["error"]["message"].is_string() && json["error"]["retryable"].is_boolean());
            assert_eq!(json["status"], serde_json::to_value(kind.status()).unwrap());
            assert_ne!(json["status"], "ok");
            assert!(!result.content.is_empty(), "the model is told something");
        });
    }
}

#[test]
fn what_a_tool_leaves_behind_does_not_keep_its_paths_locked() {
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

/// The least that is a tool.
struct Least(ToolSpec);

impl Tool for Least {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(Understood(Facts::none())))
    }
}

struct Understood(Facts);

impl Invocation for Understood {
    fn summary(&self) -> String {
        "does the least".into()
    }

    fn facts(&self) -> &Facts {
        &self.0
    }

    fn run(self: Box<Self>, _: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async { Ok(Output::plain("least")) })
    }
}

#[test]
fn a_tool_has_to_say_little_about_itself() {
    paused(async {
        let mut spec = ToolSpec::new("least", "Does the least.", json!({"type": "object"}));
        spec.requires_approval = true;
        let bench = Rig::new()
            .tool(Arc::new(Least(spec)) as Arc<dyn Tool>)
            .build();
        let calls = vec![call("1", "least", json!({}))];
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].content, "least");
        let asked = approver.asked();
        assert_eq!(asked.len(), 1, "it said that a person is to be asked");
        assert_eq!(asked[0].items[0].summary, "does the least");
    });
}

/// Counts how often its arguments are read and says which call it runs in.
struct Counting(ToolSpec, Arc<std::sync::atomic::AtomicUsize>);

impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let word = args["word"].as_str().unwrap().to_owned();
        Ok(Box::new(Counted(Facts::none(), word)))
    }
}

struct Counted(Facts, String);

impl Invocation for Counted {
    fn summary(&self) -> String {
        self.1.clone()
    }

    fn facts(&self) -> &Facts {
        &self.0
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        let said = format!("{} {}", cx.call_id(), self.1);
        Box::pin(async { Ok(Output::plain(said)) })
    }
}

#[test]
fn fr_reg_02_arguments_are_read_once_and_each_call_runs_in_a_context_of_its_own() {
    paused(async {
        for asked in [false, true] {
            let parsed = Arc::default();
            let schema = json!({"type": "object", "required": ["word"],
                "properties": {"word": {"type": "string"}}});
            let mut spec = ToolSpec::new("say", "Says a word.", schema);
            spec.requires_approval = asked;
            let tool = Counting(spec, Arc::clone(&parsed));
            let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
            let calls =
                ["a", "b", "c"].map(|id| call(id, "say", json!({"word": format!("{id}!")})));
            let results = bench.run_asked(calls.to_vec(), Answer::yes()).await;
            let said: Vec<&str> = results.iter().map(|one| one.content.as_str()).collect();
            assert_eq!(said, ["a a!", "b b!", "c c!"]);
            let parsed = parsed.load(std::sync::atomic::Ordering::SeqCst);
            assert_eq!(parsed, 3, "once for each call, asked: {asked}");
        }
    });
}

/// What the fullest typed tool takes.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Full {
    path: String,
    #[serde(default)]
    seconds: Option<u64>,
}

#[test]
fn a_typed_tool_can_say_everything() {
    paused(async {
        let full = typed("full", "Says everything.", |args: Full, cx| async move {
            cx.cancel().cancelled().await;
            Err(ToolError::failed(format!("gave up on {}", args.path)))
        })
        .check(|args| match args.path.as_str() {
            "" => Err(ToolError::bad_args("path is empty")),
            _ => Ok(()),
        })
        .summary(|args| format!("Change {}", args.path))
        .facts(|args| Facts::writing(args.path.as_str()))
        .preview(|args, view| {
            assert_eq!(
                (view.session().id().as_str(), format!("{view:?}")),
                ("test", "View".into())
            );
            let seen = view.read(&args.path, 100)?;
            Ok(Preview {
                text: Some(format!(
                    "{} bytes",
                    seen.content.map_or(0, |content| content.len())
                )),
                rests_on: vec![seen.digest],
                ..Preview::default()
            })
        })
        .call_timeout(|args| args.seconds.map(Duration::from_secs))
        .timeout(Duration::from_secs(9))
        .side_effects()
        .risk(Risk::High)
        .category(Category::File)
        .spellings([Spelling::same("file", "path")])
        .unadvertised()
        .repeatable();
        assert!(full.spec().repeatable && !full.spec().advertised);
        let workspace = toolgate_testkit::Workspace::new().file("a.txt", "four");
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Arc::new(full) as Arc<dyn Tool>)
            .build();
        let empty = bench.one("full", json!({"file": ""})).await;
        assert_eq!(empty.content, "full failed: path is empty");
        for (args, limit) in [
            (json!({"file": "a.txt"}), "9 s"),
            (json!({"path": "a.txt", "seconds": 2}), "2 s"),
        ] {
            let approver = ScriptedApprover::new([Answer::yes()]);
            let results = bench
                .run_through(vec![call("1", "full", args)], &asking(approver.clone()))
                .await;
            assert!(results[0].content.contains(limit), "{}", results[0].content);
            let item = approver.asked()[0].items[0].clone();
            assert_eq!(
                (item.summary.as_str(), item.preview.as_deref(), item.risk),
                ("Change a.txt", Some("4 bytes"), Risk::High)
            );
        }
    });
}

#[test]
fn parts_of_the_line_can_be_printed() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("noop"))
            .tool(Scripted::new("ask").side_effects())
            .build();
        let calls = ["noop", "ask", "nobody"].map(|name| call(name, name, json!({})));
        let planned = bench.gate.plan(&bench.session, calls.to_vec()).await;
        let printed: Vec<String> = planned.plans().map(|plan| format!("{plan:?}")).collect();
        for (printed, start) in printed.iter().zip(["Go(", "Ask(", "Settled("]) {
            assert!(printed.starts_with(start), "{printed}");
        }
        let ready = bench
            .gate
            .approve(&bench.session, planned, &BatchContext::default())
            .await;
        assert!(format!("{ready:?}").contains("Authorized(PlanRecord"));
        assert_eq!(
            bench
                .gate
                .execute(&bench.session, ready, &BatchContext::default())
                .await
                .len(),
            3
        );
        assert!(format!("{:?}", bench.session).starts_with("Session"));
        assert_eq!(bench.session.staleness(), Staleness::Checked);
        assert_eq!(
            Session::new("x").without_staleness().staleness(),
            Staleness::NotChecked
        );
    });
}
