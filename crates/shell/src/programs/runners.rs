//! Programs that run others by design.
//!
//! They take code, settings and places to write to from options, variables and files, more than
//! any table holds. So the table lists what is harmless, and the rest makes a call opaque:
//! options in `scan` (every row of such a program is closed), variables here.

use super::scan::{Scan, Use};
use super::table::{Effect, Program};
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

/// Programs that are sent to the directory of their build, which is no other project.
const SENT: &[&str] = &[
    "make", "gmake", "bmake", "ninja", "samu", "meson", "ctest", "cmake", "git",
];

/// Options that name the file of a project, by the programs that have them.
const PROJECT_FILES: &[(&[&str], &[&str])] = &[
    (&["make", "gmake", "bmake"], &["-f", "-I"]),
    (&["ninja", "samu", "just"], &["-f"]),
    (&["cargo"], &["--manifest-path"]),
    (&["deno"], &["-c", "--import-map"]),
    (&["docker-compose", "podman-compose"], &["-f"]),
];

/// Programs whose operands say what is run, and their subcommands of that kind.
const GOALS: &[(&str, &[&str])] = &[
    ("ant", &[]),
    ("bmake", &[]),
    ("bun", &["run"]),
    ("cargo", &["run"]),
    ("deno", &["run", "task"]),
    ("gmake", &[]),
    ("go", &["run"]),
    ("gradle", &[]),
    ("java", &[]),
    ("just", &[]),
    ("make", &[]),
    ("mvn", &[]),
    ("ninja", &[]),
    ("npm", &["run", "run-script"]),
    ("pnpm", &["run", "run-script"]),
    ("rake", &[]),
    ("samu", &[]),
    ("task", &[]),
    ("yarn", &["run", "run-script"]),
];

impl Walker {
    /// Options that choose another project, behind the words that a rule or grant names: with
    /// them `npm test` is the test of another package. Before those words they are part of what
    /// a rule has to name.
    pub(super) fn other_projects(&mut self, name: &str, words: &[Field], scan: &Scan) {
        let first = words.first().map_or("", |word| word.text.as_str());
        let composes = first == "compose" || name.ends_with("-compose");
        let top = composes || first.starts_with('+') || self.is_named(first, name);
        let before = match scan.leading {
            Some(leading) if top => leading,
            None if top => return,
            _ => 0,
        };
        let chooses = |used: &&Use| {
            let files = PROJECT_FILES.iter().any(|(programs, options)| {
                programs.contains(&name) && options.contains(&used.option)
            });
            let other = match used.effect {
                Effect::Directory => !SENT.contains(&name),
                _ => files || (composes && used.option == "-f"),
            };
            let same = matches!(
                used.value.text.as_str(),
                "." | "./" | "Cargo.toml" | "./Cargo.toml"
            );
            !used.option.is_empty() && other && !(same && used.value.is_known())
        };
        let found: Vec<Field> = scan
            .uses
            .iter()
            .skip(before)
            .filter(chooses)
            .map(|used| Field::literal(used.option))
            .collect();
        for option in found {
            self.option_opaque(name, &option);
        }
    }

    /// Names that are only known when it runs, where they say what is run.
    pub(super) fn open_goals(&mut self, name: &str, words: &[Field], scan: &Scan) {
        let first = words.first().map_or("", |word| word.text.as_str());
        let goals = GOALS.iter().any(|(program, subcommands)| {
            *program == name && (subcommands.is_empty() || subcommands.contains(&first))
        });
        let open = |word: &&Field| word.is_pattern();
        if let Some(word) = scan.operands.iter().take(1).find(open).filter(|_| goals) {
            self.option_opaque(name, word);
        }
    }

    /// Whether a word is the program itself and no subcommand.
    fn is_named(&self, word: &str, name: &str) -> bool {
        let last = word.rsplit('/').next().unwrap_or_default();
        let script = WRAPPER_SCRIPTS
            .iter()
            .any(|(script, tool)| *script == last && *tool == name);
        last == name || script
    }

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
