//! What every history has to be, however a turn went.

use toolgate_providers::request::{Conversation, Frame, RequestOptions, Tools};
use toolgate_providers::{Content, Message, Wire};

/// One result per call, in call order, right after the calls. The last calls may be left to
/// the person.
pub(crate) fn one_result_per_call_in_order(said: &[Message], left_to_person: bool) {
    let mut messages = said.iter().peekable();
    while let Some(message) = messages.next() {
        let Message::Assistant { content } = message else {
            continue;
        };
        let calls: Vec<_> = content.iter().filter_map(Content::call_id).collect();
        if calls.is_empty() || (left_to_person && messages.peek().is_none()) {
            continue;
        }
        let Some(Message::Tool { results }) = messages.next() else {
            panic!("calls without results: {said:?}")
        };
        let answered: Vec<_> = results.iter().map(|result| &result.call_id).collect();
        assert_eq!(answered, calls);
    }
}

/// Every provider takes the history, and a next turn after it.
pub(crate) fn every_provider_accepts(said: &[Message], left_to_person: bool) {
    for wire in Wire::ALL {
        let mut conversation = Conversation::new(wire);
        for message in said {
            conversation.push(message).expect("a history");
        }
        if left_to_person {
            continue;
        }
        assert!(conversation.unanswered().is_empty());
        conversation
            .push(&Message::user("go on"))
            .expect("a next turn");
        let frame = Frame::new(wire, &RequestOptions::new("m"), &[]).unwrap();
        let request = frame.request(&conversation, Tools::Offered).unwrap();
        serde_json::from_slice::<serde_json::Value>(&request.to_vec()).expect("JSON");
    }
}
