//! Simple commands: assignments, words, redirections.

use std::rc::Rc;

use super::scope::Variable;
use super::{Output, Walker, either};
use crate::expand::field::Field;
use crate::parse::DECLARING;
use crate::reasons::Opacity;
use crate::syntax::{Assignment, Redirect, RedirectKind, Simple, Target, Word};
use crate::variables::{is_arithmetic, is_powerful, is_written, names_files};
use crate::{Redirection, RedirectionMode};

/// Commands that may keep what is assigned before them.
const KEEPING: &[&str] = &[
    ":", ".", "source", "eval", "set", "unset", "shift", "trap", "return",
];

/// Options of `set` and `shopt` that change what words become.
const MODES: &[&str] = &[
    "braceexpand",
    "noglob",
    "posix",
    "keyword",
    "nullglob",
    "failglob",
    "extglob",
    "xpg_echo",
    "expand_aliases",
    "patsub_replacement",
    "nocaseglob",
    "nocasematch",
];

/// How many assignments before one command are compared with each other.
const MAX_REFERRING: usize = 256;

/// How many values are remembered in case one of them is run.
const MAX_ASSIGNED: usize = 256;

/// Whether a variable is a line's own: programs are told nothing in lower case but what
/// concerns the network.
fn is_own(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// What surrounds a command's words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) assignments: Vec<(String, Option<String>)>,
    pub(crate) redirections: Vec<Redirection>,
    pub(crate) wrappers: Vec<String>,
}

/// Where a command's input and output go.
#[derive(Default)]
pub(super) struct Plumbing {
    input: Option<Output>,
    output: Outlet,
    /// The process substitution that gets the output.
    sink: Option<String>,
    redirections: Vec<Redirection>,
}

/// What becomes of what a command prints.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Outlet {
    /// It goes on to whoever reads it.
    #[default]
    Open,
    /// It ends in a file.
    File,
    /// It goes on together with the command's messages.
    Mixed,
    /// It goes to a descriptor that is not followed.
    Elsewhere,
}

impl Plumbing {
    /// What of a command's output is left for the next one.
    pub(super) fn drain(&self, output: Output) -> Output {
        match self.output {
            Outlet::Open => output,
            Outlet::File => Output::nothing(),
            Outlet::Mixed | Outlet::Elsewhere => output.partly(),
        }
    }
}

impl Walker {
    pub(super) fn simple(&mut self, simple: &Simple) -> Output {
        let before = self.may_fail(&simple.redirects).then(|| self.scope.clone());
        let output = self.simple_command(simple);
        match before {
            Some(before) => self.scope.merge(&before),
            None => self.end_way(simple),
        }
        output
    }

    fn simple_command(&mut self, simple: &Simple) -> Output {
        if !self.spend() {
            return Output::Unknown;
        }
        let mut words = Vec::new();
        let declares = simple
            .words
            .first()
            .is_some_and(|word| DECLARING.contains(&word.raw.as_str()));
        for word in &simple.words {
            let count = words.len() + 1;
            self.fields(word, &mut words);
            if declares && words.len() != count && word.raw.contains('=') {
                // Behind such a command a shell does not split what is assigned.
                self.found.opaque(Opacity::Expansion {
                    word: word.raw.clone(),
                });
            }
        }
        let plumbing = self.redirects(&simple.redirects);
        if words.is_empty() {
            // Each of them sees what those before it have set.
            for assignment in &simple.assignments {
                let value = self.assigned_value(assignment);
                self.assign(&assignment.name, value, false);
            }
            let reads = |redirect: &Redirect| redirect.kind == RedirectKind::Read;
            return if simple.redirects.iter().any(reads) {
                // `$(<file)` is what stands in the file.
                Output::Unknown
            } else {
                Output::nothing()
            };
        }
        let mut values: Vec<(&Assignment, Field)> = Vec::new();
        for assignment in &simple.assignments {
            let mut value = self.assigned_value(assignment);
            let refers = |name: &str| {
                assignment.name == name
                    || assignment.values.iter().any(|word| word.raw.contains(name))
            };
            let many = values.len() >= MAX_REFERRING;
            if many || values.iter().any(|(earlier, _)| refers(&earlier.name)) {
                value = value.doubted();
            }
            values.push((assignment, value));
        }
        self.look_for_modes(&words);
        let before: Vec<(String, Option<Variable>)> = values
            .iter()
            .map(|(assignment, _)| {
                let name = assignment.name.clone();
                let variable = self.scope.variable(&name).cloned();
                (name, variable)
            })
            .collect();
        let mut invocation = Invocation {
            redirections: plumbing.redirections.clone(),
            ..Invocation::default()
        };
        let keeps = words.iter().take(2).any(|word| {
            DECLARING.contains(&word.text.as_str()) || KEEPING.contains(&word.text.as_str())
        });
        let mut kept = Vec::new();
        for (assignment, value) in values {
            if keeps {
                kept.push((assignment.name.clone(), value.clone()));
            }
            let known = value.exact().map(ToOwned::to_owned);
            invocation
                .assignments
                .push((assignment.name.clone(), known));
            // `IFS= read` splits what is read, and that is unknown anyway.
            let reads = words.first().is_some_and(|word| word.text == "read")
                && !self.scope.functions.contains("read");
            if !(assignment.name == "IFS" && reads) {
                self.assign(&assignment.name, value, true);
            }
        }
        let input = self.plug(&plumbing);
        self.shadows += before.len();
        let output = self.invoke(words, invocation);
        self.shadows -= before.len();
        self.unplug(input);
        self.fill(&plumbing, &output);
        // They were set for this command alone; what the command itself has set stays.
        for (name, variable) in before {
            self.scope.restore(&name, variable);
        }
        // Some commands keep them, in some shells.
        for (name, value) in kept {
            let value = either(&self.variable(&name), &value).doubted();
            self.scope.set(&name, value, true);
        }
        plumbing.drain(output)
    }

    /// `set` and `shopt` can change how every later word is expanded.
    fn look_for_modes(&mut self, words: &[Field]) {
        let Some(at) = words
            .iter()
            .take(2)
            .position(|word| matches!(word.text.as_str(), "set" | "shopt"))
        else {
            return;
        };
        for word in words.iter().skip(at + 1) {
            let text = word.text.as_str();
            let letters = text.starts_with(['-', '+']) && text.contains(['B', 'f', 'k']);
            if letters || MODES.contains(&text) {
                self.found.opaque(Opacity::Setting {
                    name: text.to_owned(),
                });
            }
        }
    }

    fn assigned_value(&mut self, assignment: &Assignment) -> Field {
        if assignment.array {
            self.assign_elements(assignment);
            return Field::unknown();
        }
        let mut value = Field::default();
        if assignment.append {
            value = self.variable(&assignment.name);
        }
        for word in &assignment.values {
            let piece = self.single(word);
            value.append(&piece);
            value.number = piece.number && !assignment.append;
        }
        value.loose = false;
        value
    }

    /// `name=(…)` or `name[…]=…`.
    fn assign_elements(&mut self, assignment: &Assignment) {
        let mut elements = Vec::new();
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(&subscript.parts);
            elements.extend(assignment.values.iter().map(|word| self.single(word)));
        } else {
            for word in &assignment.values {
                if word.raw.starts_with('[') {
                    self.element_index(word);
                }
                self.fields(word, &mut elements);
            }
        }
        for element in &mut elements {
            // Behind `[index]=` stands the value.
            if element.text.starts_with('[')
                && let Some(at) = element.text.find("]=")
            {
                *element = element.tail(at + 2);
            }
            element.holes.push(0);
            element.number = false;
        }
        let more = assignment.append || assignment.subscript.is_some();
        self.scope.set_elements(&assignment.name, elements, more);
    }

    /// `[index]=value` among the elements of an array.
    fn element_index(&mut self, word: &Word) {
        let field = self.single(word);
        let index = field
            .text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]=").or_else(|| rest.split_once("]+=")));
        match index {
            Some((index, _)) if field.is_known() => self.arithmetic_text(index),
            _ => {
                self.odd_arithmetic(&word.raw);
                self.evaluated(&field.text);
            }
        }
    }

    /// Sets a variable, and says so if that changes what later commands do.
    pub(crate) fn assign(&mut self, name: &str, value: Field, exported: bool) {
        if exported || !is_own(name) {
            self.found.irregular();
        }
        let mut value = value;
        if let Some(before) = self.scope.variable(name).filter(|before| before.fixed) {
            value = either(&before.value, &value);
            self.found.opaque(Opacity::Setting {
                name: name.to_owned(),
            });
        }
        self.note_literal(&value.text);
        if value.text.contains([' ', '\t', '\n']) && self.assigned.len() < MAX_ASSIGNED {
            self.assigned.push((name.to_owned(), value.text.clone()));
        }
        if !value.is_integer() && self.traps.iter().any(|text| text.contains(name)) {
            // A trap may run at any time, with any of the values.
            self.found.opaque(Opacity::Setting {
                name: name.to_owned(),
            });
        }
        if is_arithmetic(name) && !value.is_integer() {
            self.arithmetic_value(&value);
        }
        if is_arithmetic(name) && !value.text.is_empty() {
            // What is read from it later is the shell's own number, or nobody knows what.
            value = if value.is_integer() {
                Field::integer()
            } else {
                Field::unknown()
            };
        }
        if is_powerful(name) || value.exact().is_some_and(|value| names_files(name, value)) {
            self.found.opaque(Opacity::Setting {
                name: name.to_owned(),
            });
            self.probe_given("", &value.text);
            if let Some(Output::Text(text)) = self.stream(&value.text) {
                self.probe_text(&text);
            }
        }
        if is_written(name) && !value.text.is_empty() {
            self.write_path(&value);
        }
        self.scope.set(name, value, exported);
    }

    /// Puts the redirected input in place and hands back the one before, if there is another.
    pub(super) fn plug(&mut self, plumbing: &Plumbing) -> Option<Option<Output>> {
        let input = plumbing.input.as_ref()?;
        Some(self.input.replace(input.clone()))
    }

    /// Puts back the input that was there before.
    pub(super) fn unplug(&mut self, before: Option<Option<Output>>) {
        if let Some(before) = before {
            self.input = before;
        }
    }

    pub(super) fn redirects(&mut self, redirects: &[Redirect]) -> Plumbing {
        let mut plumbing = Plumbing::default();
        for redirect in redirects {
            let descriptor = redirect.descriptor.as_deref();
            if let Some(name) = descriptor.and_then(|text| text.strip_prefix('{')) {
                // `{name}>file` puts the descriptor's number there.
                self.assign(name.trim_end_matches('}'), Field::integer(), false);
            }
            match &redirect.target {
                Target::Document(body) => {
                    let field = body.get().map(|word| self.single(word)).unwrap_or_default();
                    if descriptor.is_none_or(|number| number == "0") {
                        plumbing.input = Some(known_text(&field));
                    }
                    plumbing.redirections.push(Redirection {
                        mode: RedirectionMode::Inline,
                        target: field.shown(),
                    });
                }
                Target::Word(word) if redirect.kind == RedirectKind::HereString => {
                    let mut field = self.single(word);
                    let target = field.shown();
                    field.append(&Field::literal("\n"));
                    if descriptor.is_none_or(|number| number == "0") {
                        plumbing.input = Some(known_text(&field));
                    }
                    plumbing.redirections.push(Redirection {
                        mode: RedirectionMode::Inline,
                        target,
                    });
                }
                Target::Word(word) => {
                    let mut fields = Vec::new();
                    self.fields(word, &mut fields);
                    if fields.len() != 1 {
                        self.found.opaque(Opacity::Expansion {
                            word: word.raw.clone(),
                        });
                    }
                    for field in fields {
                        self.redirect_to(&field, redirect.kind, descriptor, &mut plumbing);
                    }
                }
            }
        }
        plumbing
    }

    fn redirect_to(
        &mut self,
        field: &Field,
        kind: RedirectKind,
        descriptor: Option<&str>,
        plumbing: &mut Plumbing,
    ) {
        let mode = match kind {
            RedirectKind::Duplicate { output } => {
                let text = field.text.trim_end_matches('-');
                self.closed |= text.len() < field.text.len() || field.exact().is_none();
                let number = field.is_integer()
                    || text.is_empty()
                    || text.bytes().all(|byte| byte.is_ascii_digit());
                match (field.is_known() || field.is_integer(), number, output) {
                    (true, true, _) => RedirectionMode::Duplicate,
                    (_, _, true) => RedirectionMode::Write,
                    (_, _, false) => RedirectionMode::Read,
                }
            }
            RedirectKind::Read => RedirectionMode::Read,
            RedirectKind::ReadWrite => RedirectionMode::ReadWrite,
            _ => RedirectionMode::Write,
        };
        plumbing.redirections.push(Redirection {
            mode,
            target: field.shown(),
        });
        if matches!(mode, RedirectionMode::Write | RedirectionMode::ReadWrite) {
            self.write_path(field);
            if matches!(descriptor, None | Some("1")) {
                plumbing.sink = Some(field.text.clone());
                let special = ["/dev/", "/proc/"]
                    .iter()
                    .any(|top| field.text.starts_with(top));
                plumbing.output = match field.exact() {
                    // The messages still go on.
                    _ if plumbing.output == Outlet::Mixed => Outlet::Elsewhere,
                    Some("/dev/null") => Outlet::File,
                    Some(_) if !special => Outlet::File,
                    _ => Outlet::Elsewhere,
                };
            }
        }
        if matches!(mode, RedirectionMode::Read | RedirectionMode::ReadWrite) {
            self.read_path(field);
            if descriptor.is_none_or(|number| number == "0") {
                plumbing.input = Some(self.stream(&field.text).unwrap_or_default());
            }
        }
        if mode == RedirectionMode::Duplicate {
            // `>&2` takes the output away, `<&3` brings an input that is not followed.
            match kind {
                RedirectKind::Duplicate { output: true }
                    if descriptor.is_none_or(|n| n == "1") && field.text != "1" =>
                {
                    plumbing.output = Outlet::Elsewhere;
                }
                RedirectKind::Duplicate { output: true }
                    if descriptor.is_some_and(|n| n != "1") && plumbing.output == Outlet::Open =>
                {
                    // Messages can quote any word of the line.
                    plumbing.output = Outlet::Mixed;
                }
                RedirectKind::Duplicate { output: false } => {
                    plumbing.input = Some(Output::Unknown);
                }
                _ => {}
            }
        }
    }

    /// Hands what a command prints to the process that its output goes to.
    pub(super) fn fill(&mut self, plumbing: &Plumbing, output: &Output) {
        if let Some(path) = &plumbing.sink {
            self.feed(path, output);
        }
    }

    /// Walks the process behind `>(…)` once more, now that its input is known. All but the
    /// catastrophes in it were noted where it stands.
    pub(crate) fn feed(&mut self, path: &str, output: &Output) {
        let sink = self.sinks.iter().find(|(name, _)| name == path);
        let Some((_, script)) = sink.filter(|_| !matches!(output, Output::Unknown)) else {
            return;
        };
        let script = Rc::clone(script);
        let input = self.input.replace(output.clone());
        self.perhaps(|walker| {
            walker.deeper(|walker| walker.script(&script));
        });
        self.input = input;
    }

    /// What a process substitution prints, if `path` stands for one.
    pub(crate) fn stream(&self, path: &str) -> Option<Output> {
        let (_, output) = self.streams.iter().find(|(name, _)| name == path)?;
        Some(output.clone())
    }
}

fn known_text(field: &Field) -> Output {
    let text = Output::Text(field.text.clone());
    if field.is_known() && field.active.is_empty() {
        text
    } else {
        text.partly()
    }
}
