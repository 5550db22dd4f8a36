//! Programs that the tests and benches run, installed where they are missing.

use std::process::Command;

use crate::step::{Done, has, say, step};

/// A program, the option that prints its version, and its Debian package.
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

/// Programs that the benches compare with.
const FOR_BENCHES: [Needed; 1] = [("rg", "--version", "ripgrep")];

/// Installs programs that the tests need.
pub(crate) fn for_tests() -> Done {
    install(&FOR_TESTS)
}

/// Installs programs that the benches need.
pub(crate) fn for_benches() -> Done {
    install(&FOR_BENCHES)
}

/// Installs the packages of missing programs. Fails without the rights or the packages.
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
    // A failed update is no reason to stop: the packages may still be available.
    let _ = step(
        "package lists",
        Command::new("apt-get").args(["update", "-q"]),
    );
    step(
        "install packages",
        Command::new("apt-get")
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
