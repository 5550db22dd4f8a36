//! What it costs to read answers and to build requests: one JSON line per case.
//!
//! Reading is held against plain `serde_json` on the same lines; building a
//! request after a long conversation against one after a short one.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolgate_model::{ToolCall, ToolResult};
use toolgate_providers::decode::{NdjsonDecoder, SseDecoder};
use toolgate_providers::replay::{Arguments, Pace, Part, PlayedCall, Step};
use toolgate_providers::request::{Conversation, Frame, RequestOptions, Tools};
use toolgate_providers::{Content, Message, Reply, StreamDecoder, Wire};
use toolgate_testkit::Render;

/// As much as a network hands over at once.
const CHUNK: usize = 1_400;

fn main() {
    for wire in Wire::ALL {
        let name = wire.as_str().replace('-', "_");
        let stream = answer().render(wire);
        let lines = data_lines(wire, &stream);
        let ours = || {
            let mut decoder = StreamDecoder::new(wire, Default::default());
            let mut reply = Reply::default();
            for chunk in stream.chunks(CHUNK) {
                reply.extend(decoder.push(black_box(chunk)));
            }
            reply.extend(decoder.finish());
            black_box(reply);
        };
        let plain = || {
            for line in &lines {
                black_box(serde_json::from_str::<Value>(black_box(line)).ok());
            }
        };
        let (ours, plain) = medians(ours, plain);
        // Bytes per nanosecond are gigabytes per second.
        let rate = stream.len() as f64 * 1e3 / ours;
        println!(
            "{{\"name\":\"stream_{name}\",\"bytes\":{},\"ours_mb_s\":{rate:.0},\"ratio_to_serde_json\":{:.2}}}",
            stream.len(),
            ours / plain,
        );
    }
    for wire in Wire::ALL {
        let name = wire.as_str().replace('-', "_");
        let (short, short_body) = step_cost(wire, 10);
        let (long, long_body) = step_cost(wire, 1_000);
        println!(
            "{{\"name\":\"request_{name}\",\"ns_after_10\":{short:.0},\"ns_after_1000\":{long:.0},\"ratio\":{:.2},\"copy_ns_after_10\":{short_body:.0},\"copy_ns_after_1000\":{long_body:.0}}}",
            long / short,
        );
    }
}

/// Some thinking, much text and some calls, in the small pieces that models stream.
fn answer() -> Step {
    let words = "The quick brown fox jumps over the lazy dog; \"quoted\", and a newline.\n";
    let mut parts = vec![Part::Thinking {
        text: words.repeat(20),
        seal: None,
    }];
    for number in 0..20 {
        parts.push(Part::Text(words.repeat(20)));
        let fields = [
            ("path", json!(format!("src/file_{number}.rs"))),
            (
                "content",
                json!("fn main() {\n    println!(\"hello\");\n}\n".repeat(30)),
            ),
        ];
        let args: Map<String, Value> = fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        parts.push(Part::Call(PlayedCall {
            id: Some(format!("call_{number}")),
            name: Some("write_file".to_owned()),
            args: Arguments::Object(args),
        }));
    }
    Step {
        parts,
        pace: Pace {
            chunk_bytes: vec![4, 7, 3, 12, 5],
            delays: Vec::new(),
        },
        ..Step::default()
    }
}

fn data_lines(wire: Wire, stream: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let done = if wire == Wire::Ollama {
        NdjsonDecoder::new(Default::default()).push(stream, |line| lines.push(line.to_owned()))
    } else {
        SseDecoder::new(Default::default()).push(stream, |event| lines.push(event.data.to_owned()))
    };
    assert!(done.is_ok());
    lines
}

/// Nanoseconds to add a call with its result to a conversation of this many messages and to
/// have the next request, and to copy that request into one piece.
fn step_cost(wire: Wire, messages: usize) -> (f64, f64) {
    let result = "a line of a file\n".repeat(120);
    let turn = |number: usize| {
        let id = format!("call_{number}");
        let args = Map::from_iter([("path".to_owned(), json!("src/lib.rs"))]);
        let call = ToolCall::new(id.as_str(), "read_file", args);
        let said = vec![Content::text("I look."), Content::Call { call }];
        let answer = ToolResult::ok(id.into(), "read_file", result.as_str());
        [
            Message::Assistant { content: said },
            Message::Tool {
                results: vec![answer],
            },
        ]
    };
    let frame = Frame::new(wire, &RequestOptions::new("m"), &[]);
    let (Ok(frame), mut talk) = (frame, Conversation::new(wire)) else {
        return (f64::NAN, f64::NAN);
    };
    let push = |talk: &mut Conversation, message: &Message| assert!(talk.push(message).is_ok());
    push(&mut talk, &Message::user("Hi"));
    for number in 0..messages / 2 {
        turn(number)
            .iter()
            .for_each(|message| push(&mut talk, message));
    }
    let mut steps = Vec::new();
    for number in 0..200 {
        let messages = turn(messages + number);
        let start = Instant::now();
        messages.iter().for_each(|message| push(&mut talk, message));
        let _ = black_box(frame.request(&talk, Tools::Offered));
        steps.push(start.elapsed().as_nanos() as f64);
    }
    let copy = median(|| {
        let request = frame.request(&talk, Tools::Offered);
        black_box(request.map(|request| request.to_vec()).ok());
    });
    (middle(steps), copy)
}

/// The median of many runs, in nanoseconds.
fn median(run: impl FnMut()) -> f64 {
    medians(run, || {}).0
}

/// The medians of two things done in turn, so that whatever else the machine does meets both.
fn medians(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        ones.push(time(&mut one));
        others.push(time(&mut other));
    }
    (middle(ones), middle(others))
}

fn time(run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
