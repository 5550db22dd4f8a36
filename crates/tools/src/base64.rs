//! Base64 (RFC 4648, with padding), encoding only.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How many bytes fit into so many characters of base64.
pub(crate) const fn fits(characters: usize) -> usize {
    characters / 4 * 3
}

/// Appends `bytes` to `out`.
pub(crate) fn encode(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let sextet = usize::try_from(bits >> (18 - 6 * place) & 0x3f).unwrap_or(0);
            let letter = ALPHABET.get(sextet).copied().unwrap_or(b'=');
            let padding = place > group.len();
            out.push(char::from(if padding { b'=' } else { letter }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = String::new();
            encode(bytes.as_bytes(), &mut out);
            assert_eq!(out, text);
            assert!(fits(text.len()) >= bytes.len());
        }
        let mut out = String::new();
        encode(&[0xfb, 0xff, 0xfe], &mut out);
        assert_eq!(out, "+//+");
    }
}
