//! Completions in real shells: a key is pressed, and the shell asks the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code)]
#[path = "chat/pty.rs"]
mod pty;
#[allow(dead_code)]
#[path = "cases/run.rs"]
mod run;

use std::path::Path;
use std::process::Command;

use pty::Pty;
use run::{Place, User, users};

const CONFIG: &str = "[providers.mine]\nkind = \"ollama\"\nmodel = \"tiny\"\n\
    [presets.review]\ndescription = \"reads\"\n";

/// What is typed before the key, and what stands there after it.
const COMPLETED: [(&str, &str); 10] = [
    ("toolgate jour", "toolgate journal"),
    ("toolgate journal sh", "toolgate journal show"),
    ("toolgate exec read_m", "toolgate exec read_many_files"),
    ("toolgate run --provider mi", "toolgate run --provider mine"),
    ("toolgate run --preset rev", "toolgate run --preset review"),
    (
        "toolgate journal show talk",
        "toolgate journal show talk-of-today",
    ),
    ("toolgate chat --pla", "toolgate chat --plain"),
    (
        "toolgate chat --conversation talk",
        "toolgate chat --conversation talk-of-today",
    ),
    ("toolgate chat --model ti", "toolgate chat --model tiny"),
    (
        "toolgate policy grants --conversation talk",
        "toolgate policy grants --conversation talk-of-today",
    ),
];

/// A workspace with a conversation of a known name.
fn place(user: User) -> Place {
    let place = Place::new(user);
    let config = place.path("home").join("config.toml");
    std::fs::write(config, CONFIG).unwrap();
    let mut command = place.toolgate();
    command.args(["--workspace", place.path("ws").to_str().unwrap()]);
    command.args([
        "--approve",
        "all",
        "exec",
        "write_file",
        "path=a",
        "content=x",
    ]);
    let output = command
        .args(["--conversation", "talk-of-today"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    place
}

/// A shell that finds the program.
fn shell(place: &Place, program: &str) -> Command {
    let mut command = place.command(Path::new(program));
    let toolgate = place.toolgate();
    let directory = Path::new(toolgate.get_program())
        .parent()
        .unwrap()
        .to_owned();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", directory.display()));
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    command.current_dir(place.path("ws"));
    command
}

/// Presses Tab after each of the words in a shell that was told of the completions so.
fn typed_in(program: &[&str], prepare: &str) {
    for user in users() {
        let place = place(user);
        let mut command = shell(&place, "setsid");
        // Its terminal is the one it is started at.
        command.args(["--ctty", "--wait"]).args(program);
        let mut pty = Pty::start(command, 200, 24);
        pty.send(&format!(
            "PS1='ready%% '; PS2=; {prepare}; echo prep''ared\r"
        ));
        pty.until_shown("prepared");
        for (words, completed) in COMPLETED {
            pty.send(words);
            pty.until_shown(words);
            pty.send("\t");
            pty.until(completed, |screen| screen.contains(completed));
            // The line is given up, and the next one begins on an empty screen.
            pty.send("\u{15}clear; echo ag''ain\r");
            pty.until("the next line", |screen| {
                screen.contains("again") && !screen.contains(completed)
            });
        }
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    typed_in(
        &["bash", "--norc", "--noprofile", "-i"],
        "source <(toolgate completions bash)",
    );
}

#[test]
fn zsh_completes_commands_options_and_values() {
    typed_in(
        &["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -d ~/.dump; source <(toolgate completions zsh)",
    );
}

#[test]
fn fish_completes_commands_options_and_values() {
    for user in users() {
        let place = place(user);
        for (words, completed) in COMPLETED {
            let asked =
                format!("toolgate completions fish | source; complete --do-complete '{words}'");
            let output = shell(&place, "fish")
                .args(["--no-config", "-c", &asked])
                .output()
                .unwrap();
            let found = String::from_utf8_lossy(&output.stdout).into_owned();
            let last = completed.rsplit(' ').next().unwrap();
            let mut names = found.lines().map(|line| line.split('\t').next().unwrap());
            assert!(
                names.any(|name| name == last),
                "{user:?} {words}: {output:?}"
            );
        }
    }
}
