//! Two ways meet: of what differs, only what both have in common is known.

use std::rc::Rc;

use super::scope::{Scope, Variable, either};
use crate::syntax::Node;

impl Scope {
    pub(super) fn merge_variables(&mut self, other: &Self) {
        let before = self.variables.clone();
        let differences = before.differences(&other.variables, Variable::eq);
        self.count(differences.len());
        for (name, ours, theirs) in differences {
            // Exported or fixed on one of the ways is enough.
            let either_way =
                |of: fn(&Variable) -> bool| ours.is_some_and(of) || theirs.is_some_and(of);
            let value = match (ours, theirs) {
                (Some(ours), Some(theirs)) if ours.value == theirs.value => ours.value.clone(),
                (Some(ours), Some(theirs)) => either(&ours.value, &theirs.value),
                (Some(one), None) | (None, Some(one)) => one.value.clone().doubted(),
                (None, None) => continue,
            };
            let variable = Variable {
                name: name.to_owned(),
                value,
                exported: either_way(|known| known.exported),
                fixed: either_way(|known| known.fixed),
            };
            self.variables.insert(name, variable);
        }
    }

    pub(super) fn merge_arrays(&mut self, other: &Self) {
        let before = self.arrays.clone();
        for (name, ours, theirs) in before.differences(&other.arrays, Vec::eq) {
            let mut merged = ours.cloned().unwrap_or_default();
            let theirs = theirs.map_or(&[][..], Vec::as_slice);
            self.count(merged.len() + theirs.len());
            for (at, theirs) in theirs.iter().enumerate() {
                match merged.get_mut(at) {
                    Some(ours) if ours != theirs => *ours = either(ours, theirs),
                    Some(_) => {}
                    None => merged.push(theirs.clone()),
                }
            }
            self.arrays.insert(name, merged);
        }
    }

    pub(super) fn merge_functions(&mut self, other: &Self) {
        let before = self.functions.clone();
        let differences = before.differences(&other.functions, |a, b| same_bodies(a, b));
        self.count(differences.len());
        for (name, ours, theirs) in differences {
            if ours.is_none() || theirs.is_none() {
                Rc::make_mut(&mut self.unsure).insert(name.to_owned());
            }
            let mut bodies = ours.cloned().unwrap_or_default();
            for body in theirs.into_iter().flatten() {
                if !bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                    bodies.push(Rc::clone(body));
                }
            }
            self.functions.insert(name, bodies);
        }
    }
}

/// Whether a function has the same bodies on both ways.
pub(super) fn same_bodies(ours: &[Rc<Node>], theirs: &[Rc<Node>]) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    ours.len() == theirs.len() && pairs.all(|(one, other)| Rc::ptr_eq(one, other))
}
