//! A batch that a person answers: checked like any other, on record, and never run.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::json;
use toolgate_gate::plan::Mode;
use toolgate_gate::tool::{Described, ToolSpec};
use toolgate_gate::{BatchContext, ByHand};
use toolgate_model::json::JsonLimits;
use toolgate_model::{Action, Call, ErrorKind, Event, EventKind, PlanRecord, ToolResult};
use toolgate_testkit::{Act, Bench, Collected, FaultyJournal, Rig, Scripted, call, paused};

fn rig(mode: Mode) -> Rig {
    Rig::new()
        .settings(|settings| {
            settings.mode = mode;
            settings.limits.max_calls = 4;
        })
        .tool(Scripted::new("look").does(Act::Echo).side_effects())
}

fn calls() -> Vec<Call> {
    vec![
        call("fits", "look", json!({"text": "x"})),
        Call::from_wire("cut", "look", b"{", JsonLimits::default()),
        call("wrong", "look", json!({"text": 1})),
        call("fits", "look", json!({"text": "again"})),
        call("many", "look", json!({"text": "y"})),
    ]
}

async fn hand_over(bench: &Bench, calls: Vec<Call>) -> (ByHand, Vec<Event>) {
    let collected = Collected::listen(64);
    let passage = BatchContext {
        events: collected.sink(),
        ..BatchContext::default()
    };
    let by_hand = bench.gate.hand_over(&bench.session, calls, &passage).await;
    drop(passage);
    (by_hand, collected.all().await)
}

fn kinds(results: &[ToolResult]) -> Vec<(&str, Option<ErrorKind>)> {
    let of = |result: &ToolResult| result.kind();
    results
        .iter()
        .map(|result| (result.call_id.as_str(), of(result)))
        .collect()
}

#[test]
fn every_call_is_wanted_or_has_its_result() {
    paused(async {
        // Whoever hands a batch over has it checked and not run, whatever the gate is for.
        for mode in [Mode::ParseOnly, Mode::Enabled] {
            let bench = rig(mode).build();
            let (by_hand, events) = hand_over(&bench, calls()).await;
            let wanted: Vec<&str> = by_hand.wanted.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(wanted, ["fits"]);
            assert_eq!(
                kinds(&by_hand.refused),
                [
                    ("cut", Some(ErrorKind::BadCall)),
                    ("wrong", Some(ErrorKind::BadArgs)),
                    ("fits", Some(ErrorKind::DuplicateCallId)),
                    ("many", Some(ErrorKind::LimitExceeded)),
                ]
            );
            // The one who answers is shown the call as a question that no rule decides.
            let shown: Vec<&PlanRecord> = events
                .iter()
                .filter_map(|event| match event {
                    Event {
                        kind: EventKind::CallPlanned { plan },
                        ..
                    } => Some(&**plan),
                    _ => None,
                })
                .collect();
            assert_eq!(shown.len(), 1);
            assert_eq!(shown[0].call, by_hand.wanted[0]);
            assert_eq!(shown[0].decision.action, Action::Ask);
            assert_eq!(shown[0].decision.kind, None);
            assert_eq!(shown[0].decision.rule, "tools.mode");
            assert!(
                shown[0].summary.contains("{\"text\":\"x\"}"),
                "{}",
                shown[0].summary
            );
            assert!(!shown[0].facts.complete);
            let finished = |event: &&Event| {
                matches!(
                    event,
                    Event {
                        kind: EventKind::CallFinished { .. },
                        ..
                    }
                )
            };
            assert_eq!(events.iter().filter(finished).count(), 4);
            // One commit holds what came and what was refused; nothing was started.
            assert_eq!(bench.journal.commits().len(), 1);
            assert_eq!(bench.journal.of("cut"), ["received_bad", "finished"]);
            assert_eq!(bench.journal.of("wrong"), ["received", "finished"]);
            assert_eq!(bench.journal.of("many"), ["received", "finished"]);
        }
    });
}

#[test]
fn no_results_are_requested_where_tools_are_off() {
    paused(async {
        let bench = rig(Mode::Disabled).build();
        let (by_hand, _) = hand_over(&bench, calls()).await;
        assert_eq!(by_hand.wanted, []);
        let disabled = |result: &ToolResult| result.kind() == Some(ErrorKind::Disabled);
        assert_eq!(by_hand.refused.len(), 5);
        assert!(by_hand.refused.iter().all(disabled));
    });
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_asked_about() {
    paused(async {
        let journal = FaultyJournal::failing_from(0);
        let bench = rig(Mode::ParseOnly).journal(journal).build();
        let (by_hand, _) = hand_over(&bench, calls()).await;
        assert_eq!(by_hand.wanted, []);
        assert_eq!(by_hand.refused.len(), 5);
        let unkept = by_hand.refused.last().unwrap();
        assert_eq!(
            (unkept.call_id.as_str(), unkept.kind()),
            ("fits", Some(ErrorKind::Journal))
        );
    });
}

#[test]
fn a_tool_of_which_only_the_definition_is_known_is_checked_and_does_not_run() {
    paused(async {
        let schema = json!({"type": "object", "required": ["town"]});
        let tool = || Described::new(ToolSpec::new("weather", "The weather.", schema.clone()));
        let described = |mode| {
            let tool: std::sync::Arc<dyn toolgate_gate::tool::Tool> = std::sync::Arc::new(tool());
            rig(mode).tool(tool).build()
        };
        let asked = || {
            vec![
                call("a", "weather", json!({"town": "Porto"})),
                call("b", "weather", json!({})),
            ]
        };
        let (by_hand, _) = hand_over(&described(Mode::ParseOnly), asked()).await;
        assert_eq!(by_hand.wanted.len(), 1);
        assert_eq!(kinds(&by_hand.refused), [("b", Some(ErrorKind::BadArgs))]);
        let results = described(Mode::Enabled).run(asked()).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Disabled));
    });
}
