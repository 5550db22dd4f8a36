//! A program's words, sorted by what its row says about them.

use std::borrow::Cow;

use super::names;
use super::table::{Arity, Effect, End, Flag, Replaces, Row};
use crate::expand::field::Field;

/// A word with what it does.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) effect: Effect,
    pub(crate) value: Field,
    /// The option it belongs to; empty for operands.
    pub(crate) option: &'static str,
}

/// All words of a command, sorted.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) uses: Vec<Use>,
    /// The operands alone, in order, before their kinds were applied.
    pub(crate) operands: Vec<Field>,
    /// The options that were met, by the first name of their row or as written.
    pub(crate) options: Vec<Cow<'static, str>>,
    pub(crate) marks: Vec<char>,
    /// How many uses of options stand before the first operand, if there is one.
    pub(crate) leading: Option<usize>,
    /// Where in the words the command, line or subcommand starts.
    pub(crate) rest: Option<usize>,
    /// Words that may turn out to be options, and options that are not listed.
    pub(crate) unforeseen: Vec<Field>,
    /// Values of options that look like paths, with their option.
    doubtful: Vec<(&'static str, Field)>,
    first_replaced: bool,
    last_replaced: bool,
}

impl Scan {
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|met| met == option)
    }

    pub(crate) fn marked(&self, mark: char) -> bool {
        self.marks.contains(&mark)
    }

    /// The values of an option.
    pub(crate) fn values<'s>(&'s self, option: &'s str) -> impl Iterator<Item = &'s Field> {
        self.uses
            .iter()
            .filter(move |used| used.option == option)
            .map(|used| &used.value)
    }
}

/// Sorts the words behind the program's name.
pub(crate) fn scan(row: &Row, words: &[Field]) -> Scan {
    let mut scan = Scan::default();
    let mut index = 1;
    let mut options_ended = false;
    while let Some(word) = words.get(index) {
        index += 1;
        let text = word.text.as_str();
        if row.traits.stop && (scan.first_replaced || !scan.operands.is_empty()) {
            scan.operands.push(word.clone());
            continue;
        }
        if !options_ended && text == "--" {
            options_ended = true;
            continue;
        }
        let is_option = !options_ended && text.len() > 1 && text.starts_with('-');
        if is_option || (text == "-" && names::lists_dash(row)) {
            let from = index;
            index = scan.option(row, words, index, word);
            scan.read_again(row, words, from, index);
            continue;
        }
        if !options_ended && !word.is_known() && word.may_be_option() && !word.number {
            scan.unforeseen.push(word.clone());
        }
        // Wrappers take any word with `=` in it for a setting, whatever its name.
        let setting = row.shape.settings && !text.starts_with('=') && text.contains('=');
        if setting && scan.operands.is_empty() {
            scan.uses.push(Use {
                effect: Effect::Setting,
                value: word.clone(),
                option: "",
            });
            continue;
        }
        let fixed = row.shape.before.len();
        if row.shape.end != End::Operands && scan.operands.len() >= fixed {
            scan.rest = Some(index - 1);
            break;
        }
        scan.leading.get_or_insert(scan.uses.len());
        scan.operands.push(word.clone());
    }
    scan.apply_shape(row);
    scan
}

impl Scan {
    /// Reads one option word; hands back where the next word is.
    fn option(&mut self, row: &Row, words: &[Field], next: usize, word: &Field) -> usize {
        let text = word.text.as_str();
        let long = text.starts_with("--");
        if !long && !row.traits.long && text != "-" {
            return self.cluster(row, words, next, word);
        }
        let name_end = text.find('=').unwrap_or(text.len());
        let name = text.get(..name_end).unwrap_or_default();
        let hole_in_name = word
            .holes
            .iter()
            .any(|hole| *hole <= name_end && name_end == text.len())
            || word.holes.iter().any(|hole| *hole < name_end);
        if hole_in_name && !word.is_known() {
            self.unforeseen.push(word.clone());
        }
        let attached = (name_end < text.len()).then(|| word.tail(name_end + 1));
        let meant = names::matching(row, name, long);
        if meant.flags.is_empty() {
            if long || !self.glued(row, word) {
                self.unlisted(row, word);
            }
            return next;
        }
        if meant.abbreviated && row.traits.runner {
            // It may be another option's full name.
            self.unlisted(row, word);
        }
        // Of an ambiguous abbreviation the strongest meaning counts.
        let mut consumed = next;
        for flag in meant.flags {
            consumed = consumed.max(self.take(flag, words, next, attached.clone()));
        }
        consumed
    }

    /// A value that starts with `-` is an option, should the one before it take no value after
    /// all: what it would do counts too.
    fn read_again(&mut self, row: &Row, words: &[Field], from: usize, to: usize) {
        for at in from..to {
            let Some(word) = words.get(at).filter(|word| may_be_option(&word.text)) else {
                continue;
            };
            if row.traits.runner {
                self.unforeseen.push(word.clone());
                continue;
            }
            let mut again = Self::default();
            again.option(row, words, at + 1, word);
            let replaces = again.first_replaced || again.last_replaced;
            if replaces || !again.marks.is_empty() {
                self.unforeseen.push(word.clone());
            }
            self.uses.extend(
                again
                    .uses
                    .into_iter()
                    .filter(|used| used.effect != Effect::Data),
            );
        }
    }

    /// `-lX` written as one word by programs whose options have one dash.
    fn glued(&mut self, row: &Row, word: &Field) -> bool {
        let found = names::glued(row, &word.text);
        if let Some((flag, length)) = found {
            self.take(flag, &[], 0, Some(word.tail(length)));
        }
        found.is_some()
    }

    /// `-abc`: letters, one of which may take the rest or the next word.
    fn cluster(&mut self, row: &Row, words: &[Field], next: usize, word: &Field) -> usize {
        let text = word.text.as_str();
        if text
            .get(1..)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        {
            self.options.push(Cow::Owned(text.to_owned()));
            return next;
        }
        // Some rows list options of several letters with one dash.
        if let Some(flag) = row
            .flags()
            .find(|flag| text.len() > 2 && flag.names.contains(&text))
        {
            return self.take(flag, words, next, None);
        }
        if word.holes.first().is_some_and(|hole| *hole <= 1) {
            self.unforeseen.push(word.clone());
        }
        for (at, letter) in text.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let known = row.flags().find(|flag| {
                flag.names.iter().any(|name| {
                    let mut characters = name.chars().skip(1);
                    characters.next() == Some(letter) && characters.next().is_none()
                })
            });
            let Some(flag) = known else {
                self.unlisted(row, word);
                continue;
            };
            if flag.arity == Arity::None {
                self.take(flag, words, next, None);
                continue;
            }
            let attached = (end < text.len()).then(|| {
                let value = word.tail(end);
                if value.text.starts_with('=') && !word.is_known() {
                    value.tail(1)
                } else {
                    value
                }
            });
            return self.take(flag, words, next, attached);
        }
        if !word.is_known() {
            self.unforeseen.push(word.clone());
        }
        next
    }

    fn unlisted(&mut self, row: &Row, word: &Field) {
        self.options.push(Cow::Owned(word.text.clone()));
        let text = word.text.as_str();
        let listed = matches!(text, "--help" | "--version") || names::family(row, text);
        if row.traits.closed && !listed {
            self.unforeseen.push(word.clone());
        }
    }

    fn take(
        &mut self,
        flag: &Flag,
        words: &[Field],
        next: usize,
        attached: Option<Field>,
    ) -> usize {
        let name = flag.names.first().copied().unwrap_or_default();
        self.options
            .extend(flag.names.iter().map(|name| Cow::Borrowed(*name)));
        self.marks.extend(flag.mark);
        match flag.replaces {
            Replaces::Nothing => {}
            Replaces::First => self.first_replaced = true,
            Replaces::Last => self.last_replaced = true,
        }
        let mut consumed = next;
        let value = match (flag.arity, attached) {
            (Arity::Required, None) => {
                consumed = next + 1;
                let value = words.get(next).cloned();
                self.doubt(flag, name, value.as_ref());
                value
            }
            (Arity::Pair, _) => {
                consumed = next + 2;
                for value in words.iter().skip(next).take(2) {
                    self.doubt(flag, name, Some(value));
                }
                words.get(next).cloned()
            }
            (Arity::None, _) => None,
            (_, attached) => attached,
        };
        let missing = value.is_none();
        // An option that runs or writes something without being told what: a default nobody sees here.
        let effect = match (flag.effect, flag.arity) {
            (Effect::Text | Effect::Write, Arity::Optional) if missing => Effect::Opaque,
            (_, Arity::Optional) if missing && flag.effect != Effect::Opaque => Effect::Data,
            (effect, _) => effect,
        };
        let value = value.unwrap_or_else(|| Field::literal(name));
        if missing && flag.arity == Arity::Required {
            return consumed;
        }
        self.uses.push(Use {
            effect,
            value,
            option: name,
        });
        consumed
    }

    /// Keeps a word of data that would be a path, were the option one without a value.
    fn doubt(&mut self, flag: &Flag, name: &'static str, value: Option<&Field>) {
        if flag.effect == Effect::Data
            && let Some(value) = value
            && looks_like_path(&value.text)
        {
            self.doubtful.push((name, value.clone()));
        }
    }

    /// Gives every operand its kind.
    fn apply_shape(&mut self, row: &Row) {
        let shape = &row.shape;
        let skip = usize::from(self.first_replaced && !shape.before.is_empty());
        let before = shape.before.get(skip..).unwrap_or_default();
        let keep = shape.after.len() - usize::from(self.last_replaced && !shape.after.is_empty());
        let after = shape.after.get(..keep).unwrap_or_default();
        let count = self.operands.len();
        let tail_from = count.saturating_sub(after.len()).max(before.len());
        for (index, operand) in self.operands.iter().enumerate() {
            let effect = if let Some(effect) = before.get(index) {
                *effect
            } else if index >= tail_from {
                after
                    .get(index - tail_from)
                    .copied()
                    .unwrap_or(Effect::Data)
            } else {
                shape.many.unwrap_or(Effect::Data)
            };
            let effect = match effect {
                _ if self.marks.contains(&'A') => Effect::Write,
                _ if self.marks.contains(&'X') => Effect::Read,
                effect => effect,
            };
            self.uses.push(Use {
                effect,
                value: operand.clone(),
                option: "",
            });
        }
        let meant = shape.many.or(shape.before.first().copied());
        if let (true, Some(effect)) = (row.traits.both, meant) {
            self.uses
                .extend(self.doubtful.drain(..).map(|(option, value)| Use {
                    effect,
                    value,
                    option,
                }));
        }
    }
}

/// Not a lone dash, a negative number or a sentence that begins with a dash.
fn may_be_option(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(char::is_whitespace)
            && !rest.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A single character is a delimiter, however much it looks like a directory.
pub(super) fn looks_like_path(text: &str) -> bool {
    text.chars().nth(1).is_some() && (text.starts_with(['.', '~']) || text.contains('/'))
}

/// `NAME=value`.
pub(crate) fn is_setting(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::{self, Effect, End, Row};
    use crate::{Analysis, LineContext, analyse};

    const PATH: &str = "/etc/passwd";

    fn said(line: &str) -> Analysis {
        analyse(
            line,
            &LineContext {
                cwd: "",
                home: Some("/home/ann"),
                roots: &["/home/ann/work"],
            },
        )
    }

    fn sees_path(line: &str) -> bool {
        let facts = said(line).facts;
        let touched = [&facts.reads, &facts.writes, &facts.deletes]
            .iter()
            .any(|list| list.iter().any(|path| path == PATH));
        let run = facts.runs.iter().any(|run| run.words == [PATH]);
        touched || run || !facts.complete
    }

    fn readers() -> impl Iterator<Item = (&'static str, &'static Row)> {
        table::names().filter_map(|name| {
            let row = &*table::find(name)?.row;
            row.traits.both.then_some((name, row))
        })
    }

    /// Whatever the table says about an option: the path behind it does not get lost.
    #[test]
    fn no_option_of_a_reader_hides_the_path_behind_it() {
        let mut lines = Vec::new();
        for (name, row) in readers() {
            let options: Vec<&str> = row.flags().flat_map(|flag| flag.names.clone()).collect();
            let letters: Vec<&str> = options
                .iter()
                .filter(|option| option.len() == 2)
                .filter_map(|option| option.get(1..))
                .collect();
            lines.extend(
                options
                    .iter()
                    .map(|option| format!("{name} {option} {PATH}")),
            );
            for first in &letters {
                lines.extend(
                    letters
                        .iter()
                        .map(|second| format!("{name} -{first}{second} {PATH}")),
                );
            }
            lines.push(format!("{name} --unheard-of {PATH}"));
        }
        assert!(lines.len() > 5000, "{}", lines.len());
        let lost: Vec<&String> = lines.iter().filter(|line| !sees_path(line)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    /// Programs that read all their operands and whose options name directories and patterns too.
    const NAME_MORE: &[&str] = &[
        "gcc",
        "g++",
        "cc",
        "c++",
        "clang",
        "clang++",
        "cpp",
        "tcc",
        "ld",
        "as",
        "nasm",
        "yasm",
        "cmake",
        "ctags",
        "etags",
        "nodemon",
        "pandoc",
        "pdflatex",
        "latex",
        "tex",
        "xelatex",
        "lualatex",
        "pdftex",
        "xmllint",
        "bc",
        "javac",
        "rustc",
        "gofmt",
        "goimports",
        "xsltproc",
    ];

    #[test]
    fn every_plain_reader_is_looked_after() {
        for name in table::names().filter(|name| !NAME_MORE.contains(name)) {
            let Some(program) = table::find(name) else {
                continue;
            };
            let Row { shape, traits, .. } = &*program.row;
            let reads_all = shape.many == Some(Effect::Read)
                && shape.before.is_empty()
                && shape.after.is_empty()
                && shape.end == End::Operands;
            assert!(
                !reads_all || traits.both || traits.own || traits.opaque,
                "{name}"
            );
        }
    }
}
