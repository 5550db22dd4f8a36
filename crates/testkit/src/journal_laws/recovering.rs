//! Laws 12, 13 and 15: leases, recovery and pruning.

use std::path::Path;
use std::sync::Arc;
use std::thread::ThreadId;

use futures::executor::block_on;
use toolgate_gate::journal::{
    Body, Class, FileError, Files, Filter, FullJournal, Image, Intended, JournalErrorKind, Prune,
    Record, Recovered,
};
use toolgate_sandbox::paths::{PathRules, PathSandbox};

use super::Store;
use super::parts::{commit, entries, entry, finished, is_sound, lines, said, start, whole};

/// A conversation is worked on by one holder, and others are told which conversation it is.
pub fn a_conversation_is_held_by_one_and_named_to_others(store: &dyn Store) {
    let (one, two) = (store.open(), store.open());
    block_on(one.begin(&"begun".into(), None)).unwrap();
    whole(&*one, "a", "1", 1);
    for conversation in ["begun", "a"] {
        let begun = block_on(two.begin(&conversation.into(), None)).unwrap_err();
        let written = commit(&*two, start(conversation, "2", 2)).unwrap_err();
        for refused in [begun, written] {
            assert_eq!(refused.kind, JournalErrorKind::InUse);
            let named = format!("conversation {conversation} ");
            assert!(refused.message.contains(&named), "{refused}");
        }
    }
    whole(&*two, "b", "1", 2);
    // Another one's is not given back.
    block_on(two.release(&"a".into())).unwrap();
    commit(&*one, start("a", "2", 3)).unwrap();
    block_on(one.release(&"a".into())).unwrap();
    block_on(one.release(&"never held".into())).unwrap();
    commit(&*two, vec![entry("a", "2", 4, finished("2"))]).unwrap();
    let lost = commit(&*one, vec![said("a", 5, "x")]).unwrap_err();
    assert_eq!(lost.kind, JournalErrorKind::InUse);
    drop(two);
    whole(&*one, "a", "3", 6);
    drop(one);
    whole(&*store.open(), "begun", "1", 7);
    is_sound(&*store.open());
}

/// Calls of a holder that is gone are unfinished; each gets one result and nothing is run.
pub fn a_cut_off_call_gets_its_one_result(store: &dyn Store) {
    let journal = store.open();
    whole(&*journal, "c", "done", 1);
    commit(&*journal, start("c", "cut off", 2)).unwrap();
    let other = store.open();
    let seen = block_on(other.unfinished(None)).unwrap();
    assert_eq!(seen, [], "whoever runs it now settles it");
    drop(journal);
    let left = block_on(other.unfinished(None)).unwrap();
    assert_eq!(left.len(), 1);
    let call = &left[0];
    assert_eq!((call.call.as_str(), call.nth), ("cut off", 1));
    assert_eq!(call.class(), Class::OutcomeUnknown);
    assert_eq!(call.tool.as_deref(), Some("read_file"));
    assert_eq!(call.received_ms, 2);
    block_on(other.settle(call, call.result(None))).unwrap();
    let twice = block_on(other.settle(call, call.result(None))).unwrap_err();
    assert_eq!(twice.kind, JournalErrorKind::Rejected);
    assert_eq!(block_on(other.unfinished(Some(&"c".into()))).unwrap(), []);
    let kinds: Vec<&str> = entries(&*other, "c")
        .iter()
        .map(|entry| entry.record.kind())
        .collect();
    assert_eq!(kinds.last(), Some(&"finished"));
    is_sound(&*other);
}

/// Puts a change of two files on record, of which one was renamed before the crash.
fn half_made(journal: &dyn FullJournal, root: &Path) {
    let intended = |name: &str, before: &[u8], after: &[u8]| Intended {
        path: name.into(),
        place: root.join(name),
        before: Some(Image::of(before.to_vec())),
        after: Some(Image::of(after.to_vec()).sha256),
        mode: Some(0o644),
        staged: None,
    };
    let (a, image_a) = intended("a", b"old a", b"new a").split();
    let (b, image_b) = intended("b", b"old b", b"new b").split();
    commit(journal, start("c", "1", 10)).unwrap();
    let files = vec![a, b];
    let intent = entry("c", "1", 10, Record::Intended { files });
    let images = [image_a, image_b].into_iter().flatten().collect();
    block_on(journal.intend(intent, images)).unwrap();
    std::fs::write(root.join("a"), "new a").unwrap();
    std::fs::write(root.join("b"), "old b").unwrap();
}

/// Files that are looked at on another thread than this.
struct Elsewhere(PathSandbox, ThreadId);

impl Elsewhere {
    fn files(&self) -> &PathSandbox {
        assert_ne!(std::thread::current().id(), self.1);
        &self.0
    }
}

impl Files for Elsewhere {
    fn sha256(&self, place: &Path) -> Result<Option<String>, FileError> {
        self.files().sha256(place)
    }

    fn put_in_place(&self, staged: &Path, place: &Path) -> Result<(), FileError> {
        self.files().put_in_place(staged, place)
    }

    fn restore(
        &self,
        place: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        nonce: u128,
    ) -> Result<(), FileError> {
        self.files().restore(place, bytes, mode, nonce)
    }

    fn remove(&self, place: &Path) -> Result<(), FileError> {
        self.files().remove(place)
    }
}

/// A change of files that was cut off is completed or taken back from its images.
pub fn a_half_made_change_is_brought_to_an_end(store: &dyn Store) {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
    half_made(&*store.open(), &root);
    let journal = store.open();
    let left = block_on(journal.unfinished(None)).unwrap();
    assert!(left[0].half_changed);
    // What serves other tasks too does not look at files.
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let files = Arc::new(Elsewhere(sandbox.clone(), std::thread::current().id()));
    let recovery = runtime
        .unwrap()
        .block_on(journal.recover(&left[0], files))
        .unwrap();
    // The new content of b is nowhere, so a goes back.
    assert_eq!(recovery.outcome, Recovered::Back);
    assert_eq!(std::fs::read(root.join("a")).unwrap(), b"old a");
    assert_eq!(std::fs::read(root.join("b")).unwrap(), b"old b");
    block_on(journal.settle(&left[0], left[0].result(Some(&recovery)))).unwrap();
    assert!(block_on(journal.recover(&left[0], Arc::new(sandbox.clone()))).is_err());
    assert_eq!(block_on(journal.unfinished(None)).unwrap(), []);
    is_sound(&*journal);
}

/// Pruning takes what entries say and nothing else, and spares what open calls need.
pub fn pruning_keeps_the_chain_and_what_open_calls_need(store: &dyn Store) {
    let directory = tempfile::tempdir().unwrap();
    let journal = store.open();
    commit(&*journal, vec![said("old", 1, "once upon a time")]).unwrap();
    whole(&*journal, "old", "0", 1);
    half_made(&*journal, directory.path());
    commit(&*journal, vec![said("old", 100, "now")]).unwrap();
    let before = lines(&*journal, Filter::default());
    let image = Image::of(b"old a".to_vec()).sha256;
    let old = Prune {
        before_ms: Some(50),
        to_bytes: None,
    };
    let pruned = block_on(journal.prune(old)).unwrap();
    assert!(pruned.bodies > 0 && pruned.bytes > 0 && pruned.before_ms == 50);
    assert_eq!(pruned.images, 0);
    let after = lines(&*journal, Filter::default());
    assert_eq!(after.len(), before.len());
    for (was, is) in before.iter().zip(&after) {
        assert_eq!(
            (was.seq, &was.kind, &was.hash),
            (is.seq, &is.kind, &is.hash)
        );
        let open = is.conversation.as_str() == "c";
        let stays = open || is.at_ms == 100;
        // The start of an open call says the same: a journal may keep that once for both.
        if is.kind != "started" || stays {
            assert_eq!(is.body != Body::Pruned, stays, "{is:?}");
        }
    }
    assert_eq!(block_on(journal.image(&image)).unwrap().unwrap(), b"old a");
    assert_eq!(block_on(journal.image("00")).unwrap(), None);
    is_sound(&*journal);
    let end = entry("c", "1", 20, finished("1"));
    commit(&*journal, vec![end]).unwrap();
    let pruned = block_on(journal.prune(old)).unwrap();
    assert_eq!(pruned.images, 2);
    assert_eq!(block_on(journal.image(&image)).unwrap(), None);
    assert_eq!(block_on(journal.prune(old)).unwrap().bodies, 0);
    whole(&*journal, "old", "2", 101);
    is_sound(&*journal);
}
