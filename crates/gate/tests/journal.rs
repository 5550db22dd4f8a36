//! What is on record, and when.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;
use toolgate_gate::approve::{Answer, ApproveAll, DenyAll};
use toolgate_gate::journal::{Batch, Entry, Journal, JournalError, Record};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Call, ErrorKind, Event, EventKind, Status, Stream};
use toolgate_testkit::{
    Act, Bench, Collected, FaultyJournal, Rig, Scripted, ScriptedApprover, Workspace, asking, call,
    paused,
};

fn kinds(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let json = serde_json::to_value(entry).unwrap();
            format!(
                "{} {}",
                json["record"]["kind"].as_str().unwrap(),
                entry.call
            )
        })
        .collect()
}

fn bench(journal: FaultyJournal) -> (Bench, toolgate_testkit::Count) {
    let read = Scripted::new("read");
    let ran = read.ran();
    let bench = Rig::new()
        .tool(read)
        .tool(Scripted::new("write").side_effects())
        .journal(journal)
        .build();
    (bench, ran)
}

fn calls() -> Vec<Call> {
    vec![
        call("1", "read", json!({})),
        call("2", "write", json!({})),
        call("3", "nobody", json!({})),
        call("4", "read", json!({})),
    ]
}

#[test]
fn there_are_three_durable_points_and_no_more() {
    paused(async {
        let (bench, _) = bench(FaultyJournal::sound());
        bench.run_asked(calls(), Answer::yes()).await;
        let commits: Vec<Vec<String>> = bench
            .journal
            .commits()
            .iter()
            .map(|commit| kinds(commit))
            .collect();
        assert_eq!(
            commits,
            [
                vec![
                    "received 1",
                    "planned 1",
                    "received 2",
                    "planned 2",
                    "received 3",
                    "received 4",
                    "planned 4",
                    "asked 2"
                ],
                vec!["answered 2", "started 1"],
                vec!["finished 1"],
                vec!["started 2"],
                vec!["finished 2"],
                vec!["finished 3", "started 4"],
                vec!["finished 4"],
            ]
        );
    });
}

#[test]
fn a_question_that_nobody_sees_is_on_record_with_its_answer_before_the_effect() {
    paused(async {
        let calls = || vec![call("1", "write", json!({}))];
        for (approver, commits) in [
            (
                asking(ApproveAll),
                vec![
                    vec![
                        "received 1",
                        "planned 1",
                        "asked 1",
                        "answered 1",
                        "started 1",
                    ],
                    vec!["finished 1"],
                ],
            ),
            (
                asking(DenyAll),
                vec![vec![
                    "received 1",
                    "planned 1",
                    "asked 1",
                    "answered 1",
                    "finished 1",
                ]],
            ),
        ] {
            let (bench, _) = bench(FaultyJournal::sound());
            bench.run_through(calls(), &approver).await;
            let made = bench.journal.commits();
            let made: Vec<Vec<String>> = made.iter().map(|commit| kinds(commit)).collect();
            assert_eq!(made, commits);
        }
        let write = Scripted::new("write").side_effects();
        let ran = write.ran();
        let journal = FaultyJournal::failing_at([1]);
        let bench = Rig::new().tool(write).journal(journal).build();
        let results = bench.run_through(calls(), &asking(ApproveAll)).await;
        assert_eq!(results[0].error.as_ref().unwrap().kind, ErrorKind::Journal);
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn without_a_question_everything_up_to_the_first_start_is_one_commit() {
    paused(async {
        let (bench, _) = bench(FaultyJournal::sound());
        bench
            .run(vec![
                call("1", "read", json!({})),
                call("2", "write", json!({})),
            ])
            .await;
        let commits: Vec<Vec<String>> = bench
            .journal
            .commits()
            .iter()
            .map(|commit| kinds(commit))
            .collect();
        assert_eq!(
            commits,
            [
                vec![
                    "received 1",
                    "planned 1",
                    "received 2",
                    "planned 2",
                    "started 1"
                ],
                vec!["finished 1"],
                vec!["finished 2"],
            ]
        );
    });
}

#[test]
fn entries_carry_conversation_time_and_survive_json() {
    paused(async {
        let (bench, _) = bench(FaultyJournal::sound());
        bench.clock.advance(5);
        bench.run_asked(calls(), Answer::no().because("no")).await;
        for entry in bench.journal.entries() {
            assert_eq!(
                (entry.conversation.as_str(), entry.at_ms),
                ("test", 1_700_000_000_005)
            );
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), entry);
        }
    });
}

#[test]
fn a_journal_that_cannot_be_written_stops_tools_and_says_so() {
    paused(async {
        let (bench, ran) = bench(FaultyJournal::failing_from(1));
        let results = bench
            .run(vec![
                call("1", "read", json!({})),
                call("2", "read", json!({})),
            ])
            .await;
        for result in &results {
            assert_eq!(result.kind(), Some(ErrorKind::Journal));
            assert!(
                result.content.contains("nothing was run"),
                "{}",
                result.content
            );
            assert!(result.metadata.contains_key("journal"));
        }
        assert_eq!((results.len(), ran.get()), (2, 0));
    });
}

#[test]
fn an_effect_whose_end_could_not_be_recorded_is_still_reported() {
    paused(async {
        let (bench, ran) = bench(FaultyJournal::failing_at([2]));
        let results = bench
            .run(vec![
                call("1", "read", json!({})),
                call("2", "read", json!({})),
            ])
            .await;
        assert_eq!(
            (results[0].status(), results[1].status()),
            (Status::Ok, Status::Ok)
        );
        assert!(
            results[0].metadata["journal"]
                .as_str()
                .unwrap()
                .contains("cannot be written")
        );
        assert!(results[1].metadata.get("journal").is_none());
        assert_eq!(ran.get(), 2);
    });
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    /// Whichever commit fails: one result per call, nothing runs that is not on record as
    /// started, and no entry of a call is on record before its arrival.
    #[test]
    fn whichever_commits_fail_the_record_holds_together(
        failing in prop::collection::btree_set(1_usize..9, 0..4),
        answer in any::<bool>(),
    ) {
        paused(async {
            let (bench, ran) = bench(FaultyJournal::failing_at(failing.clone()));
            let answer = if answer { Answer::yes() } else { Answer::no() };
            let approver = ScriptedApprover::new([answer]);
            let results = bench.run_through(calls(), &asking(approver.clone())).await;
            assert_eq!(results.len(), 4);
            let entries = bench.journal.entries();
            let mut started = 0;
            for id in ["1", "2", "3", "4"] {
                let own = bench.journal.of(id);
                assert!(own.first().is_none_or(|first| *first == "received"), "{failing:?}: {own:?}");
                assert!(own.iter().filter(|kind| **kind == "finished").count() <= 1, "{own:?}");
                assert!(own.iter().filter(|kind| **kind == "started").count() <= 1, "{own:?}");
                if id != "2" {
                    started += own.iter().filter(|kind| **kind == "started").count();
                }
            }
            assert_eq!(ran.get(), started, "{failing:?}");
            let asked = entries.iter().any(|entry| matches!(entry.record, Record::Asked { .. }));
            assert_eq!(asked, !approver.asked().is_empty(), "a question is on record before it is shown");
        });
    }
}

#[test]
fn a_journal_may_take_its_time() {
    struct Slow(MemoryJournal);
    impl Journal for Slow {
        fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
            Box::pin(async {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                self.0.append(batch).await
            })
        }
    }
    paused(async {
        let registry = Arc::new(toolgate_gate::registry::Registry::new());
        registry.register(Scripted::new("read").into()).unwrap();
        let (journal, workspace) = (MemoryJournal::new(), Workspace::new());
        let gate = Gate::builder(
            registry,
            toolgate_gate::Rules::default(),
            workspace.sandbox().clone(),
            Arc::new(Slow(journal.clone())),
        )
        .build()
        .unwrap();
        let session = Arc::new(toolgate_gate::session::Session::new("s"));
        let results = gate
            .run(
                &session,
                vec![call("1", "read", json!({}))],
                &BatchContext::default(),
            )
            .await;
        assert_eq!(results[0].status(), Status::Ok);
        assert_eq!(journal.entries().len(), 4);
    });
}

#[test]
fn fr_out_03_chunks_are_shown_and_not_recorded() {
    paused(async {
        let piece = b"only for the screen\n".to_vec();
        let bench = Rig::new()
            .tool(Scripted::new("chatty").does(Act::Show(vec![(Stream::Stdout, piece)])))
            .build();
        let collected = Collected::listen(8);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        let calls = vec![call("1", "chatty", json!({}))];
        let results = bench.run_through(calls, &passage).await;
        drop(passage);
        let events = collected.all().await;
        let shown = |event: &Event| matches!(event, Event { kind: EventKind::OutputChunk { text, .. }, .. } if text.contains("screen"));
        assert!(events.iter().any(shown), "{events:?}");
        assert_eq!(
            kinds(&bench.journal.entries()),
            ["received 1", "planned 1", "started 1", "finished 1"]
        );
        let record = serde_json::to_string(&bench.journal.entries()).unwrap();
        assert_eq!(
            record.contains("only for the screen"),
            results[0].content.contains("only for the screen"),
            "what is on record is the result: {record}"
        );
    });
}

/// Takes a minute to write the start of the second call, and notes what came when.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<Vec<(Instant, String)>>>);

impl Slow {
    fn at(&self, entry: &str) -> Instant {
        let noted = self.0.lock().unwrap();
        noted.iter().find(|(_, kind)| kind == entry).unwrap().0
    }
}

impl Journal for Slow {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        let kinds = kinds(batch.entries());
        let slow = kinds.contains(&"started 2".to_owned());
        let noted = kinds.into_iter().map(|kind| (Instant::now(), kind));
        self.0.lock().unwrap().extend(noted);
        Box::pin(async move {
            if slow {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Ok(1)
        })
    }
}

#[test]
fn a_slow_record_holds_neither_the_deadline_of_what_runs_nor_its_end() {
    paused(async {
        let registry = Arc::new(Registry::new());
        let second = Duration::from_secs(1);
        let hangs = Scripted::new("hang").does(Act::Sleep).call_timeout(second);
        registry.register(Arc::new(hangs)).unwrap();
        let (workspace, journal) = (Workspace::new(), Slow::default());
        let sandbox = workspace.sandbox().clone();
        let gate = Gate::builder(
            registry,
            toolgate_gate::Rules::nothing_to_check(),
            sandbox,
            Arc::new(journal.clone()),
        )
        .settings(Settings {
            max_concurrent: 2,
            ..Settings::default()
        })
        .build()
        .unwrap();
        let calls = ["1", "2"].map(|id| call(id, "hang", json!({})));
        let session = Arc::new(Session::new("c"));
        let results = gate
            .run(&session, calls.into(), &BatchContext::default())
            .await;
        assert!(results.iter().all(|r| r.kind() == Some(ErrorKind::Timeout)));
        let took = journal.at("finished 1") - journal.at("started 1");
        assert!(took < second * 2, "{took:?}");
        let started = journal.at("finished 2") - journal.at("started 2");
        assert!(started > Duration::from_secs(60), "{started:?}");
    });
}
