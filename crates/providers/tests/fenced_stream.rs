//! The fenced format as a stream: what comes out when, how much is kept, how long it takes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::time::{Duration, Instant};

use toolgate_model::json::JsonLimits;
use toolgate_model::{Call, ErrorKind};
use toolgate_providers::fenced::{Answer, Parser, Piece};

fn parser() -> Parser {
    Parser::new(JsonLimits::default())
}

fn text(pieces: Vec<Piece>) -> String {
    let answer: Answer = pieces.into_iter().collect();
    assert!(answer.calls.is_empty(), "{answer:?}");
    answer.text
}

#[test]
fn text_comes_out_as_soon_as_it_cannot_open_a_block() {
    for (chunks, expected) in [
        (&["H", "i", "!"][..], &["H", "i", "!"][..]),
        (&["a\n", "b"], &["a\n", "b"]),
        (&["\n", " ", " ", " ", " "], &["\n", "", "", "", "    "]),
        (&["`", "x"], &["", "`x"]),
        (&["``", "`", "r"], &["", "", "```r"]),
        (&["```", "\n", "```tool\n"], &["", "```\n", "```tool\n"]),
        (&["```t", "o", "x", "y"], &["", "", "```tox", "y"]),
        (&["```tool", " ", "x"], &["", "", "```tool x"]),
        (&["~~", " "], &["", "~~ "]),
        (&["x ```", "tool\n"], &["x ```", "tool\n"]),
    ] {
        let mut parser = parser();
        let got: Vec<String> = chunks
            .iter()
            .map(|chunk| text(parser.push(chunk)))
            .collect();
        assert_eq!(got, expected, "{chunks:?}");
    }
}

#[test]
fn a_call_comes_out_with_the_line_of_its_closing_fence() {
    let mut parser = parser();
    assert!(parser.push("```tool\n{\"name\":\"ls\"}\n``").is_empty());
    assert!(parser.push("`").is_empty());
    let pieces = parser.push("\r");
    assert!(
        matches!(pieces.as_slice(), [Piece::Call(Call::Whole(_))]),
        "{pieces:?}"
    );
    assert_eq!(text(parser.push("\nB")), "B");
    assert!(parser.finish().is_empty());
}

#[test]
fn a_parser_goes_on_counting_with_the_next_answer() {
    let mut parser = Parser::counting_from(JsonLimits::default(), 5);
    for (chunk, number) in [("```tool\n{}", 5), ("```tool\n{\"name\":\"ls\"}\n```", 6)] {
        assert_eq!(parser.next_number(), number);
        assert!(parser.push(chunk).is_empty());
        let pieces = parser.finish();
        let [Piece::Call(call)] = pieces.as_slice() else {
            panic!("{pieces:?}")
        };
        assert_eq!(call.id().as_str(), format!("fenced_{number}"));
    }
    assert_eq!(text(parser.push("text")), "text");
}

#[test]
fn bytes_that_are_not_utf8_are_marked_in_text_and_refused_in_calls() {
    let mut parser = parser();
    assert_eq!(text(parser.push_bytes(b"a\xffb\xf0\x9f")), "a\u{fffd}b");
    assert_eq!(text(parser.push_bytes(b"\x8e")), "");
    assert_eq!(text(parser.push_bytes(b"\x89\xc3")), "\u{1f389}");
    assert_eq!(text(parser.push("x")), "\u{fffd}x");
    parser.finish();
    let pieces = parser.push_bytes(b"```tool\n{\"name\":\"ls\",\"args\":{\"p\":\"\xe9\"}}\n```\n");
    let [Piece::Call(Call::Bad(bad))] = pieces.as_slice() else {
        panic!("{pieces:?}")
    };
    assert!(bad.error.message.contains("not valid UTF-8"), "{bad:?}");
    assert!(bad.error.message.contains('\u{fffd}'), "{bad:?}");
    // The character itself, written by the model, is a character like any other.
    let pieces = parser.push("```tool\n{\"name\":\"\u{fffd}\"}\n```\n");
    assert!(
        matches!(pieces.as_slice(), [Piece::Call(Call::Whole(_))]),
        "{pieces:?}"
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let limits = JsonLimits {
        max_bytes: 1000,
        ..JsonLimits::default()
    };
    for (start, more) in [
        ("```tool\n", "x"),
        ("```tool\n", "\n"),
        ("```tool\n{}\n", "`"),
        ("```tool\n{}\n```", " "),
        ("", "`"),
        ("", "~"),
        ("```tool", " "),
        ("````text\n", "`"),
    ] {
        let mut parser = Parser::new(limits);
        parser.push(start);
        for _ in 0..100 {
            parser.push(&more.repeat(10_000));
        }
        let kept = format!("{parser:?}").len();
        assert!(kept < 5000, "{start:?} {more:?}: {kept}");
    }
}

#[test]
fn after_a_block_that_is_too_large_the_parser_goes_on() {
    let limits = JsonLimits {
        max_bytes: 100,
        ..JsonLimits::default()
    };
    let input = format!(
        "A\n```tool\n{}\n```\nB\n```tool\n{{\"name\":\"ls\"}}\n```\n",
        "x".repeat(5000)
    );
    let answer = Answer::read(&input, limits);
    assert_eq!(answer.text, "A\nB\n");
    let [Call::Bad(large), Call::Whole(call)] = answer.calls.as_slice() else {
        panic!("{answer:?}")
    };
    assert_eq!(large.error.kind, ErrorKind::LimitExceeded);
    assert!(large.error.message.contains("5000 bytes"), "{large:?}");
    assert_eq!(call.id.as_str(), "fenced_2");
}

/// Anything worse than linear takes minutes for a megabyte; the bound leaves a slow machine room.
#[test]
fn a_megabyte_of_anything_takes_linear_time() {
    const SIZE: usize = 1 << 20;
    let limits = JsonLimits {
        max_bytes: 4 * SIZE,
        max_depth: 64,
    };
    let start = Instant::now();
    for (before, unit) in [
        ("", "`"),
        ("", "~"),
        ("", "` "),
        ("", "`\n"),
        ("", "``\n"),
        ("", "```\n"),
        ("", "```tool\n"),
        ("", "```tool\n```\n"),
        ("", "````x\n```tool\n"),
        ("", " "),
        ("", "\r"),
        ("", "   \n"),
        ("", "x"),
        ("```tool\n", "`"),
        ("```tool\n", "``\n"),
        ("```tool\n", "   ```x\n"),
        ("```tool\n```", " "),
        ("   ```tool\n", " "),
        ("```tool\n", "{\"a\":"),
        ("```tool\n{\"name\":\"", "\\u00e9"),
        ("```tool\n\"", "\n"),
    ] {
        let input = format!("{before}{}", unit.repeat(SIZE / unit.len()));
        let whole = Answer::read(&input, limits);
        let mut parser = Parser::new(limits);
        let mut answer = Answer::default();
        for chunk in input.as_bytes().chunks(1021) {
            answer.extend(parser.push_bytes(chunk));
        }
        answer.extend(parser.finish());
        assert_eq!(answer, whole, "{before:?} {unit:?}");
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(120), "{took:?}");
}
