//! What an answer is: a page, a text, or neither.

use crate::web::is_marked;

/// How far into an answer is looked to tell text from other content.
const LOOKED_AT: usize = 1024;

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
    Binary,
}

/// What a header says it is; nothing where it does not say.
pub(super) fn said(content_type: Option<&str>) -> Option<Kind> {
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let (name, _) = content_type.split_once(';').unwrap_or((&content_type, ""));
    let (family, rest) = name.trim().split_once('/')?;
    let kind = match (family, rest) {
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("text", _) => Kind::Text,
        ("application", "octet-stream" | "unknown") | ("unknown" | "*", _) => return None,
        (_, rest) if is_text(rest) => Kind::Text,
        _ => Kind::Binary,
    };
    Some(kind)
}

/// Whether a type that is not called text is one.
fn is_text(rest: &str) -> bool {
    const NAMES: &[&str] = &[
        "ecmascript",
        "graphql",
        "javascript",
        "json",
        "ndjson",
        "rtf",
        "sql",
        "toml",
        "typescript",
        "x-javascript",
        "x-ndjson",
        "x-sh",
        "x-www-form-urlencoded",
        "x-yaml",
        "xml",
        "yaml",
    ];
    const ENDS: &[&str] = &["+json", "+xml", "+yaml", "+json-seq", "-json", "-xml"];
    NAMES.contains(&rest) || ENDS.iter().any(|end| rest.ends_with(end))
}

/// What it is, by what was said and by its first bytes.
pub(super) fn of(content_type: Option<&str>, bytes: &[u8]) -> Kind {
    let said = said(content_type);
    let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let wide = |said: &str| said.to_ascii_lowercase().contains("utf-16");
    // In UTF-16 every other byte of plain text is zero.
    let zeros_mean_nothing = is_marked(start) || content_type.is_some_and(wide);
    match said {
        Some(Kind::Binary) => Kind::Binary,
        _ if memchr::memchr(0, start).is_some() && !zeros_mean_nothing => Kind::Binary,
        Some(kind) => kind,
        None if looks_like_html(start) => Kind::Html,
        None => Kind::Text,
    }
}

fn looks_like_html(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(start);
    let start = start.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    ["<!doctype html", "<html", "<head", "<body"]
        .iter()
        .any(|sign| {
            start
                .get(..sign.len())
                .is_some_and(|first| first.eq_ignore_ascii_case(sign))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_what_they_say_unless_their_bytes_say_otherwise() {
        for (content_type, bytes, kind) in [
            (Some("text/html"), &b"x"[..], Kind::Html),
            (Some("Text/HTML; charset=utf-8"), b"x", Kind::Html),
            (Some("application/xhtml+xml"), b"x", Kind::Html),
            (Some("text/plain"), b"<html>", Kind::Text),
            (Some("application/json"), b"{}", Kind::Text),
            (Some("application/problem+json"), b"{}", Kind::Text),
            (Some("application/rss+xml"), b"<rss/>", Kind::Text),
            (Some("image/svg+xml"), b"<svg/>", Kind::Text),
            (Some("image/png"), b"x", Kind::Binary),
            (Some("application/pdf"), b"%PDF", Kind::Binary),
            (Some("application/zip"), b"PK", Kind::Binary),
            (Some("text/plain"), b"a\0b", Kind::Binary),
            (Some("text/html"), b"a\0b", Kind::Binary),
            (Some("text/plain"), b"\xff\xfea\0", Kind::Text),
            (Some("text/plain; charset=UTF-16LE"), b"a\0", Kind::Text),
            (None, b"  <!DOCTYPE HTML><p>", Kind::Html),
            (None, b"\xef\xbb\xbf<html>", Kind::Html),
            (None, b"words", Kind::Text),
            (None, b"\x89PNG\r\n\0", Kind::Binary),
            (Some("application/octet-stream"), b"words", Kind::Text),
            (Some("nonsense"), b"words", Kind::Text),
            (Some(""), b"", Kind::Text),
        ] {
            assert_eq!(of(content_type, bytes), kind, "{content_type:?} {bytes:?}");
        }
    }
}
