//! The figures. Every bench prints JSON lines; this makes one table of them.

use std::process::Stdio;

use crate::step::{Done, cargo, say};

/// Package and name of every bench.
const BENCHES: [(&str, &str); 11] = [
    ("toolgate-benches", "line"),
    ("toolgate-benches", "loop"),
    ("toolgate-gate", "output"),
    ("toolgate-journal", "journal"),
    ("toolgate-policy", "policy"),
    ("toolgate-providers", "streams"),
    ("toolgate-sandbox", "paths"),
    ("toolgate-sandbox", "command"),
    ("toolgate-shell", "shell"),
    ("toolgate-tools", "tools"),
    ("toolgate-tools", "web"),
];

pub(crate) fn run() -> Done {
    for (package, bench) in BENCHES {
        say(&format!("==> {package} {bench}"));
        let output = cargo(&["bench", "--package", package, "--bench", bench, "--locked"])
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{bench}: cannot start: {error}"))?;
        if !output.status.success() {
            return Err(format!("{bench} failed ({})", output.status));
        }
        say(String::from_utf8_lossy(&output.stdout).trim_end());
    }
    Ok(())
}
