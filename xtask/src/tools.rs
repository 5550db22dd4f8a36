//! Checkers that come from crates.io or PyPI, installed under `target/tools` where they are missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Done, cargo, root, step};

/// A program and the version that the settings in this repository are written for.
struct Tool {
    package: &'static str,
    program: &'static str,
    version: &'static str,
    /// Its name on PyPI, where that has it ready to run.
    wheel: Option<&'static str>,
}

const DENY: Tool = Tool {
    package: "cargo-deny",
    program: "cargo-deny",
    version: "0.20.2",
    wheel: None,
};

const TYPOS: Tool = Tool {
    package: "typos-cli",
    program: "typos",
    version: "1.51.1",
    wheel: Some("typos"),
};

/// The one target of `deny.toml`: crates of other platforms are not downloaded.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A manifest with the lints that differ from one to the other: an entry of `deny.toml` that
/// nothing needs is an error in the workspace, and the exceptions of fuzz/ have to match there.
const MANIFESTS: [(&str, &[&str]); 2] = [
    (
        "Cargo.toml",
        &[
            "--deny=unmatched-skip",
            "--deny=license-not-encountered",
            "--allow=license-exception-not-encountered",
        ],
    ),
    (
        "fuzz/Cargo.toml",
        &[
            "--allow=unmatched-skip",
            "--allow=license-not-encountered",
            "--deny=license-exception-not-encountered",
        ],
    ),
];

/// Checks licences, banned crates, versions and sources of every dependency.
pub(crate) fn deny() -> Done {
    let program = installed(&DENY)?;
    for (manifest, lints) in MANIFESTS {
        let mut fetch = cargo(&["fetch", "--quiet", "--locked", "--target", TARGET]);
        step(
            &format!("dependencies of {manifest}"),
            fetch.args(["--manifest-path", manifest]),
        )?;
        step(
            &format!("cargo deny, {manifest}"),
            Command::new(&program)
                .current_dir(root())
                .args(["--manifest-path", manifest, "--workspace"])
                .args(["--offline", "--locked", "--config", "deny.toml"])
                .arg("check")
                .args(lints)
                .args(["licenses", "bans", "sources"]),
        )?;
    }
    Ok(())
}

/// Checks the spelling of every file that is not data.
pub(crate) fn typos() -> Done {
    let program = installed(&TYPOS)?;
    step("spelling", Command::new(program).current_dir(root()))
}

/// The path of the program, which is installed first where it is missing or has another version.
fn installed(tool: &Tool) -> Result<PathBuf, String> {
    let tools = root().join("target/tools");
    let fetched = tools.join("wheels/bin").join(tool.program);
    let built = tools.join("bin").join(tool.program);
    for program in [&fetched, &built] {
        if has_version(program, tool.version) {
            return Ok(program.clone());
        }
    }
    // Seconds instead of minutes. Without pip, or a wheel for this machine, it is built.
    if let Some(wheel) = tool.wheel
        && fetch(&tools.join("wheels"), wheel, tool.version).is_ok()
        && has_version(&fetched, tool.version)
    {
        return Ok(fetched);
    }
    build(&tools, tool)?;
    Ok(built)
}

fn fetch(directory: &Path, wheel: &str, version: &str) -> Done {
    step(
        &format!("fetch {wheel} {version}"),
        Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--upgrade"])
            .args(["--no-deps", "--only-binary=:all:", "--target"])
            .arg(directory)
            .arg(format!("{wheel}=={version}"))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PIP_ROOT_USER_ACTION", "ignore"),
    )
}

/// Builds without optimization, as the build takes longer than all the checks.
fn build(tools: &Path, tool: &Tool) -> Done {
    let target = tools.join("build");
    step(
        &format!("install {} {}", tool.package, tool.version),
        cargo(&["install", "--quiet", "--locked", "--debug", tool.package])
            .args(["--version", tool.version])
            .args(["--config", "profile.dev.debug=false"])
            .arg("--root")
            .arg(tools)
            .arg("--target-dir")
            .arg(&target),
    )?;
    std::fs::remove_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))
}

fn has_version(program: &Path, version: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| {
            output.status.success()
                && String::from_utf8_lossy(&output.stdout)
                    .split_whitespace()
                    .any(|word| word == version)
        })
}
