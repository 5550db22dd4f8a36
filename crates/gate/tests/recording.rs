//! Entries of a conversation that wait for its journal: with what they get on record, and what
//! becomes of them when the journal refuses, loses an answer, or is another's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::Gate;
use toolgate_gate::events::EventSink;
use toolgate_gate::journal::{
    ConversationFilter, Entry, Journal, JournalErrorKind, LeaseJournal, ReadJournal, Record,
};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_journal::MemoryJournal;
use toolgate_model::ErrorKind;
use toolgate_testkit::{Bench, Fault, FaultyJournal, Rig, Scripted, Workspace, call, paused};

static LISTENER: EventSink = EventSink::none();

fn said(text: &str) -> Record {
    Record::UserMessage { text: text.into() }
}

/// What was committed together, as the kinds of its records.
fn commits(journal: &FaultyJournal) -> Vec<Vec<&'static str>> {
    let kinds = |commit: Vec<Entry>| commit.iter().map(|e| e.record.kind()).collect();
    journal.commits().into_iter().map(kinds).collect()
}

fn bench(journal: FaultyJournal) -> Bench {
    Rig::new()
        .tool(Scripted::new("look").gives("seen"))
        .journal(journal)
        .build()
}

fn note(bench: &Bench, record: Record) {
    bench.gate.note(&bench.session, 0, "".into(), record);
}

#[test]
fn notes_become_durable_with_the_next_commit_of_their_conversation() {
    paused(async {
        let bench = bench(FaultyJournal::sound());
        note(&bench, said("1"));
        let other = Session::new("other");
        bench.gate.note(&other, 0, "".into(), said("2"));
        bench.one("look", json!({})).await;
        let before = ["user_message", "received", "planned", "started"].to_vec();
        let after = vec!["finished"];
        assert_eq!(commits(&bench.journal), [before, after]);
        bench.gate.flush(&other).await.unwrap();
        bench.gate.flush(&other).await.unwrap();
        assert_eq!(commits(&bench.journal)[2..], [["user_message"]]);
    });
}

#[test]
fn a_note_that_could_not_be_written_waits_in_its_place_and_holds_no_result_up() {
    paused(async {
        // The start is written, then notes are refused, and the result is not.
        let bench = bench(FaultyJournal::failing_at([1, 2]));
        note(&bench, said("1"));
        assert!(bench.gate.flush(&bench.session).await.is_err());
        note(&bench, said("2"));
        let result = bench.one("look", json!({})).await;
        assert_eq!(result.kind(), Some(ErrorKind::Journal));
        let all = commits(&bench.journal);
        let whole = [
            "user_message",
            "user_message",
            "received",
            "planned",
            "finished",
        ];
        assert_eq!(all, [whole]);
    });
}

#[test]
fn a_result_that_could_not_be_written_is_written_before_anything_else() {
    paused(async {
        for fault in [Fault::Refused, Fault::LostBefore, Fault::LostAfter] {
            let bench = bench(FaultyJournal::with_faults([(2, fault)]));
            let result = bench.one("look", json!({})).await;
            assert!(result.error.is_none());
            assert!(result.metadata.contains_key("journal"), "{fault:?}");
            note(&bench, said("next"));
            bench.gate.flush(&bench.session).await.unwrap();
            assert_eq!(
                commits(&bench.journal)[1..],
                [["finished"], ["user_message"]],
                "{fault:?}"
            );
        }
    });
}

#[test]
fn a_start_that_may_be_on_record_is_offered_again_and_not_run() {
    paused(async {
        for fault in [Fault::LostBefore, Fault::LostAfter] {
            let bench = bench(FaultyJournal::with_faults([(1, fault)]));
            let result = bench.one("look", json!({})).await;
            assert_eq!(result.kind(), Some(ErrorKind::Journal), "{fault:?}");
            assert_eq!(
                commits(&bench.journal),
                [vec!["received", "planned", "started"], vec!["finished"]],
                "{fault:?}"
            );
        }
    });
}

#[test]
fn the_end_of_a_conversation_reports_what_is_not_recorded() {
    paused(async {
        let lost = bench(FaultyJournal::failing_from(2));
        lost.one("look", json!({})).await;
        let error = lost.gate.end(&lost.session).await.unwrap_err();
        assert_eq!(error.kind, JournalErrorKind::NotWritten);
        lost.journal.mend();
        lost.gate.end(&lost.session).await.unwrap();
        assert_eq!(lost.journal.of("one").last(), Some(&"finished"));

        let rejected = bench(FaultyJournal::with_faults([(2, Fault::Rejected)]));
        rejected.one("look", json!({})).await;
        let error = rejected.gate.end(&rejected.session).await.unwrap_err();
        assert!(error.message.starts_with("1 entries of this conversation"));
        assert_eq!(rejected.journal.of("one").last(), Some(&"started"));
    });
}

#[test]
fn a_conversation_that_another_holds_keeps_no_other_from_being_recorded() {
    paused(async {
        let journal = MemoryJournal::new();
        let elsewhere = journal.another();
        elsewhere.begin(&"theirs".into(), None).await.unwrap();
        let registry = Arc::new(Registry::new());
        let look = Scripted::new("look").gives("seen");
        registry.register(Arc::new(look)).unwrap();
        let workspace = Workspace::new();
        let recorded: Arc<dyn Journal> = Arc::new(journal.clone());
        let gate = Gate::builder(
            registry,
            toolgate_gate::Rules::default(),
            workspace.sandbox().clone(),
            recorded,
        )
        .build()
        .unwrap();
        let sessions = ["first", "theirs", "last"].map(|id| Arc::new(Session::new(id)));
        for session in &sessions {
            gate.note(session, 1, "".into(), said("hello"));
        }
        for session in &sessions {
            let told = gate.keep(session, &LISTENER).await;
            let theirs = session.id().as_str() == "theirs";
            assert_eq!(told.is_some(), theirs, "{told:?}");
            let calls = vec![call("1", "look", json!({}))];
            let result = &gate.run(session, calls, &BatchContext::default()).await[0];
            assert_eq!(result.kind() == Some(ErrorKind::Journal), theirs);
            let ended = gate.end(session).await;
            assert_eq!(ended.is_err(), theirs);
            if let Err(error) = ended {
                assert_eq!(error.kind, JournalErrorKind::InUse);
                assert!(error.message.contains("conversation theirs"), "{error}");
            }
        }
        // The end gave the leases back.
        for id in ["first", "last"] {
            elsewhere.begin(&id.into(), None).await.unwrap();
        }
        let all = journal.conversations(ConversationFilter::default()).await;
        let entries: BTreeMap<String, u64> = all
            .unwrap()
            .into_iter()
            .map(|of| (of.id.to_string(), of.entries))
            .collect();
        let expected = [("first", 5), ("last", 5), ("theirs", 0)];
        assert_eq!(entries, expected.map(|(id, n)| (id.to_owned(), n)).into());
    });
}

#[test]
fn waiting_notes_are_bounded_and_states_of_calls_are_kept() {
    paused(async {
        let bench = bench(FaultyJournal::failing_from(1));
        let part = || Record::Streamed { content: json!([]) };
        let keep = || bench.gate.keep(&bench.session, &LISTENER);
        bench
            .gate
            .note(&bench.session, 0, "x".into(), Record::Started);
        let refused = "the journal cannot be written: commit 1 fails, says the test";
        assert_eq!(keep().await.as_deref(), Some(refused));
        assert!(bench.gate.is_refused(&bench.session));
        for _ in 0..9_000 {
            note(&bench, part());
            note(&bench, said("1"));
        }
        assert_eq!(keep().await, None, "parts are said again");
        for _ in 0..2_000 {
            note(&bench, said("2"));
        }
        let told = keep().await.expect("the oldest is lost");
        assert!(told.contains("is lost"), "{told}");
        assert_eq!(keep().await, None);
        bench.journal.mend();
        assert_eq!(keep().await, None);
        assert!(!bench.gate.is_refused(&bench.session));
        let kept = commits(&bench.journal).concat();
        assert_eq!(kept.len(), 10_000);
        assert_eq!(kept[0], "started");
        assert!(!kept.contains(&"streamed"));
    });
}

fn faults() -> impl Strategy<Value = Vec<(usize, Fault)>> {
    let fault = prop_oneof![
        Just(Fault::Refused),
        Just(Fault::LostBefore),
        Just(Fault::LostAfter)
    ];
    prop::collection::vec((1_usize..16, fault), 0..8)
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    /// Whatever goes wrong between: when the journal works again, every entry is there once, in
    /// order, and every call has its one result.
    #[test]
    fn every_entry_is_recorded_once_after_any_faults(
        faults in faults(),
        steps in prop::collection::vec(0_u8..3, 1..8),
    ) {
        paused(async {
            let bench = bench(FaultyJournal::with_faults(faults.clone()));
            let mut noted = 0;
            let mut ran = 0;
            for step in &steps {
                match step {
                    0 => {
                        note(&bench, said(&noted.to_string()));
                        noted += 1;
                    }
                    1 => {
                        let _ = bench.gate.keep(&bench.session, &LISTENER).await;
                    }
                    _ => {
                        ran += 1;
                        let id = format!("call {ran}");
                        let calls = vec![call(&id, "look", json!({}))];
                        let results = bench.run(calls).await;
                        assert_eq!(results.len(), 1);
                    }
                }
            }
            bench.journal.mend();
            bench.gate.end(&bench.session).await.unwrap();
            let entries = bench.journal.entries();
            let texts: Vec<&str> = entries.iter().filter_map(|entry| match &entry.record {
                Record::UserMessage { text } => Some(text.as_str()),
                _ => None,
            }).collect();
            let expected: Vec<String> = (0..noted).map(|n: usize| n.to_string()).collect();
            assert_eq!(texts, expected, "{faults:?}");
            for number in 1..=ran {
                let kinds = bench.journal.of(&format!("call {number}"));
                let whole = ["received", "planned", "started", "finished"];
                let without_start = ["received", "planned", "finished"];
                assert!(kinds == whole || kinds == without_start, "{kinds:?} {faults:?}");
            }
        });
    }
}
