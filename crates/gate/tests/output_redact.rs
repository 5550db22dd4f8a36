//! No known secret survives, and text without one is left alone.
#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;
use std::sync::LazyLock;

use proptest::prelude::*;
use toolgate_gate::output::{HOLD_BACK_BYTES, Redactor, SecretClass};

const REDACTED: &str = include_str!("data/redacted.txt");
const UNTOUCHED: &str = include_str!("data/untouched.txt");

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(env()).unwrap());
    &REDACTOR
}

fn env() -> Vec<(&'static str, String)> {
    vec![
        ("DEPLOY_PASSWORD", "correct horse battery".to_owned()),
        ("SHORT", "seven77".to_owned()),
        ("HOME", "/home/somebody".to_owned()),
        ("UNICODE", "пароль-漢字".to_owned()),
        ("INNER", "horse battery staple".to_owned()),
        ("LONG", long_value()),
    ]
}

/// Longer than one piece of the automaton.
fn long_value() -> String {
    (0..150).map(|n| format!("{n:x}~")).collect()
}

fn in_chunks(text: &str, size: usize) -> String {
    let mut stream = redactor().stream();
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        stream.push(&chars.by_ref().take(size).collect::<String>(), &mut out);
        assert!(
            stream.held_bytes() <= HOLD_BACK_BYTES,
            "{}",
            stream.held_bytes()
        );
    }
    stream.finish(&mut out);
    out
}

/// Rows `text ==> expected`; `\n` stands for a newline, and `^` for nothing, so that
/// this file itself holds nothing that looks like a secret.
fn rows(data: &str) -> Vec<(String, String)> {
    let plain = |s: &str| s.replace('^', "").replace("\\n", "\n");
    data.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("## "))
        .map(|line| match line.split_once(" ==> ") {
            Some((text, expected)) => (plain(text), plain(expected)),
            None => (plain(line), plain(line)),
        })
        .collect()
}

#[test]
fn every_known_shape_of_a_secret_is_replaced() {
    let redactor = redactor();
    let rows = rows(REDACTED);
    assert!(rows.len() >= 60, "{}", rows.len());
    for (text, expected) in rows {
        let (redacted, spans) = redactor.redact(&text);
        assert_eq!(redacted, expected, "{text}");
        assert!(!spans.is_empty());
        let (again, none) = redactor.redact(&redacted);
        assert!(none.is_empty(), "{text} redacted twice: {again}");
    }
}

#[test]
fn text_about_secrets_is_left_alone_and_borrowed() {
    let redactor = redactor();
    for (text, _) in rows(UNTOUCHED) {
        let (same, spans) = redactor.redact(&text);
        assert_eq!((same.as_ref(), spans.as_slice()), (text.as_str(), &[][..]));
        assert!(matches!(same, Cow::Borrowed(_)));
        assert!(!redactor.holds_secret(&text));
    }
}

#[test]
fn every_row_is_the_same_at_every_chunk_size() {
    for (text, expected) in rows(REDACTED).into_iter().chain(rows(UNTOUCHED)) {
        for size in (1..20).chain([50, 99]) {
            assert_eq!(
                in_chunks(&text, size),
                expected,
                "{text} in chunks of {size}"
            );
        }
    }
}

#[test]
fn a_span_says_where_the_secret_stood() {
    let text = "漢 correct horse battery!\nghp_".to_owned() + &"a1".repeat(20) + "\n";
    let (_, spans) = redactor().redact(&text);
    let found: Vec<(&str, SecretClass)> = spans
        .iter()
        .map(|s| (text.get(s.start..s.end).unwrap(), s.class))
        .collect();
    let token = "ghp_".to_owned() + &"a1".repeat(20);
    assert_eq!(
        found,
        [
            ("correct horse battery", SecretClass::Env),
            (token.as_str(), SecretClass::Token)
        ]
    );
}

#[test]
fn values_that_overlap_are_covered_together() {
    let (text, spans) = redactor().redact("a correct horse battery staple b");
    assert_eq!(text, "a [redacted:env] b");
    assert_eq!(spans.len(), 1);
}

#[test]
fn a_long_value_is_one_secret_and_a_part_of_it_is_found_too() {
    let long = long_value();
    assert!(long.len() > 256);
    for size in [1, 100, 10_000] {
        assert_eq!(
            in_chunks(&format!("a {long} b"), size),
            "a [redacted:env] b"
        );
    }
    assert_eq!(redactor().redact(&long).1.len(), 1);
    let most: String = long.chars().take(300).collect();
    assert!(redactor().holds_secret(&most));
}

#[test]
fn a_secret_of_any_length_is_swallowed_without_being_kept() {
    let body = "aB3-dE5_fG7h".repeat(20_000);
    for (start, class) in [
        ("sk-ant-", "token"),
        ("password=", "assignment"),
        ("password: \"", "assignment"),
        ("Authorization: Bearer ", "authorization"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJ", "jwt"),
    ] {
        let text = format!("{start}{body}\nafter");
        let mut stream = redactor().stream();
        let mut out = String::new();
        for chunk in text.as_bytes().chunks(1_000) {
            stream.push(std::str::from_utf8(chunk).unwrap(), &mut out);
            assert!(stream.held_bytes() <= HOLD_BACK_BYTES);
        }
        stream.finish(&mut out);
        assert!(
            out.ends_with(&format!("[redacted:{class}]\nafter")),
            "{start} gives {} bytes",
            out.len()
        );
        assert!(out.len() < 100);
        assert_eq!(redactor().redact(&text).0, out);
    }
}

#[test]
fn a_private_key_is_replaced_with_all_its_lines() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    let begin = format!("-----BEGIN {}-----", "RSA PRIVATE KEY");
    let end = format!("-----END {}-----", "RSA PRIVATE KEY");
    let body = format!("{line}\n").repeat(25);
    let cases = [
        (
            format!("a\n{begin}\n{body}{end}\nb"),
            "a\n[redacted:private_key]\nb",
        ),
        (
            format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}{end}\nb"),
            "[redacted:private_key]\nb",
        ),
        (
            format!(r#"{{"k":"{begin}\n{line}\n{line}\n{end}\n"}}"#),
            r#"{"k":"[redacted:private_key]\n"}"#,
        ),
        (
            format!("   1\t{begin}\n   2\t{line}\n   3\t{end}\n"),
            "   1\t[redacted:private_key]\n",
        ),
        // Never closed: what follows is text again, and a bit of it is lost.
        (
            format!("{begin}\n{body}{{ok}}"),
            "[redacted:private_key]{ok}",
        ),
        // Only mentioned.
        (format!("if text.contains(\"{begin}\") {{ return; }}"), "="),
        (format!("{begin}\n...\n{end}"), "="),
        (
            format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----"),
            "=",
        ),
    ];
    for (text, expected) in cases {
        let expected = if expected == "=" {
            text.as_str()
        } else {
            expected
        };
        assert_eq!(redactor().redact(&text).0, expected);
        for size in [1, 3, 17, 64, 1_000] {
            assert_eq!(in_chunks(&text, size), expected, "in chunks of {size}");
        }
    }
}

/// Key material, and what comes after it or between it: `<` and `>` enclose what has to stay.
#[test]
fn a_private_key_ends_where_its_lines_of_base64_end() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let end = ["-----END ", "PRIVATE KEY-----"].concat();
    for (between, stays) in [
        ("\ntouch canary-pem\n", "canary-pem"),
        ("\nsh evil.sh | tee log\n", "evil.sh | tee log"),
        (
            "\nimport os\nos.system('touch x')\n",
            "os.system('touch x')",
        ),
        ("\nrm -rf x\n", "rf x"),
        ("\nls\nrm\nid\n", "rm\nid"),
        ("\n$(id)\n", "$(id)"),
        ("\n*** Add File: AGENTS.md\n", " Add File: AGENTS.md"),
        ("\n*** Delete File: a\n", " Delete File: a"),
        ("\n--- a/one.sh\n+++ b/one.sh\n", "a/one.sh\n+++ b/one.sh"),
        ("\n+++ b/one.sh\n", "b/one.sh"),
        ("\ndiff --git a/x b/x\n", "git a/x b/x"),
        ("\n@@ -1 +1 @@\n", "@@ -1 +1 @@"),
        ("\nIndex: one.sh\n", "one.sh"),
        ("\nPATH=evil make\n", "make"),
    ] {
        for mark in ["", "# ", "+", "    "] {
            let key = format!("{mark}{begin}\n{mark}{line}\n{mark}{line}");
            let text = format!("{key}{between}{mark}{line}\n{mark}{end}\n");
            let (shown, _) = redactor().redact(&text);
            assert!(shown.contains(stays), "{mark:?} {between:?}: {shown}");
            assert!(shown.contains("[redacted:private_key]"), "{shown}");
            assert_eq!(in_chunks(&text, 3), shown, "{between:?}");
        }
    }
    for first in [
        "touch canary",
        "sh x y",
        "Touch canary",
        "PATH=x make it",
        "*** Add File: x y",
    ] {
        let text = format!("{begin}\n{first}\n{line}\n{end}\n");
        assert!(redactor().redact(&text).0.contains(first), "{first}");
    }
}

#[test]
fn a_private_key_is_found_in_every_form_it_is_stored_in() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let end = ["-----END ", "PRIVATE KEY-----"].concat();
    let lines = [begin.as_str(), line, line, line, "abcd12", end.as_str()];
    let numbered = |(n, line): (usize, &&str)| format!("{:4}\t{line}", n + 1);
    let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n";
    for text in [
        lines.join("\n"),
        lines.join("\r\n"),
        lines.join(" "),
        lines.join("\\n"),
        lines.join("\\r\\n"),
        lines.join("\\\\n"),
        lines.join("\n+"),
        lines.join("\n-"),
        lines.join("\n "),
        lines.join("\n    "),
        lines.join("\n# "),
        lines.join("\n// "),
        lines.join("\n * "),
        lines.join("\\n\" +\n  \""),
        lines.join("\",\n\""),
        lines
            .iter()
            .enumerate()
            .map(numbered)
            .collect::<Vec<_>>()
            .join("\n"),
        format!("{begin}\n{headers}{line}\nab12==\n{end}"),
        format!("{begin}\n{headers}{line}\n{end}").replace('\n', "\\n"),
    ] {
        let text = format!("{text}\nafter it");
        let (shown, spans) = redactor().redact(&text);
        assert_eq!(spans.len(), 1, "{text}: {shown}");
        assert!(
            shown.ends_with("[redacted:private_key]\nafter it"),
            "{text}: {shown}"
        );
        assert_eq!(in_chunks(&text, 7), shown);
    }
}

#[test]
fn a_value_ends_where_code_begins() {
    let long = "a1b2c3d4e5f6g7h8".repeat(9);
    let edge = "a1b2c3d4e5f6g7h8".repeat(8);
    let edge = edge.get(..127).unwrap();
    for (text, shown) in [
        (
            format!("token=\"{long} $(touch x)\""),
            "token=\"[] $(touch x)\"",
        ),
        (
            format!("token=\"{long}$(touch x)\""),
            "token=\"[]$(touch x)\"",
        ),
        (format!("token='{long}`touch x`'"), "token='[]`touch x`'"),
        (format!("token=`{long} ${{run()}}`"), "token=`[] ${run()}`"),
        (format!("token=\"{long};id|sh\""), "token=\"[];id|sh\""),
        (format!("token=\"{edge}$(id)\""), "token=\"[]$(id)\""),
        (format!("token=\"{edge}${{IFS}}\""), "token=\"[]${IFS}\""),
        (
            format!("{{\\\"token\\\":\\\"{long} $(id)\\\"}}"),
            "{\\\"token\\\":\\\"[] $(id)\\\"}",
        ),
        (
            "token=\"a1b2c3d4e5f6g7h8$(id)\"".to_owned(),
            "token=\"[]$(id)\"",
        ),
        (
            "token=\"a1b2c3d4e5f6g7h8${IFS}x\"".to_owned(),
            "token=\"[]${IFS}x\"",
        ),
    ] {
        let shown = shown.replace("[]", "[redacted:assignment]");
        assert_eq!(redactor().redact(&text).0, shown, "{text}");
        assert_eq!(in_chunks(&text, 5), shown, "{text}");
    }
    let text = "https://a:b1c2d3$(touch${IFS}x)@localhost";
    let shown = "https://a:[redacted:url]$(touch${IFS}x)@localhost";
    assert_eq!(redactor().redact(text).0, shown);
}

#[test]
fn what_cannot_be_part_of_a_secret_is_not_kept_back() {
    let mut stream = redactor().stream();
    let mut out = String::new();
    stream.push("Continue? [y/n] ", &mut out);
    assert_eq!((out.as_str(), stream.held_bytes()), ("Continue? [y/n] ", 0));
}

fn fragments() -> impl Strategy<Value = String> {
    let long: &'static str = long_value().leak();
    let known = prop::sample::select(vec![
        "correct horse battery",
        "horse battery staple",
        "пароль-漢字",
        "ghp_",
        "sk-",
        "AKIA",
        "eyJ",
        ".eyJ",
        "://",
        "user:",
        "@",
        "password",
        "token",
        "API_KEY",
        "=",
        ": ",
        "\"",
        "'",
        "\\\"",
        " ",
        "\n",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "Authorization: ",
        "Bearer ",
        "Basic ",
        "${X}",
        "(",
        "--",
        "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW",
        "MIIEvQIBADANBgkqhkiG",
        "ABCDEFGH12345678",
        "changeme",
        "漢",
        "é",
        long,
    ])
    .prop_map(str::to_owned);
    prop_oneof![4 => known, 1 => "[a-zA-Z0-9_./ -]{0,8}", 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn the_pieces_a_text_came_in_do_not_matter(parts in prop::collection::vec(fragments(), 0..24), size in 1_usize..40) {
        let text = parts.concat();
        let (whole, _) = redactor().redact(&text);
        prop_assert_eq!(in_chunks(&text, size), whole.as_ref());
        prop_assert_eq!(in_chunks(&text, 1), whole.as_ref());
    }

    #[test]
    fn no_known_secret_survives(parts in prop::collection::vec(fragments(), 0..24)) {
        let text = parts.concat();
        let (redacted, spans) = redactor().redact(&text);
        for secret in ["correct horse battery", "horse battery staple", "пароль-漢字", &long_value()] {
            prop_assert!(!redacted.contains(secret));
        }
        prop_assert_eq!(spans.is_empty(), matches!(redacted, Cow::Borrowed(_)));
        let mut at = 0;
        for span in spans {
            prop_assert!(at <= span.start && span.start < span.end && span.end <= text.len());
            prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            at = span.end;
        }
    }

    #[test]
    fn a_random_key_is_found_wherever_it_is_assigned(
        key in "[A-Za-z0-9]{24,40}".prop_filter("has digits in several places", |k| k.chars().filter(char::is_ascii_digit).count() >= 4 && !k.to_lowercase().contains("xxxx")),
        form in prop::sample::select(vec!["password=KEY", "\"api_key\": \"KEY\"", "export SECRET_TOKEN='KEY'", "const TOKEN: &str = \"KEY\";", "clientSecret: 'KEY',", "?access_token=KEY&x=1"]),
    ) {
        let text = form.replace("KEY", &key);
        let (redacted, _) = redactor().redact(&text);
        prop_assert!(!redacted.contains(&key), "{}", redacted);
    }

    #[test]
    fn ordinary_words_are_never_touched(words in prop::collection::vec("[a-z]{1,12}|[A-Z][a-z]{1,9}|[0-9]{1,4}|[.,;:!?()]", 0..60)) {
        let text = words.join(" ");
        prop_assume!(!text.contains("://"));
        let (same, _) = redactor().redact(&text);
        prop_assert!(matches!(same, Cow::Borrowed(_)), "{}", same);
    }
}

#[test]
fn a_known_secret_is_found_wherever_it_stands_in_bytes() {
    const TOKEN: &str = "Zq7vTokenValueXk29LmPp48";
    let redactor = Redactor::new([("MY_TOKEN", TOKEN)]).unwrap();
    let little: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for form in [TOKEN.as_bytes(), &little, &big] {
        for before in [
            &b""[..],
            b"\0",
            b"\0\x01",
            b"\0\x01xx",
            b"\xff\xfe",
            b"\xc3",
        ] {
            let bytes = [before, form, b"\0\xff"].concat();
            assert!(redactor.bytes_hold_known(&bytes), "{bytes:?}");
        }
    }
    let other = b"\0\x01 PNG and TokenValue alone \xff";
    assert!(!redactor.bytes_hold_known(other));
}
