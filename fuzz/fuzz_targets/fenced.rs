//! Fenced tool blocks: any bytes, in any chunking, give the same text and calls,
//! and a second reading of the whole text finds the same blocks.
#![no_main]

#[path = "../../crates/providers/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use toolgate_model::json::{JsonLimits, depth};
use toolgate_model::{Call, ErrorKind};
use toolgate_providers::fenced::{Answer, Parser};

/// Small, so that the fuzzer reaches both sides of every limit.
const LIMITS: JsonLimits = JsonLimits {
    max_bytes: 128,
    max_depth: 6,
};

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Answer {
    let mut parser = Parser::new(LIMITS);
    let mut answer = Answer::default();
    for chunk in chunks {
        answer.extend(parser.push_bytes(chunk));
    }
    answer.extend(parser.finish());
    answer
}

fuzz_target!(|input: &[u8]| {
    // The first bytes choose the chunking, the rest is the answer.
    let (choice, text) = input.split_at(input.len().min(2));
    let whole = read([text]);
    let size = choice.first().map_or(1, |byte| usize::from(*byte) + 1);
    assert_eq!(read(text.chunks(size)), whole);
    assert_eq!(read(text.chunks(1)), whole);
    let at = choice.get(1).map_or(0, |byte| usize::from(*byte));
    let (head, tail) = text.split_at(at.min(text.len()));
    assert_eq!(read([head, tail]), whole);

    let text = String::from_utf8_lossy(text);
    let parts = oracle::parts(&text, "tool");
    let all: String = parts.iter().map(|part| part.raw).collect();
    assert_eq!(all, text);
    let outside = parts.iter().filter(|part| part.block.is_none());
    let outside: String = outside.map(|part| part.raw).collect();
    assert_eq!(whole.text, outside);

    let blocks: Vec<&oracle::Block> = parts
        .iter()
        .filter_map(|part| part.block.as_ref())
        .collect();
    assert_eq!(whole.calls.len(), blocks.len());
    for ((call, block), number) in whole.calls.iter().zip(blocks).zip(1..) {
        match call {
            Call::Whole(call) => {
                assert!(block.closed && block.content.len() <= LIMITS.max_bytes);
                assert!(!call.name.trim().is_empty() && !call.id.as_str().trim().is_empty());
                let object: serde_json::Value = serde_json::from_str(&block.content).expect("JSON");
                assert_eq!(object["name"], call.name.as_str());
                assert!(depth(&object) <= LIMITS.max_depth);
                match object.get("args") {
                    Some(args) => assert_eq!(args.as_object(), Some(&call.args)),
                    None => assert!(call.args.is_empty()),
                }
                match object.get("id") {
                    Some(id) => assert_eq!(id, call.id.as_str()),
                    None => assert_eq!(call.id.as_str(), format!("fenced_{number}")),
                }
            }
            Call::Bad(bad) => {
                let too_large = block.content.len() > LIMITS.max_bytes;
                assert_eq!(bad.error.kind == ErrorKind::LimitExceeded, too_large);
                let length = bad.error.message.chars().count();
                assert!(length < 800, "{length}");
            }
        }
    }
});
