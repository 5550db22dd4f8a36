//! The bytes of a page as text.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far into a page its own word about its encoding is looked for.
const DECLARED_WITHIN: usize = 1024;

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// The encoding it was read as.
    pub charset: &'static str,
    /// Whether there were bytes that mean nothing in it.
    pub damaged: bool,
}

/// Reads the bytes of a page. The mark at their start says more than the header, the header
/// more than the page; what nobody says is UTF-8 if it can be, and otherwise what old pages are.
/// Bytes that are not the whole page may end inside a character.
pub fn decode(bytes: &[u8], content_type: Option<&str>, whole: bool) -> Decoded {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding = marked
        .or_else(|| content_type.and_then(of_header))
        .or_else(|| declared(bytes))
        .unwrap_or_else(|| {
            let valid = match std::str::from_utf8(bytes) {
                Ok(_) => true,
                Err(error) => !whole && error.error_len().is_none(),
            };
            if valid { UTF_8 } else { WINDOWS_1252 }
        });
    let (text, used, damaged) = encoding.decode(bytes);
    Decoded {
        text: text.into_owned(),
        charset: used.name(),
        damaged,
    }
}

/// Whether the bytes start with the mark of an encoding.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    Encoding::for_bom(bytes).is_some()
}

/// The encoding that a header names.
fn of_header(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    let label = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("charset");
        named.then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    Encoding::for_label(label.as_bytes())
}

/// The encoding that the page itself names in its first bytes, in a `meta` element or in an
/// XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..DECLARED_WITHIN).unwrap_or(bytes);
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let label = xml_label(&start).or_else(|| meta_label(&start))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // It was read byte by byte, so it is not what it says.
    let wide = encoding == UTF_16LE || encoding == UTF_16BE;
    Some(if wide { UTF_8 } else { encoding })
}

fn xml_label(start: &str) -> Option<&str> {
    let declaration = start.trim_start().strip_prefix("<?xml")?;
    let (declaration, _) = declaration.split_once("?>")?;
    value_after(declaration, "encoding")
}

fn meta_label(start: &str) -> Option<&str> {
    let metas = start.split("<meta").skip(1);
    metas
        .filter_map(|rest| rest.split_once('>'))
        .find_map(|(meta, _)| value_after(meta, "charset"))
}

/// What stands after `name =`, with or without quotes.
fn value_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/'));
    let value = end.map_or(Some(value), |end| value.get(..end))?;
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_encoding_is_what_the_first_of_them_says() {
        let html = Some("text/html");
        for (bytes, header, charset, text) in [
            (&b"caf\xc3\xa9"[..], None, "UTF-8", "café"),
            (b"caf\xe9", None, "windows-1252", "café"),
            (
                b"caf\xe9",
                Some("text/html; charset=ISO-8859-1"),
                "windows-1252",
                "café",
            ),
            (
                b"caf\xc3\xa9",
                Some("text/html;CHARSET=\"utf-8\""),
                "UTF-8",
                "café",
            ),
            (
                b"caf\xe9",
                Some("text/html; charset=nonsense"),
                "windows-1252",
                "café",
            ),
            (
                b"\xef\xbb\xbfcaf\xc3\xa9",
                Some("text/html; charset=latin1"),
                "UTF-8",
                "café",
            ),
            (
                b"\xff\xfeh\0i\0",
                Some("text/html; charset=utf-8"),
                "UTF-16LE",
                "hi",
            ),
            (b"\xfe\xff\0h\0i", html, "UTF-16BE", "hi"),
            (
                b"h\0i\0",
                Some("text/plain; charset=utf-16le"),
                "UTF-16LE",
                "hi",
            ),
            (
                b"<meta charset=koi8-r>\xf0",
                html,
                "KOI8-R",
                "<meta charset=koi8-r>П",
            ),
            (
                b"<META http-equiv=content-type content=\"text/html; charset=windows-1251\">\xcf",
                html,
                "windows-1251",
                "<META http-equiv=content-type content=\"text/html; charset=windows-1251\">П",
            ),
            (
                b"<meta charset=utf-16le>\xc3\xa9",
                html,
                "UTF-8",
                "<meta charset=utf-16le>é",
            ),
            (
                b"<?xml version='1.0' encoding='ISO-8859-2'?>\xb1",
                Some("text/xml"),
                "ISO-8859-2",
                "<?xml version='1.0' encoding='ISO-8859-2'?>ą",
            ),
            (
                b"\x83\x65",
                Some("text/plain; charset=shift_jis"),
                "Shift_JIS",
                "テ",
            ),
            (b"caf\xc3", None, "windows-1252", "cafÃ"),
            (b"", None, "UTF-8", ""),
        ] {
            let decoded = decode(bytes, header, true);
            assert_eq!(
                (decoded.charset, decoded.text.as_str()),
                (charset, text),
                "{header:?}"
            );
        }
        assert!(decode(b"\xff", Some("text/plain; charset=utf-8"), true).damaged);
        assert!(!decode(b"\xff", None, true).damaged);
        assert_eq!(decode(b"caf\xc3", None, false).charset, "UTF-8");
        assert_eq!(decode(b"caf\xc3!", None, false).charset, "windows-1252");
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn a_text_in_an_encoding_that_is_said_comes_back(text in "[ -~äöüßéПриветテスト]{0,60}", which in 0_usize..3) {
            let label = ["utf-8", "gb18030", "iso-2022-jp"][which];
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let (bytes, _, lossy) = encoding.encode(&text);
            prop_assume!(!lossy && !is_marked(&bytes));
            let decoded = decode(&bytes, Some(&format!("text/plain; charset={label}")), true);
            prop_assert_eq!(decoded.text, text);
        }

        #[test]
        fn any_bytes_are_some_text(bytes in prop::collection::vec(any::<u8>(), 0..200), header in "[ -~]{0,40}") {
            decode(&bytes, Some(&header), true);
        }
    }
}
