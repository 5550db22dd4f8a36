//! `sed`: its scripts can write files and run commands.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

/// What a script does beyond printing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Deeds {
    reads: Vec<String>,
    writes: Vec<String>,
    /// Texts that are run.
    commands: Vec<String>,
    /// Runs commands, or could not be read.
    unforeseen: bool,
}

impl Walker {
    pub(super) fn sed(&mut self, name: &str, scan: &Scan) {
        let mut scripts: Vec<Field> = scan.values("-e").cloned().collect();
        let in_options = scan.has("-e") || scan.has("-f");
        let mut files = scan.operands.as_slice();
        if !in_options && let Some((script, rest)) = files.split_first() {
            scripts.push(script.clone());
            files = rest;
        }
        for script in &scripts {
            match script.exact() {
                Some(text) => {
                    let deeds = read_script(text);
                    for path in deeds.reads {
                        self.read_path(&Field::literal(path));
                    }
                    for path in deeds.writes {
                        self.write_path(&Field::literal(path));
                    }
                    if deeds.unforeseen {
                        self.option_opaque(name, script);
                    }
                    for command in deeds.commands {
                        self.probe_text(&command);
                    }
                }
                None => self.unknown_word(script),
            }
        }
        if scan.has("-i") || scan.has("--in-place") {
            for file in files {
                self.write_path(file);
            }
        }
    }
}

/// Reads a script command by command.
fn read_script(text: &str) -> Deeds {
    let mut deeds = Deeds::default();
    let mut reader = Reader { rest: text };
    while !reader.rest.is_empty() {
        if reader.command(&mut deeds).is_none() {
            deeds.unforeseen = true;
            break;
        }
    }
    deeds
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = self.rest.get(character.len_utf8()..)?;
        Some(character)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(wanted);
    }

    /// One command with its addresses; nothing if it is not understood.
    fn command(&mut self, deeds: &mut Deeds) -> Option<()> {
        self.skip(|c| c.is_whitespace() || c == ';' || c == '{' || c == '}');
        if self.rest.is_empty() {
            return Some(());
        }
        self.address()?;
        self.skip(|c| c == ' ' || c == '\t' || c == '!');
        let Some(command) = self.next() else {
            return Some(());
        };
        match command {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            '#' | ':' | 'b' | 't' | 'T' | 'l' | 'L' | 'q' | 'Q' | 'v' => {
                let end = if command == '#' {
                    &['\n'][..]
                } else {
                    &['\n', ';', '}'][..]
                };
                let label = self.until(end);
                // Where a label ends at a blank, a command may follow it.
                if command != '#' && label.trim().contains(char::is_whitespace) {
                    return None;
                }
            }
            'a' | 'i' | 'c' => self.text(),
            'r' | 'R' => deeds.reads.push(self.file()),
            'w' | 'W' => deeds.writes.push(self.file()),
            'e' => {
                deeds.commands.push(self.file());
                deeds.unforeseen = true;
            }
            's' => self.substitution(deeds)?,
            'y' => {
                // Brackets mean nothing here.
                let delimiter = self.next().filter(|c| !matches!(c, '\n' | '\\'))?;
                self.replacement(delimiter)?;
                self.replacement(delimiter)?;
            }
            // `e` runs a command; the rest are not known.
            _ => return None,
        }
        Some(())
    }

    fn address(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some('/') => {
                    self.next();
                    self.delimited('/')?;
                    self.skip(|c| c == 'I' || c == 'M');
                }
                Some('\\') => {
                    self.next();
                    let delimiter = self.next()?;
                    self.delimited(delimiter)?;
                    self.skip(|c| c == 'I' || c == 'M');
                }
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | '+' | '~') => {
                    self.next();
                    self.skip(|c| c.is_ascii_digit() || matches!(c, '~' | '+'));
                }
                _ => return Some(()),
            }
            self.skip(|c| c == ' ');
            if self.peek() != Some(',') {
                return Some(());
            }
            self.next();
            self.skip(|c| c == ' ');
        }
    }

    /// Up to the next delimiter that is not escaped or inside brackets.
    fn delimited(&mut self, delimiter: char) -> Option<()> {
        let mut bracket = false;
        let mut first = false;
        loop {
            let character = self.next()?;
            match character {
                '\\' if !bracket => {
                    self.next()?;
                }
                '[' if !bracket && delimiter != '[' => {
                    bracket = true;
                    first = true;
                    if self.peek() == Some('^') {
                        self.next();
                    }
                    continue;
                }
                '[' if bracket && matches!(self.peek(), Some(':' | '.' | '=')) => {
                    let kind = self.next()?;
                    while !(self.next()? == kind && self.peek() == Some(']')) {}
                    self.next();
                }
                ']' if bracket && !first => bracket = false,
                c if c == delimiter && !bracket => return Some(()),
                _ => {}
            }
            first = false;
        }
    }

    fn substitution(&mut self, deeds: &mut Deeds) -> Option<()> {
        let delimiter = self.next()?;
        if delimiter == '\n' || delimiter == '\\' {
            return None;
        }
        self.delimited(delimiter)?;
        let replacement = self.replacement(delimiter)?;
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') => {
                    self.next();
                }
                Some('w') => {
                    self.next();
                    deeds.writes.push(self.file());
                    return Some(());
                }
                None | Some(';' | '\n' | '}' | ' ' | '\t' | '#') => return Some(()),
                Some('e') => {
                    // Runs what was substituted.
                    self.next();
                    deeds.commands.push(replacement.clone());
                    deeds.unforeseen = true;
                }
                Some(_) => return None,
            }
        }
    }

    fn replacement(&mut self, delimiter: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                '\\' => text.push(self.next()?),
                c if c == delimiter => return Some(text),
                c => text.push(c),
            }
        }
    }

    fn until(&mut self, ends: &[char]) -> &'t str {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (passed, rest) = self.rest.split_at(end);
        self.rest = rest;
        passed
    }

    /// Text that is added: ends at a newline that is not escaped.
    fn text(&mut self) {
        while let Some(character) = self.next() {
            match character {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    /// A file name goes to the end of the line.
    fn file(&mut self) -> String {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.trim_start().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(script: &str) -> Vec<String> {
        let deeds = read_script(script);
        assert!(!deeds.unforeseen, "{script}");
        deeds.writes
    }

    #[test]
    fn ordinary_scripts_do_nothing_but_print() {
        for script in [
            "s/a/b/g",
            "s|/usr|/opt|",
            "/foo/d",
            "1,10p",
            "$!N;s/\\n/ /",
            "/a/,/b/{s/x/y/;p}",
            "5q",
            "s/[/]/_/",
            "y/abc/xyz/",
            "/^#/!p",
            "1i\\header",
            "s/a\\/b/c/",
            ":a;N;$!ba;s/\\n/ /g",
            "/rm -rf/p",
            "s/w/e/",
            "2,$d",
            "s/[[:space:]/]*$//",
            "s/[^]/]x/y/",
        ] {
            assert_eq!(writes(script), Vec::<String>::new(), "{script}");
        }
    }

    #[test]
    fn scripts_that_write_or_run_are_seen() {
        assert_eq!(writes("w /tmp/x"), ["/tmp/x"]);
        assert_eq!(writes("s/a/b/w /tmp/x"), ["/tmp/x"]);
        assert_eq!(writes("/a/,$ w out"), ["out"]);
        assert_eq!(writes("s/a/b/gpw f;w g"), ["f;w g"]);
        assert_eq!(read_script("r /etc/passwd").reads, ["/etc/passwd"]);
        for script in [
            "1e id",
            "s/a/b/e",
            "e",
            "s/x/id/ge",
            "$e reboot",
            "s/a/b",
            "k",
            "y/[/x/;e touch m #]/b/",
            "y/a[/bc/;1e id;#]/",
            ":x e touch m",
            "b x e touch m",
            "v 4.2 e touch m",
            "q 1 e touch m",
        ] {
            assert!(read_script(script).unforeseen, "{script}");
        }
    }
}
