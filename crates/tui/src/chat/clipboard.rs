//! Texts for the clipboard of the terminal (OSC 52).

/// Terminals take no more bytes of Base64 than this.
const MOST: usize = 100_000;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The sequence that copies a text, and whether all of it is in it.
pub(super) fn sequence(text: &str, is_in_tmux: bool) -> (String, bool) {
    let end = text.floor_char_boundary(MOST / 4 * 3);
    let kept = text.get(..end).unwrap_or_default();
    let osc = format!("\u{1b}]52;c;{}\u{7}", base64(kept.as_bytes()));
    let sequence = match is_in_tmux {
        true => format!("\u{1b}Ptmux;\u{1b}{osc}\u{1b}\\"),
        false => osc,
    };
    (sequence, end == text.len())
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            let is_there = place <= group.len();
            let digit = DIGITS.get(digit).filter(|_| is_there);
            out.push(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_base64_and_bounded() {
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("ä\u{1b}", "w6Qb"),
        ] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(sequence("foo", false).0, "\u{1b}]52;c;Zm9v\u{7}");
        let (long, is_whole) = sequence(&"ä".repeat(100_000), true);
        assert!(!is_whole && long.len() < MOST + 32);
        assert!(long.starts_with("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;"));
        assert!(long.ends_with("\u{7}\u{1b}\\"));
    }
}
