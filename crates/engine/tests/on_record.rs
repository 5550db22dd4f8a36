//! What is said gets on record with what is done about it, and is read back the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_engine::{DISCARDED, History, Ledger};
use toolgate_gate::journal::{Entry, Journal, JournalError, Record};
use toolgate_model::{BadCall, ErrorKind, ToolCall, ToolError, ToolResult};
use toolgate_providers::request::Conversation;
use toolgate_providers::{Content, Message, Wire};

/// A journal that keeps its commits apart, and refuses while it is told to.
#[derive(Clone, Default)]
struct Commits(Arc<Mutex<(bool, Vec<Vec<String>>)>>);

impl Commits {
    fn refuse(&self, refuse: bool) {
        self.0.lock().unwrap().0 = refuse;
    }

    fn all(&self) -> Vec<Vec<String>> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Journal for Commits {
    fn commit(&self, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), JournalError>> {
        let mut kept = self.0.lock().unwrap();
        let done = if kept.0 {
            Err(JournalError {
                message: "full".into(),
            })
        } else {
            let name = |entry: &Entry| format!("{} {}", entry.conversation, entry.record.kind());
            kept.1.push(entries.iter().map(name).collect());
            Ok(())
        };
        Box::pin(std::future::ready(done))
    }
}

/// The journal of these tests never waits.
fn block_on<F: Future>(future: F) -> F::Output {
    future.now_or_never().expect("it is done at once")
}

fn entry(conversation: &str, record: Record) -> Entry {
    Entry {
        conversation: conversation.into(),
        call: "c".into(),
        at_ms: 0,
        record,
    }
}

fn said(text: &str) -> Record {
    Record::UserMessage { text: text.into() }
}

fn finished(id: &str) -> Record {
    let result = Box::new(ToolResult::ok(id.into(), "t", id));
    Record::Finished { result }
}

#[test]
fn notes_become_durable_with_the_next_commit_of_their_conversation() {
    let commits = Commits::default();
    let ledger = Ledger::new(Arc::new(commits.clone()));
    ledger.note(entry("a", said("1")));
    ledger.note(entry("b", said("2")));
    block_on(ledger.commit(vec![entry("a", Record::Started)])).unwrap();
    assert_eq!(commits.all(), [["a user_message", "a started"]]);
    block_on(ledger.flush()).unwrap();
    block_on(ledger.flush()).unwrap();
    assert_eq!(commits.all()[1..], [["b user_message"]]);
}

#[test]
fn a_note_that_could_not_be_written_waits_in_its_place_and_holds_no_result_up() {
    let commits = Commits::default();
    let ledger = Ledger::new(Arc::new(commits.clone()));
    commits.refuse(true);
    ledger.note(entry("a", said("1")));
    assert!(block_on(ledger.commit(vec![entry("a", Record::Started)])).is_err());
    ledger.note(entry("a", finished("x")));
    assert!(block_on(ledger.flush()).is_err());
    commits.refuse(false);
    block_on(ledger.commit(vec![entry("a", finished("y"))])).unwrap();
    block_on(ledger.flush()).unwrap();
    assert_eq!(
        commits.all(),
        [vec!["a finished"], vec!["a user_message", "a finished"]]
    );
}

#[test]
fn what_waits_is_bounded_and_what_is_known_of_calls_is_not_lost() {
    let commits = Commits::default();
    let ledger = Ledger::new(Arc::new(commits.clone()));
    commits.refuse(true);
    let of_no_call = |record| Entry {
        call: "".into(),
        ..entry("a", record)
    };
    let part = || Record::Streamed { content: json!([]) };
    ledger.note(entry("a", finished("x")));
    assert_eq!(
        block_on(ledger.keep()).as_deref(),
        Some("the journal cannot be written: full")
    );
    assert!(ledger.is_refused());
    for _ in 0..9_000 {
        ledger.note(of_no_call(part()));
        ledger.note(of_no_call(said("1")));
    }
    assert_eq!(block_on(ledger.keep()), None, "parts are said again");
    for _ in 0..2_000 {
        ledger.note(of_no_call(said("2")));
    }
    let told = block_on(ledger.keep()).expect("the oldest is lost");
    assert!(told.contains("is lost"), "{told}");
    assert_eq!(block_on(ledger.keep()), None);
    commits.refuse(false);
    assert_eq!(block_on(ledger.keep()), None);
    assert!(!ledger.is_refused());
    let kept = commits.all().concat();
    assert_eq!(kept.len(), 10_000);
    assert_eq!(kept[0], "a finished");
    assert!(!kept.contains(&"a streamed".to_owned()));
    commits.refuse(true);
    ledger.note(of_no_call(said("3")));
    assert_eq!(
        block_on(ledger.keep()).as_deref(),
        Some("the journal cannot be written: full"),
        "told anew"
    );
}

/// An answer with calls, and how many of them have a result on record.
fn answers() -> impl Strategy<Value = (Vec<Content>, usize)> {
    let part = prop_oneof![
        "[a-z]{1,4}".prop_map(Content::text),
        prop::sample::select(vec!["a", "b", "c"]).prop_map(|id| Content::Call {
            call: ToolCall::new(id, "t", Default::default()),
        }),
        prop::sample::select(vec!["a", "d"]).prop_map(|id| Content::BadCall {
            call: BadCall {
                id: id.into(),
                name: None,
                error: ToolError::new(ErrorKind::BadCall, "cut"),
            },
        }),
    ];
    (prop::collection::vec(part, 1..5), 0_usize..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_conversation_read_back_from_any_prefix_of_its_record_can_go_on(
        turns in prop::collection::vec((answers(), any::<bool>()), 1..4),
        kept in 0_usize..40,
    ) {
        let mut records = Vec::new();
        for ((content, results), pruned) in turns {
            records.push(("turn_started", None));
            records.push(("user_message", (!pruned).then(|| said("hi"))));
            let ids: Vec<_> = content.iter().filter_map(Content::call_id).cloned().collect();
            let content = serde_json::to_value(&content).unwrap();
            let message = Record::AssistantMessage { content, stop: "tool_use".into(), usage: None };
            records.push(("assistant_message", (!pruned).then_some(message)));
            for id in ids.iter().take(results) {
                records.push(("finished", Some(finished(id.as_str()))));
            }
            // A person's own call in between is nothing that was said.
            records.push(("finished", Some(finished("stranger"))));
        }
        records.truncate(kept);
        let history = History::read(records);
        for wire in Wire::ALL {
            let mut conversation = Conversation::new(wire);
            for message in &history.messages {
                conversation.push(message).expect("a history");
            }
            conversation.push(&Message::user("go on")).expect("a next turn");
        }
    }
}

#[test]
fn thinking_comes_back_with_its_seal_and_a_lost_result_is_said_to_be_lost() {
    let content = json!([
        {"type": "thinking", "text": "hm", "seal": {"signature": "s1"}},
        {"type": "call", "call": {"id": "a", "name": "t", "args": {}}},
    ]);
    let message = Record::AssistantMessage {
        content,
        stop: "tool_use".into(),
        usage: None,
    };
    let history = History::read([("assistant_message", Some(message))]);
    let [Message::Assistant { content }, Message::Tool { results }] = history.messages.as_slice()
    else {
        panic!("{history:?}")
    };
    assert!(matches!(
        &content[0],
        Content::Thinking { seal: Some(_), .. }
    ));
    assert_eq!(results[0].kind(), Some(ErrorKind::Interrupted));
}

#[test]
fn every_result_of_a_discarded_batch_is_told_as_failed_and_how_far_its_call_had_come() {
    let call = |id: &str| json!({"type": "call", "call": {"id": id, "name": "t", "args": {}}});
    let answer = |calls: Value| Record::AssistantMessage {
        content: calls,
        stop: "tool_use".into(),
        usage: None,
    };
    let cut_off = |id: &str, words: &str, resumed: &str| {
        let error = ToolError::new(ErrorKind::Interrupted, words);
        let mut result = ToolResult::failed(id.into(), "t", error);
        result.metadata.insert("resumed".into(), json!(resumed));
        Record::Finished {
            result: Box::new(result),
        }
    };
    let ended = |outcome: &str| Record::TurnFinished {
        turn: 1,
        outcome: outcome.into(),
        error: None,
    };
    let told = |outcome: &str| {
        let records = [
            answer(json!([call("before")])),
            finished("before"),
            answer(json!([
                call("done"),
                call("mended"),
                call("waits"),
                call("lost")
            ])),
            finished("done"),
            cut_off("mended", "its changes were completed", ""),
            cut_off("waits", "it was not started", "discard"),
            ended(outcome),
            said("go on"),
        ];
        let records = records.map(|record| (record.kind(), Some(record)));
        let history = History::read(records);
        let results = history
            .messages
            .into_iter()
            .filter_map(|message| match message {
                Message::Tool { results } => Some(results),
                _ => None,
            });
        results.flatten().collect::<Vec<_>>()
    };
    let discarded = told("discarded");
    let words: Vec<(&str, &str)> = discarded
        .iter()
        .map(|result| (result.call_id.as_str(), result.content.as_str()))
        .collect();
    for ((id, content), (call, part)) in words.iter().zip([
        ("before", "before"),
        ("done", "this call had finished"),
        ("mended", "its changes were completed"),
        ("waits", "it was not started"),
        ("lost", "before this call had a result"),
    ]) {
        assert!(*id == call && content.contains(part), "{id}: {content}");
    }
    assert_eq!(discarded[0].kind(), None, "an earlier batch stands");
    for result in &discarded[1..] {
        assert_eq!(result.kind(), Some(ErrorKind::Interrupted), "{result:?}");
        assert_eq!(result.metadata["resumed"], "discard", "{result:?}");
    }
    for result in [&discarded[1], &discarded[2], &discarded[4]] {
        assert!(result.content.starts_with(DISCARDED), "{result:?}");
    }
    assert_eq!(told("interrupted")[1].kind(), None, "what was kept stands");
}
