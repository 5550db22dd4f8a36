//! Which characters are dangerous, and where.

pub(super) use toolgate_model::characters::{is_foreign_line_end, is_removed};
use toolgate_model::characters::{is_invisible, is_odd_blank};

/// Whether output changes where a character with this first byte stands, as far as
/// the first byte can tell. Without branches, so that many bytes are tested at once.
#[inline(always)]
pub(super) fn may_start_change(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\n') & (byte != b'\t'))
        | (byte == 0x7f)
        | (byte == 0xc2) // U+0080 to U+00BF
        | (byte == 0xcd) // U+034F
        | (byte == 0xd8) // U+061C
        | (byte == 0xe1) // U+115F, U+17B4, U+180E
        | (byte == 0xe2) // U+2000 to U+2FFF
        | (byte == 0xe3) // U+3164
        | (byte == 0xef) // U+FEFF, U+FFFx
        | (byte == 0xf0) // U+1BCAx, U+1D17x
        | (byte == 0xf3) // U+E0000
}

/// A character that a person would not see for what it is: everything that output
/// removes, and also joiners, selectors, blanks that are not the plain one, fillers,
/// private characters and code points that are no characters.
pub(super) fn is_unclear(c: char) -> bool {
    is_removed(c)
        || is_invisible(c)
        || is_odd_blank(c)
        || is_foreign_line_end(c)
        || matches!(c,
            '\n' | '\t' | '\u{70f}' | '\u{13430}'..='\u{1343f}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..='\u{10ffff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// How many bytes at the start do not `stop`. Looks at whole blocks first, which
/// the compiler turns into vector instructions.
#[inline(always)]
pub(super) fn run_len(bytes: &[u8], stop: impl Fn(u8) -> bool + Copy) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let clean = blocks
        .iter()
        .take_while(|block| block.iter().fold(0, |hit, &b| hit | u8::from(stop(b))) == 0)
        .count();
    let at = clean * BLOCK;
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&b| stop(b)).unwrap_or(rest.len())
}

const BLOCK: usize = 16;

/// `text` cut in two at a byte offset that is known to be a character boundary.
pub(super) fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_announces_every_character_that_changes() {
        let mut bytes = [0; 4];
        for c in '\0'..=char::MAX {
            if is_removed(c) || is_foreign_line_end(c) {
                let first = c.encode_utf8(&mut bytes).as_bytes()[0];
                assert!(may_start_change(first), "{c:?}");
            }
        }
    }

    #[test]
    fn a_run_ends_at_the_first_stop_wherever_it_stands() {
        for len in 0..100 {
            let mut bytes = vec![b'a'; len];
            assert_eq!(run_len(&bytes, may_start_change), len);
            for stop in 0..len {
                bytes[stop] = 7;
                assert_eq!(run_len(&bytes, may_start_change), stop);
                bytes[stop] = b'a';
            }
        }
    }

    #[test]
    fn what_output_removes_is_shown_in_a_question() {
        for c in '\0'..=char::MAX {
            assert!(!is_removed(c) || is_unclear(c), "{c:?}");
        }
    }
}
