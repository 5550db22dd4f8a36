//! What holds for known values in any text. Whoever looks for them builds on these laws.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::borrow::Cow;

use proptest::prelude::*;
use toolgate_redact::{Found, KnownValues};

const MARKER: &str = "[]";

/// Every place of every value, tried one by one.
fn naive(values: &[String], text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (start, _) in text.char_indices() {
        for (number, value) in values.iter().enumerate() {
            let is_first = values.iter().position(|other| other == value) == Some(number);
            if is_first && !value.is_empty() && text[start..].starts_with(value) {
                let end = start + value.len();
                found.push(Found {
                    start,
                    end,
                    value: number,
                });
            }
        }
    }
    found.sort_unstable();
    found
}

/// The same text in pieces of so many characters, each decided up to what may be cut off.
fn in_pieces(known: &KnownValues, text: &str, size: usize) -> String {
    let (mut out, mut held) = (String::new(), String::new());
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        held.extend(chars.by_ref().take(size));
        let shown = known.hide(&held, MARKER).into_owned();
        let (done, rest) = shown.split_at(known.cut_off(&shown));
        out.push_str(done);
        held = rest.to_owned();
    }
    out + &held
}

fn values() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab\u{e4}]{0,4}", 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_value_is_found_wherever_it_stands(values in values(), text in "[ab\u{e4}c]{0,24}") {
        let known = KnownValues::new(&values).unwrap();
        let mut found: Vec<Found> = known.found(&text).collect();
        found.sort_unstable();
        prop_assert_eq!(&found, &naive(&values, &text));
        prop_assert_eq!(known.are_in(&text), !found.is_empty());
        prop_assert_eq!(known.is_empty(), values.iter().all(String::is_empty));
    }

    #[test]
    fn hidden_text_holds_no_value_and_the_rest_of_the_text(values in values(), text in "[ab\u{e4}c]{0,24}") {
        let known = KnownValues::new(&values).unwrap();
        let found = naive(&values, &text);
        let shown = known.hide(&text, MARKER);
        prop_assert_eq!(matches!(shown, Cow::Borrowed(_)), found.is_empty());
        for piece in shown.split(MARKER) {
            prop_assert!(!known.are_in(piece), "{}", shown);
        }
        let rest: String = text
            .char_indices()
            .filter(|(at, _)| !found.iter().any(|one| (one.start..one.end).contains(at)))
            .map(|(_, c)| c)
            .collect();
        prop_assert_eq!(shown.replace(MARKER, ""), rest);
    }

    #[test]
    fn a_text_is_cut_off_where_a_value_may_have_begun(values in values(), text in "[ab\u{e4}c]{0,12}") {
        let begins = |at: usize| {
            let rest = &text[at..];
            values.iter().any(|value| value.starts_with(rest) && value != rest)
        };
        let mut starts = text.char_indices().map(|(at, _)| at);
        let expected = starts.find(|at| begins(*at)).unwrap_or(text.len());
        prop_assert_eq!(KnownValues::new(&values).unwrap().cut_off(&text), expected);
    }

    #[test]
    fn no_value_comes_through_in_pieces_of_any_size(
        values in values(),
        text in "[ab\u{e4}c]{0,24}",
        size in 1_usize..8,
    ) {
        let known = KnownValues::new(&values).unwrap();
        let shown = in_pieces(&known, &text, size);
        for piece in shown.split(MARKER) {
            prop_assert!(!known.are_in(piece), "{}", shown);
        }
    }

    #[test]
    fn a_long_value_is_found_by_its_pieces(
        value in "[a-z\u{e4}\u{1f600}]{8,80}",
        before in "[0-9]{0,9}",
        bytes in 8_usize..24,
    ) {
        let known = KnownValues::in_pieces([&value], bytes).unwrap();
        let text = format!("{before}{value}9");
        let shown = known.hide(&text, MARKER);
        prop_assert_eq!(shown.replace(MARKER, ""), format!("{before}9"));
        for one in known.found(&text) {
            let length = one.end - one.start;
            prop_assert!(length <= bytes);
            // None is so short that it stands in ordinary text; a character may be left out.
            prop_assert!(length == value.len() || length + 3 >= bytes / 2);
            prop_assert_eq!(one.value, 0);
        }
    }
}

#[test]
fn values_that_overlap_are_hidden_as_one_and_neighbours_apart() {
    let known = KnownValues::new(["abcd", "cdef", "xy"]).unwrap();
    for (text, shown) in [
        ("", ""),
        ("abc", "abc"),
        ("-abcdef-", "-[]-"),
        ("abcdabcd", "[][]"),
        ("xyxyab", "[][]ab"),
    ] {
        assert_eq!(known.hide(text, MARKER), shown, "{text}");
    }
    assert!(KnownValues::default().is_empty());
    assert_eq!(KnownValues::default().cut_off("any"), 3);
}

#[test]
fn values_are_not_shown_by_debug() {
    let known = KnownValues::new(["hunter2-hunter2"]).unwrap();
    assert_eq!(format!("{known:?}"), "KnownValues(1)");
}
