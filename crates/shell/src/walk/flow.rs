//! Pipes, chains, branches, loops and functions.

use super::{Output, Scope, Walker};
use crate::expand::field::Field;
use crate::reasons::{Catastrophe, Opacity};
use crate::syntax::{Arm, Compound, Item, Junction, Node, Part, Script, Word};

/// Loops inside loops: from here on one round has to do.
const MAX_LOOPS: usize = 3;
/// A loop hands values from one variable to the next so often before that is too much.
const MAX_REFUTED: usize = 16;

impl Walker {
    pub(super) fn node(&mut self, node: &Node) -> Output {
        match node {
            Node::Simple(simple) => self.simple(simple),
            Node::Pipeline(commands) => self.pipeline(commands),
            Node::Chain { first, rest } => self.chain(first, rest),
            Node::Compound { body, redirects } => {
                let before = self.may_fail(redirects).then(|| self.scope.clone());
                let plumbing = self.redirects(redirects);
                let input = self.plug(&plumbing);
                let output = self
                    .deeper(|walker| walker.compound(body))
                    .unwrap_or_default();
                self.unplug(input);
                self.fill(&plumbing, &output);
                if let Some(before) = before {
                    self.scope.merge(&before);
                }
                plumbing.drain(output)
            }
            Node::Function { name, body } => {
                self.found.irregular();
                let before = self.scope.define(name, body);
                self.replaced_functions(name, before);
                Output::nothing()
            }
            Node::Coprocess(node) => {
                self.found.opaque(Opacity::Construct {
                    what: "coproc".to_owned(),
                });
                self.forked(|walker| walker.node(node))
            }
        }
    }

    fn pipeline(&mut self, commands: &[Node]) -> Output {
        let Some((first, rest)) = commands.split_first() else {
            return Output::nothing();
        };
        let mut output = self.forked(|walker| walker.node(first));
        let outside = self.input.take();
        for command in rest {
            self.input = Some(output);
            output = self.forked(|walker| walker.node(command));
        }
        self.input = outside;
        output
    }

    /// Follows both ways through `&&` and `||`: what is left if the chain so
    /// far succeeded, and what is left if it failed.
    fn chain(&mut self, first: &Node, rest: &[(Junction, Node)]) -> Output {
        let (mut output, mut success, mut failure) = self.attempt(first);
        for (junction, node) in rest {
            let (start, mut skipped) = match junction {
                Junction::And => (success, failure),
                Junction::Or => (failure, success),
            };
            self.scope = start;
            if self.scope.ended {
                // Where one way is closed the walk still looks at what stands there.
                self.scope = skipped.clone();
                self.scope.ended = true;
            }
            let (printed, succeeded, failed) = self.attempt(node);
            output = output.then(printed.maybe());
            (success, failure) = match junction {
                Junction::And => {
                    skipped.merge(&failed);
                    (succeeded, skipped)
                }
                Junction::Or => {
                    skipped.merge(&succeeded);
                    (skipped, failed)
                }
            };
        }
        success.merge(&failure);
        self.scope = success;
        output
    }

    /// Walks one command of a chain; hands back the scopes for its success and its failure.
    fn attempt(&mut self, node: &Node) -> (Output, Scope, Scope) {
        let before = self.scope.place();
        let output = self.node(node);
        let after = self.scope.clone();
        if !matches!(node, Node::Simple(_)) || after.directory == before.directory {
            return (output, after.clone(), after);
        }
        // A `cd`: it went there, or it did not.
        let success = Scope {
            unmoved: Vec::new(),
            ..after.clone()
        };
        let failure = Scope {
            directory: before.directory,
            others: before.others,
            unmoved: before.unmoved,
            ..after
        };
        (output, success, failure)
    }

    fn compound(&mut self, compound: &Compound) -> Output {
        match compound {
            Compound::Group(script) => self.script(script),
            Compound::Subshell(script) => {
                let scope = self.scope.clone();
                let output = self.apart(|walker| walker.script(script));
                self.scope = scope;
                output
            }
            Compound::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            Compound::While {
                condition,
                body,
                until,
            } => {
                self.look_for_flood(condition, body, *until);
                self.looped(|walker| walker.rounds(Some(condition), body, None))
            }
            Compound::For {
                variable,
                words,
                body,
            } => self.looped(|walker| walker.for_each(variable, words.as_deref(), body)),
            Compound::ForArithmetic { header, body } => {
                self.arithmetic(header);
                if header_never_ends(header) && floods(body) {
                    self.found.catastrophe(Catastrophe::ForkBomb {
                        name: "for".to_owned(),
                    });
                }
                self.looped(|walker| walker.rounds(None, body, None))
            }
            Compound::Case { subject, arms } => {
                self.single(subject);
                self.cases(arms)
            }
            Compound::Test(words) => {
                self.test(words);
                Output::nothing()
            }
            Compound::Arithmetic(inside) => {
                self.arithmetic(inside);
                Output::nothing()
            }
        }
    }

    fn cases(&mut self, arms: &[Arm]) -> Output {
        let mut results: Vec<Scope> = Vec::new();
        let mut output = Output::nothing();
        for arm in arms {
            for pattern in &arm.patterns {
                self.single(pattern);
            }
            let tested = self.scope.clone();
            output = output.then(self.script(&arm.body).maybe());
            let result = std::mem::replace(&mut self.scope, tested);
            if arm.falls {
                self.scope.merge(&result);
            } else {
                results.push(result);
            }
        }
        for result in &results {
            self.scope.merge(result);
        }
        output
    }

    fn branches(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> Output {
        let mut results: Vec<Scope> = Vec::new();
        let mut output = Output::nothing();
        for (condition, body) in arms {
            let directory = self.scope.directory.clone();
            let tested = self.script(condition);
            output = output.then(if results.is_empty() {
                tested
            } else {
                tested.maybe()
            });
            let tested = self.scope.clone();
            let simple = matches!(condition.items.as_slice(), [item]
                if matches!(item.node, Node::Simple(_)) && !item.background);
            if simple && self.scope.directory != directory {
                // `if cd x`: the body runs only where that worked.
                self.scope.unmoved.clear();
            }
            output = output.then(self.script(body).maybe());
            results.push(std::mem::replace(&mut self.scope, tested));
        }
        if let Some(script) = otherwise {
            output = output.then(self.script(script).maybe());
        }
        for result in &results {
            self.scope.merge(result);
        }
        output
    }

    /// Walks a body often enough to have met what a later round would meet.
    fn rounds(
        &mut self,
        condition: Option<&Script>,
        body: &Script,
        variable: Option<(&str, &Field)>,
    ) -> Output {
        let mut output = condition.map_or_else(Output::nothing, |script| self.script(script));
        let before = self.scope.clone();
        let mut exits = before.clone();
        let limit = if self.loops >= MAX_LOOPS { 1 } else { 3 };
        self.loops += 1;
        for round in 0..limit + MAX_REFUTED {
            let start = self.scope.clone();
            if let Some((name, value)) = variable {
                self.assign(name, value.clone(), false);
            }
            output = output.then(self.script(body).maybe());
            self.rejoin_loop();
            exits.merge(&self.scope);
            if let Some(script) = condition {
                // Tested again with what the round left behind.
                output = output.then(self.script(script).maybe());
                exits.merge(&self.scope);
            }
            if !self.scope.differs(&start) {
                break;
            }
            if round + 2 == limit {
                self.scope.forget_changes(&before);
            }
            if round + 1 >= limit && !self.scope.refute(&start) {
                break;
            }
            if round + 1 == limit + MAX_REFUTED {
                self.unchecked("a loop changes its variables in too many ways");
            }
        }
        self.loops -= 1;
        exits.merge(&self.scope);
        self.scope = exits;
        output
    }

    fn for_each(&mut self, variable: &str, words: Option<&[Word]>, body: &Script) -> Output {
        let mut values = Vec::new();
        match words {
            Some(words) => {
                for word in words {
                    self.fields(word, &mut values);
                }
            }
            None => match &self.scope.arguments {
                Some(arguments) if !arguments.is_empty() => values.clone_from(arguments),
                // The body is looked at all the same.
                _ => values.push(Field::guess("")),
            },
        }
        let mut exits = self.scope.clone();
        let mut output = Output::nothing();
        let breaks = self.breaks;
        for value in values {
            if self.is_spent() {
                break;
            }
            let mut value = value;
            let repeated = value.is_pattern() || !value.is_known();
            value.loose = false;
            if repeated {
                output = output.then(self.rounds(None, body, Some((variable, &value))));
            } else {
                self.assign(variable, value, false);
                let steady = self.breaks == breaks;
                let printed = self.script(body);
                output = output.then(if steady { printed } else { printed.maybe() });
                self.rejoin_loop();
            }
            exits.merge(&self.scope);
        }
        self.scope = exits;
        output
    }

    fn test(&mut self, words: &[Word]) {
        let asks = words
            .iter()
            .any(|word| word.raw == "-v" || word.raw == "-R");
        let mut shown = vec!["[[".to_owned()];
        for word in words {
            let field = self.single(word);
            // Numbers are evaluated as arithmetic here, and indexes too, which can run commands.
            if asks {
                self.evaluated(&field.text);
            }
            shown.push(field.shown());
        }
        let numeric = words.windows(3).filter(|window| {
            window.get(1).is_some_and(|operator| {
                matches!(
                    operator.raw.as_str(),
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"
                )
            })
        });
        for window in numeric {
            for side in window.iter().step_by(2) {
                self.arithmetic(&side.parts);
            }
        }
        if asks {
            self.found.opaque(Opacity::Construct {
                what: "[[ -v".to_owned(),
            });
        }
        self.shell_run(shown);
    }

    /// `while true; do something & done` fills the machine with processes.
    fn look_for_flood(&mut self, condition: &Script, body: &Script, until: bool) {
        let endless = match condition.items.as_slice() {
            [item] => match &item.node {
                Node::Simple(simple) => {
                    let name = simple.words.first().map_or("", |word| word.raw.as_str());
                    if until {
                        name == "false"
                    } else {
                        matches!(name, "true" | ":")
                    }
                }
                Node::Compound { body, .. } => {
                    matches!(&**body, Compound::Arithmetic(inside) if !until && is_one(inside))
                }
                _ => false,
            },
            _ => false,
        };
        if endless && floods(body) {
            self.found.catastrophe(Catastrophe::ForkBomb {
                name: "while".to_owned(),
            });
        }
    }
}

/// Whether every round of this body starts something and waits for nothing.
fn floods(body: &Script) -> bool {
    let waits = |item: &Item| {
        let Node::Simple(simple) = &item.node else {
            return false;
        };
        let name = simple.words.first().map_or("", |word| word.raw.as_str());
        matches!(
            name,
            "sleep" | "wait" | "break" | "exit" | "return" | "read" | "usleep"
        )
    };
    body.items.iter().any(|item| item.background)
        && !body
            .items
            .iter()
            .any(|item| !item.background && waits(item))
}

fn is_one(inside: &[Part]) -> bool {
    matches!(inside, [Part::Quoted(text)] if text.trim().parse::<i64>().is_ok_and(|n| n != 0))
}

/// `for ((;;))`.
fn header_never_ends(header: &[Part]) -> bool {
    matches!(header, [Part::Quoted(text)]
        if text.split(';').nth(1).is_some_and(|condition| condition.trim().is_empty()))
}
