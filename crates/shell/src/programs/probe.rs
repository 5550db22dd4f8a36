//! Catastrophes in words that may be a command.
//!
//! A program that nobody has a row for may run what stands behind it, and so may one whose
//! options are not followed. What such a command would touch is not said, because most such
//! words are data; but where they would be the end of a system, they are taken at their word.

use super::table::{self, Effect, Program};
use crate::expand::field::Field;
use crate::walk::{Invocation, Walker};

/// How many words are looked at, counted once for every command that they may belong to.
const MAX_WORDS: usize = 50_000;

/// Options whose value is often a command.
const TEXT_OPTIONS: &[&str] = &[
    "-c",
    "-e",
    "-x",
    "--cmd",
    "--command",
    "--exec",
    "--execute",
    "--run",
    "--shell",
];

/// Codes of rows that can be the end of a system.
const DESTRUCTIVE_CODES: &[&str] = &[
    "dd",
    "find",
    "kill",
    "partition",
    "rsync",
    "shell",
    "sysctl",
    "units",
];

/// Likewise, but their rows look like those of others.
const DESTRUCTIVE: &[&str] = &["cp", "eval", "tee", "truncate"];

impl Walker {
    /// Looks for catastrophes from every word on that can be one; with `texts` also inside
    /// every word that is a text.
    pub(super) fn probe(&mut self, words: &[Field], texts: bool) {
        if self.probing {
            // Whoever started it tries these words too.
            return;
        }
        let mut tried = 0;
        for (at, word) in words.iter().enumerate() {
            let behind_option = at
                .checked_sub(1)
                .and_then(|before| words.get(before))
                .is_some_and(|option| TEXT_OPTIONS.contains(&option.text.as_str()));
            if behind_option || (texts && at > 0 && word.text.contains([' ', '\t', '\n'])) {
                self.probe_text(&word.text);
            }
            if let Some((option, text)) = word.text.split_once('=')
                && TEXT_OPTIONS.contains(&option)
            {
                self.probe_text(text);
            }
            if at == 0 || !self.is_destructive(word) {
                continue;
            }
            tried += words.len() - at;
            if tried > MAX_WORDS {
                self.unchecked("too many words of an unknown program name others");
                return;
            }
            let behind = words.get(at + 1..).unwrap_or_default();
            let behind = match behind.split_first() {
                // Some hand on only what stands behind it.
                Some((dashes, rest)) if dashes.text == "--" => rest,
                _ => behind,
            };
            let command: Vec<Field> = [word].into_iter().chain(behind).cloned().collect();
            self.probing = true;
            self.perhaps(|walker| {
                walker.dispatch(command, Invocation::default());
            });
            self.probing = false;
        }
    }

    /// Looks for catastrophes in a text that some shell may run.
    pub(crate) fn probe_text(&mut self, text: &str) {
        self.perhaps(|walker| {
            walker.child_line(text, Vec::new());
        });
    }

    fn is_destructive(&self, word: &Field) -> bool {
        self.bare_name(word)
            .as_deref()
            .is_some_and(|name| DESTRUCTIVE.contains(&name) || table::find(name).is_some_and(ends))
    }
}

/// Whether a row can be the end of a system.
fn ends(program: &Program) -> bool {
    let row = &program.row;
    let takes = |effect: &Effect| {
        matches!(
            effect,
            Effect::Delete | Effect::DeleteTree | Effect::Attributes | Effect::Deny(_)
        )
    };
    row.traits.deny.is_some()
        || DESTRUCTIVE_CODES.contains(&row.traits.code)
        || row.shape.before.iter().chain(&row.shape.many).any(takes)
        || row.flags.iter().any(|flag| takes(&flag.effect))
        || program.below().any(ends)
}
