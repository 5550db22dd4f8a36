//! The shared parts under thousands of schedules: bus, registry, locks.
//!
//! `cargo test -p toolgate-gate --features shuttle --test shuttle`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use shuttle::future::block_on;
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner, thread};
use toolgate_gate::approve::{Answer, AnswerError, ApprovalRequest, Bus, Unanswered};
use toolgate_gate::execute::{Claim, Locks};
use toolgate_gate::registry::{Alias, Registry};
use toolgate_gate::tool::{Facts, Output, Tool, typed};
use toolgate_model::{ApprovalId, Args, ConversationId};

/// Tries so many random schedules. Registering a tool compiles its schema, which wants more
/// stack than a thread of the explorer has by default.
fn check_random(test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(RandomScheduler::new(2_000), config).run(test);
}

fn question(id: u128) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId::from_bits(id),
        conversation: "c".into(),
        items: Vec::new(),
        expires_after: None,
    }
}

fn answer(bus: &Bus, id: u128, answer: Answer) -> Result<(), AnswerError> {
    bus.answer(
        &ConversationId::from("c"),
        ApprovalId::from_bits(id),
        answer,
    )
}

#[test]
fn of_two_answers_exactly_one_is_taken_and_it_is_the_one_that_arrives() {
    check_random(|| {
        let (bus, mut requests) = Bus::new();
        let asks = bus.clone();
        let waits = thread::spawn(move || block_on(asks.request(question(1))));
        block_on(requests.next()).expect("the question arrives");
        let answers: Vec<_> = ["ann", "bob"]
            .map(|name| {
                let bus = bus.clone();
                thread::spawn(move || answer(&bus, 1, Answer::yes().by(name)).map(|()| name))
            })
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        let got = waits.join().unwrap().expect("answered");
        let taken: Vec<&str> = answers.iter().filter_map(|taken| taken.ok()).collect();
        assert_eq!(taken, [got.by.as_str()]);
        assert!(answers.contains(&Err(AnswerError::Closed)));
        assert_eq!(bus.waiting(), 0);
    });
}

#[test]
fn a_question_taken_back_while_it_is_answered_leaves_nothing() {
    check_random(|| {
        let (bus, _requests) = Bus::new();
        let asks = bus.clone();
        let gives_up = thread::spawn(move || {
            let mut waits = Box::pin(asks.request(question(1)));
            let early = waits.as_mut().now_or_never();
            thread::yield_now();
            early.or_else(|| waits.now_or_never())
        });
        let answers = bus.clone();
        let answers = thread::spawn(move || answer(&answers, 1, Answer::yes()));
        let (got, taken) = (gives_up.join().unwrap(), answers.join().unwrap());
        if got.is_some() {
            assert_eq!((got, taken), (Some(Ok(Answer::yes())), Ok(())));
        }
        assert_eq!(bus.waiting(), 0);
        assert!(answer(&bus, 1, Answer::no()).is_err(), "closed either way");
    });
}

#[test]
fn when_the_listener_goes_nobody_waits_for_ever() {
    check_random(|| {
        let (bus, requests) = Bus::new();
        let waits: Vec<_> = (0..2)
            .map(|id| {
                let bus = bus.clone();
                thread::spawn(move || block_on(bus.request(question(id))))
            })
            .collect();
        let leaves = thread::spawn(move || drop(requests));
        let answers = bus.clone();
        let answered = thread::spawn(move || answer(&answers, 0, Answer::yes()).is_ok());
        leaves.join().unwrap();
        let answered = answered.join().unwrap();
        for (id, wait) in waits.into_iter().enumerate() {
            let got = wait.join().unwrap();
            let expected = if id == 0 && answered {
                Ok(Answer::yes())
            } else {
                Err(Unanswered::NobodyThere)
            };
            assert_eq!(got, expected);
        }
        assert_eq!(bus.waiting(), 0);
    });
}

fn tool(name: &str) -> Arc<dyn Tool> {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    Arc::new(typed(name, "Does nothing.", |_: Nothing, _| async {
        Ok(Output::default())
    }))
}

#[test]
fn readers_of_the_registry_see_whole_states_while_it_changes() {
    let (stays, comes) = (tool("stays"), tool("comes"));
    check_random(move || {
        let registry = Arc::new(Registry::new());
        registry.register(Arc::clone(&stays)).unwrap();
        let (writes, comes) = (Arc::clone(&registry), Arc::clone(&comes));
        let writer = thread::spawn(move || {
            writes.register(Arc::clone(&comes)).unwrap();
            writes.alias(Alias::new("also", "comes")).unwrap();
            writes.unregister("comes").unwrap();
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let registry = Arc::clone(&registry);
                thread::spawn(move || {
                    assert!(registry.get("stays").is_some());
                    let through_alias = registry.resolve("also", Args::new());
                    if let Ok(resolved) = through_alias {
                        assert_eq!(
                            resolved.entry.spec().name,
                            "comes",
                            "kept whatever happens meanwhile"
                        );
                    }
                    let names: Vec<String> = registry
                        .definitions("")
                        .unwrap()
                        .iter()
                        .map(|d| d.name.clone())
                        .collect();
                    assert!(
                        names == ["stays"] || names == ["comes", "stays"],
                        "{names:?}"
                    );
                })
            })
            .collect();
        writer.join().unwrap();
        for reader in readers {
            reader.join().unwrap();
        }
        let names: Vec<String> = registry
            .definitions("")
            .unwrap()
            .iter()
            .map(|d| d.name.clone())
            .collect();
        assert_eq!(names, ["stays"], "no reader keeps an old state alive");
        assert_eq!(registry.canonical("also"), "also");
    });
}

#[test]
fn of_two_registrations_of_one_name_exactly_one_wins() {
    let tools = [tool("same"), tool("same")];
    check_random(move || {
        let registry = Arc::new(Registry::new());
        let won: usize = tools
            .clone()
            .map(|tool| {
                let registry = Arc::clone(&registry);
                thread::spawn(move || usize::from(registry.register(tool).is_ok()))
            })
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert_eq!((won, registry.list().len()), (1, 1));
    });
}

#[test]
fn writers_exclude_readers_share_and_none_starves() {
    check_random(|| {
        let locks = Locks::new();
        let (readers, writers) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = [("a", true), ("a", false), ("a/b", false), ("a", true)]
            .into_iter()
            .map(|(path, writes)| {
                let (locks, readers, writers) =
                    (locks.clone(), Arc::clone(&readers), Arc::clone(&writers));
                thread::spawn(move || {
                    let facts = if writes {
                        Facts::writing(path)
                    } else {
                        Facts::reading(path)
                    };
                    let guard = block_on(locks.acquire(Claim::of(1, &facts)));
                    let own = if writes { &writers } else { &readers };
                    own.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                    if writes {
                        assert_eq!(
                            (
                                writers.load(Ordering::SeqCst),
                                readers.load(Ordering::SeqCst)
                            ),
                            (1, 0)
                        );
                    } else {
                        assert_eq!(writers.load(Ordering::SeqCst), 0);
                    }
                    own.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(locks.held(), 0);
    });
}

#[test]
fn a_caller_that_stops_waiting_does_not_delay_the_others() {
    check_random(|| {
        let locks = Locks::new();
        let held = block_on(locks.acquire(Claim::of(1, &Facts::writing("a"))));
        let impatient = locks.clone();
        let impatient = thread::spawn(move || {
            let mut waits = Box::pin(impatient.acquire(Claim::of(1, &Facts::opaque())));
            let early = waits.as_mut().now_or_never();
            thread::yield_now();
            drop((early, waits));
        });
        let patient = locks.clone();
        let patient = thread::spawn(move || {
            drop(block_on(
                patient.acquire(Claim::of(1, &Facts::reading("a"))),
            ))
        });
        let releases = thread::spawn(move || drop(held));
        for thread in [impatient, patient, releases] {
            thread.join().unwrap();
        }
        assert_eq!(locks.held(), 0);
        assert_eq!(format!("{locks:?}"), "Locks { held: 0, waiting: 0 }");
    });
}
