//! Base64 (RFC 4648, standard alphabet, with padding).

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};

/// Why a text is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Base64Error {
    /// The length is not a multiple of four.
    #[error("its length {length} is not a multiple of 4")]
    Length {
        /// How many bytes the text has.
        length: usize,
    },
    /// A byte is not in the alphabet, or padding stands before the end.
    #[error("byte {at} is not base64")]
    Letter {
        /// Its place, counted from 0.
        at: usize,
    },
    /// Bits after the last byte are set: the same bytes would have two spellings.
    #[error("bits after the last byte are set")]
    Trailing,
}

/// How many bytes fit into so many characters of base64.
#[must_use]
pub const fn fits(characters: usize) -> usize {
    characters / 4 * 3
}

/// How many characters so many bytes have as base64.
#[must_use]
pub const fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

/// How many bytes a base64 text stands for. The text is not checked.
#[must_use]
pub fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=');
    fits(text.len()).saturating_sub(padding.count())
}

/// Appends `bytes` as base64 to `out`.
pub fn encode_into(bytes: &[u8], out: &mut String) {
    STANDARD.encode_string(bytes, out);
}

/// `bytes` as base64.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a base64 text.
///
/// # Errors
/// The text is not base64 with padding, in the one spelling that [`encode`] writes.
pub fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    let length = text.len();
    if !length.is_multiple_of(4) {
        return Err(Base64Error::Length { length });
    }
    STANDARD.decode(text).map_err(|error| match error {
        DecodeError::InvalidByte(at, _) => Base64Error::Letter { at },
        DecodeError::InvalidLastSymbol { .. } => Base64Error::Trailing,
        _ => Base64Error::Length { length },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
            assert_eq!(decoded_len(text), bytes.len());
            assert_eq!(encoded_len(bytes.len()), text.len());
            assert!(fits(text.len()) >= bytes.len());
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn other_texts_are_errors() {
        for (text, error) in [
            ("Z", Base64Error::Length { length: 1 }),
            ("Zm9v\n", Base64Error::Length { length: 5 }),
            ("Zg=a", Base64Error::Letter { at: 2 }),
            ("Z===", Base64Error::Letter { at: 1 }),
            ("====", Base64Error::Letter { at: 0 }),
            ("Zg==Zg==", Base64Error::Letter { at: 2 }),
            ("Zm9-", Base64Error::Letter { at: 3 }),
            ("Zm\n9", Base64Error::Letter { at: 2 }),
            ("ü9v", Base64Error::Letter { at: 0 }),
            ("Zh==", Base64Error::Trailing),
            ("Zm9=", Base64Error::Trailing),
        ] {
            assert_eq!(decode(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn decoding_reverses_encoding(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn every_accepted_text_is_the_one_spelling(text in "[A-Za-z0-9+/=\n]{0,12}") {
            if let Ok(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
