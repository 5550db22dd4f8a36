//! `fd -x command`: a command on every name that a search finds.

use super::printing;
use crate::expand::field::Field;
use crate::programs::scan::scan;
use crate::programs::table;
use crate::walk::{Invocation, Output, Walker};

/// Letters of options without a value, which may stand before `x` in one word.
const PLAIN: &str = "HIgFLpausil01q";

/// What stands for a name that was found, or for a part of it.
const PLACES: &[&str] = &["{}", "{/}", "{//}", "{.}", "{/.}"];

impl Walker {
    /// Runs the words behind `-x` or `-X` on what the words before it find.
    pub(super) fn run_on_each(&mut self, name: &str, words: &[Field], invocation: &Invocation) {
        let Some((at, attached)) = action(words) else {
            return;
        };
        let Some(program) = table::find(name) else {
            return;
        };
        let searched = scan(&program.row, words.get(..at).unwrap_or_default());
        let behind = words.get(at + 1..).unwrap_or_default();
        let end = behind.iter().position(|word| word.text == ";");
        let behind = end.map_or(behind, |end| behind.get(..end).unwrap_or_default());
        let mut command: Vec<Field> = attached.into_iter().collect();
        command.extend_from_slice(behind);
        for word in &mut command {
            if PLACES.iter().any(|place| word.text.contains(place)) {
                for place in PLACES {
                    word.text = word.text.replace(place, "{}");
                }
            }
        }
        if !command.iter().any(|word| word.text.contains("{}")) {
            command.push(Field::literal("{}"));
        }
        if let Output::Names(names) = printing::names(name, &searched) {
            for found in names {
                self.run_on(&command, &found, invocation);
            }
        }
    }
}

/// Where the option is that starts the command, and the word that is attached to it.
fn action(words: &[Field]) -> Option<(usize, Option<Field>)> {
    words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let text = word.text.as_str();
        for option in ["--exec-batch", "--exec"] {
            if text == option {
                return Some((at, None));
            }
            if text
                .strip_prefix(option)
                .is_some_and(|rest| rest.starts_with('='))
            {
                return Some((at, Some(word.tail(option.len() + 1))));
            }
        }
        let letters = text
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'))?;
        let start = letters.find(|c| !PLAIN.contains(c))?;
        let behind = letters.get(start..)?.strip_prefix(['x', 'X'])?;
        let attached = text.len() - behind.trim_start_matches('=').len();
        Some((at, (attached < text.len()).then(|| word.tail(attached))))
    })
}
