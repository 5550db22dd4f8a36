//! Laws 5 to 8: errors, and what is offered again after them.

use futures::executor::block_on;
use futures::future::join_all;
use toolgate_gate::journal::{Batch, BatchKey, JournalErrorKind, Record};

use super::Store;
use super::parts::{commit, entries, entry, finished, is_sound, offer, said, start, whole};

/// An entry that cannot follow is refused with its whole batch, and a call has one result.
pub fn an_entry_that_cannot_follow_is_rejected(store: &dyn Store) {
    let journal = store.open();
    whole(&*journal, "c", "1", 1);
    let before = entries(&*journal, "c");
    let impossible = [
        vec![entry("c", "1", 2, finished("1"))],
        vec![entry("c", "1", 2, Record::Started)],
        vec![entry("c", "never", 2, finished("never"))],
        vec![said("c", 2, "x"), entry("c", "never", 2, Record::Started)],
    ];
    for entries in impossible {
        let refused = commit(&*journal, entries).unwrap_err();
        assert_eq!(refused.kind, JournalErrorKind::Rejected, "{refused}");
    }
    assert_eq!(entries(&*journal, "c"), before);
    // An id can come again, as another call.
    whole(&*journal, "c", "1", 3);
    is_sound(&*journal);
}

/// An error of one conversation is its own, whatever is offered at the same time.
pub fn conversations_share_no_fate(store: &dyn Store) {
    let (journal, other) = (store.open(), store.open());
    whole(&*other, "theirs", "1", 1);
    let offers = (0..30_u64).map(|n| {
        let entries = match n % 3 {
            0 => start("theirs", "2", n),
            1 => vec![entry(&format!("wrong {n}"), "x", n, Record::Started)],
            _ => start(&format!("right {n}"), "1", n),
        };
        journal.commit(entries)
    });
    let written = block_on(join_all(offers));
    for (n, written) in written.into_iter().enumerate() {
        match (n % 3, written) {
            (0, Err(error)) => assert_eq!(error.kind, JournalErrorKind::InUse),
            (1, Err(error)) => assert_eq!(error.kind, JournalErrorKind::Rejected),
            (2, Ok(())) => assert_eq!(entries(&*journal, &format!("right {n}")).len(), 3),
            (_, written) => panic!("{n}: {written:?}"),
        }
    }
    assert_eq!(entries(&*journal, "theirs").len(), 4);
    is_sound(&*journal);
}

/// A batch that is offered again with its key is on record once, also by the next process.
pub fn a_batch_that_is_offered_again_is_written_once(store: &dyn Store) {
    let journal = store.open();
    let first = Batch::new(start("c", "1", 1)).unwrap();
    // Never written before: it is now.
    assert_eq!(offer(&*journal, &first.again()).unwrap(), 1);
    assert_eq!(offer(&*journal, &first.again()).unwrap(), 1);
    let second = Batch::new(vec![said("c", 2, "same"), said("c", 2, "same")]).unwrap();
    let third = Batch::new(second.entries().to_vec()).unwrap();
    // The number of the first entry comes back.
    assert_eq!(offer(&*journal, &second).unwrap(), 4);
    // The same words said anew are another batch.
    assert_eq!(offer(&*journal, &third).unwrap(), 6);
    assert_eq!(offer(&*journal, &second.again()).unwrap(), 4);
    let at_once = [&first, &second, &third].map(|batch| journal.append(batch.again()));
    for written in block_on(join_all(at_once)) {
        written.unwrap();
    }
    drop(journal);
    let journal = store.open();
    for (batch, number) in [(&third, 6), (&first, 1), (&second, 4)] {
        assert_eq!(offer(&*journal, &batch.again()).unwrap(), number);
    }
    let expected = [&first, &second, &third].map(|batch| batch.entries().to_vec());
    assert_eq!(entries(&*journal, "c"), expected.concat());
    // The key is the conversation's own.
    let elsewhere = Batch::with_key(first.key().clone(), start("d", "1", 1)).unwrap();
    assert_eq!(offer(&*journal, &elsewhere.again()).unwrap(), 1);
    assert_eq!(entries(&*journal, "d").len(), 3);
    is_sound(&*journal);
}

/// A key that is on record with other entries is refused.
pub fn a_key_with_other_entries_is_rejected(store: &dyn Store) {
    let journal = store.open();
    let key = BatchKey::from("a key of my own");
    let batch = |text: &str| {
        let entries = vec![said("c", 1, "first"), said("c", 1, text)];
        Batch::with_key(key.clone(), entries).unwrap()
    };
    offer(&*journal, &batch("second")).unwrap();
    let refused = offer(&*journal, &batch("another").again()).unwrap_err();
    assert_eq!(refused.kind, JournalErrorKind::Rejected, "{refused}");
    offer(&*journal, &batch("second").again()).unwrap();
    assert_eq!(entries(&*journal, "c"), batch("second").entries());
}

/// Whoever is not answered gets `Unknown`, and offers the same batch again to whoever opens the
/// store next.
pub fn a_lost_answer_is_unknown_and_offered_again(store: &dyn Store) {
    whole(&*store.open(), "c", "0", 0);
    for (number, written) in [(1, true), (2, false)] {
        let Some(journal) = store.losing_an_answer(written) else {
            return;
        };
        let batch = Batch::new(start("c", &format!("{number}"), number)).unwrap();
        let error = offer(&*journal, &batch).unwrap_err();
        assert_eq!(error.kind, JournalErrorKind::Unknown, "{error}");
        drop(journal);
        let journal = store.open();
        let there = entries(&*journal, "c").ends_with(batch.entries());
        assert_eq!(there, written);
        offer(&*journal, &batch.again()).unwrap();
        let all = entries(&*journal, "c");
        assert!(all.ends_with(batch.entries()));
        assert_eq!(all.len() as u64, 4 + 3 * number);
        is_sound(&*journal);
    }
}
