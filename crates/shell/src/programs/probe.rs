//! Catastrophes in words that may be a command.
//!
//! A program that nobody has a row for may run what stands behind it, and so may one whose
//! options are not followed. What such a command would touch is not said, because most such
//! words are data; but where they would be the end of a system, they are taken at their word.
//!
//! Some programs end a system by their name alone, and their names are plain words: a test is
//! called `shutdown`, a task `reboot`. A list of words is not a wall. Such a name counts where it
//! is plainly the program: behind a wrapper, or before what only this program takes.

use super::table::{self, Effect, Harm, Program};
use crate::expand::field::Field;
use crate::walk::{Invocation, Output, Walker};

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

/// Those among them that just as often take a name or a pattern.
const NAME_OPTIONS: &[&str] = &["-e", "-x", "--run"];

/// Wrappers that nobody writes for anything but a command.
const PLAIN_WRAPPERS: &[&str] = &["sudo", "doas", "pkexec", "run0", "exec", "nohup"];

/// What is said to programs that stop a machine.
const POWER_WORDS: &[&str] = &[
    "now",
    "-c",
    "-f",
    "-ff",
    "-h",
    "-H",
    "-k",
    "-n",
    "-nf",
    "-p",
    "-P",
    "-r",
    "-w",
    "--force",
    "--halt",
    "--no-wall",
    "--no-wtmp",
    "--poweroff",
    "--reboot",
    "--wtmp-only",
];

/// Codes of rows that can be the end of a system.
const DESTRUCTIVE_CODES: &[&str] = &[
    "dd",
    "every",
    "find",
    "fuser",
    "kill",
    "partition",
    "pkill",
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
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let given = behind_option && !self.is_name_behind(before, word);
            if given {
                self.probe_text(&word.text);
            }
            if given || (texts && at > 0) {
                self.probe_given("", &word.text);
            }
            if let Some((option, text)) = word.text.split_once('=')
                && TEXT_OPTIONS.contains(&option)
            {
                self.probe_text(text);
                self.probe_given("", text);
            }
            if at == 0 || !self.is_destructive(word) {
                continue;
            }
            if let Some(harm) = self.harm_by_name(word)
                && !is_meant(harm, words, at, texts)
            {
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

    /// Looks for catastrophes in a text that a program takes for code, or for a command.
    pub(crate) fn probe_given(&mut self, name: &str, text: &str) {
        self.probe_code(text);
        if is_interpreter(name) || !text.trim().contains([' ', '\t', '\n']) {
            return;
        }
        let marks = ['!', '|', ':', '@', '\\', '+', ' '];
        let command = text.trim_start_matches(marks);
        self.probe_text(command);
        if let Some((_, value)) = text.split_once('=') {
            self.probe_text(value.trim_start_matches(marks));
        }
        if let Some((_, behind)) = text.split_once('(')
            && let Some((inside, _)) = behind.rsplit_once(')')
        {
            self.probe_text(inside);
        }
        if command.contains("\\n") {
            self.probe_text(&command.replace("\\n", "\n"));
        }
    }

    /// Looks for catastrophes in texts that are run although not all of them is known.
    pub(crate) fn probe_marked(&mut self, words: &[Field]) {
        let marked: Vec<String> = words.iter().map(Field::marked).collect();
        self.probe_text(&marked.join(" "));
        let written = |name: &str| {
            let mut shown = words.iter().filter_map(|word| word.written.as_deref());
            shown.any(|word| word.contains(name))
        };
        let assigned = self.assigned.iter().filter(|(name, _)| written(name));
        let values: Vec<String> = assigned.map(|(_, value)| value.clone()).collect();
        for value in values {
            self.probe_text(&value);
        }
    }

    /// The same for what stands in the input.
    pub(super) fn probe_input(&mut self, name: &str) {
        let texts = match &self.input {
            Some(Output::Text(text)) => vec![text.clone()],
            Some(output) => output.candidates(),
            None => Vec::new(),
        };
        for text in texts {
            self.probe_given(name, &text);
        }
    }

    /// A single word behind an option that takes names: `rspec -e reboot`.
    fn is_name_behind(&self, option: Option<&Field>, word: &Field) -> bool {
        option.is_some_and(|option| NAME_OPTIONS.contains(&option.text.as_str()))
            && self.harm_by_name(word).is_some()
    }

    /// What a program does to a machine whatever its words are.
    pub(super) fn harm_by_name(&self, word: &Field) -> Option<Harm> {
        let name = self.bare_name(word)?;
        if matches!(name.as_str(), "init" | "telinit") {
            return Some(Harm::Power);
        }
        table::find(&name)?.row.traits.deny
    }

    fn is_destructive(&self, word: &Field) -> bool {
        self.bare_name(word)
            .as_deref()
            .is_some_and(|name| DESTRUCTIVE.contains(&name) || table::find(name).is_some_and(ends))
    }
}

/// Whether a program reads a language of its own, in which words are no commands.
pub(super) fn is_interpreter(name: &str) -> bool {
    let speaks = |program: &Program| program.row.traits.stdin && !program.row.traits.probe;
    table::find(name).is_some_and(speaks)
}

/// Whether the name at `at` is plainly the program that is run.
fn is_meant(harm: Harm, words: &[Field], at: usize, runs: bool) -> bool {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let before = at.checked_sub(1).map_or("", text);
    // Where the words start with a number, a wrapper's options were not followed to their end.
    let misread = text(0).starts_with(|c: char| c.is_ascii_digit());
    if PLAIN_WRAPPERS.contains(&before) || (runs && before == "--") || misread {
        return true;
    }
    let mut behind = words.iter().skip(at + 1).map(|word| word.text.as_str());
    match harm {
        Harm::Power => {
            let next = text(at + 1);
            POWER_WORDS.contains(&next) || is_time(next)
        }
        Harm::Disk => behind.any(|word| word.contains("/dev/") || word.starts_with("disk")),
        Harm::Kernel => behind.next().is_some() && (before == "--" || !before.starts_with('-')),
    }
}

/// `+5` or `23:00`.
fn is_time(text: &str) -> bool {
    let minutes = text.strip_prefix('+').map(|rest| (rest, rest));
    minutes
        .or(text.split_once(':'))
        .is_some_and(|(left, right)| {
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            digits(left) && digits(right)
        })
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
        || row.flags().any(|flag| takes(&flag.effect))
        || program.below().any(ends)
}
