//! Two processes, one file.

use futures::executor::block_on;
use toolgate_gate::journal::{JournalErrorKind, LeaseJournal, RecoverJournal};

use crate::child::Part;
use crate::fixture::{Place, commit, start, whole};

#[test]
fn two_processes_work_on_different_conversations_and_not_on_the_same() {
    let place = Place::new();
    let journal = place.open();
    let mut other = Part::start("hold", &place.file(), "theirs");
    assert_eq!(other.next().as_deref(), Some("holding"));
    whole(&journal, "ours", "1", 1);
    let refused = block_on(journal.begin(&"theirs".into(), None)).unwrap_err();
    let theirs = other.pid();
    assert_eq!(refused.kind, JournalErrorKind::InUse);
    let named = format!("conversation theirs is in use by process {theirs};");
    assert!(refused.message.starts_with(&named), "{refused}");
    assert!(commit(&journal, start("theirs", "1", 2)).is_err());
    assert_eq!(block_on(journal.unfinished(None)).unwrap(), []);
    assert_eq!(other.end(), ["done"]);
    whole(&journal, "theirs", "1", 3);
    assert_eq!(place.verify().problems, []);
    assert_eq!(place.entries().len(), 12);
}

#[test]
fn a_conversation_of_a_killed_process_is_free_at_once() {
    let place = Place::new();
    let journal = place.open();
    let mut other = Part::start("hold", &place.file(), "theirs");
    assert_eq!(other.next().as_deref(), Some("holding"));
    other.kill();
    let left = block_on(journal.unfinished(None)).unwrap();
    assert_eq!(left.len(), 1);
    block_on(journal.settle(&left[0], left[0].result(None))).unwrap();
    whole(&journal, "theirs", "1", 3);
    assert_eq!(place.verify().problems, []);
}
