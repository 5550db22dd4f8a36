//! Ways that leave a place early, and functions.
//!
//! `exit`, `return`, `break`, `continue` and errors end the way they stand on. The scope they
//! leave behind is kept here and merged where that way goes on: the next round or the end of the
//! loop, the end of the function, the next line. A value is exact only if all of them agree.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Frame, Output, Scope, Walker};
use crate::expand::field::Field;
use crate::reasons::{Catastrophe, Opacity};
use crate::syntax::{Redirect, RedirectKind, Simple, Target};

/// A function may call itself so often before the walk lets it be.
const MAX_RECURSION: usize = 3;

/// How many bodies of replaced functions are kept for a last look.
const MAX_REPLACED: usize = 64;

/// Scopes that were left early, and what can be left here.
#[derive(Default)]
pub(super) struct Jumps {
    /// By `break` and `continue`.
    broken: Option<Scope>,
    /// By `return`.
    returned: Option<Scope>,
    /// By an error that drops the rest of a command.
    dropped: Option<Scope>,
    /// By `exit`, while a trap waits for it.
    exited: Option<Scope>,
    /// Loops around this command, in this function and this process.
    loops: usize,
    /// Whether a function of this process is running.
    called: bool,
}

impl Walker {
    /// Walks something that no jump leaves: a process or a file of its own.
    pub(super) fn apart<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let jumps = std::mem::take(&mut self.jumps);
        let result = walk(self);
        self.jumps = jumps;
        result
    }

    /// Notes the scope that a command may leave behind for a later place.
    pub(crate) fn may_jump(&mut self, program: &str) {
        let scope = &self.scope;
        let jumps = &mut self.jumps;
        match program {
            "break" | "continue" => add(&mut jumps.broken, scope),
            "return" => add(&mut jumps.returned, scope),
            "exit" | "logout" if !self.traps.is_empty() => add(&mut jumps.exited, scope),
            _ => {}
        }
    }

    /// Notes that an error may drop the rest of the command: the next line goes on from here.
    pub(crate) fn may_drop(&mut self) {
        add(&mut self.jumps.dropped, &self.scope);
    }

    /// Merges what an error may have left for the next line.
    pub(super) fn rejoin_dropped(&mut self) {
        if let Some(scope) = &self.jumps.dropped {
            self.scope.merge(scope);
        }
    }

    /// Ends the way that leads here, if this command surely leaves it.
    pub(super) fn end_way(&mut self, simple: &Simple) {
        let plain = simple.assignments.is_empty() && simple.redirects.is_empty();
        let mut words = simple.words.iter().map(|word| word.raw.as_str());
        let (name, count) = (words.next().unwrap_or_default(), words.next());
        let number = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 4 && text != "0"
        };
        let leaves = match name {
            "exit" => true,
            "return" => self.jumps.called,
            "break" | "continue" => self.jumps.loops > 0,
            _ => false,
        };
        let counted = match count {
            None => true,
            Some("0") => matches!(name, "exit" | "return"),
            Some(count) => number(count),
        };
        if plain
            && leaves
            && counted
            && words.next().is_none()
            && !self.renamed
            && !self.scope.functions.contains(name)
        {
            self.scope.ended = true;
        }
    }

    /// Walks a loop: what `break` and `continue` leave is merged by `rejoin_loop`.
    pub(super) fn looped<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.jumps.broken.take();
        self.jumps.loops += 1;
        let result = walk(self);
        self.jumps.loops -= 1;
        let inner = self.jumps.broken.take();
        self.jumps.broken = outer;
        if self.jumps.loops > 0
            && let Some(inner) = inner
        {
            // `break 2` goes further.
            add(&mut self.jumps.broken, &inner);
        }
        result
    }

    /// Merges what `break` and `continue` left so far.
    pub(super) fn rejoin_loop(&mut self) {
        if let Some(scope) = &self.jumps.broken {
            self.scope.merge(scope);
        }
    }

    /// Merges what `return` left so far.
    pub(crate) fn rejoin_source<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::take(&mut self.jumps);
        let result = walk(self);
        self.end_inner(outer);
        result
    }

    /// Merges what `return` left, and hands on what else was left early.
    fn end_inner(&mut self, outer: Jumps) {
        let inner = std::mem::replace(&mut self.jumps, outer);
        if let Some(scope) = &inner.returned {
            self.scope.merge(scope);
        }
        for (left, kept) in [
            (inner.broken, &mut self.jumps.broken),
            (inner.dropped, &mut self.jumps.dropped),
            (inner.exited, &mut self.jumps.exited),
        ] {
            if let Some(scope) = left {
                add(kept, &scope);
            }
        }
    }

    /// Whether a text that runs at any time would leave something behind.
    pub(crate) fn perhaps_changes(&mut self, text: &str) -> bool {
        let mut changes = false;
        self.perhaps(|walker| {
            let before = walker.scope.clone();
            walker.line(text);
            let left = walker.jumps.broken.is_some() || walker.jumps.returned.is_some();
            changes = left || walker.scope.differs(&before);
        });
        changes
    }

    /// Prepares the scope for what runs when the line ends, wherever that was.
    pub(super) fn rejoin_exits(&mut self) {
        self.scope.ended = false;
        if let Some(scope) = self.jumps.exited.take() {
            self.scope.merge(&scope);
        }
    }

    /// Whether a redirection may fail, and the command with it.
    pub(super) fn may_fail(&self, redirects: &[Redirect]) -> bool {
        redirects.iter().any(|redirect| {
            let target = match &redirect.target {
                Target::Word(word) => word.raw.as_str(),
                Target::Document(_) => "",
            };
            let safe = match redirect.kind {
                RedirectKind::HereDocument | RedirectKind::HereString => true,
                RedirectKind::Duplicate { .. } => matches!(target, "0" | "1" | "2"),
                _ => target == "/dev/null",
            };
            !safe || self.closed
        })
    }

    /// Walks the functions of this name, if the line defines any.
    pub(crate) fn call(&mut self, name: &str, arguments: &[Field]) -> Option<Output> {
        let bodies = self.scope.functions.get(name).cloned().unwrap_or_default();
        if bodies.is_empty() {
            return None;
        }
        let active: Vec<usize> = self
            .frames
            .iter()
            .filter(|frame| frame.name == name)
            .map(|frame| frame.forks)
            .collect();
        if active.iter().any(|forks| self.forks > *forks) {
            self.found.catastrophe(Catastrophe::ForkBomb {
                name: name.to_owned(),
            });
            return Some(Output::Unknown);
        }
        if active.len() >= MAX_RECURSION {
            self.found.opaque(Opacity::Construct {
                what: format!("{name} calls itself"),
            });
            return Some(Output::Unknown);
        }
        if !self.called.contains(name) {
            self.called.insert(name.to_owned());
        }
        let unsure = self.scope.is_unsure(name);
        if unsure {
            self.found.opaque(Opacity::Construct {
                what: format!("{name} is defined in several ways"),
            });
        }
        self.frames.push(Frame {
            name: name.to_owned(),
            forks: self.forks,
            hidden: BTreeMap::new(),
        });
        let saved = self.scope.arguments.replace(arguments.to_vec());
        let locals = std::mem::take(&mut self.scope.locals);
        let outer = std::mem::take(&mut self.jumps);
        self.jumps.called = true;
        let before = self.scope.clone();
        let mut after = unsure.then(|| before.clone());
        let mut output = Output::nothing();
        for body in bodies {
            self.scope = before.clone();
            output = output.then(self.deeper(|walker| walker.node(&body)).unwrap_or_default());
            add(&mut after, &self.scope);
        }
        if let Some(after) = after {
            self.scope = after;
        }
        self.end_inner(outer);
        self.scope.arguments = saved;
        let own = std::mem::replace(&mut self.scope.locals, locals);
        let hidden = self.frames.pop().map(|frame| frame.hidden);
        for (name, variable) in hidden.into_iter().flatten() {
            let inside = self.scope.variable(&name).cloned();
            let certain = own.contains(&name);
            self.scope.restore(&name, variable);
            if !certain && let Some(inside) = inside {
                // It may have been the variable outside all along.
                let value = super::either(&self.variable(&name), &inside.value);
                self.scope.set(&name, value, inside.exported);
            }
        }
        Some(if unsure { output.maybe() } else { output })
    }

    /// Gives a function another body, or none.
    pub(crate) fn replaced_functions(&mut self, name: &str, bodies: Vec<Rc<crate::syntax::Node>>) {
        if bodies.is_empty() {
            return;
        }
        if !self.traps.is_empty() {
            self.found.opaque(Opacity::Construct {
                what: format!("{name} is defined again"),
            });
        }
        let free = MAX_REPLACED.saturating_sub(self.replaced.len());
        if bodies.len() > free {
            self.unchecked("the line defines its functions too often");
        }
        self.replaced.extend(bodies.into_iter().take(free));
    }

    /// Functions that nothing calls are walked too: the line carries them for something.
    pub(super) fn uncalled_functions(&mut self) {
        self.scope.ended = false;
        let entries = self.scope.functions.entries().into_iter();
        let names: Vec<String> = entries.map(|(name, _)| name.to_owned()).collect();
        for name in names {
            if !self.called.contains(&name) {
                self.call(&name, &[]);
            }
        }
        for body in std::mem::take(&mut self.replaced) {
            self.perhaps(|walker| {
                walker.apart(|walker| walker.deeper(|walker| walker.node(&body)));
            });
        }
    }
}

/// Merges a scope into those that were left at the same kind of place.
fn add(left: &mut Option<Scope>, scope: &Scope) {
    match left {
        Some(left) => left.merge(scope),
        None => *left = Some(scope.clone()),
    }
}
