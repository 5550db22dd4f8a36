//! Subscribers see every journalled event once, in order, whenever they begin, and never hold a
//! conversation up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::events::{Followed, Subscription};
use toolgate_gate::journal::{Journal, MemoryJournal, ReadJournal, Record};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Rules};
use toolgate_model::{CallId, ErrorKind, Event, EventKind, Stream, ToolError};
use toolgate_testkit::{Act, Scripted, Workspace, call};

/// Tools: one that shows output, one that fails, one that needs approval.
const TOOLS: [&str; 4] = ["show", "fail", "write", "missing"];

fn gate(journal: &MemoryJournal) -> (Gate, Workspace) {
    let registry = Arc::new(Registry::new());
    let pieces = ["one ", "two ", "three"].map(|text| (Stream::Stdout, text.into()));
    let failed = ToolError::new(ErrorKind::Failed, "no luck");
    for tool in [
        Scripted::new("show").does(Act::Show(pieces.to_vec())),
        Scripted::new("fail").does(Act::Fail(failed)),
        Scripted::new("write").side_effects(),
    ] {
        registry.register(Arc::new(tool)).unwrap();
    }
    let workspace = Workspace::new();
    let recorded: Arc<dyn Journal> = Arc::new(journal.clone());
    let sandbox = workspace.sandbox().clone();
    let gate = Gate::builder(registry, Rules::default(), sandbox, recorded);
    (gate.build().unwrap(), workspace)
}

/// Everything up to the end of the conversation, and how many events were dropped.
async fn all(mut following: Subscription) -> (Vec<Event>, u64) {
    let (mut all, mut dropped) = (Vec::new(), 0);
    while let Some(next) = following.next().await.unwrap() {
        match next {
            Followed::Event(event) => all.push(*event),
            Followed::Lagged(missed) => dropped += missed,
        }
    }
    (all, dropped)
}

fn numbered(events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    events.retain(|event| event.seq.is_some());
    events
}

/// Checks that pieces of output follow each other without a gap or a repetition.
fn check_pieces(events: &[Event]) {
    let mut shown: HashMap<CallId, u64> = HashMap::new();
    for event in events {
        match &event.kind {
            EventKind::CallStarted { call_id, .. } => drop(shown.insert(call_id.clone(), 0)),
            EventKind::OutputChunk {
                call_id,
                offset,
                text,
                ..
            } => {
                let at = shown.get_mut(call_id).expect("output after its start");
                assert_eq!(offset, at, "{event:?}");
                *at += text.len() as u64;
            }
            EventKind::CallFinished { result } => drop(shown.remove(&result.call_id)),
            _ => {}
        }
    }
}

#[derive(Clone, Debug)]
struct Talk {
    batches: Vec<Vec<usize>>,
    /// Before which batch a subscriber comes, and after which entry it wants to begin.
    joins: Vec<(usize, u64)>,
}

fn talks() -> impl Strategy<Value = Talk> {
    let batch = prop::collection::vec(0..TOOLS.len(), 1..4);
    let batches = prop::collection::vec(batch, 1..5);
    let joins = prop::collection::vec((0_usize..5, 0_u64..30), 0..4);
    (batches, joins).prop_map(|(batches, joins)| Talk { batches, joins })
}

async fn hold(talk: &Talk) {
    let journal = MemoryJournal::new();
    let reader: Arc<dyn ReadJournal> = Arc::new(journal.clone());
    let (gate, _workspace) = gate(&journal);
    let session = Arc::new(Session::new("talk"));
    let follow = |after| tokio::spawn(all(gate.follow(Arc::clone(&reader), &session, after)));
    let mut followers = vec![(0, follow(0))];
    let mut number = 0;
    for (at, batch) in talk.batches.iter().enumerate() {
        let joining = talk.joins.iter().filter(|(before, _)| *before == at);
        followers.extend(joining.map(|(_, after)| (*after, follow(*after))));
        let calls = batch.iter().map(|tool| {
            number += 1;
            call(&format!("{number}"), TOOLS[*tool], json!({}))
        });
        let context = BatchContext::asking(ApproveAll);
        gate.run(&session, calls.collect(), &context).await;
        // An entry without an event of its own may stand in between.
        let text = "between".to_owned();
        gate.note(&session, 1, "".into(), Record::UserMessage { text });
        assert!(
            gate.keep(&session, &BatchContext::default().events)
                .await
                .is_none()
        );
    }
    gate.end(&session).await.unwrap();
    drop(session);
    let whole = gate.replay(Arc::clone(&reader), &"talk".into(), 0).await;
    let whole = whole.unwrap();
    let numbers: Vec<u64> = whole.iter().filter_map(|event| event.seq).collect();
    assert_eq!(numbers.len(), whole.len());
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    for (after, follower) in followers {
        let (seen, dropped) = follower.await.unwrap();
        assert_eq!(dropped, 0);
        let mut expected = whole.clone();
        expected.retain(|event| event.seq > Some(after));
        assert_eq!(numbered(&seen), expected, "after {after}");
        let rest = gate
            .replay(Arc::clone(&reader), &"talk".into(), after)
            .await;
        assert_eq!(rest.unwrap(), expected, "replay after {after}");
        if after == 0 {
            check_pieces(&seen);
        }
    }
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn every_subscriber_sees_the_journalled_events_once_and_in_order(talk in talks()) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(hold(&talk));
    }
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_stops_nothing_and_catches_up() {
    let journal = MemoryJournal::new();
    let reader: Arc<dyn ReadJournal> = Arc::new(journal.clone());
    let (gate, _workspace) = gate(&journal);
    let session = Arc::new(Session::new("talk"));
    let idle = gate.follow(Arc::clone(&reader), &session, 0);
    for round in 0..400 {
        let calls = vec![call(&format!("{round}"), "show", json!({}))];
        let context = BatchContext::default();
        assert_eq!(gate.run(&session, calls, &context).await.len(), 1);
    }
    gate.end(&session).await.unwrap();
    drop(session);
    let (seen, dropped) = all(idle).await;
    assert!(dropped > 0, "it lagged");
    let whole = gate.replay(reader, &"talk".into(), 0).await.unwrap();
    assert_eq!(numbered(&seen), whole);
}
