//! Text becomes a tree.
//!
//! ```text
//! line ──▶ list ──▶ chain (&& ||) ──▶ pipeline ──▶ command ──▶ words, redirections
//!                                                    └─▶ compound (if, for, {…}, (…), …) ──▶ list
//! ```
//!
//! In comes any text; out comes a [`Script`]. What can go wrong: the text is
//! not what a shell accepts, or it uses something this parser does not know.
//! Both become a [`SyntaxError`] beside what was read before it, because a shell
//! runs the complete lines before a mistake. Reading goes on at the next line,
//! so that a later command is seen even if an earlier line was not understood.
//! Nesting is bounded; nothing else is, and every step is linear in the text.

mod ansi;
mod assignment;
mod compound;
mod dollar;
mod redirect;
mod word;

use std::cell::OnceCell;
use std::rc::Rc;

pub(crate) use assignment::DECLARING;

use crate::syntax::{
    Item, Junction, Node, Part, Redirect, RedirectKind, Script, SyntaxError, Target, Word,
};

/// How deep brackets, substitutions and compound commands may nest.
pub(crate) const MAX_DEPTH: usize = 80;

/// After so many mistakes the rest of a text is not worth reading.
const MAX_FAULTS: usize = 32;

type Parsed<T> = Result<T, SyntaxError>;

/// A here-document whose body has not been reached yet.
struct PendingDocument {
    delimiter: String,
    literal: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<Word>>,
}

/// A cursor over the text.
pub(crate) struct Parser<'a> {
    source: &'a str,
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    pending: Vec<PendingDocument>,
}

/// Reads a whole text.
pub(crate) fn parse(source: &str, depth: usize) -> Script {
    let mut parser = Parser::new(source, depth);
    let mut script = Script::default();
    while parser.position < parser.bytes.len() && script.faults.len() < MAX_FAULTS {
        let fault = match parser.list_into(&mut script.items, &[]) {
            Err(fault) => fault,
            Ok(()) if parser.position >= parser.bytes.len() => break,
            Ok(()) => parser.unexpected(),
        };
        script.faults.push(fault);
        parser.depth = depth;
        parser.pending.clear();
        parser.skip_line();
    }
    if parser.read_documents().is_err() || !parser.pending.is_empty() {
        script.faults.push(SyntaxError::Unclosed {
            what: "here-document",
            at: parser.position,
        });
    }
    script
}

/// Reads a text in which only expansions mean something, such as an index.
pub(crate) fn parse_expansions(source: &str, depth: usize) -> Parsed<Word> {
    let mut parser = Parser::new(source, depth);
    let mut parts = word::Parts::default();
    parser.deeper(|parser| parser.expanding_text(&mut parts, None))?;
    Ok(Word {
        parts: parts.list,
        raw: source.to_owned(),
    })
}

impl<'a> Parser<'a> {
    fn new(source: &'a str, depth: usize) -> Self {
        Self {
            source,
            bytes: source.as_bytes(),
            position: 0,
            depth,
            pending: Vec::new(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.position + ahead).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        self.bytes
            .get(self.position..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn advance(&mut self, bytes: usize) {
        self.position = (self.position + bytes).min(self.bytes.len());
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.source.get(from..to).unwrap_or_default()
    }

    /// The character at the cursor, which is moved behind it.
    fn take_char(&mut self) -> Option<char> {
        let character = self.source.get(self.position..)?.chars().next()?;
        self.advance(character.len_utf8());
        Some(character)
    }

    fn unexpected(&self) -> SyntaxError {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let found: String = rest.chars().take(12).collect();
        let found = if found.is_empty() {
            "the end".to_owned()
        } else {
            found
        };
        SyntaxError::Unexpected {
            found,
            at: self.position,
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn skip_line(&mut self) {
        while let Some(byte) = self.peek() {
            self.advance(1);
            if byte == b'\n' {
                break;
            }
        }
    }

    /// Blanks and joined lines, but no newline.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.advance(1),
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.advance(2),
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.advance(1);
                    }
                }
                _ => return,
            }
        }
    }

    /// Blanks, comments and newlines; a newline is where here-documents are read.
    fn skip_newlines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn newline(&mut self) -> Parsed<()> {
        self.advance(1);
        self.read_documents()
    }

    /// A joined line in the middle of an operator (`&\` newline `&`) makes one
    /// operator of two: refuse it instead of reading two.
    fn no_joined_operator(&self) -> Parsed<()> {
        let mut at = self.position;
        while self.bytes.get(at..at + 2) == Some(b"\\\n") {
            at += 2;
        }
        let continues = self
            .bytes
            .get(at)
            .is_some_and(|byte| b"&|;<>(-".contains(byte));
        if at > self.position && continues {
            Err(self.unexpected())
        } else {
            Ok(())
        }
    }

    /// The word at the cursor, if it is written without quotes and expansions.
    fn peek_plain_word(&self) -> &'a str {
        let mut end = self.position;
        while let Some(&byte) = self.bytes.get(end) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\'' | b'"' | b'\\' | b'$' | b'`' => return "",
                _ => end += 1,
            }
        }
        self.slice(self.position, end)
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        self.peek_plain_word() == keyword
    }

    fn expect_keyword(&mut self, keyword: &'static str, opened: usize) -> Parsed<()> {
        self.skip_newlines()?;
        if self.at_keyword(keyword) {
            self.advance(keyword.len());
            return Ok(());
        }
        if self.position >= self.bytes.len() {
            return Err(SyntaxError::Unclosed {
                what: keyword,
                at: opened,
            });
        }
        Err(self.unexpected())
    }

    /// A list that ends before one of `closers`, before `)` or `;;`, or at the end.
    fn list(&mut self, closers: &[&str]) -> Parsed<Script> {
        let mut items = Vec::new();
        self.list_into(&mut items, closers)?;
        Ok(Script {
            items,
            faults: Vec::new(),
        })
    }

    fn list_into(&mut self, items: &mut Vec<Item>, closers: &[&str]) -> Parsed<()> {
        loop {
            self.skip_newlines()?;
            if self.at_list_end(closers) {
                return Ok(());
            }
            let node = self.chain()?;
            self.skip_blanks();
            let background = self.peek() == Some(b'&');
            items.push(Item { node, background });
            match self.peek() {
                Some(b';') if self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&') => {
                    return Ok(());
                }
                Some(b';' | b'&') => {
                    self.advance(1);
                    self.no_joined_operator()?;
                }
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    fn at_list_end(&self, closers: &[&str]) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.looking_at(";;") || self.looking_at(";&"),
            Some(_) => {
                let word = self.peek_plain_word();
                !word.is_empty() && closers.contains(&word)
            }
        }
    }

    fn chain(&mut self) -> Parsed<Node> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let junction = if self.looking_at("&&") {
                Junction::And
            } else if self.looking_at("||") {
                Junction::Or
            } else {
                break;
            };
            self.advance(2);
            self.skip_newlines()?;
            rest.push((junction, self.pipeline()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Node::Chain {
            first: Box::new(first),
            rest,
        })
    }

    fn pipeline(&mut self) -> Parsed<Node> {
        self.pipeline_prefix();
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.looking_at("||") {
                break;
            }
            let both = self.looking_at("|&");
            self.advance(if both { 2 } else { 1 });
            if both && let Some(command) = commands.last_mut() {
                command.redirect(messages_too());
            }
            self.no_joined_operator()?;
            self.skip_newlines()?;
            self.pipeline_prefix();
            commands.push(self.command()?);
        }
        if commands.len() == 1
            && let Some(only) = commands.pop()
        {
            return Ok(only);
        }
        Ok(Node::Pipeline(commands))
    }

    /// `!` and `time` change neither what runs nor what it touches.
    fn pipeline_prefix(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek_plain_word() {
                "!" => self.advance(1),
                "time" => {
                    self.advance(4);
                    self.skip_blanks();
                    if self.at_keyword("-p") {
                        self.advance(2);
                    }
                    self.skip_blanks();
                    if self.at_keyword("--") {
                        self.advance(2);
                    }
                }
                _ => return,
            }
        }
    }
}

/// `2>&1`, which `|&` stands for.
fn messages_too() -> Redirect {
    Redirect {
        descriptor: Some("2".to_owned()),
        kind: RedirectKind::Duplicate { output: true },
        target: Target::Word(Word {
            parts: vec![Part::Text("1".to_owned())],
            raw: "1".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(source: &str) -> usize {
        parse(source, 0).faults.len()
    }

    #[test]
    fn whole_lines_are_read_without_faults() {
        let lines = [
            "ls -la | grep x && echo y || echo z; echo w &",
            "if a; then b; elif c; then d; else e; fi",
            "for i in 1 2 3; do echo $i; done",
            "for ((i=0; i<3; i++)); do echo $i; done",
            "while read -r x; do echo \"$x\"; done < f",
            "case $x in a|b) echo 1 ;; (c) echo 2 ;& *) echo 3 ;; esac",
            "f() { echo hi; }; function g { echo ho; }; f; g",
            "cat <<'A' <<-B\nx\nA\n\ty\n\tB\necho after",
            "echo $((1 + (2 * 3))) $( (echo a); echo b) `echo \\`x\\``",
            "[[ -f x && ( $y == a* || $z =~ ^(a|b)$ ) ]] && ((i++))",
            "a=(1 2 3) b[1]=x c+=y true",
            "exec 3<>f {fd}>g 2>&1 >&- <&3",
            "! time -p true",
            "echo ${x:-$(date)} ${y%.*} ${z//a/b} ${#w} ${v:1:2} ${!u} \"${t:-'}\"",
        ];
        for line in lines {
            let script = parse(line, 0);
            assert!(script.faults.is_empty(), "{line}: {:?}", script.faults);
            assert!(!script.items.is_empty(), "{line}");
        }
    }

    #[test]
    fn what_a_shell_refuses_is_a_fault() {
        for line in [
            "(",
            ")",
            "if a; then",
            "echo 'x",
            "echo \"x",
            "a | | b",
            "; ;",
            "fi",
            "a &&",
        ] {
            assert!(faults(line) > 0, "{line}");
        }
    }

    #[test]
    fn lines_after_a_fault_are_still_read() {
        let script = parse("ls\n)\nid", 0);
        assert_eq!(script.items.len(), 2);
        assert_eq!(script.faults.len(), 1);
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = format!("{}true{}", "( ".repeat(500), " )".repeat(500));
        assert!(parse(&deep, 0).faults.contains(&SyntaxError::TooDeep));
    }
}
