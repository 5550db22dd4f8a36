//! Stored values, and ids that are not plain.

use std::sync::Arc;

use futures::executor::block_on;
use futures::future::join_all;
use toolgate_gate::journal::{Entry, Filter, Journal, ReadJournal, Record, VerifyJournal};
use toolgate_gate::store::{Edit, Space, Store, StoreError};
use toolgate_model::{Args, ToolCall, ToolError};

#[test]
fn no_change_of_a_value_is_lost_among_workers() {
    let tenant = crate::fresh_tenant();
    let workers = [crate::worker(&tenant), crate::worker(&tenant)];
    let space = Space::new("/w", "counters");
    let next = |now: Option<&str>| {
        let next = now.and_then(|now| now.parse().ok()).unwrap_or(0_u64) + 1;
        Ok((Edit::Set(next.to_string()), next))
    };
    let changes = (0..40).map(|n| {
        let store: &dyn Store = &workers[n % 2];
        store.change(&space, "visits", next)
    });
    let mut seen: Vec<u64> = block_on(join_all(changes))
        .into_iter()
        .map(|seen| seen.unwrap())
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=40).collect::<Vec<_>>());
}

#[test]
fn values_are_listed_refused_and_deleted() {
    let journal = crate::worker(&crate::fresh_tenant());
    let space = Space::new("/w", "memory");
    for key in ["b", "a", "\0", "\\0"] {
        let before = block_on(journal.set(&space, key, format!("of {key}"))).unwrap();
        assert_eq!(before, None);
    }
    let all = block_on(journal.list(&space)).unwrap();
    let keys: Vec<&str> = all.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["\0", "\\0", "a", "b"]);
    assert_eq!(all[0].1, "of \0");
    let refuse = Box::new(|_: Option<&str>| Err(ToolError::bad_args("no")));
    let refused = block_on(journal.update(&space, "a", refuse)).unwrap_err();
    assert_eq!(refused, StoreError::Refused(ToolError::bad_args("no")));
    let large = block_on(journal.set(&space, "a", "x".repeat(2 << 20)));
    assert!(matches!(large, Err(StoreError::TooLarge { .. })));
    assert_eq!(
        block_on(journal.delete(&space, "a")).unwrap().unwrap(),
        "of a"
    );
    assert_eq!(block_on(journal.get(&space, "a")).unwrap(), None);
}

#[test]
fn ids_with_any_character_come_back_as_they_were() {
    let journal = Arc::new(crate::worker(&crate::fresh_tenant()));
    for id in ["\0", "a\0b", "\\0", "'; --", "\u{1f600}", "\u{202e}"] {
        let entry = Entry {
            conversation: format!("c{id}").as_str().into(),
            call: id.into(),
            at_ms: 1,
            record: Record::Received {
                call: ToolCall::new(id, "read_file", Args::new()),
            },
        };
        block_on(journal.commit(vec![entry.clone()])).unwrap();
        let lines = block_on(journal.entries(Filter::of(&entry.conversation))).unwrap();
        assert_eq!(lines.len(), 1, "{id:?}");
        assert_eq!(
            (&lines[0].call, &lines[0].conversation),
            (&entry.call, &entry.conversation)
        );
    }
    assert!(block_on(journal.verify(None)).unwrap().is_sound());
}
