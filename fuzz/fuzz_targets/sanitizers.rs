//! Text on its way out: however a stream is cut, the text is the same; nothing that
//! steers a terminal, hides from a person or is a known secret is left in it; and what
//! is cut away is exactly what the marker says.
#![no_main]

use std::borrow::Cow;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use toolgate_gate::output::{
    APPROVAL_TEXT_CHARS, Bounded, Bounder, HOLD_BACK_BYTES, Limits, Redactor, Sanitizer,
    SecretClass, approval_text, bound, sanitize,
};

/// Values of variables: one inside another, one that is no ASCII, one in two pieces.
static SECRETS: LazyLock<[String; 4]> = LazyLock::new(|| {
    [
        "correct horse battery".to_owned(),
        "horse battery staple".to_owned(),
        "пароль-漢字".to_owned(),
        (0..150).map(|n| format!("{n:x}~")).collect(),
    ]
});

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    let env = SECRETS.iter().enumerate();
    Redactor::new(env.map(|(n, value)| (format!("SECRET_{n}"), value))).expect("four short values")
});

/// Pieces that a byte of the input stands for: what secrets are made of, in parts, so
/// that this file itself holds none.
static PIECES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let random = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW";
    let parts = [
        "ghp_",
        "sk-ant-",
        "AKIA",
        "xoxb-",
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
        "-----BEGIN ",
        "RSA PRIVATE KEY-----",
        "-----END ",
        "Authorization: ",
        "Bearer ",
        "Basic ",
        "--",
        "[redacted:env]",
        "ABCDEFGH12345678",
        random,
        "\n",
    ];
    let mut pieces: Vec<String> = parts.map(str::to_owned).to_vec();
    pieces.extend(SECRETS.iter().cloned());
    pieces.push(random.repeat(30));
    pieces
});

fuzz_target!(|input: &[u8]| {
    // The first bytes choose the chunks and the limits, the rest is the stream.
    let (choices, stream) = input.split_at(input.len().min(4));
    let choice = |at: usize| choices.get(at).map_or(0, |byte| usize::from(*byte));
    let size = choice(0) + 1;
    control(stream, size);
    let text = with_pieces(stream);
    question(&text);
    secrets(&text, size);
    let limits = Limits {
        max_lines: choice(1).checked_sub(128),
        ..Limits::bytes(choice(2) * 256 + choice(3))
    };
    limited(&text, limits, size);
});

/// The stream as text, with `0xff n` standing for the piece of that number.
fn with_pieces(stream: &[u8]) -> String {
    let mut text = String::new();
    let mut parts = stream.split(|byte| *byte == 0xff);
    text.extend(parts.next().map(String::from_utf8_lossy));
    for part in parts {
        if let Some((number, rest)) = part.split_first() {
            text.push_str(&PIECES[usize::from(*number) % PIECES.len()]);
            text.push_str(&String::from_utf8_lossy(rest));
        }
    }
    text
}

fn control(stream: &[u8], size: usize) {
    let read = |size: usize| {
        let mut sanitizer = Sanitizer::new();
        let mut text = String::new();
        for chunk in stream.chunks(size) {
            sanitizer.push(chunk, &mut text);
        }
        sanitizer.finish(&mut text);
        text
    };
    let text = read(stream.len().max(1));
    assert_eq!(read(size), text);
    assert_eq!(read(1), text);
    assert_eq!(sanitize(&String::from_utf8_lossy(stream)), text);
    assert!(!text.contains(steers), "{text:?}");
    assert!(matches!(sanitize(&text), Cow::Borrowed(same) if same == text));
}

/// Control, direction, no width, tags: written down apart from the code under test.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(u32::from(c),
            0x61c | 0x200b | 0x200e..=0x200f | 0x2028..=0x202e | 0x2060..=0x2064 | 0x2066..=0x206f
            | 0xfeff | 0xe0000..=0xe007f | 0xe0100..=0xe01ef)
}

fn question(text: &str) {
    let line = approval_text(text);
    assert!(line.chars().count() <= APPROVAL_TEXT_CHARS, "{line:?}");
    assert!(
        !line.contains(|c| steers(c) || cannot_be_seen(c)),
        "{line:?}"
    );
    assert!(!line.contains("  "), "{line:?}");
}

/// Blanks that are not the plain one, and Unicode's Default_Ignorable_Code_Point.
fn cannot_be_seen(c: char) -> bool {
    (c.is_whitespace() && c != ' ')
        || matches!(u32::from(c),
            0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfff8
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

fn secrets(text: &str, size: usize) {
    let (redacted, spans) = REDACTOR.redact(text);
    // One by one is slow where much is kept back.
    let smallest = if text.len() <= 128 { 1 } else { 61 };
    for size in [size.max(smallest), smallest] {
        let mut stream = REDACTOR.stream();
        let mut out = String::new();
        for chunk in chunks(text, size) {
            stream.push(chunk, &mut out);
            assert!(stream.held_bytes() <= HOLD_BACK_BYTES);
        }
        stream.finish(&mut out);
        assert_eq!(out, redacted, "in chunks of {size}");
    }
    let mut rebuilt = String::new();
    let mut at = 0;
    for span in &spans {
        assert!(at <= span.start && span.start < span.end);
        rebuilt.push_str(&text[at..span.start]);
        rebuilt.push_str(span.class.marker());
        at = span.end;
    }
    rebuilt.push_str(&text[at..]);
    assert_eq!(rebuilt, redacted);
    for secret in SECRETS.iter() {
        assert!(!redacted.contains(secret.as_str()));
    }
    let (_, again) = REDACTOR.redact(&redacted);
    assert!(again.iter().all(|span| span.class != SecretClass::Env));
}

fn limited(text: &str, limits: Limits, size: usize) {
    let whole = bound(text, limits, Some("out_3"));
    let mut bounder = Bounder::new(limits);
    for chunk in chunks(text, size) {
        bounder.push(chunk);
    }
    assert_eq!(bounder.finish(Some("out_3")), whole);

    let count = text.lines().count();
    let fits = text.len() <= limits.max_bytes && limits.max_lines.is_none_or(|max| count <= max);
    assert_eq!(
        (whole.total_bytes, whole.total_lines),
        (text.len() as u64, count as u64)
    );
    assert_eq!(whole.truncated, !fits);
    if fits {
        assert_eq!(whole.text, text);
        assert_eq!((whole.missing_bytes, whole.missing_lines), (0, 0));
        return;
    }
    assert!(whole.text.len() <= limits.max_bytes);
    let lines = whole.text.lines().count();
    assert!(limits.max_lines.is_none_or(|max| lines <= max.max(1)));
    let marker = format!(
        "[... {} lines ({} bytes) omitted; read_output with handle \"out_3\" returns them ...]",
        grouped(whole.missing_lines),
        grouped(whole.missing_bytes)
    );
    // The text can have the same words; one of them is the marker.
    let holds = whole
        .text
        .match_indices(&marker)
        .any(|(at, _)| is_cut_at(at, &marker, &whole, text));
    let only_a_start = marker.starts_with(&whole.text) && whole.missing_bytes == whole.total_bytes;
    assert!(holds || only_a_start, "{whole:?}");
}

/// Whether the parts around the marker are the two ends of the text, and the numbers
/// say what is between them.
fn is_cut_at(at: usize, marker: &str, whole: &Bounded, text: &str) -> bool {
    let (before, after) = (&whole.text[..at], &whole.text[at + marker.len()..]);
    let Some(tail) = after.strip_prefix('\n').or(after.is_empty().then_some("")) else {
        return false;
    };
    // A newline in front of the marker is the text's own or the marker's.
    let heads = [Some(before), before.strip_suffix('\n')];
    heads.into_iter().flatten().any(|head| {
        let gone = head.len()..text.len().saturating_sub(tail.len());
        text.starts_with(head)
            && text.ends_with(tail)
            && gone.len() as u64 == whole.missing_bytes
            && text
                .get(gone)
                .is_some_and(|gone| gone.lines().count() as u64 == whole.missing_lines)
    })
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

/// The text in pieces of about `size` bytes, cut between characters.
fn chunks(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let cut = rest.ceil_char_boundary(size.min(rest.len()));
        let (chunk, after) = rest.split_at(cut);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}
