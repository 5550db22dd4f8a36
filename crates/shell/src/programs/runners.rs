//! Programs that run others by design.
//!
//! They take code, settings and places to write to from options, variables and files, more than
//! any table holds. So the table lists what is harmless, and the rest makes a call opaque:
//! options in `scan` (every row of such a program is closed), variables here.

use super::table::Program;
use crate::expand::field::Field;
use crate::reasons::Opacity;
use crate::variables;
use crate::walk::Walker;

/// Scripts that a project carries with it, and the programs they start with the same words.
pub(super) const WRAPPER_SCRIPTS: &[(&str, &str)] = &[("gradlew", "gradle"), ("mvnw", "mvn")];

/// Programs for which every variable is a setting of the build: only those that all programs
/// read alike are harmless.
const IMPORTING: &[&str] = &[
    "make", "gmake", "bmake", "ninja", "samu", "cmake", "meson", "scons", "task",
];

impl Walker {
    /// Variables that the line hands to a program and that may change what it runs.
    pub(super) fn foreign_variables(&mut self, program: &str) {
        let imports = IMPORTING.contains(&program);
        let foreign: Vec<String> = self
            .scope
            .variables
            .values()
            .filter(|variable| variable.exported)
            .filter(|variable| {
                // Which number it is changes nothing.
                let number = variable.value.is_integer().then_some("0");
                let value = variable.value.exact().or(number);
                if imports {
                    !variables::is_harmless_to_builds(&variable.name, value)
                } else {
                    !variables::is_harmless(&variable.name, value)
                }
            })
            .map(|variable| variable.name.clone())
            .collect();
        for name in foreign {
            self.found.opaque(Opacity::Setting { name });
        }
    }
}

/// The words of a program, and those behind `--` where the table has a row for them.
pub(super) fn split_dashes<'p, 'w>(
    program: &'p Program,
    words: &'w [Field],
) -> (&'w [Field], Option<(&'p Program, &'w [Field])>) {
    let dashes = words.iter().skip(1).position(|word| word.text == "--");
    let row = program.behind_dashes();
    match (dashes.and_then(|at| words.split_at_checked(at + 1)), row) {
        (Some((before, behind)), Some(row)) => (before, Some((row, behind))),
        _ => (words, None),
    }
}
