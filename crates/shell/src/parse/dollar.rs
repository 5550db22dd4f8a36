//! `$name`, `${…}`, `$(…)`, `$((…))`, `$'…'` and backquotes.

use std::rc::Rc;

use super::word::{Context, Parts};
use super::{Parsed, Parser, parse};
use crate::syntax::{Operation, Parameter, Part, Script, SyntaxError, Word};

impl Parser<'_> {
    /// Reads what starts with the dollar sign at the cursor.
    pub(super) fn dollar(&mut self, parts: &mut Parts, quoted: bool) -> Parsed<()> {
        let opened = self.position;
        self.advance(1);
        if self.looking_at("\\\n") {
            return Err(self.unexpected());
        }
        match self.peek() {
            Some(b'(') => {
                if self.peek_at(1) == Some(b'(')
                    && let Some(end) = self.arithmetic_end(self.position + 2)
                {
                    self.advance(2);
                    let inside = self.arithmetic_parts(end)?;
                    parts.push(Part::Arithmetic(inside));
                    return Ok(());
                }
                self.advance(1);
                let script = Rc::new(self.substitution()?);
                parts.push(Part::Command { script, quoted });
            }
            Some(b'{') => {
                self.advance(1);
                let parameter = self.deeper(|parser| parser.braced(quoted, opened))?;
                parts.push(Part::Parameter(Rc::new(parameter)));
            }
            Some(b'\'') if !quoted => {
                self.advance(1);
                let (text, local) = self.ansi_quoted(opened)?;
                parts.quoted(&text);
                if local {
                    parts.push(Part::Odd(text));
                }
            }
            Some(b'"') if !quoted => self.double_quoted(parts)?,
            Some(b'[') => {
                // The old spelling of `$((…))`.
                parts.push(Part::Odd("$[".to_owned()));
                self.advance(1);
            }
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                let name = self.name();
                parts.push(plain(name, quoted));
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.advance(1);
                parts.push(plain(char::from(byte).to_string(), quoted));
            }
            _ => parts.literal("$", quoted),
        }
        Ok(())
    }

    /// A list up to its closing bracket, which is consumed. Here-documents
    /// that were announced outside have their bodies outside.
    pub(super) fn substitution(&mut self) -> Parsed<Script> {
        let opened = self.position;
        let outside = std::mem::take(&mut self.pending);
        let script = self.deeper(|parser| parser.list(&[]))?;
        if self.peek() != Some(b')') || !self.pending.is_empty() {
            return Err(SyntaxError::Unclosed {
                what: "substitution",
                at: opened,
            });
        }
        self.advance(1);
        self.pending = outside;
        Ok(script)
    }

    pub(super) fn backquoted(&mut self, parts: &mut Parts, quoted: bool) -> Parsed<()> {
        let opened = self.position;
        self.advance(1);
        let mut text = String::new();
        loop {
            match self.take_char() {
                None => {
                    return Err(SyntaxError::Unclosed {
                        what: "backquote",
                        at: opened,
                    });
                }
                Some('`') => break,
                Some('\\') => match self.take_char() {
                    Some(escaped @ ('`' | '\\' | '$')) => text.push(escaped),
                    Some('"') if quoted => text.push('"'),
                    Some(other) => {
                        text.push('\\');
                        text.push(other);
                    }
                    None => {
                        return Err(SyntaxError::Unclosed {
                            what: "backquote",
                            at: opened,
                        });
                    }
                },
                Some(other) => text.push(other),
            }
        }
        let depth = self.depth;
        let script = self.deeper(|_| Ok(parse(&text, depth + 1)))?;
        parts.push(Part::Command {
            script: Rc::new(script),
            quoted,
        });
        Ok(())
    }

    fn name(&mut self) -> String {
        let start = self.position;
        while self
            .peek()
            .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            self.advance(1);
        }
        self.slice(start, self.position).to_owned()
    }

    /// Behind `${`, up to and with the closing brace.
    fn braced(&mut self, quoted: bool, opened: usize) -> Parsed<Parameter> {
        if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            self.advance(1);
            let name = self.parameter_name()?;
            let subscript = self.parameter_subscript(quoted)?;
            let operation = if self.peek() == Some(b'}') {
                Operation::Length
            } else {
                Operation::Other {
                    kind: b'#',
                    words: vec![self.operand(None, quoted)?],
                }
            };
            return self.close(name, subscript, operation, quoted, opened);
        }
        if self.peek() == Some(b'!') {
            self.advance(1);
            let rest = self.operand(None, quoted)?;
            return self.close(
                "!".to_owned(),
                None,
                Operation::Other {
                    kind: b'!',
                    words: vec![rest],
                },
                quoted,
                opened,
            );
        }
        let name = self.parameter_name()?;
        let subscript = self.parameter_subscript(quoted)?;
        let operation = self.operation(quoted)?;
        self.close(name, subscript, operation, quoted, opened)
    }

    /// What stands between the brackets of `${name[…]}`; brackets inside it are balanced.
    fn parameter_subscript(&mut self, quoted: bool) -> Parsed<Option<Word>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.advance(1);
        let mut whole = Word::default();
        loop {
            let piece = self.operand(Some(b']'), quoted)?;
            if self.peek() != Some(b']') {
                return Err(self.unexpected());
            }
            self.advance(1);
            whole.raw.push_str(&piece.raw);
            whole.parts.extend(piece.parts);
            let opened = whole.raw.matches('[').count();
            if opened <= whole.raw.matches(']').count() {
                return Ok(Some(whole));
            }
            whole.raw.push(']');
            whole.parts.push(Part::Quoted("]".to_owned()));
        }
    }

    fn parameter_name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(byte) if byte == b'_' || byte.is_ascii_alphanumeric() => Ok(self.name()),
            Some(byte) if b"@*#?-$!".contains(&byte) => {
                self.advance(1);
                Ok(char::from(byte).to_string())
            }
            _ => Err(self.unexpected()),
        }
    }

    fn close(
        &mut self,
        name: String,
        subscript: Option<Word>,
        operation: Operation,
        quoted: bool,
        opened: usize,
    ) -> Parsed<Parameter> {
        if self.peek() != Some(b'}') {
            return Err(SyntaxError::Unclosed {
                what: "parameter",
                at: opened,
            });
        }
        self.advance(1);
        Ok(Parameter {
            name,
            subscript,
            operation,
            quoted,
        })
    }

    /// The text of a subscript, up to its bracket.
    pub(super) fn bracket_operand(&mut self) -> Parsed<Word> {
        self.operand(Some(b']'), false)
    }

    fn operand(&mut self, stop: Option<u8>, quoted: bool) -> Parsed<Word> {
        self.word_in(Context::Operand { stop, quoted })
    }

    fn operation(&mut self, quoted: bool) -> Parsed<Operation> {
        let Some(byte) = self.peek() else {
            return Ok(Operation::Plain);
        };
        if byte == b'}' {
            return Ok(Operation::Plain);
        }
        self.advance(1);
        let next = self.peek();
        let kind = if byte == b':' {
            next.unwrap_or(b'}')
        } else {
            byte
        };
        if byte == b':' {
            if !matches!(kind, b'-' | b'=' | b'?' | b'+') {
                return self.slice_operation(quoted);
            }
            self.advance(1);
        }
        let doubled = byte != b':' && next == Some(byte);
        Ok(match kind {
            b'-' | b'=' => Operation::Default {
                word: self.operand(None, quoted)?,
                assign: kind == b'=',
                colon: byte == b':',
            },
            b'?' => Operation::Require(self.operand(None, quoted)?),
            b'+' => Operation::Alternative {
                word: self.operand(None, quoted)?,
                colon: byte == b':',
            },
            b'#' | b'%' => {
                if doubled {
                    self.advance(1);
                }
                let pattern = self.operand(None, quoted)?;
                if kind == b'#' {
                    Operation::TrimStart {
                        pattern,
                        longest: doubled,
                    }
                } else {
                    Operation::TrimEnd {
                        pattern,
                        longest: doubled,
                    }
                }
            }
            b'/' => self.replace_operation(doubled, quoted)?,
            b'^' | b',' => {
                if doubled {
                    self.advance(1);
                }
                if self.peek() == Some(b'}') {
                    Operation::Case {
                        upper: kind == b'^',
                        all: doubled,
                    }
                } else {
                    Operation::Other {
                        kind,
                        words: vec![self.operand(None, quoted)?],
                    }
                }
            }
            kind => Operation::Other {
                kind,
                words: vec![self.operand(None, quoted)?],
            },
        })
    }

    fn slice_operation(&mut self, quoted: bool) -> Parsed<Operation> {
        let offset = self.operand(Some(b':'), quoted)?;
        let mut length = None;
        if self.peek() == Some(b':') {
            self.advance(1);
            length = Some(self.operand(None, quoted)?);
        }
        Ok(Operation::Slice { offset, length })
    }

    fn replace_operation(&mut self, all: bool, quoted: bool) -> Parsed<Operation> {
        let anchored = matches!(self.peek(), Some(b'#' | b'%'));
        if all {
            self.advance(1);
        }
        let pattern = self.operand(Some(b'/'), quoted)?;
        let mut with = Word::default();
        if self.peek() == Some(b'/') {
            self.advance(1);
            with = self.operand(None, quoted)?;
        }
        if anchored {
            return Ok(Operation::Other {
                kind: b'/',
                words: vec![pattern, with],
            });
        }
        Ok(Operation::Replace { pattern, with, all })
    }

    /// Where the `))` stands that closes arithmetic starting at `from`, or
    /// nothing if the brackets turn out to be a subshell in a subshell.
    pub(super) fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut at = from;
        let mut quote = None;
        while let Some(&byte) = self.bytes.get(at) {
            match (quote, byte) {
                (_, b'\\') if quote != Some(b'\'') => at += 1,
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"' | b'`') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') if depth > 0 => depth -= 1,
                (None, b')') => return (self.bytes.get(at + 1) == Some(&b')')).then_some(at),
                (None, _) => {}
            }
            at += 1;
        }
        None
    }

    /// The expansions inside arithmetic that ends at `end`; the cursor is moved behind `))`.
    pub(super) fn arithmetic_parts(&mut self, end: usize) -> Parsed<Vec<Part>> {
        let inside = self.slice(self.position, end);
        let depth = self.depth;
        let parts = self.deeper(|_| {
            let mut parser = Parser::new(inside, depth + 1);
            let mut parts = Parts::default();
            parser.expanding_text(&mut parts, None)?;
            // These can hide a bracket from the search for the end.
            let hides = inside.contains("$(")
                && ["<<", "case", "#"].iter().any(|text| inside.contains(text));
            if hides {
                parts.push(Part::Odd(inside.to_owned()));
            }
            Ok(parts.list)
        })?;
        self.position = end;
        self.advance(2);
        Ok(parts)
    }

    pub(super) fn arithmetic_until_close(&mut self, opened: usize) -> Parsed<Vec<Part>> {
        match self.arithmetic_end(self.position) {
            Some(end) => self.arithmetic_parts(end),
            None => Err(SyntaxError::Unclosed {
                what: "arithmetic",
                at: opened,
            }),
        }
    }
}

fn plain(name: String, quoted: bool) -> Part {
    Part::Parameter(Rc::new(Parameter {
        name,
        subscript: None,
        operation: Operation::Plain,
        quoted,
    }))
}
