//! Western European text with one byte per character (windows-1252, of which Latin-1 is a part),
//! where it clearly is that.
//!
//! Nothing announces this encoding, so a wrong guess has to be unlikely: most of the text is
//! ASCII letters, single letters with accents stand among them, and nothing else does.

/// What stands for the bytes from 0x80 to 0x9f; a blank where there is nothing.
const HIGH: [char; 32] = [
    '€', ' ', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', ' ', 'Ž', ' ', ' ', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', ' ', 'ž', 'Ÿ',
];

/// The most bytes above ASCII in a row: further ones are another alphabet's.
const LONGEST_RUN: usize = 2;
/// So many ASCII letters there are at least for each byte above ASCII.
const LETTERS_FOR_EACH: usize = 2;

/// The bytes as text, if they clearly are.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    is_clear(bytes).then(|| bytes.iter().map(|byte| character(*byte)).collect())
}

/// The byte of a character, if it has one.
pub(super) fn byte(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7f | 0xa0..=0xff) => u8::try_from(code).ok(),
        _ => {
            let at = HIGH.iter().position(|high| *high == character)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

fn character(byte: u8) -> char {
    match byte {
        0x80..=0x9f => {
            let at = usize::from(byte - 0x80);
            HIGH.get(at).copied().unwrap_or_default()
        }
        other => char::from(other),
    }
}

fn is_clear(bytes: &[u8]) -> bool {
    let (mut letters, mut high, mut run) = (0_usize, 0_usize, 0_usize);
    for (at, &byte) in bytes.iter().enumerate() {
        if byte < 0x80 {
            let blank = matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c');
            if byte.is_ascii_control() && !blank {
                return false;
            }
            letters += usize::from(byte.is_ascii_alphabetic());
            run = 0;
            continue;
        }
        run += 1;
        high += 1;
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let after = bytes.get(at + 1).copied();
        if run > LONGEST_RUN || !fits(before, byte, after) {
            return false;
        }
    }
    high > 0 && letters / LETTERS_FOR_EACH >= high
}

/// Whether a byte above ASCII makes sense between its neighbours.
fn fits(before: Option<u8>, byte: u8, after: Option<u8>) -> bool {
    // Two bytes that are a character of UTF-8: a damaged file of that.
    let continued = after.is_none_or(|next| (0x80..0xc0).contains(&next));
    let is_lead = (0xc2..0xf5).contains(&byte);
    // 0xff is a letter of hardly any word, and of every second binary file.
    if matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d | 0xff) || (is_lead && continued) {
        return false;
    }
    let is_letter =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic() || is_accented(byte));
    let joins = matches!(
        character(byte),
        '’' | '–' | '—' | '…' | '·' | '\u{ad}' | '\u{a0}'
    );
    is_accented(byte) || joins || !(is_letter(before) && is_letter(after))
}

/// Whether it is a letter of a Western European language.
fn is_accented(byte: u8) -> bool {
    matches!(byte, 0x8a | 0x8c | 0x8e | 0x9a | 0x9c | 0x9e | 0x9f)
        || (byte >= 0xc0 && !matches!(byte, 0xd7 | 0xf7))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn western_text_is_told_from_other_encodings() {
        for (bytes, expected) in [
            (&b"caf\xe9 au lait\n"[..], Some("café au lait\n")),
            (
                b"// Gr\xf6\xdfe in \xb5m, \xa9 by the authors\n",
                Some("// Größe in µm, © by the authors\n"),
            ),
            (
                b"it\x92s \x93quoted\x94 \x96 fine",
                Some("it’s “quoted” – fine"),
            ),
            (b"price = 5 \x80;", Some("price = 5 €;")),
            // Too little around it.
            (b"\xe9\n", None),
            (b"a\xe9", None),
            // UTF-8 that was cut or damaged.
            (b"caf\xc3\xa9 caf\xc3 and more words", None),
            // Polish in ISO 8859-2, Russian in KOI8-R, Japanese in Shift JIS, Chinese in GBK.
            (b"d\xb3ugi tekst, kt\xf3ry mo\xbfe by\xe6", None),
            (b"comment: \xd0\xd2\xc9\xd7\xc5\xd4 and more words", None),
            (b"comment: \x93\xfa\x96{\x8c\xea and more words", None),
            (b"comment: \xd6\xd0\xce\xc4 and more words", None),
            // Bytes that are no characters.
            (b"text with \x81 in it", None),
            (b"text with \xe9 and \x07", None),
            (b"plain ascii is nobody's business here", None),
        ] {
            assert_eq!(text(bytes).as_deref(), expected, "{bytes:?}");
        }
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn what_was_read_is_written_back_byte_by_byte(words in prop::collection::vec("[a-z ]{6}[àéîõüçß€–]?", 1..20)) {
            let whole = format!("{} end", words.join(" "));
            let bytes: Option<Vec<u8>> = whole.chars().map(byte).collect();
            let bytes = bytes.unwrap();
            if let Some(read) = text(&bytes) {
                prop_assert_eq!(&read, &whole);
                let back: Option<Vec<u8>> = read.chars().map(byte).collect();
                prop_assert_eq!(back, Some(bytes));
            } else {
                prop_assert!(whole.is_ascii() || whole.chars().filter(char::is_ascii_alphabetic).count() / 2 < whole.chars().filter(|c| !c.is_ascii()).count());
            }
        }

        #[test]
        fn any_text_that_is_read_has_its_own_bytes_again(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(read) = text(&bytes) {
                let back: Option<Vec<u8>> = read.chars().map(byte).collect();
                prop_assert_eq!(back, Some(bytes));
            }
        }
    }
}
