//! Patterns that a directory can turn into options.
//!
//! `sort *` sorts the files here, unless one of them is called `--output=x`. A pattern that can
//! match a name like that is opaque where the program has options that run, write or connect;
//! `./*` and what stands behind `--` cannot become an option. Where a program writes its operands
//! anyway, an option that names a file to write is a write in the pattern's own directory.

use super::scan::{Scan, looks_like_path};
use super::table::{Arity, Effect, End, Flag, Replaces, Row};
use crate::expand::field::Field;
use crate::expand::glob;
use crate::walk::Walker;

/// Options that read names or values from a file, and do nothing else.
const LISTS: &[&str] = &[
    "--check",
    "--filelist",
    "--files",
    "--files-from",
    "--files0",
    "--files0-from",
    "--pathspec-from-file",
    "--rawfile",
    "--slurpfile",
];

/// What `find` takes for an action that removes, writes or runs.
const ACTIONS: &[&str] = &[
    "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir",
];

/// Codes that look at all words themselves and in which a word may be an option or a setting.
const OWN_OPTIONS: &[&str] = &[
    "dd",
    "gitconfig",
    "partition",
    "printf",
    "shell",
    "sysctl",
    "tar",
];

/// Codes of programs that take every word behind the first operand for data.
const STOPPING: &[&str] = &["awk", "printf", "shell"];

impl Walker {
    /// Looks for patterns among the words of a command that may turn out to be options.
    pub(super) fn wild_words(&mut self, name: &str, row: &Row, words: &[Field], scan: &Scan) {
        if !words.iter().any(Field::is_pattern) {
            return;
        }
        let arguments = words.get(1..).unwrap_or_default();
        let end = arguments
            .iter()
            .position(|word| word.text == "--")
            .unwrap_or(arguments.len());
        let inside = scan.rest.filter(|_| row.shape.end != End::Operands);
        let end = inside.map_or(end, |at| end.min(at.saturating_sub(1)));
        let open = arguments.get(..end).unwrap_or_default();
        let stops = row.traits.stop || STOPPING.contains(&row.traits.code);
        let first = if row.traits.own {
            open.iter().find(|word| !word.text.starts_with('-'))
        } else {
            scan.operands.first()
        };
        let open: Vec<&Field> = open
            .iter()
            .take_while(|word| !stops || first.is_none_or(|first| *word != first))
            .chain(first.filter(|_| stops))
            .filter(|word| word.is_pattern())
            .collect();
        for word in open {
            let shape = shape(word);
            match reach(row, &shape) {
                Reach::Nothing => {}
                Reach::Write => self.write_path(&Field::literal(".")),
                Reach::More => self.option_opaque(name, word),
            }
            if let Some(pattern) = scan.operands.first()
                && row.flags().any(|flag| takes_place(flag, &shape))
                && looks_like_path(&pattern.text)
                && !pattern.is_pattern()
            {
                // Then the first operand is a file to read.
                let pattern = pattern.clone();
                self.read_path(&pattern);
            }
        }
    }
}

/// What a pattern can do by becoming an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nothing,
    /// A file is written, by a program that writes files anyway.
    Write,
    More,
}

fn reach(row: &Row, shape: &str) -> Reach {
    if row.traits.any && row.traits.code != "printf" {
        return Reach::Nothing;
    }
    let dashed = glob::may_start(shape, "-");
    if row.traits.own {
        let acts = match row.traits.code {
            "find" => ACTIONS.iter().any(|action| glob::matches(shape, action)),
            "dd" => true,
            code => dashed && OWN_OPTIONS.contains(&code),
        };
        return if acts { Reach::More } else { Reach::Nothing };
    }
    if !dashed {
        return Reach::Nothing;
    }
    if row.traits.closed && !row.traits.listed {
        return Reach::More;
    }
    let effects = || {
        row.flags()
            .filter(|flag| has_effect(flag) && may_become(flag, shape))
    };
    if effects().next().is_none() {
        return Reach::Nothing;
    }
    let written = row.shape.before.iter().chain(&row.shape.many);
    let writes = written.chain(&row.shape.after).any(|effect| {
        matches!(
            effect,
            Effect::Write | Effect::Replace | Effect::Delete | Effect::DeleteTree
        )
    });
    if writes && effects().all(|flag| flag.effect == Effect::Write) && !shape.contains('/') {
        return Reach::Write;
    }
    Reach::More
}

/// Whether an option runs, writes or connects, or does what cannot be foreseen.
fn has_effect(flag: &Flag) -> bool {
    let lists = flag.names.iter().any(|name| LISTS.contains(name));
    let tame =
        matches!(flag.effect, Effect::Data | Effect::Read) && !matches!(flag.mark, Some('A' | 'W'));
    !flag.shared && !lists && !tame
}

/// Whether the option takes the place of the first operand.
fn takes_place(flag: &Flag, shape: &str) -> bool {
    flag.replaces == Replaces::First && may_become(flag, shape)
}

/// Whether a name that fits the pattern is this option, with or without its value.
fn may_become(flag: &Flag, shape: &str) -> bool {
    flag.names.iter().any(|name| {
        if let Some(start) = name.strip_suffix('*').filter(|_| name.starts_with("--")) {
            // A family: every option that starts so is meant.
            return glob::may_start(shape, start);
        }
        if !name.starts_with("--") {
            // Other letters may stand before it, and some of them take what follows.
            return glob::may_start(shape, "-");
        }
        (3..=name.len())
            .filter_map(|end| name.get(..end))
            .any(|short| {
                glob::matches(shape, short)
                    || (flag.arity != Arity::None && glob::may_start(shape, &format!("{short}=")))
            })
    })
}

/// The pattern in which characters that mean themselves are escaped.
fn shape(word: &Field) -> String {
    let parts: Vec<String> = word
        .components()
        .into_iter()
        .map(|(text, _)| text)
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::has_effect;
    use crate::programs::table;
    use crate::{LineContext, analyse};

    #[test]
    fn no_program_whose_options_have_effects_takes_a_bare_pattern() {
        let context = LineContext {
            cwd: "",
            home: Some("/home/ann"),
            roots: &["/home/ann/work"],
        };
        let mut silent = Vec::new();
        let mut looked_at = 0;
        for name in table::names() {
            let Some(program) = table::find(name) else {
                continue;
            };
            if !program.row.flags().any(has_effect) {
                continue;
            }
            looked_at += 1;
            for pattern in ["*", "?*", "[!a]*"] {
                let facts = analyse(&format!("{name} {pattern}"), &context).facts;
                if facts.complete && facts.writes.is_empty() {
                    silent.push(format!("{name} {pattern}"));
                }
            }
        }
        assert!(looked_at > 150, "{looked_at}");
        assert!(silent.is_empty(), "{silent:?}");
    }
}
