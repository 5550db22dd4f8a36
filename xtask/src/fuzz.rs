//! Fuzz targets, under cargo-fuzz and a nightly toolchain.

use std::process::Command;

use crate::step::{Done, has, root, step};

/// Every target of `fuzz/`.
const TARGETS: [&str; 7] = [
    "fenced",
    "json_intake",
    "sanitizers",
    "policy_file",
    "rule_matching",
    "path_resolution",
    "shell_facts",
];

pub(crate) fn all(seconds: u32) -> Done {
    TARGETS.iter().try_for_each(|target| one(target, seconds))
}

pub(crate) fn one(target: &str, seconds: u32) -> Done {
    if !TARGETS.contains(&target) {
        return Err(format!(
            "{target:?} is no fuzz target; known are {}",
            TARGETS.join(", ")
        ));
    }
    if !has("cargo", &["fuzz", "--version"]) {
        step(
            "install cargo-fuzz",
            Command::new("cargo").args(["install", "--locked", "cargo-fuzz"]),
        )?;
    }
    let limit = format!("-max_total_time={seconds}");
    step(
        &format!("fuzz {target} for {seconds} s"),
        Command::new("cargo")
            .args([
                "+nightly",
                "fuzz",
                "run",
                target,
                "--",
                &limit,
                "-rss_limit_mb=2048",
            ])
            .current_dir(root().join("fuzz")),
    )
}
