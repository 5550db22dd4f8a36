//! Laws 1 to 4, 14 and 16: what `Ok` promises, and reading.

use futures::executor::block_on;
use futures::future::join_all;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use toolgate_gate::journal::{
    Batch, Body, ConversationFilter, Filter, JournalErrorKind, ReadJournal, Record, State,
};
use toolgate_model::ToolResult;

use super::Store;
use crate::{any_block, each_block};

use super::parts::{commit, entries, entry, is_sound, lines, received, said, start, whole};

/// A batch is written whole, in order, with consecutive numbers from 1 on, and can be read.
pub fn a_batch_is_written_whole_and_in_order(store: &dyn Store) {
    let journal = store.open();
    commit(&*journal, Vec::new()).expect("nothing to write is fine");
    let mut all = start("c", "1", 1);
    commit(&*journal, all.clone()).unwrap();
    let more = vec![said("c", 2, "one"), said("c", 2, "two")];
    commit(&*journal, more.clone()).unwrap();
    all.extend(more);
    assert_eq!(entries(&*journal, "c"), all);
    assert_eq!(entries(&*store.open(), "c"), all, "others read it too");
    let mixed = Batch::new(vec![said("c", 3, "x"), said("d", 3, "x")]);
    assert_eq!(mixed.unwrap_err().kind, JournalErrorKind::Rejected);
    is_sound(&*journal);
}

/// Batches that are offered at the same time come in any order, each without a gap.
pub fn batches_offered_at_once_have_no_gaps(store: &dyn Store) {
    let journal = store.open();
    let batch = |of: u64| {
        let part = |n: u64| said("c", of, &format!("{of} {n}"));
        (0..3).map(part).collect::<Vec<_>>()
    };
    let offers = (0..20).map(|of| journal.commit(batch(of)));
    for written in block_on(join_all(offers)) {
        written.unwrap();
    }
    let all = entries(&*journal, "c");
    assert_eq!(all.len(), 60);
    let mut seen = std::collections::BTreeSet::new();
    for three in all.chunks(3) {
        let of = three[0].at_ms;
        assert_eq!(three, batch(of));
        seen.insert(of);
    }
    assert_eq!(seen.len(), 20);
    is_sound(&*journal);
}

/// What was acknowledged is there after everybody has closed the store.
pub fn a_closed_store_has_everything_when_it_is_opened_again(store: &dyn Store) {
    let mut all = Vec::new();
    for round in 0..3 {
        let journal = store.open();
        let call = format!("call {round}");
        whole(&*journal, "c", &call, round);
        all.push(said("c", round, &call));
        commit(&*journal, vec![said("c", round, &call)]).unwrap();
        drop(journal);
        let found = entries(&*store.open(), "c");
        let told = found
            .into_iter()
            .filter(|e| e.record.kind() == "user_message");
        assert_eq!(told.collect::<Vec<_>>(), all);
    }
    is_sound(&*store.open());
}

/// Conversations and entries can be asked for by what they are, and a page at a time.
pub fn reading_can_be_narrowed_and_paged(store: &dyn Store) {
    let journal = store.open();
    block_on(journal.begin(&"a".into(), Some("/w".as_ref()))).unwrap();
    whole(&*journal, "a", "1", 10);
    whole(&*journal, "b", "1", 20);
    commit(&*journal, vec![entry("b", "2", 30, received("2"))]).unwrap();
    let of = |filter: ConversationFilter| -> Vec<String> {
        let found = block_on(journal.conversations(filter)).unwrap();
        found.iter().map(|found| found.id.to_string()).collect()
    };
    assert_eq!(of(ConversationFilter::default()).len(), 2);
    assert_eq!(of(ConversationFilter::of(&"b".into())), ["b"]);
    assert_eq!(of(ConversationFilter::of(&"none".into())).len(), 0);
    let here = ConversationFilter {
        workspace: Some("/w".to_owned()),
        ..ConversationFilter::default()
    };
    assert_eq!(of(here), ["a"]);
    let b = block_on(journal.conversation(&"b".into()))
        .unwrap()
        .unwrap();
    assert_eq!((b.entries, b.last_ms), (5, 30));
    assert_eq!(b.calls.get(&State::Finished), Some(&1));
    assert_eq!(b.calls.get(&State::Received), Some(&1));
    assert_eq!(b.held_by, Some(std::process::id()));

    let kinds = |filter: Filter| -> Vec<String> {
        let found = lines(&*journal, filter);
        found.into_iter().map(|line| line.kind).collect()
    };
    assert_eq!(kinds(Filter::default()).len(), 9);
    assert_eq!(
        kinds(Filter::after(&"b".into(), 3)),
        ["finished", "received"]
    );
    let call = Filter {
        call: Some("2".into()),
        ..Filter::default()
    };
    assert_eq!(kinds(call), ["received"]);
    let kind = Filter {
        kind: Some("started".to_owned()),
        ..Filter::default()
    };
    assert_eq!(kinds(kind).len(), 2);
    let time = Filter {
        from_ms: Some(20),
        until_ms: Some(30),
        ..Filter::default()
    };
    assert_eq!(kinds(time).len(), 4);

    for number in 0..600 {
        commit(&*journal, vec![said("c", number, "x")]).unwrap();
    }
    let reader: &dyn ReadJournal = &*journal;
    let mut seqs = Vec::new();
    block_on(reader.each(Filter::of(&"c".into()), |line| {
        assert!(matches!(line.body, Body::Kept(_)));
        seqs.push(line.seq);
        line.seq < 550
    }))
    .unwrap();
    assert_eq!(seqs, (1..=550).collect::<Vec<_>>());
    let all = Filter {
        most: Some(300),
        ..Filter::default()
    };
    let mut count = 0;
    let each = |_| {
        count += 1;
        true
    };
    block_on(reader.each(all, each)).unwrap();
    assert_eq!(count, 300);
}

/// The blocks of a result are part of its entry and come back as they went in.
pub fn results_with_blocks_are_read_back_identically(store: &dyn Store) {
    let journal = store.open();
    let number = std::cell::Cell::new(0);
    let agrees = |blocks: Vec<_>| {
        let at = number.replace(number.get() + 1);
        let of = format!("c{at}");
        let mut result = ToolResult::ok("1".into(), "read_file", "text");
        result.blocks = blocks;
        let result = Box::new(result);
        let mut all = start(&of, "1", at);
        all.push(entry(&of, "1", at, Record::Finished { result }));
        commit(&*journal, all.clone()).unwrap();
        entries(&*journal, &of) == all
    };
    assert!(agrees(each_block()));
    let text = prop_oneof![any::<String>(), "[ -~]{0,12}".boxed()].boxed();
    let blocks = prop::collection::vec(any_block(text), 0..6);
    let ran = TestRunner::new(crate::laws(256)).run(&blocks, |blocks| {
        prop_assert!(agrees(blocks));
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    is_sound(&*store.open());
}
