//! A result never exceeds its limit, keeps both ends, and says what is missing.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use proptest::prelude::*;
use toolgate_gate::output::{
    Bounded, Bounder, DEFAULT_MAX_BYTES, Limits, Redactor, UNKNOWN_CAPACITY_BYTES, bound,
    error_text,
};

fn in_chunks(text: &str, limits: Limits, size: usize) -> Bounded {
    let mut bounder = Bounder::new(limits);
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        bounder.push(&chars.by_ref().take(size).collect::<String>());
    }
    bounder.finish(Some("out_3"))
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn t_out_01_truncation_marker_included_within_effective_limit() {
    let text = numbered(1_000);
    for limit in 0..2_000 {
        let bounded = bound(&text, Limits::bytes(limit), Some("out_3"));
        assert!(
            bounded.text.len() <= limit,
            "{} > {limit}",
            bounded.text.len()
        );
        assert!(bounded.truncated);
        let marker = marker_of(&bounded);
        if limit < marker.len() {
            assert!(marker.starts_with(&bounded.text), "{limit}");
            assert_eq!(
                bounded.text.len(),
                limit,
                "as much of it as there is room for"
            );
        } else {
            let lines = bounded.text.lines().filter(|line| *line == marker);
            assert_eq!(lines.count(), 1, "{limit}: {}", bounded.text);
        }
    }
}

/// The line that stands for what is missing.
fn marker_of(bounded: &Bounded) -> String {
    let lines = grouped(bounded.missing_lines);
    let bytes = grouped(bounded.missing_bytes);
    format!(
        "[... {lines} lines ({bytes} bytes) omitted; read_output with handle \"out_3\" returns them ...]"
    )
}

/// A number below a million with a comma before its last three digits.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

#[test]
fn the_marker_says_how_much_is_missing_and_who_has_it() {
    let bounded = bound(&numbered(2_000), Limits::bytes(300), Some("out_3"));
    let lines: Vec<&str> = bounded.text.lines().collect();
    let marker = lines
        .iter()
        .position(|line| line.starts_with("[..."))
        .unwrap();
    assert_eq!(lines[0], "line 1");
    assert_eq!(*lines.last().unwrap(), "line 2000");
    let kept = lines.len() - 1;
    assert_eq!(bounded.missing_lines, 2_000 - u64::try_from(kept).unwrap());
    let missing_bytes = bounded.missing_bytes;
    assert_eq!(
        lines[marker],
        format!(
            "[... 1,{:03} lines ({},{:03} bytes) omitted; read_output with handle \"out_3\" returns them ...]",
            bounded.missing_lines - 1_000,
            missing_bytes / 1_000,
            missing_bytes % 1_000,
        )
    );
    let without = bound(&numbered(2_000), Limits::bytes(300), None);
    assert!(without.text.contains("bytes) omitted ...]"));
}

#[test]
fn the_smaller_of_the_two_limits_counts() {
    let limits = |max_bytes, capacity| Limits {
        max_bytes,
        max_lines: None,
        capacity,
    };
    for (limits, effective) in [
        (limits(100, Some(50)), 50),
        (limits(50, Some(100)), 50),
        (limits(DEFAULT_MAX_BYTES, None), UNKNOWN_CAPACITY_BYTES),
        (limits(10, None), 10),
        (Limits::default(), UNKNOWN_CAPACITY_BYTES),
    ] {
        assert_eq!(limits.effective_bytes(), effective);
    }
}

#[test]
fn a_text_of_exactly_the_limit_is_whole_and_one_byte_more_is_not() {
    for unit in ["a", "é", "漢", "🦀", "ab\n"] {
        let text = unit.repeat(500);
        for size in [1, 7, 10_000] {
            let whole = in_chunks(&text, Limits::bytes(text.len()), size);
            assert_eq!(
                (whole.text.as_str(), whole.truncated),
                (text.as_str(), false)
            );
            let cut = in_chunks(&text, Limits::bytes(text.len() - 1), size);
            assert!(
                cut.truncated && cut.text.len() < text.len(),
                "{unit} in {size}"
            );
        }
    }
}

#[test]
fn a_limit_smaller_than_the_marker_gets_the_start_of_the_marker() {
    let bounded = bound(&numbered(100), Limits::bytes(10), Some("out_3"));
    assert_eq!(bounded.text, "[... 100 l");
    assert_eq!(
        (bounded.missing_lines, bounded.missing_bytes),
        (100, bounded.total_bytes)
    );
    assert_eq!(bound("too long", Limits::bytes(0), None).text, "");
}

#[test]
fn too_many_lines_are_cut_in_the_middle() {
    let limits = |lines| Limits {
        max_lines: Some(lines),
        ..Limits::bytes(10_000)
    };
    let bounded = bound(&numbered(10), limits(5), None);
    assert_eq!(
        bounded.text,
        "line 1\nline 2\n[... 6 lines (42 bytes) omitted ...]\nline 9\nline 10\n"
    );
    assert_eq!(bound(&numbered(10), limits(10), None).text, numbered(10));
    assert_eq!(bound("a\nb\nc", limits(3), None).text, "a\nb\nc");
    assert_eq!(
        bound("a\nb\nc", limits(2), None).text,
        "a\n[... 2 lines (3 bytes) omitted ...]"
    );
    for lines in [0, 1] {
        let only = bound("a\nb\nc", limits(lines), None);
        assert_eq!(only.text, "[... 3 lines (5 bytes) omitted ...]");
    }
}

#[test]
fn a_cut_inside_a_line_counts_the_line_as_missing() {
    let bounded = bound(&"x".repeat(10_000), Limits::bytes(400), None);
    assert_eq!((bounded.missing_lines, bounded.total_lines), (1, 1));
    assert!(bounded.text.starts_with("xxx") && bounded.text.ends_with("xxx"));
}

#[test]
fn a_gigantic_stream_is_kept_in_little_memory_and_counted_exactly() {
    let mut bounder = Bounder::new(Limits::bytes(64 * 1024));
    let chunk = "0123456789abcde\n".repeat(64 * 1024);
    for _ in 0..64 {
        bounder.push(&chunk);
    }
    let bounded = bounder.finish(Some("out_1"));
    assert_eq!(
        (bounded.total_bytes, bounded.total_lines),
        (64 << 20, 4 << 20)
    );
    assert!(bounded.text.len() <= 64 * 1024 && bounded.text.len() > 60 * 1024);
    assert!(bounded.text.capacity() <= 66 * 1024);
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zé漢🦀 \n]{0,400}",
        prop::collection::vec("[a-z漢]{0,30}", 0..80).prop_map(|lines| lines.join("\n")),
    ]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn property_43_output_truncation_behavior(
        text in texts(),
        max_bytes in 0_usize..600,
        max_lines in prop::option::of(0_usize..40),
    ) {
        let limits = Limits { max_lines, ..Limits::bytes(max_bytes) };
        let bounded = bound(&text, limits, Some("out_3"));
        let lines = text.lines().count();
        let fits = text.len() <= max_bytes && max_lines.is_none_or(|max| lines <= max);
        prop_assert_eq!(bounded.truncated, !fits);
        prop_assert_eq!(bounded.total_lines, u64::try_from(lines).unwrap());
        if fits {
            prop_assert_eq!(&bounded.text, &text);
            return Ok(());
        }
        prop_assert!(bounded.text.len() <= max_bytes);
        if let Some(max) = max_lines {
            prop_assert!(bounded.text.lines().count() <= max.max(1));
        }
        // Taken apart at the marker, the rest are the two ends of the text, and the
        // numbers say exactly what is between them.
        let Some(start) = bounded.text.find("[... ") else {
            prop_assert!(max_bytes < 5);
            return Ok(());
        };
        let Some(end) = bounded.text.find(" ...]").map(|at| at + 5) else {
            prop_assert_eq!(start, 0);
            return Ok(());
        };
        let tail = bounded.text[end..].strip_prefix('\n').unwrap_or("");
        let head = &bounded.text[..start];
        let head = if text.starts_with(head) { head } else { head.strip_suffix('\n').unwrap() };
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        // A newline in front of the marker can be the text's own or the marker's.
        let missing = text.len() - head.len() - tail.len();
        let slack = usize::from(head.ends_with('\n'));
        let said = usize::try_from(bounded.missing_bytes).unwrap();
        prop_assert!(said == missing || said == missing + slack, "{said} {missing}");
        let gone = &text[text.len() - tail.len() - said..text.len() - tail.len()];
        prop_assert_eq!(bounded.missing_lines, u64::try_from(gone.lines().count()).unwrap());
    }

    #[test]
    fn the_pieces_a_text_came_in_do_not_matter(
        text in texts(),
        max_bytes in 0_usize..600,
        max_lines in prop::option::of(0_usize..40),
        size in 1_usize..50,
    ) {
        let limits = Limits { max_lines, ..Limits::bytes(max_bytes) };
        prop_assert_eq!(in_chunks(&text, limits, size), bound(&text, limits, Some("out_3")));
    }
}

#[test]
fn an_error_that_is_a_json_object_goes_on_unchanged_and_any_other_is_introduced() {
    let redactor = Redactor::new([("TOKEN", "very-secret-value")]).unwrap();
    let limits = Limits::bytes(200);
    let text = |message: &str| error_text("read_file", message, limits, &redactor);
    for json in [r#"{"code":7}"#, " {\"a\": {\"b\": []}}\n", "{}"] {
        assert_eq!(text(json), json);
    }
    for plain in ["no such file", "[1]", "\"text\"", "{not json", "{} {}", ""] {
        assert_eq!(text(plain), format!("read_file failed: {plain}"));
    }
    assert_eq!(
        text("cannot log in with very-secret-value"),
        "read_file failed: cannot log in with [redacted:env]"
    );
    assert_eq!(
        text(r#"{"token":"very-secret-value"}"#),
        "read_file failed: its error is a JSON object that holds a secret, so it is left out"
    );
    assert_eq!(
        text(&format!(r#"{{"a":"{}"}}"#, "x".repeat(300))),
        "read_file failed: its error is a JSON object that has 308 bytes, more than the limit of 200, so it is left out"
    );
    assert!(text(&"x\n".repeat(300)).len() <= 200);
}
