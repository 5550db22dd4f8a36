//! The benches. Each prints JSON lines, which are passed on.

use std::process::Stdio;

use crate::step::{Done, cargo, say};

/// The name of every bench. They are built for the whole workspace, so that all of them
/// share what they depend on.
const BENCHES: [&str; 15] = [
    "line", "loop", "output", "journal", "policy", "streams", "paths", "command", "shell", "tools",
    "web", "search", "durable", "many", "layers",
];

pub(crate) fn run() -> Done {
    crate::needs::for_benches()?;
    for bench in BENCHES {
        say(&format!("==> {bench}"));
        let output = cargo(&["bench", "--workspace", "--bench", bench, "--locked"])
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{bench}: cannot start: {error}"))?;
        if !output.status.success() {
            return Err(format!("{bench} failed ({})", output.status));
        }
        say(String::from_utf8_lossy(&output.stdout).trim_end());
    }
    Ok(())
}
