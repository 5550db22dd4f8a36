//! `name=value`, `name[index]=value`, `name=(…)`.

use super::{Parsed, Parser};
use crate::syntax::{Assignment, Part, SyntaxError, Word};

/// Commands whose words may be assignments, arrays included.
pub(crate) const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

/// Whether a word names a command whose words may be assignments.
pub(super) fn declares(word: &Word) -> bool {
    DECLARING.contains(&word.raw.trim_start_matches('\\'))
}

impl Parser<'_> {
    /// The word `name=(…)` behind a command that declares: one word, in which everything is
    /// expanded and which is never taken for known.
    pub(super) fn declared_array(&mut self, declares: bool) -> Parsed<Option<Word>> {
        if !declares || !self.at_array() {
            return Ok(None);
        }
        let start = self.position;
        let Some(assignment) = self.assignment()? else {
            return Ok(None);
        };
        let raw = self.slice(start, self.position).to_owned();
        let mut parts = vec![Part::Text(format!("{}=", assignment.name))];
        for word in assignment.values {
            parts.extend(word.parts);
            parts.push(Part::Quoted(" ".to_owned()));
        }
        parts.push(Part::Odd(raw.clone()));
        Ok(Some(Word { parts, raw }))
    }

    /// Whether `name=(` or `name+=(` stands at the cursor.
    fn at_array(&self) -> bool {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let behind = rest.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
        behind.len() < rest.len() && (behind.starts_with("=(") || behind.starts_with("+=("))
    }

    /// The assignment at the cursor, if there is one.
    pub(super) fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        let start = self.position;
        let mut end = start;
        while let Some(&byte) = self.bytes.get(end) {
            let fits = byte == b'_' || byte.is_ascii_alphabetic();
            if !(fits || (end > start && byte.is_ascii_digit())) {
                break;
            }
            end += 1;
        }
        if end == start {
            return Ok(None);
        }
        let name = self.slice(start, end).to_owned();
        let mut subscript = None;
        if self.bytes.get(end) == Some(&b'[') {
            match self.subscript(end + 1)? {
                Some((word, behind)) => {
                    subscript = Some(word);
                    end = behind;
                }
                None => return Ok(None),
            }
        }
        let append = self.bytes.get(end) == Some(&b'+');
        if append {
            end += 1;
        }
        if self.bytes.get(end) != Some(&b'=') {
            return Ok(None);
        }
        self.position = end + 1;
        if self.peek() == Some(b'(') {
            let values = self.array_values()?;
            return Ok(Some(Assignment {
                name,
                append,
                array: true,
                subscript,
                values,
            }));
        }
        let value = self.word_or_nothing()?;
        Ok(Some(Assignment {
            name,
            append,
            array: subscript.is_some(),
            subscript,
            values: vec![value],
        }))
    }

    /// What stands between the brackets of `name[…]=`, and where that ends.
    ///
    /// A shell reads it as one piece, blanks and `#` included, because it is
    /// arithmetic. So it is read as one piece here, and is odd where others do not.
    fn subscript(&mut self, from: usize) -> Parsed<Option<(Word, usize)>> {
        let start = self.position;
        self.position = from;
        let mut word = self.bracket_operand()?;
        let end = self.position;
        let closed = self.peek() == Some(b']');
        self.position = start;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-!^.*?".contains(&byte);
        let is_plain = word.raw.bytes().all(plain);
        let behind = self.bytes.get(end + 1).copied();
        let assigns = behind == Some(b'=') || behind == Some(b'+');
        match (closed, is_plain, assigns) {
            (true, _, true) => {
                // Some shells end the word here.
                if word.raw.contains(|c: char| c.is_whitespace() || c == '#') {
                    word.parts.push(Part::Odd(word.raw.clone()));
                }
                Ok(Some((word, end + 1)))
            }
            // A pattern in place of a name.
            (_, true, false) => Ok(None),
            _ => Err(self.unexpected()),
        }
    }

    fn array_values(&mut self) -> Parsed<Vec<Word>> {
        let opened = self.position;
        self.advance(1);
        let mut values = Vec::new();
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None => {
                    return Err(SyntaxError::Unclosed {
                        what: "array",
                        at: opened,
                    });
                }
                Some(b')') => {
                    self.advance(1);
                    // What touches the bracket belongs to the same word, even a `#`.
                    return match self.peek() {
                        None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => Ok(values),
                        Some(_) => Err(self.unexpected()),
                    };
                }
                Some(_) => values.push(self.word()?),
            }
        }
    }
}
