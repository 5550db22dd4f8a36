//! Nothing that reaches a terminal or a person can steer it or hide from it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    clippy::string_slice
)]

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value;
use toolgate_gate::output::{
    APPROVAL_TEXT_CHARS, Sanitizer, approval_text, preview_text, sanitize, whole_args, whole_line,
    whole_text,
};

const CASES: &str = include_str!("data/escapes.jsonl");
const CORPUS: &str = include_str!("data/escape_corpus.jsonl");

struct Row {
    id: String,
    approval: bool,
    /// The input as it was cut in the data.
    chunks: Vec<Vec<u8>>,
    expected: String,
}

fn rows(data: &str) -> Vec<Row> {
    data.lines().map(row).collect()
}

fn row(line: &str) -> Row {
    let value: Value = serde_json::from_str(line).unwrap();
    let args = &value["args"];
    let text = |v: &Value| v.as_str().unwrap().as_bytes().to_vec();
    let chunks = if let Some(chunks) = args["chunks"].as_array() {
        chunks.iter().map(text).collect()
    } else if let Some(hex) = args["bytes_hex"].as_str() {
        vec![from_hex(hex)]
    } else if args["repeat"].is_object() {
        let (repeat, mut whole) = (&args["repeat"], text(&args["repeat"]["prefix"]));
        let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
        whole.extend(text(&repeat["unit"]).repeat(count));
        whole.extend(text(&repeat["suffix"]));
        vec![whole]
    } else {
        vec![text(&args["text"])]
    };
    Row {
        id: value["id"].as_str().unwrap().to_owned(),
        approval: args["mode"] == "approval",
        chunks,
        expected: value["expect_text"].as_str().unwrap().to_owned(),
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn in_chunks<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> String {
    let mut sanitizer = Sanitizer::new();
    let mut out = String::new();
    for chunk in chunks {
        sanitizer.push(chunk, &mut out);
    }
    sanitizer.finish(&mut out);
    out
}

/// What must not be in any output, written down apart from the code under test.
fn is_forbidden(c: char) -> bool {
    let n = u32::from(c);
    (n < 0x20 && c != '\n' && c != '\t')
        || (0x7f..=0x9f).contains(&n)
        || [
            0xad, 0x34f, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0xfeff,
        ]
        .contains(&n)
        || (0x202a..=0x202e).contains(&n)
        || (0x2060..=0x206f).contains(&n)
        || (0xfff9..=0xfffb).contains(&n)
        || (0xe0000..=0xe007f).contains(&n)
        || (0xe0100..=0xe01ef).contains(&n)
}

#[test]
fn every_row_gives_its_text_in_one_piece_and_at_every_chunk_size() {
    let all = rows(CASES).into_iter().chain(rows(CORPUS));
    for row in all.filter(|row| !row.approval) {
        let given = in_chunks(row.chunks.iter().map(Vec::as_slice));
        assert_eq!(given, row.expected, "{} as cut in the data", row.id);
        let bytes = row.chunks.concat();
        let sizes: Vec<usize> = if bytes.len() < 10_000 {
            (1..=bytes.len().max(1)).collect()
        } else {
            vec![4_097, 65_536]
        };
        for size in sizes {
            assert_eq!(
                in_chunks(bytes.chunks(size)),
                row.expected,
                "{} cut at {size}",
                row.id
            );
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            assert_eq!(sanitize(text), row.expected, "{} as a whole", row.id);
        }
    }
}

#[test]
fn every_row_for_approval_gives_its_line() {
    let all = rows(CASES).into_iter().chain(rows(CORPUS));
    for row in all.filter(|row| row.approval) {
        let text = String::from_utf8(row.chunks.concat()).unwrap();
        assert_eq!(approval_text(&text), row.expected, "{}", row.id);
    }
}

#[test]
fn the_corpus_is_as_large_as_it_claims_and_names_each_row_once() {
    let mut ids: Vec<String> = rows(CORPUS).into_iter().map(|row| row.id).collect();
    assert!(ids.len() >= 150, "{}", ids.len());
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn t_out_02_sanitization_removes_terminal_controls() {
    let text = "ok \u{1b}[2J\u{1b}]52;c;cm0=\u{7}\u{1b}P$q\u{1b}\\done\u{8}\r\n\u{202e}end";
    assert_eq!(sanitize(text), "ok done\nend");
}

#[test]
fn text_that_needs_no_change_is_borrowed() {
    for text in [
        "",
        "plain\n\ttext",
        "größe “x” – 漢字 👩\u{200d}👦 ❤\u{fe0f} \u{a0}",
    ] {
        assert!(
            matches!(sanitize(text), Cow::Borrowed(same) if same == text),
            "{text:?}"
        );
    }
    assert!(matches!(sanitize("a\rb"), Cow::Owned(_)));
}

#[test]
fn a_newline_belongs_to_a_carriage_return_only_right_after_it() {
    for (bytes, text) in [
        (&b"\xc2\x9b\r \n"[..], "\n\n"),
        (b"\x1b[\r1\nm", "\n\n"),
        (b"\x1b[\r\nm", "\n"),
        (b"\x1b\r(\n0x", "\n\nx"),
    ] {
        assert_eq!(in_chunks([bytes]), text, "{bytes:?}");
    }
}

#[test]
fn a_machine_that_has_finished_starts_anew() {
    let mut sanitizer = Sanitizer::new();
    let mut out = String::new();
    for unfinished in [&b"\x1b[3"[..], b"\x1b]0;t", b"\x1b", b"\r", b"\xe2\x82"] {
        sanitizer.push(unfinished, &mut out);
        sanitizer.finish(&mut out);
        out.clear();
        sanitizer.push(b"\n1mx", &mut out);
        sanitizer.finish(&mut out);
        assert_eq!(out, "\n1mx", "after {unfinished:?}");
    }
}

#[test]
fn a_sequence_of_any_length_is_kept_in_no_memory() {
    let mut sanitizer = Sanitizer::new();
    let mut out = String::new();
    let body = vec![b'A'; 1 << 16];
    for start in [&b"\x1b]0;"[..], b"\x1bP", b"\x1b["] {
        sanitizer.push(start, &mut out);
        for _ in 0..64 {
            // For CSI a letter would be the end: parameters go on.
            let chunk = if start == b"\x1b[" {
                &[b';'; 1 << 16][..]
            } else {
                &body
            };
            sanitizer.push(chunk, &mut out);
        }
        sanitizer.push(b"\x1b\\", &mut out);
    }
    sanitizer.push(b"x", &mut out);
    sanitizer.finish(&mut out);
    assert_eq!(out, "x");
    assert!(out.capacity() < 1024, "{}", out.capacity());
}

/// Bytes as terminals get them: text, controls, whole and broken sequences.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => "[a-z0-9 ;?\\[\\]\\\\]{0,6}".prop_map(String::into_bytes),
        2 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
        2 => prop::sample::select(vec![
            "\u{1b}", "\u{1b}[", "\u{1b}]", "\u{1b}P", "\u{1b}_", "\u{1b}\\", "\u{7}", "\r", "\n",
            "\t", "\u{18}", "\u{1a}", "\u{9b}", "\u{9d}", "\u{9c}", "\u{90}", "\u{85}", "\u{7f}",
            "\u{2028}", "\u{202e}", "\u{200b}", "\u{200d}", "\u{e0041}", "é", "🦀", "\u{1b}(",
        ])
        .prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Lines with what is hidden, what is not, and what looks like its escape.
fn lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\\",
            "\\\\",
            "u",
            "u{",
            "202e",
            "d",
            "}",
            "r",
            "\n",
            "\r",
            "\r\n",
            "\t",
            "\\u{202e}",
            "\\r",
            "u{d}",
            "\u{202e}",
            "\u{200b}",
            "\u{1b}",
            "\u{fe0f}",
            " ",
            "a",
            "[",
            "é",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// The text that a preview shows, read back by its own rule and apart from the code under test:
/// of the backslashes before an escape every other one counts.
fn read_back(shown: &str) -> String {
    // Alone, or before a letter that is read the other way.
    let unseen = |c: char| {
        [c.to_string(), format!("{c}a")]
            .iter()
            .any(|text| preview_text(text) != *text)
    };
    let mut text = String::new();
    let mut rest = shown;
    while !rest.is_empty() {
        let after = rest.trim_start_matches('\\');
        let slashes = rest.len() - after.len();
        let code = after
            .strip_prefix("u{")
            .and_then(|rest| rest.split_once('}'));
        let code = code.and_then(|(hex, _)| Some((hex, u32::from_str_radix(hex, 16).ok()?)));
        let code = code.and_then(|(hex, code)| Some((hex, char::from_u32(code)?)));
        let (escape, means) = match code {
            Some((hex, c)) if hex.len() <= 6 && unseen(c) => (hex.len() + 3, c),
            _ if after.starts_with("r\n") => (1, '\r'),
            _ => (0, ' '),
        };
        if escape == 0 || slashes == 0 {
            let one = after.chars().next().map_or(0, char::len_utf8);
            text.push_str(&rest[..slashes + one]);
            rest = &after[one..];
            continue;
        }
        text.push_str(&"\\".repeat(slashes / 2));
        if slashes % 2 == 1 {
            text.push(means);
        } else {
            text.push_str(&after[..escape]);
        }
        rest = &after[escape..];
    }
    text
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn a_preview_hides_nothing_and_can_be_read_back(text in lines()) {
        let shown = preview_text(&text);
        prop_assert!(!shown.contains(is_forbidden), "{shown:?}");
        prop_assert!(!shown.contains(['\u{a0}', '\u{200d}', '\u{fe0f}', '\u{3164}']), "{shown:?}");
        prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(&read_back(&shown), &text);
        // What is made for a question stays as it is on the way to events and pages.
        prop_assert_eq!(sanitize(&shown), shown.as_ref());
    }

    #[test]
    fn a_whole_text_hides_nothing_and_leaves_nothing_out(text in lines(), word in "[a-z]{1,9}") {
        let shown = whole_text(&text);
        prop_assert!(!shown.contains(is_forbidden), "{shown:?}");
        prop_assert!(!shown.contains(['\u{a0}', '\u{200d}', '\u{fe0f}', '\u{3164}']), "{shown:?}");
        prop_assert_eq!(sanitize(&shown), shown.as_str());
        // A word is found wherever it stands, and however much stands around it.
        let long = format!("{}{word}{}", text.repeat(50), text.repeat(50));
        prop_assert!(whole_text(&long).contains(&word));
        prop_assert!(whole_line(&long).contains(&word));
        prop_assert!(!whole_line(&long).contains(is_forbidden));
        let args = [("a".to_owned(), serde_json::Value::from(long))];
        prop_assert!(whole_args(&args.into_iter().collect()).contains(&word));
    }

    #[test]
    fn two_texts_that_differ_are_shown_differently(a in "[ab\\\\n \n\t\u{200b}\\[\\]x0-9]{0,14}", b in "[ab\\\\n \n\t\u{200b}\\[\\]x0-9]{0,14}") {
        prop_assert_eq!(whole_line(&a) == whole_line(&b), a == b);
        prop_assert_eq!(whole_text(&a) == whole_text(&b), a == b);
    }

    #[test]
    fn no_argument_can_pass_for_another(a in "(ls|cwd: x|\n|  \\| |- |:|\"){0,8}", b in "(x|\n|command: |\"|5){0,4}") {
        let args = |first: &str, second: &str| {
            let args = [("command", first), ("cwd", second)];
            args.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
        };
        let shown = whole_args(&args(&a, &b));
        let names: Vec<&str> = shown.lines().filter(|line| !line.starts_with(' ')).collect();
        prop_assert_eq!(names.len(), 2, "{}", shown);
        prop_assert!(names[0].starts_with("command:") && names[1].starts_with("cwd:"));
        prop_assert_eq!(whole_args(&args(&b, &a)) == shown, a == b);
    }

    #[test]
    fn plain_lines_are_their_own_preview(text in "([ -~\n\té漢])*") {
        let escapes = text.contains("\\u{") || text.contains("\\r\n");
        prop_assert!(escapes || preview_text(&text) == text);
    }

    #[test]
    fn the_text_is_the_same_wherever_the_stream_is_cut(bytes in bytes()) {
        let whole = in_chunks([bytes.as_slice()]);
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            prop_assert_eq!(&in_chunks([a, b]), &whole, "cut at {}", at);
        }
        for size in 1..5 {
            prop_assert_eq!(&in_chunks(bytes.chunks(size)), &whole, "chunks of {}", size);
        }
    }

    #[test]
    fn a_whole_text_is_sanitized_like_a_stream(bytes in bytes()) {
        let lossy = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(sanitize(&lossy).into_owned(), in_chunks([lossy.as_bytes()]));
        // Invalid bytes count as U+FFFD and as nothing else.
        prop_assert_eq!(sanitize(&lossy).into_owned(), in_chunks([bytes.as_slice()]));
    }

    /// Without line ends, where we differ on purpose, and on ASCII, where terminals
    /// agree with each other.
    #[test]
    fn what_is_left_is_what_a_terminal_parser_prints(pieces in prop::collection::vec(prop::sample::select(vec![
        "\u{1b}", "[", "]", "P", "X", "^", "_", "\\", "\u{7}", "\u{18}", "\u{1a}", "\0", "(", "B", "0;", "31", "m",
        "a", " ", "~", "?", "\u{1b}[", "\u{1b}]", "\u{1b}\\", "$q", ":", "tmux;",
    ]), 0..24)) {
        let bytes = pieces.concat().into_bytes();
        let printed = strip_ansi_escapes::strip_str(String::from_utf8_lossy(&bytes));
        prop_assert_eq!(in_chunks([bytes.as_slice()]), printed);
    }

    #[test]
    fn nothing_forbidden_is_left_and_nothing_is_left_to_do(bytes in bytes()) {
        let text = in_chunks([bytes.as_slice()]);
        prop_assert!(!text.contains(is_forbidden), "{:?}", text);
        prop_assert!(matches!(sanitize(&text), Cow::Borrowed(_)), "{:?}", text);
    }

    #[test]
    fn no_newline_of_the_text_is_lost(bytes in bytes()) {
        let newlines = |text: &str| text.matches('\n').count();
        let lossy = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
        prop_assert_eq!(newlines(&in_chunks([bytes.as_slice()])), newlines(&lossy));
    }

    #[test]
    fn a_line_for_approval_is_one_short_line_without_hidden_characters(text in any::<String>(), bytes in bytes()) {
        for text in [text.as_str(), &String::from_utf8_lossy(&bytes), &text.repeat(20)] {
            let line = approval_text(text);
            prop_assert!(line.chars().count() <= APPROVAL_TEXT_CHARS);
            prop_assert!(!line.contains(is_forbidden) && !line.contains(['\n', '\t']), "{:?}", line);
            prop_assert!(!line.contains("  "), "{:?}", line);
        }
    }

    #[test]
    fn two_texts_that_differ_in_more_than_blanks_differ_in_their_line(a in "[ab\\\\n\n\t\u{200b}\\[\\]x0-9]{0,12}", b in "[ab\\\\n\n\t\u{200b}\\[\\]x0-9]{0,12}") {
        prop_assert_eq!(approval_text(&a) == approval_text(&b), a == b);
    }
}
