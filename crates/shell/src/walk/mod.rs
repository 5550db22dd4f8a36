//! The tree is walked as a shell would run it, and everything met is noted.
//!
//! ```text
//! script ──▶ node ──▶ simple ──▶ expand words ──▶ programs::dispatch ──▶ findings
//!              │         └─ assignments, redirections
//!              └─ pipeline, chain, if, loops, case, functions ──▶ script
//! ```
//!
//! In comes a [`Script`]; what was found goes to [`Findings`], and every step
//! hands back its [`Output`]: what it would print, where that is known, because
//! the next command of a pipe may be a shell. Where a branch may or may not be
//! taken, both are walked and what they leave behind is merged. What can go
//! wrong: too much work. That is a catastrophe, not a shrug, or a long line
//! would hide what a short one may not do.

mod flow;
mod jumps;
mod links;
mod map;
mod merge;
mod output;
mod scope;
mod simple;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use toolgate_model::Run;

use crate::characters::deceptive;
use crate::expand::field::Field;
use crate::findings::Findings;
use crate::parse::{MAX_DEPTH, parse};
use crate::place::Places;
use crate::reasons::{Catastrophe, Opacity};
use crate::syntax::{Item, Node, Script, SyntaxError};
use crate::{Analysis, LineContext};

use jumps::Jumps;
use links::Link;
pub(crate) use output::Output;
use scope::Variable;
pub(crate) use scope::{Scope, Variables, either};
pub(crate) use simple::Invocation;

/// How many commands are looked at, repetitions by loops and functions included.
const MAX_COMMANDS: usize = 50_000;

/// How many values may be compared where ways meet, or moved.
const MAX_COPIED: usize = 500_000;

/// How many bytes expansions may add to a line: values can double with every word.
const MAX_EXPANDED: usize = 4 << 20;

/// A function that is being walked.
struct Frame {
    name: String,
    forks: usize,
    /// What the function's own variables hide, by their names.
    hidden: BTreeMap<String, Option<Variable>>,
}

/// The state of a walk.
pub(crate) struct Walker {
    pub(crate) places: Places,
    pub(crate) scope: Scope,
    pub(crate) found: Findings,
    /// What the current command would read from standard input; nothing if the line does not say.
    pub(crate) input: Option<Output>,
    /// What the process substitutions print, by the path that stands for them.
    pub(crate) streams: Vec<(String, Output)>,
    /// The processes that read from a path, by that path.
    pub(crate) sinks: Vec<(String, Rc<Script>)>,
    /// Whether the words of an unknown program are being tried one after the other.
    pub(crate) probing: bool,
    /// Whether what is looked at would run on another machine or in a container.
    pub(crate) away: bool,
    /// Texts that a trap runs at some later time.
    pub(crate) traps: Vec<String>,
    /// How many commands with variables of their own are being walked.
    pub(crate) shadows: usize,
    /// Links that the line has made so far.
    pub(crate) links: Vec<Link>,
    /// How many links deep a path is being followed.
    pub(crate) following: usize,
    /// Quoted texts that would run something if they were evaluated.
    pub(crate) literals: BTreeSet<String>,
    /// Values of several words that variables were given, one of which may be run.
    pub(crate) assigned: Vec<(String, String)>,
    /// How often the line may have stopped or changed where output goes: what is printed after
    /// that may not be.
    pub(crate) breaks: usize,
    /// Whether any later command may stop the line, or print more than it says.
    pub(crate) unsteady: bool,
    /// Whether a descriptor may be closed that a redirection copies.
    pub(crate) closed: bool,
    /// Whether a name may mean something else than the shell's own command.
    pub(crate) renamed: bool,
    /// Bodies of functions that were defined again or taken away.
    replaced: Vec<Rc<Node>>,
    jumps: Jumps,
    frames: Vec<Frame>,
    called: BTreeSet<String>,
    forks: usize,
    loops: usize,
    depth: usize,
    commands: usize,
    copied: usize,
    expanded: usize,
}

/// Walks a whole line.
pub(crate) fn walk_line(line: &str, context: &LineContext<'_>) -> Analysis {
    let places = Places::new(context);
    let scope = Scope::new(places.start(context));
    let mut walker = Walker {
        places,
        scope,
        found: Findings::default(),
        input: None,
        streams: Vec::new(),
        sinks: Vec::new(),
        probing: false,
        away: false,
        traps: Vec::new(),
        shadows: 0,
        links: Vec::new(),
        following: 0,
        literals: BTreeSet::new(),
        assigned: Vec::new(),
        breaks: 0,
        unsteady: false,
        closed: false,
        renamed: false,
        replaced: Vec::new(),
        jumps: Jumps::default(),
        frames: Vec::new(),
        called: BTreeSet::new(),
        forks: 0,
        loops: 0,
        depth: 0,
        commands: 0,
        copied: 0,
        expanded: 0,
    };
    if let Some(character) = deceptive(line) {
        walker.found.opaque(Opacity::Deceptive { character });
    }
    let plain_ends = line.contains('\r').then(|| line.replace("\r\n", "\n"));
    let script = parse(plain_ends.as_deref().unwrap_or(line), 0);
    walker.script(&script);
    walker.rejoin_exits();
    walker.sprung_traps();
    walker.uncalled_functions();
    walker.probe_literals();
    if !line.is_empty() && !walker.found.has_commands() {
        walker.without_command(line, &script);
    }
    walker.found.finish()
}

impl Walker {
    /// Walks a list of commands.
    pub(crate) fn script(&mut self, script: &Script) -> Output {
        for fault in &script.faults {
            self.fault(fault);
        }
        let mut output = Output::nothing();
        let breaks = self.breaks;
        for item in &script.items {
            if self.is_spent() {
                // Said already, and as a catastrophe.
                return Output::Unknown;
            }
            let printed = if item.background {
                self.forked(|walker| walker.node(&item.node))
            } else {
                self.node(&item.node)
            };
            if item.background {
                // It prints while the next ones do.
                self.breaks += 1;
                output = output.maybe();
            }
            let steady = self.breaks == breaks && !self.unsteady;
            output = output.then(if steady { printed } else { printed.maybe() });
            self.rejoin_dropped();
        }
        output
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn fault(&mut self, fault: &SyntaxError) {
        if *fault == SyntaxError::TooDeep {
            self.unchecked("the line is nested too deeply");
        }
        self.found.opaque(Opacity::Unreadable {
            fault: fault.to_string(),
        });
    }

    /// Walks something that runs in a process of its own and leaves nothing behind here.
    pub(crate) fn forked<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        self.forks += 1;
        let result = self.apart(walk);
        self.forks -= 1;
        self.scope = scope;
        result
    }

    /// Walks something that may never happen: only what would be a catastrophe counts.
    pub(crate) fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        let scope = self.scope.clone();
        let (links, traps) = (self.links.len(), self.traps.len());
        let found = std::mem::take(&mut self.found);
        self.apart(walk);
        self.links.truncate(links);
        self.traps.truncate(traps);
        let probed = std::mem::replace(&mut self.found, found);
        self.found.take_catastrophes(probed);
        self.scope = scope;
    }

    /// Whether a variable may hide another of the same name.
    pub(crate) fn may_hide(&self) -> bool {
        !self.frames.is_empty() || self.shadows > 0
    }

    /// Traps are walked where they are set, and again with what the line leaves behind.
    fn sprung_traps(&mut self) {
        for text in std::mem::take(&mut self.traps) {
            self.forked(|walker| walker.line(&text));
        }
    }

    /// Remembers what a variable was before the running function got its own of that name.
    pub(crate) fn hide(&mut self, name: &str) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if self.scope.locals.contains(name) {
            return;
        }
        let before = self.scope.variable(name).cloned();
        match frame.hidden.get_mut(name) {
            None => {
                frame.hidden.insert(name.to_owned(), before);
            }
            Some(Some(hidden)) if Some(&*hidden) != before.as_ref() => {
                // Another way has hidden another value.
                let value = std::mem::take(&mut hidden.value);
                hidden.value = match &before {
                    Some(before) => either(&value, &before.value),
                    None => value.doubted(),
                };
            }
            Some(hidden) => {
                if hidden.is_none() {
                    *hidden = before.map(|before| Variable {
                        value: before.value.doubted(),
                        ..before
                    });
                }
            }
        }
        Rc::make_mut(&mut self.scope.locals).insert(name.to_owned());
    }

    /// Whether the running function surely has a variable of this name for itself.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        self.scope.locals.contains(name)
    }

    /// Whether a function is running.
    pub(crate) fn in_function(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Walks a substitution: a process of its own, but one that is waited for.
    pub(crate) fn substituted(&mut self, script: &Script) -> Output {
        let scope = self.scope.clone();
        let input = self.input.take();
        let output = self
            .deeper(|walker| walker.apart(|walker| walker.script(script)))
            .unwrap_or_default();
        self.input = input;
        self.scope = scope;
        output
    }

    /// Parses and walks a text that a command hands to a shell of the same process.
    pub(crate) fn line(&mut self, text: &str) -> Output {
        let script = parse(text, self.depth + 1);
        self.deeper(|walker| walker.script(&script))
            .unwrap_or_default()
    }

    /// The same for a shell of its own: it sees only what is exported.
    pub(crate) fn child_line(&mut self, text: &str, arguments: Vec<Field>) -> Output {
        self.named_child(text, None, arguments)
    }

    /// The same with the word that such a shell takes for its own name.
    pub(crate) fn named_child(
        &mut self,
        text: &str,
        zero: Option<Field>,
        arguments: Vec<Field>,
    ) -> Output {
        let scope = self.scope.clone();
        self.scope = scope.for_child();
        self.scope.arguments = Some(arguments);
        if let Some(zero) = zero {
            self.scope.set("0", zero, false);
        }
        let output = self.apart(|walker| walker.line(text));
        self.scope = scope;
        output
    }

    /// Goes one level down, or says that it is too deep.
    pub(crate) fn deeper<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.unchecked("the line is nested too deeply");
            return None;
        }
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        Some(result)
    }

    pub(crate) fn unchecked(&mut self, why: &'static str) {
        self.found.catastrophe(Catastrophe::Unchecked { why });
        self.found.opaque(Opacity::Construct {
            what: why.to_owned(),
        });
    }

    /// Counts words that move because one before them goes.
    pub(crate) fn count_moved(&mut self, words: usize) {
        self.count_copied(words / 16);
    }

    fn count_copied(&mut self, values: usize) {
        self.copied = self.copied.saturating_add(values);
        if self.copied + self.scope.compared.get() > MAX_COPIED && !self.is_spent() {
            self.unchecked("the line sets too many variables in too many ways");
            self.commands = MAX_COMMANDS;
        }
    }

    fn is_spent(&self) -> bool {
        self.commands >= MAX_COMMANDS
    }

    /// Counts a command; false when there were too many.
    fn spend(&mut self) -> bool {
        self.count_copied(0);
        self.commands += 1;
        if self.commands == MAX_COMMANDS {
            self.unchecked("the line repeats too many commands");
        }
        self.commands < MAX_COMMANDS
    }

    /// Counts what an expansion adds; false when it is too much.
    pub(crate) fn afford(&mut self, bytes: usize) -> bool {
        let before = self.expanded;
        self.expanded = before.saturating_add(bytes);
        if before < MAX_EXPANDED && self.expanded >= MAX_EXPANDED {
            self.unchecked("the line expands to too much text");
        }
        self.expanded < MAX_EXPANDED
    }

    /// A line in which nothing is run. A comment does nothing, and redirections are opened by the
    /// shell itself, which is what `:` is for: such a line is judged as `:` would be. What else
    /// seems to be without a command may have been misread.
    fn without_command(&mut self, line: &str, script: &Script) {
        let only_opens = |item: &Item| {
            matches!(&item.node, Node::Simple(simple)
                if simple.words.is_empty() && !simple.redirects.is_empty())
        };
        let comment = line.trim_start().starts_with('#');
        let plain = match script.items.as_slice() {
            [] => comment,
            items => items.iter().all(only_opens),
        };
        if plain && self.found.opaque_count() == 0 {
            self.shell_run(vec![":".to_owned()]);
        } else {
            self.found.opaque(Opacity::NoCommand);
        }
    }

    /// Notes a command that the shell itself carries out.
    fn shell_run(&mut self, words: Vec<String>) {
        self.found.run(Run {
            words,
            opaque: false,
        });
    }
}
