//! A record that nobody changed is sound, whatever was written to it in which order.

use futures::executor::block_on;
use futures::future::BoxFuture;
use proptest::prelude::*;
use toolgate_gate::journal::{
    Image, Intended, Journal, LeaseJournal, PruneJournal, Record, Recovered,
};
use toolgate_gate::store::{Space, Store};
use toolgate_journal::{Prune, SqliteJournal};
use toolgate_model::ToolResult;

use crate::fixture::{Place, entry, finished, received, start};

#[derive(Clone, Debug)]
enum Op {
    Begin {
        conversation: u8,
        workspace: u8,
    },
    Receive {
        conversation: u8,
        call: u8,
        at_ms: u64,
    },
    Start {
        conversation: u8,
        call: u8,
        at_ms: u64,
    },
    Intend {
        conversation: u8,
        call: u8,
        at_ms: u64,
        content: u8,
    },
    Finish {
        conversation: u8,
        call: u8,
        at_ms: u64,
        still_running: bool,
    },
    Recover {
        conversation: u8,
        call: u8,
        at_ms: u64,
        outcome: u8,
    },
    Set {
        key: u8,
        value: u8,
    },
    Delete {
        key: u8,
    },
    Prune {
        before_ms: u64,
    },
    End {
        conversation: u8,
    },
}

fn op() -> impl Strategy<Value = Op> {
    // Few of everything, and times in any order: contents are shared, pruned and written again.
    let at = || (0_u8..2, 0_u8..3, 0_u64..40);
    prop_oneof![
        1 => (0_u8..2, 0_u8..3).prop_map(|(conversation, workspace)| Op::Begin { conversation, workspace }),
        2 => at().prop_map(|(conversation, call, at_ms)| Op::Receive { conversation, call, at_ms }),
        4 => at().prop_map(|(conversation, call, at_ms)| Op::Start { conversation, call, at_ms }),
        4 => (at(), 0_u8..3).prop_map(|((conversation, call, at_ms), content)| Op::Intend { conversation, call, at_ms, content }),
        3 => (at(), any::<bool>()).prop_map(|((conversation, call, at_ms), still_running)| Op::Finish { conversation, call, at_ms, still_running }),
        2 => (at(), 0_u8..3).prop_map(|((conversation, call, at_ms), outcome)| Op::Recover { conversation, call, at_ms, outcome }),
        2 => (0_u8..3, 0_u8..3).prop_map(|(key, value)| Op::Set { key, value }),
        1 => (0_u8..3).prop_map(|key| Op::Delete { key }),
        3 => (0_u64..45).prop_map(|before_ms| Op::Prune { before_ms }),
        1 => (0_u8..2).prop_map(|conversation| Op::End { conversation }),
    ]
}

/// Does it; an entry that cannot follow is refused, and that is fine.
fn done<'a>(journal: &'a SqliteJournal, op: &Op) -> BoxFuture<'a, bool> {
    let names = |conversation: u8, call: u8| (format!("c{conversation}"), call.to_string());
    let put = |conversation: u8, call: u8, at_ms, record| {
        let (conversation, call) = names(conversation, call);
        let committed = journal.commit(vec![entry(&conversation, &call, at_ms, record)]);
        Box::pin(async move { committed.await.is_ok() }) as BoxFuture<'_, bool>
    };
    match *op {
        Op::Begin {
            conversation,
            workspace,
        } => {
            let id = format!("c{conversation}").as_str().into();
            let workspace = (workspace > 0).then(|| format!("/w{workspace}"));
            Box::pin(async move {
                let workspace = workspace.as_deref().map(AsRef::as_ref);
                journal.begin(&id, workspace).await.is_ok()
            })
        }
        Op::Receive {
            conversation,
            call,
            at_ms,
        } => put(conversation, call, at_ms, received(&call.to_string())),
        Op::Start {
            conversation,
            call,
            at_ms,
        } => {
            let (conversation, call) = names(conversation, call);
            let committed = journal.commit(start(&conversation, &call, at_ms));
            Box::pin(async move { committed.await.is_ok() })
        }
        Op::Intend {
            conversation,
            call,
            at_ms,
            content,
        } => {
            let (conversation, call) = names(conversation, call);
            let file = Intended {
                path: "a".into(),
                place: format!("/w/{conversation}/{call}").into(),
                before: Some(Image::of(vec![content])),
                after: None,
                mode: None,
                staged: None,
            };
            let (file, image) = file.split();
            let record = Record::Intended { files: vec![file] };
            let images = image.into_iter().collect();
            let kept = journal.intend(entry(&conversation, &call, at_ms, record), images);
            Box::pin(async move { kept.await.is_ok() })
        }
        Op::Finish {
            conversation,
            call,
            at_ms,
            still_running,
        } => {
            let mut record = finished(&call.to_string());
            if still_running {
                let mut result = ToolResult::ok(call.to_string().as_str().into(), "t", "late");
                result.metadata.insert("still_running".into(), true.into());
                record = Record::Finished {
                    result: Box::new(result),
                };
            }
            put(conversation, call, at_ms, record)
        }
        Op::Recover {
            conversation,
            call,
            at_ms,
            outcome,
        } => {
            let outcome = match outcome {
                0 => Recovered::LeftAlone,
                1 => Recovered::Back,
                _ => Recovered::Forward,
            };
            let files = Vec::new();
            put(
                conversation,
                call,
                at_ms,
                Record::Recovered { outcome, files },
            )
        }
        Op::Set { key, value } => Box::pin(async move {
            let space = Space::new("/w", "memory");
            let set = journal.set(&space, &key.to_string(), value.to_string());
            set.await.is_ok()
        }),
        Op::Delete { key } => Box::pin(async move {
            let space = Space::new("/w", "memory");
            journal.delete(&space, &key.to_string()).await.is_ok()
        }),
        Op::Prune { before_ms } => Box::pin(async move {
            let what = Prune {
                before_ms: Some(before_ms),
                to_bytes: None,
            };
            journal.prune(what).await.is_ok()
        }),
        Op::End { conversation } => {
            let id = format!("c{conversation}").as_str().into();
            Box::pin(async move { journal.release(&id).await.is_ok() })
        }
    }
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn an_untouched_record_is_sound(
        // What stands together is asked at once and may share a commit.
        sessions in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(op(), 1..6), 1..12),
            1..3,
        ),
    ) {
        let place = Place::quick();
        for session in &sessions {
            let journal = SqliteJournal::open(place.file(), place.options()).unwrap();
            for together in session {
                let all = together.iter().map(|op| done(&journal, op));
                block_on(futures::future::join_all(all));
            }
            prop_assert_eq!(&place.verify().problems, &[]);
            drop(journal);
            prop_assert_eq!(&place.verify().problems, &[]);
        }
    }
}
