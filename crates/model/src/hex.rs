//! Bytes in hexadecimal: two digits for each.
//!
//! ```
//! use toolgate_model::hex;
//!
//! assert_eq!(hex::encode(b"\x00\xfe"), "00fe");
//! assert_eq!(hex::decode("00FE"), Some(vec![0, 0xfe]));
//! assert_eq!(hex::decode("0"), None);
//! ```

/// `bytes` in lower case.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(bytes.iter().flat_map(digits).flatten());
    text
}

/// The bytes of a text of either case; `None` where it is not hexadecimal.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        let digit = char::from(byte).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_texts_are_no_bytes() {
        for text in ["0", "0g", "+f", "0x00", " 00", "\u{e4}", "00\u{e4}\u{e4}f"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn encoded_bytes_are_decoded_in_either_case(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = encode(&bytes);
            let expected: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(&text, &expected);
            prop_assert_eq!(decode(&text.to_uppercase()), Some(bytes.clone()));
            prop_assert_eq!(decode(&text), Some(bytes));
        }
    }
}
