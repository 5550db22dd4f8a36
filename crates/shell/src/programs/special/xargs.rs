//! `xargs`: a command whose last words come from standard input.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::programs::table;
use crate::walk::{Invocation, Output, Walker};

impl Walker {
    pub(super) fn xargs(&mut self, words: &[Field], scan: &Scan, invocation: &Invocation) {
        let mut command: Vec<Field> = scan
            .rest
            .and_then(|at| words.get(at..))
            .unwrap_or_default()
            .to_vec();
        if command.is_empty() {
            command.push(Field::literal("echo"));
        }
        let input = if scan.has("-a") {
            Output::Unknown
        } else {
            self.input.clone().unwrap_or_default()
        };
        let values = if is_simple(scan) {
            input_words(&input, scan)
        } else {
            self.unknown_word(&from_input());
            vec![from_input()]
        };
        let bare = matches!(&input, Output::Names(names) if names.iter().any(|name| name.loose));
        if bare && starts_runner(&command) {
            self.unknown_word(&from_input());
        }
        let placeholder = scan
            .values("-I")
            .chain(scan.values("-i"))
            .chain(scan.values("--replace"))
            .map(|field| field.text.clone())
            .next();
        let placeholder = match placeholder {
            Some(text) if text == "-i" || text == "--replace" => Some("{}".to_owned()),
            other => other,
        };
        let mut inner = invocation.clone();
        inner.wrappers.push("xargs".to_owned());
        let outside = self.input.take();
        match placeholder.filter(|text| !text.is_empty()) {
            Some(placeholder) => {
                for value in &values {
                    let words = command
                        .iter()
                        .map(|word| filled(word, &placeholder, value))
                        .collect();
                    let inner = inner.clone();
                    self.forked(|walker| walker.dispatch(words, inner));
                }
            }
            None => {
                command.extend(values);
                self.forked(|walker| walker.dispatch(command, inner));
            }
        }
        self.input = outside;
    }
}

impl Walker {
    /// `parallel command ::: values`: the command is shell text, the values stand for `{}`.
    pub(super) fn parallel(&mut self, words: &[Field], scan: &Scan) {
        let rest = scan.rest.and_then(|at| words.get(at..)).unwrap_or_default();
        let is_separator = |word: &Field| word.text.starts_with(":::");
        let end = rest.iter().position(is_separator).unwrap_or(rest.len());
        let (command, given) = rest.split_at(end);
        let values: Vec<Field> = match &self.input {
            _ if !given.is_empty() => {
                let value = |word: &&Field| !is_separator(word);
                given.iter().filter(value).cloned().collect()
            }
            // Whole lines, other than `xargs`.
            Some(Output::Text(text)) => text.split(['\n', '\0']).map(Field::literal).collect(),
            Some(Output::Names(names)) => names.clone(),
            _ => vec![from_input()],
        };
        let command: Vec<&str> = command.iter().map(|word| word.text.as_str()).collect();
        let command = command.join(" ");
        let text = match () {
            () if command.contains("{}") => command.replace("{}", "\"$1\""),
            () => format!("{command} \"$1\""),
        };
        let outside = self.input.take();
        for value in values {
            if command.is_empty() {
                self.child_line(&value.text, Vec::new());
            } else {
                self.child_line(&text, vec![value]);
            }
        }
        self.input = outside;
    }
}

/// Whether a command starts a program whose options matter, and may be handed more of them.
/// `sed -i` on what a search found is everyday work.
fn starts_runner(command: &[Field]) -> bool {
    let runner = command
        .first()
        .filter(|program| program.text != "sed")
        .and_then(|program| table::find(&program.text))
        .is_some_and(|program| program.row.traits.runner);
    runner && !command.iter().any(|word| word.text == "--")
}

/// Whether at most one option says how the input is cut, and one how it is handed on: of
/// several the last counts, or none.
fn is_simple(scan: &Scan) -> bool {
    let given = |names: &[&str]| {
        let named = scan.uses.iter().filter(|used| names.contains(&used.option));
        named.count()
    };
    let lines = given(&["-L", "-l", "--max-lines"]);
    let handed = given(&["-I", "-i", "--replace", "-n", "--max-args"]);
    let zero = scan.options.iter().filter(|met| *met == "-0").count();
    let cut = zero + given(&["-d", "-E", "-e", "--eof"]);
    lines == 0 && handed <= 1 && cut <= 1
}

/// The words that standard input gives.
fn input_words(input: &Output, scan: &Scan) -> Vec<Field> {
    match input {
        Output::Text(text) => {
            let delimiter = scan.values("-d").next().map(|field| field.text.clone());
            let whole_lines = scan.has("-I") || scan.has("-i") || scan.has("-L");
            let pieces: Vec<&str> = match delimiter.as_deref() {
                _ if scan.has("-0") => text.split('\0').collect(),
                Some("\\n" | "\n") => text.split('\n').collect(),
                Some("\\0") => text.split('\0').collect(),
                Some(other) if other.chars().count() == 1 => text.split(other).collect(),
                Some(_) => return vec![from_input()],
                None if whole_lines => text.split('\n').map(str::trim_start).collect(),
                None => text.split_whitespace().collect(),
            };
            pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .map(|piece| {
                    Field::literal(piece.trim_end_matches('\n').replace(['\'', '"', '\\'], ""))
                })
                .collect()
        }
        Output::Names(names) => names.clone(),
        Output::Unknown => vec![from_input()],
    }
}

fn from_input() -> Field {
    let mut field = Field::unknown();
    field.from_input = true;
    field.loose = true;
    field.written = Some("…".to_owned());
    field
}

fn filled(word: &Field, placeholder: &str, value: &Field) -> Field {
    if word.text == placeholder {
        return value.clone();
    }
    let Some((head, tail)) = word.text.split_once(placeholder) else {
        return word.clone();
    };
    let mut field = Field::literal(head);
    field.append(value);
    field.append(&Field::literal(tail.replace(placeholder, &value.text)));
    field
}
