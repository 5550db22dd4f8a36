//! Commands: simple ones, and those with a closing word.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::syntax::{Arm, Compound, Node, Part, Script, Simple, SyntaxError, Word};

/// Words that start something where a command starts.
const KEYWORDS: &[&str] = &[
    "if", "while", "until", "for", "select", "case", "{", "[[", "function", "coproc", "time", "!",
];

/// Those of them that have a closing word.
const OPENERS: &[&str] = &["if", "while", "until", "for", "select", "case", "{", "[["];

/// Words that mean something only where a command starts, and never start one.
const CLOSERS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl Parser<'_> {
    pub(super) fn command(&mut self) -> Parsed<Node> {
        self.skip_blanks();
        let opened = self.position;
        if self.peek() == Some(b'(') {
            return self.deeper(|parser| parser.bracketed(opened));
        }
        let keyword = self.peek_plain_word();
        if keyword.is_empty() {
            self.no_joined_keyword()?;
        }
        match keyword {
            "if" | "while" | "until" | "for" | "select" | "case" | "{" | "[[" => {
                self.advance(keyword.len());
                self.deeper(|parser| parser.compound(keyword, opened))
            }
            "function" => {
                self.advance(keyword.len());
                self.deeper(Self::keyword_function)
            }
            "coproc" => {
                self.advance(keyword.len());
                self.coprocess_name();
                let node = self.deeper(Self::command)?;
                Ok(Node::Coprocess(Box::new(node)))
            }
            word if CLOSERS.contains(&word) => Err(self.unexpected()),
            _ => self.simple(),
        }
    }

    /// `coproc NAME` before a command with a closing word: only there it is a name.
    fn coprocess_name(&mut self) {
        let start = self.position;
        self.skip_blanks();
        let name = self.peek_plain_word();
        if name.is_empty() || KEYWORDS.contains(&name) {
            self.position = start;
            return;
        }
        self.advance(name.len());
        self.skip_blanks();
        let opens = self.peek() == Some(b'(') || OPENERS.contains(&self.peek_plain_word());
        if !opens {
            self.position = start;
        }
    }

    /// A keyword that is spread over joined lines is still one to a shell.
    fn no_joined_keyword(&self) -> Parsed<()> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let end = rest
            .iter()
            .enumerate()
            .position(|(at, byte)| {
                let joined = *byte == b'\n' && at > 0 && rest.get(at - 1) == Some(&b'\\');
                b" \t\n;&|()<>".contains(byte) && !joined
            })
            .unwrap_or(rest.len());
        let word = self.slice(self.position, self.position + end);
        if word.contains("\\\n") && KEYWORDS.contains(&word.replace("\\\n", "").as_str()) {
            return Err(self.unexpected());
        }
        Ok(())
    }

    fn compound(&mut self, keyword: &str, opened: usize) -> Parsed<Node> {
        let body = match keyword {
            "if" => self.conditional(opened)?,
            "while" | "until" => {
                let condition = self.filled_list(&["do"])?;
                let body = self.do_block(opened)?;
                Compound::While {
                    condition,
                    body,
                    until: keyword == "until",
                }
            }
            "for" => self.for_loop(opened)?,
            "select" => self.selection(opened)?,
            "case" => self.case(opened)?,
            "{" => {
                let script = self.filled_list(&["}"])?;
                self.expect_keyword("}", opened)?;
                Compound::Group(script)
            }
            _ => Compound::Test(self.test_words(opened)?),
        };
        self.with_redirects(body)
    }

    fn with_redirects(&mut self, body: Compound) -> Parsed<Node> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => {
                    return Ok(Node::Compound {
                        body: Box::new(body),
                        redirects,
                    });
                }
            }
        }
    }

    /// A list that must not be empty.
    fn filled_list(&mut self, closers: &[&str]) -> Parsed<Script> {
        let script = self.list(closers)?;
        if script.items.is_empty() {
            Err(self.unexpected())
        } else {
            Ok(script)
        }
    }

    fn do_block(&mut self, opened: usize) -> Parsed<Script> {
        self.expect_keyword("do", opened)?;
        let body = self.filled_list(&["done"])?;
        self.expect_keyword("done", opened)?;
        Ok(body)
    }

    fn conditional(&mut self, opened: usize) -> Parsed<Compound> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.filled_list(&["then"])?;
            self.expect_keyword("then", opened)?;
            let body = self.filled_list(&["elif", "else", "fi"])?;
            arms.push((condition, body));
            self.skip_newlines()?;
            if self.at_keyword("elif") {
                self.advance(4);
                continue;
            }
            if self.at_keyword("else") {
                self.advance(4);
                otherwise = Some(self.filled_list(&["fi"])?);
            }
            self.expect_keyword("fi", opened)?;
            return Ok(Compound::If { arms, otherwise });
        }
    }

    fn for_loop(&mut self, opened: usize) -> Parsed<Compound> {
        self.skip_blanks();
        if self.looking_at("((") {
            self.advance(2);
            let header = self.arithmetic_until_close(opened)?;
            self.skip_separator()?;
            let body = self.do_or_brace(opened)?;
            return Ok(Compound::ForArithmetic { header, body });
        }
        let variable = self.peek_plain_word().to_owned();
        if variable.is_empty() {
            return Err(self.unexpected());
        }
        self.advance(variable.len());
        self.skip_newlines()?;
        let words = if self.at_keyword("in") {
            self.advance(2);
            let mut words = Vec::new();
            loop {
                self.skip_blanks();
                if matches!(self.peek(), None | Some(b';' | b'\n')) {
                    break;
                }
                words.push(self.word()?);
            }
            Some(words)
        } else {
            None
        };
        self.skip_separator()?;
        let body = self.do_or_brace(opened)?;
        Ok(Compound::For {
            variable,
            words,
            body,
        })
    }

    /// `select`: which of the words it is, and whether it is one of them, is up to the input.
    fn selection(&mut self, opened: usize) -> Parsed<Compound> {
        let mut body = self.for_loop(opened)?;
        if let Compound::For { words, .. } = &mut body {
            let odd = Word {
                parts: vec![Part::Odd("select".to_owned())],
                raw: "select".to_owned(),
            };
            words.get_or_insert_with(Vec::new).push(odd);
        }
        Ok(body)
    }

    fn skip_separator(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.peek() == Some(b';') {
            self.advance(1);
        }
        self.skip_newlines()
    }

    /// `for` also takes braces in place of `do … done`.
    fn do_or_brace(&mut self, opened: usize) -> Parsed<Script> {
        if !self.at_keyword("{") {
            return self.do_block(opened);
        }
        self.advance(1);
        let body = self.filled_list(&["}"])?;
        self.expect_keyword("}", opened)?;
        Ok(body)
    }

    fn case(&mut self, opened: usize) -> Parsed<Compound> {
        self.skip_blanks();
        let subject = self.word()?;
        self.expect_keyword("in", opened)?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_keyword("esac") {
                self.advance(4);
                return Ok(Compound::Case { subject, arms });
            }
            if self.peek() == Some(b'(') {
                self.advance(1);
            }
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.word()?);
                self.skip_blanks();
                match self.peek() {
                    Some(b'|') => self.advance(1),
                    Some(b')') => break,
                    None => {
                        return Err(SyntaxError::Unclosed {
                            what: "case",
                            at: opened,
                        });
                    }
                    Some(_) => return Err(self.unexpected()),
                }
            }
            self.advance(1);
            let body = self.list(&["esac"])?;
            let mut falls = true;
            if self.looking_at(";;&") {
                self.advance(3);
            } else if self.looking_at(";&") {
                self.advance(2);
            } else {
                falls = false;
                if self.looking_at(";;") {
                    self.advance(2);
                } else if !self.at_keyword("esac") {
                    return Err(self.unexpected());
                }
            }
            arms.push(Arm {
                patterns,
                body,
                falls,
            });
        }
    }

    /// `( … )` or `(( … ))`.
    fn bracketed(&mut self, opened: usize) -> Parsed<Node> {
        if self.looking_at("((")
            && let Some(end) = self.arithmetic_end(self.position + 2)
        {
            self.advance(2);
            let inside = self.arithmetic_parts(end)?;
            return self.with_redirects(Compound::Arithmetic(inside));
        }
        self.advance(1);
        let script = self.filled_list(&[])?;
        if self.peek() != Some(b')') {
            return Err(SyntaxError::Unclosed {
                what: "bracket",
                at: opened,
            });
        }
        self.advance(1);
        self.with_redirects(Compound::Subshell(script))
    }

    fn test_words(&mut self, opened: usize) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_keyword("]]") {
                self.advance(2);
                return Ok(words);
            }
            match self.peek() {
                None => {
                    return Err(SyntaxError::Unclosed {
                        what: "[[",
                        at: opened,
                    });
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    let behind = words.last().is_some_and(|word: &Word| word.raw == "=~");
                    words.push(if behind {
                        self.regex_word()?
                    } else {
                        self.word()?
                    });
                }
                Some(b'(' | b')' | b'<' | b'>') => self.advance(1),
                Some(b'&') if self.looking_at("&&") => self.advance(2),
                Some(b'|') if self.looking_at("||") => self.advance(2),
                Some(b'&' | b'|' | b';') => return Err(self.unexpected()),
                Some(_) => {
                    let regex = words.last().is_some_and(|word: &Word| word.raw == "=~");
                    words.push(if regex {
                        self.regex_word()?
                    } else {
                        self.word()?
                    });
                }
            }
        }
    }

    fn keyword_function(&mut self) -> Parsed<Node> {
        self.skip_blanks();
        let name = self.peek_plain_word().to_owned();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.advance(name.len());
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            self.function_brackets()?;
        }
        self.function_body(name)
    }

    fn function_brackets(&mut self) -> Parsed<()> {
        self.advance(1);
        self.skip_blanks();
        if self.peek() != Some(b')') {
            return Err(self.unexpected());
        }
        self.advance(1);
        Ok(())
    }

    /// `name(){body}` without a blank is refused by most shells, but by some it is run.
    fn joined_body(&mut self, opened: usize) -> Parsed<Node> {
        let fault = self.unexpected();
        self.advance(1);
        let mut script = self.filled_list(&["}"])?;
        self.expect_keyword("}", opened)?;
        script.faults.push(fault);
        Ok(Node::Compound {
            body: Box::new(Compound::Group(script)),
            redirects: Vec::new(),
        })
    }

    fn function_body(&mut self, name: String) -> Parsed<Node> {
        self.skip_newlines()?;
        let joined = self.peek() == Some(b'{')
            && self
                .peek_at(1)
                .is_some_and(|byte| !byte.is_ascii_whitespace());
        if joined {
            let opened = self.position;
            let body = self.deeper(|parser| parser.joined_body(opened))?;
            return Ok(Node::Function {
                name,
                body: Rc::new(body),
            });
        }
        let body = self.deeper(Self::command)?;
        match body {
            Node::Compound { .. } => Ok(Node::Function {
                name,
                body: Rc::new(body),
            }),
            _ => Err(self.unexpected()),
        }
    }

    fn simple(&mut self) -> Parsed<Node> {
        let mut simple = Simple::default();
        let mut declares = false;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    let plain = self
                        .function_name(&simple)
                        .ok_or_else(|| self.unexpected())?;
                    self.function_brackets()?;
                    return self.deeper(|parser| parser.function_body(plain));
                }
                Some(_) => {}
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            if let Some(word) = self.declared_array(declares)? {
                simple.words.push(word);
                continue;
            }
            let mut word = self.word()?;
            if matches!(self.peek(), Some(b'<' | b'>')) && names_element(&word.raw) {
                // `{name[index]}>file` is no word: the descriptor's number goes to an element.
                word.parts.push(Part::Odd(word.raw.clone()));
            }
            declares |= super::assignment::declares(&word);
            simple.words.push(word);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Node::Simple(simple))
    }

    /// The name in `name ()`, if all that was read so far is one plain word.
    #[expect(clippy::unused_self, reason = "reads as a step of `simple`")]
    fn function_name(&self, simple: &Simple) -> Option<String> {
        if !simple.assignments.is_empty() || !simple.redirects.is_empty() {
            return None;
        }
        match simple.words.as_slice() {
            [Word { parts, .. }] => match parts.as_slice() {
                [Part::Text(name)] => Some(name.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// `{name[index]}`.
fn names_element(raw: &str) -> bool {
    raw.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix("]}"))
        .is_some_and(|rest| rest.contains('['))
}
