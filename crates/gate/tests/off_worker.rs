//! What reads, hashes or waits for a disk leaves the threads of the runtime to other tasks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::journal::{Files, MemoryJournal};
use toolgate_gate::output::Limits;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::{KeptInMemory, KeptOnDisk, OutputStore, Session};
use toolgate_gate::tool::{Facts, Output, Preview, typed};
use toolgate_gate::{BatchContext, Gate, Rules};
use toolgate_model::{Args, Call, FileDigest, ToolCall};
use toolgate_sandbox::paths::{PathRules, PathSandbox};

/// So long nobody waits in a test that goes well.
const LONG: Duration = Duration::from_secs(30);
/// The file that calls rest on.
const BYTES: usize = 3 << 20;

/// A runtime with one thread: what blocks it blocks every task.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// The text that the preview shows.
    text: String,
}

struct Bench {
    directory: TempDir,
    gate: Gate,
    session: Arc<Session>,
    context: BatchContext,
}

impl Bench {
    /// A gate with a tool whose preview is quick and rests on a large file.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("large"), vec![b'x'; BYTES]).unwrap();
        let paths = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
        let digest = hash(&directory.path().join("large"));
        let change = typed("change", "Changes it.", |_: Change, _| async {
            Ok(Output::plain("done"))
        })
        .facts(|_| Facts::writing("small"))
        .side_effects()
        .requires_approval()
        .preview(move |args, _| {
            let rests_on = vec![FileDigest {
                path: "large".into(),
                sha256: Some(digest.clone()),
            }];
            let limits = Limits::bytes(1_000);
            Ok(Preview::bounded(&args.text, limits, &["text"], rests_on))
        });
        let registry = Registry::new();
        registry.register(Arc::new(change)).unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let gate = Gate::builder(Arc::new(registry), Rules::default(), paths, journal);
        Self {
            directory,
            gate: gate.build().unwrap(),
            session: Arc::new(Session::new("c")),
            context: BatchContext::asking(ApproveAll),
        }
    }
}

fn hash(file: &Path) -> String {
    let paths = PathSandbox::open(&PathRules::new(file.parent().unwrap())).unwrap();
    Files::sha256(&paths, file).unwrap().unwrap()
}

fn call(id: usize) -> Call {
    let args: Args = json!({"text": "new"}).as_object().unwrap().clone();
    Call::Whole(ToolCall::new(format!("call_{id}"), "change", args))
}

/// The longest time for which another task of the runtime had to wait for its turn.
async fn longest_wait<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let mut work = std::pin::pin!(work);
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    let value = std::future::poll_fn(|cx| {
        let polled = work.as_mut().poll(cx);
        longest = longest.max(last.elapsed());
        last = Instant::now();
        // Another task that is always ready would be polled now.
        cx.waker().wake_by_ref();
        polled
    })
    .await;
    (value, longest)
}

#[test]
fn a_large_file_that_a_call_rests_on_is_read_elsewhere() {
    let bench = Bench::new();
    let began = Instant::now();
    hash(&bench.directory.path().join("large"));
    let in_place = began.elapsed();
    runtime().block_on(async {
        let mut least = [LONG; 3];
        // The machine can be busy: of several tries the best counts.
        for id in 0..4 {
            let Bench {
                gate,
                session,
                context,
                ..
            } = &bench;
            let (planned, planning) = longest_wait(gate.plan(session, vec![call(id)])).await;
            let (ready, approving) = longest_wait(gate.approve(session, planned, context)).await;
            let (results, running) = longest_wait(gate.execute(session, ready, context)).await;
            assert_eq!(results[0].error, None);
            for (least, now) in least.iter_mut().zip([planning, approving, running]) {
                *least = now.min(*least);
            }
        }
        for (least, stage) in least.iter().zip(["plan", "approve", "execute"]) {
            assert!(
                *least < in_place / 5,
                "{stage}: {least:?}, and hashing takes {in_place:?}"
            );
        }
    });
}

/// A text that does not come before another task of the same runtime had its turn.
struct Slow(Receiver<()>);

impl Read for Slow {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        let told = self.0.recv_timeout(LONG);
        told.map(|()| 0).map_err(std::io::Error::other)
    }
}

#[test]
fn a_store_that_reads_a_slow_text_holds_up_no_other_task() {
    let directory = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn OutputStore>; 2] = [
        Arc::new(KeptInMemory::default()),
        Arc::new(KeptOnDisk::at(directory.path(), 1 << 20, 1 << 20)),
    ];
    for store in stores {
        let (go, text) = channel();
        runtime().block_on(async {
            let id = "c".into();
            let keep = store.keep(&id, Box::new(Slow(text)));
            let other = async { go.send(()).unwrap() };
            let (kept, ()) = tokio::join!(keep, other);
            kept.unwrap();
        });
    }
}
