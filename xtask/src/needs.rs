//! Programs that the tests and benches run, installed where they are missing.

use std::process::Command;

use crate::step::{Done, has, say, step};

/// A program, how it shows that it is there, and the Debian package it comes in.
type Needed = (&'static str, &'static str, &'static str);

const FOR_TESTS: [Needed; 8] = [
    ("cc", "--version", "gcc"),
    ("git", "--version", "git"),
    ("make", "--version", "make"),
    ("node", "--version", "nodejs"),
    ("patch", "--version", "patch"),
    ("python3", "--version", "python3"),
    ("script", "--version", "bsdutils"),
    ("strace", "--version", "strace"),
];

/// What the figures are measured against.
const FOR_BENCHES: [Needed; 1] = [("rg", "--version", "ripgrep")];

/// Installs what the tests run and is missing.
pub(crate) fn for_tests() -> Done {
    install(&FOR_TESTS)
}

/// Installs what the benches run and is missing.
pub(crate) fn for_benches() -> Done {
    install(&FOR_BENCHES)
}

/// Without the rights or the packages this fails, and says which.
fn install(needed: &[Needed]) -> Done {
    let missing: Vec<&str> = needed
        .iter()
        .filter(|(program, version, _)| !has(program, &[version]))
        .map(|(_, _, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    say(&format!("missing: {}", missing.join(", ")));
    // A list that is out of date is no reason to stop: the packages may still be there.
    let _ = step(
        "package lists",
        Command::new("apt-get").args(["update", "-q"]),
    );
    step(
        "install what is run",
        Command::new("apt-get")
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
