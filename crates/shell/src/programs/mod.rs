//! Words become effects.
//!
//! ```text
//! words ──▶ function of that name? ──▶ table row ──▶ scan: options, operands ──▶ effects ──▶ findings
//!                                        │                  └─ wrapper: the command inside ──▶ words
//!                                        └─ `@code`: find, sed, tar, shells, … (special)
//! ```
//!
//! In come the words of one command; what they touch goes to the findings.
//! What can go wrong: a word may be an option once it is known, or an option
//! may do what nobody foresees; both make the facts incomplete. A program
//! without a row is run with its words as data, unless a catastrophe can be
//! read in them (`probe`).

pub(crate) mod actions;
mod code;
mod effects;
mod hosts;
mod inside;
mod literals;
mod names;
mod probe;
mod runners;
pub(crate) mod scan;
mod settings;
mod special;
pub(crate) mod table;
mod wild;

use std::rc::Rc;

use toolgate_model::Run;

use crate::Command;
use crate::expand::field::{Field, UNKNOWN};
use crate::expand::glob;
use crate::place::join;
use crate::reasons::{Catastrophe, Opacity};
use crate::walk::{Invocation, Output, Walker};
use scan::{Scan, Use, scan};
use table::{Effect, End, Harm, Program};

/// Where the system's programs are; elsewhere a name says nothing.
const BIN_DIRECTORIES: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
    "/run/current-system/sw/bin",
];

/// How the loader's file is named, which runs the program behind it.
const LOADERS: &[&str] = &["ld.so", "ld-linux", "ld-musl", "ld64.so"];

/// Programs that a pattern in place of a name is most likely meant to hide.
const HIDDEN_BY_PATTERNS: &[&str] = &[
    "rm",
    "dd",
    "mkfs",
    "mkfs.ext4",
    "shutdown",
    "reboot",
    "poweroff",
    "sh",
    "bash",
];

/// Programs that write below the directory they are sent to.
const BUILDERS: &[&str] = &[
    "bmake",
    "bun",
    "cargo",
    "ctest",
    "gmake",
    "go",
    "just",
    "make",
    "meson",
    "ninja",
    "npm",
    "patch",
    "pnpm",
    "terraform",
    "tofu",
    "yarn",
];

impl Walker {
    /// Everything that happens when these words are run.
    pub(crate) fn dispatch(&mut self, words: Vec<Field>, invocation: Invocation) -> Output {
        self.deeper(|walker| walker.run(&words, invocation, false))
            .unwrap_or_default()
    }

    /// The same where the shell itself looks the name up: only there it finds functions.
    pub(crate) fn invoke(&mut self, words: Vec<Field>, invocation: Invocation) -> Output {
        self.deeper(|walker| walker.run(&words, invocation, true))
            .unwrap_or_default()
    }

    fn run(&mut self, words: &[Field], invocation: Invocation, functions: bool) -> Output {
        let Some((program, arguments)) = words.split_first() else {
            return Output::nothing();
        };
        let before = self.found.opaque_count();
        if scan::is_setting(&program.text) {
            // Only some spellings make this a setting, and all of them look alike here.
            self.found.opaque(Opacity::Construct {
                what: program.shown(),
            });
            return self
                .deeper(|walker| walker.run(arguments, invocation, functions))
                .unwrap_or_default();
        }
        self.may_jump(&program.text);
        let unsure = self.scope.is_unsure(&program.text);
        let called = functions
            .then(|| self.call(&program.text, arguments))
            .flatten();
        let state = called.is_some().then(|| self.scope.clone());
        if let Some(last) = words.last() {
            self.scope.last_argument = Rc::new(last.clone());
        }
        if !program.is_known() || program.is_pattern() || self.is_stream(program) {
            self.found.opaque(Opacity::Program {
                word: program.shown(),
            });
        }
        self.lookalike(program);
        let name = self.bare_name(program);
        let row = name.as_deref().and_then(table::find);
        let mut output = called;
        let mut recorded = true;
        match (row, &name) {
            (Some(row), Some(name)) => {
                if row.row.traits.runner {
                    self.foreign_variables(name);
                }
                let known = self.run_known(row, name, words, &invocation);
                recorded = known.recorded;
                output = output.or(Some(known.output));
            }
            _ => {
                if let Some(open) = words.iter().find(|word| !word.is_known()) {
                    self.unknown_word(open);
                }
                if output.is_none() {
                    self.probe(words, false);
                }
            }
        }
        match state {
            Some(state) if unsure => self.scope.merge(&state),
            // The function hides the shell's own command of that name.
            Some(state) => self.scope = state,
            None => {}
        }
        if recorded {
            self.record(words, invocation, before);
        }
        self.may_break(program);
        match output.unwrap_or_default() {
            Output::Unknown => {
                let read = self.input.as_ref();
                let handed_on = read.map_or(Output::Unknown, Output::handed_on);
                handed_on.then(literals::printed(
                    name.as_deref().unwrap_or_default(),
                    words,
                ))
            }
            output => output,
        }
    }

    /// A name that is not ASCII can look like another program's.
    pub(crate) fn lookalike(&mut self, name: &Field) {
        let text = name.text.replace(UNKNOWN, "");
        if !text.is_ascii() {
            self.found.opaque(Opacity::Lookalike { word: text });
        }
    }

    /// Notes the command; it is opaque if something was found to be so since `before`.
    fn record(&mut self, words: &[Field], invocation: Invocation, before: usize) {
        let shown: Vec<String> = words.iter().map(Field::shown).collect();
        if shown
            .first()
            .is_some_and(|program| self.is_displaced(program))
        {
            self.found.irregular();
        }
        let opaque = self.found.opaque_since(before).cloned();
        self.found.run(Run {
            words: shown.clone(),
            opaque: opaque.is_some(),
        });
        self.found.command(Command {
            words: shown,
            assignments: invocation.assignments,
            redirections: invocation.redirections,
            wrappers: invocation.wrappers,
            opaque,
        });
    }

    /// The name to look a program up by: bare names, and files where the system keeps programs.
    fn bare_name(&self, program: &Field) -> Option<String> {
        if program.is_pattern() {
            let components = program.components();
            let (last, _) = components.last()?;
            let hidden = HIDDEN_BY_PATTERNS
                .iter()
                .find(|name| glob::matches(last, name))?;
            return Some((*hidden).to_owned());
        }
        let text = program.text.as_str();
        if text.is_empty() || text.contains(UNKNOWN) {
            return None;
        }
        if !text.contains('/') {
            return Some(text.to_owned());
        }
        let directory = self.scope.directory.as_deref().unwrap_or("/");
        let path = join(directory, text);
        let (parent, name) = path.rsplit_once('/')?;
        if let Some((_, tool)) = runners::WRAPPER_SCRIPTS
            .iter()
            .find(|(script, _)| *script == name)
        {
            return Some((*tool).to_owned());
        }
        if LOADERS.iter().any(|loader| name.starts_with(loader)) && !self.places.is_inside(&path) {
            return Some("ld.so".to_owned());
        }
        BIN_DIRECTORIES.contains(&parent).then(|| name.to_owned())
    }

    fn run_known(
        &mut self,
        program: &Program,
        name: &str,
        words: &[Field],
        invocation: &Invocation,
    ) -> Known {
        let row = &program.row;
        let (words, behind) = runners::split_dashes(program, words);
        let scan = if row.traits.own {
            Scan::default()
        } else {
            scan(row, words)
        };
        self.apply_traits(program, name, words, &scan);
        self.wild_words(name, row, words, &scan);
        if row.traits.runner {
            self.other_projects(name, words, &scan);
            self.open_goals(name, words, &scan);
        }
        // What a wrapper sets is set for the command inside alone.
        let wraps = row.shape.settings || row.shape.end == End::Command;
        let variables = wraps.then(|| self.scope.variables.clone());
        self.clear_environment(name, &scan);
        let moved = scan.uses.iter().any(moves);
        let place = moved.then(|| self.scope.place());
        self.apply_directory(name, &scan);
        for used in &scan.uses {
            self.apply(name, used, &scan);
        }
        self.probe_given_words(name, words, &scan);
        let mut known = Known {
            output: Output::Unknown,
            recorded: true,
        };
        match row.shape.end {
            End::Operands => {}
            End::Line if name == "eval" => self.run_line(words, &scan),
            End::Line => self.forked(|walker| walker.run_line(words, &scan)),
            End::Subcommand => {
                if let Some(at) = scan.rest
                    && let Some(rest) = words.get(at..)
                {
                    known.output = self.run_subcommand(program, name, rest, invocation);
                }
            }
            End::Command => {
                if !matches!(row.traits.code, "xargs" | "parallel") {
                    known = self.run_inside(program, name, words, &scan, invocation);
                }
            }
        }
        if !row.traits.code.is_empty() {
            let special = self.special(row.traits.code, name, words, &scan, invocation);
            known.output = special.output;
            known.recorded &= special.recorded;
        }
        if let Some((program, behind)) = behind {
            self.run_known(program, name, behind, invocation);
        }
        if let Some(place) = place {
            self.scope.return_to(place);
        }
        if let Some(variables) = variables
            && !inside::OF_THE_SHELL.contains(&name)
        {
            self.scope.variables = variables;
        }
        known
    }

    fn apply_traits(&mut self, program: &Program, name: &str, words: &[Field], scan: &Scan) {
        let traits = &program.row.traits;
        if !traits.any {
            for word in &scan.unforeseen {
                if word.is_known() {
                    let (program, word) = (name.to_owned(), word.text.clone());
                    self.found.opaque(Opacity::Option { program, word });
                } else {
                    self.unknown_word(word);
                }
            }
        }
        if traits.probe {
            let away = self.away;
            self.away |= traits.away;
            self.probe(words, true);
            self.away = away;
        }
        if traits.opaque && !scan.marked('N') {
            self.found.opaque(Opacity::Code {
                program: name.to_owned(),
            });
        }
        if let Some(harm) = traits.deny {
            let arguments = words.get(1..).unwrap_or_default();
            let help =
                matches!(arguments, [only] if matches!(only.text.as_str(), "--help" | "--version"));
            if !help {
                self.harm(harm, name);
            }
        }
        if traits.opaque || traits.stdin {
            self.probe_input(name);
        }
        if traits.opaque && !traits.probe {
            for word in words.iter().skip(1) {
                self.probe_given(name, &word.text);
            }
        }
        if traits.stdin
            && scan.operands.is_empty()
            && scan.options.iter().all(|o| !names::is_question(o))
        {
            self.found.opaque(Opacity::Code {
                program: name.to_owned(),
            });
        }
        let here = traits.here || scan.marked('H');
        let path_given = scan
            .uses
            .iter()
            .any(|used| used.option.is_empty() && used.effect == Effect::Read);
        if here && !path_given {
            self.read_here();
        }
        let wild = |word: &Field| word.is_pattern() && word.active.first() == Some(&0);
        if traits.wild
            && let Some(word) = scan.operands.iter().find(|word| wild(word))
        {
            let (program, word) = (name.to_owned(), word.text.clone());
            self.found.opaque(Opacity::Option { program, word });
        }
    }

    fn harm(&mut self, harm: Harm, program: &str) {
        let program = program.to_owned();
        if self.away && harm == Harm::Power {
            // Another machine's power; who runs the command asks for that.
            return self.code_opaque(&program);
        }
        self.found.catastrophe(match harm {
            Harm::Power => Catastrophe::Power { program },
            Harm::Disk => Catastrophe::Disk { program },
            Harm::Kernel => Catastrophe::Kernel { what: program },
        });
    }

    /// `-C directory`: later paths of the same command start there.
    fn apply_directory(&mut self, name: &str, scan: &Scan) {
        for used in scan.uses.iter().filter(|used| moves(used)) {
            let guess = (used.effect != Effect::Directory && !used.value.text.contains(UNKNOWN))
                .then_some(used.value.text.as_str());
            match (used.value.exact().or(guess), &self.scope.directory) {
                (Some(path), Some(directory)) => {
                    let path = match path.strip_prefix('~') {
                        Some(rest) if used.effect != Effect::Directory => {
                            join("/", &format!("{}{rest}", self.places.home()))
                        }
                        _ => join(directory, path),
                    };
                    let path = self.places_behind(&path).pop().unwrap_or(path);
                    if !self.places.is_inside(&path) {
                        self.read_path(&Field::literal(path.clone()));
                        if BUILDERS.contains(&name) {
                            self.write_path(&Field::literal(path.clone()));
                        }
                    }
                    self.scope.change_directory(Some(&path));
                    self.scope.unmoved.clear();
                }
                _ => {
                    self.unknown_word(&used.value);
                    self.scope.lose_directory();
                }
            }
        }
    }

    fn apply(&mut self, name: &str, used: &Use, scan: &Scan) {
        let value = &used.value;
        match used.effect {
            Effect::Directory | Effect::Split => {}
            Effect::Data => {
                self.file_in_data(name, used);
                let any = value.number || table::find(name).is_some_and(|p| p.row.traits.any);
                if value.loose && !any {
                    self.unknown_word(value);
                }
            }
            Effect::Read => self.read_path(value),
            Effect::Program => self.run_file(name, value),
            Effect::Write => {
                if !used.option.is_empty() && value.text.starts_with(['|', '!']) {
                    // Some take it for a command that gets the output.
                    self.option_opaque(name, value);
                }
                self.write_path(value);
            }
            Effect::Replace => self.replace_path(value),
            Effect::Delete => {
                // Directories that `rmdir` can remove are empty.
                let each = value.deep && !name.ends_with("rmdir");
                self.delete_path(value, each || scan.marked('R'));
            }
            Effect::DeleteTree => self.delete_path(value, true),
            Effect::Attributes => self.change_attributes(value, value.deep || scan.marked('R')),
            Effect::Connect => self.connect(value),
            Effect::TransferFrom => self.transfer(value, false),
            Effect::TransferTo => self.transfer(value, true),
            Effect::Text => match value.exact() {
                Some(text) => {
                    let text = text.to_owned();
                    self.child_line(&text, Vec::new());
                }
                None => self.unknown_word(value),
            },
            Effect::Setting => {
                let (variable, rest) = value.text.split_once('=').unwrap_or((&value.text, ""));
                let content = value.tail(value.text.len() - rest.len());
                self.assign(variable, content, true);
            }
            Effect::GitSetting => self.git_setting(name, value),
            Effect::Opaque => {
                let word = if used.option.is_empty() {
                    value.clone()
                } else {
                    Field::literal(used.option)
                };
                self.option_opaque(name, &word);
                if !used.option.is_empty() {
                    self.probe_given(name, &value.text);
                }
            }
            Effect::Deny(harm) => self.harm(harm, name),
        }
    }
}

/// Whether a word moves the command to another directory.
fn moves(used: &Use) -> bool {
    used.effect == Effect::Directory || used.option == "--work-tree"
}

/// What became of a command that the table knows.
pub(crate) struct Known {
    pub(crate) output: Output,
    /// Whether the command counts as one of its own.
    pub(crate) recorded: bool,
}
