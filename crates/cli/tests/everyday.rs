//! The command line as somebody uses it every day, through the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;

use program::{Bench, Done, answer};
use serde_json::{Value, json};

/// The same arguments at a terminal of its own, where these lines are typed.
fn at_terminal(bench: &Bench, args: &[&str], typed: &[&str]) -> Done {
    let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
    let words: Vec<String> = args.iter().map(quoted).collect();
    let line = format!("{} {}", env!("CARGO_BIN_EXE_toolgate"), words.join(" "));
    let mut command = bench.command(Path::new("script"));
    command.args(["-qec", &line, "/dev/null"]);
    answer(command, typed.iter().copied())
}

/// A turn that answers with these words.
fn say(bench: &Bench, prompt: &str, more: &[&str]) -> Done {
    bench.write("s.toml", "[[steps]]\ntext = \"Said.\"\n");
    let done = bench.run(&[&["run", "--script", "s.toml"][..], more, &[prompt]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    done
}

/// A conversation of this name that writes this file.
fn write(bench: &Bench, conversation: &str, path: &str) {
    let args = json!({"path": path, "content": "x\n"}).to_string();
    let done = bench.run(&[
        "--approve",
        "all",
        "exec",
        "write_file",
        &args,
        "--conversation",
        conversation,
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

fn listed(bench: &Bench, more: &[&str]) -> Vec<Value> {
    let done = bench.run(&[&["--json", "journal", "list"][..], more].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines = done.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn words(listed: &[Value]) -> Vec<&str> {
    let words = listed.iter().map(|one| one["first_words"].as_str());
    words.map(Option::unwrap_or_default).collect()
}

#[test]
fn the_list_has_the_newest_first_with_its_first_words_and_can_be_narrowed() {
    let bench = Bench::new();
    for prompt in ["first question", "second\nquestion", "third question"] {
        say(&bench, prompt, &[]);
    }
    write(&bench, "by hand", "a.txt");
    let all = listed(&bench, &[]);
    let newest = [
        "Create a.txt",
        "third question",
        "second question",
        "first question",
    ];
    assert!(words(&all)[0].contains("a.txt"), "{all:?}");
    assert_eq!(words(&all)[1..], newest[1..]);
    assert_eq!(
        words(&listed(&bench, &["--limit", "2"]))[1],
        "third question"
    );
    assert_eq!(listed(&bench, &["--since", "1h"]).len(), 4);
    assert_eq!(listed(&bench, &["--since", "2999-01-01"]).len(), 0);
    assert_eq!(listed(&bench, &["--workspace", "/"]).len(), 0);
    assert_eq!(listed(&bench, &["--workspace", "."]).len(), 4);
    let wrong = bench.run(&["journal", "list", "--since", "yesterday"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("2026-01-31"), "{wrong:?}");
    let shown = bench.run(&["journal", "list"]);
    let place = |part: &str| shown.stdout.find(part).expect(part);
    assert!(
        place("third question") < place("first question"),
        "{shown:?}"
    );
    // What goes on comes first again.
    let id = all[3]["conversation"].as_str().unwrap();
    say(&bench, "more", &["--conversation", id]);
    assert_eq!(words(&listed(&bench, &[]))[0], "first question");
}

#[test]
fn the_beginning_of_an_id_is_enough_where_it_is_the_only_one() {
    let bench = Bench::new();
    for name in ["alpha-1", "alpha-2", "beta"] {
        write(&bench, name, &format!("{name}.txt"));
    }
    let show = |id: &str| bench.run(&["journal", "show", id]);
    assert!(show("b").stdout.contains("beta.txt"));
    assert!(show("alpha-2").stdout.contains("alpha-2.txt"));
    let several = show("alpha");
    assert_eq!(several.code, Some(2), "{several:?}");
    for part in ["alpha-1", "alpha-2", "more than one id", "alpha-1.txt"] {
        assert!(several.stderr.contains(part), "{part}: {several:?}");
    }
    assert_eq!(show("gamma").code, Some(1));
    for args in [
        &["journal", "export", "bet", "--format", "md"][..],
        &["resume", "bet", "--keep"],
        &["undo", "bet", "--yes"],
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
    }
    assert!(!bench.listing().contains(&"beta.txt".to_owned()));
    // A name that is new stays one, however another begins.
    write(&bench, "alpha", "own.txt");
    assert!(show("alpha").stdout.contains("own.txt"));
    say(&bench, "go", &[]);
    let all = listed(&bench, &["--limit", "1"]);
    let id = all[0]["conversation"].as_str().unwrap();
    assert!(show(&id[..12]).stdout.contains("go"));
    assert!(show(&id[4..12]).stdout.contains("go"), "without `run_`");
    let read = r#"{"path":"s.toml"}"#;
    let done = bench.run(&["exec", "read_file", read, "--conversation", &id[..12]]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(listed(&bench, &[]).len(), 5);
}

#[test]
fn run_goes_on_with_the_last_conversation_of_the_workspace() {
    let bench = Bench::new();
    let none = bench.run(&["run", "--continue", "more"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("no conversation of"), "{none:?}");
    say(&bench, "older", &[]);
    say(&bench, "newer", &[]);
    write(&bench, "by hand", "a.txt");
    say(&bench, "again", &["--continue"]);
    let all = listed(&bench, &[]);
    assert_eq!(words(&all), ["newer", words(&all)[1], "older"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = bench.toolgate();
    command
        .current_dir(elsewhere.path())
        .args(["run", "-c", "x"]);
    assert_eq!(program::finish(command, b"").code, Some(2));
}

#[test]
fn the_record_is_shown_for_people_and_whole_where_that_is_asked() {
    let bench = Bench::new();
    let long: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    bench.write("long.txt", &long);
    bench.write(
        "s.toml",
        "[[steps]]\nthinking = \"Hmm.\"\ntext = \"I look.\"\n[[steps.calls]]\nid = \"c\"\nname = \"read_file\"\nargs = { path = \"long.txt\" }\n[[steps]]\ntext = \"Done.\"\n",
    );
    bench.run(&["run", "--script", "s.toml", "What is in it?"]);
    let all = listed(&bench, &[]);
    let id = all[0]["conversation"].as_str().unwrap();
    let shown = bench.run(&["journal", "show", id]);
    let parts = [
        "  you\n    What is in it?\n",
        "  model\n    │ Hmm.\n    I look.\n",
        "  c  read_file  Read long.txt",
        "path: long.txt",
        "allow  ",
        "  c  ok  ",
        "    line 20\n    … 40 more lines\n",
        "Done.",
        "turn 1 done",
    ];
    let mut rest = shown.stdout.as_str();
    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?}: {}", shown.stdout));
        rest = &rest[at..];
    }
    assert!(!shown.stdout.contains("plan_hash"), "{shown:?}");
    assert!(shown.stderr.contains("--full"), "{shown:?}");
    let full = bench.run(&["journal", "show", id, "--full"]);
    assert!(full.stdout.contains("line 60") && full.stdout.contains("plan_hash"));
    let machine = bench.run(&["--json", "journal", "show", id]);
    let kinds = machine.stdout.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["kind"].as_str().unwrap().to_owned()
    });
    assert!(kinds.eq([
        "turn_started",
        "user_message",
        "assistant_message",
        "received",
        "planned",
        "started",
        "finished",
        "assistant_message",
        "turn_finished",
    ]));
}

#[test]
fn undo_without_arguments_shows_the_last_conversation_with_changes_and_asks() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["undo"]).code, Some(2));
    write(&bench, "first", "one.txt");
    write(&bench, "second", "two.txt");
    say(&bench, "only words", &[]);
    let nobody = bench.run(&["undo"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    assert!(nobody.stderr.contains("second"), "{nobody:?}");
    assert!(nobody.stdout.contains("two.txt: is removed"), "{nobody:?}");
    let refused = at_terminal(&bench, &["undo"], &["no\n"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert_eq!(bench.read("two.txt"), "x\n");
    let done = at_terminal(&bench, &["undo"], &["yes\n"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!bench.listing().contains(&"two.txt".to_owned()));
    assert_eq!(bench.read("one.txt"), "x\n");
    // Of the second nothing is left: the one before it is meant.
    let before = bench.run(&["undo", "--yes"]);
    assert!(before.stderr.contains("first"), "{before:?}");
    assert!(!bench.listing().contains(&"one.txt".to_owned()));
}

#[test]
fn undo_removes_directories_that_the_write_had_made_if_they_are_empty() {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace().join("there")).unwrap();
    write(&bench, "talk", "there/a/b/one.txt");
    write(&bench, "talk", "there/a/two.txt");
    write(&bench, "talk", "kept/c/three.txt");
    bench.write("kept/mine.txt", "mine");
    let done = bench.run(&["undo", "talk", "--yes"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let there = |name: &str| bench.workspace().join(name).exists();
    assert!(there("there") && !there("there/a"), "{done:?}");
    assert!(there("kept/mine.txt") && !there("kept/c"), "{done:?}");
    for part in ["there/a/b", "kept/c", "is empty"] {
        assert!(done.stdout.contains(part), "{part}: {done:?}");
    }
    // The undo can be taken back: its directories come with the files.
    let again = bench.run(&["undo", "talk", "--call", "undo_1", "--yes"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(there("there/a/b/one.txt") && there("kept/c/three.txt"));
}

#[test]
fn exec_takes_words_of_the_types_that_the_tool_wants() {
    let bench = Bench::new();
    bench.write("a.txt", "1\n2\n3\n");
    bench.write("b.txt", "x=y\n");
    for (tool, args, part) in [
        (
            "read_file",
            &["path=a.txt", "start_line=2", "end_line=2"][..],
            "\"content\":\"2\"",
        ),
        ("file_read", &["path=b.txt"], "x=y"),
        ("read_many_files", &["paths=a.txt", "paths=b.txt"], "x=y"),
        ("read_many_files", &[r#"paths:=["b.txt"]"#], "x=y"),
        ("grep", &["pattern=x=y"], "b.txt"),
        ("list_directory", &["path=.", "recursive=true"], "a.txt"),
    ] {
        let done = bench.run(&[&["exec", tool][..], args].concat());
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        assert!(done.stdout.contains(part), "{args:?}: {done:?}");
    }
    for (args, part) in [
        (
            &["path=a.txt", "start_line=two"][..],
            "start_line is integer",
        ),
        (&["path=a.txt", "path=b.txt"], "path is said twice"),
        (&["path=a.txt", "end_line:=x"], "no JSON"),
        (&["path=a.txt", "what"], "key=value"),
    ] {
        let done = bench.run(&[&["exec", "read_file"][..], args].concat());
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.stderr.contains(part), "{args:?}: {done:?}");
    }
    let explained = bench.run(&["policy", "explain", "run_command", "command=rm -rf /"]);
    assert!(explained.stdout.contains("rm -rf /"), "{explained:?}");
}

#[test]
fn trust_shows_what_takes_effect_and_asks() {
    let bench = Bench::new();
    bench.write("toolgate.toml", "[tools.sandbox]\nnetwork = \"on\"\n");
    let nobody = bench.run(&["trust"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    for part in ["line 2: tools.sandbox.network", "network = \"on\"", "--yes"] {
        assert!(nobody.stderr.contains(part), "{part}: {nobody:?}");
    }
    let trusted = || {
        !bench
            .run(&["--json", "trust", "list"])
            .stdout
            .contains("[]")
    };
    assert!(!trusted());
    let refused = at_terminal(&bench, &["trust"], &["no\n"]);
    assert!(refused.stdout.contains("1 key takes effect"), "{refused:?}");
    assert!(!trusted());
    assert_eq!(at_terminal(&bench, &["trust"], &["yes\n"]).code, Some(0));
    assert!(trusted());
}

#[test]
fn values_are_completed() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[providers.mine]\nkind = \"ollama\"\nmodel = \"tiny\"\n[presets.review]\ndescription = \"reads\"\n",
    );
    write(&bench, "talk-of-today", "a.txt");
    for (words, value) in [
        (&["toolgate", "exec", "read_"][..], "read_many_files"),
        (&["toolgate", "run", "--provider", "m"], "mine"),
        (&["toolgate", "run", "--provider", "anth"], "anthropic"),
        (&["toolgate", "run", "--model", "t"], "tiny"),
        (&["toolgate", "run", "--preset", ""], "review"),
        (&["toolgate", "undo", "talk"], "talk-of-today"),
        (&["toolgate", "journal", "show", "ta"], "talk-of-today"),
        (&["toolgate", "jour"], "journal"),
    ] {
        let mut command = bench.toolgate();
        let last = (words.len() - 1).to_string();
        command
            .env("TOOLGATE_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", last)
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_IFS", "\n")
            .arg("--")
            .args(words);
        let done = program::finish(command, b"");
        assert!(
            done.stdout.lines().any(|line| line == value),
            "{words:?}: {done:?}"
        );
    }
}

#[test]
fn every_command_with_arguments_has_examples_and_global_options_stand_apart() {
    let bench = Bench::new();
    for command in [
        &["exec"][..],
        &["batch"],
        &["run"],
        &["models"],
        &["parse"],
        &["tools"],
        &["trust"],
        &["resume"],
        &["undo"],
        &["completions"],
        &["man"],
        &["policy", "explain"],
        &["policy", "grants", "revoke"],
        &["journal", "list"],
        &["journal", "show"],
        &["journal", "export"],
        &["journal", "verify"],
        &["journal", "prune"],
    ] {
        let help = bench.run(&[command, &["--help"]].concat());
        assert_eq!(help.code, Some(0), "{command:?}");
        let (own, global) = help
            .stdout
            .split_once("Global options:")
            .expect("a heading");
        assert!(global.contains("--workspace") && !own.contains("--workspace"));
        assert!(global.contains("Example"), "{command:?}: {}", help.stdout);
        let first = help.stdout.lines().next().unwrap();
        assert!(first.len() <= 64, "{first}");
    }
}
