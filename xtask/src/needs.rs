//! Programs that the tests run, installed where they are missing.

use std::process::Command;

use crate::step::{Done, has, say, step};

/// A program, how it shows that it is there, and the Debian package it comes in.
const NEEDED: [(&str, &str, &str); 8] = [
    ("cc", "--version", "gcc"),
    ("git", "--version", "git"),
    ("make", "--version", "make"),
    ("node", "--version", "nodejs"),
    ("patch", "--version", "patch"),
    ("python3", "--version", "python3"),
    ("script", "--version", "bsdutils"),
    ("strace", "--version", "strace"),
];

/// Installs what is missing. Without the rights or the packages this fails, and says which.
pub(crate) fn install() -> Done {
    let missing: Vec<&str> = NEEDED
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
        "install what the tests run",
        Command::new("apt-get")
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
