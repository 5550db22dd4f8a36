//! Mutants of the decisions: each has to be noticed by a test.

use std::process::Command;

use crate::step::{Done, has, root, step};

/// Where decisions are made.
const DECISIONS: [&str; 5] = [
    "crates/policy/src/**/*.rs",
    "crates/sandbox/src/paths/**/*.rs",
    "crates/gate/src/plan/**/*.rs",
    "crates/gate/src/approve/**/*.rs",
    "crates/model/src/json.rs",
];

pub(crate) fn run() -> Done {
    if !has("cargo", &["mutants", "--version"]) {
        step(
            "install cargo-mutants",
            Command::new("cargo").args(["install", "--locked", "cargo-mutants"]),
        )?;
    }
    let mut command = Command::new("cargo");
    command
        .current_dir(root())
        .args(["mutants", "--workspace", "--timeout", "120"]);
    for files in DECISIONS {
        command.args(["--file", files]);
    }
    step("mutants", &mut command)
}
