//! Every way a tool ends becomes one result.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::approve::Answer;
use toolgate_gate::tool::{Output, Tool, typed};
use toolgate_model::{ErrorKind, Status, ToolError};
use toolgate_testkit::{
    Act, Collected, Rig, Scripted, ScriptedApprover, Step, asking, call, kinds, paused,
};

use crate::fixture::{Nothing, with};

#[test]
fn a_call_without_a_question_is_planned_and_runs() {
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
