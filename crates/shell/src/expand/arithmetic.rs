//! Arithmetic: `$((…))`, indexes, offsets, and variables that only hold numbers.
//!
//! A shell evaluates the value of a name as another expression, and an index in that value as a
//! word, with its substitutions: `x='a[$(id)]'; echo $((x))` runs `id`. So an expression is
//! followed only where every name in it is known to be a plain number. Everything else is opaque,
//! and the texts that would be evaluated are walked for the commands in them.

use super::field::{Field, FieldBuilder, UNKNOWN};
use crate::parse::parse_expansions;
use crate::reasons::Opacity;
use crate::syntax::{Part, Word};
use crate::walk::Walker;

/// Values that name other values: from here on they are not followed.
const MAX_VALUES: usize = 8;

/// What an expression does with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Read,
    /// `=`: the old value does not count.
    Set,
    /// `+=`, `++` and the like.
    Update,
}

impl Walker {
    /// Walks the parts of an expression.
    pub(crate) fn arithmetic(&mut self, inside: &[Part]) {
        let mut text = String::new();
        for part in inside {
            match part {
                Part::Text(piece) | Part::Quoted(piece) => text.push_str(piece),
                other => {
                    let mut builder = FieldBuilder::default();
                    self.expand_part(other, &mut builder, true);
                    for field in builder.finish() {
                        self.expanded_operand(&field, &mut text);
                    }
                }
            }
        }
        self.arithmetic_text(&text);
    }

    /// The text that an expansion puts into an expression.
    fn expanded_operand(&mut self, field: &Field, text: &mut String) {
        if field.is_known() || !field.is_integer() {
            text.push_str(&field.text);
        } else {
            text.push('0');
        }
        if field.exact().is_none() && !field.is_integer() {
            self.odd_arithmetic(&field.shown());
        }
    }

    /// Walks an index, or an offset: hands back its text where that is one literal number.
    pub(crate) fn index(&mut self, word: &Word) -> Option<i64> {
        self.arithmetic(&word.parts);
        self.single(word)
            .exact()
            .map(str::trim)
            // A shell reads digits behind a zero as octal.
            .filter(|text| text.len() == 1 || !text.trim_start_matches(['-', '+']).starts_with('0'))
            .and_then(|text| text.parse().ok())
    }

    /// Walks a value that a shell evaluates because of where it is put.
    pub(crate) fn arithmetic_value(&mut self, value: &Field) {
        let mut text = String::new();
        self.expanded_operand(value, &mut text);
        self.arithmetic_text(&text);
    }

    /// Walks an expression in which nothing is left to expand but indexes.
    pub(crate) fn arithmetic_text(&mut self, text: &str) {
        if may_fail(text) {
            self.may_drop();
        }
        self.evaluate_text(text, 0);
    }

    fn evaluate_text(&mut self, text: &str, depth: usize) {
        if text.contains(['[', ']', '`', '$', '\'', '"', '\\', UNKNOWN]) {
            self.odd_arithmetic(text);
            self.evaluated(text);
        }
        for list in text.split(';') {
            // Where an expression has branches, an assignment in it may never happen.
            let branches = ["&&", "||", "?"].iter().any(|sign| list.contains(sign));
            let steps = if branches { vec![list] } else { steps(list) };
            for step in steps {
                self.evaluate_step(step, branches, depth);
            }
        }
    }

    /// One expression without a comma: all names are read before one is set.
    fn evaluate_step(&mut self, step: &str, branches: bool, depth: usize) {
        let names = names(step);
        for (name, role) in &names {
            if *role != Role::Set {
                self.evaluate_name(name, depth);
            }
            if *role != Role::Read && depth > 0 {
                self.odd_arithmetic(step);
            }
        }
        for (name, role) in names {
            let certain = !branches || self.is_integer(name);
            let value = if certain {
                Field::integer()
            } else {
                Field::unknown()
            };
            if role != Role::Read {
                self.assign(name, value, false);
            }
        }
    }

    /// Whether a name stands for a plain number at this point.
    fn is_integer(&self, name: &str) -> bool {
        self.variable(name).is_integer()
    }

    /// The value of a name is an expression again.
    fn evaluate_name(&mut self, name: &str, depth: usize) {
        if self.is_integer(name) {
            return;
        }
        let value = self.variable(name);
        match value.exact() {
            Some(text) if depth < MAX_VALUES => {
                let text = text.to_owned();
                self.evaluate_text(&text, depth + 1);
            }
            _ => {
                self.odd_arithmetic(name);
                self.evaluated(&value.text);
            }
        }
    }

    /// A text in which a command expands again what the shell has left alone: the index in the
    /// name of a variable.
    pub(crate) fn evaluated(&mut self, text: &str) {
        if !text.contains(['$', '`']) {
            return;
        }
        match parse_expansions(text, self.depth()) {
            Ok(word) => {
                self.deeper(|walker| walker.single(&word));
            }
            Err(fault) => self.fault(&fault),
        }
    }

    pub(crate) fn odd_arithmetic(&mut self, what: &str) {
        self.found.opaque(Opacity::Construct {
            what: format!("(({what}))"),
        });
    }

    /// Remembers a text that would run something, were it ever evaluated.
    pub(crate) fn note_literal(&mut self, text: &str) {
        let runs = text.contains("$(") || text.contains('`');
        if runs && text.contains('[') && !self.literals.contains(text) {
            self.literals.insert(text.to_owned());
        }
    }

    /// Where a line is opaque, any of its literals may end up as an index: what they would do is
    /// looked through for catastrophes.
    pub(crate) fn probe_literals(&mut self) {
        if self.found.opaque_count() == 0 {
            return;
        }
        for text in std::mem::take(&mut self.literals) {
            self.perhaps(|walker| walker.evaluated(&text));
        }
    }
}

/// Whether an error may drop the rest of the command: a division by what may be zero, or a number
/// that is none.
fn may_fail(text: &str) -> bool {
    let divides = text.match_indices(['/', '%']).any(|(at, _)| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let behind = behind.trim_start_matches([' ', '=']);
        !behind.starts_with(|c: char| ('1'..='9').contains(&c))
    });
    let number = |word: &str| {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        word.starts_with(|c: char| c.is_ascii_digit())
            && (!digits || (word.starts_with('0') && word.len() > 1))
    };
    divides
        || text.contains(['#', '"', '\''])
        || text.contains("**")
        || text
            .split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .any(number)
}

/// The expressions that commas separate, outside brackets.
fn steps(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(move |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

/// The names in an expression, with what becomes of them.
fn names(text: &str) -> Vec<(&str, Role)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut before = "";
    while let Some(start) = rest.find(|c: char| c == '_' || c.is_ascii_alphanumeric()) {
        let (skipped, word) = rest.split_at(start);
        let end = word
            .find(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
            .unwrap_or(word.len());
        let (name, behind) = word.split_at(end);
        // `16#ff`: digits of another base.
        let digits = skipped == "#" && before.ends_with(|c: char| c.is_ascii_digit());
        if !digits && !name.starts_with(|c: char| c.is_ascii_digit()) {
            found.push((name, role(skipped, behind)));
        }
        before = name;
        rest = behind;
    }
    found
}

fn role(before: &str, behind: &str) -> Role {
    let before = before.trim_end();
    let behind = behind.trim_start();
    if behind.starts_with('=') && !behind.starts_with("==") {
        return Role::Set;
    }
    let compound = [
        "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>=", "++", "--",
    ];
    let updates = compound.iter().any(|sign| behind.starts_with(sign))
        || before.ends_with("++")
        || before.ends_with("--");
    if updates { Role::Update } else { Role::Read }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_numbers_and_by_what_becomes_of_them() {
        let roles = |text| {
            names(text)
                .into_iter()
                .map(|(name, role)| {
                    let sign = match role {
                        Role::Read => "",
                        Role::Set => "=",
                        Role::Update => "+",
                    };
                    format!("{name}{sign}")
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (text, expected) in [
            ("1 + 0x1f + 16#ff", ""),
            ("i<3", "i"),
            ("i == 3", "i"),
            ("i = j", "i= j"),
            ("i += j", "i+ j"),
            ("i++ + --j", "i+ j+"),
            ("a<=b", "a b"),
            ("a <<= 1", "a+"),
            ("#a", "a"),
        ] {
            assert_eq!(roles(text), expected, "{text}");
        }
    }

    #[test]
    fn commas_inside_brackets_separate_nothing() {
        assert_eq!(steps("i=0, j=(1, 2)"), ["i=0", " j=(1, 2)"]);
    }
}
