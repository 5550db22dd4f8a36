//! A preview is foreign code too: it has its time and ends with the line.
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

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;
use toolgate_gate::approve::Answer;
use toolgate_gate::tool::{Facts, Invocation, Output, Preview, RunCtx, Tool, ToolSpec, View};
use toolgate_model::{Args, ErrorKind, ToolError};
use toolgate_testkit::{Bench, Rig, ScriptedApprover, Workspace, asking, call, paused};

/// Its preview never comes, but for the first few times.
struct Never {
    spec: ToolSpec,
    comes: Arc<AtomicUsize>,
}

struct Looks {
    facts: Facts,
    comes: Arc<AtomicUsize>,
}

impl Tool for Never {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(Looks {
            facts: Facts::none(),
            comes: Arc::clone(&self.comes),
        }))
    }
}

impl Invocation for Looks {
    fn summary(&self) -> String {
        "looks".into()
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        async move {
            let fewer = |left: usize| left.checked_sub(1);
            let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
            if self.comes.fetch_update(set, get, fewer).is_err() {
                std::future::pending::<()>().await;
            }
            let mut preview = Preview::default();
            preview.rests_on.push(view.read("a.txt", 100)?.digest);
            Ok(preview)
        }
        .boxed()
    }

    fn run(self: Box<Self>, _: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        std::future::ready(Ok(Output::plain("ran"))).boxed()
    }
}

/// A bench with a tool whose preview comes so many times.
fn bench(comes: usize) -> Bench {
    let mut spec = ToolSpec::new("act", "Acts.", json!({"type": "object"}));
    spec.side_effects = true;
    spec.timeout = Some(Duration::from_secs(5));
    let tool: Arc<dyn Tool> = Arc::new(Never {
        spec,
        comes: Arc::new(AtomicUsize::new(comes)),
    });
    let workspace = Workspace::new().file("a.txt", "one");
    Rig::new().workspace(workspace).tool(tool).build()
}

#[test]
fn a_preview_that_never_comes_ends_with_the_time_of_its_call() {
    paused(async {
        let bench = bench(0);
        let approver = ScriptedApprover::new([Answer::yes()]);
        let began = Instant::now();
        let calls = vec![call("1", "act", json!({}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Timeout));
        assert!(results[0].content.contains("not ready after 5 s"));
        assert_eq!(began.elapsed().as_secs(), 5);
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn cancelling_ends_a_preview_before_and_after_the_question() {
    paused(async {
        for comes in [0, 1] {
            let bench = bench(comes);
            let file = bench.workspace.path().join("a.txt");
            let passage = asking(
                ScriptedApprover::new([Answer::yes()])
                    .before(move |_| std::fs::write(&file, "two").unwrap()),
            );
            let cancel = passage.cancel.clone();
            let calls = vec![call("1", "act", json!({}))];
            let began = Instant::now();
            let (results, ()) = futures::join!(bench.run_through(calls, &passage), async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                cancel.cancel();
            });
            assert_eq!(results[0].kind(), Some(ErrorKind::Cancelled), "{comes}");
            assert_eq!(began.elapsed().as_secs(), 1, "{comes}");
        }
    });
}
