//! What a shell remembers from one command to the next.

use std::rc::Rc;

use crate::expand::field::Field;
use crate::syntax::Node;

/// More folders than this at once, and the working folder counts as unknown.
const MAX_FOLDERS: usize = 4;

/// A variable that the line itself has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Field,
    pub(crate) exported: bool,
}

/// Variables, functions, arguments and the working folder.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) variables: Vec<Variable>,
    /// The arguments of the function or script; nothing where they are not known.
    pub(crate) arguments: Option<Vec<Field>>,
    /// The working folder as an absolute path, if it is known.
    pub(crate) folder: Option<String>,
    /// Where the line may be instead, because a `cd` may have failed.
    pub(crate) others: Vec<String>,
    /// What `cd -` means.
    pub(crate) previous: Option<String>,
    pub(crate) functions: Vec<(String, Rc<Node>)>,
    /// What `$_` means.
    pub(crate) last_argument: Field,
}

impl Scope {
    pub(crate) fn new(folder: String) -> Self {
        Self {
            variables: Vec::new(),
            arguments: None,
            folder: Some(folder),
            others: Vec::new(),
            previous: None,
            functions: Vec::new(),
            last_argument: Field::guess(""),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    pub(crate) fn set(&mut self, name: &str, value: Field, exported: bool) {
        match self.variables.iter_mut().find(|variable| variable.name == name) {
            Some(variable) => {
                variable.value = value;
                variable.exported |= exported;
            }
            None => self.variables.push(Variable { name: name.to_owned(), value, exported }),
        }
    }

    /// What a shell started from this one knows.
    pub(crate) fn for_child(&self) -> Self {
        let variables = self.variables.iter().filter(|variable| variable.exported);
        Self { variables: variables.cloned().collect(), functions: Vec::new(), ..self.clone() }
    }

    pub(crate) fn change_folder(&mut self, folder: Option<String>) {
        self.previous = std::mem::replace(&mut self.folder, folder);
        if self.folder.is_none() {
            self.others.clear();
        } else if let Some(before) = self.previous.clone() {
            self.may_be_in(before);
        }
    }

    fn may_be_in(&mut self, folder: String) {
        if self.folder.as_deref() == Some(folder.as_str()) || self.others.contains(&folder) {
            return;
        }
        self.others.push(folder);
        if self.others.len() > MAX_FOLDERS {
            self.folder = None;
            self.others.clear();
        }
    }

    /// Either this happened, or the other: what differs is not known any more.
    pub(crate) fn merge(&mut self, other: &Self) {
        for variable in &mut self.variables {
            match other.variable(&variable.name) {
                Some(theirs) if theirs.value == variable.value => {}
                Some(theirs) => variable.value = either(&variable.value, &theirs.value),
                None => variable.value.holes.push(0),
            }
        }
        for variable in &other.variables {
            if self.variable(&variable.name).is_none() {
                let mut value = variable.value.clone();
                value.holes.push(0);
                self.set(&variable.name, value, variable.exported);
            }
        }
        for function in &other.functions {
            if !self.functions.iter().any(|(_, body)| Rc::ptr_eq(body, &function.1)) {
                self.functions.push(function.clone());
            }
        }
        match (&self.folder, &other.folder) {
            (Some(_), Some(theirs)) => {
                for folder in other.others.iter().chain([theirs]) {
                    self.may_be_in(folder.clone());
                }
            }
            (None, None) => {}
            _ => {
                self.folder = None;
                self.others.clear();
            }
        }
        if self.arguments != other.arguments {
            self.arguments = None;
        }
    }

    /// Whether a second round would meet something else than this one did.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.folder != other.folder || self.variables != other.variables
    }

    /// Forgets what changed since `before`.
    pub(crate) fn forget_changes(&mut self, before: &Self) {
        if self.folder != before.folder {
            self.folder = None;
            self.others.clear();
        }
        for variable in &mut self.variables {
            if before.variable(&variable.name).map(|old| &old.value) != Some(&variable.value) {
                let number = variable.value.number;
                variable.value = Field { number, ..Field::unknown() };
            }
        }
    }
}

/// One of two values. The guess that is nearer to `/` is kept, because a
/// guess is only ever used to find what must not run.
fn either(ours: &Field, theirs: &Field) -> Field {
    let height = |field: &Field| match field.text.strip_prefix('/') {
        Some(below) => below.len(),
        None => usize::MAX,
    };
    let mut value = if height(theirs) < height(ours) { theirs.clone() } else { ours.clone() };
    value.number = ours.number && theirs.number;
    value.holes.push(0);
    value
}
