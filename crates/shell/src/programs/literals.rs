//! Texts inside code that some interpreter runs.
//!
//! `os.system("…")` and its like hand a text to a shell. The code itself is not followed, so a
//! command that takes code is opaque; but where a text in it would be the end of a system, that
//! is said. In comes the code, out come catastrophes and nothing else.

use crate::expand::field::Field;
use crate::programs::table::{self, Harm};
use crate::walk::{Output, Walker};

/// How many texts of one piece of code are looked at.
const MAX_TEXTS: usize = 4_000;

/// Names that hand a text to a shell or start a program. Without one of them no text is run.
const RUNNING: &[&str] = &[
    "system",
    "exec",
    "popen",
    "spawn",
    "subprocess",
    "child_process",
    "shell",
    "command",
    "call",
    "run",
    "check_output",
    "getline",
    "qx",
    "%x",
    "`",
    "|",
    "script",
    "execute",
];

/// Names that remove the tree they are given.
const REMOVING: &[&str] = &[
    "rmtree",
    "rm_rf",
    "rm_r",
    "rmsync",
    "rmdirsync",
    "removesync",
    "remove_tree",
    "remove_dir_all",
];

/// Quotes that have names, with the sigils of Perl and Ruby.
const NAMED_QUOTES: &[&str] = &["qw", "qx", "qq", "q", "%x", "%w", "%W", "%q", "%Q", "%"];

/// A text of the code and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// Whether code has a name in it that runs a text or removes a tree.
pub(super) fn runs_texts(code: &str) -> bool {
    let lower = code.to_ascii_lowercase();
    let mut names = RUNNING.iter().chain(REMOVING);
    names.any(|name| lower.contains(name))
}

/// Texts that stand side by side, group by group.
pub(super) fn groups<'l>(
    code: &'l str,
    literals: &'l [Literal],
) -> impl Iterator<Item = &'l [Literal]> {
    literals.chunk_by(move |one, next| is_joined(code, one, next))
}

impl Walker {
    /// Looks for catastrophes in the texts of some code.
    pub(super) fn probe_texts(&mut self, code: &str) {
        let lower = code.to_ascii_lowercase();
        let mut left = MAX_TEXTS;
        for quotes in ["'\"`", "\"", "'"] {
            let literals = literals(code, quotes);
            if quotes.len() == 1
                && !code.contains(|c: char| "'\"".contains(c) && !quotes.contains(c))
            {
                // The first reading met the same texts.
                continue;
            }
            for together in groups(code, &literals) {
                if left < together.len() {
                    return;
                }
                left -= together.len();
                if let Some(first) = together.first() {
                    self.probe_literals_of(&lower, first, together);
                }
            }
        }
    }

    /// Texts that stand side by side are parts of one, or the words of a command.
    fn probe_literals_of(&mut self, code: &str, first: &Literal, together: &[Literal]) {
        let before = code.get(..first.start).unwrap_or_default();
        let handed = before.trim_end_matches(|c: char| c.is_whitespace() || "([{=\"'".contains(c));
        let ends_in = |names: &[&str]| {
            let end = handed
                .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            let last = handed.get(end.len()..).unwrap_or_default();
            names.iter().any(|name| last.contains(name))
                || names.contains(&"|") && handed.ends_with('|')
        };
        if ends_in(REMOVING) {
            let path = Field::literal(first.text.as_str());
            self.perhaps(|walker| walker.delete_path(&path, true));
        }
        let direct = ends_in(RUNNING)
            || code
                .get(first.start..)
                .is_some_and(|at| at.starts_with(['`', '%']) || at.starts_with("qx"));
        for literal in together {
            self.probe_literal(&literal.text, direct);
        }
        if together.len() > 1 {
            let texts = || together.iter().map(|literal| literal.text.as_str());
            self.probe_literal(&texts().collect::<String>(), direct);
            let words: Vec<String> = texts().map(quoted).collect();
            self.probe_literal(&words.join(" "), direct);
            self.probe_literal(&filled(together), direct);
        }
    }

    pub(super) fn probe_literal(&mut self, text: &str, direct: bool) {
        let mut words = text.split_whitespace();
        let (Some(first), more) = (words.next(), words.next().is_some()) else {
            return;
        };
        // Plain words are names of programs too: `print("shutdown complete")`.
        let plain = self.harm_by_name(&Field::literal(first)) == Some(Harm::Power);
        if direct || (more && !plain) {
            self.probe_text(text);
        }
    }
}

/// Texts that code prints, perhaps: those that can be a command.
pub(super) fn printed(name: &str, words: &[Field]) -> Output {
    let speaks = |program: &table::Program| {
        let traits = &program.row.traits;
        traits.stdin || matches!(traits.code, "awk" | "sed")
    };
    if !table::find(name).is_some_and(speaks) {
        return Output::Unknown;
    }
    let sed = matches!(name, "sed" | "gsed");
    let mut output = Output::Unknown;
    for word in words.iter().skip(1) {
        let texts: Vec<String> = match word.text.strip_prefix('s').and_then(|s| s.chars().next()) {
            Some(delimiter) if sed => word.text.split(delimiter).map(str::to_owned).collect(),
            _ => {
                let all = literals(&word.text, "'\"`").into_iter();
                all.map(|literal| literal.text).collect()
            }
        };
        for text in texts.into_iter().take(MAX_TEXTS) {
            if text.trim().contains(char::is_whitespace) {
                output = output.then(Output::Text(text + "\n").maybe());
            }
        }
    }
    output
}

/// One word of a shell line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The first text with the others in the places that it leaves for them: `"ls %s" % "a"`.
fn filled(together: &[Literal]) -> String {
    let mut texts = together.iter().map(|literal| literal.text.as_str());
    let mut whole = texts.next().unwrap_or_default().to_owned();
    for text in texts {
        let place = ["%s", "{}", "%v", "{0}"]
            .into_iter()
            .find(|place| whole.contains(place));
        if let Some(place) = place {
            whole = whole.replacen(place, text, 1);
        }
    }
    whole
}

/// Whether only commas, dots, brackets and signs that join texts stand between two texts.
fn is_joined(code: &str, one: &Literal, next: &Literal) -> bool {
    let between = code.get(one.end..next.start).unwrap_or("x");
    between.len() < 16
        && between
            .replace("format", "")
            .chars()
            .all(|c| c.is_whitespace() || ",.+&[](%".contains(c))
}

/// The texts between quotes.
pub(super) fn literals(code: &str, quotes: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = code.get(at..) {
        let Some(character) = rest.chars().next() else {
            break;
        };
        let named = NAMED_QUOTES
            .iter()
            .filter(|_| quotes.len() > 1 && !follows_name(code, at))
            .find_map(|name| {
                let delimiter = rest.strip_prefix(name)?.chars().next()?;
                let close = closing(delimiter)?;
                Some((name.len() + delimiter.len_utf8(), close))
            });
        let opened = match named {
            Some(opened) => Some(opened),
            None if quotes.contains(character) => Some((1, character)),
            None => None,
        };
        let Some((skip, close)) = opened else {
            at += character.len_utf8();
            continue;
        };
        let Some((text, length)) = until(rest.get(skip..).unwrap_or_default(), close) else {
            at += character.len_utf8();
            continue;
        };
        let end = at + skip + length;
        found.push(Literal {
            start: at,
            end,
            text,
        });
        at = end;
    }
    found
}

fn follows_name(code: &str, at: usize) -> bool {
    let before = code.get(..at).unwrap_or_default().chars().next_back();
    before.is_some_and(|c| c == '_' || c == '$' || c == '@' || c.is_alphanumeric())
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        '<' => Some('>'),
        '/' | '|' | '!' => Some(open),
        _ => None,
    }
}

/// The text up to the quote that ends it, and how long it is with that quote.
fn until(rest: &str, close: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            c if c == close => return Some((text, at + c.len_utf8())),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::literals;

    fn texts(code: &str) -> Vec<String> {
        literals(code, "'\"`")
            .into_iter()
            .map(|literal| literal.text)
            .collect()
    }

    #[test]
    fn texts_are_found_in_all_their_quotes() {
        assert_eq!(texts("os.system('a b')"), ["a b"]);
        assert_eq!(texts(r#"system("a \"b\"\n")"#), ["a \"b\"\n"]);
        assert_eq!(texts("exec qw(rm -r a)"), ["rm -r a"]);
        assert_eq!(texts("x = %x[id] + `ls`"), ["id", "ls"]);
        assert_eq!(texts("$q{a} = 1 % (2)"), Vec::<String>::new());
        assert_eq!(texts("'open"), Vec::<String>::new());
    }
}
