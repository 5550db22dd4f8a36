//! Many conversations in one process: what they share and what they do not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;
use toolgate_gate::approve::{
    Grant, GrantError, GrantScope, GrantStamp, GrantStore, GrantsInMemory,
};
use toolgate_gate::execute::EventSink;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Facts;
use toolgate_gate::{BatchContext, Gate, Rules};
use toolgate_model::{Access, Action, ErrorKind, Status, ToolResult};
use toolgate_policy::{Permission, RuleSpec, Scope};
use toolgate_testkit::{Act, Bench, Rig, Scripted, Workspace, call};

fn paused<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

const SLOW: Duration = Duration::from_secs(40);

/// Tools that take 40 seconds and half a second, all of them allowed.
fn tools(rig: Rig) -> Bench {
    let opaque = |name: &str| {
        let mut rule = RuleSpec::new(name, Action::Allow);
        rule.opaque = true;
        rule
    };
    let takes = |name: &str, time: Duration, facts: Facts| {
        Scripted::new(name)
            .does(Act::Take(time))
            .facts(facts)
            .call_timeout(time + Duration::from_millis(100))
    };
    let half = Duration::from_millis(500);
    rig.tool(takes("command", SLOW, Facts::opaque()))
        .tool(takes("read", half, Facts::reading("a")))
        .tool(takes("write", half, Facts::writing("a")))
        .tool(takes("slow_write", SLOW, Facts::writing("a")))
        .rule(opaque("command"))
        .rule(RuleSpec::new("write", Action::Allow))
        .rule(RuleSpec::new("slow_write", Action::Allow))
        .build()
}

async fn run(gate: &Gate, session: &Arc<Session>, tool: &str) -> (ToolResult, Duration) {
    run_through(gate, session, tool, &BatchContext::default()).await
}

async fn run_through(
    gate: &Gate,
    session: &Arc<Session>,
    tool: &str,
    passage: &BatchContext,
) -> (ToolResult, Duration) {
    let began = Instant::now();
    let calls = vec![call(tool, tool, json!({}))];
    let result = gate.run(session, calls, passage).await.remove(0);
    (result, began.elapsed())
}

fn sessions(count: usize) -> Vec<Arc<Session>> {
    // Names may repeat; sessions do not.
    (0..count).map(|_| Arc::new(Session::new("same"))).collect()
}

#[test]
fn a_command_excludes_calls_of_its_own_conversation_only() {
    paused(async {
        let bench = tools(Rig::new());
        let (gate, all) = (&bench.gate, sessions(2));
        for (own, tool, took_ms) in [
            (false, "read", 500),
            (false, "write", 500),
            (false, "command", 40_000),
            (true, "read", 40_500),
            (true, "command", 80_000),
        ] {
            let session = if own { &all[0] } else { &all[1] };
            let (command, (result, took)) =
                futures::join!(run(gate, &all[0], "command"), run(gate, session, tool));
            assert_eq!(command.0.status(), Status::Ok);
            assert_eq!(result.status(), Status::Ok, "{result:?}");
            assert_eq!(took.as_millis(), took_ms, "{tool}, own: {own}");
        }
    });
}

#[test]
fn commands_of_twenty_conversations_run_at_the_same_time() {
    paused(async {
        let bench = tools(Rig::new());
        let all = sessions(20);
        let began = Instant::now();
        let runs = all
            .iter()
            .map(|session| run(&bench.gate, session, "command"));
        for (result, _) in futures::future::join_all(runs).await {
            assert_eq!(result.status(), Status::Ok);
        }
        assert_eq!(began.elapsed(), SLOW);
    });
}

#[test]
fn more_commands_than_may_run_at_once_wait_for_their_turn() {
    paused(async {
        let run_facts = Facts {
            runs: vec![toolgate_model::Run::default()],
            ..Facts::none()
        };
        let half = Duration::from_millis(500);
        let takes = |name: &str, facts| {
            Scripted::new(name)
                .does(Act::Take(half))
                .facts(facts)
                .call_timeout(half + Duration::from_millis(100))
        };
        let bench = Rig::new()
            .tool(takes("program", run_facts))
            .tool(takes("read", Facts::reading("a")))
            .settings(|settings| settings.max_commands = 2)
            .without_rules()
            .settings(|settings| settings.command_sandbox = true)
            .build();
        let all = sessions(5);
        let runs = all
            .iter()
            .map(|session| run(&bench.gate, session, "program"));
        let last = Arc::new(Session::new("reads"));
        let (runs, (read, read_took)) = futures::join!(
            futures::future::join_all(runs),
            run(&bench.gate, &last, "read")
        );
        let mut took = Vec::new();
        for (result, time) in runs {
            assert_eq!(result.status(), Status::Ok, "{result:?}");
            assert_eq!(result.duration_ms, 500);
            took.push(time.as_millis());
        }
        assert_eq!(took, [500, 500, 1_000, 1_000, 1_500]);
        assert_eq!(read.status(), Status::Ok);
        assert_eq!(read_took, half);
    });
}

#[test]
fn waiting_for_a_lock_counts_into_no_deadline_and_no_duration() {
    paused(async {
        let bench = tools(Rig::new());
        let all = sessions(2);
        let waits = async {
            tokio::task::yield_now().await;
            run(&bench.gate, &all[1], "write").await
        };
        let watch = async {
            tokio::time::sleep(SLOW / 2).await;
            bench.journal.of("write").contains(&"started")
        };
        let (slow, (result, took), started) =
            futures::join!(run(&bench.gate, &all[0], "slow_write"), waits, watch);
        assert_eq!(slow.0.status(), Status::Ok);
        assert_eq!(result.status(), Status::Ok, "{result:?}");
        assert_eq!((took.as_millis(), result.duration_ms), (40_500, 500));
        assert!(!started, "started is recorded after the lock");
        assert!(bench.journal.of("write").contains(&"started"));
    });
}

#[test]
fn a_call_that_is_cancelled_while_it_waits_never_started() {
    paused(async {
        let bench = tools(Rig::new());
        let all = sessions(2);
        let passage = BatchContext::default();
        let cancels = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            passage.cancel.cancel();
        };
        let (_, (result, took), ()) = futures::join!(
            run(&bench.gate, &all[0], "slow_write"),
            run_through(&bench.gate, &all[1], "write", &passage),
            cancels
        );
        assert_eq!(result.kind(), Some(ErrorKind::Cancelled));
        assert_eq!((took.as_secs(), result.duration_ms), (1, 0));
        let kinds = bench.journal.of("write");
        assert!(!kinds.contains(&"started"), "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"finished"));
    });
}

#[test]
fn every_name_of_a_file_is_one_lock() {
    let workspace = Workspace::new().file("a", "").file("b", "");
    std::os::unix::fs::symlink("a", workspace.path().join("link")).unwrap();
    let half = Duration::from_millis(500);
    let mut rig = Rig::new().workspace(workspace);
    let names = ["a", "./a", "link", "b"];
    for (index, path) in names.iter().enumerate() {
        let tool = Scripted::new(&format!("write_{index}"))
            .does(Act::Take(half))
            .facts(Facts::writing(*path));
        rig = rig
            .tool(tool)
            .rule(RuleSpec::new(format!("write_{index}"), Action::Allow));
    }
    let bench = rig.build();
    paused(async {
        let all = sessions(2);
        for (index, path) in names.iter().enumerate() {
            let other = format!("write_{index}");
            let (first, (second, took)) = futures::join!(
                run(&bench.gate, &all[0], "write_0"),
                run(&bench.gate, &all[1], &other)
            );
            assert_eq!(first.0.status(), Status::Ok, "{:?}", first.0);
            assert_eq!(second.status(), Status::Ok, "{second:?}");
            let expected = if *path == "b" { 500 } else { 1_000 };
            assert_eq!(took.as_millis(), expected, "{path}");
        }
    });
}

#[test]
fn gates_over_one_workspace_share_locks_and_other_gates_do_not() {
    paused(async {
        let (one, elsewhere) = (tools(Rig::new()), tools(Rig::new()));
        let sandbox = one.workspace.sandbox().clone();
        let journal = Arc::new(one.journal.clone());
        let same = Gate::builder(
            Arc::clone(&one.registry),
            Rules::nothing_to_check(),
            sandbox,
            journal,
        )
        .build()
        .unwrap();
        let all = sessions(3);
        let (first, second, third) = futures::join!(
            run(&one.gate, &all[0], "write"),
            run(&same, &all[1], "write"),
            run(&elsewhere.gate, &all[2], "write")
        );
        let took = [first.1, second.1, third.1].map(|took| took.as_millis());
        assert_eq!(took, [500, 1_000, 500]);
    });
}

#[test]
fn a_listener_that_never_reads_stops_its_own_conversation_only() {
    paused(async {
        let bench = tools(Rig::new());
        let (events, _never_read) = EventSink::channel(3);
        let deaf = BatchContext {
            events,
            ..BatchContext::default()
        };
        let all = sessions(2);
        for tool in ["write", "command"] {
            // Three events fit: received, planned, and one more.
            let stops = run_through(&bench.gate, &all[0], tool, &deaf);
            let stops = tokio::time::timeout(SLOW * 2, stops);
            let others = async {
                tokio::time::sleep(SLOW + Duration::from_secs(1)).await;
                let mut took = Vec::new();
                for other in ["read", "write", "command"] {
                    let (result, time) = run(&bench.gate, &all[1], other).await;
                    assert_eq!(result.status(), Status::Ok);
                    took.push(time.as_millis());
                }
                took
            };
            let (stopped, took) = futures::join!(stops, others);
            assert!(stopped.is_err(), "it waits for its listener");
            assert_eq!(took, [500, 500, 40_000], "{tool}");
        }
    });
}

#[test]
fn a_start_that_the_listener_has_no_room_for_does_not_hold_a_lock() {
    paused(async {
        let bench = tools(Rig::new());
        // Received and planned fit; that the call started does not.
        let (events, mut arriving) = EventSink::channel(2);
        let slow = BatchContext {
            events,
            ..BatchContext::default()
        };
        let all = sessions(2);
        let first = tokio::spawn({
            let (gate, session) = (bench.gate.clone(), Arc::clone(&all[0]));
            async move { run_through(&gate, &session, "write", &slow).await.0 }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (second, took) = run(&bench.gate, &all[1], "write").await;
        assert_eq!(second.status(), Status::Ok);
        assert_eq!(took.as_millis(), 500);
        let mut names = Vec::new();
        while let Some(event) = arriving.recv().await {
            let event = serde_json::to_value(&event).unwrap();
            names.push(event["type"].as_str().unwrap().to_owned());
        }
        let order = [
            "call_received",
            "call_planned",
            "call_started",
            "call_finished",
        ];
        assert_eq!(names, order);
        assert_eq!(first.await.unwrap().status(), Status::Ok);
    });
}

/// Counts how often its list is read.
#[derive(Default)]
struct Watched {
    within: GrantsInMemory,
    lists: AtomicUsize,
}

impl GrantStore for Watched {
    fn stamp(&self) -> BoxFuture<'_, Option<GrantStamp>> {
        self.within.stamp()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.within.list()
    }

    fn add<'a>(&'a self, grants: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>> {
        self.within.add(grants)
    }

    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, GrantError>> {
        self.within.revoke(id)
    }
}

fn grant(id: &str) -> Grant {
    Grant {
        id: id.into(),
        at_ms: 0,
        tool: "edit".into(),
        scope: GrantScope::Path {
            access: Access::Write,
            path: "a".into(),
        },
    }
}

#[test]
fn grants_are_read_again_only_when_they_changed() {
    paused(async {
        let store = Arc::new(Watched::default());
        let edit = Scripted::new("edit")
            .side_effects()
            .facts(Facts::writing("a"));
        let bench = Rig::new()
            .tool(edit)
            .grants(Arc::clone(&store) as Arc<dyn GrantStore>)
            .build();
        let permission = Permission {
            allowed: true,
            ..Permission::default()
        };
        let scope = Scope {
            permissions: [("edit".to_owned(), permission)].into(),
        };
        let scoped = Arc::new(Session::new("scoped").scoped(scope));
        let run = async |allowed: bool, lists: usize| {
            for session in [&bench.session, &scoped, &bench.session] {
                let calls = vec![call("1", "edit", json!({}))];
                let result = bench
                    .gate
                    .run(session, calls, &BatchContext::default())
                    .await;
                assert_eq!(result[0].error.is_none(), allowed, "{:?}", result[0]);
            }
            assert_eq!(store.lists.load(Ordering::Relaxed), lists);
        };
        run(false, 1).await;
        store.add(&[grant("g")]).await.unwrap();
        run(true, 2).await;
        store.revoke("g").await.unwrap();
        run(false, 3).await;
    });
}

#[test]
fn an_output_is_released_when_its_conversation_ends() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("long").gives("x".repeat(200_000)))
            .build();
        let result = bench.one("long", json!({})).await;
        let handle = result.output_handle.unwrap();
        let (outputs, id) = (bench.session.outputs(), bench.session.id());
        assert!(outputs.open(id, &handle).await.is_some());
        bench.session.end().await;
        assert!(outputs.open(id, &handle).await.is_none());
    });
}

#[test]
fn an_idle_conversation_takes_little_memory() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4096
    };
    let count = 5_000;
    let before = resident();
    let all: Vec<Session> = (0..count).map(|n| Session::new(n.to_string())).collect();
    let each = resident().saturating_sub(before) / all.len();
    // Other tests of this file run meanwhile; the bound leaves room for them.
    assert!(each < 16 * 1024, "{each} bytes");
}
