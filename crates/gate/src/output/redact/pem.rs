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
/// material. Blocks inside string literals, with escaped or numbered lines, count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PemTail {
    /// How many characters of base64 have come in a row.
    stretch: usize,
    /// How many characters have come since the last key material.
    idle: usize,
    /// How much of [`END`] has come.
    end: usize,
    closing: Closing,
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
        let base64 = c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        self.stretch = if base64 {
            (self.stretch + 1).min(KEY_MATERIAL)
        } else {
            0
        };
        self.idle = if self.stretch == KEY_MATERIAL {
            0
        } else {
            self.idle + 1
        };
        self.end = match END.as_bytes().get(self.end) {
            Some(&expected) if char::from(expected) == c => self.end + 1,
            // More than five dashes: the last five count.
            _ if c == '-' && self.end == 5 => 5,
            _ => usize::from(c == '-'),
        };
        if self.end == END.len() {
            self.closing = Closing::Label;
        }
        self.idle <= BETWEEN && (base64 || c.is_whitespace() || "\\\"',:-.()|>*#".contains(c))
    }
}

fn is_label(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' '
}
