//! `$'…'`: the escapes of ANSI C, decoded.

use super::{Parsed, Parser};
use crate::syntax::SyntaxError;

impl Parser<'_> {
    /// Reads behind `$'` up to the closing quote, which is looked for first: no
    /// escape reaches over it.
    ///
    /// Escapes make bytes; bytes that are no text are replaced by a character
    /// that no path has, so that they can never be taken for something else.
    /// The second value says whether the text is only a guess: it depends on the
    /// locale, or on an escape that is not followed.
    pub(super) fn ansi_quoted(&mut self, opened: usize) -> Parsed<(String, bool)> {
        let start = self.position;
        let mut end = start;
        loop {
            match self.bytes.get(end) {
                None => {
                    return Err(SyntaxError::Unclosed {
                        what: "quote",
                        at: opened,
                    });
                }
                Some(b'\'') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let written = self.slice(start, end);
        let mut inside = Parser::new(written, self.depth);
        let mut out = Vec::new();
        let mut sure = true;
        while let Some(character) = inside.take_char() {
            match character {
                '\\' => sure &= inside.escape(&mut out),
                other => push_char(&mut out, other),
            }
        }
        // A zero byte ends the string for the shell.
        if let Some(end) = out.iter().position(|byte| *byte == 0) {
            out.truncate(end);
        }
        let named = written.contains("\\u") || written.contains("\\U");
        let local = named && !out.is_ascii();
        self.position = end;
        self.advance(1);
        Ok((String::from_utf8_lossy(&out).into_owned(), local || !sure))
    }

    /// Decodes one escape; the answer is whether every shell decodes it like that.
    fn escape(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(letter) = self.take_char() else {
            out.push(b'\\');
            return false;
        };
        match letter {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '\\' | '\'' | '"' | '?' => push_char(out, letter),
            '0'..='7' => {
                self.position -= 1;
                let value = self.digits(8, 3).unwrap_or(0);
                out.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
            }
            // Some shells take any number of digits between the braces.
            'x' if self.peek() == Some(b'{') => {
                out.extend_from_slice(b"\\x");
                return false;
            }
            'x' => match self.digits(16, 2) {
                Some(value) => out.push(u8::try_from(value & 0xff).unwrap_or(b'?')),
                None => out.extend_from_slice(b"\\x"),
            },
            'u' | 'U' => {
                let length = if letter == 'u' { 4 } else { 8 };
                match self.digits(16, length) {
                    Some(value) => push_char(out, char::from_u32(value).unwrap_or('\u{fffd}')),
                    None => {
                        out.push(b'\\');
                        push_char(out, letter);
                    }
                }
            }
            'c' => {
                let control = self.take_char().and_then(|c| u8::try_from(c).ok());
                out.push(control.map_or(b'?', |byte| byte & 0x1f));
                return false;
            }
            other => {
                out.push(b'\\');
                push_char(out, other);
            }
        }
        true
    }

    /// Up to `most` digits of this base, or nothing if there is none.
    fn digits(&mut self, base: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(base)) else {
                break;
            };
            value = Some(value.unwrap_or(0u32).wrapping_mul(base).wrapping_add(digit));
            self.advance(1);
        }
        value
    }
}

fn push_char(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
