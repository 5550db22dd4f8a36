//! Private keys in PEM blocks.

use super::SecretClass;
use super::cursor::{Cursor, NeedMore};
use super::scan::Secret;
use super::tail::Tail;

pub(super) const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END";

/// A stretch of base64 of this length is key material, not a word.
const KEY_MATERIAL: usize = 16;

/// How much text can stand between the first line of a block and its key material,
/// and how much is taken after the last of it when the block is never closed.
const BETWEEN: usize = 200;

/// At `-----BEGIN `: a block that names a private key and goes on with key material.
/// A line of source code that only mentions such a block is left alone.
pub(super) fn private_key(mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    if !cursor.eat(BEGIN)? {
        return Ok(None);
    }
    let label = cursor.run(48, is_label)?;
    if !label.contains("PRIVATE KEY") || !cursor.eat("-----")? {
        return Ok(None);
    }
    let mut tail = PemTail::default();
    for _ in 0..BETWEEN {
        match cursor.peek()? {
            Some(c) if tail.takes(c) && tail.closing == Closing::No => {
                cursor.run(1, |_| true)?;
            }
            _ => return Ok(None),
        }
        if tail.stretch >= KEY_MATERIAL {
            let (start, end) = (0, cursor.at());
            let tail = Some(Tail::Pem(tail));
            return Ok(Some(Secret {
                start,
                end,
                class: SecretClass::PrivateKey,
                tail,
            }));
        }
    }
    Ok(None)
}

/// The inside of a PEM block up to and with its last line; if there is none, up to a
/// character that no block contains, or [`BETWEEN`] characters after the last key
/// material. Blocks inside string literals, with escaped, commented or numbered lines, count.
///
/// Only lines of base64 belong to a block. It ends at the second word that is too short for
/// key material, because the last line of a key can be one such word, and code has more.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PemTail {
    /// How many characters of base64 have come in a row.
    stretch: usize,
    /// How many characters have come since the last key material.
    idle: usize,
    /// How much of [`END`] has come.
    end: usize,
    closing: Closing,
    word: Word,
    /// A word has come since the last key material that is too short to be some.
    short_word: bool,
    /// Whether the lines before the key material are over.
    material: bool,
    /// Where in a line of the kind `Proc-Type: 4,ENCRYPTED` this is.
    header: Header,
    last: Option<char>,
}

/// What the current run of base64 consists of.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Word {
    #[default]
    None,
    /// Digits: the number of a line.
    Number,
    /// One or two of `+`, `/` and `=`: a mark of a comment or a difference, or an operator.
    Mark(usize),
    Letters,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Header {
    /// At the start of a line.
    #[default]
    Possible,
    /// In what can be its name.
    Name,
    Value,
    No,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Closing {
    #[default]
    No,
    Label,
    Dashes(usize),
    Done,
}

impl PemTail {
    /// Whether `c` still belongs to the block.
    pub(super) fn takes(&mut self, c: char) -> bool {
        match self.closing {
            Closing::No => self.takes_body(c),
            Closing::Label if c == '-' => {
                self.closing = Closing::Dashes(1);
                true
            }
            Closing::Label => is_label(c),
            Closing::Dashes(count) => {
                self.closing = if count < 4 {
                    Closing::Dashes(count + 1)
                } else {
                    Closing::Done
                };
                c == '-'
            }
            Closing::Done => false,
        }
    }

    fn takes_body(&mut self, c: char) -> bool {
        let last = self.last.replace(c);
        // The letter of an escape such as `\n` ends a line and is no part of a word.
        let escape = last == Some('\\') && matches!(c, 'n' | 'r' | 't');
        let ending = self.end;
        self.end = match END.as_bytes().get(ending) {
            Some(&expected) if char::from(expected) == c => ending + 1,
            // More than five dashes: the last five count.
            _ if c == '-' && ending == 5 => 5,
            _ => usize::from(c == '-'),
        };
        if self.end == END.len() {
            self.closing = Closing::Label;
            return true;
        }
        let base64 = !escape && (c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
        self.stretch = if base64 {
            (self.stretch + 1).min(KEY_MATERIAL)
        } else {
            0
        };
        self.idle += 1;
        if self.stretch == KEY_MATERIAL {
            (self.idle, self.material, self.short_word) = (0, true, false);
        }
        self.follow_header(c, escape);
        let in_header = matches!(self.header, Header::Name | Header::Value);
        let fits = if in_header && !self.material {
            self.word = Word::None;
            base64 || c.is_whitespace() || "-,:.\\".contains(c)
        } else if base64 {
            // The letters of `-----END` are no word.
            self.end > 5 || self.takes_letter(c)
        } else {
            // Dashes that close nothing, and three marks, belong to the header of a file.
            let header_of_file =
                (2..5).contains(&ending) && c != '-' || last == Some('*') && c == '*';
            self.end_word();
            !header_of_file && (escape || c.is_whitespace() || "\\\"',:-*#".contains(c))
        };
        fits && self.idle <= BETWEEN
    }

    /// Goes on with a word of base64, if there may be one here.
    fn takes_letter(&mut self, c: char) -> bool {
        self.word = match self.word {
            Word::None | Word::Number if c.is_ascii_digit() => Word::Number,
            Word::None if matches!(c, '+' | '/' | '=') => Word::Mark(1),
            Word::Mark(1) if matches!(c, '+' | '/' | '=') => Word::Mark(2),
            _ => Word::Letters,
        };
        self.word != Word::Letters || !self.short_word
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        self.short_word |= word == Word::Letters && self.idle > 1;
    }

    fn follow_header(&mut self, c: char, escape: bool) {
        let next = match (self.header, c) {
            (_, '\n') => Header::Possible,
            (_, 'n') if escape => Header::Possible,
            (Header::Possible, c) if c.is_ascii_uppercase() => Header::Name,
            // Numbers and marks before the line itself.
            (Header::Possible, c) if !c.is_ascii_alphabetic() => Header::Possible,
            (Header::Name, ':') => Header::Value,
            (Header::Name, c) if c.is_ascii_alphanumeric() || c == '-' => Header::Name,
            (Header::Value, _) => Header::Value,
            _ => Header::No,
        };
        // It was no name, so it was a word.
        let was_word = self.header == Header::Name && matches!(next, Header::No | Header::Possible);
        self.short_word |= was_word && !self.material;
        self.header = next;
    }
}

fn is_label(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' '
}
