//! Mutants of the decisions: a test has to fail for each.

use std::process::Command;

use crate::step::{Done, has, root, step};

/// A crate in which decisions are made.
struct Decisions {
    package: &'static str,
    files: &'static [&'static str],
    /// The tests that have to fail. Every mutant is compiled with these alone.
    tests: &'static [&'static str],
}

const DECISIONS: [Decisions; 4] = [
    Decisions {
        package: "toolgate-sandbox",
        files: &["crates/sandbox/src/paths/**/*.rs"],
        tests: &[
            "corpus",
            "own_places",
            "reads",
            "reference_model",
            "seeds",
            "several",
            "shared_cases",
            "surveys",
            "walks",
            "writes",
        ],
    },
    Decisions {
        package: "toolgate-gate",
        files: &[
            "crates/gate/src/plan/**/*.rs",
            "crates/gate/src/approve/**/*.rs",
        ],
        tests: &[
            "ahead",
            "approval",
            "batch",
            "by_hand",
            "bus",
            "journal",
            "middleware",
            "on_disk",
            "planning",
            "policy_pipeline",
            "scopes",
            "settling",
            "shown",
        ],
    },
    Decisions {
        package: "toolgate-policy",
        files: &["crates/policy/src/**/*.rs"],
        tests: &[],
    },
    Decisions {
        package: "toolgate-model",
        files: &["crates/model/src/json.rs"],
        tests: &[],
    },
];

pub(crate) fn run() -> Done {
    if !has("cargo", &["mutants", "--version"]) {
        step(
            "install cargo-mutants",
            Command::new("cargo").args(["install", "--locked", "cargo-mutants"]),
        )?;
    }
    for decisions in &DECISIONS {
        let output = root().join("target/mutants").join(decisions.package);
        std::fs::create_dir_all(&output)
            .map_err(|error| format!("{}: {error}", output.display()))?;
        let mut command = Command::new("cargo");
        command
            .current_dir(root())
            .args(["mutants", "--package", decisions.package, "--timeout", "60"])
            .arg("--output")
            .arg(&output);
        for files in decisions.files {
            command.args(["--file", files]);
        }
        if !decisions.tests.is_empty() {
            command.arg("--cargo-arg=--lib");
        }
        for test in decisions.tests {
            command.arg(format!("--cargo-arg=--test={test}"));
        }
        step(&format!("mutants of {}", decisions.package), &mut command)?;
    }
    Ok(())
}
