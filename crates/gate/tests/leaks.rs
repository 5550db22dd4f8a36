//! Nothing is left behind: tasks, memory, descriptors, questions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::approve::{Answer, Bus};
use toolgate_gate::execute::EventSink;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Facts;
use toolgate_testkit::{
    Act, Bench, Blocking, Release, Rig, Scripted, ScriptedApprover, Step, asking, call, paused,
};

/// Descriptors belong to the process: these tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn everything() -> Bench {
    let write = Act::Write {
        path: "a.txt".into(),
        content: "new".into(),
    };
    Rig::new()
        .workspace(toolgate_testkit::Workspace::new().file("a.txt", "old"))
        .tool(Scripted::new("good"))
        .tool(
            Scripted::new("slow")
                .does(Act::Sleep)
                .facts(Facts::reading("b")),
        )
        .tool(Scripted::new("bomb").panics_in(Step::Run))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .does(write),
        )
        .tool(Scripted::new("chatty").does(Act::Show(vec![
            (
                toolgate_model::Stream::Stdout,
                b"hello".to_vec()
            );
            30
        ])))
        .settings(|settings| {
            settings.max_concurrent = 3;
            settings.limits.max_calls = 20;
        })
        .build()
}

fn names() -> Vec<toolgate_model::Call> {
    [
        "good", "slow", "bomb", "edit", "chatty", "nobody", "slow", "edit",
    ]
    .iter()
    .enumerate()
    .map(|(n, name)| call(&n.to_string(), name, json!({})))
    .collect()
}

/// What has to be dead when everything was let go.
struct Watched {
    session: Weak<Session>,
    registry: Weak<Registry>,
}

impl Watched {
    fn of(bench: &Bench) -> Self {
        Self {
            session: Arc::downgrade(&bench.session),
            registry: Arc::downgrade(&bench.registry),
        }
    }

    fn gone(&self) -> bool {
        self.session.upgrade().is_none() && self.registry.upgrade().is_none()
    }
}

#[test]
fn a_batch_of_everything_leaves_nothing() {
    let _turn = alone();
    paused(async { everything().run(names()).await });
    let before = descriptors();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        bench.run_asked(names(), Answer::yes()).await;
        assert_eq!((tasks(), bench.gate.still_running()), (0, 0));
        drop(bench);
        assert!(watched.gone());
    });
    assert_eq!(descriptors(), before);
}

#[test]
fn a_cancelled_batch_leaves_nothing() {
    let _turn = alone();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        let passage = BatchContext::default();
        let line = bench.run_through(names(), &passage);
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            passage.cancel.cancel();
        };
        futures::join!(line, stop);
        assert_eq!(tasks(), 0);
        drop((bench, passage));
        assert!(watched.gone());
    });
}

#[test]
fn a_line_that_was_dropped_leaves_nothing() {
    let _turn = alone();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        let cut = tokio::time::timeout(Duration::from_secs(1), bench.run(names())).await;
        assert!(cut.is_err());
        while tasks() > 0 {
            tokio::task::yield_now().await;
        }
        drop(bench);
        assert!(watched.gone());
    });
}

#[test]
fn handles_leave_nothing_whether_awaited_or_dropped() {
    let _turn = alone();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        let passage = BatchContext::default();
        let awaited = bench
            .gate
            .start(&bench.session, call("1", "good", json!({})), &passage);
        let dropped = bench
            .gate
            .start(&bench.session, call("2", "slow", json!({})), &passage);
        tokio::task::yield_now().await;
        awaited.result().await;
        drop((dropped, bench, passage));
        while tasks() > 0 {
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert!(watched.gone());
    });
}

#[test]
fn questions_leave_nothing_however_they_end() {
    let _turn = alone();
    paused(async {
        let (bus, mut requests) = Bus::new();
        let bench = everything();
        let watched = Watched::of(&bench);
        let passage = asking(bus.clone());
        let edit = || vec![call("1", "edit", json!({}))];
        // Answered.
        let person = async {
            let request = requests.next().await.unwrap();
            bus.answer(bench.session.id(), request.id, Answer::yes())
                .unwrap();
        };
        futures::join!(bench.run_through(edit(), &passage), person);
        assert_eq!(bus.waiting(), 0);
        // Expired.
        bench.run_through(edit(), &passage).await;
        assert_eq!(bus.waiting(), 0);
        // Dropped while it waits.
        let cut =
            tokio::time::timeout(Duration::from_secs(1), bench.run_through(edit(), &passage)).await;
        assert!(cut.is_err());
        assert_eq!((bus.waiting(), tasks()), (0, 0));
        drop((bench, passage, bus, requests));
        assert!(watched.gone());
    });
}

#[test]
fn an_approver_that_panics_leaves_nothing() {
    let _turn = alone();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        let approver = ScriptedApprover::new([toolgate_testkit::Reply::Panic]);
        bench.run_through(names(), &asking(approver)).await;
        drop(bench);
        assert!(watched.gone());
        assert_eq!(tasks(), 0);
    });
}

#[test]
fn a_tool_that_was_given_up_on_lets_go_of_everything_when_it_ends() {
    let _turn = alone();
    for blocking in [Blocking::TheRuntime, Blocking::AThread] {
        let release = Release::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let _let_go = release.at_end();
            let stuck = Scripted::new("stuck")
                .does(Act::Block(blocking, release.clone()))
                .call_timeout(Duration::from_millis(20));
            let bench = Rig::new().tool(stuck).build();
            let watched = Watched::of(&bench);
            bench.one("stuck", json!({})).await;
            let gate = bench.gate.clone();
            assert_eq!(gate.still_running(), 1);
            drop(bench);
            release.release();
            let end = async {
                while gate.still_running() > 0 || tasks() > 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), end)
                .await
                .expect("it ends");
            drop(gate);
            assert!(watched.gone(), "{blocking:?}");
        });
    }
}

#[test]
fn a_full_channel_and_a_reader_that_goes_away_leave_nothing() {
    let _turn = alone();
    paused(async {
        let bench = everything();
        let watched = Watched::of(&bench);
        let (events, mut arriving) = EventSink::channel(1);
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let line = bench.run_through(names(), &passage);
        let reader = async move {
            for _ in 0..5 {
                arriving.recv().await.unwrap();
            }
        };
        let (results, ()) = futures::join!(line, reader);
        assert_eq!(results.len(), 8);
        drop((bench, passage));
        assert!(watched.gone());
        assert_eq!(tasks(), 0);
    });
}
