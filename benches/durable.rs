//! A call with the journal on disk, against the bare commits that it needs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_benches::{Figure, report};
use toolgate_gate::journal::{Batch, Entry, Journal, JournalError};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Output, typed};
use toolgate_gate::{BatchContext, Gate};
use toolgate_journal::{Options, SqliteJournal};
use toolgate_model::{Args, Call, ToolCall};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::ToolSettings;

const CALLS: usize = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A journal that remembers what was committed together.
struct Watched {
    journal: SqliteJournal,
    commits: Mutex<Vec<Vec<Entry>>>,
}

impl Journal for Watched {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.commits.lock().unwrap().push(batch.entries().to_vec());
        self.journal.append(batch)
    }
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let text = "0123456789abcdef0123456789abcde\n".repeat(64);
    std::fs::write(directory.path().join("two.txt"), text).unwrap();
    let open = |name: &str| {
        let path = directory.path().join(name);
        SqliteJournal::open(path, Options::default()).unwrap()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let registry = Arc::new(Registry::new());
    toolgate_tools::register_all(&registry, &ToolSettings::default()).unwrap();
    let nothing = typed("noop", "Does nothing.", |_: Nothing, _| async {
        Ok(Output::plain("done"))
    });
    registry.register(Arc::new(nothing)).unwrap();
    let path: Args = [("path".to_owned(), "two.txt".into())]
        .into_iter()
        .collect();
    for (tool, args) in [("noop", Args::new()), ("read_file", path)] {
        let watched = Arc::new(Watched {
            journal: open(&format!("{tool}.db")),
            commits: Mutex::default(),
        });
        let bare = open(&format!("{tool}-bare.db"));
        let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
        let journal = Arc::clone(&watched) as Arc<dyn Journal>;
        let gate = Gate::builder(
            Arc::clone(&registry),
            toolgate_gate::Rules::default(),
            sandbox,
            journal,
        )
        .build()
        .unwrap();
        let session = Arc::new(Session::new("bench"));
        let task = runtime.spawn(async move {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let mut commits = 0;
            for number in 0..CALLS {
                let call = ToolCall::new(format!("call_{number}"), tool, args.clone());
                let began = Instant::now();
                let results = gate
                    .run(&session, vec![Call::Whole(call)], &BatchContext::default())
                    .await;
                ours.push(began.elapsed());
                assert!(results[0].error.is_none(), "{:?}", results[0]);
                let needed = std::mem::take(&mut *watched.commits.lock().unwrap());
                commits = needed.len();
                let began = Instant::now();
                for entries in needed {
                    bare.commit(entries).await.unwrap();
                }
                theirs.push(began.elapsed());
            }
            (median(ours), median(theirs), commits)
        });
        let (ours, theirs, commits) = runtime.block_on(task).unwrap();
        report(
            &format!("durable call, {tool}"),
            ours,
            Some((&format!("its {commits} commits alone"), theirs)),
            Some("at most 1.3 times"),
        );
    }
}

fn median(mut taken: Vec<Duration>) -> Figure {
    taken.sort_unstable();
    Figure {
        ns: taken[taken.len() / 2].as_secs_f64() * 1e9,
    }
}
