//! Bytes of a file as text, and back.

mod western;

use std::borrow::Cow;

use toolgate_model::ToolError;

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
    /// One byte per character, Western European.
    Windows1252,
}

/// A character that an encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unencodable {
    pub(crate) character: char,
    /// Its line of the text, counted from 1.
    pub(crate) line: u64,
    pub(crate) encoding: Encoding,
}

impl std::fmt::Display for Unencodable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            character,
            line,
            encoding,
        } = self;
        let shown = crate::place::one_line(&character.to_string());
        write!(
            f,
            "the file is {}, which has no `{shown}` (U+{:04X}, line {line} of the new text). \
             Use characters of that encoding, or delete the file first and write it anew as UTF-8",
            encoding.name(),
            u32::from(*character)
        )
    }
}

impl Unencodable {
    /// The error of a call that would write it.
    pub(crate) fn in_file(&self, path: &str) -> ToolError {
        ToolError::bad_args(format!("{path}: {self}."))
    }
}

impl Encoding {
    /// Its name in metadata.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Marked => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// A text as the bytes of a file.
    pub(crate) fn encode(self, text: String) -> Result<Vec<u8>, Unencodable> {
        let units = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            let mut out = mark.to_vec();
            out.extend(text.encode_utf16().flat_map(bytes));
            out
        };
        Ok(match self {
            Self::Utf8 => text.into_bytes(),
            Self::Utf8Marked => [UTF8_MARK, text.as_bytes()].concat(),
            Self::Utf16Le => units(UTF16_LE_MARK, u16::to_le_bytes),
            Self::Utf16Be => units(UTF16_BE_MARK, u16::to_be_bytes),
            Self::Windows1252 => {
                let mut line = 1;
                let mut out = Vec::with_capacity(text.len());
                for character in text.chars() {
                    out.push(western::byte(character).ok_or(Unencodable {
                        character,
                        line,
                        encoding: self,
                    })?);
                    line += u64::from(character == '\n');
                }
                out
            }
        })
    }
}

/// Text with the encoding it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// Reads bytes as text; `None` if they are binary, or in an encoding that is not clear.
///
/// Bytes that are not the whole file may end inside a character, which is left out.
/// A NUL among the first bytes makes them binary; further down it is a character
/// like any other, because nobody looked there before deciding.
pub(crate) fn decode(bytes: Vec<u8>, whole: bool) -> Option<Decoded> {
    if bytes.starts_with(UTF8_MARK) || is_utf16(&bytes) {
        return read(&bytes, whole).map(|(text, encoding)| Decoded {
            text: text.into_owned(),
            encoding,
        });
    }
    let (text, encoding) = match from_utf8(bytes, whole) {
        Ok(text) => (text, Encoding::Utf8),
        Err(bytes) => (western::text(&bytes)?, Encoding::Windows1252),
    };
    starts_without_nul(&text).then_some(Decoded { text, encoding })
}

/// The same without a copy where the bytes are text already.
pub(crate) fn read(bytes: &[u8], whole: bool) -> Option<(Cow<'_, str>, Encoding)> {
    let (text, encoding) = if let Some(rest) = bytes.strip_prefix(UTF8_MARK) {
        (utf8(rest, whole)?.into(), Encoding::Utf8Marked)
    } else if bytes.starts_with(UTF16_LE_MARK) {
        let text = from_utf16(bytes, u16::from_le_bytes, whole)?;
        (text.into(), Encoding::Utf16Le)
    } else if bytes.starts_with(UTF16_BE_MARK) {
        let text = from_utf16(bytes, u16::from_be_bytes, whole)?;
        (text.into(), Encoding::Utf16Be)
    } else if let Some(text) = utf8(bytes, whole) {
        (Cow::Borrowed(text), Encoding::Utf8)
    } else {
        (western::text(bytes)?.into(), Encoding::Windows1252)
    };
    starts_without_nul(&text).then_some((text, encoding))
}

/// The text of a whole file; `None` if it is binary.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    read(bytes, true).map(|(text, _)| text)
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(UTF16_LE_MARK) || bytes.starts_with(UTF16_BE_MARK)
}

fn starts_without_nul(text: &str) -> bool {
    let sniffed = usize::try_from(SNIFF_BYTES).unwrap_or(usize::MAX);
    let start = text.as_bytes().get(..sniffed).unwrap_or(text.as_bytes());
    memchr::memchr(0, start).is_none()
}

/// Whether the first bytes of a file are text, as far as they show it.
pub(crate) fn looks_like_text(start: &[u8], whole: bool) -> bool {
    read(start, whole).is_some()
}

fn utf8(bytes: &[u8], whole: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(fault) if whole || fault.error_len().is_some() => None,
        Err(fault) => std::str::from_utf8(bytes.get(..fault.valid_up_to())?).ok(),
    }
}

/// The bytes again if they are something else.
fn from_utf8(mut bytes: Vec<u8>, whole: bool) -> Result<String, Vec<u8>> {
    match utf8(&bytes, whole).map(str::len) {
        Some(length) => {
            bytes.truncate(length);
            String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
        }
        None => Err(bytes),
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
            (b"caf\xe9 au lait", false, true),
            (b"caf\xe9 au lait", true, true),
            (b"\xe9\xe8\xe0", true, false),
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
                let back = decode(encoding.encode(text.clone()).unwrap(), true);
                prop_assert_eq!(back, Some(Decoded { text: text.clone(), encoding }));
                let encoded = encoding.encode(text.clone()).unwrap();
                let read = text_of(&encoded);
                prop_assert_eq!(read.as_deref(), Some(text.as_str()));
            }
        }

        #[test]
        fn a_cut_text_is_the_start_of_the_whole(text in "[^\0]{1,20}", cut in 0_usize..40) {
            for encoding in [Encoding::Utf8Marked, Encoding::Utf16Le, Encoding::Utf16Be] {
                let mut bytes = encoding.encode(text.clone()).unwrap();
                bytes.truncate(cut.max(3));
                let part = decode(bytes, false).unwrap();
                prop_assert!(text.starts_with(&part.text));
            }
        }
    }
}
