//! What goes in comes out, in order, whole, and for its owner alone.

use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::join_all;
use toolgate_gate::journal::{Image, Intended, IntendedFile, Journal, LeaseJournal, Record};
use toolgate_gate::store::{Edit, Space, Store};
use toolgate_journal::{Body, Filter, Options, Point, Reader, SqliteError, SqliteJournal, State};
use toolgate_model::ErrorKind;

use crate::fixture::{Place, commit, entry, failed, finished, planned, received, start, whole};

#[test]
fn the_next_process_reads_committed_entries_in_order() {
    let place = Place::new();
    let journal = place.open();
    let mut written = start("c", "1", 10);
    commit(&journal, written.clone()).unwrap();
    written.push(entry("c", "1", 11, finished("1")));
    commit(&journal, written[3..].to_vec()).unwrap();
    assert_eq!(place.entries(), written, "beside the writer");
    drop(journal);
    assert_eq!(place.entries(), written, "after it");
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!((verified.entries, verified.commits), (4, 2));
    assert_eq!(verified.calls.get(&State::Finished), Some(&1));
    whole(&place.open(), "c", "2", 12);
    assert!(place.verify().is_sound());
    assert_eq!(place.entries().len(), 8);
}

#[test]
fn a_commit_with_one_impossible_entry_leaves_nothing() {
    let place = Place::new();
    let journal = place.open();
    whole(&journal, "c", "1", 1);
    let mut bad = start("c", "2", 2);
    bad.push(entry("c", "3", 2, Record::Started));
    let error = commit(&journal, bad).unwrap_err().to_string();
    assert!(
        error.contains("call 3") && error.contains("not received"),
        "{error}"
    );
    assert_eq!(place.entries().len(), 4);
    whole(&journal, "c", "2", 3);
    assert!(place.verify().is_sound());
}

#[test]
fn a_second_result_is_refused() {
    let place = Place::new();
    let journal = place.open();
    whole(&journal, "c", "1", 1);
    let error = commit(&journal, vec![entry("c", "1", 2, finished("1"))]).unwrap_err();
    assert!(error.to_string().contains("is finished"), "{error}");
    assert_eq!(place.entries().len(), 4);
}

#[test]
fn equal_ids_are_told_apart_within_a_batch_and_from_batch_to_batch() {
    let place = Place::new();
    let journal = place.open();
    let batch = vec![
        entry("c", "x", 1, received("x")),
        entry("c", "x", 1, planned("x")),
        entry("c", "x", 1, received("x")),
        entry("c", "x", 1, Record::Started),
    ];
    commit(&journal, batch).unwrap();
    let second = failed("x", ErrorKind::DuplicateCallId);
    commit(&journal, vec![entry("c", "x", 2, second)]).unwrap();
    commit(&journal, vec![entry("c", "x", 3, finished("x"))]).unwrap();
    // A call whose turn was dropped stays without a result; the next of its id is another.
    commit(&journal, start("c", "y", 4)).unwrap();
    whole(&journal, "c", "y", 5);
    let nths = |call: &str| -> Vec<(String, u64)> {
        let filter = Filter {
            call: Some(call.into()),
            ..Filter::default()
        };
        let lines = place.lines(&filter).into_iter();
        lines.map(|line| (line.kind, line.nth)).collect()
    };
    let own = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs
            .iter()
            .map(|(kind, nth)| ((*kind).to_owned(), *nth))
            .collect()
    };
    assert_eq!(
        nths("x"),
        own(&[
            ("received", 1),
            ("planned", 1),
            ("received", 2),
            ("started", 1),
            ("finished", 2),
            ("finished", 1)
        ])
    );
    assert_eq!(nths("y").last(), Some(&("finished".to_owned(), 2)));
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.calls.get(&State::Started), Some(&1));
    assert_eq!(verified.calls.get(&State::Finished), Some(&3));
}

#[test]
fn entries_that_wait_together_share_a_commit_and_fail_alone() {
    let place = Place::new();
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let seen = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&seen);
    let hook = move |point| {
        if point == Point::Asked {
            // The first is held back until all the others wait.
            wait.lock().unwrap().recv().ok();
        }
        if point == Point::Committed {
            *counted.lock().unwrap() += 1;
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let ends = block_on(async {
        let calls: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let commits = calls.iter().enumerate().map(|(n, call)| {
            let conversation = if n % 2 == 0 { "even" } else { "odd" };
            let entries = if n == 7 {
                vec![entry(conversation, call, 1, Record::Started)]
            } else {
                start(conversation, call, 1)
            };
            journal.commit(entries)
        });
        let all = join_all(commits);
        let release = async {
            for _ in 0..30 {
                go.send(()).unwrap();
            }
        };
        // Polled first, so that every commit is asked for before the writer is let go.
        futures::join!(all, release).0
    });
    for (n, end) in ends.iter().enumerate() {
        assert_eq!(end.is_err(), n == 7, "{n}: {end:?}");
    }
    assert!(
        *seen.lock().unwrap() <= 3,
        "{} commits",
        seen.lock().unwrap()
    );
    drop(journal);
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!((verified.entries, verified.conversations), (57, 2));
}

#[test]
fn the_file_and_its_log_are_for_their_owner_alone() {
    let place = Place::new();
    let journal = place.open();
    whole(&journal, "c", "1", 1);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.directory().join("state")), 0o700);
    for ending in ["", "-wal", "-shm"] {
        let path = place.directory().join(format!("state/journal.db{ending}"));
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(journal);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.file(), open).unwrap();
    let trouble = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(trouble.to_string().contains("chmod 600"), "{trouble}");
    assert!(
        Reader::open(place.file()).is_ok(),
        "looking at a copy is fine"
    );
}

#[test]
fn newer_foreign_and_missing_files_are_refused_and_left_alone() {
    let place = Place::new();
    drop(place.open());
    let raw = rusqlite::Connection::open(place.file()).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = std::fs::read(place.file()).unwrap();
    let trouble = SqliteJournal::open(place.file(), place.options()).unwrap_err();
    assert!(
        matches!(trouble, SqliteError::Newer { found: 99, .. }),
        "{trouble}"
    );
    assert!(trouble.to_string().contains("newer toolgate"), "{trouble}");
    assert!(matches!(
        Reader::open(place.file()),
        Err(SqliteError::Newer { .. })
    ));
    assert_eq!(std::fs::read(place.file()).unwrap(), before);

    let theirs = place.directory().join("theirs.db");
    let raw = rusqlite::Connection::open(&theirs).unwrap();
    raw.execute_batch("CREATE TABLE mine(x); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(raw);
    let text = place.directory().join("notes.txt");
    std::fs::write(&text, "not a database at all, but long enough to look at").unwrap();
    for path in [theirs, text] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let trouble = SqliteJournal::open(&path, place.options()).unwrap_err();
        assert!(
            matches!(trouble, SqliteError::NotAJournal { .. }),
            "{trouble}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    assert!(SqliteJournal::open(place.directory(), place.options()).is_err());
    let missing = Reader::open(place.directory().join("none.db"));
    assert!(matches!(missing, Err(SqliteError::Missing { .. })));
}

#[test]
fn an_intent_is_stored_with_the_former_contents() {
    let place = Place::new();
    let journal = place.open();
    commit(&journal, start("c", "1", 1)).unwrap();
    let file = Intended {
        path: "a.txt".into(),
        place: "/w/a.txt".into(),
        before: Some(Image::of(b"SECRET-OLD".to_vec())),
        after: Some(Image::of(b"new".to_vec()).sha256),
        mode: Some(0o644),
        staged: Some("/w/.t".into()),
    };
    let (told, image) = file.split();
    let intent = |file: IntendedFile| entry("c", "1", 2, Record::Intended { files: vec![file] });
    block_on(journal.intend(intent(told.clone()), image.into_iter().collect())).unwrap();
    let lines = place.lines(&Filter {
        kind: Some("intended".into()),
        ..Filter::default()
    });
    let Body::Kept(record) = &lines[0].body else {
        panic!("{lines:?}")
    };
    assert_eq!(**record, intent(told.clone()).record);
    assert!(!format!("{lines:?}").contains("SECRET-OLD"));
    let size = place.reader().size().unwrap();
    assert_eq!(size.images, 10);
    // Not started, no intent; and then nothing of it is kept.
    let stray = entry("c", "2", 3, Record::Intended { files: vec![told] });
    let image = Image::of(b"other".to_vec());
    assert!(block_on(journal.intend(stray, vec![image])).is_err());
    assert_eq!(place.reader().size().unwrap().images, 10);
    assert!(place.verify().is_sound());
}

#[test]
fn a_full_journal_takes_results_and_nothing_new() {
    let place = Place::new();
    commit(&place.open(), start("c", "1", 1)).unwrap();
    let options = Options {
        max_bytes: Some(4096),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let error = commit(&journal, start("c", "2", 2)).unwrap_err();
    assert!(error.to_string().contains("journal prune"), "{error}");
    commit(&journal, vec![entry("c", "1", 3, finished("1"))]).unwrap();
    drop(journal);
    let verified = place.verify();
    assert!(verified.is_sound());
    assert_eq!(verified.calls.get(&State::Finished), Some(&1));
}

#[test]
fn conversations_are_listed_with_their_calls() {
    let place = Place::new();
    let journal = place.open();
    let workspace = std::path::Path::new("/home/me/project");
    block_on(journal.begin(&"b".into(), Some(workspace))).unwrap();
    whole(&journal, "b", "1", 500);
    commit(&journal, start("b", "2", 501)).unwrap();
    whole(&journal, "a", "1", 400);
    let found = place.reader().conversations(502).unwrap();
    assert_eq!(found.len(), 2);
    let b = found.iter().find(|found| found.id.as_str() == "b").unwrap();
    assert_eq!(b.workspace.as_deref(), Some("/home/me/project"));
    assert_eq!((b.entries, b.last_ms), (7, 501));
    assert_eq!(b.held_by, Some(std::process::id()));
    assert_eq!(b.calls.get(&State::Finished), Some(&1));
    assert_eq!(b.calls.get(&State::Started), Some(&1));
    assert!(b.bytes > 500, "{}", b.bytes);
    let a = found.iter().find(|found| found.id.as_str() == "a").unwrap();
    assert_eq!((a.started_ms, a.workspace.as_deref()), (400, None));
    let some = Filter {
        conversation: Some("b".into()),
        from_ms: Some(501),
        most: Some(2),
        ..Filter::default()
    };
    let kinds: Vec<String> = place
        .lines(&some)
        .into_iter()
        .map(|line| line.kind)
        .collect();
    assert_eq!(kinds, ["received", "planned"]);
}

#[test]
fn a_journal_that_is_let_go_by_its_own_writer_still_does_what_was_asked() {
    let place = Place::new();
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let hook = move |point| {
        if point == Point::Answered {
            tell.lock().unwrap().send(()).unwrap();
        }
    };
    let options = Options {
        hook: Some(Arc::new(hook)),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let last = Mutex::new(Some(journal.clone()));
    let space = Space::new("/w", "memory");
    let change = move |_: Option<&str>| {
        drop(last.lock().unwrap().take());
        Ok(Edit::Set("kept".into()))
    };
    // Asked for, and then nobody waits for the answer.
    assert!(
        journal
            .update(&space, "k", Box::new(change))
            .now_or_never()
            .is_none()
    );
    drop(journal);
    told.recv().unwrap();
    let again = place.open();
    assert_eq!(block_on(again.get(&space, "k")), Ok(Some("kept".into())));
}
