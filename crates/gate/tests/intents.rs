//! What is about to happen to files is on record before it happens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use serde_json::json;
use toolgate_gate::journal::{Image, Intended, Record};
use toolgate_gate::tool::{Invocation, Output, RunCtx, Tool, ToolSpec};
use toolgate_model::{Args, ErrorKind, Facts, Status, ToolError};
use toolgate_testkit::{FaultyJournal, Rig, paused};

/// Says what it will do to a file, and then does it: it counts.
struct Changes {
    spec: ToolSpec,
    done: Arc<AtomicUsize>,
}

struct Change {
    facts: Facts,
    done: Arc<AtomicUsize>,
}

impl Tool for Changes {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(Change {
            facts: Facts::none(),
            done: self.done.clone(),
        }))
    }
}

impl Invocation for Change {
    fn summary(&self) -> String {
        "changes a file".into()
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            let file = Intended {
                path: "a.txt".into(),
                place: "/w/a.txt".into(),
                before: Some(Image::of(b"what it held".to_vec())),
                after: None,
                mode: Some(0o644),
                staged: None,
            };
            cx.intend(vec![file]).await?;
            self.done.fetch_add(1, Ordering::SeqCst);
            Ok(Output::plain("changed"))
        })
    }
}

fn rig(journal: FaultyJournal) -> (toolgate_testkit::Bench, Arc<AtomicUsize>) {
    let done = Arc::<AtomicUsize>::default();
    let tool = Changes {
        spec: ToolSpec::new("change", "changes a file", json!({"type": "object"})),
        done: done.clone(),
    };
    let tool: Arc<dyn Tool> = Arc::new(tool);
    (Rig::new().tool(tool).journal(journal).build(), done)
}

#[test]
fn an_intent_is_committed_between_start_and_result_without_the_content() {
    paused(async {
        let (bench, done) = rig(FaultyJournal::sound());
        let result = bench.one("change", json!({})).await;
        assert_eq!(
            (result.status(), done.load(Ordering::SeqCst)),
            (Status::Ok, 1)
        );
        let kinds = bench.journal.of("one");
        assert_eq!(
            kinds,
            ["received", "planned", "started", "intended", "finished"]
        );
        let entries = bench.journal.entries();
        let Record::Intended { files } = &entries[3].record else {
            panic!("{entries:?}")
        };
        assert_eq!(files[0].path, "a.txt");
        assert!(files[0].before.is_some() && files[0].after.is_none());
        let text = serde_json::to_string(&entries).unwrap();
        assert!(!text.contains("what it held"), "{text}");
    });
}

#[test]
fn a_tool_does_not_go_on_when_its_intent_is_not_on_record() {
    paused(async {
        let (bench, done) = rig(FaultyJournal::failing_at([2]));
        let result = bench.one("change", json!({})).await;
        let error = result.error.unwrap();
        assert_eq!(
            (error.kind, done.load(Ordering::SeqCst)),
            (ErrorKind::Journal, 0)
        );
        assert!(
            error.message.contains("no file was changed"),
            "{}",
            error.message
        );
        assert_eq!(bench.journal.of("one").last(), Some(&"finished"));
    });
}
