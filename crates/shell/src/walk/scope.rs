//! What a shell remembers from one command to the next.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::map::Map;
use super::merge::same_bodies;

use crate::expand::field::{Field, UNKNOWN};
use crate::place::join;
use crate::syntax::Node;

/// More directories than this at once, and the working directory counts as unknown.
const MAX_DIRECTORIES: usize = 8;

/// A longer path is no place to work in, and takes too long to follow.
const MAX_PATH: usize = 4096;

/// Variables by their names.
pub(crate) type Variables = Map<Variable>;
/// A variable that the line itself has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Field,
    pub(crate) exported: bool,
    /// `readonly`: what is assigned later may not arrive.
    pub(crate) fixed: bool,
}

/// Variables, functions, arguments and the working directory. It is copied wherever a line may
/// go two ways, so what every line has is shared.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) variables: Variables,
    /// Elements of arrays, last as they were set: guesses, since not every change is followed.
    pub(super) arrays: Map<Vec<Field>>,
    /// The arguments of the function or script; nothing where they are not known.
    pub(crate) arguments: Option<Vec<Field>>,
    /// What an argument may be where they are not known.
    pub(crate) argument_guess: Rc<Field>,
    /// The working directory as an absolute path, if it is known.
    pub(crate) directory: Option<Rc<str>>,
    /// Where the line may be instead.
    pub(crate) others: Vec<Rc<str>>,
    /// Where it is if the last `cd` failed.
    pub(crate) unmoved: Vec<Rc<str>>,
    /// What `cd -` means.
    pub(crate) previous: Option<Rc<str>>,
    /// Where `popd` goes, the next at the end; nothing where that is not followed any more.
    pub(crate) stack: Option<Vec<Rc<str>>>,
    /// Functions by their names, with every body that one may have.
    pub(crate) functions: Map<Vec<Rc<Node>>>,
    /// Functions that only some of the ways define.
    pub(super) unsure: Rc<BTreeSet<String>>,
    /// Variables that the running function has for itself, on every way.
    pub(super) locals: Rc<BTreeSet<String>>,
    /// Whether no way leads here: the line, loop or function was left before.
    pub(super) ended: bool,
    /// What `$_` means.
    pub(crate) last_argument: Rc<Field>,
    /// How many values were compared so far where ways met, in all scopes of the walk.
    pub(super) compared: Rc<Cell<usize>>,
}

/// Where a line is, or may be.
pub(crate) struct Place {
    pub(crate) directory: Option<Rc<str>>,
    pub(crate) others: Vec<Rc<str>>,
    pub(crate) unmoved: Vec<Rc<str>>,
    previous: Option<Rc<str>>,
}

impl Scope {
    pub(crate) fn new(directory: String) -> Self {
        Self {
            variables: Variables::default(),
            arrays: Map::default(),
            arguments: None,
            argument_guess: Rc::new(Field::guess("")),
            directory: Some(directory.into()),
            others: Vec::new(),
            unmoved: Vec::new(),
            previous: None,
            stack: Some(Vec::new()),
            functions: Map::default(),
            unsure: Rc::default(),
            locals: Rc::default(),
            ended: false,
            last_argument: Rc::new(Field::guess("")),
            compared: Rc::default(),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// Gives a function its body and hands back those it had.
    pub(crate) fn define(&mut self, name: &str, body: &Rc<Node>) -> Vec<Rc<Node>> {
        if self.unsure.contains(name) {
            Rc::make_mut(&mut self.unsure).remove(name);
        }
        let before = self.functions.insert(name, vec![Rc::clone(body)]);
        before.unwrap_or_default()
    }

    /// Takes a function away and hands back the bodies it had.
    pub(crate) fn undefine(&mut self, name: &str) -> Vec<Rc<Node>> {
        self.functions.remove(name).unwrap_or_default()
    }

    /// Whether it is open which body a function has, or whether it has one.
    pub(crate) fn is_unsure(&self, name: &str) -> bool {
        let several = self.functions.get(name).is_some_and(|all| all.len() > 1);
        several || self.unsure.contains(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: Field, exported: bool) {
        match self.variables.get_mut(name) {
            Some(variable) => {
                variable.value = value;
                variable.exported |= exported;
            }
            None => {
                let variable = Variable {
                    name: name.to_owned(),
                    value,
                    exported,
                    fixed: false,
                };
                self.variables.insert(name, variable);
            }
        }
    }

    /// Puts a variable back as it was.
    pub(crate) fn restore(&mut self, name: &str, variable: Option<Variable>) {
        if self.variable(name) == variable.as_ref() {
            return;
        }
        match variable {
            Some(variable) => self.variables.insert(name, variable),
            None => self.variables.remove(name),
        };
    }

    /// Makes a variable one that cannot be changed any more.
    pub(crate) fn fix(&mut self, name: &str) {
        if self.variable(name).is_some_and(|known| !known.fixed)
            && let Some(variable) = self.variables.get_mut(name)
        {
            variable.fixed = true;
        }
    }

    /// The elements that an array was given, if it still is one.
    pub(crate) fn elements(&self, name: &str) -> Option<&[Field]> {
        let scalar = self
            .variable(name)
            .is_some_and(|variable| !variable.value.text.contains(UNKNOWN));
        let elements = self.arrays.get(name)?;
        (!scalar).then_some(elements.as_slice())
    }

    /// Gives an array its elements, or more of them.
    pub(crate) fn set_elements(&mut self, name: &str, elements: Vec<Field>, more: bool) {
        match self.arrays.get_mut(name).filter(|_| more) {
            Some(known) => known.extend(elements),
            None => {
                self.arrays.insert(name, elements);
            }
        }
    }

    /// What a shell started from this one knows.
    pub(crate) fn for_child(&self) -> Self {
        let mut variables = Variables::default();
        let all = self.variables.unsorted();
        // Looking at one takes less time than comparing two.
        self.count(all.len() / 16);
        for (name, variable) in all.into_iter().filter(|(_, known)| known.exported) {
            variables.insert(name, variable.clone());
        }
        Self {
            variables,
            arrays: Map::default(),
            functions: Map::default(),
            ..self.clone()
        }
    }

    /// All directories the line may be in but the likeliest.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = &Rc<str>> {
        self.others.iter().chain(&self.unmoved)
    }

    /// Goes to `target`, or to an unknown directory; and maybe stays, because that may fail.
    pub(crate) fn change_directory(&mut self, target: Option<&str>) {
        let (Some(target), Some(directory)) = (target, self.directory.take()) else {
            self.lose_directory();
            return;
        };
        let alternatives: Vec<Rc<str>> = self.alternatives().cloned().collect();
        let moved = join(&directory, target);
        if moved.len() > MAX_PATH {
            self.lose_directory();
            return;
        }
        self.directory = Some(moved.into());
        self.others.clear();
        self.unmoved.clear();
        for other in &alternatives {
            let moved = Rc::from(join(other, target));
            if self.is_new(&moved) {
                self.others.push(moved);
            }
        }
        for other in alternatives.into_iter().chain([directory.clone()]) {
            if self.is_new(&other) {
                self.unmoved.push(other);
            }
        }
        self.previous = Some(directory);
        self.limit_directories();
    }

    pub(crate) fn lose_directory(&mut self) {
        self.directory = None;
        self.others.clear();
        self.unmoved.clear();
        self.previous = None;
    }

    /// Where the line is.
    pub(crate) fn place(&self) -> Place {
        Place {
            directory: self.directory.clone(),
            others: self.others.clone(),
            unmoved: self.unmoved.clone(),
            previous: self.previous.clone(),
        }
    }

    /// Goes back to a place.
    pub(crate) fn return_to(&mut self, place: Place) {
        self.directory = place.directory;
        self.others = place.others;
        self.unmoved = place.unmoved;
        self.previous = place.previous;
    }

    fn is_new(&self, directory: &Rc<str>) -> bool {
        self.directory.as_ref() != Some(directory)
            && !self.alternatives().any(|other| other == directory)
    }

    fn may_be_in(&mut self, directory: &Rc<str>) {
        if self.is_new(directory) {
            self.others.push(Rc::clone(directory));
            self.limit_directories();
        }
    }

    fn limit_directories(&mut self) {
        if self.others.len() + self.unmoved.len() > MAX_DIRECTORIES {
            self.lose_directory();
        }
    }

    /// Either this happened, or the other: what differs is not known any more.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.ended {
            return;
        }
        if self.ended {
            *self = other.clone();
            return;
        }
        self.merge_variables(other);
        self.merge_arrays(other);
        self.merge_functions(other);
        if !Rc::ptr_eq(&self.unsure, &other.unsure) {
            Rc::make_mut(&mut self.unsure).extend(other.unsure.iter().cloned());
        }
        if self.locals != other.locals {
            Rc::make_mut(&mut self.locals).retain(|name| other.locals.contains(name));
        }
        if self.previous != other.previous {
            self.previous = None;
        }
        match (&self.directory, &other.directory) {
            (Some(_), Some(theirs)) => {
                for directory in other.alternatives().chain([theirs]) {
                    if self.directory.is_some() {
                        self.may_be_in(directory);
                    }
                }
            }
            (None, None) => {}
            _ => self.lose_directory(),
        }
        if self.stack != other.stack {
            self.stack = None;
        }
        if self.arguments != other.arguments {
            self.lose_arguments(other);
        }
    }

    /// Forgets the arguments; the one nearest to `/` is kept as a guess.
    fn lose_arguments(&mut self, other: &Self) {
        let ours = self.arguments.take().unwrap_or_default();
        let theirs = other.arguments.as_deref().unwrap_or_default();
        let guess = ours
            .iter()
            .chain(theirs)
            .chain([&*other.argument_guess])
            .fold(Field::clone(&self.argument_guess), |one, other| {
                either(&one, other)
            });
        self.argument_guess = Rc::new(guess);
    }

    /// Counts values that were compared or copied.
    pub(super) fn count(&self, values: usize) {
        self.compared
            .set(self.compared.get().saturating_add(values));
    }

    /// Whether a second round would meet something else than this one did.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.directory != other.directory
            || self.others != other.others
            || self.unmoved != other.unmoved
            || self.previous != other.previous
            || self.stack != other.stack
            || self.arguments != other.arguments
            || !self.arrays.differences(&other.arrays, Vec::eq).is_empty()
            || !self
                .functions
                .differences(&other.functions, |a, b| same_bodies(a, b))
                .is_empty()
            || !self
                .variables
                .differences(&other.variables, Variable::eq)
                .is_empty()
    }

    /// Forgets what changed since `before`.
    pub(crate) fn forget_changes(&mut self, before: &Self) {
        if self.directory != before.directory {
            self.lose_directory();
        }
        if self.stack != before.stack {
            self.stack = None;
        }
        if self.arguments != before.arguments {
            self.lose_arguments(before);
        }
        let now = self.variables.clone();
        for (name, ours, old) in now.differences(&before.variables, Variable::eq) {
            let Some(ours) = ours.filter(|ours| old.map(|old| &old.value) != Some(&ours.value))
            else {
                continue;
            };
            if let Some(variable) = self.variables.get_mut(name) {
                variable.value = weaker(&ours.value);
            }
        }
    }

    /// Whether a round that started from `start` left a variable as something else than what it
    /// was taken for; what such a variable is, is forgotten.
    pub(crate) fn refute(&mut self, start: &Self) -> bool {
        let mut refuted = false;
        if self.arguments != start.arguments && start.arguments.is_some() {
            self.lose_arguments(start);
            refuted = true;
        }
        let now = self.variables.clone();
        for (name, ours, old) in now.differences(&start.variables, Variable::eq) {
            let Some((ours, old)) = ours.zip(old) else {
                continue;
            };
            let (value, taken) = (&ours.value, &old.value);
            let known = taken.is_known() || (taken.is_integer() && !value.is_integer());
            if !known || taken == value {
                continue;
            }
            refuted = true;
            if let Some(variable) = self.variables.get_mut(name) {
                let integer = taken.is_integer() && value.is_integer();
                variable.value = if integer {
                    Field::integer()
                } else {
                    Field::unknown()
                };
            }
        }
        refuted
    }
}

/// A value that is some number if this one is, and anything otherwise.
fn weaker(value: &Field) -> Field {
    if value.is_integer() {
        return Field::integer();
    }
    if value.text.starts_with('/') && !value.text.contains(UNKNOWN) {
        // Good enough to find what must not be removed.
        return value.clone().doubted();
    }
    Field {
        number: value.number,
        ..Field::unknown()
    }
}

/// One of two values. The guess that is nearer to `/` is kept, because a
/// guess is only ever used to find what must not run.
pub(crate) fn either(ours: &Field, theirs: &Field) -> Field {
    let height = |field: &Field| match field.text.strip_prefix('/') {
        Some(below) => below.len(),
        None => usize::MAX,
    };
    let mut value = if height(theirs) < height(ours) {
        theirs.clone()
    } else {
        ours.clone()
    };
    value.number = ours.number && theirs.number;
    value = value.doubted();
    if ours.is_integer() && theirs.is_integer() {
        value.number = true;
        value.integer_from = Some(0);
    }
    value
}
