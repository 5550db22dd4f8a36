//! `awk`: a language that can run commands and write files.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

impl Walker {
    pub(super) fn awk(&mut self, name: &str, scan: &Scan) {
        if scan.has("-f") || scan.has("-e") || scan.has("-i") {
            // The options themselves say so.
            return;
        }
        let Some(program) = scan.operands.first() else {
            return;
        };
        match program.exact() {
            Some(text) => match read_program(text) {
                Some(writes) => {
                    for path in writes {
                        self.write_path(&Field::literal(path));
                    }
                }
                None => self.code_opaque(name),
            },
            None => self.unknown_word(program),
        }
    }
}

/// The files a program prints to; nothing if it runs commands or is not understood.
fn read_program(text: &str) -> Option<Vec<String>> {
    let tokens = tokens(text)?;
    let mut writes = Vec::new();
    let mut printing = false;
    let mut brackets = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Name(name) => match name.as_str() {
                "system" | "getline" | "include" | "load" => return None,
                "print" | "printf" => {
                    printing = true;
                    brackets = 0;
                }
                _ => {}
            },
            Token::Sign('|' | '@') => return None,
            Token::Sign('(' | '[') => brackets += 1,
            Token::Sign(')' | ']') => brackets = brackets.saturating_sub(1),
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

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Number,
    Sign(char),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        at += 1;
        match character {
            '"' => {
                let start = at;
                let text = quoted(&characters, &mut at, '"')?;
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
            '/' if regex_may_start(&tokens) => {
                quoted(&characters, &mut at, '/')?;
                tokens.push(Token::Number);
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
            other => tokens.push(Token::Sign(other)),
        }
    }
    Some(tokens)
}

fn quoted(characters: &[char], at: &mut usize, end: char) -> Option<String> {
    let mut text = String::new();
    let mut bracket = false;
    loop {
        let character = *characters.get(*at)?;
        *at += 1;
        match character {
            '\\' => {
                text.push(*characters.get(*at)?);
                *at += 1;
            }
            '[' if end == '/' => bracket = true,
            ']' if end == '/' => bracket = false,
            c if c == end && !bracket => return Some(text),
            '\n' => return None,
            other => text.push(other),
        }
    }
}

/// A slash divides behind a value and starts a pattern elsewhere.
fn regex_may_start(tokens: &[Token]) -> bool {
    match tokens.last() {
        None => true,
        Some(Token::Name(name)) => matches!(name.as_str(), "return" | "print" | "in" | "case"),
        Some(Token::Text(_) | Token::Number | Token::Sign(')' | ']' | '$')) => false,
        Some(Token::Sign(_)) => true,
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
