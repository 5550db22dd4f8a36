//! The bus between the line and whoever can answer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::{
    Answer, AnswerError, ApprovalRequest, ApproveAll, Approver, Bus, Choice, DenyAll, Unanswered,
};
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Entropy, SystemEntropy};
use toolgate_model::{ApprovalId, ConversationId, ErrorKind};
use toolgate_testkit::{Rig, Scripted, asking, call, paused};

fn question(id: u128, conversation: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId::from_bits(id),
        conversation: conversation.into(),
        items: Vec::new(),
        expires_after: None,
    }
}

fn conversation() -> ConversationId {
    "test".into()
}

/// What the n-th question is told, so that answers can be told apart.
fn answer(n: usize) -> Answer {
    Answer::yes().by(format!("person {n}"))
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_38_message_bus_correlation_id_uniqueness(batches in 1_usize..6) {
        paused(async {
            let bench = Rig::new()
                .tool(Scripted::new("write").side_effects())
                .entropy(Arc::new(SystemEntropy))
                .build();
            let (bus, mut requests) = Bus::new();
            let mut ids = HashSet::new();
            for _ in 0..batches {
                let passage = asking(bus.clone());
                let line = bench.run_through(vec![call("1", "write", json!({}))], &passage);
                let person = async {
                    let request = requests.next().await.unwrap();
                    bus.answer(bench.session.id(), request.id, Answer::no()).unwrap();
                    request.id
                };
                let (_, id) = futures::join!(line, person);
                assert!(ids.insert(id), "{id} twice");
            }
            assert_eq!(ids.len(), batches);
        });
    }

    #[test]
    fn property_39_message_bus_request_response_matching(
        order in (1_usize..8).prop_flat_map(|count| Just((0..count).collect::<Vec<_>>()).prop_shuffle())
    ) {
        paused(async {
            let (bus, _requests) = Bus::new();
            let waiting = join_all((0..order.len()).map(|n| bus.request(question(n as u128, "test"))));
            let answering = async {
                for n in &order {
                    bus.answer(&conversation(), ApprovalId::from_bits(*n as u128), answer(*n)).unwrap();
                }
            };
            let (answers, ()) = futures::join!(waiting, answering);
            for (n, got) in answers.into_iter().enumerate() {
                assert_eq!(got.unwrap(), answer(n));
            }
            assert_eq!(bus.waiting(), 0);
        });
    }

    #[test]
    fn property_40_message_bus_timeout_handling(seconds in 1_u64..100, late_by in 1_u64..100) {
        paused(async {
            let bench = Rig::new()
                .tool(Scripted::new("write").side_effects())
                .settings(|settings| settings.approval_timeout = Some(Duration::from_secs(seconds)))
                .build();
            let (bus, mut requests) = Bus::new();
            let began = tokio::time::Instant::now();
            let passage = asking(bus.clone());
            let results = bench.run_through(vec![call("1", "write", json!({}))], &passage).await;
            assert_eq!(results[0].kind(), Some(ErrorKind::ApprovalExpired));
            let message = &results[0].error.as_ref().unwrap().message;
            assert!(message.starts_with("Confirmation request timed out"), "{message}");
            assert_eq!(began.elapsed(), Duration::from_secs(seconds));
            assert_eq!(bus.waiting(), 0);
            let request = requests.next().await.unwrap();
            assert_eq!(request.expires_after, Some(Duration::from_secs(seconds)));
            tokio::time::advance(Duration::from_secs(late_by)).await;
            assert_eq!(bus.answer(bench.session.id(), request.id, Answer::yes()), Err(AnswerError::Closed));
        });
    }

    #[test]
    fn property_41_message_bus_concurrent_requests(fates in prop::collection::vec(0_u8..3, 1..10)) {
        paused(async {
            let (bus, _requests) = Bus::new();
            let mut waiting: Vec<_> = (0..fates.len())
                .map(|n| Some(Box::pin(bus.request(question(n as u128, "test")))))
                .collect();
            for one in waiting.iter_mut().flatten() {
                assert!(one.as_mut().now_or_never().is_none());
            }
            for (n, fate) in fates.iter().enumerate() {
                match fate {
                    0 => bus.answer(&conversation(), ApprovalId::from_bits(n as u128), answer(n)).unwrap(),
                    1 => waiting[n] = None,
                    _ => {}
                }
            }
            assert_eq!(bus.waiting(), fates.iter().filter(|fate| **fate == 2).count());
            for (n, one) in waiting.into_iter().enumerate() {
                let got = one.and_then(|one| one.now_or_never());
                assert_eq!(got, (fates[n] == 0).then(|| Ok(answer(n))), "each by itself");
            }
        });
    }

    #[test]
    fn property_42_message_bus_cancellation(after in 0_u64..50, which in 0_u8..2) {
        paused(async {
            let bench = Rig::new()
                .tool(Scripted::new("write").side_effects())
                .settings(|settings| settings.approval_timeout = None)
                .build();
            let (bus, mut requests) = Bus::new();
            let passage = asking(bus.clone());
            let line = bench.run_through(vec![call("1", "write", json!({}))], &passage);
            let stop = async {
                let request = requests.next().await.unwrap();
                tokio::time::sleep(Duration::from_secs(after)).await;
                if which == 0 { passage.cancel.cancel() } else { bench.session.cancel().cancel() }
                request.id
            };
            let (results, id) = futures::join!(line, stop);
            assert_eq!(results[0].kind(), Some(ErrorKind::Cancelled));
            let message = &results[0].error.as_ref().unwrap().message;
            assert!(message.starts_with("Confirmation request cancelled"), "{message}");
            assert_eq!(bus.waiting(), 0);
            assert_eq!(bus.answer(bench.session.id(), id, Answer::yes()), Err(AnswerError::Closed));
        });
    }
}

#[test]
fn late_repeated_foreign_and_unknown_answers_are_refused() {
    paused(async {
        let (bus, _requests) = Bus::new();
        let id = ApprovalId::from_bits(7);
        assert_eq!(
            bus.answer(&conversation(), id, Answer::yes()),
            Err(AnswerError::Unknown)
        );
        let mut waiting = Box::pin(bus.request(question(7, "test")));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(
            bus.answer(&"other".into(), id, Answer::yes()),
            Err(AnswerError::Foreign)
        );
        assert_eq!(bus.waiting(), 1, "a foreign answer changes nothing");
        assert_eq!(bus.answer(&conversation(), id, Answer::no()), Ok(()));
        assert_eq!(
            bus.answer(&conversation(), id, Answer::yes()),
            Err(AnswerError::Closed)
        );
        assert_eq!(waiting.await, Ok(Answer::no()), "the first answer wins");
        assert_eq!(
            bus.answer(&conversation(), id, Answer::yes()),
            Err(AnswerError::Closed)
        );
        assert_eq!(format!("{bus:?}"), "Bus { waiting: 0, .. }");
    });
}

#[test]
fn a_question_that_was_taken_back_cannot_be_answered() {
    paused(async {
        let (bus, requests) = Bus::new();
        assert_eq!(format!("{requests:?}"), "Requests");
        let mut waiting = Box::pin(bus.request(question(1, "test")));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        assert_eq!(bus.waiting(), 0);
        let late = bus.answer(&conversation(), ApprovalId::from_bits(1), Answer::yes());
        assert_eq!(late, Err(AnswerError::Closed));
    });
}

#[test]
fn an_id_is_used_once() {
    paused(async {
        let (bus, _requests) = Bus::new();
        let mut first = Box::pin(bus.request(question(1, "test")));
        assert!(first.as_mut().now_or_never().is_none());
        assert_eq!(
            bus.request(question(1, "test")).await,
            Err(Unanswered::Cancelled)
        );
        assert_eq!(bus.waiting(), 1, "the first is still asked");
        drop(first);
        assert_eq!(
            bus.request(question(1, "test")).await,
            Err(Unanswered::Cancelled)
        );
    });
}

#[test]
fn the_memory_of_closed_questions_is_bounded() {
    paused(async {
        let (bus, _requests) = Bus::new();
        for n in 0..300 {
            drop(Box::pin(bus.request(question(n, "test"))).now_or_never());
        }
        let answer = |n| bus.answer(&conversation(), ApprovalId::from_bits(n), Answer::yes());
        for (n, told) in [
            (0, AnswerError::Unknown),
            (300 - 257, AnswerError::Unknown),
            (300 - 256, AnswerError::Closed),
            (299, AnswerError::Closed),
        ] {
            assert_eq!(answer(n), Err(told), "{n}");
        }
    });
}

#[test]
fn a_pending_question_is_unanswered_when_the_listener_is_gone() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .settings(|settings| settings.approval_timeout = None)
            .build();
        let (bus, mut requests) = Bus::new();
        let passage = asking(bus.clone());
        let line = bench.run_through(vec![call("1", "write", json!({}))], &passage);
        let gone = async move {
            requests.next().await.unwrap();
            drop(requests);
        };
        let (results, ()) = futures::join!(line, gone);
        assert_eq!(
            results[0].kind(),
            Some(ErrorKind::NoApprover),
            "gone while it waited"
        );
        let results = bench
            .run_through(vec![call("2", "write", json!({}))], &passage)
            .await;
        assert_eq!(
            results[0].kind(),
            Some(ErrorKind::NoApprover),
            "gone before it was asked"
        );
        assert_eq!(bus.waiting(), 0);
    });
}

#[test]
fn questions_end_with_the_bus() {
    paused(async {
        let (bus, mut requests) = Bus::new();
        drop(bus);
        assert!(requests.next().await.is_none());
    });
}

/// A person who lets reading pass and nothing else, as a program of its own would be.
#[derive(Clone, Default)]
struct OnlyReading(Arc<Mutex<Vec<String>>>);

impl Approver for OnlyReading {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(async move {
            // It may take its time.
            tokio::task::yield_now().await;
            let tools = request.items.iter().map(|item| item.tool.clone());
            self.0.lock().unwrap().extend(tools);
            let fine = request.items.iter().filter(|item| item.tool == "read");
            Ok(Answer::only(fine.map(|item| item.call_id.clone())).by("house rules"))
        })
    }
}

#[test]
fn test_confirmation_handler() {
    paused(async {
        let asks = |name: &str| Scripted::new(name).spec(|spec| spec.requires_approval = true);
        let (read, write) = (asks("read"), asks("write"));
        let (read_ran, write_ran) = (read.ran(), write.ran());
        let bench = Rig::new().tool(read).tool(write).build();
        let own = OnlyReading::default();
        let calls = [("1", "write"), ("2", "read")].map(|(id, name)| call(id, name, json!({})));
        let results = bench
            .run_through(calls.to_vec(), &asking(own.clone()))
            .await;
        let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
        assert_eq!(kinds, [Some(ErrorKind::UserDenied), None]);
        assert_eq!(
            *own.0.lock().unwrap(),
            ["write", "read"],
            "asked about both"
        );
        assert_eq!((write_ran.get(), read_ran.get()), (0, 1));
        for (approver, choice, by) in [
            (&ApproveAll as &dyn Approver, Choice::All, "approve-all"),
            (&DenyAll, Choice::None, "deny-all"),
        ] {
            let answer = approver.ask(&question(1, "test")).await.unwrap();
            assert_eq!((answer.choice, answer.by.as_str()), (choice, by));
        }
    });
}

#[test]
fn two_conversations_on_one_bus_do_not_meet() {
    paused(async {
        let (bus, mut requests) = Bus::new();
        let ann = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .session(Session::new("ann"))
            .build();
        let bob = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .session(Session::new("bob"))
            .entropy(Arc::new(SystemEntropy))
            .build();
        let (pass_a, pass_b): (BatchContext, BatchContext) =
            (asking(bus.clone()), asking(bus.clone()));
        let lines = futures::future::join(
            ann.run_through(vec![call("1", "write", json!({}))], &pass_a),
            bob.run_through(vec![call("1", "write", json!({}))], &pass_b),
        );
        let person = async {
            for _ in 0..2 {
                let request = requests.next().await.unwrap();
                let (own, other): (ConversationId, ConversationId) =
                    match request.conversation.as_str() {
                        "ann" => ("ann".into(), "bob".into()),
                        _ => ("bob".into(), "ann".into()),
                    };
                assert_eq!(
                    bus.answer(&other, request.id, Answer::yes()),
                    Err(AnswerError::Foreign)
                );
                let answer = if own.as_str() == "ann" {
                    Answer::yes()
                } else {
                    Answer::no()
                };
                bus.answer(&own, request.id, answer).unwrap();
            }
        };
        let ((first, second), ()) = futures::join!(lines, person);
        assert_eq!(first[0].kind(), None);
        assert_eq!(second[0].kind(), Some(ErrorKind::UserDenied));
    });
}

#[test]
fn ids_of_the_system_are_128_bits_that_do_not_repeat() {
    let bits: HashSet<u128> = (0..1_000).map(|_| SystemEntropy.bits().unwrap()).collect();
    assert_eq!(bits.len(), 1_000);
    assert!(
        bits.iter().any(|bits| bits >> 64 != 0),
        "not only the low half"
    );
}
