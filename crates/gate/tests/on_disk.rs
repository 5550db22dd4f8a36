//! The whole line with the record on disk: whatever a batch holds, every call has exactly one
//! result there, and the record is sound.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::Answer;
use toolgate_gate::execute::EventSink;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, OnError, Settings};
use toolgate_journal::{Options, Reader, SqliteJournal, State};
use toolgate_model::Call;
use toolgate_model::json::JsonLimits;
use toolgate_testkit::{Scripted, ScriptedApprover, Step, Workspace, call};

/// A call of a batch: its id and what is called.
fn batches() -> impl Strategy<Value = Vec<Vec<(u8, u8)>>> {
    prop::collection::vec(prop::collection::vec((0_u8..4, 0_u8..6), 1..7), 1..4)
}

fn made((id, what): (u8, u8)) -> Call {
    let id = format!("call_{id}");
    let tools = ["read", "write", "nobody", "panics", "refuses"];
    match tools.get(usize::from(what)) {
        Some(tool) => call(&id, tool, json!({})),
        None => Call::from_wire(id.as_str(), "read", b"{\"a\":", JsonLimits::default()),
    }
}

fn registry() -> Registry {
    let registry = Registry::new();
    for tool in [
        Scripted::new("read"),
        Scripted::new("write").side_effects(),
        Scripted::new("panics").panics_in(Step::Run),
        Scripted::new("refuses").panics_in(Step::Parse),
    ] {
        registry.register(tool.into()).unwrap();
    }
    registry
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn every_call_has_exactly_one_result_on_record(
        batches in batches(),
        max_concurrent in 1_usize..4,
        yes in any::<bool>(),
        stops in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let workspace = Workspace::new();
        let memory = std::path::Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let directory = directory.unwrap();
        let path = directory.path().join("journal.db");
        let journal = SqliteJournal::open(&path, Options::default()).unwrap();
        let settings = Settings {
            max_concurrent,
            on_error: if stops { OnError::Stop } else { OnError::Continue },
            ..Settings::default()
        };
        let registry = Arc::new(registry());
        let gate = Gate::builder(registry, toolgate_gate::Rules::default(), workspace.sandbox().clone(), Arc::new(journal.clone()))
            .settings(settings)
            .build()
            .unwrap();
        let session = Arc::new(Session::new("c"));
        let count = batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        runtime.block_on(async {
            for batch in batches {
                let answer = if yes { Answer::yes() } else { Answer::no() };
                let passage = BatchContext {
                    approver: Some(Arc::new(ScriptedApprover::new([answer]))),
                    events: EventSink::none(),
                    ..BatchContext::default()
                };
                let calls: Vec<Call> = batch.into_iter().map(made).collect();
                let sent = calls.len();
                let results = gate.run(&session, calls, &passage).await;
                assert_eq!(results.len(), sent);
                for result in results {
                    assert!(!result.metadata.contains_key("journal"), "{result:?}");
                }
            }
        });
        drop((gate, journal));
        let verified = Reader::open(&path).unwrap().verify(None).unwrap();
        prop_assert_eq!(&verified.problems, &[]);
        prop_assert_eq!(verified.calls, [(State::Finished, count)].into());
    }
}
