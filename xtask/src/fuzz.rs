//! Fuzz targets, under cargo-fuzz and a nightly toolchain.

use std::process::Command;

use crate::step::{Done, has, root, step};

/// Every target of `fuzz/`.
const TARGETS: [&str; 20] = [
    "fenced",
    "json_intake",
    "sanitizers",
    "rule_matching",
    "path_resolution",
    "policy_file",
    "shell_facts",
    "sse",
    "ndjson",
    "wire_streams",
    "replay_script",
    "env_globs",
    "warden_messages",
    "lp1",
    "envelope",
    "unified",
    "web_target",
    "html_text",
    "charset",
    "globs",
];

pub(crate) fn all(seconds: u32) -> Done {
    TARGETS.iter().try_for_each(|target| one(target, seconds))
}

pub(crate) fn one(target: &str, seconds: u32) -> Done {
    if !TARGETS.contains(&target) {
        return Err(format!(
            "{target:?} is not a fuzz target; known are {}",
            TARGETS.join(", ")
        ));
    }
    if !has("cargo", &["fuzz", "--version"]) {
        step(
            "install cargo-fuzz",
            Command::new("cargo").args(["install", "--locked", "cargo-fuzz"]),
        )?;
    }
    let fuzz = root().join("fuzz");
    // New inputs go to the first directory; the second is only read.
    let corpus = format!("corpus/{target}");
    let seeds = format!("seeds/{target}");
    std::fs::create_dir_all(fuzz.join(&corpus))
        .map_err(|error| format!("cannot create fuzz/{corpus}: {error}"))?;
    let limit = format!("-max_total_time={seconds}");
    step(
        &format!("fuzz {target} for {seconds} s"),
        Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, &corpus, &seeds])
            .args(["--", &limit, "-rss_limit_mb=2048"])
            .current_dir(fuzz),
    )
}
