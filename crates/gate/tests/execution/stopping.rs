//! Timeouts and cancellation.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::tool::{Output, RunCtx, Tool, typed};
use toolgate_model::{Category, ErrorKind, Event, EventKind, Status, ToolError};
use toolgate_testkit::{Act, Rig, Scripted, call, paused};

use crate::fixture::{Nothing, with};

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
fn a_call_is_stopped_alone_and_the_batch_goes_on() {
    paused(async {
        let tool = Scripted::new("slow").does(Act::Sleep);
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).tool(Scripted::new("next")).build();
        let stop = async {
            while ran.get() == 0 {
                tokio::task::yield_now().await;
            }
            assert!(!bench.session.stop_call(&"2".into()), "it has not begun");
            assert!(bench.session.stop_call(&"1".into()));
        };
        let calls = vec![call("1", "slow", json!({})), call("2", "next", json!({}))];
        let (results, ()) = tokio::join!(bench.run(calls), stop);
        assert_eq!(results[0].kind(), Some(ErrorKind::Cancelled));
        assert_eq!(results[1].kind(), None);
        assert!(!bench.session.stop_call(&"1".into()), "it is over");
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
            Event {
                kind: EventKind::CallStarted { .. },
                ..
            }
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
fn the_output_of_a_stopped_tool_is_in_its_result() {
    paused(async {
        let so_far = Output::plain("half of it").with("lines", 3);
        let result = with(Scripted::new("slow").does(Act::StopWith(so_far)))
            .one("slow", json!({}))
            .await;
        assert_eq!(
            result.kind(),
            Some(ErrorKind::Timeout),
            "the pipeline says how it ended"
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
fn the_last_message_of_a_stopped_tool_follows_the_reason() {
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
