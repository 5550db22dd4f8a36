//! Bytes of a file as text, and back.

use std::borrow::Cow;

/// How much of a file is looked at to tell text from other content.
pub(crate) const SNIFF_BYTES: u64 = 8 * 1024;

const UTF8_MARK: &[u8] = &[0xef, 0xbb, 0xbf];
const UTF16_LE_MARK: &[u8] = &[0xff, 0xfe];
const UTF16_BE_MARK: &[u8] = &[0xfe, 0xff];

/// How a text stands in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    /// UTF-8 with a byte order mark, which is no part of the text.
    Utf8Marked,
    /// UTF-16, little endian, with its mark.
    Utf16Le,
    /// UTF-16, big endian, with its mark.
    Utf16Be,
}

impl Encoding {
    /// The encoding that the first bytes announce.
    pub(crate) fn announced(bytes: &[u8]) -> Self {
        if bytes.starts_with(UTF8_MARK) {
            Self::Utf8Marked
        } else if bytes.starts_with(UTF16_LE_MARK) {
            Self::Utf16Le
        } else if bytes.starts_with(UTF16_BE_MARK) {
            Self::Utf16Be
        } else {
            Self::Utf8
        }
    }

    /// Its name in metadata.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Marked => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    /// A text as the bytes of a file.
    pub(crate) fn encode(self, text: String) -> Vec<u8> {
        let units = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            let mut out = mark.to_vec();
            out.extend(text.encode_utf16().flat_map(bytes));
            out
        };
        match self {
            Self::Utf8 => text.into_bytes(),
            Self::Utf8Marked => [UTF8_MARK, text.as_bytes()].concat(),
            Self::Utf16Le => units(UTF16_LE_MARK, u16::to_le_bytes),
            Self::Utf16Be => units(UTF16_BE_MARK, u16::to_be_bytes),
        }
    }
}

/// Text with the encoding it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// Reads bytes as text; `None` if they are binary.
///
/// Bytes that are not the whole file may end inside a character, which is left out.
/// A NUL among the first bytes makes them binary; further down it is a character
/// like any other, because nobody looked there before deciding.
pub(crate) fn decode(bytes: Vec<u8>, whole: bool) -> Option<Decoded> {
    let encoding = Encoding::announced(&bytes);
    let text = match encoding {
        Encoding::Utf8 => from_utf8(bytes, whole)?,
        Encoding::Utf8Marked => {
            let after = bytes.get(UTF8_MARK.len()..).unwrap_or_default();
            from_utf8(after.to_vec(), whole)?
        }
        Encoding::Utf16Le => from_utf16(&bytes, u16::from_le_bytes, whole)?,
        Encoding::Utf16Be => from_utf16(&bytes, u16::from_be_bytes, whole)?,
    };
    starts_without_nul(&text).then_some(Decoded { text, encoding })
}

/// Reads the bytes of a whole file as text, without a copy where they are text already;
/// `None` if they are binary.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    match Encoding::announced(bytes) {
        Encoding::Utf16Le | Encoding::Utf16Be => {
            decode(bytes.to_vec(), true).map(|decoded| Cow::Owned(decoded.text))
        }
        Encoding::Utf8 | Encoding::Utf8Marked => {
            let text = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
            let text = std::str::from_utf8(text).ok()?;
            starts_without_nul(text).then_some(Cow::Borrowed(text))
        }
    }
}

fn starts_without_nul(text: &str) -> bool {
    let sniffed = usize::try_from(SNIFF_BYTES).unwrap_or(usize::MAX);
    let start = text.as_bytes().get(..sniffed).unwrap_or(text.as_bytes());
    memchr::memchr(0, start).is_none()
}

/// Whether the first bytes of a file are text, as far as they show it.
pub(crate) fn looks_like_text(start: &[u8], whole: bool) -> bool {
    decode(start.to_vec(), whole).is_some()
}

fn from_utf8(bytes: Vec<u8>, whole: bool) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let fault = error.utf8_error();
            if whole || fault.error_len().is_some() {
                return None;
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(fault.valid_up_to());
            String::from_utf8(bytes).ok()
        }
    }
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, whole: bool) -> Option<String> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    if whole && !odd.is_empty() {
        return None;
    }
    let mut units: Vec<u16> = pairs.iter().skip(1).map(|pair| unit(*pair)).collect();
    let half = |unit: &u16| (0xd800..0xdc00).contains(unit);
    if !whole && units.last().is_some_and(half) {
        units.pop();
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_text_is_told_apart() {
        for (bytes, whole, text) in [
            (&b""[..], true, true),
            (b"plain", true, true),
            (b"a\0b", true, false),
            (b"caf\xc3\xa9", true, true),
            (b"caf\xc3", true, false),
            (b"caf\xc3", false, true),
            (b"caf\xe9 au lait", false, false),
            (b"\xff\xfea\0b\0", true, true),
            (b"\xff\xfea\0b", true, false),
            (b"\xff\xfea\0b", false, true),
            (b"\xff\xfe\0\xd8", true, false),
            (b"\xff\xfe\0\xd8", false, true),
            (b"\xff\xfe\0\0", true, false),
        ] {
            assert_eq!(looks_like_text(bytes, whole), text, "{bytes:?} {whole}");
            if whole {
                assert_eq!(text_of(bytes).is_some(), text, "{bytes:?}");
            }
        }
    }

    #[test]
    fn a_nul_far_down_is_a_character() {
        let mut bytes = vec![b'x'; 9000];
        bytes.push(0);
        assert!(decode(bytes, true).is_some());
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn every_encoding_gives_back_its_text(text in "[^\0\u{feff}]{0,40}") {
            for encoding in [Encoding::Utf8, Encoding::Utf8Marked, Encoding::Utf16Le, Encoding::Utf16Be] {
                let back = decode(encoding.encode(text.clone()), true);
                prop_assert_eq!(back, Some(Decoded { text: text.clone(), encoding }));
                let encoded = encoding.encode(text.clone());
                let read = text_of(&encoded);
                prop_assert_eq!(read.as_deref(), Some(text.as_str()));
            }
        }

        #[test]
        fn a_cut_text_is_the_start_of_the_whole(text in "[^\0]{1,20}", cut in 0_usize..40) {
            for encoding in [Encoding::Utf8Marked, Encoding::Utf16Le, Encoding::Utf16Be] {
                let mut bytes = encoding.encode(text.clone());
                bytes.truncate(cut.max(3));
                let part = decode(bytes, false).unwrap();
                prop_assert!(text.starts_with(&part.text));
            }
        }
    }
}
