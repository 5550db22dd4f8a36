//! Paths in quotes, as the formats write them.

/// Reads up to the closing quote, with `\"` and `\\` as the only escapes.
pub(super) fn read_simple(text: &str) -> Result<(String, &str), &'static str> {
    let mut path = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((path, text.get(at + 1..).unwrap_or_default())),
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\'))) => path.push(escaped),
                _ => return Err("Invalid escape in quoted path: there are \\\" and \\\\"),
            },
            '\r' => return Err("Bare CR in a quoted path"),
            other => path.push(other),
        }
    }
    Err("Unterminated quoted path")
}

/// A path in quotes.
pub(super) fn simple(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Reads up to the closing quote, with the escapes of C, as git writes them.
pub(super) fn read_c(text: &str) -> Result<(String, &str), &'static str> {
    let mut path: Vec<u8> = Vec::new();
    let mut rest = text.as_bytes();
    loop {
        let (&byte, after) = rest.split_first().ok_or("Unterminated quoted path")?;
        rest = after;
        match byte {
            b'"' => break,
            b'\\' => {
                let (&escape, after) = rest.split_first().ok_or("Unterminated quoted path")?;
                rest = after;
                path.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let (digits, after) = after.split_at_checked(2).ok_or(OCTAL)?;
                        rest = after;
                        let digits = std::str::from_utf8(digits).map_err(|_| OCTAL)?;
                        let low = u8::from_str_radix(digits, 8).map_err(|_| OCTAL)?;
                        (escape - b'0') * 64 + low
                    }
                    _ => return Err("Invalid escape in quoted path"),
                });
            }
            other => path.push(other),
        }
    }
    let left = text.get(text.len() - rest.len()..).unwrap_or_default();
    let path = String::from_utf8(path).map_err(|_| "The quoted path is not UTF-8")?;
    Ok((path, left))
}

const OCTAL: &str = "Invalid escape in quoted path: a byte has three octal digits";

/// A path in quotes with the escapes of C.
pub(super) fn c(path: &str) -> String {
    let mut out = String::from("\"");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            // Every other control character is one byte.
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a path has to be in quotes to be read again as it is.
pub(super) fn needs_c(path: &str) -> bool {
    path.starts_with([' ', '"'])
        || path.ends_with(' ')
        || path.contains(|c: char| c.is_ascii_control() || c == '\\' || c == '"')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn octal_bytes_are_characters_again() {
        assert_eq!(
            read_c("na\\303\\257ve\\tx\" b"),
            Ok(("naïve\tx".to_owned(), " b"))
        );
        for bad in ["abc", "a\\", "\\303\"", "\\4\"", "\\09\"", "\\x\""] {
            assert!(read_c(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn what_is_quoted_can_be_read(path in "[^\r\n]{0,12}", any in any::<String>()) {
            let quoted = simple(&path);
            prop_assert_eq!(read_simple(quoted.strip_prefix('"').unwrap()), Ok((path, "")));
            let quoted = c(&any);
            prop_assert_eq!(read_c(quoted.strip_prefix('"').unwrap()), Ok((any, "")));
        }
    }
}
