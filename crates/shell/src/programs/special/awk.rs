//! `awk`: a language that can run commands and write files.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

impl Walker {
    pub(super) fn awk(&mut self, name: &str, scan: &Scan) {
        if scan.has("-f") || scan.has("-e") || scan.has("-i") {
            // The options themselves say so.
            for program in scan.values("-e") {
                self.probe_program(&program.text, scan, &scan.operands);
            }
            return;
        }
        let Some((program, operands)) = scan.operands.split_first() else {
            return;
        };
        match program.exact() {
            Some(text) => match read_program(text) {
                Some(writes) => {
                    for path in writes {
                        self.write_path(&Field::literal(path));
                    }
                }
                None => {
                    self.code_opaque(name);
                    self.probe_program(text, scan, operands);
                }
            },
            None => self.unknown_word(program),
        }
    }

    /// Looks for catastrophes in a program, with the values that its variables are given and
    /// the fields of what it reads.
    fn probe_program(&mut self, code: &str, scan: &Scan, operands: &[Field]) {
        let settings = scan.values("-v").chain(operands.iter());
        let given: Vec<(String, String)> = settings
            .filter_map(|word| word.text.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        self.probe_code_with(code, &given);
        self.probe_fed(code, operands);
        for line in self.input_lines() {
            let fields = line.split_whitespace().map(str::to_owned);
            let numbered = (1..)
                .zip(fields)
                .map(|(at, field)| (format!("${at}"), field));
            let mut given = given.clone();
            given.extend(numbered);
            given.push(("$0".to_owned(), line.clone()));
            self.probe_code_with(code, &given);
        }
    }
}

/// Names that run commands, take code or choose what is read.
const RUNNING: &[&str] = &[
    "system",
    "getline",
    "include",
    "load",
    "extension",
    "ENVIRON",
    "ARGV",
    "ARGC",
];

/// How many readings of one program are tried.
const MAX_READINGS: usize = 512;

/// How many characters are read in all readings together.
const MAX_READ: usize = 2 << 20;

/// The files a program prints to; nothing if it runs commands or is not understood.
///
/// A slash divides or starts a pattern, and inside brackets it ends the pattern or does not:
/// the implementations differ. Wherever that is open both readings are tried, and the program
/// is plain only if no reading runs anything.
fn read_program(text: &str) -> Option<Vec<String>> {
    let characters: Vec<char> = text.chars().collect();
    let mut writes = Vec::new();
    let mut readable = false;
    let mut choices = Choices::default();
    // A long program is read less often.
    let most = MAX_READINGS.min(1 + MAX_READ / (1 + characters.len()));
    for _ in 0..most {
        choices.next = 0;
        // A reading in which a quote or pattern has no end is none.
        if let Some(tokens) = tokens(&characters, &mut choices) {
            readable = true;
            for path in printed_files(&tokens)? {
                if !writes.contains(&path) {
                    writes.push(path);
                }
            }
        }
        if !choices.advance() {
            return readable.then_some(writes);
        }
    }
    None
}

/// Which way was taken at every open place of one reading.
#[derive(Default)]
struct Choices {
    made: Vec<bool>,
    next: usize,
}

impl Choices {
    fn choose(&mut self) -> bool {
        if self.next == self.made.len() {
            self.made.push(false);
        }
        let choice = self.made.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        choice
    }

    /// Goes to the next reading; false after the last.
    fn advance(&mut self) -> bool {
        self.made.truncate(self.next);
        while self.made.last() == Some(&true) {
            self.made.pop();
        }
        self.made.last_mut().is_some_and(|last| {
            *last = true;
            true
        })
    }
}

/// The files that one reading of a program prints to; nothing if it runs something.
fn printed_files(tokens: &[Token]) -> Option<Vec<String>> {
    let mut writes = Vec::new();
    let mut printing = false;
    let mut brackets = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Name(name) => match name.as_str() {
                name if RUNNING.contains(&name) => return None,
                "print" | "printf" => {
                    printing = true;
                    brackets = 0;
                }
                _ => {}
            },
            Token::Sign('|' | '@') => return None,
            Token::Sign('(' | '[') => brackets += 1,
            Token::Head | Token::Sign(')' | ']') => brackets = brackets.saturating_sub(1),
            // Behind these a line goes on.
            Token::Sign('\n') if goes_on(tokens.get(..index).unwrap_or_default()) => {}
            Token::Sign(';' | '}' | '\n' | '{') => printing = false,
            Token::Sign('>') if printing && brackets == 0 => {
                // Texts side by side are one, so the statement has to end behind it.
                let ends = matches!(
                    tokens.get(index + 2),
                    None | Some(Token::Sign(';' | '}' | '\n'))
                );
                match tokens.get(index + 1) {
                    Some(Token::Text(path)) if ends => writes.push(path.clone()),
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some(writes)
}

/// Whether a newline behind these tokens does not end the statement.
fn goes_on(tokens: &[Token]) -> bool {
    let last = tokens
        .iter()
        .rev()
        .find(|token| **token != Token::Sign('\n'));
    matches!(last, Some(Token::Sign(',' | '&' | '|')))
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Number,
    /// `++` or `--`.
    Step,
    /// The bracket that closes the condition of `if` or a loop.
    Head,
    Sign(char),
}

fn tokens(characters: &[char], choices: &mut Choices) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    // For every open bracket, whether it holds a condition.
    let mut open: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        at += 1;
        match character {
            '"' => {
                let start = at;
                let text = quoted(characters, &mut at)?;
                let written = characters.get(start..at).unwrap_or_default();
                // Escapes make other characters than are written.
                tokens.push(if written.contains(&'\\') {
                    Token::Number
                } else {
                    Token::Text(text)
                });
            }
            '#' => {
                while characters.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
            }
            '/' if starts_pattern(&tokens).unwrap_or_else(|| choices.choose()) => {
                pattern(characters, &mut at, choices)?;
                tokens.push(Token::Number);
            }
            '+' | '-' if characters.get(at) == Some(&character) => {
                at += 1;
                tokens.push(Token::Step);
            }
            '|' | '&' if characters.get(at) == Some(&character) => {
                at += 1;
                tokens.push(Token::Sign('&'));
            }
            '>' if characters.get(at) == Some(&'>') => {
                at += 1;
                tokens.push(Token::Sign('>'));
            }
            '=' | '!' | '<' | '>' if characters.get(at) == Some(&'=') => {
                at += 1;
                tokens.push(Token::Sign('='));
            }
            '\\' if characters.get(at) == Some(&'\n') => at += 1,
            ' ' | '\t' | '\r' => {}
            c if c == '_' || c.is_alphabetic() => {
                let mut name = c.to_string();
                while let Some(next) = characters
                    .get(at)
                    .filter(|c| **c == '_' || c.is_alphanumeric())
                {
                    name.push(*next);
                    at += 1;
                }
                tokens.push(Token::Name(name));
            }
            c if c.is_ascii_digit() => tokens.push(Token::Number),
            '(' => {
                open.push(matches!(tokens.last(), Some(Token::Name(name))
                    if matches!(name.as_str(), "if" | "while" | "for" | "switch")));
                tokens.push(Token::Sign('('));
            }
            ')' if open.pop().unwrap_or(true) => tokens.push(Token::Head),
            other => tokens.push(Token::Sign(other)),
        }
    }
    Some(tokens)
}

fn quoted(characters: &[char], at: &mut usize) -> Option<String> {
    let mut text = String::new();
    loop {
        let character = *characters.get(*at)?;
        *at += 1;
        match character {
            '\\' => {
                text.push(*characters.get(*at)?);
                *at += 1;
            }
            '"' => return Some(text),
            '\n' => return None,
            other => text.push(other),
        }
    }
}

/// Up to the slash that ends a pattern.
fn pattern(characters: &[char], at: &mut usize, choices: &mut Choices) -> Option<()> {
    let mut bracket = false;
    loop {
        let character = *characters.get(*at)?;
        *at += 1;
        match character {
            '\\' => *at += 1,
            '[' => bracket = true,
            '/' if !bracket || choices.choose() => return Some(()),
            '\n' => return None,
            _ => {}
        }
    }
}

/// Whether a slash starts a pattern here; nothing where that depends on more than the token before.
fn starts_pattern(tokens: &[Token]) -> Option<bool> {
    match tokens.last() {
        None => Some(true),
        Some(Token::Name(name)) => match name.as_str() {
            "return" | "print" | "printf" | "in" | "case" | "else" | "do" | "exit" | "delete" => {
                None
            }
            _ => Some(false),
        },
        Some(Token::Text(_) | Token::Number | Token::Sign(']' | ')')) => Some(false),
        Some(Token::Step | Token::Head | Token::Sign('$')) => None,
        Some(Token::Sign(_)) => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_only_print_are_plain() {
        for program in [
            "/rm -rf/ {print NR}",
            "{print $1}",
            "NR==1 || /a|b/",
            "$3 > 5 {print $2, \"a|b\"}",
            "{s += $1 / 2} END {print s}",
            "BEGIN{FS=\":\"} {print $1 \"system\"}",
            "length > 80",
            "{print ($1 > 2) ? \"a\" : \"b\"}",
            "!seen[$0]++",
            "{print ($1+$2)/2, ($3)/4}",
            "{sub(/[^/]*$/, \"\"); print}",
            "{n++; print n / 2 \"|\"}",
            "/[[:space:]|]/ {print $1 / 2}",
            "{x = (a) / 2; y = (b) / 2; if (x ~ /a|b/) print}",
        ] {
            assert_eq!(read_program(program), Some(Vec::new()), "{program}");
        }
    }

    #[test]
    fn programs_that_run_or_write_are_seen() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print | \"sh\"}",
            "BEGIN{\"id\" | getline x}",
            "{print > $2}",
            "{print > \"a\" \"b\"}",
            "{print > \"a\" $1}",
            "{print >> \"a\" x; y}",
            "{print > \"\\x2fetc\"}",
            "{print > \"a\" 1}",
            "@load \"x\"",
            "BEGIN { f=\"system\"; @f(\"id\") }",
            "{ print |& \"x\" }",
            "\"unclosed",
            "BEGIN { a++ / system(\"id\") / 1 }",
            "{ if (x) /\"/; system(\"id\") } #\"",
            "/[]/\"]/ { system(\"id\") } #\"",
            "BEGIN { do /\"/; while (system(\"id\")) } #\"/",
            "{ print > \"a\" \"b\" }",
            "{ print > \"a\" $1 }",
            "BEGIN { ARGV[1] = \".env\" }",
        ] {
            assert_eq!(read_program(program), None, "{program}");
        }
        assert_eq!(
            read_program("{print $1 > \"out\"}"),
            Some(vec!["out".to_owned()])
        );
        assert_eq!(
            read_program("{printf \"%s\", $1 >> \"o\"}"),
            Some(vec!["o".to_owned()])
        );
    }
}
