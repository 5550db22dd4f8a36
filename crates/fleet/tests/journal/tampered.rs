//! Rows that somebody changed are found.

use std::process::Command;

use futures::executor::block_on;
use toolgate_gate::journal::{
    Entry, Image, Journal, Problem, Prune, PruneJournal, Record, VerifyJournal,
};
use toolgate_model::{Args, ToolCall};

use crate::server::Server;

/// Runs SQL as somebody whom no policy binds.
pub(crate) fn as_superuser(sql: &str) {
    let socket = &Server::shared().socket;
    let done = Command::new("psql")
        .arg("-h")
        .arg(socket)
        .args(["-U", "postgres", "-d", "toolgate", "-q"])
        .args(["-v", "ON_ERROR_STOP=1", "-c", sql])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn entry(call: &str, record: Record) -> Entry {
    Entry {
        conversation: "c".into(),
        call: call.into(),
        at_ms: 1,
        record,
    }
}

fn said(text: &str) -> Entry {
    entry("", Record::UserMessage { text: text.into() })
}

fn received() -> Entry {
    let call = ToolCall::new("1", "read_file", Args::new());
    entry("1", Record::Received { call })
}

type Expected = fn(&Problem) -> bool;

/// What is changed, by SQL with the tenant for `$`, and what a check says of it.
const CHANGES: [(&str, Expected); 11] = [
    (
        "UPDATE toolgate_entries SET at_ms = 2 WHERE tenant = $ AND seq = 1",
        |p| matches!(p, Problem::Changed { seq: 1, .. }),
    ),
    (
        "UPDATE toolgate_entries SET hash = sha256('x') WHERE tenant = $ AND seq = 2",
        |p| matches!(p, Problem::Changed { seq: 2, .. }),
    ),
    (
        "DELETE FROM toolgate_entries WHERE tenant = $ AND seq = 2",
        |p| matches!(p, Problem::Gap { seq: 3, .. }),
    ),
    (
        "UPDATE toolgate_bodies SET bytes = '{}' WHERE tenant = $ AND seq = 1",
        |p| matches!(p, Problem::BodyChanged { seq: 1, .. }),
    ),
    (
        "DELETE FROM toolgate_bodies WHERE tenant = $ AND seq = 1",
        |p| matches!(p, Problem::BodyMissing { seq: 1, .. }),
    ),
    (
        "UPDATE toolgate_calls SET state = 'finished' WHERE tenant = $",
        |p| matches!(p, Problem::WrongState { .. }),
    ),
    ("DELETE FROM toolgate_calls WHERE tenant = $", |p| {
        matches!(p, Problem::WrongState { .. })
    }),
    (
        "UPDATE toolgate_anchors SET at_ms = 9 WHERE tenant = $ AND number = 1",
        |p| matches!(p, Problem::AnchorChanged { number: 1 }),
    ),
    ("DELETE FROM toolgate_conversations WHERE tenant = $", |p| {
        matches!(p, Problem::HeadGone { .. })
    }),
    (
        "DELETE FROM toolgate_entries WHERE tenant = $ AND seq = 3",
        |p| matches!(p, Problem::HeadGone { seq: 3, .. }),
    ),
    (
        "UPDATE toolgate_images SET bytes = 'x' WHERE tenant = $",
        |p| matches!(p, Problem::ImageChanged { .. }),
    ),
];

#[test]
fn every_changed_row_is_found() {
    for (sql, expected) in CHANGES {
        let tenant = crate::fresh_tenant();
        let journal = crate::worker(&tenant);
        let image = Image::of(b"before".to_vec());
        block_on(journal.commit(vec![said("one"), received()])).unwrap();
        block_on(journal.intend(said("three"), vec![image])).unwrap();
        let verified = block_on(journal.verify(None)).unwrap();
        assert_eq!(verified.problems, []);
        assert_eq!((verified.conversations, verified.entries), (1, 3));
        assert!(verified.anchor.is_some());
        as_superuser(&sql.replace('$', &format!("'{tenant}'")));
        let verified = block_on(journal.verify(None)).unwrap();
        let found = &verified.problems;
        assert!(found.iter().any(expected), "{sql}: {found:?}");
    }
}

#[test]
fn an_anchor_kept_elsewhere_finds_another_record() {
    let tenant = crate::fresh_tenant();
    let journal = crate::worker(&tenant);
    block_on(journal.commit(vec![said("one")])).unwrap();
    let kept = block_on(journal.verify(None)).unwrap().anchor.unwrap();
    block_on(journal.commit(vec![said("two")])).unwrap();
    let verified = block_on(journal.verify(Some(kept.clone()))).unwrap();
    assert!(verified.is_sound(), "{:?}", verified.problems);
    let other = crate::worker(&crate::fresh_tenant());
    block_on(other.commit(vec![said("another")])).unwrap();
    let verified = block_on(other.verify(Some(kept))).unwrap();
    let not_that = |problem: &Problem| matches!(problem, Problem::NotThatRecord { .. });
    assert!(verified.problems.iter().any(not_that));
}

#[test]
fn pruning_to_a_size_leaves_the_newest_contents() {
    let journal = crate::worker(&crate::fresh_tenant());
    for at_ms in 1..=10 {
        let entry = Entry {
            at_ms,
            ..said(&"x".repeat(1000))
        };
        block_on(journal.commit(vec![entry])).unwrap();
    }
    let to = Prune {
        before_ms: None,
        to_bytes: Some(3_500),
    };
    let pruned = block_on(journal.prune(to)).unwrap();
    assert_eq!((pruned.bodies, pruned.before_ms), (7, 8));
    let verified = block_on(journal.verify(None)).unwrap();
    assert_eq!((verified.pruned, &verified.problems), (7, &Vec::new()));
}
