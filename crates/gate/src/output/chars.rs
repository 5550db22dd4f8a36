//! Which characters are dangerous, and where.

pub(super) use toolgate_model::characters::clear;
pub(super) use toolgate_model::characters::{is_foreign_line_end, is_removed};
use toolgate_model::characters::{is_graphic, is_mark, is_right_to_left};

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

/// A character that an approver would not see for what it is, wherever it stands: everything
/// that is not known to be drawn, and line ends and tabs.
pub(super) fn is_unclear(c: char) -> bool {
    !is_graphic(c)
}

/// A character that is written out in some place: one that is unclear, a mark without a letter,
/// or one that is written from right to left among others.
pub(super) fn may_be_unclear(c: char) -> bool {
    is_unclear(c) || is_right_to_left(c) || is_mark(c)
}

/// Where a text of lines has characters that are written out. Line ends and tabs stay.
pub(super) struct Unseen {
    length: usize,
    places: Vec<usize>,
}

impl Unseen {
    pub(super) fn of(text: &str) -> Self {
        let (mut places, mut at) = (Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            for (c, is_clear) in clear(line) {
                if !is_clear && c != '\n' && c != '\t' {
                    places.push(at);
                }
                at += c.len_utf8();
            }
        }
        Self { length: at, places }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the first character of the rest of the text is one.
    pub(super) fn starts(&self, rest: &str) -> bool {
        let at = self.length.saturating_sub(rest.len());
        self.places.binary_search(&at).is_ok()
    }
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
