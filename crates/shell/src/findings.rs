//! What the walk has found so far.

use std::collections::HashSet;

use toolgate_model::{Facts, Run};

use crate::reasons::{Catastrophe, Opacity};
use crate::{Analysis, Command};

/// Collects facts, commands and reasons; repetitions are dropped at the end.
#[derive(Default)]
pub(crate) struct Findings {
    reads: Vec<String>,
    writes: Vec<String>,
    deletes: Vec<String>,
    connects: Vec<String>,
    runs: Vec<Run>,
    commands: Vec<Command>,
    opaque: Vec<Opacity>,
    catastrophes: Vec<Catastrophe>,
    /// Whether something may change what the words of a command mean, or where it looks.
    irregular: bool,
}

impl Findings {
    pub(crate) fn read(&mut self, path: String) {
        self.reads.push(path);
    }

    pub(crate) fn write(&mut self, path: String) {
        self.writes.push(path);
    }

    pub(crate) fn delete(&mut self, path: String) {
        self.deletes.push(path);
    }

    pub(crate) fn connect(&mut self, host: String) {
        self.connects.push(host);
    }

    pub(crate) fn irregular(&mut self) {
        self.irregular = true;
    }

    pub(crate) fn run(&mut self, run: Run) {
        self.runs.push(run);
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    pub(crate) fn opaque(&mut self, reason: Opacity) {
        self.opaque.push(reason);
    }

    pub(crate) fn catastrophe(&mut self, reason: Catastrophe) {
        self.catastrophes.push(reason);
    }

    /// Takes over what another search found that must not run, and nothing else.
    pub(crate) fn take_catastrophes(&mut self, other: Self) {
        self.catastrophes.extend(other.catastrophes);
    }

    pub(crate) fn catastrophe_count(&self) -> usize {
        self.catastrophes.len()
    }

    /// Of the catastrophes that were noted since there were `count`, keeps some.
    pub(crate) fn keep_catastrophes(&mut self, count: usize, keep: impl Fn(&Catastrophe) -> bool) {
        let mut at = 0;
        self.catastrophes.retain(|found| {
            at += 1;
            at <= count || keep(found)
        });
    }

    /// How many reasons there are so far: lets a caller see whether a step added one.
    pub(crate) fn opaque_count(&self) -> usize {
        self.opaque.len()
    }

    pub(crate) fn opaque_since(&self, count: usize) -> Option<&Opacity> {
        self.opaque.get(count)
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Takes back the runs noted since there were `count`.
    pub(crate) fn forget_runs_since(&mut self, count: usize) {
        self.runs.truncate(count);
    }

    pub(crate) fn has_commands(&self) -> bool {
        !self.runs.is_empty()
    }

    pub(crate) fn finish(self) -> Analysis {
        let opaque = unique(self.opaque);
        let reasons: Vec<String> = unique(self.catastrophes)
            .iter()
            .map(ToString::to_string)
            .collect();
        Analysis {
            facts: Facts {
                reads: unique(self.reads),
                writes: unique(self.writes),
                deletes: unique(self.deletes),
                runs: unique(self.runs),
                connects: unique(self.connects),
                complete: opaque.is_empty(),
                claimed: true,
                plain: !self.irregular,
                catastrophic: reasons,
            },
            commands: self.commands,
            opaque,
        }
    }
}

/// Up to here comparing each with each is faster than hashing.
const FEW: usize = 32;

/// The list without repetitions, in its order.
fn unique<T: Clone + Eq + std::hash::Hash>(list: Vec<T>) -> Vec<T> {
    if list.len() <= FEW {
        let mut kept: Vec<T> = Vec::with_capacity(list.len());
        for entry in list {
            if !kept.contains(&entry) {
                kept.push(entry);
            }
        }
        return kept;
    }
    let mut seen = HashSet::with_capacity(list.len());
    list.into_iter()
        .filter(|entry| seen.insert(entry.clone()))
        .collect()
}
