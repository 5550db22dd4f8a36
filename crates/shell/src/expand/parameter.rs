//! `$name` and `${name…}`: values, defaults, trimming, slices.

use super::field::{Field, UNKNOWN};
use super::glob;
use crate::reasons::Opacity;
use crate::syntax::{Operation, Parameter, Part, Word};
use crate::walk::{Walker, either};

/// Every cut of a longer text would have to be tried.
const MAX_TRIMMED: usize = 4096;

/// They say what a character is, and which are letters.
const LOCALE: &[&str] = &["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LANG"];

impl Walker {
    /// What a parameter stands for: one value, or the arguments one by one.
    pub(super) fn parameter(&mut self, parameter: &Parameter) -> Vec<Field> {
        let name = parameter.name.as_str();
        if matches!(name, "@" | "*")
            && let Some(arguments) = &self.scope.arguments
            && matches!(parameter.operation, Operation::Plain)
        {
            return arguments.clone();
        }
        let selected = match &parameter.subscript {
            None => Selected::At(0),
            Some(word) if matches!(word.raw.as_str(), "@" | "*") => Selected::All,
            Some(word) => self.index(word).map_or(Selected::Some, Selected::At),
        };
        let values = self.elements(parameter, selected);
        if matches!(parameter.operation, Operation::Plain)
            && let Some(values) = values
        {
            return values;
        }
        let value = match (values.as_deref(), &parameter.subscript) {
            (Some([only]), _) => only.clone(),
            (None, None) => self.variable(name),
            (None, Some(_)) => self.scalar_element(name, selected),
            _ => Field::unknown(),
        };
        let plain = value.text.is_ascii() && !self.sets_locale();
        let result = self.operate(parameter, value);
        let measured = matches!(
            parameter.operation,
            Operation::Length
                | Operation::TrimStart { .. }
                | Operation::TrimEnd { .. }
                | Operation::Replace { .. }
                | Operation::Slice { .. }
                | Operation::Case { .. }
        );
        // What counts as one character depends on the locale.
        vec![if measured && !plain && result.is_known() {
            result.doubted()
        } else {
            result
        }]
    }

    /// `$name`, `${name[1]}` or `${name[@]}` of an array.
    fn elements(&self, parameter: &Parameter, selected: Selected) -> Option<Vec<Field>> {
        let elements = self.scope.elements(&parameter.name)?;
        let at = match selected {
            Selected::All => return Some(elements.to_vec()),
            Selected::At(index) => match usize::try_from(index) {
                Ok(index) => elements.get(index),
                // Counted from the end.
                Err(_) => usize::try_from(index.unsigned_abs())
                    .ok()
                    .and_then(|back| elements.len().checked_sub(back))
                    .and_then(|index| elements.get(index)),
            },
            Selected::Some => None,
        };
        // Not every change is followed, so it may be any of them: the nearest to `/` counts.
        let any = || {
            elements
                .iter()
                .cloned()
                .reduce(|one, other| either(&one, &other))
        };
        at.cloned().or_else(any).map(|element| vec![element])
    }

    /// An element of what the line has not made an array.
    fn scalar_element(&self, name: &str, selected: Selected) -> Field {
        if name == "PIPESTATUS" && self.scope.variable(name).is_none() {
            return Field::integer();
        }
        let value = self.variable(name);
        // What was read into it, or its only element.
        if value.text.starts_with('/') || matches!(selected, Selected::At(0) | Selected::All) {
            return value.doubted();
        }
        Field::unknown()
    }

    /// The value of a variable, as far as the line or the shell says it.
    pub(crate) fn variable(&self, name: &str) -> Field {
        if let Some(variable) = self.scope.variable(name) {
            return variable.value.clone();
        }
        let argument = |index: usize| match &self.scope.arguments {
            Some(arguments) => arguments.get(index).cloned().unwrap_or_default(),
            None => Field::clone(&self.scope.argument_guess),
        };
        match name {
            "HOME" => Field::literal(self.places.home()),
            "PWD" => self
                .scope
                .directory
                .as_deref()
                .map_or_else(Field::unknown, Field::literal),
            "OLDPWD" => self
                .scope
                .previous
                .as_deref()
                .map_or_else(Field::unknown, Field::literal),
            "@" | "*" => Field::clone(&self.scope.argument_guess),
            "IFS" => Field::literal(" \t\n"),
            "_" => {
                let mut last = Field::clone(&self.scope.last_argument);
                last.holes.push(0);
                last
            }
            "0" => Field::guess("bash"),
            "BASH" | "SHELL" => Field::guess("/bin/bash"),
            "PATH" => Field::guess("/usr/local/bin:/usr/bin:/bin"),
            "TMPDIR" => Field::guess("/tmp"),
            "?" | "#" | "$" | "!" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "UID"
            | "EUID" | "PPID" | "BASHPID" | "BASH_SUBSHELL" | "HISTCMD" | "EPOCHSECONDS" => {
                Field::integer()
            }
            // The environment may have set them to anything.
            "COLUMNS" | "LINES" => Field {
                number: true,
                ..Field::unknown()
            },
            "-" | "USER" | "LOGNAME" | "HOSTNAME" | "HOSTTYPE" | "OSTYPE" | "MACHTYPE" | "LANG"
            | "TERM" | "BASH_VERSION" | "BASH_COMMAND" | "BASH_SOURCE" | "FUNCNAME" => {
                Field::unknown()
            }
            _ => match name.parse::<usize>() {
                Ok(number) => number.checked_sub(1).map_or_else(Field::unknown, argument),
                // Most likely not set at all.
                Err(_) => Field::guess(""),
            },
        }
    }

    /// Whether the line chooses a locale of its own.
    fn sets_locale(&self) -> bool {
        LOCALE
            .iter()
            .any(|name| self.scope.variable(name).is_some())
    }

    fn operate(&mut self, parameter: &Parameter, value: Field) -> Field {
        let name = parameter.name.as_str();
        match &parameter.operation {
            Operation::Plain => value,
            Operation::Length => match value.exact() {
                Some(text) if parameter.subscript.is_none() => {
                    Field::literal(text.chars().count().to_string())
                }
                _ => Field::integer(),
            },
            Operation::Default {
                word,
                assign,
                colon,
            } => {
                let other = self.single(word);
                let mut result = choose(&value, other, !value.text.is_empty());
                if !colon && value.text.is_empty() {
                    // Empty or not set at all: only the latter counts here.
                    result = result.doubted();
                }
                if *assign && parameter.subscript.is_some() {
                    self.assign(name, Field::unknown(), false);
                } else if *assign {
                    self.assign(name, result.clone(), false);
                }
                result
            }
            Operation::Alternative { word, colon } => {
                let other = self.single(word);
                if value.is_known() && (*colon || !value.text.is_empty()) {
                    return if value.text.is_empty() {
                        Field::default()
                    } else {
                        other
                    };
                }
                other.doubted()
            }
            Operation::Require(word) => {
                self.single(word);
                self.breaks += 1;
                if value.text.is_empty() {
                    Field::unknown()
                } else {
                    value
                }
            }
            Operation::TrimStart { pattern, longest } => {
                let pattern = self.pattern(pattern, parameter.quoted);
                trimmed(value, &pattern, *longest, true)
            }
            Operation::TrimEnd { pattern, longest } => {
                let pattern = self.pattern(pattern, parameter.quoted);
                trimmed(value, &pattern, *longest, false)
            }
            Operation::Replace { pattern, with, all } => {
                let written = is_written_out(pattern) && is_written_out(with);
                let (pattern, with) = (self.single(pattern), self.single(with));
                let result = replaced(value, &pattern, &with, *all);
                if written { result } else { result.doubted() }
            }
            Operation::Slice { offset, length } => {
                let from = self.index(offset);
                let count = length.as_ref().map(|word| self.index(word));
                sliced(&value, from, count)
            }
            Operation::Case { upper, all } => {
                let changed = |text: &str| {
                    if *upper {
                        text.to_uppercase()
                    } else {
                        text.to_lowercase()
                    }
                };
                let text = if *all {
                    changed(&value.text)
                } else {
                    let first = value.text.chars().next().map_or(0, char::len_utf8);
                    let (head, tail) = value.text.split_at(first);
                    format!("{}{tail}", changed(head))
                };
                Field { text, ..value }
            }
            Operation::Other { kind, words } => {
                for word in words {
                    self.single(word);
                }
                let raw = words.first().map_or("", |word| word.raw.as_str());
                let harmless = match kind {
                    b'@' => matches!(raw, "Q" | "E" | "U" | "u" | "L" | "a" | "A" | "K" | "k"),
                    b'/' | b'^' | b',' => true,
                    _ => false,
                };
                if !harmless {
                    self.found.opaque(Opacity::Construct {
                        what: format!("${{{name}{raw}}}"),
                    });
                    // `${name@P}` expands the value again, `${!name}` the name in it.
                    let named = if *kind == b'!' { raw } else { name };
                    let named = self.variable(named.trim_end_matches(['*', '@']));
                    self.evaluated(&named.text);
                }
                Field::unknown()
            }
        }
    }

    /// A word as a pattern: quoted characters match themselves, but the quotes
    /// around the whole parameter do not count.
    fn pattern(&mut self, word: &Word, quoted: bool) -> Field {
        let mut fields = Vec::new();
        self.fields(word, &mut fields);
        let field = match fields.len() {
            0 => Field::default(),
            1 => fields.pop().unwrap_or_default(),
            _ => Field::unknown(),
        };
        let plain = is_written_out(word)
            && field.text.is_ascii()
            && !field.text.contains(['[', '(', ')', '{', '~']);
        if !plain {
            return field.doubted();
        }
        if !quoted {
            return field;
        }
        if word.raw.contains(['\'', '"', '\\']) {
            return if field.text.contains(['*', '?', '\\']) {
                field.doubted()
            } else {
                field
            };
        }
        Field::names(field.text, false)
    }
}

/// Which elements of an array are meant.
#[derive(Clone, Copy)]
enum Selected {
    All,
    At(i64),
    /// One of them, but it is not known which.
    Some,
}

/// A piece of a value; the index of it is not known where it is nothing.
fn sliced(value: &Field, from: Option<i64>, count: Option<Option<i64>>) -> Field {
    let number = |index: i64| usize::try_from(index).ok();
    let (Some(from), Ok(count)) = (
        from.and_then(number),
        count.map_or(Ok(None), |count| count.and_then(number).map(Some).ok_or(())),
    ) else {
        return Field::unknown();
    };
    let rest = value.text.chars().skip(from);
    let text: String = match count {
        Some(count) => rest.take(count).collect(),
        None => rest.collect(),
    };
    reshaped(value, text)
}

/// Whether a word is text alone, with nothing in it to expand.
fn is_written_out(word: &Word) -> bool {
    word.parts
        .iter()
        .all(|part| matches!(part, Part::Text(_) | Part::Quoted(_)))
}

fn choose(value: &Field, other: Field, filled: bool) -> Field {
    if value.is_known() {
        return if filled { value.clone() } else { other };
    }
    // Not known whether it is set: the written default is the better guess.
    let guess = if filled && !value.text.contains(UNKNOWN) {
        value.clone()
    } else {
        other
    };
    guess.doubted()
}

fn reshaped(value: &Field, text: String) -> Field {
    let holes = if value.is_known() && !value.is_pattern() {
        Vec::new()
    } else {
        vec![0]
    };
    Field {
        text,
        holes,
        ..Field::default()
    }
}

fn trimmed(value: Field, pattern: &Field, longest: bool, start: bool) -> Field {
    if !pattern.is_known() || value.text.len() > MAX_TRIMMED {
        return Field::unknown();
    }
    let shape: Vec<String> = pattern
        .components()
        .into_iter()
        .map(|(text, _)| text)
        .collect();
    let shape = shape.join("/");
    let text = value.text.as_str();
    let mut cuts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    // The shortest match at the start ends first; the shortest at the end starts last.
    if start == longest {
        cuts.reverse();
    }
    for cut in cuts {
        let (head, tail) = text.split_at(cut);
        let (matched, kept) = if start { (head, tail) } else { (tail, head) };
        if glob::matches(&shape, matched) {
            let kept = kept.to_owned();
            return reshaped(&value, kept);
        }
    }
    value
}

fn replaced(value: Field, pattern: &Field, with: &Field, all: bool) -> Field {
    let plain = pattern
        .exact()
        .filter(|text| !text.contains(['*', '?', '[', '\\', '(', ')']))
        .filter(|text| !text.starts_with(['#', '%', '~']) && text.is_ascii());
    // `&` stands for what was matched in some shells.
    let with = with.exact().filter(|text| !text.contains(['&', '\\', '~']));
    let (Some(pattern), Some(with)) = (plain, with) else {
        return Field::unknown();
    };
    if pattern.is_empty() {
        return value;
    }
    let text = if all {
        value.text.replace(pattern, with)
    } else {
        value.text.replacen(pattern, with, 1)
    };
    reshaped(&value, text)
}
