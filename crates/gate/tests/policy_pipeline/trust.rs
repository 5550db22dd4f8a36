//! Levels of trust.

use std::sync::Arc;

use serde_json::json;
use toolgate_model::{Event, EventKind, Facts, Run, Status};
use toolgate_policy::Trust;
use toolgate_testkit::{
    Act, Bench, Collected, Rig, Scripted, ScriptedApprover, asking, call, kinds, paused,
};

fn trusted(trust: Trust) -> Bench {
    Rig::new()
        .tool(Scripted::new("file_read"))
        .tool(Scripted::new("bash").side_effects().facts(Facts {
            runs: vec![Run {
                words: vec!["make".into()],
                opaque: false,
            }],
            claimed: true,
            ..Facts::none()
        }))
        .tool(Scripted::new("fails").does(Act::Fail(toolgate_model::ToolError::failed("broken"))))
        .rules(|rules| rules.settings.trust = trust)
        .settings(|settings| settings.command_sandbox = true)
        .build()
}

async fn told(
    bench: &Bench,
    name: &str,
    approver: Option<ScriptedApprover>,
) -> (Vec<String>, Vec<Event>) {
    let collected = Collected::listen(64);
    let mut passage = toolgate_gate::BatchContext {
        events: collected.sink(),
        ..Default::default()
    };
    if let Some(approver) = approver {
        passage.approver = Some(Arc::new(approver));
    }
    bench
        .run_through(vec![call("1", name, json!({}))], &passage)
        .await;
    drop(passage);
    let events = collected.all().await;
    (kinds(&events), events)
}

#[test]
fn ac_21_guided_trust_runs_a_safe_tool_without_confirmation() {
    paused(async {
        let (kinds, _) = told(&trusted(Trust::Guided), "file_read", None).await;
        assert_eq!(
            kinds,
            [
                "call_received 1",
                "call_planned 1",
                "call_started 1",
                "call_finished 1"
            ]
        );
    });
}

#[test]
fn ac_22_guided_trust_asks_before_a_dangerous_tool_and_waits() {
    paused(async {
        let bench = trusted(Trust::Guided);
        let (bus, mut requests) = toolgate_gate::approve::Bus::new();
        let passage = asking(bus.clone());
        let session = Arc::clone(&bench.session);
        let gate = bench.gate.clone();
        let line = tokio::spawn(async move {
            gate.run(&session, vec![call("1", "bash", json!({}))], &passage)
                .await
        });
        let request = requests.next().await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(50)).await;
        assert!(!line.is_finished(), "it waits");
        assert_eq!(bus.waiting(), 1);
        bus.answer(
            bench.session.id(),
            request.id,
            toolgate_gate::approve::Answer::yes(),
        )
        .unwrap();
        assert_eq!(line.await.unwrap()[0].kind(), None);

        let approver = ScriptedApprover::new([toolgate_gate::approve::Answer::yes()]);
        let (kinds, _) = told(&bench, "bash", Some(approver)).await;
        assert_eq!(
            kinds,
            [
                "call_received 1",
                "call_planned 1",
                "approval_requested",
                "approval_answered",
                "call_started 1",
                "call_finished 1"
            ]
        );
    });
}

#[test]
fn ac_23_autonomous_trust_asks_for_no_tool() {
    paused(async {
        let bench = trusted(Trust::Autonomous);
        for name in ["file_read", "bash"] {
            let (kinds, _) = told(&bench, name, None).await;
            assert!(
                !kinds.contains(&"approval_requested".to_owned()),
                "{name}: {kinds:?}"
            );
            assert_eq!(kinds.last().unwrap(), "call_finished 1");
        }
    });
}

#[test]
fn ac_24_a_failing_tool_is_a_result_with_status_error_and_the_pipeline_goes_on() {
    paused(async {
        let bench = trusted(Trust::Guided);
        let (_, events) = told(&bench, "fails", None).await;
        let Some(Event {
            kind: EventKind::CallFinished { result },
            ..
        }) = events.last()
        else {
            panic!("{events:?}")
        };
        assert_eq!(result.status(), Status::Error);
        assert_eq!(result.content, "fails failed: broken");
        let after = bench.one("file_read", json!({})).await;
        assert_eq!(after.status(), Status::Ok);
    });
}
