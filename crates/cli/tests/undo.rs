//! `toolgate undo`: files get back what they held, all of them or none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use program::{Bench, Done, finish};
use serde_json::{Value, json};

const TALK: &str = "talk";

/// Runs calls as one batch of the conversation; each has to succeed.
fn batch(bench: &Bench, calls: &[(&str, &str, Value)]) {
    let lines = calls.iter().map(|(id, name, args)| {
        let call = json!({"id": id, "name": name, "args": args});
        format!("{call}\n")
    });
    let input: String = lines.collect();
    let args = ["--approve", "all", "batch", "--conversation", TALK];
    let done = bench.feed(&args, input.as_bytes());
    assert_eq!(done.code, Some(0), "{done:?}");
}

fn undo(bench: &Bench, more: &[&str]) -> Done {
    bench.run(&[&["undo", TALK][..], more].concat())
}

fn undone(bench: &Bench, more: &[&str]) -> Done {
    let done = undo(bench, &[more, &["--yes"]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    let sound = bench.run(&["--json", "journal", "verify"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(
        sound.stdout.contains("\"covered_from_commit\":1,"),
        "{sound:?}"
    );
    done
}

/// Every file of the workspace with its content.
fn files(bench: &Bench) -> Vec<(String, String)> {
    fn walk(directory: &Path, name: &str, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                walk(&entry.path(), &name, found);
            } else {
                found.push((name, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(&bench.workspace(), "", &mut found);
    found.sort();
    found
}

/// A workspace, and a conversation that wrote, edited, patched, deleted and moved.
fn worked() -> (Bench, Vec<(String, String)>) {
    let bench = Bench::new();
    bench.write("edit.txt", "one\ntwo\n");
    bench.write("gone.txt", "was here\n");
    bench.write("old.txt", "moved\nalong\n");
    let tool = bench.workspace().join("old.txt");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o750)).unwrap();
    let before = files(&bench);
    let patch = "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: old.txt\n\
                 *** Move to: sub/new.txt\n@@\n-moved\n+MOVED\n along\n*** End Patch\n";
    batch(
        &bench,
        &[
            (
                "w",
                "write_file",
                json!({"path": "made.txt", "content": "made\n"}),
            ),
            (
                "r",
                "read_many_files",
                json!({"paths": ["edit.txt", "gone.txt", "old.txt"]}),
            ),
            (
                "e",
                "edit_file",
                json!({"path": "edit.txt", "edits": [{"target": "two", "replacement": "TWO"}]}),
            ),
            ("p", "apply_patch", json!({"patch": patch})),
        ],
    );
    assert_eq!(bench.read("sub/new.txt"), "MOVED\nalong\n");
    (bench, before)
}

#[test]
fn a_whole_conversation_is_taken_back_and_that_again() {
    let (bench, before) = worked();
    let after = files(&bench);
    let done = undone(&bench, &[]);
    assert_eq!(files(&bench), before);
    for part in [
        "-TWO",
        "+two",
        "made.txt: is removed",
        "gone.txt: comes back",
    ] {
        assert!(done.stdout.contains(part), "{part}: {done:?}");
    }
    assert!(!done.stdout.contains('\x1b'), "{done:?}");
    let rights = std::fs::metadata(bench.workspace().join("old.txt")).unwrap();
    assert_eq!(rights.permissions().mode() & 0o777, 0o750);
    // The undo is a call like any other.
    undone(&bench, &["--call", "undo_1"]);
    assert_eq!(files(&bench), after);
    undone(&bench, &["--call", "undo_2"]);
    assert_eq!(files(&bench), before);
    let nothing = undone(&bench, &[]);
    assert!(
        nothing.stdout.contains("Nothing to take back"),
        "{nothing:?}"
    );
    let shown = bench.run(&["--json", "journal", "show", TALK, "--call", "undo_1"]);
    for kind in ["received", "planned", "answered", "intended", "finished"] {
        let kind = format!("\"kind\":\"{kind}\"");
        assert!(shown.stdout.contains(&kind), "{kind}: {shown:?}");
    }
    assert!(shown.stdout.contains("\"by\":\"--yes\""), "{shown:?}");
}

#[test]
fn one_call_is_taken_back_and_the_others_stay() {
    let (bench, _) = worked();
    undone(&bench, &["--call", "p"]);
    assert_eq!(bench.read("old.txt"), "moved\nalong\n");
    assert_eq!(bench.read("gone.txt"), "was here\n");
    assert!(!bench.workspace().join("sub/new.txt").exists());
    assert_eq!(bench.read("edit.txt"), "one\nTWO\n");
    assert_eq!(bench.read("made.txt"), "made\n");
    let unknown = undo(&bench, &["--call", "nobody", "--yes"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("no call nobody"), "{unknown:?}");
    let turn = undo(&bench, &["--turn", "1", "--yes"]);
    assert_eq!(turn.code, Some(1), "{turn:?}");
    assert!(turn.stderr.contains("has no turns"), "{turn:?}");
}

#[test]
fn one_turn_is_taken_back_and_the_next_one_too() {
    let bench = Bench::new();
    let script = |name: &str, calls: &str| {
        let text = format!("[[steps]]\n{calls}\n[[steps]]\ntext = \"done\"\n");
        let file = bench.home_directory().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let call = |id: &str, path: &str| {
        format!(
            "[[steps.calls]]\nid = \"{id}\"\nname = \"write_file\"\nargs = {{ path = \"{path}\", content = \"{id}\" }}"
        )
    };
    let first = script(
        "1.toml",
        &[call("a", "a.txt"), call("b", "b.txt")].join("\n"),
    );
    let second = script("2.toml", &call("c", "c.txt"));
    let run = |more: &[&str]| {
        let done = bench.run(&[&["--approve", "all", "run", "go"][..], more].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    run(&["--script", &first]);
    let list = bench.run(&["--json", "journal", "list"]);
    let listed: Value = serde_json::from_str(list.stdout.lines().next().unwrap()).unwrap();
    let talk = listed["conversation"].as_str().unwrap();
    run(&["--script", &second, "--conversation", talk]);
    let back = |turn: &str| bench.run(&["undo", talk, "--turn", turn, "--yes"]);
    let unknown = back("3");
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.stderr.contains("its turns are 1 to 2"),
        "{unknown:?}"
    );
    assert_eq!(back("1").code, Some(0));
    assert_eq!(bench.listing(), ["c.txt"]);
    assert_eq!(back("2").code, Some(0));
    assert!(bench.listing().is_empty());
    let redone = bench.run(&["undo", talk, "--call", "undo_1", "--yes"]);
    assert_eq!(redone.code, Some(0), "{redone:?}");
    assert_eq!(
        (bench.read("a.txt"), bench.read("b.txt")),
        ("a".into(), "b".into())
    );
}

#[test]
fn a_file_that_changed_since_stops_everything() {
    let (bench, _) = worked();
    bench.write("edit.txt", "somebody went on\n");
    let now = files(&bench);
    let refused = undo(&bench, &["--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("edit.txt has changed since call e wrote it"),
        "{refused:?}"
    );
    assert_eq!(files(&bench), now);
    let json = bench.run(&["--json", "undo", TALK, "--yes"]);
    let result: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(result["error"]["kind"], "stale_file", "{result}");
    // Nothing of the refusal is on record: nothing has happened.
    let shown = bench.run(&["--json", "journal", "show", TALK, "--call", "undo_1"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    undone(&bench, &["--call", "w"]);
    assert!(!bench.workspace().join("made.txt").exists());
}

#[test]
fn a_call_beneath_a_later_one_says_which() {
    let bench = Bench::new();
    bench.write("a.txt", "1\n");
    let edit = |from: &str, to: &str| json!({"path": "a.txt", "edits": [{"target": from, "replacement": to}]});
    batch(
        &bench,
        &[
            ("r", "read_file", json!({"path": "a.txt"})),
            ("first", "edit_file", edit("1", "2")),
            ("second", "edit_file", edit("2", "3")),
        ],
    );
    let refused = undo(&bench, &["--call", "first", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("by call second after call first"),
        "{refused:?}"
    );
    undone(&bench, &["--call", "second"]);
    assert_eq!(bench.read("a.txt"), "2\n");
    undone(&bench, &["--call", "first"]);
    assert_eq!(bench.read("a.txt"), "1\n");
    let beneath = undo(&bench, &["--call", "undo_1", "--yes"]);
    assert_eq!(beneath.code, Some(1), "{beneath:?}");
    undone(&bench, &["--call", "undo_2"]);
    assert_eq!(bench.read("a.txt"), "2\n");
}

#[test]
fn nobody_is_asked_behind_their_back() {
    let (bench, _) = worked();
    let now = files(&bench);
    let asked = undo(&bench, &[]);
    assert_eq!(asked.code, Some(4), "{asked:?}");
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    assert!(
        asked.stdout.contains("+two"),
        "the difference is shown: {asked:?}"
    );
    assert_eq!(files(&bench), now);
}

#[test]
fn an_unknown_conversation_and_another_workspace_are_refused() {
    let (bench, _) = worked();
    let unknown = bench.run(&["undo", "other", "--yes"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("journal list"), "{unknown:?}");
    let home = bench.home_directory();
    let elsewhere = bench.run(&["--workspace", home.to_str().unwrap(), "undo", TALK, "--yes"]);
    assert_eq!(elsewhere.code, Some(2), "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("is about"), "{elsewhere:?}");
}

#[test]
fn what_was_pruned_is_not_guessed() {
    let (bench, _) = worked();
    let now = files(&bench);
    let pruned = bench.run(&["journal", "prune", "--to-bytes", "1"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    let refused = undo(&bench, &["--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("pruned"), "{refused:?}");
    assert_eq!(files(&bench), now);
}

#[test]
fn a_way_out_that_appeared_since_is_not_taken() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    let write = json!({"path": "d/a.txt", "content": "x\n"});
    batch(&bench, &[("w", "write_file", write)]);
    std::fs::write(outside.path().join("a.txt"), "x\n").unwrap();
    std::fs::remove_dir_all(bench.workspace().join("d")).unwrap();
    std::os::unix::fs::symlink(outside.path(), bench.workspace().join("d")).unwrap();
    let refused = undo(&bench, &["--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let theirs = std::fs::read_to_string(outside.path().join("a.txt"));
    assert_eq!(theirs.unwrap(), "x\n");
}

#[test]
fn a_kill_in_the_middle_of_an_undo_leaves_all_files_old_or_new_after_the_next_start() {
    let mut mixed = 0;
    for (step, most) in [
        ("renameat", 4),
        ("renameat2", 4),
        ("unlinkat", 4),
        ("fsync", 12),
    ] {
        for nth in 1..=most {
            let (bench, before) = worked();
            let after = files(&bench);
            let mut command = bench.command(Path::new("strace"));
            let trace = format!("trace={step}");
            let inject = format!("inject={step}:signal=SIGKILL:when={nth}");
            command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.arg(env!("CARGO_BIN_EXE_toolgate"));
            command.args(["undo", TALK, "--yes"]);
            let done = finish(command, b"");
            if done.code == Some(0) {
                assert_eq!(files(&bench), before, "{step} {nth}");
                break;
            }
            let found = files(&bench);
            mixed += u32::from(found != before && found != after);
            let next = bench.run(&["exec", "read_file", r#"{"path":"edit.txt"}"#]);
            assert_eq!(next.code, Some(0), "{step} {nth}: {next:?}");
            let found = files(&bench);
            assert!(
                found == before || found == after,
                "{step} {nth}: {found:?} {next:?}"
            );
            let resumed = bench.run(&["resume", TALK, "--keep"]);
            assert_eq!(resumed.code, Some(0), "{step} {nth}: {resumed:?}");
            // Whatever came of it, the whole can be taken back from here.
            undone(&bench, &[]);
            assert_eq!(files(&bench), before, "{step} {nth}");
        }
    }
    assert!(mixed >= 1, "no kill met an undo in the middle");
}
