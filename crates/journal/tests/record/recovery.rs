//! After a crash: files agree, calls have one result, and what somebody else changed is not touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use toolgate_gate::journal::{
    FileError, Files, Image, Intended, Journal, JournalError, JournalErrorKind, LeaseJournal,
    Record, RecoverJournal, Recovered,
};
use toolgate_journal::undo::Changes;
use toolgate_journal::{Class, Problem, SqliteJournal, SqliteReader, State, Unfinished};
use toolgate_model::ErrorKind;
use toolgate_sandbox::paths::{PathRules, PathSandbox};

use crate::fixture::{Place, commit, entry, finished, received, start};

struct Work {
    place: Place,
    root: PathBuf,
    sandbox: PathSandbox,
}

impl Work {
    fn new() -> Self {
        let place = Place::quick();
        let root = place.directory().canonicalize().unwrap().join("work");
        std::fs::create_dir(&root).unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
        Self {
            place,
            root,
            sandbox,
        }
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let all = std::fs::read_dir(&self.root).unwrap();
        all.map(|found| {
            let path = found.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
    }

    fn intend(&self, journal: &SqliteJournal, files: Vec<Intended>) {
        commit(journal, start("c", "1", 1)).unwrap();
        let (files, images): (Vec<_>, Vec<Option<Image>>) =
            files.into_iter().map(Intended::split).unzip();
        let record = Record::Intended { files };
        let images = images.into_iter().flatten().collect();
        block_on(journal.intend(entry("c", "1", 2, record), images)).unwrap();
    }

    fn only(&self, journal: &SqliteJournal) -> Unfinished {
        let mut all = block_on(journal.unfinished(None)).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }
}

/// What a change does to a file, and where it stood when the process died.
#[derive(Clone, Copy, Debug)]
enum Change {
    Update,
    Create,
    Delete,
    Same,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Before,
    After,
    Third,
}

fn set(path: &Path, content: Option<&[u8]>) {
    match content {
        Some(bytes) => std::fs::write(path, bytes).unwrap(),
        None => assert!(!path.exists()),
    }
}

fn case() -> impl Strategy<Value = Vec<(Change, Found, bool)>> {
    let change = prop_oneof![
        Just(Change::Update),
        Just(Change::Create),
        Just(Change::Delete),
        Just(Change::Same)
    ];
    let found = prop_oneof![
        5 => Just(Found::Before),
        5 => Just(Found::After),
        1 => Just(Found::Third)
    ];
    prop::collection::vec((change, found, prop::bool::weighted(0.9)), 1..5)
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn all_files_end_on_one_side_or_nothing_is_touched(case in case(), images_gone in prop::bool::weighted(0.2)) {
        let work = Work::new();
        let journal = work.place.open();
        let mut files = Vec::new();
        let (mut all_before, mut all_after) = (BTreeMap::new(), BTreeMap::new());
        for (n, (change, found, staged_there)) in case.iter().enumerate() {
            let name = format!("f{n}");
            let (path, staged) = (work.root.join(&name), work.root.join(format!(".t{n}")));
            let old = format!("old {n}").into_bytes();
            let new = format!("new {n}").into_bytes();
            let (before, after) = match change {
                Change::Update => (Some(old), Some(new)),
                Change::Create => (None, Some(new)),
                Change::Delete => (Some(old), None),
                Change::Same => (Some(old.clone()), Some(old)),
            };
            set(&path, match found {
                Found::Before => before.as_deref(),
                Found::After => after.as_deref(),
                Found::Third => Some(b"somebody else's"),
            });
            if let (Some(after), true) = (&after, *staged_there && *found != Found::After) {
                std::fs::write(&staged, after).unwrap();
            }
            all_before.extend(before.clone().map(|bytes| (name.clone(), bytes)));
            all_after.extend(after.clone().map(|bytes| (name.clone(), bytes)));
            files.push(Intended {
                path: name,
                place: path,
                before: before.map(Image::of),
                staged: after.is_some().then_some(staged),
                after: after.map(|bytes| Image::of(bytes).sha256),
                mode: Some(0o640),
            });
        }
        work.intend(&journal, files);
        drop(journal);
        if images_gone {
            let db = rusqlite::Connection::open(work.place.file()).unwrap();
            db.execute("DELETE FROM images", []).unwrap();
        }
        let there = work.files();
        let journal = work.place.open();
        let call = work.only(&journal);
        prop_assert_eq!((call.class(), call.half_changed), (Class::OutcomeUnknown, true));
        let recovery = block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))).unwrap();
        let third = case.iter().any(|(_, found, _)| *found == Found::Third);
        let moved = |change: &Change| !matches!(change, Change::Same);
        let none_done = case.iter().all(|(change, found, _)| *found == Found::Before || !moved(change));
        match recovery.outcome {
            Recovered::Forward => prop_assert_eq!(work.files(), all_after),
            Recovered::Back => prop_assert_eq!(work.files(), all_before),
            Recovered::LeftAlone => prop_assert_eq!(work.files(), there),
        }
        if third {
            prop_assert_eq!(recovery.outcome, Recovered::LeftAlone);
        } else if none_done {
            prop_assert_eq!(recovery.outcome, Recovered::Back);
        } else if !images_gone {
            prop_assert_ne!(recovery.outcome, Recovered::LeftAlone);
        }
        prop_assert_eq!(recovery.files.len(), case.len());
        let kinds: Vec<String> = work.place.lines(&toolgate_journal::Filter::default())
            .into_iter().map(|line| line.kind).collect();
        prop_assert_eq!(kinds.last().map(String::as_str), Some("recovered"));
        let open = work.only(&journal);
        prop_assert_eq!(open.half_changed, recovery.outcome == Recovered::LeftAlone);
        let result = open.result(Some(&recovery));
        prop_assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::Interrupted);
        block_on(journal.settle(&open, result)).unwrap();
        prop_assert_eq!(block_on(journal.unfinished(None)).unwrap(), vec![]);
        let problems = work.place.verify().problems;
        let gone = |problem: &Problem| matches!(problem, Problem::ImageMissing { .. });
        prop_assert!(problems.iter().all(|problem| images_gone && gone(problem)), "{:?}", problems);
    }
}

#[test]
fn calls_without_a_result_are_listed_by_how_far_they_came() {
    let place = Place::new();
    let journal = place.open();
    block_on(journal.begin(&"c".into(), Some(Path::new("/w")))).unwrap();
    commit(
        &journal,
        vec![entry("c", "arrived", 1, received("arrived"))],
    )
    .unwrap();
    commit(&journal, start("c", "started", 2)).unwrap();
    commit(&journal, start("c", "done", 3)).unwrap();
    commit(&journal, vec![entry("c", "done", 4, finished("done"))]).unwrap();
    drop(journal);
    let journal = place.open();
    let found = block_on(journal.unfinished(Some(&"c".into()))).unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|call| {
            (
                call.call.as_str(),
                call.class(),
                call.tool.as_deref(),
                call.received_ms,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("arrived", Class::NotStarted, None, 1),
            ("started", Class::OutcomeUnknown, Some("read_file"), 2)
        ]
    );
    assert!(
        block_on(journal.unfinished(Some(&"other".into())))
            .unwrap()
            .is_empty()
    );
    assert!(
        found
            .iter()
            .all(|call| call.workspace.as_deref() == Some("/w"))
    );
    for call in &found {
        let result = call.result(None);
        let words = &result.error.as_ref().unwrap().message;
        assert_eq!(
            words.contains("nothing was done"),
            call.class() == Class::NotStarted
        );
        block_on(journal.settle(call, result.clone())).unwrap();
        assert!(
            block_on(journal.settle(call, result)).is_err(),
            "one result only"
        );
    }
    assert!(block_on(journal.unfinished(None)).unwrap().is_empty());
    assert_eq!(place.verify().calls.get(&State::Finished), Some(&3));
    assert!(
        block_on(journal.recover(
            &found[1],
            Arc::new(PathSandbox::open(&PathRules::new(place.directory())).unwrap())
        ))
        .is_err()
    );
}

#[test]
fn a_conversation_in_use_by_another_process_is_not_unfinished() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    commit(&one, start("a", "1", 1)).unwrap();
    assert!(block_on(two.unfinished(None)).unwrap().is_empty());
    let own = block_on(one.unfinished(None)).unwrap();
    assert_eq!(own.len(), 1);
    assert!(block_on(two.settle(&own[0], own[0].result(None))).is_err());
    drop(one);
    assert_eq!(block_on(two.unfinished(None)).unwrap().len(), 1);
}

#[test]
fn a_tool_that_was_given_up_on_may_have_left_files_half_changed() {
    let work = Work::new();
    let journal = work.place.open();
    let (a, b) = (work.root.join("a"), work.root.join("b"));
    let file = |path: &Path| Intended {
        path: path.file_name().unwrap().to_str().unwrap().into(),
        place: path.to_path_buf(),
        before: None,
        after: Some(Image::of(b"new".to_vec()).sha256),
        mode: None,
        staged: Some(path.with_extension("tmp")),
    };
    work.intend(&journal, vec![file(&a), file(&b)]);
    let mut end = entry("c", "1", 3, finished("1"));
    if let Record::Finished { result } = &mut end.record {
        result.metadata.insert("still_running".into(), true.into());
    }
    commit(&journal, vec![end]).unwrap();
    std::fs::write(&a, "new").unwrap();
    let call = work.only(&journal);
    assert_eq!((call.class(), call.half_changed), (Class::Finished, true));
    let recovery = block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))).unwrap();
    assert_eq!(recovery.outcome, Recovered::Back, "{recovery:?}");
    assert!(work.files().is_empty());
    assert!(block_on(journal.unfinished(None)).unwrap().is_empty());
    assert!(work.place.verify().is_sound());
}

/// The sandbox, but for one step with one place that does not go.
struct Hindered {
    sandbox: PathSandbox,
    place: PathBuf,
    looking: bool,
}

impl Hindered {
    fn at(&self, place: &Path, looking: bool) -> Result<(), FileError> {
        if place == self.place && looking == self.looking {
            return Err(FileError::new("too many open files"));
        }
        Ok(())
    }
}

impl Files for Hindered {
    fn sha256(&self, place: &Path) -> Result<Option<String>, FileError> {
        self.at(place, true)?;
        self.sandbox.sha256(place)
    }

    fn put_in_place(&self, staged: &Path, place: &Path) -> Result<(), FileError> {
        self.at(place, false)?;
        self.sandbox.put_in_place(staged, place)
    }

    fn restore(
        &self,
        place: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        nonce: u128,
    ) -> Result<(), FileError> {
        self.at(place, false)?;
        self.sandbox.restore(place, bytes, mode, nonce)
    }

    fn remove(&self, place: &Path) -> Result<(), FileError> {
        self.at(place, false)?;
        self.sandbox.remove(place)
    }
}

/// Three new files, of which the first is in its place.
fn half_made(work: &Work) -> SqliteJournal {
    let file = |name: &str| {
        let staged = work.root.join(format!(".{name}"));
        std::fs::write(&staged, name).unwrap();
        Intended {
            path: name.into(),
            place: work.root.join(name),
            before: None,
            after: Some(Image::of(name.as_bytes().to_vec()).sha256),
            mode: None,
            staged: Some(staged),
        }
    };
    let journal = work.place.open();
    work.intend(&journal, vec![file("a"), file("b"), file("c")]);
    std::fs::rename(work.root.join(".a"), work.root.join("a")).unwrap();
    journal
}

#[test]
fn what_could_not_be_looked_at_or_mended_stays_open_and_the_next_try_goes_on() {
    for (name, looking) in [("a", true), ("b", true), (".c", true), ("c", false)] {
        let work = Work::new();
        let journal = half_made(&work);
        let call = work.only(&journal);
        let files = Hindered {
            sandbox: work.sandbox.clone(),
            place: work.root.join(name),
            looking,
        };
        let entries = work.place.entries().len();
        let recovery = block_on(journal.recover(&call, Arc::new(files))).unwrap();
        let why = recovery.hindered.clone().unwrap();
        assert_eq!(why.message, "too many open files", "{name}");
        assert_eq!(work.place.entries().len(), entries, "nothing is decided");
        assert_eq!(work.only(&journal), call, "{name}");
        let words = call.result(Some(&recovery)).content;
        assert!(
            words.contains("could not be looked at or mended"),
            "{words}"
        );
        let recovery = block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))).unwrap();
        assert_eq!(
            (recovery.outcome, recovery.hindered),
            (Recovered::Forward, None)
        );
        let names: Vec<String> = work.files().into_keys().collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(work.place.verify().is_sound());
    }
}

#[test]
fn what_cannot_be_mended_can_be_given_up_and_has_one_result() {
    let work = Work::new();
    let journal = half_made(&work);
    let call = work.only(&journal);
    let files = Hindered {
        sandbox: work.sandbox.clone(),
        place: work.root.join("b"),
        looking: true,
    };
    let recovery = block_on(journal.recover(&call, Arc::new(files))).unwrap();
    block_on(journal.give_up(&call, &recovery)).unwrap();
    block_on(journal.settle(&call, call.result(Some(&recovery)))).unwrap();
    assert_eq!(block_on(journal.unfinished(None)).unwrap(), vec![]);
    assert!(work.place.verify().is_sound());
}

#[test]
fn a_directory_where_a_file_was_is_somebody_elses_work() {
    let work = Work::new();
    let journal = half_made(&work);
    std::fs::create_dir(work.root.join("b")).unwrap();
    let call = work.only(&journal);
    let recovery = block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))).unwrap();
    assert_eq!(
        (recovery.outcome, recovery.hindered),
        (Recovered::LeftAlone, None)
    );
}

fn alter(work: &Work, change: &str) {
    let db = rusqlite::Connection::open(work.place.file()).unwrap();
    db.execute_batch(change).unwrap();
}

fn refused<T: std::fmt::Debug>(answer: Result<T, JournalError>, case: &str) {
    let kind = answer.as_ref().err().map(|error| error.kind);
    assert_eq!(kind, Some(JournalErrorKind::Damaged), "{case}: {answer:?}");
}

#[test]
fn a_conversation_with_a_broken_chain_changes_no_files() {
    for change in [
        "UPDATE entries SET at_ms = at_ms + 1 WHERE kind = 'intended'",
        "UPDATE entries SET prev_hash = zeroblob(32) WHERE kind = 'intended'",
        "UPDATE entries SET hash = zeroblob(32) WHERE kind = 'received'",
        "UPDATE entries SET seq = seq + 1 WHERE kind = 'intended'",
        "DELETE FROM entries WHERE kind = 'received'",
        "DELETE FROM anchors WHERE number = (SELECT max(number) FROM anchors)",
        "UPDATE anchors SET heads = '[]'",
        "UPDATE anchors SET at_ms = at_ms + 1 WHERE number = 1",
        "INSERT INTO entries SELECT conversation, seq + 1, kind, call, nth, at_ms, body_hash, hash,
           zeroblob(32) FROM entries WHERE kind = 'intended'",
    ] {
        let work = Work::new();
        let journal = half_made(&work);
        let call = work.only(&journal);
        let before = work.files();
        alter(&work, change);
        refused(
            block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))),
            change,
        );
        assert_eq!(work.files(), before, "{change}");
        let reader = SqliteReader::open(work.place.file()).unwrap();
        refused(block_on(Changes::read(&reader, &"c".into())), change);
        refused(block_on(Changes::read(&journal, &"c".into())), change);
    }
}

#[test]
fn a_planted_intent_deletes_nothing() {
    let work = Work::new();
    let journal = work.place.open();
    commit(&journal, start("c", "1", 1)).unwrap();
    let precious = work.root.join("precious");
    std::fs::write(&precious, "keep").unwrap();
    let file = |name: &str, content: &[u8]| {
        let intended = Intended {
            path: name.into(),
            place: work.root.join(name),
            before: Some(Image::of(content.to_vec())),
            after: None,
            mode: None,
            staged: None,
        };
        intended.split().0
    };
    let files = vec![file("precious", b"keep"), file("gone", b"x")];
    let body = serde_json::to_vec(&Record::Intended { files }).unwrap();
    let hash = Image::of(body.clone()).sha256;
    let body: String = body.iter().map(|b| format!("{b:02x}")).collect();
    alter(
        &work,
        &format!(
            "INSERT INTO bodies VALUES (x'{hash}', x'{body}', 2);
             INSERT INTO entries SELECT conversation, seq + 1, 'intended', call, nth, 2, x'{hash}',
               hash, zeroblob(32) FROM entries ORDER BY seq DESC LIMIT 1;
             UPDATE call_states SET open_intent = 1"
        ),
    );
    let call = work.only(&journal);
    refused(
        block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))),
        "planted",
    );
    assert!(precious.exists());
}

#[test]
fn a_change_that_is_only_listed_as_open_is_not_brought_to_an_end_again() {
    let work = Work::new();
    let journal = half_made(&work);
    let call = work.only(&journal);
    block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))).unwrap();
    let after = work.files();
    alter(&work, "UPDATE call_states SET open_intent = 1");
    refused(
        block_on(journal.recover(&call, Arc::new(work.sandbox.clone()))),
        "closed",
    );
    assert_eq!(work.files(), after);
}

#[test]
fn another_conversation_that_is_damaged_hinders_nothing() {
    let work = Work::new();
    let journal = half_made(&work);
    commit(&journal, start("d", "1", 1)).unwrap();
    let mut calls = block_on(journal.unfinished(Some(&"c".into()))).unwrap();
    alter(&work, "DELETE FROM entries WHERE conversation = 'd'");
    let recovery =
        block_on(journal.recover(&calls.remove(0), Arc::new(work.sandbox.clone()))).unwrap();
    assert_eq!(recovery.hindered, None);
}
