//! The format, case by case: `data/fenced/cases.jsonl`, each in every chunking of two and byte by byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use serde_json::{Map, Value, json};
use toolgate_model::Call;
use toolgate_model::json::JsonLimits;
use toolgate_providers::fenced::{Answer, Parser};

fn cases() -> Vec<Value> {
    let lines = include_str!("data/fenced/cases.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn limits(case: &Value) -> JsonLimits {
    let number = |key: &str| Some(usize::try_from(case[key].as_u64()?).unwrap());
    let default = JsonLimits::default();
    JsonLimits {
        max_bytes: number("max_bytes").unwrap_or(default.max_bytes),
        max_depth: number("max_depth").unwrap_or(default.max_depth),
    }
}

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limits: JsonLimits) -> Answer {
    let mut parser = Parser::new(limits);
    let mut answer = Answer::default();
    for chunk in chunks {
        answer.extend(parser.push_bytes(chunk));
    }
    answer.extend(parser.finish());
    answer
}

/// Compares a call with its expectation; the message of a damaged one by parts.
fn check(call: &Call, expected: &Value, case: &str) {
    match call {
        Call::Whole(call) => {
            assert_eq!(&serde_json::to_value(call).unwrap(), expected, "{case}");
        }
        Call::Bad(bad) => {
            let mut got = Map::new();
            got.insert("id".into(), json!(bad.id));
            got.insert("bad".into(), json!(bad.error.kind));
            got.insert("says".into(), expected["says"].clone());
            if let Some(name) = &bad.name {
                got.insert("name".into(), json!(name));
            }
            assert_eq!(&Value::Object(got), expected, "{case}: {}", bad.error);
            for part in expected["says"].as_array().unwrap() {
                let part = part.as_str().unwrap();
                let message = &bad.error.message;
                assert!(message.contains(part), "{case}: {part:?} in {message}");
            }
        }
    }
}

#[test]
fn every_case_gives_its_text_and_its_calls() {
    let cases = cases();
    assert!(cases.len() >= 100, "{}", cases.len());
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let answer = Answer::read(case["input"].as_str().unwrap(), limits(case));
        assert_eq!(answer.text, case["text"].as_str().unwrap(), "{id}");
        let expected = case["calls"].as_array().unwrap();
        assert_eq!(answer.calls.len(), expected.len(), "{id}: {answer:?}");
        for (call, expected) in answer.calls.iter().zip(expected) {
            check(call, expected, id);
        }
    }
}

#[test]
fn every_case_is_the_same_in_every_chunking() {
    for case in &cases() {
        let input = case["input"].as_str().unwrap().as_bytes();
        let limits = limits(case);
        let whole = read([input], limits);
        assert_eq!(read(input.chunks(1), limits), whole, "{case}");
        for at in 0..=input.len() {
            let (head, tail) = input.split_at(at);
            assert_eq!(read([head, tail], limits), whole, "{at} in {case}");
        }
    }
}
