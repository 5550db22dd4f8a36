//! What can be typed in a chat, in a real terminal.

use std::process::Command;
use std::time::Duration;

use crate::program::{Bench, until};
use crate::pty::Pty;
use crate::{SCRIPT, chat};

/// A chat on a screen that shows the answer to any command whole.
fn tall(bench: &Bench, script: &str, more: &[&str]) -> Pty {
    bench.home("script.toml", script);
    let mut command = bench.toolgate();
    let script = bench.home_directory().join("script.toml");
    command.arg("chat").arg("--script").arg(script).args(more);
    Pty::start(command, 110, 90)
}

/// Types a line, and waits for words that were not on the screen before it.
fn answered(pty: &mut Pty, typed: &str, words: &str) {
    // An empty screen above the input: the words are those of this answer.
    pty.send(&format!("{}\r", typed));
    let shown = format!("> {typed}");
    pty.until(&format!("{typed}: {words}"), |screen| {
        screen.contains(words) && !screen.contains(&shown)
    });
}

#[test]
fn every_command_answers() {
    let bench = Bench::new();
    let mut pty = tall(&bench, SCRIPT, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("write it\r");
    pty.until_shown("It is written.");
    for (typed, words) in [
        ("/help", "run a command through the same pipeline"),
        ("/tools", "list_directory"),
        ("/policy", "The rules' examples hold"),
        (
            "/explain run_command {\"command\":\"ls\"}",
            "\"decision\": \"allow\"",
        ),
        ("/approvals", "No question waits"),
        ("/grants", "Nothing is remembered"),
        ("/undo yes", "type /undo first"),
        ("/undo", "Type /undo yes to take this back"),
        ("/undo turn x", "Type /undo, /undo turn N or /undo call ID."),
        ("/export talk.md", "Written to talk.md"),
        ("/export talk.txt", "where FILE ends in"),
        ("/resume", "Type /resume ID"),
        ("/resume nothing-of-this-name", "nothing-of-this-name"),
        ("/preset", "coder"),
        ("/preset nothing-of-this-name", "! "),
        ("/model", "Type /model NAME"),
        ("/trust", "Trust: guided"),
        ("/trust nothing-of-this-name", "nothing-of-this-name"),
        ("/trust supervised", "supervised from the next turn on"),
        ("/network", "Configured: tools.sandbox.network"),
        ("/network off", "No network is open"),
        ("/copy", "Copied, where the terminal allows it"),
        ("/tool x y", "No call waits for a result of yours"),
        ("/keep", "No turn was cut off"),
        ("/discard", "No turn was cut off"),
        ("!echo from-$((40 + 2))", "from-42"),
    ] {
        answered(&mut pty, typed, words);
    }
    assert!(bench.read("talk.md").contains("I write a"));
    let raw = String::from_utf8_lossy(&pty.raw).into_owned();
    // `It is written.` in Base64.
    assert!(raw.contains("\u{1b}]52;c;SXQgaXMgd3JpdHRlbi4=\u{7}"));
    pty.send("/nothing\r");
    pty.until_shown("There is no command /nothing");
    pty.send("\u{15}");
    // After all that the conversation goes on.
    pty.send("/new\r");
    pty.send("write it\r");
    pty.until("another turn", |screen| {
        screen.matches("It is written.").count() > 1 || screen.contains("already")
    });
    pty.send("/quit\r");
    pty.until_shown("Go on with: toolgate chat --conversation");
    assert_eq!(pty.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_undo_takes_back_what_was_shown_and_nothing_that_changed_since() {
    let bench = Bench::new();
    let mut pty = tall(&bench, SCRIPT, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("write it\r");
    pty.until_shown("It is written.");
    answered(&mut pty, "/undo", "Type /undo yes to take this back");
    bench.write("note.txt", "changed by hand\n");
    answered(&mut pty, "/undo yes", "changed just now");
    assert_eq!(bench.read("note.txt"), "changed by hand\n");
    bench.write("note.txt", "hello\n");
    answered(&mut pty, "/undo yes", "type /undo first");
    assert_eq!(bench.read("note.txt"), "hello\n");
    pty.send("/undo\r");
    pty.until("it is shown again", |screen| {
        screen.matches("Type /undo yes to take this back").count() == 2
    });
    pty.send("/undo yes\r");
    until("the file is gone", || bench.listing().is_empty());
}

const COMMANDS: &str = r#"
[[steps]]
text = "I run it.\n"
[[steps.calls]]
id = "call_1"
name = "run_command"
args = { command = "touch one" }
[[steps]]
[[steps.calls]]
id = "call_2"
name = "run_command"
args = { command = "touch two" }
[[steps]]
[[steps.calls]]
id = "call_3"
name = "write_file"
args = { path = "three", content = "x" }
[[steps]]
text = "All done."
"#;

#[test]
fn all_commands_of_a_conversation_are_approved_and_revoked() {
    let bench = Bench::new();
    let mut pty = tall(&bench, COMMANDS, &[]);
    pty.until_shown("ws");
    pty.send("go\r");
    pty.until_shown("Tab answers it");
    pty.press_until("\t", "s all sandboxed commands");
    pty.press_until(
        "s",
        "all commands in the sandbox, until this conversation ends",
    );
    pty.press_until("y", "write_file medium risk");
    pty.until_shown("approved, with all sandboxed commands until this conversation ends");
    assert!(bench.workspace().join("one").exists() && bench.workspace().join("two").exists());
    assert!(!bench.workspace().join("three").exists());
    pty.until_shown("Tab answers it");
    pty.press_until("\t", "y approve");
    pty.press_until("a", "all edits of files in the workspace");
    pty.press_until("\u{1b}", "y approve");
    pty.press_until("n", "All done.");
    assert!(!bench.workspace().join("three").exists());
    answered(&mut pty, "/grants", "Until this conversation ends:");
    let screen = pty.screen();
    let id = screen
        .split_whitespace()
        .find(|word| word.starts_with('g') && word.len() == 13)
        .expect(&screen)
        .to_owned();
    answered(&mut pty, &format!("/grants revoke {id}"), "Revoked.");
    answered(
        &mut pty,
        &format!("/grants revoke {id}"),
        "There is no grant",
    );
}

#[test]
fn escape_stops_the_call_alone_and_the_turn_goes_on() {
    let bench = Bench::new();
    let script = COMMANDS.replace("touch one", "touch one; sleep 600");
    let mut pty = tall(&bench, &script, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("go\r");
    until("it runs", || bench.workspace().join("one").exists());
    pty.press_until("\u{1b}", "All done.");
    for name in ["two", "three"] {
        assert!(bench.workspace().join(name).exists(), "{}", pty.screen());
    }
    assert!(
        pty.screen().contains("⊘ Run command: touch one"),
        "{}",
        pty.screen()
    );
}

#[test]
fn the_draft_is_written_in_the_users_editor() {
    let bench = Bench::new();
    bench.home(
        "edit.sh",
        "cat \"$1\" > \"$1.old\"; echo \"edited $(cat \"$1.old\")\" > \"$1\"; rm \"$1.old\"\n",
    );
    bench.home("script.toml", SCRIPT);
    let mut command = bench.toolgate();
    command.env(
        "EDITOR",
        format!("sh {}", bench.home_directory().join("edit.sh").display()),
    );
    command
        .arg("chat")
        .arg("--script")
        .arg(bench.home_directory().join("script.toml"));
    let mut pty = Pty::start(command, 80, 24);
    pty.until_shown("ws");
    pty.send("some words");
    pty.until_shown("> some words");
    pty.send("\u{7}");
    pty.until_shown("> edited some words");
    // Without one it says so.
    let mut pty = chat(&bench, SCRIPT, &[]);
    pty.until_shown("ws");
    pty.send("\u{7}");
    pty.until_shown("No editor is set");
}

#[test]
fn the_whole_output_opens_on_another_screen_and_closes() {
    let bench = Bench::new();
    let script = COMMANDS.replace("touch one", "seq 1 300");
    let mut pty = chat(&bench, &script, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("go\r");
    pty.until_shown("All done.");
    // The last output is that of the file; the one before it is folded.
    pty.send("\u{f}");
    pty.until("the pager", |screen| !screen.contains("All done."));
    assert!(String::from_utf8_lossy(&pty.raw).contains("\u{1b}[?1049h"));
    pty.send("q");
    pty.until_shown("All done.");
    assert!(String::from_utf8_lossy(&pty.raw).contains("\u{1b}[?1049l"));
}

#[test]
fn a_turn_that_ends_behind_another_window_is_told() {
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("write it\r\u{1b}[O");
    pty.until_shown("It is written.");
    pty.listen(Duration::from_millis(500));
    let raw = String::from_utf8_lossy(&pty.raw).into_owned();
    assert!(raw.contains("\u{1b}]9;The turn is over.\u{7}"), "{raw:?}");
    // In front nothing is told.
    let bench = Bench::new();
    let mut pty = chat(&bench, SCRIPT, &["--approve", "all"]);
    pty.until_shown("ws");
    pty.send("\u{1b}[Iwrite it\r");
    pty.until_shown("It is written.");
    pty.listen(Duration::from_millis(500));
    assert!(!String::from_utf8_lossy(&pty.raw).contains("\u{1b}]9;"));
}

#[test]
fn ctrl_z_suspends_to_the_shell_and_fg_brings_it_back() {
    let bench = Bench::new();
    bench.home("script.toml", SCRIPT);
    let mut command: Command = bench.command(std::path::Path::new("setsid"));
    command.args(["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"]);
    let mut pty = Pty::start(command, 80, 24);
    pty.send("PS1='shell> '\r");
    pty.until_shown("shell> ");
    pty.send(&format!(
        "{} chat --script {}\r",
        env!("CARGO_BIN_EXE_toolgate"),
        bench.home_directory().join("script.toml").display()
    ));
    pty.until("the chat", |screen| {
        screen.contains("ws") && screen.contains("guided")
    });
    pty.send("a draft");
    pty.until_shown("> a draft");
    pty.send("\u{1a}");
    pty.until_shown("Stopped");
    pty.send("echo in the sh''ell\r");
    pty.until_shown("in the shell");
    pty.send("fg\r");
    pty.until("the draft again", |screen| {
        screen.rfind("> a draft") > screen.rfind("in the shell")
    });
    pty.send("\u{15}/quit\r");
    pty.until("the shell again", |screen| {
        screen.trim_end().ends_with("shell>")
    });
}
