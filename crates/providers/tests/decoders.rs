//! The two framings: in any chunks, within bounds, and without looking at anything twice.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolgate_providers::decode::{DecodeError, DecodeLimits, Ended, NdjsonDecoder, SseDecoder};

const SMALL: DecodeLimits = DecodeLimits {
    max_line: 24,
    max_event: 30,
};

type Read<T> = (Vec<T>, Result<Ended, DecodeError>);

fn sse<'a>(
    limits: DecodeLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Read<(String, String)> {
    let mut decoder = SseDecoder::new(limits);
    let mut events = Vec::new();
    for chunk in chunks {
        let pushed = decoder.push(chunk, |event| {
            events.push((event.name.to_owned(), event.data.to_owned()));
        });
        if let Err(fault) = pushed {
            assert_eq!(decoder.push(b"data: x\n\n", |_| panic!()), Err(fault));
            return (events, Err(fault));
        }
    }
    (events, Ok(decoder.finish()))
}

fn ndjson<'a>(limits: DecodeLimits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Read<String> {
    let mut decoder = NdjsonDecoder::new(limits);
    let mut lines = Vec::new();
    for chunk in chunks {
        if let Err(fault) = decoder.push(chunk, |line| lines.push(line.to_owned())) {
            assert_eq!(decoder.push(b"{}\n", |_| panic!()), Err(fault));
            return (lines, Err(fault));
        }
    }
    let ended = decoder.finish(|line| lines.push(line.to_owned()));
    (lines, ended)
}

#[test]
fn events_are_read_as_the_standard_says() {
    for (stream, expected, ended) in [
        ("", &[][..], Ended::Whole),
        ("data: a\n\n", &[("message", "a")], Ended::Whole),
        ("data:a\n\n", &[("message", "a")], Ended::Whole),
        ("data:  a\n\n", &[("message", " a")], Ended::Whole),
        ("data\n\n", &[("message", "")], Ended::Whole),
        ("data\ndata\n\n", &[("message", "\n")], Ended::Whole),
        ("data: a\ndata: b\n\n", &[("message", "a\nb")], Ended::Whole),
        ("event: x\ndata: a\n\n", &[("x", "a")], Ended::Whole),
        ("data: a\nevent: x\n\n", &[("x", "a")], Ended::Whole),
        (
            "event: x\nevent: y\ndata: a\n\n",
            &[("y", "a")],
            Ended::Whole,
        ),
        ("event: x\n\ndata: a\n\n", &[("message", "a")], Ended::Whole),
        (": comment\n\n:\n\n", &[], Ended::Whole),
        (
            "id: 1\nretry: 5\nother: x\ndata: a\n\n",
            &[("message", "a")],
            Ended::Whole,
        ),
        ("data: a: b\n\n", &[("message", "a: b")], Ended::Whole),
        ("dat: a\nDATA: a\n data: a\n\n", &[], Ended::Whole),
        (
            "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
            &[("message", "a"), ("message", "b"), ("message", "c")],
            Ended::Whole,
        ),
        (
            "data: a\r\n\n\rdata: b\n\r",
            &[("message", "a"), ("message", "b")],
            Ended::Whole,
        ),
        ("\u{feff}data: a\n\n", &[("message", "a")], Ended::Whole),
        ("\u{feff}\u{feff}data: a\n\n", &[], Ended::Whole),
        (
            "data: a\n\n\u{feff}data: b\n\n",
            &[("message", "a")],
            Ended::Whole,
        ),
        (
            "data: a\u{2028}b\u{85}c\n\n",
            &[("message", "a\u{2028}b\u{85}c")],
            Ended::Whole,
        ),
        ("data: ü🎉\n\n", &[("message", "ü🎉")], Ended::Whole),
        ("data: a\n\ndata: b\n", &[("message", "a")], Ended::Cut),
        ("data: a\n\ndata: b", &[("message", "a")], Ended::Cut),
        ("data: a\n\nevent: x\n", &[("message", "a")], Ended::Cut),
        ("data: a\n\n: comm", &[("message", "a")], Ended::Cut),
    ] {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        let expected = (expected, Ok(ended));
        for size in 1..=stream.len().max(1) {
            let read = sse(DecodeLimits::default(), stream.as_bytes().chunks(size));
            assert_eq!(read, expected, "{stream:?} in chunks of {size}");
        }
    }
}

#[test]
fn lines_of_json_are_handed_out_whole() {
    for (stream, expected, ended) in [
        ("", &[][..], Ended::Whole),
        ("{}\n", &["{}"], Ended::Whole),
        (
            "{}\r\n\r\n \n{\"a\":1}\r",
            &["{}", "{\"a\":1}"],
            Ended::Whole,
        ),
        (
            "\u{feff}{}\n\u{feff}{}\n",
            &["{}", "\u{feff}{}"],
            Ended::Whole,
        ),
        ("{\"a\":\"ü🎉\"}\n", &["{\"a\":\"ü🎉\"}"], Ended::Whole),
        ("{}\n{\"a\"", &["{}", "{\"a\""], Ended::Cut),
        ("{}\n  ", &["{}"], Ended::Whole),
    ] {
        let expected: Vec<_> = expected.iter().map(|line| (*line).to_owned()).collect();
        let expected = (expected, Ok(ended));
        for size in 1..=stream.len().max(1) {
            let read = ndjson(DecodeLimits::default(), stream.as_bytes().chunks(size));
            assert_eq!(read, expected, "{stream:?} in chunks of {size}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused_and_what_just_fits_is_not() {
    let fits = format!("data: {}\n\n", "x".repeat(18));
    let long = format!("data: {}\n\n", "x".repeat(19));
    let endless = "x".repeat(25);
    let wide_fits = format!("data: {0}\ndata: {0}\n\n", "x".repeat(14));
    let wide = format!("data: {0}\ndata: {0}x\n\n", "x".repeat(15));
    let named = format!("data: {0}\ndata: {0}\nevent: xx\n\n", "x".repeat(14));
    let line = DecodeError::LineTooLong { max: 24 };
    let event = DecodeError::EventTooLong { max: 30 };
    for (stream, count, ended) in [
        (&fits, 1, Ok(Ended::Whole)),
        (&long, 0, Err(line)),
        (&endless, 0, Err(line)),
        (&wide_fits, 1, Ok(Ended::Whole)),
        (&wide, 0, Err(event)),
        (&named, 0, Err(event)),
    ] {
        let stream = format!("data: a\n\n{stream}");
        for size in 1..=stream.len() {
            let (events, end) = sse(SMALL, stream.as_bytes().chunks(size));
            assert_eq!((events.len(), end), (count + 1, ended), "{stream:?} {size}");
        }
    }
    let read = ndjson(
        SMALL,
        [format!("{{}}\n\"{}\"\n", "x".repeat(22)).as_bytes()],
    );
    assert_eq!(read.0.len(), 2);
    let read = ndjson(SMALL, [format!("{{}}\n\"{}", "x".repeat(24)).as_bytes()]);
    assert_eq!(read, (vec!["{}".to_owned()], Err(line)));
}

#[test]
fn bytes_that_are_not_utf8_say_where() {
    let read = sse(DecodeLimits::default(), [&b"data: a\n\ndata: \xff\n\n"[..]]);
    assert_eq!(read.1, Err(DecodeError::NotUtf8 { line: 3 }));
    assert_eq!(read.0.len(), 1);
    let read = sse(DecodeLimits::default(), [&b": \xff\ndata: a\n\n"[..]]);
    assert_eq!(read.1, Ok(Ended::Whole));
    let read = ndjson(DecodeLimits::default(), [&b"{}\n\"\xc3\"\n"[..]]);
    assert_eq!(read.1, Err(DecodeError::NotUtf8 { line: 2 }));
    let read = ndjson(DecodeLimits::default(), [&b"\"\xc3"[..]]);
    assert_eq!(read.1, Err(DecodeError::NotUtf8 { line: 1 }));
}

#[test]
fn a_long_line_in_small_chunks_costs_no_more_than_its_bytes() {
    let time = |bytes: usize| {
        let line = format!("data: {}\n\n", "x".repeat(bytes));
        let start = Instant::now();
        let (events, _) = sse(DecodeLimits::default(), line.as_bytes().chunks(16));
        assert_eq!(events.len(), 1);
        start.elapsed().max(Duration::from_millis(1))
    };
    let best = |bytes| (0..3).map(|_| time(bytes)).min().unwrap();
    // Four times the bytes would be sixteen times the work if anything were looked at again.
    let (small, large) = (best(1 << 20), best(1 << 22));
    assert!(large < small * 10, "{small:?} {large:?}");
}

fn dense() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(&b"data: "[..]),
        2 => Just(&b"event: "[..]),
        4 => Just(&b"\n"[..]),
        2 => Just(&b"\r\n"[..]),
        2 => Just(&b"\r"[..]),
        1 => Just(&b"\xEF\xBB\xBF"[..]),
        1 => Just(&b":"[..]),
        1 => Just(&b" "[..]),
        2 => Just(&b"{}"[..]),
        1 => Just("ü🎉".as_bytes()),
        1 => Just(&b"\xf0\x9f"[..]),
        2 => Just(&b"abcdefgh"[..]),
    ];
    prop::collection::vec(part, 0..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn chunks_do_not_matter(stream in dense(), size in 1..9_usize) {
        let whole = sse(SMALL, [stream.as_slice()]);
        prop_assert_eq!(&sse(SMALL, stream.chunks(size)), &whole);
        let lines = ndjson(SMALL, [stream.as_slice()]);
        prop_assert_eq!(&ndjson(SMALL, stream.chunks(size)), &lines);
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            prop_assert_eq!(&sse(SMALL, [head, tail]), &whole);
            prop_assert_eq!(&ndjson(SMALL, [head, tail]), &lines);
        }
    }

    /// Any events, written with any line ends and any noise between them, come back.
    #[test]
    fn what_is_written_is_read(
        events in prop::collection::vec(("[a-z]{0,8}", "[a-z :ü🎉\n]{0,30}"), 0..6),
        newline in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        noise in prop::sample::select(vec![":", ": ping", "id: 3", "nothing"]),
        size in 1..40_usize,
    ) {
        let mut stream = String::new();
        for (name, data) in &events {
            if !name.is_empty() {
                stream += &format!("event: {name}{newline}");
            }
            for line in data.split('\n') {
                stream += &format!("{noise}{newline}data: {line}{newline}");
            }
            stream += newline;
        }
        let expected: Vec<_> = events
            .iter()
            .map(|(name, data)| {
                let name = if name.is_empty() { "message" } else { name };
                (name.to_owned(), data.clone())
            })
            .collect();
        prop_assert_eq!(sse(DecodeLimits::default(), stream.as_bytes().chunks(size)), (expected, Ok(Ended::Whole)));
    }
}
