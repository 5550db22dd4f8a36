//! Programs that reach the machine itself: processes, disks, the kernel.

use crate::expand::field::Field;
use crate::place::join;
use crate::programs::scan::Scan;
use crate::reasons::Catastrophe;
use crate::walk::Walker;

/// Units that stop or restart the machine when they are started.
const POWER_UNITS: &[&str] = &[
    "poweroff",
    "reboot",
    "halt",
    "kexec",
    "shutdown",
    "suspend",
    "hibernate",
    "hybrid-sleep",
    "rescue",
    "emergency",
    "runlevel0",
    "runlevel1",
    "runlevel6",
    "exit",
    "final",
    "ctrl-alt-del",
    "soft-reboot",
    "systemd-poweroff",
    "systemd-reboot",
    "systemd-halt",
];

impl Walker {
    /// Process `-1` is every process.
    pub(super) fn kill(&mut self, arguments: &[Field]) {
        if let Some(open) = arguments
            .iter()
            .find(|word| !word.is_known() && !word.number)
        {
            self.unknown_word(open);
        }
        let targets = match arguments.split_first() {
            Some((first, rest)) if first.text.starts_with('-') && first.text != "--" => rest,
            _ => arguments,
        };
        let every = |word: &Field| word.text.parse::<i64>().is_ok_and(|number| number == -1);
        let first = arguments.first().map_or("", |word| word.text.as_str());
        let signalled = match first {
            // They test and list.
            "-0" | "-l" | "-L" | "--list" | "--table" => &[],
            "-s" | "-n" | "--signal" => targets.get(1..).unwrap_or_default(),
            _ => targets,
        };
        let starter = |word: &Field| word.text.parse::<i64>().is_ok_and(|number| number == 1);
        if targets.iter().any(every) || (!self.away && signalled.iter().any(starter)) {
            self.found.catastrophe(Catastrophe::EveryProcess);
        }
    }

    /// `pkill` and `killall`: a pattern that fits every name, or a user's processes without one.
    pub(super) fn end_matching(&mut self, name: &str, scan: &Scan) {
        let selects = ["-P", "-t", "-g", "-F"];
        if name == "pkill" && selects.iter().any(|option| scan.has(option)) {
            return;
        }
        let patterns = name == "pkill" || scan.has("-r");
        let wide = |word: &Field| word.is_known() && patterns && fits_everything(&word.text);
        let user = scan.has("-u") || scan.has("-U");
        let others = name == "pkill" && scan.has("-v");
        if scan.operands.iter().any(wide) || (scan.operands.is_empty() && user) || others {
            self.found.catastrophe(Catastrophe::EveryProcess);
        }
    }

    /// `fuser -k`: every process that uses a file, a directory or, with `-m`, a whole file system.
    pub(super) fn end_users(&mut self, scan: &Scan) {
        if !scan.has("-k") {
            return;
        }
        let directory = self.scope.directory.clone().unwrap_or_else(|| "/".into());
        let grave = |word: &Field| self.places.grave(&join(&directory, &word.text)).is_some();
        if scan.operands.iter().any(grave) {
            self.found.catastrophe(Catastrophe::EveryProcess);
        }
    }

    pub(super) fn sysctl(&mut self, arguments: &[Field]) {
        for word in arguments {
            let text = word.text.as_str();
            let sets = match text.strip_prefix('-') {
                Some(letters) if !letters.starts_with('-') => letters.contains(['w', 'p', 'f']),
                Some(_) => ["--write", "--load", "--system"].iter().any(|o| {
                    o.starts_with(text.split('=').next().unwrap_or(text)) && text.len() > 3
                }),
                None => text.contains('='),
            };
            if sets {
                self.found.catastrophe(Catastrophe::Kernel {
                    what: format!("sysctl {text}"),
                });
            }
            if !word.is_known() {
                self.unknown_word(word);
            }
        }
    }

    /// Tools that edit partition tables only list them when asked to.
    pub(super) fn partition(&mut self, name: &str, arguments: &[Field]) {
        let lists = arguments.iter().any(|word| {
            matches!(
                word.text.as_str(),
                "-l" | "--list"
                    | "-d"
                    | "--dump"
                    | "-J"
                    | "--json"
                    | "-V"
                    | "--version"
                    | "-h"
                    | "--help"
                    | "print"
                    | "-p"
                    | "--print"
                    | "-s"
                    | "-x"
            )
        });
        let edits = arguments.iter().any(|word| {
            matches!(
                word.text.as_str(),
                "mklabel"
                    | "mktable"
                    | "mkpart"
                    | "rm"
                    | "resizepart"
                    | "--delete"
                    | "-Z"
                    | "-o"
                    | "--zap"
                    | "--zap-all"
                    | "--clear"
                    | "-n"
                    | "-t"
                    | "set"
                    | "rescue"
            )
        });
        if (!lists || edits) && !arguments.is_empty() {
            self.found.catastrophe(Catastrophe::Disk {
                program: name.to_owned(),
            });
        }
        if let Some(open) = arguments.iter().find(|word| !word.is_known()) {
            self.unknown_word(open);
        }
    }

    /// Whether starting this unit stops or restarts the machine.
    pub(super) fn is_power_unit(&self, word: &str) -> bool {
        word.strip_suffix(".target")
            .or(word.strip_suffix(".service"))
            .is_some_and(|unit| POWER_UNITS.contains(&unit))
    }

    pub(super) fn units(&mut self, name: &str, scan: &Scan) {
        for word in &scan.operands {
            let unit = word.text.split('.').next().unwrap_or_default();
            if POWER_UNITS.contains(&unit) && !self.away {
                self.found.catastrophe(Catastrophe::Power {
                    program: format!("{name} {unit}"),
                });
            }
        }
    }
}

/// Whether a regular expression fits every name, or nearly: no branch of it may be without a
/// letter or digit that has to be there.
fn fits_everything(pattern: &str) -> bool {
    pattern.split('|').any(|branch| {
        let mut characters = branch.chars().peekable();
        let mut asked = 0usize;
        while let Some(character) = characters.next() {
            let literal = match character {
                '[' => {
                    for inside in characters.by_ref() {
                        if inside == ']' {
                            break;
                        }
                    }
                    false
                }
                '\\' => characters
                    .next()
                    .is_some_and(|next| !next.is_alphanumeric()),
                other => other.is_alphanumeric() || matches!(other, '_' | '-' | ':'),
            };
            let optional = matches!(characters.peek(), Some('*' | '?' | '{'));
            asked += usize::from(literal && !optional);
        }
        asked == 0
    })
}

#[cfg(test)]
mod tests {
    use super::fits_everything;

    #[test]
    fn patterns_that_fit_every_name_are_known() {
        for pattern in [
            "", ".", ".*", "^", "$", "^.*$", ".+", "[a-z]", "\\w", "a*", "x|.", "/", "(.)", "..*",
        ] {
            assert!(fits_everything(pattern), "{pattern}");
        }
        for pattern in ["server", "node.*", "^bash$", "a|b", "[s]erver", "x-y"] {
            assert!(!fits_everything(pattern), "{pattern}");
        }
    }
}
