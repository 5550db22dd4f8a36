//! Everything that has to hold, cheap things first.

use crate::package::Verify;
use crate::step::{Done, cargo, say, step};

pub(crate) fn run() -> Done {
    crate::needs::for_tests()?;
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    crate::tools::typos()?;
    crate::tools::deny()?;
    step(
        "lints",
        &mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    // A workspace of its own, which runs in a soak only.
    step(
        "fuzz targets",
        &mut cargo(&[
            "check",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target-dir",
            "target/fuzz",
            "--no-default-features",
            "--locked",
        ]),
    )?;
    // All of them, so that one run names every failure.
    step(
        "tests",
        &mut cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]),
    )?;
    step(
        "schedules (shuttle)",
        &mut cargo(&[
            "test",
            "--package",
            "toolgate-gate",
            "--features",
            "shuttle",
            "--test",
            "shuttle",
            "--locked",
        ]),
    )?;
    step(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    crate::package::run(Verify::No)?;
    step(
        "README: demo",
        &mut cargo(&[
            "run",
            "--release",
            "--quiet",
            "--locked",
            "--",
            "demo",
            "--quiet",
        ]),
    )?;
    say("all checks passed");
    Ok(())
}
