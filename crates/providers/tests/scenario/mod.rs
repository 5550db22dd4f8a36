//! Recorded answers of the wires, and ways to play them.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_model::Call;
use toolgate_providers::{Reply, StreamDecoder, StreamEvent, StreamLimits, Wire};

/// A directory of `tests/data`: what came, and what it has to come to.
#[derive(Debug)]
pub struct Scenario {
    pub name: String,
    pub stream: Vec<u8>,
    pub expected: Vec<Value>,
}

/// The directory of a wire's scenarios.
pub fn directory(wire: Wire) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    data.join(wire.as_str().replace('-', "_"))
}

/// Every scenario of a wire, sorted by name.
pub fn all(wire: Wire) -> Vec<Scenario> {
    let entries = fs::read_dir(directory(wire)).unwrap();
    let mut all: Vec<Scenario> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let expected = fs::read_to_string(path.join("expected.jsonl")).unwrap();
            let lines = expected.lines().map(serde_json::from_str);
            Scenario {
                name: path.file_name().unwrap().to_str().unwrap().to_owned(),
                stream: fs::read(path.join("stream.txt")).unwrap(),
                expected: lines.collect::<Result<_, _>>().unwrap(),
            }
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// Plays chunks, and holds every answer to the laws of its events.
pub fn play<'a>(
    wire: Wire,
    limits: StreamLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Reply {
    let mut decoder = StreamDecoder::new(wire, limits);
    let mut events = Vec::new();
    for chunk in chunks {
        let over = decoder.is_over();
        let more = decoder.push(chunk);
        assert!(!over || more.is_empty(), "something came after the end");
        events.extend(more);
    }
    events.extend(decoder.finish());
    assert!(decoder.finish().is_empty(), "an answer ends once");
    hold(&events);
    events.into_iter().collect()
}

/// One end, at the end, usage right before it; per call a start, its fragments, and the call.
fn hold(events: &[StreamEvent]) {
    let mut open: BTreeMap<u64, (String, String, String)> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let left = events.len() - at - 1;
        match event {
            StreamEvent::End(_) => assert_eq!(left, 0, "end"),
            StreamEvent::Usage(_) => assert_eq!(left, 1, "usage"),
            StreamEvent::Text(text) | StreamEvent::Refusal(text) | StreamEvent::Thinking(text) => {
                assert!(!text.is_empty())
            }
            StreamEvent::Sealed(_) => {}
            StreamEvent::CallStarted { number, id, name } => {
                let entry = (id.as_str().to_owned(), name.clone(), String::new());
                assert!(open.insert(*number, entry).is_none(), "started twice");
            }
            StreamEvent::CallFragment { number, text } => {
                assert!(!text.is_empty());
                open.get_mut(number).expect("started").2.push_str(text);
            }
            StreamEvent::Call(Call::Whole(call)) => {
                let mut started = open.values();
                let (_, name, args) = started
                    .find(|(id, ..)| *id == call.id.as_str())
                    .expect("a whole call has started");
                assert_eq!(*name, call.name);
                let text = if args.trim().is_empty() { "{}" } else { args };
                let args: Value = serde_json::from_str(text).expect("fragments are the call's");
                assert_eq!(args, Value::Object(call.args.clone()));
            }
            StreamEvent::Call(Call::Bad(_)) => {}
            other => panic!("no law about {other:?}"),
        }
    }
    assert!(matches!(events.last(), Some(StreamEvent::End(_))));
}
