//! `xargs`: a command whose last words come from standard input.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::{Invocation, Output, Walker};

impl Walker {
    pub(super) fn xargs(&mut self, words: &[Field], scan: &Scan, invocation: &Invocation) {
        let input = if scan.has("-a") {
            Output::Unknown
        } else {
            self.input.clone().unwrap_or_default()
        };
        for text in input.candidates() {
            let text = Output::Text(text);
            self.perhaps(|walker| walker.xargs_with(&text, words, scan, invocation));
        }
        self.xargs_with(&input, words, scan, invocation);
    }

    fn xargs_with(
        &mut self,
        input: &Output,
        words: &[Field],
        scan: &Scan,
        invocation: &Invocation,
    ) {
        let command: Vec<Field> = scan
            .rest
            .and_then(|at| words.get(at..))
            .unwrap_or_default()
            .to_vec();
        let command = if command.is_empty() {
            vec![Field::literal("echo")]
        } else {
            command
        };
        let values = if is_simple(scan) {
            input_words(input, scan)
        } else {
            self.unknown_word(&from_input());
            vec![from_input()]
        };
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
                // `-n 2`: each command gets two of the words.
                let most = scan.values("-n").next().map(|most| most.text.parse());
                let most = match most {
                    None => values.len().max(1),
                    Some(Ok(most)) if most > 0 => most,
                    Some(_) => {
                        self.unknown_word(&from_input());
                        values.len().max(1)
                    }
                };
                let mut chunks: Vec<&[Field]> = values.chunks(most).collect();
                if chunks.is_empty() {
                    chunks.push(&[]);
                }
                for chunk in chunks {
                    let mut words = command.clone();
                    words.extend_from_slice(chunk);
                    let inner = inner.clone();
                    self.forked(|walker| walker.dispatch(words, inner));
                }
            }
        }
        self.input = outside;
    }
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
            Some(output) => {
                let texts = output.candidates();
                let lines = texts.iter().flat_map(|text| text.split(['\n', '\0']));
                lines.map(Field::literal).chain([from_input()]).collect()
            }
            None => vec![from_input()],
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

/// Whether at most one option says how the input is cut, and one how it is handed on: of
/// several the last counts, or none.
fn is_simple(scan: &Scan) -> bool {
    let given = |names: &[&str]| {
        let named = scan.uses.iter().filter(|used| names.contains(&used.option));
        named.count()
    };
    let lines = given(&["-L", "-l", "--max-lines"]);
    let handed = given(&["-I", "-i", "--replace", "-n", "--max-args"]);
    let other = given(&["-s", "--max-chars", "-E", "-e", "--eof", "-J", "-S"]);
    let zero = scan.options.iter().filter(|met| *met == "-0").count();
    let cut = zero + given(&["-d"]);
    lines == 0 && other == 0 && handed <= 1 && cut <= 1
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
            let quotes = !scan.has("-0") && delimiter.is_none();
            pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .map(|piece| {
                    let plain = piece.trim_end_matches('\n').replace(['\'', '"', '\\'], "");
                    if quotes && piece.contains(['\'', '"', '\\']) {
                        // Where a quoted word ends is not followed.
                        Field::guess(plain)
                    } else {
                        Field::literal(if quotes { plain.as_str() } else { piece })
                    }
                })
                .collect()
        }
        Output::Names(names) => names.iter().map(|name| listed(name, scan)).collect(),
        Output::Unknown | Output::Pieces(_) => vec![from_input()],
    }
}

/// A name from a list. Unless a NUL ends it, one with a blank or a newline in it becomes two
/// words, and the second can be any path or option.
fn listed(name: &Field, scan: &Scan) -> Field {
    if name.whole && scan.has("-0") {
        return name.clone();
    }
    let mut name = name.clone().doubted();
    name.loose = true;
    name
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
