//! Finding the rules that fit an atom without trying them all.
//!
//! Each tool of a layer has a shelf. On it, rules lie by what their keys can be
//! looked up with: the program of a command, the globs of a path in one set,
//! the name of a host, the value that a condition asks for. Positions are those in the layer, so that the first
//! fitting rule is the smallest position that fits.

use std::collections::HashMap;

use globset::{Glob, GlobSet, GlobSetBuilder};
use toolgate_model::Action;

use crate::atom::Atom;
use crate::command::CommandPattern;
use crate::condition::Test;
use crate::error::RuleError;
use crate::guarded::Guarded;
use crate::host::{Host, HostPattern};
use crate::path::{PathPattern, Place};
use crate::question::Question;
use crate::rule::RuleSpec;
use crate::text;

/// A rule ready to be tried.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) spec: RuleSpec,
    /// The canonical tool; nothing for `*`.
    pub(crate) tool: Option<String>,
    /// The rule in words.
    pub(crate) text: String,
    pub(crate) tests: Vec<Test>,
    pub(crate) command: Option<CommandPattern>,
    pub(crate) hosts: Option<Vec<HostPattern>>,
    pub(crate) reads: Option<Vec<PathPattern>>,
    pub(crate) writes: Option<Vec<PathPattern>>,
    pub(crate) deletes: Option<Vec<PathPattern>>,
}

/// Whether a rule can be about this: the name of one tool, or `*` for all of them.
pub fn names_a_tool(name: &str) -> bool {
    name == "*" || !name.is_empty() && !name.contains(['*', '?', ' '])
}

impl Rule {
    pub(crate) fn compile(
        spec: &RuleSpec,
        canonical: &dyn Fn(&str) -> String,
    ) -> Result<Self, RuleError> {
        let name = spec.tool.trim();
        let tool = match name {
            "*" => None,
            _ if !names_a_tool(name) => {
                return Err(RuleError::Tool {
                    tool: spec.tool.clone(),
                });
            }
            _ => Some(canonical(name)),
        };
        if spec.opaque && spec.has_claimable_keys() {
            return Err(RuleError::OpaqueWithPaths);
        }
        let strict = spec.action != Action::Allow;
        let paths = |key: &'static str, patterns: &Option<Vec<String>>| {
            patterns
                .as_ref()
                .map(|patterns| {
                    filled(key, patterns)?
                        .iter()
                        .map(|pattern| PathPattern::parse(key, pattern, strict))
                        .collect::<Result<Vec<_>, _>>()
                })
                .transpose()
        };
        Ok(Self {
            tests: spec
                .when
                .iter()
                .map(Test::compile)
                .collect::<Result<_, _>>()?,
            command: spec
                .command
                .as_ref()
                .map(|words| CommandPattern::compile(words, strict))
                .transpose()?,
            hosts: spec
                .connects
                .as_ref()
                .map(|hosts| {
                    filled("connects", hosts)?
                        .iter()
                        .map(|host| HostPattern::parse(host))
                        .collect::<Result<Vec<_>, _>>()
                })
                .transpose()?,
            reads: paths("reads", &spec.reads)?,
            writes: paths("writes", &spec.writes)?,
            deletes: paths("deletes", &spec.deletes)?,
            text: text::rule(spec),
            tool,
            spec: spec.clone(),
        })
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.spec.action != Action::Allow
    }

    /// Whether it is in force only for calls of which not everything is known.
    pub(crate) fn only_opaque(&self) -> bool {
        self.spec.opaque && self.is_strict()
    }

    /// Whether it matches a call's `opaque`.
    ///
    /// A deny or ask with `command` matches the command itself, which is enough.
    pub(crate) fn answers_opaque(&self) -> bool {
        self.spec.opaque && !(self.is_strict() && self.command.is_some())
    }

    /// Whether the rule is in force for this call at all.
    fn applies(&self, question: &Question<'_>) -> bool {
        let strict = self.is_strict();
        let in_sandbox = question.command_sandbox && question.facts.claimed;
        (!self.spec.sandboxed || in_sandbox)
            && (!self.only_opaque() || question.is_opaque())
            && self
                .tests
                .iter()
                .all(|test| test.holds(question.args, strict))
    }
}

fn filled<'a>(key: &'static str, list: &'a [String]) -> Result<&'a [String], RuleError> {
    if list.is_empty() {
        return Err(RuleError::EmptyList { key });
    }
    Ok(list)
}

/// Where to look after a rule whose keys fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    /// At the next rule of the same lookup.
    On,
    /// In the next lookup.
    Next,
}

/// The rules of one tool (or of `*`) in one layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    /// Rules without fact keys.
    plain: Guarded,
    /// Rules that answer for `opaque`.
    opaque: Vec<usize>,
    commands: Lookup,
    hosts: Lookup,
    reads: PathSet,
    writes: PathSet,
    deletes: PathSet,
}

impl Shelf {
    /// Puts the rules at these positions on a shelf.
    pub(crate) fn build(rules: &[Rule], positions: &[usize]) -> Result<Self, globset::Error> {
        let mut shelf = Self::default();
        let mut sets = [
            PathSetBuilder::default(),
            PathSetBuilder::default(),
            PathSetBuilder::default(),
        ];
        for &at in positions {
            let Some(rule) = rules.get(at) else { continue };
            let strict = rule.is_strict();
            if !(rule.spec.has_fact_keys() || rule.only_opaque()) {
                shelf.plain.put(at, &rule.tests);
            }
            if rule.answers_opaque() {
                shelf.opaque.push(at);
            }
            if let Some(command) = &rule.command {
                shelf
                    .commands
                    .put(at, command.programs().iter().map(String::as_str));
            }
            for host in rule.hosts.iter().flatten() {
                shelf.hosts.put(at, host.key());
            }
            let [reads, writes, deletes] = &mut sets;
            reads.put(at, strict, rule.reads.as_deref(), false);
            writes.put(at, strict, rule.writes.as_deref(), false);
            deletes.put(at, strict, rule.deletes.as_deref(), true);
        }
        let [reads, writes, deletes] = sets;
        shelf.reads = reads.finish()?;
        shelf.writes = writes.finish()?;
        shelf.deletes = deletes.finish()?;
        Ok(shelf)
    }

    /// The first rule that fits the atom.
    pub(crate) fn first<'r>(
        &self,
        rules: &'r [Rule],
        atom: &Atom<'_>,
        question: &Question<'_>,
    ) -> Option<&'r Rule> {
        let mut first: Option<usize> = None;
        self.each(rules, atom, question, &mut |at, rule| {
            let applies = rule.applies(question);
            if applies {
                first = Some(first.map_or(at, |before| before.min(at)));
            }
            // The rest of this lookup comes later in the layer.
            if applies { Go::Next } else { Go::On }
        });
        first.and_then(|at| rules.get(at))
    }

    /// Whether the rule at this position fits the atom, first or not.
    pub(crate) fn fits(
        &self,
        rules: &[Rule],
        position: usize,
        atom: &Atom<'_>,
        question: &Question<'_>,
    ) -> bool {
        let mut found = false;
        self.each(rules, atom, question, &mut |at, rule| {
            found |= at == position && rule.applies(question);
            Go::On
        });
        found
    }

    /// Goes through the rules whose keys fit the atom, lookup by lookup, each in order.
    ///
    /// `found` says whether the rest of the lookup is still of interest.
    fn each<'r>(
        &self,
        rules: &'r [Rule],
        atom: &Atom<'_>,
        question: &Question<'_>,
        found: &mut dyn FnMut(usize, &'r Rule) -> Go,
    ) {
        let mut walk = |positions: &[usize], fits: &dyn Fn(&Rule) -> bool| {
            for &at in positions {
                if let Some(rule) = rules.get(at)
                    && fits(rule)
                    && found(at, rule) == Go::Next
                {
                    break;
                }
            }
        };
        match atom {
            Atom::Opaque => {
                walk(&self.opaque, &|rule| answers_for_opaque(rule, question));
                return;
            }
            Atom::Tool(_) => {}
            Atom::Command(run) => {
                let fits = |rule: &Rule| {
                    (rule.is_strict() || rule.spec.opaque || !run.opaque)
                        && rule
                            .command
                            .as_ref()
                            .is_some_and(|command| command.fits(&run.words))
                };
                let program = run.words.first().map(String::as_str);
                self.commands
                    .under(program, &mut |positions| walk(positions, &fits));
            }
            Atom::Connect { host, .. } => {
                let fits = |rule: &Rule| reaches(rule, host);
                self.hosts
                    .under(Some(host.name.as_str()), &mut |positions| {
                        walk(positions, &fits)
                    });
            }
            Atom::Read(place) => walk(&self.reads.at(place), &|_| true),
            Atom::Write(place) => walk(&self.writes.at(place), &|_| true),
            Atom::Delete(place) => walk(&self.deletes.at(place), &|_| true),
        }
        self.plain
            .under(question.args, &mut |positions| walk(positions, &|_| true));
    }
}

/// Whether an `opaque = true` rule answers for a call's `opaque`.
///
/// With `command` it speaks for that program only, so every command has to be it.
fn answers_for_opaque(rule: &Rule, question: &Question<'_>) -> bool {
    rule.command.as_ref().is_none_or(|command| {
        let runs = &question.facts.runs;
        !runs.is_empty() && runs.iter().all(|run| command.fits(&run.words))
    })
}

fn reaches(rule: &Rule, host: &Host) -> bool {
    rule.hosts
        .iter()
        .flatten()
        .any(|pattern| pattern.fits(host, rule.is_strict()))
}

/// Positions by a key, and those without one.
#[derive(Clone, Debug, Default)]
struct Lookup {
    keyed: HashMap<String, Vec<usize>>,
    every: Vec<usize>,
}

impl Lookup {
    fn put<'k>(&mut self, at: usize, keys: impl IntoIterator<Item = &'k str>) {
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_none() {
            push_once(&mut self.every, at);
        }
        for key in keys {
            push_once(self.keyed.entry(key.to_owned()).or_default(), at);
        }
    }

    fn under(&self, key: Option<&str>, walk: &mut dyn FnMut(&[usize])) {
        if let Some(found) = key.and_then(|key| self.keyed.get(key)) {
            walk(found);
        }
        walk(&self.every);
    }
}

fn push_once(list: &mut Vec<usize>, at: usize) {
    if list.last() != Some(&at) {
        list.push(at);
    }
}

/// All path patterns of one key, in one set.
#[derive(Clone, Debug, Default)]
struct PathSet {
    globs: GlobSet,
    /// For every glob: its rule, and on which side it stands.
    owners: Vec<Owner>,
    /// Strict rules by the directories whose deletion deletes something that fits.
    around: HashMap<String, Vec<usize>>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    at: usize,
    strict: bool,
    absolute: bool,
}

#[derive(Default)]
struct PathSetBuilder {
    globs: Vec<Glob>,
    owners: Vec<Owner>,
    around: HashMap<String, Vec<usize>>,
}

impl PathSetBuilder {
    fn put(&mut self, at: usize, strict: bool, patterns: Option<&[PathPattern]>, deletes: bool) {
        for pattern in patterns.unwrap_or_default() {
            for glob in pattern.globs() {
                self.globs.push(glob.clone());
                self.owners.push(Owner {
                    at,
                    strict,
                    absolute: pattern.absolute,
                });
            }
            if deletes {
                for directory in pattern.directories_around() {
                    push_once(self.around.entry(directory).or_default(), at);
                }
            }
        }
    }

    fn finish(self) -> Result<PathSet, globset::Error> {
        let mut globs = GlobSetBuilder::new();
        for glob in self.globs {
            globs.add(glob);
        }
        Ok(PathSet {
            globs: globs.build()?,
            owners: self.owners,
            around: self.around,
        })
    }
}

impl PathSet {
    /// The rules that fit a path, in order.
    fn at(&self, place: &Place<'_>) -> Vec<usize> {
        if self.owners.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<usize> = self
            .globs
            .matches(place.tidy.as_ref())
            .into_iter()
            .filter_map(|glob| self.owners.get(glob))
            .filter(|owner| place.trusts(owner.absolute, owner.strict))
            .map(|owner| owner.at)
            .collect();
        if let Some(around) = self.around.get(place.tidy.as_ref()) {
            found.extend(around);
            found.sort_unstable();
        }
        found.dedup();
        found
    }
}
