//! Characters that a reader would not see for what they are.

use std::borrow::Cow;

/// A character that output does not keep: control characters, bidirectional
/// controls, and what has no width and no shape of its own.
///
/// The joiners U+200C and U+200D and the ordinary variation selectors stay:
/// scripts and emoji are written with them. Newline and tab stay; carriage return
/// and the Unicode line ends count as line ends before this is asked.
pub fn is_removed(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, grapheme joiner, Khmer inherent vowels, Mongolian separator.
        | '\u{ad}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        // Bidirectional marks, embeddings, overrides and isolates.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        // Zero width space, word joiner, invisible operators, isolates, shaping controls.
        | '\u{200b}' | '\u{2060}'..='\u{206f}'
        // Byte order mark, interlinear annotation.
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        // Controls of shorthand and of musical notation.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and the variation selector supplement: a hidden alphabet.
        | '\u{e0000}'..='\u{e0fff}')
}

/// A line end that is not written as a newline.
pub fn is_foreign_line_end(c: char) -> bool {
    matches!(c, '\r' | '\u{2028}' | '\u{2029}')
}

/// Whether a character has to be written out to be seen in a name.
fn is_hidden(c: char) -> bool {
    c.is_control() || is_removed(c) || is_foreign_line_end(c)
}

/// A character of a name for a message: one that would not be seen, or would end the line, is
/// written out (`\n`, `\u{202e}`). So two names that differ are told apart.
pub fn seen(c: char) -> impl Iterator<Item = char> {
    let hidden = is_hidden(c).then(|| c.escape_default());
    let plain = hidden.is_none().then_some(c);
    plain.into_iter().chain(hidden.into_iter().flatten())
}

/// A text of JSON in which every character that output would remove is written as an escape:
/// it means the same, is harmless on a terminal, and nothing of it is lost on the way.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_lost = |c: char| is_removed(c) || is_foreign_line_end(c);
    if !json.contains(is_lost) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_lost(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_in_a_name_is_written_out() {
        for (name, shown) in [
            ("plain ü.txt", "plain ü.txt"),
            ("c\u{202e}.txt", "c\\u{202e}.txt"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("two\nlines\r\u{2028}", "two\\nlines\\r\\u{2028}"),
            ("\u{9b}31m\u{e0041}", "\\u{9b}31m\\u{e0041}"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
        ] {
            assert_eq!(name.chars().flat_map(seen).collect::<String>(), shown);
        }
    }

    #[test]
    fn escaped_json_means_the_same_and_keeps_no_character_that_output_removes() {
        for c in ('\0'..=char::MAX)
            .step_by(7)
            .chain(['\u{202e}', '\u{9b}', '\u{e0041}'])
        {
            let value = serde_json::json!({ "name": format!("a{c}b"), "n": [1, null] });
            let text = serde_json::to_string_pretty(&value).unwrap();
            let escaped = escape_json(&text);
            assert!(!escaped.contains(is_removed), "{c:?}");
            let back: serde_json::Value = serde_json::from_str(&escaped).unwrap();
            assert_eq!(back, value, "{c:?}");
        }
        assert_eq!(escape_json("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
    }
}
