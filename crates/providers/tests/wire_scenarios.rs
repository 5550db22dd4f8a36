//! Answers as the four wires send them, at every chunk size from one byte up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod scenario;

use std::sync::LazyLock;

use proptest::prelude::*;
use toolgate_providers::{Reply, StreamDecoder, StreamLimits, Wire};

use scenario::{Scenario, all, play};

fn every_chunk_size_gives_what_is_expected(wire: Wire) {
    let scenarios = all(wire);
    assert!(scenarios.len() >= 20, "{wire}: {}", scenarios.len());
    for scenario in scenarios {
        let stream = scenario.stream.as_slice();
        let whole = play(wire, StreamLimits::default(), [stream]);
        let name = &scenario.name;
        assert_eq!(whole.lines(), scenario.expected, "{wire} {name}");
        for size in 1..stream.len() {
            let reply = play(wire, StreamLimits::default(), stream.chunks(size));
            assert_eq!(reply, whole, "{wire} {name} in chunks of {size}");
        }
    }
}

#[test]
fn anthropic_answers_are_the_same_in_any_chunks() {
    every_chunk_size_gives_what_is_expected(Wire::Anthropic);
}

#[test]
fn openai_chat_answers_are_the_same_in_any_chunks() {
    every_chunk_size_gives_what_is_expected(Wire::OpenAiChat);
}

#[test]
fn openai_responses_answers_are_the_same_in_any_chunks() {
    every_chunk_size_gives_what_is_expected(Wire::OpenAiResponses);
}

#[test]
fn ollama_answers_are_the_same_in_any_chunks() {
    every_chunk_size_gives_what_is_expected(Wire::Ollama);
}

/// Cuts bytes at the given places, in whatever order they come.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|at| at.index(bytes.len() + 1)).collect();
    places.push(0);
    places.push(bytes.len());
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .collect()
}

/// A wire and one of its scenarios.
fn any_scenario() -> impl Strategy<Value = (Wire, &'static Scenario)> {
    static ALL: LazyLock<Vec<(Wire, Scenario)>> = LazyLock::new(|| {
        let wires = Wire::ALL.into_iter();
        let pairs = wires.flat_map(|wire| all(wire).into_iter().map(move |one| (wire, one)));
        pairs.collect()
    });
    any::<prop::sample::Index>().prop_map(|chosen| {
        let (wire, scenario) = chosen.get(&ALL);
        (*wire, scenario)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_chunks_give_the_same_answer(
        (wire, scenario) in any_scenario(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let reply = play(wire, StreamLimits::default(), cut(&scenario.stream, &places));
        prop_assert_eq!(reply.lines(), scenario.expected.clone(), "{} {}", wire, scenario.name);
    }

    /// A connection can end after any byte: the answer still ends, and no call is lost or made up.
    #[test]
    fn a_stream_that_ends_anywhere_ends_once(
        (wire, scenario) in any_scenario(),
        end in any::<prop::sample::Index>(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let stream = &scenario.stream[..end.index(scenario.stream.len() + 1)];
        let whole = play(wire, StreamLimits::default(), [stream]);
        prop_assert_eq!(&play(wire, StreamLimits::default(), cut(stream, &places)), &whole);
        let calls = |lines: &[serde_json::Value]| {
            lines.iter().filter(|line| line["type"] == "call").cloned().collect::<Vec<_>>()
        };
        let (some, all) = (calls(&whole.lines()), calls(&scenario.expected));
        let mut rest = all.iter();
        prop_assert!(some.iter().all(|call| rest.any(|one| one == call)), "{:?} of {:?}", some, all);
    }

    /// Bytes that are damaged anywhere give one and the same answer in any chunks, and no panic.
    #[test]
    fn damage_anywhere_is_read_the_same_in_any_chunks(
        (wire, scenario) in any_scenario(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_usize), 1..5),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut stream = scenario.stream.clone();
        for (at, byte, kind) in damage {
            let at = at.index(stream.len());
            match kind {
                0 => stream[at] = byte,
                1 => stream.insert(at, byte),
                _ => {
                    let tail = stream.split_off(at);
                    stream.extend_from_slice(&tail[tail.len() / 2..]);
                    stream.extend_from_slice(&tail[..tail.len() / 2]);
                }
            }
        }
        let limits = StreamLimits::default();
        let whole = play_damaged(wire, limits, [stream.as_slice()]);
        prop_assert_eq!(&play_damaged(wire, limits, cut(&stream, &places)), &whole);
        prop_assert_eq!(&play_damaged(wire, limits, stream.chunks(1)), &whole);
    }
}

/// Like [`play`], where ids may be damaged into each other.
fn play_damaged<'a>(
    wire: Wire,
    limits: StreamLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Reply {
    let mut decoder = StreamDecoder::new(wire, limits);
    let mut reply = Reply::default();
    for chunk in chunks {
        reply.extend(decoder.push(chunk));
    }
    reply.extend(decoder.finish());
    reply
}
