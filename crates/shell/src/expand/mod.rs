//! Words become fields.
//!
//! In comes a [`Word`] as it was written; out come the [`Field`]s a program
//! would get: braces, tilde, variables, substitutions, splitting, in the order
//! in which a shell does them. What is only known at run time leaves a hole in
//! the field, with the likeliest text as a guess, so that `rm -rf $UNSET/` is
//! seen for what it would do. Substitutions are walked where they stand.

mod arithmetic;
pub(crate) mod brace;
pub(crate) mod field;
pub(crate) mod glob;
mod parameter;

use std::rc::Rc;

use crate::programs::scan::is_setting;
use crate::reasons::Opacity;
use crate::syntax::{Node, Operation, Part, Script, Word};
use crate::walk::{Output, Walker};
use field::{Field, FieldBuilder};

/// What a value costs besides its text: empty ones can double too.
const VALUE: usize = 64;

impl Walker {
    /// The fields of a word in command position.
    pub(crate) fn fields(&mut self, word: &Word, out: &mut Vec<Field>) {
        if let [Part::Text(text)] = word.parts.as_slice()
            && !text.contains(['{', '~', '*', '?', '['])
        {
            out.push(Field::literal(text.as_str()));
            return;
        }
        let start = out.len();
        if brace::has_braces(&word.parts) {
            let expansion = brace::expand(&word.parts);
            if expansion.cut {
                self.unchecked("a word expands to too many words");
            }
            // Whether a tilde that braces produce is expanded depends on where it ends up.
            let joined = expansion.words.len() > 1
                && expansion.words.iter().any(|parts| joins_a_name(parts));
            if expansion.shortened || expansion.odd || joined || word.raw.contains('~') {
                self.found.opaque(Opacity::Expansion {
                    word: word.raw.clone(),
                });
            }
            for parts in &expansion.words {
                self.expand_parts(parts, out);
            }
        } else {
            self.expand_parts(&word.parts, out);
        }
        for field in out.iter_mut().skip(start) {
            if !field.is_known() {
                field.written = Some(word.raw.clone());
            }
        }
    }

    fn expand_parts(&mut self, parts: &[Part], out: &mut Vec<Field>) {
        let mut builder = FieldBuilder::default();
        if let Some((Part::Text(last), before)) = parts.split_last()
            && last.ends_with('$')
            && before.iter().any(is_split)
        {
            // Some shells do not split a word that ends so.
            self.found.opaque(Opacity::Expansion { word: last.clone() });
        }
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    let alone = parts.len() == index + 1;
                    let rest = if index == 0 {
                        self.tilde_in_setting(text, alone, &mut builder)
                    } else {
                        text.as_str()
                    };
                    if !rest.is_empty() {
                        builder.text(rest);
                    }
                    if rest.contains("=~") || rest.contains(":~") {
                        // What is left here is only expanded in some kinds of words.
                        builder.value(&Field::guess(""), true);
                    }
                }
                other => self.expand_part(other, &mut builder, false),
            }
        }
        out.extend(builder.finish());
    }

    /// A part that is not plain text. Where `whole` is set nothing is split.
    pub(super) fn expand_part(&mut self, part: &Part, builder: &mut FieldBuilder, whole: bool) {
        match part {
            Part::Text(text) => builder.text(text),
            Part::Quoted(text) => {
                self.note_literal(text);
                builder.quoted(text);
            }
            Part::Parameter(parameter) => {
                let quoted = parameter.quoted || whole;
                let mut values = if self.afford(0) {
                    self.parameter(parameter)
                } else {
                    Vec::new()
                };
                if !self.afford(values.iter().map(|value| value.text.len() + VALUE).sum()) {
                    values = vec![Field::unknown()];
                }
                // `"$*"` is one word, and so is everything where nothing is split.
                let joined = whole || (quoted && parameter.name == "*");
                for (index, value) in values.iter().enumerate() {
                    if index > 0 && joined {
                        builder.quoted(" ");
                    } else if index > 0 {
                        builder.finish_field();
                    }
                    builder.value(value, quoted);
                }
            }
            Part::Command { script, quoted } => {
                let output = self.substituted(script);
                let sure = self.only_prints(script);
                self.expand_output(output, sure, *quoted || whole, builder);
            }
            Part::Arithmetic(inside) => {
                self.arithmetic(inside);
                builder.value(&Field::integer(), true);
            }
            Part::Process { script, output } => {
                let printed = if *output {
                    let input = self.input.replace(Output::Unknown);
                    self.forked(|walker| walker.script(script));
                    self.input = input;
                    Output::Unknown
                } else {
                    self.substituted(script)
                };
                let path = format!("/dev/fd/{}", 63 + self.streams.len());
                if *output {
                    self.sinks.push((path.clone(), Rc::clone(script)));
                }
                self.streams.push((path.clone(), printed));
                builder.quoted(&path);
            }
            Part::Odd(text) => {
                self.found.opaque(Opacity::Construct { what: text.clone() });
                // Whatever it is, it may match everything.
                builder.value(&Field::names("*", false), true);
                builder.value(&Field::guess(""), true);
            }
        }
    }

    /// Whether a substitution is one `echo` or `printf` and nothing else: only
    /// then what it prints is known, and not just likely.
    fn only_prints(&self, script: &Script) -> bool {
        let [item] = script.items.as_slice() else {
            return false;
        };
        let Node::Simple(simple) = &item.node else {
            return false;
        };
        let name = simple.words.first().map_or("", |word| word.raw.as_str());
        let option = simple
            .words
            .get(1)
            .is_some_and(|word| word.raw.starts_with('-'));
        matches!(name, "echo" | "printf")
            && !option
            && !item.background
            && simple.assignments.is_empty()
            && simple.redirects.is_empty()
            && self.traps.is_empty()
            && !self.scope.functions.contains(name)
    }

    fn expand_output(
        &mut self,
        output: Output,
        sure: bool,
        quoted: bool,
        builder: &mut FieldBuilder,
    ) {
        match output {
            Output::Text(text) if self.afford(text.len()) => {
                let text = text.trim_end_matches('\n');
                let field = if sure {
                    Field::literal(text)
                } else {
                    Field::guess(text)
                };
                builder.value(&field, quoted);
            }
            Output::Names(names) if !quoted || names.len() == 1 => {
                for (index, name) in names.iter().enumerate() {
                    if index > 0 {
                        builder.finish_field();
                    }
                    // A name with a blank in it is two words, and the second can be any path.
                    let mut name = name.clone().doubted();
                    name.loose = true;
                    builder.value(&name, true);
                }
            }
            Output::Pieces(_) => {
                let guess = likeliest(&output.candidates());
                let guess = if self.afford(guess.len()) {
                    Field::guess(guess)
                } else {
                    Field::unknown()
                };
                builder.value(&guess, quoted);
            }
            _ => builder.value(&Field::unknown(), quoted),
        }
    }

    /// The text of a word that is not split: values, subjects, here-documents.
    pub(crate) fn single(&mut self, word: &Word) -> Field {
        let mut builder = FieldBuilder::default();
        for (index, part) in word.parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    let alone = word.parts.len() == index + 1;
                    let rest = if index == 0 {
                        self.tilde(text, alone, &mut builder)
                    } else {
                        text.as_str()
                    };
                    builder.quoted(rest);
                    if rest.contains(":~") || rest.contains("=~") {
                        // A list of directories, each of which may start at home.
                        builder.value(&Field::guess(""), true);
                    }
                }
                other => self.expand_part(other, &mut builder, true),
            }
        }
        let mut fields = builder.finish();
        let mut field = fields.pop().unwrap_or_default();
        if let [Part::Arithmetic(_)] = word.parts.as_slice() {
            field.number = true;
        }
        if !field.is_known() {
            field.written = Some(word.raw.clone());
        }
        field
    }

    /// A tilde also counts behind `name=`, in any word that looks like that.
    fn tilde_in_setting<'t>(
        &mut self,
        text: &'t str,
        alone: bool,
        builder: &mut FieldBuilder,
    ) -> &'t str {
        match text.split_once("=~") {
            Some((name, _)) if is_setting(text) && !name.contains('=') => {
                let (head, value) = text.split_at(name.len() + 1);
                builder.text(head);
                self.tilde(value, alone, builder)
            }
            _ => self.tilde(text, alone, builder),
        }
    }

    /// Expands a leading tilde and hands back the rest of the text.
    fn tilde<'t>(&mut self, text: &'t str, alone: bool, builder: &mut FieldBuilder) -> &'t str {
        let Some(behind) = text.strip_prefix('~') else {
            return text;
        };
        let end = behind.find('/');
        if end.is_none() && !alone {
            // A quoted or expanded rest makes the tilde an ordinary character.
            return text;
        }
        let (name, rest) = behind.split_at(end.unwrap_or(behind.len()));
        let field = match name {
            "" => self.variable("HOME"),
            "+" => self.variable("PWD"),
            "-" => self.variable("OLDPWD"),
            "root" => Field::guess("/root"),
            user => Field::guess(format!("/home/{user}")),
        };
        builder.value(&field, true);
        rest
    }
}

/// Whether what a part becomes is split into words.
fn is_split(part: &Part) -> bool {
    match part {
        Part::Parameter(parameter) => !parameter.quoted,
        Part::Command { quoted, .. } => !quoted,
        _ => false,
    }
}

/// The text to look for catastrophes with: the path that is nearest to `/`, or all of it.
fn likeliest(candidates: &[String]) -> String {
    let path = candidates
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim)
        .filter(|line| line.starts_with('/') && !line.contains(char::is_whitespace))
        .min_by_key(|line| line.len());
    match (path, candidates.first()) {
        (Some(path), _) => path.to_owned(),
        (None, Some(all)) => all.trim_end_matches('\n').to_owned(),
        (None, None) => String::new(),
    }
}

/// Whether text that braces put behind a dollar sign or a name may belong to the name.
fn joins_a_name(parts: &[Part]) -> bool {
    let continues =
        |text: &str| text.starts_with(|c: char| c == '_' || c == '[' || c.is_alphanumeric());
    parts.windows(2).any(|pair| match pair {
        [Part::Parameter(parameter), Part::Text(text)] => {
            matches!(parameter.operation, Operation::Plain) && continues(text)
        }
        _ => false,
    }) || parts
        .iter()
        .any(|part| matches!(part, Part::Text(text) if text.contains('$')))
}
