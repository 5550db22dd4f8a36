//! What a call gets ready while its start is put on record.
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
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use toolgate_gate::Gate;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::journal::{Batch, Entry, Journal, JournalError, Record};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Facts, Output, Tool, typed};
use toolgate_journal::MemoryJournal;
use toolgate_model::{ErrorKind, Status, ToolResult};
use toolgate_testkit::{FaultyJournal, Workspace, asking, call, paused};

/// What happened, in order.
#[derive(Clone, Default)]
struct Diary {
    lines: Arc<Mutex<Vec<&'static str>>>,
    /// Tells of every line.
    news: Arc<Notify>,
}

impl Diary {
    fn note(&self, line: &'static str) {
        self.lines.lock().unwrap().push(line);
        self.news.notify_waiters();
    }

    fn lines(&self) -> Vec<&'static str> {
        self.lines.lock().unwrap().clone()
    }

    async fn has(&self, line: &str) {
        loop {
            let news = self.news.notified();
            if self.lines().contains(&line) {
                return;
            }
            news.await;
        }
    }
}

/// What was made ready; it notes that it is gone.
#[derive(Debug)]
struct Thing(Diary);

impl std::fmt::Debug for Diary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Diary")
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        self.0.note("thing gone");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {
    #[serde(skip)]
    thing: Option<Thing>,
}

/// A tool that makes a thing ready and alone uses everything.
fn tool(diary: &Diary, prepare: fn(&Diary)) -> Arc<dyn Tool> {
    let (prepares, runs) = (diary.clone(), diary.clone());
    let tool = typed("make", "Makes a thing.", move |args: Nothing, _| {
        let diary = runs.clone();
        async move {
            diary.note(if args.thing.is_some() {
                "ran with it"
            } else {
                "ran without"
            });
            Ok(Output::plain("done"))
        }
    })
    .facts(|_| Facts::opaque())
    .prepare(move |args, ahead| {
        assert!(ahead.opened().is_empty() && ahead.sandbox().roots().get(0).is_some());
        prepare(&prepares);
        args.thing = Some(Thing(prepares.clone()));
    });
    Arc::new(tool)
}

fn gate(journal: Arc<dyn Journal>, tools: Vec<Arc<dyn Tool>>) -> (Gate, Workspace) {
    let (registry, workspace) = (Arc::new(Registry::new()), Workspace::new());
    for tool in tools {
        registry.register(tool).unwrap();
    }
    let gate = Gate::builder(
        registry,
        toolgate_gate::Rules::default(),
        workspace.sandbox().clone(),
        journal,
    )
    .build()
    .unwrap();
    (gate, workspace)
}

async fn run(gate: &Gate, name: &str) -> Vec<ToolResult> {
    run_in(&Arc::new(Session::new("s")), gate, name).await
}

async fn run_in(session: &Arc<Session>, gate: &Gate, name: &str) -> Vec<ToolResult> {
    let calls = vec![call(name, name, json!({}))];
    gate.run(session, calls, &asking(ApproveAll)).await
}

/// A journal that puts a start on record only when the diary has a line.
struct Waits {
    within: MemoryJournal,
    diary: Diary,
}

impl Journal for Waits {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        Box::pin(async {
            let mut entries = batch.entries().iter();
            let starts = entries.any(|e| matches!(e.record, Record::Started));
            if starts {
                self.diary.note("record begun");
                let prepared = self.diary.has("prepared");
                if timeout(Duration::from_secs(60), prepared).await.is_err() {
                    self.diary.note("waited in vain");
                }
                // Whatever could overtake the record has all the time for it.
                sleep(Duration::from_secs(1)).await;
                self.diary.note("on record");
            }
            self.within.append(batch).await
        })
    }
}

#[test]
fn a_call_gets_ready_while_its_start_is_put_on_record_and_runs_after_it() {
    paused(async {
        let diary = Diary::default();
        let journal = Waits {
            within: MemoryJournal::new(),
            diary: diary.clone(),
        };
        let make = tool(&diary, |diary| diary.note("prepared"));
        let (gate, _workspace) = gate(Arc::new(journal), vec![make]);
        let results = run(&gate, "make").await;
        assert_eq!(results[0].status(), Status::Ok);
        assert_eq!(
            diary.lines(),
            [
                "prepared",
                "record begun",
                "on record",
                "ran with it",
                "thing gone"
            ]
        );
    });
}

#[test]
fn a_preparation_is_dropped_when_the_start_cannot_be_recorded() {
    paused(async {
        let diary = Diary::default();
        let make = tool(&diary, |diary| diary.note("prepared"));
        let journal = FaultyJournal::failing_at([1]);
        let (gate, _workspace) = gate(Arc::new(journal), vec![make]);
        let results = run(&gate, "make").await;
        assert_eq!(results[0].error.as_ref().unwrap().kind, ErrorKind::Journal);
        assert_eq!(diary.lines(), ["prepared", "thing gone"]);
        // Nor does it keep anybody else from the paths.
        assert_eq!(run(&gate, "make").await[0].status(), Status::Ok);
    });
}

#[test]
fn a_panic_while_getting_ready_is_the_result_of_the_call() {
    paused(async {
        let diary = Diary::default();
        let make = tool(&diary, |_| panic!("not today"));
        let journal = MemoryJournal::new();
        let (gate, _workspace) = gate(Arc::new(journal.clone()), vec![make]);
        let results = run(&gate, "make").await;
        assert_eq!(results.len(), 1);
        let error = results[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Panicked);
        assert!(error.message.contains("not today"), "{error:?}");
        assert!(diary.lines().is_empty(), "{:?}", diary.lines());
        let entries = journal.entries();
        let last = &entries.last().unwrap().record;
        assert!(matches!(last, Record::Finished { .. }), "{last:?}");
    });
}

#[test]
fn a_call_that_waits_for_a_lock_is_neither_ready_nor_started() {
    paused(async {
        let diary = Diary::default();
        let make = tool(&diary, |diary| diary.note("prepared"));
        let (go, gone) = oneshot::channel::<()>();
        let entered = Arc::new(Notify::new());
        let (gone, tells) = (Arc::new(Mutex::new(Some(gone))), Arc::clone(&entered));
        let busy = typed("busy", "Takes its time.", move |_: Nothing, _| {
            let gone = gone.lock().unwrap().take();
            tells.notify_one();
            async move {
                let _ = gone.unwrap().await;
                Ok(Output::plain("done"))
            }
        })
        .facts(|_| Facts::opaque());
        let journal = MemoryJournal::new();
        let (gate, _workspace) = gate(Arc::new(journal.clone()), vec![make, Arc::new(busy)]);
        let session = Arc::new(Session::new("s"));
        let other = tokio::spawn({
            let (gate, session) = (gate.clone(), Arc::clone(&session));
            async move { run_in(&session, &gate, "busy").await }
        });
        entered.notified().await;
        let mine = tokio::spawn({
            let (gate, session) = (gate.clone(), Arc::clone(&session));
            async move { run_in(&session, &gate, "make").await }
        });
        // Almost as long as the other one may take.
        sleep(Duration::from_secs(29)).await;
        let is_started = |entry: &&Entry| {
            entry.call.as_str() == "make" && matches!(entry.record, Record::Started)
        };
        assert_eq!(journal.entries().iter().filter(is_started).count(), 0);
        assert!(diary.lines().is_empty(), "{:?}", diary.lines());
        go.send(()).unwrap();
        assert_eq!(other.await.unwrap()[0].status(), Status::Ok);
        assert_eq!(mine.await.unwrap()[0].status(), Status::Ok);
        assert_eq!(diary.lines(), ["prepared", "ran with it", "thing gone"]);
        assert_eq!(journal.entries().iter().filter(is_started).count(), 1);
    });
}
