//! Rules without fact keys, by a condition that has to hold for them.
//!
//! A rule whose condition names a value or a beginning is found by the argument itself, so
//! that a thousand rules about other values are not tried. What cannot be looked up (a part of
//! a text, an expression, an argument that is no text) is tried one by one.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use toolgate_model::Args;

use crate::condition::{Key, Test};

/// Rules without fact keys, in the order of their layer wherever they lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    /// Rules without conditions.
    open: Vec<usize>,
    by_param: HashMap<String, ByValue>,
}

/// Rules that need the same parameter.
#[derive(Clone, Debug, Default)]
struct ByValue {
    all: Vec<usize>,
    equal: HashMap<String, Vec<usize>>,
    heads: HashMap<String, Vec<usize>>,
    /// How long those beginnings are.
    lengths: BTreeSet<usize>,
    rest: Vec<usize>,
}

impl Guarded {
    pub(crate) fn put(&mut self, at: usize, tests: &[Test]) {
        let looked_up = tests.iter().find(|test| !matches!(test.key(), Key::None));
        let Some(test) = looked_up.or(tests.first()) else {
            return self.open.push(at);
        };
        let rules = self.by_param.entry(test.param().to_owned()).or_default();
        rules.all.push(at);
        let (list, values) = match test.key() {
            Key::Equal(values) => (&mut rules.equal, values),
            Key::Head(values) => (&mut rules.heads, values),
            Key::None => return rules.rest.push(at),
        };
        for value in values.iter().collect::<BTreeSet<_>>() {
            list.entry(value.clone()).or_default().push(at);
        }
        if matches!(test.key(), Key::Head(_)) {
            rules.lengths.extend(values.iter().map(String::len));
        }
    }

    /// Hands over every list of rules whose looked-up condition holds, each in order.
    pub(crate) fn under(&self, args: &Args, walk: &mut dyn FnMut(&[usize])) {
        walk(&self.open);
        for (param, rules) in &self.by_param {
            match args.get(param) {
                // A condition on what is not there does not hold.
                None => {}
                Some(Value::String(text)) => rules.for_text(text, walk),
                Some(_) => walk(&rules.all),
            }
        }
    }
}

impl ByValue {
    fn for_text(&self, text: &str, walk: &mut dyn FnMut(&[usize])) {
        if let Some(found) = self.equal.get(text) {
            walk(found);
        }
        for length in &self.lengths {
            if let Some(found) = text.get(..*length).and_then(|head| self.heads.get(head)) {
                walk(found);
            }
        }
        walk(&self.rest);
    }
}
