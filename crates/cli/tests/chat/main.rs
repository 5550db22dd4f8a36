//! `toolgate chat` in a real terminal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod commands;
#[path = "../support/program.rs"]
mod program;
mod pty;
mod tmux;

use std::time::Duration;

use program::{Bench, Process, until};
use pty::Pty;

const SCRIPT: &str = r#"
[[steps]]
text = "I write a **note**.\n"

[[steps.calls]]
id = "call_1"
name = "write_file"
args = { path = "note.txt", content = "hello\n" }

[[steps]]
text = "It is written."
"#;

fn chat(bench: &Bench, script: &str, more: &[&str]) -> Pty {
    bench.home("script.toml", script);
    let mut command = bench.toolgate();
    let script = bench.home_directory().join("script.toml");
    command.arg("chat").arg("--script").arg(script).args(more);
    Pty::start(command, 80, 24)
}

/// User and system time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_call_is_seen_approved_and_run_in_a_terminal() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.send("write it\r");
    pty.until_shown("Tab answers it");
    let screen = pty.screen();
    for part in [
        "Approval needed",
        "write_file medium risk",
        "│ hello",
        "asked because",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    // A word with y, a and Enter goes to the input, and is queued.
    pty.send("yay\r");
    pty.until_shown("queued: yay");
    assert!(!bench.workspace().join("note.txt").exists());
    pty.press_until("\t", "y approve");
    pty.press_until("y", "It is written.");
    assert!(
        pty.screen().contains("✓ Write note.txt"),
        "{}",
        pty.screen()
    );
    assert_eq!(bench.read("note.txt"), "hello\n");
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.send("write it\r");
    pty.until_shown("Tab answers it");
    pty.press_until("\t", "r deny with a reason");
    pty.press_until("r", "Why not");
    pty.send("use another name\r");
    pty.until_shown("It is written.");
    let screen = pty.screen();
    assert!(
        screen.contains("⊘ Write note.txt") && screen.contains("use another name"),
        "{screen}"
    );
    assert!(bench.listing().is_empty());
}

#[test]
fn an_idle_chat_writes_nothing_and_takes_no_time() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.listen(Duration::from_secs(1));
    let before = ticks(pty.child.id());
    assert_eq!(pty.listen(Duration::from_secs(10)), 0);
    assert_eq!(ticks(pty.child.id()), before);
}

#[test]
fn after_a_kill_the_terminal_is_as_before_and_the_draft_is_there() {
    let bench = Bench::new();
    bench.home("script.toml", SCRIPT);
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.send("words that were not sent");
    pty.until_shown("words that were not sent");
    let raw = pty.settings();
    assert!(!raw.local_modes.contains(rustix::termios::LocalModes::ECHO));
    let watchers: Vec<Process> = Process::started_by(pty.child.id());
    assert!(!watchers.is_empty());
    pty.child.kill().unwrap();
    pty.child.wait().unwrap();
    until("the terminal is restored", || {
        let modes = pty.settings().local_modes;
        modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON)
    });
    until("the watcher ends", || {
        watchers.iter().all(|process| !process.lives())
    });
    pty.listen(Duration::from_millis(300));
    let written = String::from_utf8_lossy(&pty.raw).into_owned();
    for mode in [
        "\u{1b}[?2004l",
        "\u{1b}[?1004l",
        "\u{1b}[?25h",
        "\u{1b}[<1u",
    ] {
        let (on, off) = (written.rfind("\u{1b}[?2004h"), written.rfind(mode));
        assert!(off > on, "{mode:?}");
    }
    let mut again = chat(&bench, SCRIPT, &[]);
    again.until_shown("words that were not sent");
}

#[test]
fn a_killed_turn_is_decided_about_before_the_conversation_goes_on() {
    let bench = Bench::new();
    let script = SCRIPT.replace(
        "name = \"write_file\"\nargs = { path = \"note.txt\", content = \"hello\\n\" }",
        "name = \"run_command\"\nargs = { command = \"touch begun; sleep 600\" }",
    );
    let mut pty = chat(&bench, &script, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("go\r");
    until("the command runs", || {
        bench.workspace().join("begun").exists()
    });
    pty.child.kill().unwrap();
    pty.child.wait().unwrap();
    let mut again = chat(&bench, &script, &["--continue"]);
    again.until_shown("outcome unknown");
    again.until_shown("/keep");
    again.send("hello\r");
    again.until_shown("type /keep or /discard first");
    // What was written is still there.
    again.send("\u{15}/keep\r");
    again.until_shown("nothing was run again");
}

#[test]
fn ctrl_c_stops_the_turn_then_the_program_and_loses_no_draft() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.send("write it\r");
    pty.until_shown("Approval needed");
    pty.send("a draft");
    pty.send("\u{3}");
    pty.until_shown("(stopped)");
    pty.send("\u{3}");
    pty.until_shown("The draft is in the history");
    pty.send("\u{1b}[A");
    pty.until_shown("> a draft");
    pty.send("\u{3}");
    pty.until("the draft is cleared", |screen| {
        !screen.contains("> a draft")
    });
    pty.send("\u{3}");
    pty.until_shown("Press Ctrl-C again to leave");
    pty.send("\u{3}");
    pty.until_shown("Go on with: toolgate chat --conversation");
    let status = pty.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(
        pty.settings()
            .local_modes
            .contains(rustix::termios::LocalModes::ECHO)
    );
}

#[test]
fn plain_text_has_labels_and_numbered_choices() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &["--plain"]);
    pty.until_shown("you: ");
    pty.send("write it\r");
    pty.until_shown("answer 1 to");
    let screen = pty.screen();
    for part in [
        "approval needed:",
        "1. Approve",
        "2. Deny",
        "3. Deny with a reason",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    pty.send("1\r");
    pty.until_shown("tool: done: Write note.txt");
    pty.until_shown("It is written.");
    assert_eq!(bench.read("note.txt"), "hello\n");
    // Nothing moves: no sequence but line ends.
    assert!(
        !pty.raw.contains(&0x1b),
        "{:?}",
        String::from_utf8_lossy(&pty.raw)
    );
}
