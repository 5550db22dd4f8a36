//! Conversations as the bodies of requests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod talk;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_model::CallId;
use toolgate_providers::request::{
    Conversation, Frame, HistoryError, Reasoning, RequestError, RequestOptions, Tools,
};
use toolgate_providers::{Content, Message, Reply, Role, StreamDecoder, Wire};

use talk::{
    body, body_with, call, conversation, definitions, failed, ok, results, says, with_blocks,
};

#[test]
fn every_wire_writes_the_whole_of_a_conversation_in_its_form() {
    let (_, messages) = talk::histories().pop().unwrap();
    let (_, everything) = talk::options().swap_remove(1);
    for wire in Wire::ALL {
        let written = body(wire, &everything, &messages, Tools::Offered);
        let file = format!("tests/data/requests/{wire}.json");
        let expected = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
        let expected: Value = serde_json::from_str(&expected.unwrap()).unwrap();
        let shown = serde_json::to_string_pretty(&written).unwrap();
        assert_eq!(written, expected, "{file}: {shown}");
    }
}

#[test]
fn every_wire_writes_images_where_they_go_and_notes_where_not() {
    let options = RequestOptions::new("some-model");
    for wire in Wire::ALL {
        for images in [true, false] {
            let body = body_with(wire, &options, &with_blocks(), images);
            let field = if wire == Wire::OpenAiResponses {
                "input"
            } else {
                "messages"
            };
            let written = &body[field];
            let form = if images { "images" } else { "notes" };
            let file = format!("tests/data/requests/{wire}-{form}.json");
            let expected = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
            let expected: Value = serde_json::from_str(&expected.unwrap()).unwrap();
            let shown = serde_json::to_string_pretty(written).unwrap();
            assert_eq!(*written, expected, "{file}: {shown}");
        }
        let by_itself = body(wire, &options, &with_blocks(), Tools::Offered);
        let default = body_with(wire, &options, &with_blocks(), wire.takes_images());
        assert_eq!(by_itself, default);
    }
}

#[test]
fn blocks_are_said_in_other_words_too() {
    let results = with_blocks().pop().unwrap();
    let other = results.in_other_words(&|text| text.replace("words", "w").replace("x:1", "y:2"));
    let json = serde_json::to_string(&other).unwrap();
    assert!(!json.contains("words") && !json.contains("x:1"), "{json}");
    assert!(json.contains("iVBORw0KGgo"), "{json}");
}

#[test]
fn withheld_tools_cannot_be_called() {
    let options = RequestOptions::new("m");
    let (_, with_calls) = talk::histories().pop().unwrap();
    for wire in Wire::ALL {
        let fresh = body(wire, &options, &[Message::user("Hi")], Tools::Withheld);
        assert!(
            fresh["tools"].is_null() && fresh["tool_choice"].is_null(),
            "{wire}"
        );
        let later = body(wire, &options, &with_calls, Tools::Withheld);
        // A history with calls has to define them on this wire.
        if wire == Wire::Anthropic {
            assert_eq!(later["tools"].as_array().unwrap().len(), 2);
            assert_eq!(later["tool_choice"], json!({"type": "none"}));
        } else {
            assert!(
                later["tools"].is_null() && later["tool_choice"].is_null(),
                "{wire}"
            );
        }
        let offered = body(wire, &options, &with_calls, Tools::Offered);
        assert_eq!(offered["tools"].as_array().unwrap().len(), 2, "{wire}");
        let none = Frame::new(wire, &options, &[]).unwrap();
        let conversation = conversation(wire, &with_calls);
        for tools in [Tools::Offered, Tools::Withheld] {
            let bytes = none.request(&conversation, tools).unwrap().to_vec();
            let body: Value = serde_json::from_slice(&bytes).unwrap();
            assert!(
                body["tools"].is_null() && body["tool_choice"].is_null(),
                "{wire}"
            );
        }
    }
}

#[test]
fn a_conversation_takes_only_what_a_provider_accepts() {
    let ids = |ids: &[&str]| ids.iter().map(|id| CallId::from(*id)).collect::<Vec<_>>();
    for wire in Wire::ALL {
        let mut talk = Conversation::new(wire);
        assert_eq!(talk.push(&Message::user(" \n")), Err(HistoryError::Empty));
        assert_eq!(talk.push(&results(vec![])), Err(HistoryError::Empty));
        talk.push(&Message::user("Hi")).unwrap();
        let two = vec![call("a", "glob", json!({})), call("b", "glob", json!({}))];
        talk.push(&says(two)).unwrap();
        assert_eq!(talk.unanswered(), ids(&["a", "b"]));
        let before = talk.bytes();
        let open = HistoryError::Unanswered {
            calls: ids(&["a", "b"]),
        };
        assert_eq!(talk.push(&Message::user("and?")), Err(open.clone()));
        assert_eq!(talk.push(&says(vec![Content::text("and")])), Err(open));
        let missing = HistoryError::Unanswered { calls: ids(&["a"]) };
        assert_eq!(talk.push(&results(vec![ok("b", "")])), Err(missing));
        for wrong in ["c", "b"] {
            let unknown = HistoryError::UnknownResult { call: wrong.into() };
            let given = results(vec![ok("a", ""), ok("b", ""), ok(wrong, "")]);
            assert_eq!(talk.push(&given), Err(unknown));
        }
        assert_eq!((talk.bytes(), talk.last()), (before, Some(Role::Assistant)));
        talk.push(&results(vec![ok("b", "2"), failed("a", "1")]))
            .unwrap();
        assert!(talk.unanswered().is_empty());
        assert_eq!(talk.last(), Some(Role::Tool));
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let extra = |field: &str| RequestOptions {
        extra: talk::extra(json!({field: 1})),
        ..RequestOptions::new("m")
    };
    for wire in Wire::ALL {
        for field in ["model", "stream", "tools", "tool_choice"] {
            let refused = Frame::new(wire, &extra(field), &[]).map(drop);
            let field = field.to_owned();
            assert_eq!(
                refused,
                Err(RequestError::ReservedField { field }),
                "{wire}"
            );
        }
        let frame = Frame::new(wire, &extra("seed"), &definitions()).unwrap();
        let talk = conversation(wire, &[Message::user("Hi")]);
        let bytes = frame.request(&talk, Tools::Offered).unwrap().to_vec();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["seed"], 1, "{wire}");
        let nothing = Conversation::new(wire);
        let refused = frame.request(&nothing, Tools::Offered).unwrap_err();
        assert_eq!(refused, RequestError::NothingToAnswer);
        let mut answered = talk;
        answered.push(&says(vec![Content::text("Hello")])).unwrap();
        let refused = frame.request(&answered, Tools::Offered).unwrap_err();
        assert_eq!(refused, RequestError::NothingToAnswer);
        let other = if wire == Wire::Ollama {
            Wire::Anthropic
        } else {
            Wire::Ollama
        };
        let foreign = conversation(other, &[Message::user("Hi")]);
        let refused = frame.request(&foreign, Tools::Offered).unwrap_err();
        assert!(
            matches!(refused, RequestError::OtherWire { .. }),
            "{refused}"
        );
    }
    for (budget, max) in [(1023, None), (8192, None), (2000, Some(2000))] {
        let options = RequestOptions {
            reasoning: Reasoning::Budget(budget),
            max_tokens: max,
            ..RequestOptions::new("m")
        };
        let refused = Frame::new(Wire::Anthropic, &options, &[]).unwrap_err();
        assert!(matches!(refused, RequestError::Budget { .. }), "{refused}");
    }
}

#[test]
fn refused_requests_say_why() {
    for (wire, status, body, kind, message) in [
        (
            Wire::Anthropic,
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
            "authentication",
            "invalid x-api-key",
        ),
        (
            Wire::Anthropic,
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded",
            "Overloaded",
        ),
        (
            Wire::OpenAiChat,
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            "quota",
            "You exceeded",
        ),
        (
            Wire::OpenAiResponses,
            404,
            r#"{"error":{"message":"The model `x` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            "not_found",
            "does not exist",
        ),
        (
            Wire::OpenAiResponses,
            400,
            r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "context_too_long",
            "too long",
        ),
        (
            Wire::Ollama,
            404,
            r#"{"error":"model 'x' not found"}"#,
            "not_found",
            "model 'x'",
        ),
        (
            Wire::Ollama,
            500,
            "\u{1b}<html>Bad\nGateway",
            "server",
            "status 500",
        ),
        (Wire::OpenAiChat, 503, "", "overloaded", "status 503"),
    ] {
        let error = wire.read_error(status, body.as_bytes());
        assert_eq!(error.kind.as_str(), kind, "{body}");
        assert!(error.message.contains(message), "{error}");
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
    let long = format!("{{\"error\":\"{}\"}}", "x".repeat(100_000));
    let error = Wire::Ollama.read_error(500, long.as_bytes());
    assert!(error.message.chars().count() < 1100);
}

#[test]
fn a_status_that_says_what_happened_is_not_outvoted_by_a_general_type() {
    for wire in Wire::ALL {
        for (status, code, kind, again) in [
            (400, "null", "invalid_request", false),
            (401, "null", "authentication", false),
            (403, "null", "permission", false),
            (404, "null", "not_found", false),
            (413, "null", "context_too_long", false),
            (429, "null", "rate_limited", true),
            (500, "null", "server", true),
            (503, "null", "overloaded", true),
            (529, "null", "overloaded", true),
            (400, "429", "rate_limited", true),
            (401, "\"server_error\"", "authentication", false),
            (403, "\"insufficient_quota\"", "quota", false),
            (404, "\"rate_limit_exceeded\"", "not_found", false),
            (413, "\"rate_limit_exceeded\"", "context_too_long", false),
            (429, "\"insufficient_quota\"", "quota", false),
            (429, "\"server_is_overloaded\"", "overloaded", true),
            (500, "\"rate_limit_exceeded\"", "rate_limited", true),
            (
                500,
                "\"context_length_exceeded\"",
                "context_too_long",
                false,
            ),
            (502, "\"model_not_found\"", "server", true),
        ] {
            let body = format!(
                r#"{{"error":{{"message":"no","type":"invalid_request_error","param":null,"code":{code}}}}}"#
            );
            let error = wire.read_error(status, body.as_bytes());
            assert_eq!(error.kind.as_str(), kind, "{wire} {status} {code}");
            assert_eq!(error.kind.is_retryable(), again, "{wire} {status} {code}");
        }
    }
}

fn content() -> impl Strategy<Value = Content> {
    let text = "[a-zü🎉\" \n]{0,12}";
    let name = prop_oneof![Just("read_file".to_owned()), "[a-z.: ü]{0,9}", "[a-z]{70}"];
    prop_oneof![
        text.prop_map(Content::text),
        text.prop_map(|text| talk::thinking(&text, None)),
        ("[a-c:.]{0,2}", name.clone(), text).prop_map(|(id, name, text)| call(
            &id,
            &name,
            json!({"text": text})
        )),
        ("[a-c:.]{0,2}", prop::option::of(name))
            .prop_map(|(id, name)| talk::bad_call(&id, name.as_deref())),
    ]
}

/// The ids of the calls and of the results in a body, each in their order.
fn ids(wire: Wire, body: &Value) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (mut calls, mut answers) = (Vec::new(), Vec::new());
    let field = if wire == Wire::OpenAiResponses {
        "input"
    } else {
        "messages"
    };
    for message in body[field].as_array().unwrap() {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        for block in blocks.iter().chain([message]) {
            match block["type"].as_str() {
                Some("tool_use") => calls.push(text(&block["id"])),
                Some("tool_result") => answers.push(text(&block["tool_use_id"])),
                Some("function_call") => calls.push(text(&block["call_id"])),
                Some("function_call_output") => answers.push(text(&block["call_id"])),
                _ => {}
            }
        }
        let listed = message["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        calls.extend(listed.iter().map(|call| text(&call["id"])));
        if message["role"] == "tool" {
            answers.push(text(&message["tool_call_id"]));
        }
    }
    (calls, answers)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever a model said, with results in any order: one result per call, in call order,
    /// no id twice, and what was written once stays as it was.
    #[test]
    fn every_history_has_one_result_per_call_in_call_order(
        turns in prop::collection::vec(prop::collection::vec(content(), 0..6), 0..5),
        backwards in any::<bool>(),
    ) {
        for wire in Wire::ALL {
            let frame = Frame::new(wire, &RequestOptions::new("m"), &definitions()).unwrap();
            let mut talk = Conversation::new(wire);
            talk.push(&Message::user("Hi")).unwrap();
            let mut before = Vec::new();
            for content in &turns {
                talk.push(&says(content.clone())).unwrap();
                let mut open: Vec<_> = talk.unanswered();
                prop_assert_eq!(open.len(), content.iter().filter_map(Content::call_id).count());
                if open.is_empty() {
                    talk.push(&Message::user("Go on")).unwrap();
                } else {
                    if backwards {
                        open.reverse();
                    }
                    let all = open.iter().map(|id| ok(id.as_str(), "")).collect();
                    talk.push(&results(all)).unwrap();
                }
                let request = frame.request(&talk, Tools::Offered).unwrap().to_vec();
                let body = &request[..request.len() - 2];
                prop_assert!(body.starts_with(&before));
                before = body.to_vec();
            }
            let request = frame.request(&talk, Tools::Offered).unwrap().to_vec();
            let (calls, answers) = ids(wire, &serde_json::from_slice(&request).unwrap());
            prop_assert_eq!(&calls, &answers);
            let mut unique = calls.clone();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len(), calls.len());
            if wire == Wire::Anthropic {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                prop_assert!(calls.iter().all(|id| !id.is_empty() && id.chars().all(plain)));
            }
        }
    }
}

#[test]
fn numbers_of_calls_go_on_through_a_conversation() {
    let line =
        br#"{"message":{"tool_calls":[{"function":{"name":"ls","arguments":{}}}]},"done":true}
"#;
    let mut next = 1;
    for expected in ["ollama_1", "ollama_2"] {
        let mut decoder = StreamDecoder::counting_from(Wire::Ollama, Default::default(), next);
        let reply: Reply = decoder.push(line).into_iter().collect();
        assert_eq!(reply.calls().next().unwrap().id().as_str(), expected);
        next = decoder.next_number();
    }
    assert_eq!(next, 3);
}
