//! One command of a task, with its name and time reported.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The outcome of a task.
pub(crate) type Done = Result<(), String>;

/// Prints a line for the user.
#[allow(clippy::print_stderr)]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A cargo command in the workspace, with the cargo that runs this.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(root());
    // Everything is built once, and incremental state takes as much space as the build itself.
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Runs a command and reports how long it took. Anything but success is an error with its name.
pub(crate) fn step(name: &str, command: &mut Command) -> Done {
    say(&format!("==> {name}"));
    let began = Instant::now();
    let status = command
        .status()
        .map_err(|error| format!("{name}: cannot start: {error}"))?;
    let took = began.elapsed().as_secs_f32();
    if status.success() {
        say(&format!("    {name}: {took:.1} s"));
        Ok(())
    } else {
        Err(format!("{name} failed after {took:.1} s ({status})"))
    }
}

/// Whether a program can be started at all.
pub(crate) fn has(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .output()
        .is_ok_and(|output| output.status.success())
}
