//! Answers that are too much, and what is kept of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use serde_json::{Value, json};
use toolgate_model::json::JsonLimits;
use toolgate_providers::decode::{DecodeError, DecodeLimits};
use toolgate_providers::replay::{Arguments, Pace, Part, PlayedCall, Step};
use toolgate_providers::{Content, Reply, StreamDecoder, StreamError, StreamLimits, Wire};
use toolgate_testkit::Render;

fn read(wire: Wire, limits: StreamLimits, stream: &[u8]) -> Reply {
    let mut decoder = StreamDecoder::new(wire, limits);
    let mut reply: Reply = decoder.push(stream).into_iter().collect();
    reply.extend(decoder.finish());
    reply
}

fn call(id: usize, content: &str) -> Part {
    let content = ("content".to_owned(), json!(content));
    Part::Call(PlayedCall {
        id: Some(format!("call_{id}")),
        name: Some("write_file".to_owned()),
        args: Arguments::Object([content].into_iter().collect()),
    })
}

fn step(parts: Vec<Part>) -> Step {
    Step {
        parts,
        pace: Pace {
            chunk_bytes: vec![7],
            ..Pace::default()
        },
        ..Step::default()
    }
}

#[test]
fn arguments_that_are_too_large_make_a_damaged_call_and_the_others_stay_whole() {
    let limits = StreamLimits {
        args: JsonLimits {
            max_bytes: 30,
            max_depth: 3,
        },
        ..StreamLimits::default()
    };
    let just = "x".repeat(30 - r#"{"content":""}"#.len());
    let step = step(vec![
        call(0, &just),
        call(1, &format!("{just}x")),
        call(2, "y"),
    ]);
    for wire in Wire::ALL {
        let lines = read(wire, limits, &step.render(wire)).lines();
        let kinds: Vec<&Value> = lines.iter().map(|line| &line["type"]).collect();
        assert_eq!(kinds[..3], ["call", "bad_call", "call"], "{wire}");
        let error = &lines[1]["call"]["error"];
        assert_eq!(error["kind"], "limit_exceeded", "{wire}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("31 bytes of JSON, at most 30"),
            "{message}"
        );
    }
}

#[test]
fn an_answer_that_nobody_waits_for_any_longer_keeps_what_came_of_it() {
    let parts = vec![Part::Text("so far".into()), call(0, "a"), call(1, "bcdef")];
    let mut step = step(parts);
    step.pace.chunk_bytes = vec![3];
    for wire in Wire::ALL {
        let stream = step.render(wire);
        for end in (0..stream.len()).step_by(7) {
            let half = stream.get(..end).unwrap();
            let mut closed = read(wire, StreamLimits::default(), half);
            let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
            let mut reply: Reply = decoder.push(half).into_iter().collect();
            let fault = StreamError::Silent { seconds: 1 };
            reply.extend(decoder.break_off(fault.clone()));
            // Where the answer says its own end that counts.
            if !matches!(reply.end, Some(Ok(_))) {
                assert_eq!(reply.end, Some(Err(fault)), "{wire} {end}");
                closed.end.clone_from(&reply.end);
            }
            assert_eq!(reply, closed, "{wire} {end}: the same but for the reason");
        }
    }
}

#[test]
fn seals_count_like_words() {
    let limits = StreamLimits {
        max_words: 1_000,
        ..StreamLimits::default()
    };
    let anthropic = |block: Value| {
        format!(
            "data: {}\n\ndata: {}\n\n",
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_stop", "index": 0}),
        )
    };
    let seal = "s".repeat(400);
    let reasoning = json!({"type": "reasoning", "id": "r", "encrypted_content": seal});
    for (wire, one) in [
        (
            Wire::Anthropic,
            anthropic(json!({"type": "redacted_thinking", "data": seal})),
        ),
        (
            Wire::Anthropic,
            anthropic(json!({"type": "thinking", "thinking": "", "signature": seal})),
        ),
        (
            Wire::OpenAiResponses,
            format!(
                "data: {}\n\n",
                json!({"type": "response.output_item.done", "item": reasoning})
            ),
        ),
    ] {
        let few = read(wire, limits, one.repeat(2).as_bytes());
        assert_eq!(few.end, Some(Err(StreamError::Cut)), "{one}");
        let many = read(wire, limits, one.repeat(3).as_bytes());
        assert_eq!(
            many.end,
            Some(Err(StreamError::TooLarge { max: 1_000 })),
            "{one}"
        );
    }
}

#[test]
fn ids_and_names_that_are_too_long_make_a_damaged_call() {
    let call = |id: usize, name: usize| {
        Part::Call(PlayedCall {
            id: Some("i".repeat(id)),
            name: Some("n".repeat(name)),
            args: Arguments::Object(Default::default()),
        })
    };
    let step = step(vec![call(16_384, 1_024), call(16_385, 4), call(4, 1_025)]);
    for wire in Wire::ALL {
        let lines = read(wire, StreamLimits::default(), &step.render(wire)).lines();
        let kinds: Vec<&Value> = lines.iter().map(|line| &line["type"]).collect();
        assert_eq!(kinds[..3], ["call", "bad_call", "bad_call"], "{wire}");
        let told = lines[2].to_string();
        assert!(
            told.contains("name is too long: 1025 bytes") && told.len() < 1_000,
            "{told}"
        );
    }
}

#[test]
fn an_answer_that_does_not_end_is_stopped() {
    let limits = StreamLimits {
        max_bytes: 10_000,
        ..StreamLimits::default()
    };
    let step = step(vec![Part::Text("so on ".repeat(9_000))]);
    for wire in Wire::ALL {
        let stream = step.render(wire);
        let whole = read(wire, limits, &stream);
        assert_eq!(
            whole.end,
            Some(Err(StreamError::TooLarge { max: 10_000 })),
            "{wire}"
        );
        let mut decoder = StreamDecoder::new(wire, limits);
        let mut taken = 0;
        let mut reply = Reply::default();
        for chunk in stream.chunks(100) {
            reply.extend(decoder.push(chunk));
            taken += chunk.len();
            if decoder.is_over() {
                break;
            }
        }
        assert_eq!((taken, &reply), (10_100, &whole), "{wire}");
        let enough = StreamLimits {
            max_bytes: stream.len(),
            ..limits
        };
        assert!(read(wire, enough, &stream).end.unwrap().is_ok(), "{wire}");
    }
}

/// Many small pieces are a long answer too, and where it is stopped does not depend on how
/// it was cut.
#[test]
fn an_answer_that_says_more_than_anybody_reads_is_stopped() {
    let limits = StreamLimits {
        max_words: 1_000,
        ..StreamLimits::default()
    };
    for part in [
        Part::Text("so on ".repeat(9_000)),
        Part::Thinking {
            text: "so on ".repeat(9_000),
            seal: None,
        },
    ] {
        let mut step = step(vec![part]);
        step.pace.chunk_bytes = vec![60];
        for wire in Wire::ALL {
            let stream = step.render(wire);
            let whole = read(wire, limits, &stream);
            assert_eq!(
                whole.end,
                Some(Err(StreamError::TooLarge { max: 1_000 })),
                "{wire}"
            );
            let words: usize = whole
                .content
                .iter()
                .map(|part| match part {
                    Content::Text { text, .. } | Content::Thinking { text, .. } => text.len(),
                    _ => 0,
                })
                .sum();
            assert!((900..=1_000).contains(&words), "{wire}: {words}");
            let mut decoder = StreamDecoder::new(wire, limits);
            let mut reply = Reply::default();
            for chunk in stream.chunks(7) {
                reply.extend(decoder.push(chunk));
            }
            assert_eq!(reply, whole, "{wire}");
        }
    }
}

#[test]
fn a_line_without_an_end_is_stopped_before_it_fills_the_memory() {
    let limits = StreamLimits {
        decode: DecodeLimits {
            max_line: 4_096,
            max_event: 4_096,
        },
        ..StreamLimits::default()
    };
    for wire in Wire::ALL {
        let mut decoder = StreamDecoder::new(wire, limits);
        let mut reply = Reply::default();
        for _ in 0..100 {
            reply.extend(decoder.push(&[b'x'; 1_000]));
        }
        let fault = StreamError::Decode(DecodeError::LineTooLong { max: 4_096 });
        assert_eq!(reply.end, Some(Err(fault)), "{wire}");
    }
}

#[test]
fn more_calls_than_anybody_makes_are_no_answer() {
    let many = step((0..513).map(|id| call(id, "")).collect());
    let most = step((0..512).map(|id| call(id, "")).collect());
    for wire in Wire::ALL {
        let reply = read(wire, StreamLimits::default(), &most.render(wire));
        assert_eq!(reply.calls().count(), 512, "{wire}");
        assert!(reply.end.unwrap().is_ok());
        let reply = read(wire, StreamLimits::default(), &many.render(wire));
        assert_eq!(reply.calls().count(), 512, "{wire}");
        assert_eq!(
            reply.end,
            Some(Err(StreamError::TooManyParts { max: 512 })),
            "{wire}"
        );
    }
}

#[test]
fn blocks_that_are_never_closed_do_not_pile_up() {
    let mut stream = String::new();
    for index in 0..600 {
        let block = json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}});
        stream.push_str(&format!("data: {block}\n\n"));
    }
    let reply = read(Wire::Anthropic, StreamLimits::default(), stream.as_bytes());
    assert_eq!(reply.end, Some(Err(StreamError::TooManyParts { max: 512 })));
}

#[test]
fn messages_about_what_came_are_short_and_on_one_line() {
    let long = "\u{1b}x\n".repeat(10_000);
    let page = format!("data: <{}\n\n", long.replace('\n', ""));
    let error = json!({"type": "error", "error": {"type": "api_error", "message": long}});
    let error = format!("data: {error}\n\n");
    for stream in [page, error] {
        let reply = read(Wire::Anthropic, StreamLimits::default(), stream.as_bytes());
        let fault = reply.end.unwrap().unwrap_err().to_string();
        assert!(fault.chars().count() < 1_500, "{fault}");
        assert!(!fault.contains(char::is_control), "{fault:?}");
    }
}

#[test]
fn what_comes_after_the_end_is_read_over() {
    let step = step(vec![Part::Text("done".into())]);
    for wire in Wire::ALL {
        let stream = step.render(wire);
        let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
        let reply: Reply = decoder.push(&stream).into_iter().collect();
        assert!(decoder.is_over() && reply.end.is_some(), "{wire}");
        assert!(decoder.push(&stream).is_empty() && decoder.push(b"garbage\n\n").is_empty());
        assert!(decoder.finish().is_empty(), "{wire}");
    }
}

#[test]
fn what_stands_only_in_the_finished_response_is_taken_once() {
    let items = r#"{"type":"message","id":"m1","content":[{"type":"output_text","text":"Hello"}]},{"type":"function_call","id":"f1","call_id":"c1","name":"read_file","arguments":"{\"path\":\"a\"}"}"#;
    let streamed = r#"data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m1","delta":"Hello"}

"#;
    // The same item at another place is known by its id.
    let moved = streamed.replace("\"output_index\":0", "\"output_index\":7");
    for before in ["", streamed, &moved] {
        let body = format!(
            "{before}data: {{\"type\":\"response.completed\",\"response\":{{\"output\":[{items}]}}}}\n\n"
        );
        let mut stream = StreamDecoder::new(Wire::OpenAiResponses, StreamLimits::default());
        let mut reply = Reply::default();
        reply.extend(stream.push(body.as_bytes()));
        reply.extend(stream.finish());
        assert_eq!(reply.lines()[0]["text"], "Hello", "{before}");
        assert_eq!(reply.calls().count(), 1, "{before}");
    }
}
