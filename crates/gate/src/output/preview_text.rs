//! Preview mode: lines in which nothing is hidden from the user who decides.

use std::borrow::Cow;

use super::chars::{Unseen, may_be_unclear, split};

/// `text` as lines for a question: newlines, tabs and everything that can be seen stay, and
/// every other character is written as `\u{hex}`. A carriage return before a newline is the
/// short `\r`, so that files with such line ends stay readable.
///
/// Two texts never look the same. A backslash stays as it is but where it would make an
/// escape, or stand before one: there it is doubled.
///
/// ```
/// # use toolgate_gate::output::preview_text;
/// assert_eq!(preview_text("if a\u{202e} {\r\n\tb"), "if a\\u{202e} {\\r\n\tb");
/// assert_eq!(preview_text(r"'\n' '\u{202e}'"), r"'\n' '\\u{202e}'");
/// ```
#[must_use]
pub fn preview_text(text: &str) -> Cow<'_, str> {
    let unseen = Unseen::of(text);
    if unseen.is_empty() && !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while !rest.is_empty() {
        let after = rest.trim_start_matches('\\');
        let slashes = rest.len() - after.len();
        let escape = escape(after, &unseen);
        let doubled = escape.is_some() || reads_as_escape(after);
        for _ in 0..slashes * (1 + usize::from(doubled)) {
            shown.push('\\');
        }
        let mut chars = after.chars();
        match (escape, chars.next()) {
            (Some(escape), _) => shown.push_str(&escape),
            (None, Some(c)) => shown.push(c),
            (None, None) => {}
        }
        rest = chars.as_str();
    }
    Cow::Owned(shown)
}

/// A name for a line of a preview, which it cannot end: backslashes are doubled, and newlines,
/// carriage returns and tabs written out. The rest is left to [`preview_text`].
///
/// ```
/// # use toolgate_gate::output::{preview_name, preview_text};
/// assert_eq!(preview_text(&preview_name("a\nb\u{202e}")), r"a\nb\u{202e}");
/// assert_eq!(preview_name(r"a\nb"), r"a\\nb");
/// ```
#[must_use]
pub fn preview_name(name: &str) -> Cow<'_, str> {
    if !name.contains(['\\', '\n', '\r', '\t']) {
        return Cow::Borrowed(name);
    }
    let doubled = name.replace('\\', "\\\\");
    let lines = doubled.replace('\n', "\\n").replace('\r', "\\r");
    Cow::Owned(lines.replace('\t', "\\t"))
}

/// How the first character of the rest of a text is written if it cannot stay.
pub(super) fn escape(text: &str, unseen: &Unseen) -> Option<String> {
    let c = text.chars().next().filter(|_| unseen.starts(text))?;
    if text.starts_with("\r\n") {
        return Some("\\r".to_owned());
    }
    Some(format!("\\u{{{:x}}}", u32::from(c)))
}

/// Whether a backslash before this would look like an escape.
pub(super) fn reads_as_escape(text: &str) -> bool {
    if text.starts_with("r\n") {
        return true;
    }
    let Some(rest) = text.strip_prefix("u{") else {
        return false;
    };
    // No character has more digits, and looking further for the end would take long.
    let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit);
    let (digits, end) = split(rest, digits.count());
    let code = u32::from_str_radix(digits, 16).ok();
    let is_unseen = |c: char| c != '\n' && c != '\t' && may_be_unclear(c);
    end.starts_with('}') && code.and_then(char::from_u32).is_some_and(is_unseen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_what_cannot_be_seen_is_written_out() {
        let cases = [
            ("", ""),
            ("fn a() {\n\tb  c\n}\n", "fn a() {\n\tb  c\n}\n"),
            (
                "if (a\u{202e}\u{2066}// ok\u{2069} \u{2066}) {\u{200b}}\u{ad}\n\u{1b}[8mx",
                "if (a\\u{202e}\\u{2066}// ok\\u{2069} \\u{2066}) {\\u{200b}}\\u{ad}\n\\u{1b}[8mx",
            ),
            ("-a\r\n+a\n", "-a\\r\n+a\n"),
            ("a\rb\r", "a\\u{d}b\\u{d}"),
            ("a\r\r\nb", "a\\u{d}\\r\nb"),
            (r#"print("a\r\n\t\\")"#, r#"print("a\r\n\t\\")"#),
            ("a\\r\nb", "a\\\\r\nb"),
            ("a\\\r\nb", "a\\\\\\r\nb"),
            (r"\u{e9} \u{202E}", r"\u{e9} \\u{202E}"),
            ("\\\u{202e}", r"\\\u{202e}"),
            ("\\", "\\"),
            ("größe 漢字 🦀", "größe 漢字 🦀"),
            ("+שלום\n-ש a", "+שלום\n-\\u{5e9} a"),
            (r"a \u{5e9} \u{301}", r"a \\u{5e9} \\u{301}"),
            ("e\u{301} \u{301}", "e\u{301} \\u{301}"),
            (
                "r\u{378}m \u{13441}\u{1f8d0}",
                r"r\u{378}m \u{13441}\u{1f8d0}",
            ),
            ("a\u{a0}b\u{2028}c", r"a\u{a0}b\u{2028}c"),
        ];
        for (text, expected) in cases {
            assert_eq!(preview_text(text), expected, "{text:?}");
        }
    }
}
