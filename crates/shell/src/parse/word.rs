//! Words and quotes.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::syntax::{Operation, Part, SyntaxError, Word};

/// Where a word ends, and how its quotes work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// An ordinary word: ends at a blank or an operator.
    Command,
    /// Behind `=~`: brackets and bars belong to the word.
    Regex,
    /// The word of a `${…}` operator: ends at the closing brace, or where `stop` stands.
    Operand { stop: Option<u8>, quoted: bool },
}

/// Collects parts; neighbouring text becomes one part.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) list: Vec<Part>,
}

impl Parts {
    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Part::Text(last)) = self.list.last_mut() {
            last.push_str(text);
        } else {
            self.list.push(Part::Text(text.to_owned()));
        }
    }

    /// Quotes around `"$@"` alone make no word where there is none.
    fn drop_empty_around_list(&mut self, from: usize) {
        let lists = |part: &Part| {
            matches!(part, Part::Parameter(parameter)
                if matches!(parameter.operation, Operation::Plain)
                    && (parameter.name == "@"
                        || parameter.subscript.as_ref().is_some_and(|word| word.raw == "@")))
        };
        let empty = |part: &Part| matches!(part, Part::Quoted(text) if text.is_empty());
        let added = self.list.get(from..).unwrap_or_default();
        if added.iter().any(lists) && added.iter().all(|part| lists(part) || empty(part)) {
            let mut at = 0;
            self.list.retain(|part| {
                at += 1;
                at <= from || !empty(part)
            });
        }
    }

    /// Empty quotes count: they make an empty word.
    pub(super) fn quoted(&mut self, text: &str) {
        if let Some(Part::Quoted(last)) = self.list.last_mut() {
            last.push_str(text);
        } else {
            self.list.push(Part::Quoted(text.to_owned()));
        }
    }

    pub(super) fn literal(&mut self, text: &str, quoted: bool) {
        if quoted {
            self.quoted(text)
        } else {
            self.text(text)
        }
    }

    pub(super) fn push(&mut self, part: Part) {
        self.list.push(part);
    }
}

impl Parser<'_> {
    /// One word, which has to be there.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let start = self.position;
        let word = self.word_or_nothing()?;
        if self.position == start {
            Err(self.unexpected())
        } else {
            Ok(word)
        }
    }

    pub(super) fn word_or_nothing(&mut self) -> Parsed<Word> {
        self.word_in(Context::Command)
    }

    pub(super) fn regex_word(&mut self) -> Parsed<Word> {
        let start = self.position;
        let word = self.word_in(Context::Regex)?;
        if self.position == start {
            Err(self.unexpected())
        } else {
            Ok(word)
        }
    }

    pub(super) fn word_in(&mut self, context: Context) -> Parsed<Word> {
        let start = self.position;
        let mut parts = Parts::default();
        let mut brackets = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.backslash(&mut parts, context),
                b'\'' if matches!(context, Context::Operand { quoted: true, .. }) => {
                    // Inside double quotes it depends on the operator whether this quotes.
                    parts.push(Part::Odd("'".to_owned()));
                    self.advance(1);
                }
                b'\'' => self.single_quoted(&mut parts)?,
                b'"' => self.double_quoted(&mut parts)?,
                b'`' => self.backquoted(&mut parts, context.is_quoted())?,
                b'$' => self.dollar(&mut parts, context.is_quoted())?,
                b'<' | b'>'
                    if context != Context::Command
                        && !context.is_quoted()
                        && self.peek_at(1) == Some(b'(') =>
                {
                    let opened = self.position;
                    self.process(byte, &mut parts)?;
                    // What becomes of it here is not followed.
                    let written = self.slice(opened, self.position).to_owned();
                    parts.push(Part::Odd(written));
                }
                _ if self.ends_word(byte, context, brackets) => {
                    if !self.bracket_in_word(byte, context, &mut parts)? {
                        break;
                    }
                }
                _ => {
                    match byte {
                        b'(' => brackets += 1,
                        b')' => brackets = brackets.saturating_sub(1),
                        _ => {}
                    }
                    self.plain_run(&mut parts, context);
                }
            }
        }
        Ok(Word {
            parts: parts.list,
            raw: self.slice(start, self.position).to_owned(),
        })
    }

    /// Text up to the next byte that could mean something.
    fn plain_run(&mut self, parts: &mut Parts, context: Context) {
        let start = self.position;
        self.take_char();
        while let Some(byte) = self.peek() {
            let plain = byte >= 0x80
                || byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'-' | b'_' | b'.' | b',' | b'=' | b'*' | b'+' | b'@' | b'%'
                )
                || (matches!(byte, b'/' | b':') && context == Context::Command);
            if !plain {
                break;
            }
            self.advance(1);
        }
        parts.literal(self.slice(start, self.position), context.is_quoted());
    }

    fn ends_word(&self, byte: u8, context: Context, brackets: usize) -> bool {
        match context {
            Context::Command => {
                matches!(
                    byte,
                    b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
                )
            }
            Context::Regex => {
                brackets == 0 && matches!(byte, b' ' | b'\t' | b'\n' | b')' | b';' | b'&')
            }
            Context::Operand { stop, .. } => byte == b'}' || stop == Some(byte),
        }
    }

    /// An operator byte that still belongs to the word: `<(…)`, and the
    /// patterns `@(…)` which only some shells have switched on.
    fn bracket_in_word(&mut self, byte: u8, context: Context, parts: &mut Parts) -> Parsed<bool> {
        if context != Context::Command {
            return Ok(false);
        }
        if matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(') {
            self.process(byte, parts)?;
            return Ok(true);
        }
        let pattern = byte == b'('
            && matches!(parts.list.last(), Some(Part::Text(text)) if text.ends_with(['?', '*', '+', '@', '!']));
        if !pattern {
            return Ok(false);
        }
        let opened = self.position;
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'\'' | b'"' | b'`' | b'$' | b'\\' => return Err(self.unexpected()),
                _ => {}
            }
            self.advance(1);
            if depth == 0 {
                parts.push(Part::Odd(self.slice(opened, self.position).to_owned()));
                return Ok(true);
            }
        }
        Err(SyntaxError::Unclosed {
            what: "pattern",
            at: opened,
        })
    }

    /// `<(…)` or `>(…)`.
    fn process(&mut self, byte: u8, parts: &mut Parts) -> Parsed<()> {
        self.advance(2);
        let script = self.substitution()?;
        parts.push(Part::Process {
            script: Rc::new(script),
            output: byte == b'>',
        });
        Ok(())
    }

    fn backslash(&mut self, parts: &mut Parts, context: Context) {
        self.advance(1);
        if self.peek() == Some(b'\n') {
            self.advance(1);
            return;
        }
        let quoted = context.is_quoted();
        match self.take_char() {
            None => parts.quoted("\\"),
            Some(character) => {
                let kept = quoted && !matches!(character, '$' | '`' | '"' | '\\' | '}');
                if kept {
                    parts.quoted("\\");
                }
                parts.quoted(character.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn single_quoted(&mut self, parts: &mut Parts) -> Parsed<()> {
        let opened = self.position;
        self.advance(1);
        let start = self.position;
        while let Some(byte) = self.peek() {
            if byte == b'\'' {
                parts.quoted(self.slice(start, self.position));
                self.advance(1);
                return Ok(());
            }
            self.advance(1);
        }
        Err(SyntaxError::Unclosed {
            what: "quote",
            at: opened,
        })
    }

    pub(super) fn double_quoted(&mut self, parts: &mut Parts) -> Parsed<()> {
        let opened = self.position;
        self.advance(1);
        let before = parts.list.len();
        parts.quoted("");
        self.expanding_text(parts, Some(b'"'))?;
        parts.drop_empty_around_list(before);
        if self.peek() != Some(b'"') {
            return Err(SyntaxError::Unclosed {
                what: "double quote",
                at: opened,
            });
        }
        self.advance(1);
        Ok(())
    }

    /// Text in which only `$`, backquote and backslash mean something, up to
    /// `end` or to the end of the text.
    pub(super) fn expanding_text(&mut self, parts: &mut Parts, end: Option<u8>) -> Parsed<()> {
        let mut start = self.position;
        while let Some(byte) = self.peek() {
            if Some(byte) == end {
                break;
            }
            match byte {
                b'\\' => {
                    let escaped = self.peek_at(1);
                    let means = matches!(escaped, Some(b'$' | b'`' | b'\\' | b'\n'))
                        || (escaped.is_some() && escaped == end);
                    if !means {
                        // The backslash stays, and what follows is read on its own.
                        self.advance(1);
                        continue;
                    }
                    parts.quoted(self.slice(start, self.position));
                    self.advance(2);
                    start = self.position;
                    if escaped != Some(b'\n') {
                        start -= 1;
                    }
                }
                b'`' | b'$' => {
                    parts.quoted(self.slice(start, self.position));
                    let opened = self.position;
                    if byte == b'`' {
                        self.backquoted(parts, true)?;
                    } else {
                        self.dollar(parts, true)?;
                    }
                    start = self.position;
                    let written = self.slice(opened, start);
                    if end.is_none() && written.contains("\\\"") {
                        // Outside double quotes this backslash may stay.
                        parts.push(Part::Odd(written.to_owned()));
                    }
                }
                _ => self.advance(1),
            }
        }
        parts.quoted(self.slice(start, self.position));
        Ok(())
    }
}

impl Context {
    fn is_quoted(self) -> bool {
        matches!(self, Self::Operand { quoted: true, .. })
    }
}
