//! The packages of the library crates, as a registry would get them.

use crate::step::{Done, cargo, step};

/// Members of the workspace that are not libraries for others.
const NOT_PACKAGED: [&str; 4] = [
    "toolgate-benches",
    "toolgate-cli",
    "toolgate-testkit",
    "xtask",
];

/// Whether each package is built from its archive alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    /// No: manifests, files and dependencies are checked, in a second.
    No,
    /// Yes: every package is built with what it depends on, which takes minutes.
    Yes,
}

/// Packages every library crate. Crates that depend on each other find each other in the
/// archives, so nothing has to be published.
pub(crate) fn run(verify: Verify) -> Done {
    // Work that is not committed yet is checked too.
    let mut command = cargo(&["package", "--workspace", "--offline", "--allow-dirty"]);
    for name in NOT_PACKAGED {
        command.args(["--exclude", name]);
    }
    if verify == Verify::No {
        command.arg("--no-verify");
    }
    step("packages", &mut command)
}
