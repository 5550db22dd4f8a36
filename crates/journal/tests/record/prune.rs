//! What goes, what stays, and that the chain holds.

use futures::executor::block_on;
use toolgate_gate::journal::{
    Image, Intended, Journal, JournalErrorKind, LeaseJournal, PruneJournal, Record,
};
use toolgate_journal::{Body, Filter, Options, Problem, Prune, Pruned, SqliteJournal};

use crate::fixture::{Place, commit, entry, finished, start, whole};

/// Files changed by a call, with what they held.
fn intend(journal: &dyn Journal, call: &str, at_ms: u64, before: &[u8]) {
    let file = Intended {
        path: "a".into(),
        place: "/w/a".into(),
        before: Some(Image::of(before.to_vec())),
        after: None,
        mode: None,
        staged: None,
    };
    let (file, image) = file.split();
    let record = Record::Intended { files: vec![file] };
    let images: Vec<Image> = image.into_iter().collect();
    block_on(journal.intend(entry("c", call, at_ms, record), images)).unwrap();
}

#[test]
fn old_bodies_and_images_go_and_the_chain_holds() {
    let place = Place::quick();
    let journal = place.open();
    for at in [100, 200, 300] {
        let call = at.to_string();
        commit(&journal, start("c", &call, at)).unwrap();
        intend(&journal, &call, at, format!("old {at}").as_bytes());
        commit(&journal, vec![entry("c", &call, at, finished(&call))]).unwrap();
    }
    let before = place.verify();
    let pruned = block_on(journal.prune(Prune {
        before_ms: Some(250),
        to_bytes: None,
    }));
    let pruned = pruned.unwrap();
    assert_eq!((pruned.images, pruned.before_ms), (2, 250));
    // `started` says the same every time, and was said again later.
    assert_eq!(pruned.bodies, 8);
    let verified = place.verify();
    assert_eq!(verified.problems, []);
    assert_eq!((verified.entries, verified.pruned), (before.entries, 8));
    assert_eq!(
        verified.commits,
        before.commits + 1,
        "that it pruned is on record"
    );
    let earlier = before.anchor.unwrap();
    assert!(place.verify_against(&earlier).is_sound());
    let bodies: Vec<(u64, bool)> = place
        .lines(&Filter::default())
        .iter()
        .map(|line| (line.at_ms, line.body == Body::Pruned))
        .collect();
    assert!(
        bodies.iter().all(|(at, pruned)| !pruned || *at < 250),
        "{bodies:?}"
    );
    assert_eq!(bodies.iter().filter(|(_, pruned)| *pruned).count(), 8);
    whole(&journal, "c", "later", 400);
    let again = block_on(journal.prune(Prune {
        before_ms: Some(250),
        to_bytes: None,
    }));
    let nothing = Pruned {
        before_ms: 250,
        ..Pruned::default()
    };
    assert_eq!(again.unwrap(), nothing);
    assert!(place.verify().is_sound());
}

#[test]
fn a_body_that_vanishes_after_the_time_of_a_prune_is_still_found() {
    let place = Place::quick();
    let journal = place.open();
    whole(&journal, "c", "1", 100);
    whole(&journal, "c", "2", 300);
    block_on(journal.prune(Prune {
        before_ms: Some(200),
        to_bytes: None,
    }))
    .unwrap();
    drop(journal);
    let db = rusqlite::Connection::open(place.file()).unwrap();
    db.execute(
        "DELETE FROM bodies WHERE hash = (SELECT body_hash FROM entries WHERE seq = 8)",
        [],
    )
    .unwrap();
    drop(db);
    let gone = Problem::BodyMissing {
        conversation: "c".into(),
        seq: 8,
    };
    assert_eq!(place.verify().problems, [gone]);
}

#[test]
fn contents_for_a_call_without_a_result_are_not_pruned() {
    let place = Place::quick();
    let journal = place.open();
    commit(&journal, start("c", "1", 100)).unwrap();
    intend(&journal, "1", 100, b"needed");
    let everything = Prune {
        before_ms: Some(u64::MAX >> 1),
        to_bytes: None,
    };
    assert_eq!(block_on(journal.prune(everything)).unwrap().bytes, 0);
    assert_eq!(place.reader().size().unwrap().images, 6);
    commit(&journal, vec![entry("c", "1", 101, finished("1"))]).unwrap();
    let pruned = block_on(journal.prune(everything)).unwrap();
    assert_eq!((pruned.bodies, pruned.images), (5, 1));
    assert!(place.verify().is_sound());
}

#[test]
fn a_large_record_is_brought_down_to_a_size_the_oldest_first() {
    let place = Place::quick();
    let journal = place.open();
    for at in 1..=40_u64 {
        let call = at.to_string();
        commit(&journal, start("c", &call, at)).unwrap();
        intend(
            &journal,
            &call,
            at,
            format!("{at}").repeat(20_000).as_bytes(),
        );
        commit(&journal, vec![entry("c", &call, at, finished(&call))]).unwrap();
    }
    let most = 600_000;
    let pruned = block_on(journal.prune(Prune {
        before_ms: None,
        to_bytes: Some(most),
    }));
    let pruned = pruned.unwrap();
    assert!(pruned.images > 10 && pruned.images < 40, "{pruned:?}");
    drop(journal);
    let size = place.reader().size().unwrap();
    assert!(size.file <= most + 100_000, "{size:?}");
    let left = place.lines(&Filter::default());
    let kept = |line: &&toolgate_journal::Line| line.body != Body::Pruned && line.kind != "started";
    let oldest = left.iter().find(kept).unwrap();
    assert_eq!(oldest.at_ms, pruned.before_ms);
    assert!(place.verify().is_sound());
}

#[test]
fn a_file_at_its_limit_prunes_what_ended_before_the_conversations_in_use() {
    let place = Place::quick();
    let most = 1024 * 1024;
    let options = Options {
        max_bytes: Some(most),
        ..place.options()
    };
    let journal = SqliteJournal::open(place.file(), options).unwrap();
    let text = "x".repeat(100_000);
    let said = |conversation: &str, at_ms: u64| {
        let text = format!("{at_ms} {text}");
        entry(conversation, "", at_ms, Record::UserMessage { text })
    };
    place.clock.set(450);
    block_on(journal.begin(&"in use".into(), None)).unwrap();
    place.clock.set(1_000_000);
    commit(&journal, vec![said("in use", 500)]).unwrap();
    let used = || {
        let lines = place.lines(&Filter::default());
        let kept = lines.iter().filter(|line| line.body != Body::Pruned);
        kept.map(|line| line.conversation.to_string())
            .collect::<Vec<_>>()
    };
    // Each of them ends, and the oldest go when there is no more space.
    for number in 0..40 {
        let old = format!("old {number:02}");
        commit(&journal, vec![said(&old, 100 + number)]).unwrap();
        block_on(journal.release(&old.as_str().into())).unwrap();
        assert_eq!(place.verify().problems, []);
    }
    let left = used();
    assert!(left.contains(&"old 39".to_owned()) && left.contains(&"in use".to_owned()));
    assert!(!left.contains(&"old 00".to_owned()), "{left:?}");
    let size = std::fs::metadata(place.file()).unwrap().len();
    assert!(size < most * 2, "{size}");
    // What a process works on stays, and then nothing but results is taken.
    let mut refused = None;
    for number in 0..40 {
        refused = commit(&journal, vec![said("in use", 600 + number)]).err();
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("there is a limit");
    assert_eq!(refused.kind, JournalErrorKind::NotWritten);
    assert!(
        refused.message.contains("its limit is 1048576"),
        "{refused}"
    );
    assert!(used().iter().all(|of| of == "in use"), "{:?}", used());
    assert_eq!(place.verify().problems, []);
    // When it ends, there is space for others at the next try.
    block_on(journal.release(&"in use".into())).unwrap();
    place.clock.set(2_000_000);
    commit(&journal, vec![said("new", 1000)]).unwrap();
    assert!(used().contains(&"new".to_owned()));
    assert_eq!(place.verify().problems, []);
}
