//! Programs that the tests and benches run, installed where they are missing.

use std::path::Path;
use std::process::Command;

use crate::step::{Done, has, root, say, step};

/// A program, the option that prints its version, and its Debian package.
type Needed = (&'static str, &'static str, &'static str);

const FOR_TESTS: [Needed; 13] = [
    ("cc", "--version", "gcc"),
    ("chromium", "--version", "chromium"),
    ("fish", "--version", "fish"),
    ("git", "--version", "git"),
    ("make", "--version", "make"),
    ("node", "--version", "nodejs"),
    ("npm", "--version", "npm"),
    ("patch", "--version", "patch"),
    ("python3", "--version", "python3"),
    ("script", "--version", "bsdutils"),
    ("strace", "--version", "strace"),
    ("tmux", "-V", "tmux"),
    ("zsh", "--version", "zsh"),
];

/// Programs that the benches compare with.
const FOR_BENCHES: [Needed; 1] = [("rg", "--version", "ripgrep")];

/// Where Debian's packages put servers of PostgreSQL, one directory per version. They are not in
/// `PATH`.
const SERVERS: &str = "/usr/lib/postgresql";

/// Installs programs that the tests need.
pub(crate) fn for_tests() -> Done {
    let mut missing = missing(&FOR_TESTS);
    let mut versions = std::fs::read_dir(SERVERS).into_iter().flatten().flatten();
    if !versions.any(|version| version.path().join("bin/postgres").exists()) {
        missing.push("postgresql");
    }
    if !has("python3", &["-c", "import ensurepip, venv"]) {
        missing.push("python3-venv");
    }
    install(&missing)?;
    peers()?;
    packages()
}

/// Whether `done` says that this list is what is installed.
fn is_installed(done: &Path, list: &[u8]) -> bool {
    std::fs::read(done).is_ok_and(|installed| installed == list)
}

/// Installs the clients in Python that talk to the server, at the versions of their list, into
/// `target/peers`.
fn peers() -> Done {
    let list = root().join("crates/server/tests/peers/requirements.txt");
    let to = root().join("target/peers");
    let wrong = |error: std::io::Error| format!("{}: {error}", to.display());
    let wanted = std::fs::read(&list).map_err(wrong)?;
    let done = to.join("installed.txt");
    if is_installed(&done, &wanted) {
        return Ok(());
    }
    step(
        "environment of Python",
        Command::new("python3").args(["-m", "venv"]).arg(&to),
    )?;
    step(
        "clients in Python",
        Command::new(to.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--requirement",
            ])
            .arg(&list)
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    )?;
    std::fs::write(done, wanted).map_err(wrong)
}

/// Installs what the tests of the server's page run with, at the versions of the lock file, into
/// `target/page`.
fn packages() -> Done {
    let from = root().join("crates/server/tests/page");
    let to = root().join("target/page");
    let wrong = |error: std::io::Error| format!("{}: {error}", to.display());
    let lock = std::fs::read(from.join("package-lock.json")).map_err(wrong)?;
    // Written last: whatever was cut off before is installed again.
    let done = to.join("installed.json");
    if is_installed(&done, &lock) {
        return Ok(());
    }
    std::fs::create_dir_all(&to).map_err(wrong)?;
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(from.join(name), to.join(name)).map_err(wrong)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    step("packages of the page's tests", npm.current_dir(&to))?;
    std::fs::write(done, lock).map_err(wrong)
}

/// Installs programs that the benches need.
pub(crate) fn for_benches() -> Done {
    install(&missing(&FOR_BENCHES))
}

/// The packages of missing programs.
fn missing(needed: &[Needed]) -> Vec<&'static str> {
    let missing = needed
        .iter()
        .filter(|(program, version, _)| !has(program, &[version]));
    missing.map(|(_, _, package)| *package).collect()
}

/// Installs packages. Fails without the rights or the packages.
fn install(missing: &[&str]) -> Done {
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
            .args(missing)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
