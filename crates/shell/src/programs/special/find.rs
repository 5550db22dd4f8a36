//! `find`: a small language whose actions remove, write and run.

use crate::expand::field::Field;
use crate::reasons::Opacity;
use crate::walk::{Invocation, Output, Walker};

/// Tests of the name: they select some files if letters or digits have to be there.
const NAMING: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
];
/// Tests that take one word and fit one file.
const SINGLE: &[&str] = &["-inum", "-samefile"];
/// Tests that take one word and may fit everything, whatever it is.
const WIDE: &[&str] = &[
    "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer",
    "-cnewer", "-user", "-group", "-uid", "-gid", "-perm", "-links", "-used", "-xtype",
];
/// Options and tests that take one word and select nothing.
const NEUTRAL: &[&str] = &[
    "-maxdepth",
    "-mindepth",
    "-type",
    "-regextype",
    "-printf",
    "-fstype",
    "-D",
    "-context",
];
/// Tests without a word that select some files.
const NARROWING_ALONE: &[&str] = &["-empty", "-nouser", "-nogroup", "-false"];
/// Actions that write to the file named next.
const WRITING: &[&str] = &["-fprint", "-fprint0", "-fls", "-fprintf"];

/// What the search has selected up to some point.
#[derive(Clone, Debug, Default)]
struct Selection {
    narrow: bool,
    name: Option<Field>,
}

/// A position in the expression.
struct Expression<'w> {
    words: &'w [Field],
    at: usize,
    starts: Vec<Field>,
    prints: bool,
    acts: bool,
    /// What the commands print that it runs.
    output: Output,
    depth: usize,
    last: Selection,
}

impl Walker {
    /// Walks the expression; what it prints comes back as names.
    pub(super) fn find(&mut self, arguments: &[Field], invocation: &Invocation) -> Output {
        let mut at = 0;
        while arguments.get(at).is_some_and(|w| {
            matches!(w.text.as_str(), "-H" | "-L" | "-P") || w.text.starts_with("-O")
        }) {
            at += 1;
        }
        let is_start = |word: &&Field| {
            !word.text.starts_with('-') && !matches!(word.text.as_str(), "(" | ")" | "!" | ",")
        };
        let mut starts: Vec<Field> = arguments
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(is_start)
            .cloned()
            .collect();
        at += starts.len();
        if starts.is_empty() {
            starts.push(Field::literal("."));
        }
        for start in &starts {
            self.read_path(start);
        }
        let mut expression = Expression {
            words: arguments,
            at,
            starts,
            prints: false,
            acts: false,
            output: Output::nothing(),
            depth: 0,
            last: Selection::default(),
        };
        self.alternatives(&mut expression, &Selection::default(), invocation);
        if expression.at < arguments.len() {
            self.code_opaque("find");
        }
        if expression.acts && !expression.prints {
            return expression.output;
        }
        let selection = expression.last.clone();
        let has = |actions: &[&str]| {
            let mut texts = arguments.iter().map(|word| word.text.as_str());
            texts.any(|text| actions.contains(&text))
        };
        let whole = has(&["-print0"]) && !has(&["-print", "-printf", "-ls"]) && !expression.acts;
        let name = |start: &Field| Field {
            whole,
            ..found(start, &selection)
        };
        let names = expression.starts.iter().map(name).collect();
        expression.output.then(Output::Names(names))
    }

    /// `a b -o c d`: hands back what is selected if every alternative selects.
    fn alternatives(
        &mut self,
        expression: &mut Expression<'_>,
        before: &Selection,
        invocation: &Invocation,
    ) -> Selection {
        let mut all: Option<Selection> = None;
        loop {
            let branch = self.conjunction(expression, before, invocation);
            all = Some(match all {
                None => branch,
                Some(earlier) => Selection {
                    narrow: earlier.narrow && branch.narrow,
                    name: None,
                },
            });
            match expression
                .words
                .get(expression.at)
                .map(|word| word.text.as_str())
            {
                Some("-o" | "-or" | ",") => expression.at += 1,
                _ => break,
            }
        }
        let selection = all.unwrap_or_default();
        expression.last = selection.clone();
        selection
    }

    fn conjunction(
        &mut self,
        expression: &mut Expression<'_>,
        before: &Selection,
        invocation: &Invocation,
    ) -> Selection {
        let mut selection = before.clone();
        let mut negated = false;
        while let Some(word) = expression.words.get(expression.at) {
            let text = word.text.as_str();
            if matches!(text, "-o" | "-or" | "," | ")") {
                break;
            }
            expression.at += 1;
            if !word.is_known() || word.is_pattern() {
                self.unknown_word(word);
            }
            match text {
                "!" | "-not" => {
                    negated = !negated;
                    continue;
                }
                "-a" | "-and" => continue,
                "(" => {
                    expression.depth += 1;
                    let inner = if expression.depth > 50 {
                        self.unchecked("the line is nested too deeply");
                        Selection::default()
                    } else {
                        self.alternatives(expression, &Selection::default(), invocation)
                    };
                    expression.depth -= 1;
                    if expression
                        .words
                        .get(expression.at)
                        .is_some_and(|word| word.text == ")")
                    {
                        expression.at += 1;
                    }
                    if inner.narrow && !negated {
                        selection.narrow = true;
                        selection.name = selection.name.or(inner.name);
                    }
                }
                _ if NAMING.contains(&text)
                    || SINGLE.contains(&text)
                    || WIDE.contains(&text)
                    || text.starts_with("-newer") =>
                {
                    let value = expression.words.get(expression.at).cloned();
                    expression.at += 1;
                    let value = value.unwrap_or_default();
                    if !value.is_known() {
                        self.unknown_word(&value);
                    }
                    let narrows = SINGLE.contains(&text)
                        || (NAMING.contains(&text)
                            && asks_for_letters(&value.text)
                            && !self.covers_grave(&value.text));
                    if !negated && narrows {
                        selection.narrow = true;
                        if let Some(name) = named(text, &value) {
                            selection.name = Some(name);
                        }
                    }
                }
                _ if NEUTRAL.contains(&text) => expression.at += 1,
                _ if NARROWING_ALONE.contains(&text) => selection.narrow |= !negated,
                _ => self.action(text, expression, &selection, invocation),
            }
            negated = false;
        }
        selection
    }

    /// Whether a pattern of paths starts with all of a place that must not go: `/home*`.
    fn covers_grave(&self, pattern: &str) -> bool {
        let literal = pattern
            .split(['*', '?', '[', '\\', '.'])
            .next()
            .unwrap_or_default();
        pattern.starts_with('/') && self.places.grave(literal.trim_end_matches('/')).is_some()
    }

    fn action(
        &mut self,
        text: &str,
        expression: &mut Expression<'_>,
        selection: &Selection,
        invocation: &Invocation,
    ) {
        match text {
            "-delete" => {
                expression.acts = true;
                for start in expression.starts.clone() {
                    self.delete_path(&found(&start, selection), true);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                expression.acts = true;
                let end = expression
                    .words
                    .iter()
                    .skip(expression.at)
                    .zip(
                        expression
                            .words
                            .iter()
                            .skip(expression.at.saturating_sub(1)),
                    )
                    .position(|(word, before)| {
                        // `+` ends the command only behind the names.
                        word.text == ";" || (word.text == "+" && before.text == "{}")
                    })
                    .map_or(expression.words.len(), |length| expression.at + length);
                let command = expression.words.get(expression.at..end).unwrap_or_default();
                expression.at = end + 1;
                for start in expression.starts.clone() {
                    let printed = self.run_on(command, &found(&start, selection), invocation);
                    let before = std::mem::take(&mut expression.output);
                    expression.output = before.then(printed);
                }
            }
            _ if WRITING.contains(&text) => {
                if let Some(file) = expression.words.get(expression.at) {
                    self.write_path(file);
                }
                expression.at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-print" | "-print0" | "-ls" => {
                expression.prints = true;
            }
            "-depth"
            | "-d"
            | "-daystart"
            | "-follow"
            | "-mount"
            | "-xdev"
            | "-noleaf"
            | "-prune"
            | "-quit"
            | "-true"
            | "-readable"
            | "-executable"
            | "-writable"
            | "-warn"
            | "-nowarn"
            | "-help"
            | "-version"
            | "-ignore_readdir_race"
            | "-E"
            | "-X"
            | "-s"
            | "-x" => {}
            _ => {
                let (program, word) = ("find".to_owned(), text.to_owned());
                self.found.opaque(Opacity::Option { program, word });
            }
        }
    }

    /// Runs a command template on what was found.
    pub(super) fn run_on(
        &mut self,
        command: &[Field],
        names: &Field,
        invocation: &Invocation,
    ) -> Output {
        let words: Vec<Field> = command
            .iter()
            .map(|word| match word.text.split_once("{}") {
                Some(("", "")) => names.clone(),
                Some((head, tail)) => {
                    let mut field = Field::literal(head);
                    field.append(names);
                    field.append(&Field::literal(tail));
                    field
                }
                None => word.clone(),
            })
            .collect();
        let mut inner = invocation.clone();
        inner.wrappers.push("find".to_owned());
        self.forked(|walker| walker.dispatch(words, inner))
    }
}

/// Whether a name has to have a letter or digit to fit a pattern.
fn asks_for_letters(pattern: &str) -> bool {
    let mut outside = true;
    pattern.chars().any(|character| {
        match character {
            '[' => outside = false,
            ']' => outside = true,
            _ => {}
        }
        outside && character.is_alphanumeric()
    })
}

/// The last part of the names that a test lets through, if it says.
fn named(test: &str, value: &Field) -> Option<Field> {
    if !value.is_known() {
        return None;
    }
    let last = value.text.rsplit('/').next().unwrap_or_default();
    let literal = !last.is_empty() && !last.contains(['*', '?', '[', '\\']);
    match test {
        "-name" => Some(value.clone()),
        "-iname" if literal => Some(Field::literal(last.to_lowercase())),
        "-path" | "-wholename" if literal => Some(Field::literal(last)),
        "-ipath" | "-iwholename" if literal => Some(Field::literal(last.to_lowercase())),
        _ => None,
    }
}

/// The names below a start that a selection leaves.
fn found(start: &Field, selection: &Selection) -> Field {
    let mut field = start.clone();
    if !field.text.ends_with('/') {
        field.append(&Field::literal("/"));
    }
    field.append(&Field::names("**", false));
    if let Some(name) = &selection.name {
        let pattern = Field::names(name.text.as_str(), false);
        field.append(&Field::literal("/"));
        field.append(&pattern);
    }
    field.narrow = selection.narrow;
    field.deep = true;
    field
}
