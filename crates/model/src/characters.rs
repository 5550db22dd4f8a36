//! Characters that a reader would not see for what they are.

use std::borrow::Cow;

use crate::graphic::RANGES;

/// A character that is drawn: the plain blank, and what a pinned version of Unicode knows as a
/// letter, mark, number, sign or symbol. Everything else may be dropped by a terminal.
pub fn is_graphic(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let code = u32::from(c);
    let after = RANGES.partition_point(|(first, _)| *first <= code);
    let range = after.checked_sub(1).and_then(|at| RANGES.get(at));
    range.is_some_and(|(_, last)| code <= *last) && !is_invisible(c)
}

/// A mark that is drawn over or under the character before it.
pub fn is_mark(c: char) -> bool {
    // The standard library writes these out where they stand alone.
    !c.is_ascii() && is_graphic(c) && c.escape_debug().len() > 1
}

/// A letter of a script that is written from right to left. Terminals may reorder a row that
/// holds one.
pub const fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Marks that a letter of any script carries at most.
const MOST_MARKS: u8 = 4;

/// Whether a terminal may show the words of a line in another order: words from right to left
/// stand in front of all others, in two places, or before a number.
fn may_be_reordered(line: &str) -> bool {
    if !line.contains(is_right_to_left) {
        return false;
    }
    let is_other = |c: char| !is_right_to_left(c) && !" .,!?:-+()\t\n".contains(c) && !is_mark(c);
    let (mut places, mut inside, mut before_number, mut first) = (0, false, false, None);
    let mut open = false;
    for c in line.chars() {
        let is_rtl = is_right_to_left(c);
        if is_rtl && !inside {
            places += 1;
        }
        inside = is_rtl || (inside && is_mark(c));
        if is_rtl || c.is_alphanumeric() {
            first.get_or_insert(is_rtl);
            before_number |= open && c.is_numeric();
            open = is_rtl;
        }
    }
    line.contains(is_other) && (places > 1 || before_number || first == Some(true))
}

/// The characters of a line, each with whether a reader sees it for what it is: it is drawn, a
/// mark has a letter to stand on, and nothing that is written from right to left stands in a line
/// with other letters.
pub fn clear(line: &str) -> impl Iterator<Item = (char, bool)> {
    let reorders = may_be_reordered(line);
    let mut marks = 0;
    line.chars().map(move |c| {
        if is_mark(c) {
            let carried = marks > 0;
            marks -= u8::from(carried);
            return (c, carried && !(reorders && is_right_to_left(c)));
        }
        let is_clear = is_graphic(c) && !(reorders && is_right_to_left(c));
        marks = if is_clear && c.is_alphanumeric() {
            MOST_MARKS
        } else {
            0
        };
        (c, is_clear)
    })
}

/// A character with no shape of its own, or with an empty one: the one list of them.
///
/// Those that Unicode lets a renderer pass over, fillers that stand for a letter that is not
/// there, and signs that are drawn as nothing. Blanks are in [`is_odd_blank`].
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        // Soft hyphen, grapheme joiner, Arabic letter mark.
        '\u{ad}' | '\u{34f}' | '\u{61c}'
        // Hangul fillers, plain and halfwidth; the Khitan one.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{16fe4}'
        // Khmer inherent vowels; Mongolian selectors and separator.
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero width space and joiners, bidirectional marks, embeddings and overrides.
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        // Word joiner, invisible operators, isolates, shaping controls.
        | '\u{2060}'..='\u{206f}'
        // The braille pattern without a dot; hieroglyphs that are blank.
        | '\u{2800}' | '\u{13441}' | '\u{13442}'
        // Variation selectors, byte order mark.
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        // Interlinear annotation and what stands for an object that is not there.
        | '\u{fff0}'..='\u{fffc}'
        // Controls of shorthand; an empty note and controls of musical notation.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and the variation selector supplement: a hidden alphabet.
        | '\u{e0000}'..='\u{e0fff}')
}

/// A blank that is not the plain space and looks like it.
pub fn is_odd_blank(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// A character that output does not keep: control characters and what is invisible.
///
/// Scripts and emoji are written with the joiners U+200C and U+200D and with the ordinary and
/// Mongolian variation selectors, drawings with the empty braille pattern, so these stay.
/// Newline and tab stay; carriage return and the Unicode line ends count as line ends before
/// this is asked.
pub fn is_removed(c: char) -> bool {
    let is_written = matches!(c,
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}'
        | '\u{2800}' | '\u{fffc}' | '\u{16fe4}' | '\u{1d159}');
    matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
        || (is_invisible(c) && !is_written)
}

/// A line end that is not written as a newline.
pub fn is_foreign_line_end(c: char) -> bool {
    matches!(c, '\r' | '\u{2028}' | '\u{2029}')
}

/// Whether a character has to be written out to be seen in a name. Joiners, selectors and
/// blanks that texts are written with stay.
fn is_hidden(c: char) -> bool {
    let is_written = matches!(c,
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}');
    !is_graphic(c) && !is_written && !is_odd_blank(c)
}

/// A character of a name for a message: one that would not be seen, or would end the line, is
/// written out (`\n`, `\u{202e}`). So two names that differ are told apart.
pub fn seen(c: char) -> impl Iterator<Item = char> {
    let hidden = is_hidden(c).then(|| c.escape_default());
    let plain = hidden.is_none().then_some(c);
    plain.into_iter().chain(hidden.into_iter().flatten())
}

/// The characters of a program's name that are not ASCII, with their code points: `ɡ (U+0261)`.
/// They look like others, and only the code point tells them apart. Nothing for a plain name.
pub fn code_points(name: &str) -> Option<String> {
    let mut told: Vec<char> = Vec::new();
    for c in name.chars().filter(|c| !c.is_ascii()) {
        if !told.contains(&c) {
            told.push(c);
        }
    }
    let shown = told.iter().map(|c| {
        let code = format!("U+{:04X}", u32::from(*c));
        // A mark that joins the character before it, or that is not seen, stands for itself.
        if c.is_alphanumeric() && !is_mark(*c) && is_graphic(*c) && !is_right_to_left(*c) {
            format!("{c} ({code})")
        } else {
            code
        }
    });
    let list = shown.collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then_some(list)
}

/// A text of JSON in which every character that output would remove is written as an escape:
/// it means the same, is harmless on a terminal, and nothing of it is lost on the way.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_lost = |c: char| is_removed(c) || (!c.is_ascii() && is_hidden(c));
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
    fn a_character_is_clear_where_a_reader_sees_it() {
        for (line, unclear) in [
            ("rm größe 漢字 🦀 Ελλάδα кино 한글 ไทย हिन्दी", ""),
            ("e\u{301}a\u{308}\u{304}", ""),
            ("\u{301}a", "\u{301}"),
            ("rm \u{336}x", "\u{336}"),
            ("-\u{20dd}x", "\u{20dd}"),
            ("a\u{300}\u{301}\u{302}\u{303}\u{304}", "\u{304}"),
            (
                "r\u{378}m\u{13441}\u{e1000}\u{1f8d0}",
                "\u{378}\u{13441}\u{e1000}\u{1f8d0}",
            ),
            ("שלום, עולם!", ""),
            ("rm א ב", "אב"),
            ("größe 漢字 שלום", ""),
            ("א rm", "א"),
            ("cp א 1", "א"),
            ("א; ب", "אب"),
        ] {
            let found: String = clear(line)
                .filter(|(_, seen)| !seen)
                .map(|(c, _)| c)
                .collect();
            assert_eq!(found, unclear, "{line}");
        }
    }

    #[test]
    fn invisible_characters_in_a_name_are_written_out() {
        for (name, shown) in [
            ("plain ü.txt", "plain ü.txt"),
            ("c\u{202e}.txt", "c\\u{202e}.txt"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("two\nlines\r\u{2028}", "two\\nlines\\r\\u{2028}"),
            ("\u{9b}31m\u{e0041}", "\\u{9b}31m\\u{e0041}"),
            (
                "\u{115f}\u{1160}\u{3164}\u{ffa0}",
                "\\u{115f}\\u{1160}\\u{3164}\\u{ffa0}",
            ),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
            ("a\u{3164}b\u{115f}", "a\\u{3164}b\\u{115f}"),
            ("\u{ffa0}\u{1160}\u{2800}", "\\u{ffa0}\\u{1160}\\u{2800}"),
            ("한국어 ⠓⠊ ❤\u{fe0f}", "한국어 ⠓⠊ ❤\u{fe0f}"),
        ] {
            assert_eq!(name.chars().flat_map(seen).collect::<String>(), shown);
        }
    }

    #[test]
    fn everything_without_a_shape_is_on_the_list() {
        for c in [
            0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b,
            0x200c, 0x200d, 0x200e, 0x202e, 0x2060, 0x2061, 0x2064, 0x2066, 0x206f, 0x2800, 0x3164,
            0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0xfffc, 0x16fe4, 0x1bca0, 0x1d159,
            0x1d173, 0x1d17a, 0xe0001, 0xe0020, 0xe007f, 0xe0100, 0xe01ef,
        ] {
            let c = char::from_u32(c).unwrap();
            assert!(is_invisible(c) && !is_odd_blank(c), "{c:?}");
        }
        for c in " aß한가ᄀ⠁字あ～\u{a0}\u{3000}🚀\n".chars() {
            assert!(!is_invisible(c), "{c:?}");
        }
    }

    #[test]
    fn output_loses_what_is_invisible_and_keeps_what_scripts_need() {
        for c in "\u{115f}\u{1160}\u{3164}\u{ffa0}\u{180e}\u{17b4}\u{ad}\u{e0041}\u{2063}".chars() {
            assert!(is_removed(c), "{c:?}");
        }
        for c in "\u{200c}\u{200d}\u{fe0f}\u{180b}\u{180f}\u{2800}\u{a0}\u{3000}\n\t".chars() {
            assert!(!is_removed(c), "{c:?}");
        }
    }

    #[test]
    fn lookalike_letters_are_shown_with_their_code_points() {
        for (name, told) in [
            ("git", None),
            ("./x-1_b.sh", None),
            ("ɡit", Some("ɡ (U+0261)")),
            ("сurl", Some("с (U+0441)")),
            ("ｌｓ", Some("ｌ (U+FF4C), ｓ (U+FF53)")),
            ("gi\u{301}t", Some("U+0301")),
            ("l\u{200b}s", Some("U+200B")),
            ("ɡɡ", Some("ɡ (U+0261)")),
        ] {
            assert_eq!(code_points(name).as_deref(), told, "{name}");
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
