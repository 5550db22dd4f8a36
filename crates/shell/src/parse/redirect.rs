//! Redirections and here-documents.

use std::cell::OnceCell;
use std::rc::Rc;

use super::word::Parts;
use super::{Parsed, Parser, PendingDocument};
use crate::syntax::{Part, Redirect, RedirectKind, SyntaxError, Target, Word};

impl<'a> Parser<'a> {
    /// The redirection at the cursor, if there is one.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let start = self.position;
        let descriptor = self.descriptor();
        let Some(kind) = self.operator() else {
            self.position = start;
            return Ok(None);
        };
        self.no_joined_operator()?;
        let strip_tabs = kind == RedirectKind::HereDocument && self.peek() == Some(b'-');
        if strip_tabs {
            self.advance(1);
        }
        self.skip_blanks();
        let word = self.word()?;
        let target = if kind == RedirectKind::HereDocument {
            self.announce(&word, strip_tabs)?
        } else {
            Target::Word(word)
        };
        Ok(Some(Redirect {
            descriptor,
            kind,
            target,
        }))
    }

    /// `2` or `{name}` directly before an operator.
    fn descriptor(&mut self) -> Option<String> {
        let start = self.position;
        let mut end = start;
        if self.peek() == Some(b'{') {
            end += 1;
            while self
                .bytes
                .get(end)
                .is_some_and(|b| *b == b'_' || b.is_ascii_alphanumeric())
            {
                end += 1;
            }
            if self.bytes.get(end) != Some(&b'}') {
                return None;
            }
            end += 1;
        } else {
            while self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
        }
        if end == start || !matches!(self.bytes.get(end), Some(b'<' | b'>')) {
            return None;
        }
        self.position = end;
        Some(self.slice(start, end).to_owned())
    }

    fn operator(&mut self) -> Option<RedirectKind> {
        const OPERATORS: &[(&str, RedirectKind)] = &[
            ("&>>", RedirectKind::Both),
            ("&>", RedirectKind::Both),
            ("<<<", RedirectKind::HereString),
            ("<<", RedirectKind::HereDocument),
            ("<>", RedirectKind::ReadWrite),
            ("<&", RedirectKind::Duplicate { output: false }),
            (">&", RedirectKind::Duplicate { output: true }),
            (">>", RedirectKind::Append),
            (">|", RedirectKind::Write),
            ("<", RedirectKind::Read),
            (">", RedirectKind::Write),
        ];
        if self.looking_at("<(") || self.looking_at(">(") {
            return None;
        }
        let (text, kind) = OPERATORS.iter().find(|(text, _)| self.looking_at(text))?;
        self.advance(text.len());
        Some(*kind)
    }

    /// Remembers that a body follows after this line.
    fn announce(&mut self, delimiter: &Word, strip_tabs: bool) -> Parsed<Target> {
        let mut text = String::new();
        let mut literal = false;
        for part in &delimiter.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Quoted(piece) => {
                    literal = true;
                    text.push_str(piece);
                }
                _ => return Err(self.unexpected()),
            }
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push(PendingDocument {
            delimiter: text,
            literal,
            strip_tabs,
            body: Rc::clone(&body),
        });
        Ok(Target::Document(body))
    }

    /// Reads the bodies that were announced on the line just ended.
    pub(super) fn read_documents(&mut self) -> Parsed<()> {
        if self.pending.is_empty() || self.position == 0 {
            return Ok(());
        }
        if self.bytes.get(self.position - 1) != Some(&b'\n') {
            return Ok(());
        }
        for document in std::mem::take(&mut self.pending) {
            let opened = self.position;
            let mut text = String::new();
            loop {
                if self.position >= self.bytes.len() {
                    return Err(SyntaxError::Unclosed {
                        what: "here-document",
                        at: opened,
                    });
                }
                let line = self.document_line(&document)?;
                let whole = line.strip_suffix('\n').unwrap_or(line);
                if whole == document.delimiter {
                    break;
                }
                // A joined line is compared as one by the shell.
                if whole.contains("\\\n") && whole.replace("\\\n", "") == document.delimiter {
                    break;
                }
                text.push_str(line);
            }
            let word = self.document_word(text, document.literal)?;
            // The cell was made for this document alone, so it is still empty.
            let _ = document.body.set(word);
        }
        Ok(())
    }

    /// The next line of a body, together with those a backslash joins to it.
    fn document_line(&mut self, document: &PendingDocument) -> Parsed<&'a str> {
        let start = self.position;
        loop {
            self.skip_line();
            let line = self.slice(start, self.position);
            let joined = line.strip_suffix('\n').is_some_and(|text| {
                text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
            });
            if document.literal || !joined || self.position >= self.bytes.len() {
                let stripped = line.trim_start_matches('\t');
                return Ok(if document.strip_tabs { stripped } else { line });
            }
            if document.strip_tabs {
                return Err(self.unexpected());
            }
        }
    }

    fn document_word(&mut self, text: String, literal: bool) -> Parsed<Word> {
        if literal {
            return Ok(Word {
                parts: vec![Part::Quoted(text.clone())],
                raw: text,
            });
        }
        let depth = self.depth;
        self.deeper(|_| {
            let mut parser = Parser::new(&text, depth + 1);
            let mut parts = Parts::default();
            parser.expanding_text(&mut parts, None)?;
            Ok(Word {
                parts: parts.list,
                raw: text.clone(),
            })
        })
    }
}
