//! What is said gets on record with what is done about it, and is read back the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_engine::{DISCARDED, History};
use toolgate_gate::journal::Record;
use toolgate_model::{BadCall, ErrorKind, ToolCall, ToolError, ToolResult};
use toolgate_providers::request::Conversation;
use toolgate_providers::{Content, Message, Wire};

fn said(text: &str) -> Record {
    Record::UserMessage { text: text.into() }
}

fn finished(id: &str) -> Record {
    let result = Box::new(ToolResult::ok(id.into(), "t", id));
    Record::Finished { result }
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
            let message = Record::AssistantMessage { message_id: None, content, stop: "tool_use".into(), usage: None };
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
        message_id: None,
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
        message_id: None,
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
        stop: None,
        usage: None,
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
