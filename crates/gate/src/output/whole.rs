//! Whole mode: every argument of a call as lines, with nothing left out and nothing hidden.
//!
//! ```text
//! command: python3 -c "import os; …"        one line is one line
//! cwd: sub
//! script:                                   several lines stand below their name
//!   | set -e
//!   | make
//! edits:                                    lists and objects are indented
//!   - new: b
//!     old: a
//! ```
//!
//! A name stands at the start of its line and a text behind a mark, so no text can pass for
//! another argument. A string that would read as a number or a list stands in quotes.

use serde_json::{Map, Value};

use super::approval_text::{MOST_BLANKS, piece};
use super::chars::Unseen;
use super::preview_text::{escape, reads_as_escape};

/// From this many line ends in a row on they are shown as their number: fewer keep the rest in
/// sight.
const COUNTED_LINE_ENDS: usize = 4;

/// Deeper values are written as JSON on one line.
const MOST_DEEP: usize = 64;

/// `text` as lines of any length: [`preview_text`](super::preview_text) in which padding is
/// counted. Four or more line ends in a row, more than 40 blanks and four or more equal
/// characters that cannot be seen are written as `[\n x100]`, different blanks as `[\s x100]`.
///
/// ```
/// # use toolgate_gate::output::whole_text;
/// assert_eq!(whole_text("ls\n\n\n\n\nrm x"), "ls[\\n x5]\nrm x");
/// assert_eq!(whole_text("a\u{202e}b"), r"a\u{202e}b");
/// ```
#[must_use]
pub fn whole_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let unseen = Unseen::of(text);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            '\\' => backslashes(rest, &unseen, &mut shown),
            ' ' | '\t' | '\r' | '\n' => blanks(rest, &mut shown),
            c if unseen.starts(rest) => {
                let after = rest.trim_start_matches(c);
                let count = (rest.len() - after.len()) / c.len_utf8();
                shown.push_str(&piece(c, count));
                after
            }
            c => {
                shown.push(c);
                rest.get(c.len_utf8()..).unwrap_or_default()
            }
        };
    }
    shown
}

/// Backslashes stay, but where they would make an escape or a count, or stand before one.
fn backslashes<'t>(text: &'t str, unseen: &Unseen, shown: &mut String) -> &'t str {
    let after = text.trim_start_matches('\\');
    let count = text.len() - after.len();
    let doubled =
        escape(after, unseen).is_some() || reads_as_escape(after) || reads_as_count(after);
    shown.extend(std::iter::repeat_n(
        '\\',
        count * (1 + usize::from(doubled)),
    ));
    after
}

/// Whether a backslash before this would look like one of the counts.
fn reads_as_count(text: &str) -> bool {
    let after = match text.strip_prefix("u{") {
        Some(code) => code
            .trim_start_matches(|c: char| c.is_ascii_hexdigit())
            .strip_prefix('}'),
        None => text.strip_prefix(['n', 'r', 't', 's']),
    };
    let number = after.and_then(|after| after.strip_prefix(" x"));
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Blanks and line ends at the start of a text.
fn blanks<'t>(text: &'t str, shown: &mut String) -> &'t str {
    let after = text.trim_start_matches([' ', '\t', '\r', '\n']);
    let run = text.get(..text.len() - after.len()).unwrap_or_default();
    let lines = run.bytes().filter(|byte| *byte == b'\n').count();
    let indent = match run.rfind('\n') {
        Some(end) if lines >= COUNTED_LINE_ENDS => {
            let (ends, indent) = run.split_at_checked(end + 1).unwrap_or((run, ""));
            shown.push_str(&counted(ends));
            shown.push('\n');
            indent
        }
        _ => run,
    };
    let mut rest = indent;
    while let Some(c) = rest.chars().next() {
        let after = match c {
            ' ' | '\t' => rest.trim_start_matches([' ', '\t']),
            _ => rest.get(1..).unwrap_or_default(),
        };
        let part = rest.get(..rest.len() - after.len()).unwrap_or_default();
        match c {
            '\n' => shown.push('\n'),
            // Of `blanks` the end is cut off; the line end of a carriage return is in them.
            '\r' if rest.starts_with("\r\n") => shown.push_str("\\r"),
            '\r' => shown.push_str("\\u{d}"),
            _ if part.len() > MOST_BLANKS => shown.push_str(&counted(part)),
            _ => shown.push_str(part),
        }
        rest = after;
    }
    after
}

/// Blanks as their number; what they are where all are the same.
fn counted(blanks: &str) -> String {
    let count = blanks.len();
    let first = blanks.chars().next().unwrap_or(' ');
    let name = match first {
        _ if blanks.chars().any(|c| c != first) => "\\s",
        '\n' => "\\n",
        '\t' => "\\t",
        '\r' => "\\r",
        _ => "\\u{20}",
    };
    format!("[{name} x{count}]")
}

/// The arguments of a call, each whole.
///
/// ```
/// # use serde_json::json;
/// # use toolgate_gate::output::whole_args;
/// let args = json!({"command": "ls\nrm x", "background": true});
/// let shown = whole_args(args.as_object().unwrap());
/// assert_eq!(shown, "background: true\ncommand:\n  | ls\n  | rm x\n");
/// ```
#[must_use]
pub fn whole_args(args: &Map<String, Value>) -> String {
    let mut lines = String::new();
    object(args, 0, "", &mut lines);
    lines
}

/// A value, whole, as lines.
#[must_use]
pub fn whole_value(value: &Value) -> String {
    let mut lines = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => object(map, 0, "", &mut lines),
        other => entry(other, 0, "", &mut lines),
    }
    lines
}

fn indent(depth: usize, lines: &mut String) {
    lines.extend(std::iter::repeat_n("  ", depth));
}

/// The members of an object. The first stands behind `lead`, the dash of a list.
fn object(map: &Map<String, Value>, depth: usize, lead: &str, lines: &mut String) {
    for (at, (name, value)) in map.iter().enumerate() {
        match at {
            0 if !lead.is_empty() => lines.push_str(lead),
            _ => indent(depth, lines),
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !name.is_empty() && name.bytes().all(plain) {
            lines.push_str(name);
        } else {
            lines.push_str(&quoted(name));
        }
        lines.push(':');
        entry(value, depth, " ", lines);
    }
}

/// A value behind its name or dash, with the end of its line.
fn entry(value: &Value, depth: usize, gap: &str, lines: &mut String) {
    match value {
        Value::String(text) if text.contains('\n') => {
            lines.push('\n');
            for line in whole_text(text).split('\n') {
                indent(depth + 1, lines);
                lines.push_str("| ");
                lines.push_str(line);
                lines.push('\n');
            }
        }
        Value::Object(map) if !map.is_empty() && depth < MOST_DEEP => {
            lines.push('\n');
            object(map, depth + 1, "", lines);
        }
        Value::Array(items) if !items.is_empty() && depth < MOST_DEEP => {
            lines.push('\n');
            for item in items {
                indent(depth + 1, lines);
                match item {
                    Value::Object(map) if !map.is_empty() => object(map, depth + 2, "- ", lines),
                    other => {
                        lines.push('-');
                        entry(other, depth + 1, " ", lines);
                    }
                }
            }
        }
        Value::String(text) => {
            let reads_otherwise =
                text.trim() != text || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            lines.push_str(gap);
            match text.is_empty() || reads_otherwise || text.starts_with('"') {
                true => lines.push_str(&quoted(text)),
                false => lines.push_str(&whole_text(text)),
            }
            lines.push('\n');
        }
        other => {
            lines.push_str(gap);
            lines.push_str(&whole_text(&other.to_string()));
            lines.push('\n');
        }
    }
}

/// A text in quotes, on one line.
fn quoted(text: &str) -> String {
    whole_text(&Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn padding_is_counted_and_everything_else_stays() {
        let spaces = |count| " ".repeat(count);
        let cases = [
            ("".into(), "".to_owned()),
            ("a\n\n\nb".into(), "a\n\n\nb".into()),
            ("a\n\n\n\nb".into(), "a[\\n x4]\nb".into()),
            ("a\n\n\n\n\n    b".into(), "a[\\n x5]\n    b".into()),
            ("a\n \n \n \n \nb".into(), "a[\\s x9]\nb".into()),
            ("a\r\n\r\n\r\n\r\nb".into(), "a[\\s x8]\nb".into()),
            ("a\r\nb".into(), "a\\r\nb".into()),
            (format!("a{}b", spaces(40)), format!("a{}b", spaces(40))),
            (format!("a{}b", spaces(41)), "a[\\u{20} x41]b".into()),
            (format!("a{}b", "\t".repeat(41)), "a[\\t x41]b".into()),
            (format!("a{}b", " \t".repeat(30)), "a[\\s x60]b".into()),
            ("a\u{200b}b".into(), r"a\u{200b}b".into()),
            (
                format!("a{}b", "\u{3164}".repeat(500)),
                r"a[\u{3164} x500]b".into(),
            ),
            ("\u{1b}[8mx\u{9b}0m".into(), r"\u{1b}[8mx\u{9b}0m".into()),
            (r"[\n x4]".into(), r"[\\n x4]".into()),
            (r"[\u{20} x41]".into(), r"[\\u{20} x41]".into()),
            (r"[\s x9] \d \n".into(), r"[\\s x9] \d \n".into()),
            (r"\u{202e}".into(), r"\\u{202e}".into()),
            ("größe 漢字 🦀".into(), "größe 漢字 🦀".into()),
            ("א rm".into(), r"\u{5d0} rm".into()),
            ("a\u{3fffd}b".into(), r"a\u{3fffd}b".into()),
            (
                format!("a{}b", "\u{301}".repeat(500)),
                format!("a{}[\\u{{301}} x496]b", "\u{301}".repeat(4)),
            ),
        ];
        for (text, expected) in cases {
            let text: String = text;
            assert_eq!(whole_text(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_text_passes_for_another_argument() {
        let args = json!({
            "command": "ls\ncwd: /etc\n  | x",
            "cwd": "a\u{202e}b",
            "number": 5, "text": "5", "empty": "", "blank": " x ", "list": "[1]",
            "edits": [{"old": "a", "new": "b\nc"}, "d", [1, []], {}],
            "a: b\n": {"c": null},
        });
        let expected = r#""a: b\n":
  c: null
blank: " x "
command:
  | ls
  | cwd: /etc
  |   | x
cwd: a\u{202e}b
edits:
  - new:
      | b
      | c
    old: a
  - d
  -
    - 1
    - []
  - {}
empty: ""
list: "[1]"
number: 5
text: "5"
"#;
        assert_eq!(whole_args(args.as_object().unwrap()), expected);
    }
}
