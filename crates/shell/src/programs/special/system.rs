//! Programs that reach the machine itself: processes, disks, the kernel.

use crate::expand::field::Field;
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
        if targets.iter().any(|word| word.text == "-1") {
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
