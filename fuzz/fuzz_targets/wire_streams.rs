//! Answers of all four wires: any bytes, in any chunking, come to the same
//! answer, which ends once; and whatever came, the next request can be made.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_model::json::JsonLimits;
use toolgate_model::{ToolResult, json::depth};
use toolgate_providers::decode::DecodeLimits;
use toolgate_providers::replay::{Recorder, Script};
use toolgate_providers::request::{Conversation, Frame, RequestOptions, Tools};
use toolgate_providers::{Content, Message, Reply, StreamDecoder, StreamEvent, StreamLimits, Wire};

/// Small, so that the fuzzer reaches both sides of every limit.
const LIMITS: StreamLimits = StreamLimits {
    decode: DecodeLimits {
        max_line: 1_024,
        max_event: 1_024,
    },
    args: JsonLimits {
        max_bytes: 64,
        max_depth: 4,
    },
    max_bytes: 3_000,
    max_words: 1_000,
};

fn events<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<StreamEvent> {
    let mut decoder = StreamDecoder::new(wire, LIMITS);
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.push(chunk));
    }
    events.extend(decoder.finish());
    let ends = events
        .iter()
        .filter(|event| matches!(event, StreamEvent::End(_)));
    assert_eq!(ends.count(), 1);
    assert!(matches!(events.last(), Some(StreamEvent::End(_))));
    events
}

fn read<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Reply {
    events(wire, chunks).into_iter().collect()
}

fuzz_target!(|input: &[u8]| {
    // The first bytes choose the wire and the chunking, the rest is the stream.
    let (choice, stream) = input.split_at(input.len().min(2));
    let byte = |at: usize| choice.get(at).map_or(0, |byte| usize::from(*byte));
    let wire = Wire::ALL[byte(0) % Wire::ALL.len()];
    let all = events(wire, [stream]);
    let whole: Reply = all.iter().cloned().collect();
    assert_eq!(read(wire, stream.chunks(byte(1) + 1)), whole);
    assert_eq!(read(wire, stream.chunks(1)), whole);

    for part in &whole.content {
        if let Content::Call { call } = part {
            assert!(!call.name.trim().is_empty() && !call.id.as_str().is_empty());
            let args = serde_json::Value::Object(call.args.clone());
            assert!(depth(&args) <= LIMITS.args.max_depth);
        }
    }

    // What was recorded plays, and every call can be answered on every wire.
    let mut recorder = Recorder::default();
    all.iter().for_each(|event| recorder.event(event));
    let text = recorder.script().to_toml().expect("a script");
    assert_eq!(Script::from_toml(&text).as_ref(), Ok(recorder.script()));
    let said = whole.into_message();
    for wire in Wire::ALL {
        let frame = Frame::new(wire, &RequestOptions::new("m"), &[]).expect("a frame");
        let mut talk = Conversation::new(wire);
        talk.push(&Message::user("Hi")).expect("a first message");
        talk.push(&said).expect("an answer");
        let open = talk.unanswered();
        let results: Vec<ToolResult> = open
            .iter()
            .map(|id| ToolResult::ok(id.clone(), "x", ""))
            .collect();
        let next = if results.is_empty() {
            Message::user("Go on")
        } else {
            Message::Tool { results }
        };
        talk.push(&next).expect("results");
        let request = frame.request(&talk, Tools::Offered).expect("a request");
        serde_json::from_slice::<serde_json::Value>(&request.to_vec()).expect("JSON");
    }
});
