//! `edit_file`: what it changes, what it refuses, what it says about it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};
use toolgate_gate::Settings;
use toolgate_model::{Action, ErrorKind, Risk};
use toolgate_tools::{ToolSettings, WriteSettings};

use crate::fixture::Workspace;

/// An edit of one target.
fn edit(path: &str, target: &str, replacement: &str) -> Value {
    json!({"path": path, "edits": [{"target": target, "replacement": replacement}]})
}

fn edits(path: &str, pairs: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = pairs
        .iter()
        .map(|(target, replacement)| json!({"target": target, "replacement": replacement}))
        .collect();
    json!({"path": path, "edits": edits})
}

#[test]
fn every_edit_is_made_on_what_the_ones_before_left() {
    let ws = Workspace::new();
    for (before, pairs, after) in [
        ("one two three\n", &[("two", "2")][..], "one 2 three\n"),
        ("a\nb\nc\n", &[("a\nb", "x"), ("x\nc", "y")], "y\n"),
        ("a b", &[("a", "b b"), ("b b b", "c")], "c"),
        ("x", &[("x", "")], ""),
        ("a\n\nb\n", &[("a\n\n", "a\n")], "a\nb\n"),
        ("ab", &[("a", "aa"), ("aab", "x")], "x"),
        (
            "price: 1\n",
            &[("1", "$& $1 \\1 $$")],
            "price: $& $1 \\1 $$\n",
        ),
        ("größe 日本\n", &[("ö", "oe"), ("日", "nichi ")], "groesse"),
    ] {
        ws.put("f.txt", before);
        ws.read("f.txt");
        let result = ws.call("edit_file", edits("f.txt", pairs));
        assert_eq!(result.error, None, "{before:?}");
        let after = if after == "groesse" {
            "groeße nichi 本\n"
        } else {
            after
        };
        assert_eq!(ws.get("f.txt"), after.as_bytes(), "{before:?}");
        assert_eq!(result.metadata["strategy"], "exact");
    }
}

#[test]
fn the_result_tells_what_changed_and_shows_the_difference() {
    let ws = Workspace::new();
    ws.put("src/a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    ws.read("src/a.rs");
    let result = ws.call(
        "edit_file",
        edits(
            "./src/a.rs",
            &[("fn b() {}", "fn b() {\n}"), ("fn c", "fn d")],
        ),
    );
    assert_eq!(result.content, "modified: src/a.rs (2 edits, +3 -2)");
    assert_eq!(
        result.display,
        "Edited src/a.rs (+3 -2)\n--- src/a.rs\n+++ src/a.rs\n@@ -1,3 +1,4 @@\n fn a() {}\n-fn b() {}\n+fn b() {\n+}\n-fn c() {}\n+fn d() {}\n"
    );
    assert_eq!(
        (&result.metadata["edits"], &result.metadata["added"]),
        (&json!(2), &json!(3))
    );
    let unchanged = ws.call("edit_file", edit("src/a.rs", "fn a", "fn a"));
    assert_eq!(unchanged.metadata["changed"], false);
    assert!(
        unchanged.content.starts_with("unchanged: src/a.rs"),
        "{}",
        unchanged.content
    );
}

#[test]
fn all_edits_are_made_or_none() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\nb\nc\n");
    ws.read("f.txt");
    let (kind, message) = ws.fails(
        "edit_file",
        edits("f.txt", &[("a", "x"), ("z", "y"), ("c", "w")]),
    );
    assert_eq!(kind, ErrorKind::TargetNotFound);
    assert!(
        message.contains("edit 2 of 3") && message.contains("Nothing was changed"),
        "{message}"
    );
    assert_eq!(ws.get("f.txt"), b"a\nb\nc\n");
}

#[test]
fn a_miss_shows_the_closest_lines_with_their_numbers() {
    let ws = Workspace::new();
    let text: String = (1..=50)
        .map(|n| format!("fn line_{n}(value: u32) {{}}\n"))
        .collect();
    ws.put("f.rs", &text);
    ws.read("f.rs");
    for (target, parts) in [
        (
            "fn line_7(value: u64) {}",
            &["     7\tfn line_7(value: u32) {}"][..],
        ),
        (
            "  fn line_20(value: u32) {}\n  fn line_21(value: u32) {}",
            &["    20\tfn line_20", "    21\tfn line_21", "(2 lines)"],
        ),
        (
            "nothing at all like that 0123",
            &["Nothing in the file is like it"],
        ),
    ] {
        let (kind, message) = ws.fails("edit_file", edit("f.rs", target, "x"));
        assert_eq!(kind, ErrorKind::TargetNotFound);
        let first = target.lines().next().unwrap();
        let specified = format!("Target text not found: \"{first}");
        assert!(message.contains(&specified), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?}: {message}");
        }
    }
    let again = edit("f.rs", "fn gone(value: u32) {}", "fn line_9(value: u32) {}");
    let (_, message) = ws.fails("edit_file", again);
    assert!(
        message.contains("in the file already, at line 9"),
        "{message}"
    );
}

#[test]
fn several_matches_are_all_shown_and_a_hint_chooses_the_nearest() {
    let ws = Workspace::new();
    ws.put("f.txt", "x = 1\ny\nx = 2\ny\ny\nx = 3\n");
    ws.read("f.txt");
    let (kind, message) = ws.fails("edit_file", edit("f.txt", "x = ", "z = "));
    assert_eq!(kind, ErrorKind::TargetAmbiguous);
    for part in [
        "Target text is ambiguous (3 matches): \"x = \"",
        "     1\tx = 1",
        "     3\tx = 2",
        "     6\tx = 3",
        "line_hint",
    ] {
        assert!(message.contains(part), "{message}");
    }
    for (name, hint, after) in [
        ("line_hint", 3, "x = 1\ny\nz = 2\ny\ny\nx = 3\n"),
        ("lineHint", 5, "x = 1\ny\nx = 2\ny\ny\nz = 3\n"),
        ("line_hint", 1000, "x = 1\ny\nx = 2\ny\ny\nz = 3\n"),
    ] {
        ws.put("f.txt", "x = 1\ny\nx = 2\ny\ny\nx = 3\n");
        ws.read("f.txt");
        let call = json!({"path": "f.txt", "edits": [{"target": "x = ", "replacement": "z = ", name: hint}]});
        let result = ws.call("edit_file", call);
        assert_eq!(result.error, None);
        assert_eq!(result.metadata["strategy"], "line_hint");
        assert_eq!(ws.get("f.txt"), after.as_bytes());
    }
    ws.put("g.txt", "x\n\nx\n");
    ws.read("g.txt");
    let tie =
        json!({"path": "g.txt", "edits": [{"target": "x", "replacement": "y", "line_hint": 2}]});
    let (kind, message) = ws.fails("edit_file", tie);
    assert_eq!(kind, ErrorKind::TargetAmbiguous);
    assert!(message.contains("equally near"), "{message}");
    // Hints count the lines that were read, not those that earlier edits made of them.
    ws.put("h.txt", "a\nx\nb\nx\n");
    ws.read("h.txt");
    let call = json!({"path": "h.txt", "edits": [
        {"target": "a\n", "replacement": "1\n2\n3\n4\n"},
        {"target": "x", "replacement": "y", "line_hint": 4},
    ]});
    ws.ok("edit_file", call);
    assert_eq!(ws.get("h.txt"), b"1\n2\n3\n4\nx\nb\ny\n");
    // An overlap is no single place either.
    ws.put("o.txt", "aaa\n");
    ws.read("o.txt");
    assert_eq!(
        ws.fails("edit_file", edit("o.txt", "aa", "b")).0,
        ErrorKind::TargetAmbiguous
    );
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let ws = Workspace::new().unchecked();
    ws.put("f.txt", "a\n");
    for args in [
        json!({"path": "f.txt", "edits": []}),
        json!({"path": "f.txt"}),
        json!({"path": "", "edits": [{"target": "a", "replacement": "b"}]}),
        json!({"path": "f.txt", "edits": [{"target": "", "replacement": "b"}]}),
        json!({"path": "f.txt", "edits": [{"target": "a"}]}),
        json!({"path": "f.txt", "edits": [{"replacement": "a"}]}),
        json!({"path": "f.txt", "edits": [{"target": "a", "replacement": "b", "line_hint": 0}]}),
        json!({"path": "f.txt", "edits": [{"target": "a", "replacement": "b", "line_hint": -3}]}),
        json!({"path": "f.txt", "edits": [{"target": "a", "replacement": "b", "line_hint": 1, "lineHint": 1}]}),
        json!({"path": "f.txt", "edits": [{"target": "a", "replacement": "b", "all": true}]}),
        json!({"path": "f.txt", "edits": {"target": "a", "replacement": "b"}}),
        json!({"path": "f.txt", "old": "", "new": "x"}),
        json!({"path": "f.txt", "edits": [{"target": 1, "replacement": "b"}]}),
    ] {
        let (kind, message) = ws.fails("edit_file", args.clone());
        assert_eq!(kind, ErrorKind::BadArgs, "{args}: {message}");
    }
    assert_eq!(ws.get("f.txt"), b"a\n");
}

#[test]
fn files_that_cannot_be_edited_say_why() {
    let ws = Workspace::new().unchecked();
    std::fs::create_dir(ws.path("d")).unwrap();
    ws.put("src/main.rs", "x");
    ws.put("b.dat", b"a\0b");
    for (path, kind, part) in [
        ("src/mian.rs", ErrorKind::NotFound, "`main.rs`"),
        ("d", ErrorKind::NotAFile, "directory"),
        ("b.dat", ErrorKind::Binary, "binary"),
        (".env", ErrorKind::DeniedPattern, ""),
        (".bashrc", ErrorKind::ProtectedPath, ""),
        ("../out/x", ErrorKind::OutsideSandbox, ""),
    ] {
        let (got, message) = ws.fails("edit_file", edit(path, "a", "b"));
        assert_eq!(got, kind, "{path}: {message}");
        assert!(message.contains(part), "{path}: {message}");
    }
}

#[test]
fn encoding_mark_line_endings_and_mode_are_kept() {
    let ws = Workspace::new();
    let wide = |mark: [u8; 2], text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter()
            .chain(text.encode_utf16().flat_map(unit))
            .collect()
    };
    for (name, before, target, replacement, after) in [
        (
            "mark",
            "\u{feff}a\nb\n".as_bytes().to_vec(),
            "a\nb",
            "x\ny",
            "\u{feff}x\ny\n".as_bytes().to_vec(),
        ),
        (
            "crlf",
            b"a\r\nb\r\nc\r\n".to_vec(),
            "a\nb",
            "x\ny\nz",
            b"x\r\ny\r\nz\r\nc\r\n".to_vec(),
        ),
        (
            "crlf exact",
            b"a\r\nb\r\n".to_vec(),
            "a\r\nb",
            "x\r\ny",
            b"x\r\ny\r\n".to_vec(),
        ),
        (
            "crlf one line",
            b"a\r\nb\r\n".to_vec(),
            "a",
            "x\ny",
            b"x\r\ny\r\nb\r\n".to_vec(),
        ),
        (
            "lf from crlf",
            b"a\nb\n".to_vec(),
            "a\r\nb",
            "x\r\ny",
            b"x\ny\n".to_vec(),
        ),
        (
            "mixed",
            b"a\r\nb\nc\n".to_vec(),
            "b\nc",
            "x\ny",
            b"a\r\nx\ny\n".to_vec(),
        ),
        (
            "little",
            wide([0xff, 0xfe], "grün\r\nx\r\n", u16::to_le_bytes),
            "grün\nx",
            "rot\ny",
            wide([0xff, 0xfe], "rot\r\ny\r\n", u16::to_le_bytes),
        ),
        (
            "big",
            wide([0xfe, 0xff], "a🎉\n", u16::to_be_bytes),
            "🎉",
            "é",
            wide([0xfe, 0xff], "aé\n", u16::to_be_bytes),
        ),
        ("no newline", b"a\nb".to_vec(), "b", "c", b"a\nc".to_vec()),
        ("lone cr", b"a\rb\n".to_vec(), "a\rb", "c", b"c\n".to_vec()),
    ] {
        ws.put(name, &before);
        std::fs::set_permissions(ws.path(name), PermissionsExt::from_mode(0o751)).unwrap();
        ws.read(name);
        ws.ok("edit_file", edit(name, target, replacement));
        assert_eq!(ws.get(name), after, "{name}");
        let mode = std::fs::metadata(ws.path(name)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o751, "{name}");
    }
}

#[test]
fn a_file_has_to_be_read_and_be_as_it_was() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\nb\n");
    let (kind, message) = ws.fails("edit_file", edit("f.txt", "a", "x"));
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(message.contains("File was not read before"), "{message}");
    ws.read("f.txt");
    ws.put("f.txt", "a\nb\nc\n");
    let (kind, message) = ws.fails("edit_file", edit("f.txt", "a", "x"));
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(
        message.contains("File content changed since last read"),
        "{message}"
    );
    ws.read("f.txt");
    ws.ok("edit_file", edit("f.txt", "a", "x"));
    // What was written here is known.
    ws.ok("edit_file", edit("f.txt", "x", "y"));
    ws.ok("write_file", json!({"path": "n.txt", "content": "1\n"}));
    ws.ok("edit_file", edit("n.txt", "1", "2"));
    // A person's one call is not asked for what it read.
    let ws = Workspace::new().unchecked();
    ws.put("f.txt", "a\n");
    ws.ok("edit_file", edit("f.txt", "a", "x"));
    assert_eq!(ws.get("f.txt"), b"x\n");
}

#[test]
fn lines_that_were_never_shown_cannot_be_edited() {
    let ws = Workspace::new();
    ws.put("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    ws.ok("read_file", json!({"path": "f.txt", "end_line": 2}));
    ws.ok(
        "read_file",
        json!({"path": "f.txt", "start_line": 6, "end_line": 6}),
    );
    let (kind, message) = ws.fails("edit_file", edit("f.txt", "4", "four"));
    assert_eq!(kind, ErrorKind::StaleFile);
    for part in ["line 4", "lines 1-2, 6", "from line 4 to 4"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for (target, replacement, fits) in [
        ("2\n3", "2\nthree", false),
        ("3", "3", true),
        ("2\n3\n", "2\nnew\n3\n", true),
        ("4\n5\n", "4\nnew\n5\n", false),
        ("6", "six", true),
        ("7\n8\n", "7\n8\nnine\n", true),
    ] {
        let result = ws.call("edit_file", edit("f.txt", target, replacement));
        assert_eq!(
            result.error.is_none(),
            fits,
            "{target:?} {:?}",
            result.error
        );
    }
    assert_eq!(ws.get("f.txt"), b"1\n2\nnew\n3\n4\n5\nsix\n7\n8\nnine\n");
    // What was not read is still unknown after an edit elsewhere, wherever it moved.
    assert_eq!(
        ws.fails("edit_file", edit("f.txt", "5", "x")).0,
        ErrorKind::StaleFile
    );
    ws.ok("edit_file", edit("f.txt", "nine", "9"));
    ws.ok("edit_file", edit("f.txt", "six", "6"));

    ws.put(
        "s.txt",
        "a\nkey ghp_abcdefghijklmnopqrstuvwxyz0123456789\nb\n",
    );
    ws.read("s.txt");
    ws.ok("edit_file", edit("s.txt", "a\n", "x\n"));
    let (kind, message) = ws.fails("edit_file", edit("s.txt", "key ", "token "));
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(message.contains("line that holds a secret"), "{message}");
}

#[test]
fn placeholders_are_not_put_in() {
    let ws = Workspace::new();
    ws.put("a.rs", "fn a() {}\nfn b() {}\n// ... existing code ...\n");
    ws.read("a.rs");
    let (kind, message) = ws.fails(
        "edit_file",
        edit(
            "a.rs",
            "fn a() {}",
            "fn a() {\n    // ... rest of the code unchanged ...\n}",
        ),
    );
    assert_eq!(kind, ErrorKind::BadArgs);
    assert!(
        message.contains("1 line of the file would be lost"),
        "{message}"
    );
    ws.ok(
        "edit_file",
        edit("a.rs", "fn b() {}", "// ... existing code ..."),
    );
    // Nothing goes there, or it is meant.
    ws.ok(
        "edit_file",
        edit(
            "a.rs",
            "fn a() {}\n",
            "fn a() {}\n# rest of the code unchanged\n",
        ),
    );
    let mut meant = edit("a.rs", "fn a() {}", "// rest of the file unchanged");
    ws.fails("edit_file", meant.clone());
    meant["allow_elision"] = json!(true);
    ws.ok("edit_file", meant);
}

#[test]
fn every_place_is_changed_where_that_is_asked_for() {
    let ws = Workspace::new();
    let all = |path: &str, target: &str, replacement: &str| json!({"path": path, "edits": [{"target": target, "replacement": replacement, "replace_all": true}]});
    for (old, target, replacement, new, count) in [
        ("a b a\nc a\n", "a", "xx", "xx b xx\nc xx\n", 3),
        ("aaa", "aa", "b", "ba", 1),
        ("aa", "a", "aa", "aaaa", 2),
        (
            "one\r\ntwo\r\none\r\ntwo\r\n",
            "one\ntwo\n",
            "1\n2\n",
            "1\r\n2\r\n1\r\n2\r\n",
            2,
        ),
        ("x.y.", ".", "", "xy", 2),
        ("$1 $&", "$", "$$&", "$$&1 $$&&", 2),
    ] {
        ws.put("a.txt", old);
        ws.read("a.txt");
        let result = ws.call("edit_file", all("a.txt", target, replacement));
        assert_eq!(result.error, None, "{old:?}");
        assert_eq!(String::from_utf8(ws.get("a.txt")).unwrap(), new);
        assert_eq!(result.metadata["replacements"], count);
        assert_eq!(result.metadata["strategy"], "replace_all");
    }
    ws.put("a.txt", "1\nx\n3\nx\n");
    ws.ok("read_file", json!({"path": "a.txt", "end_line": 2}));
    let (kind, _) = ws.fails("edit_file", all("a.txt", "x", "y"));
    assert_eq!(kind, ErrorKind::StaleFile, "line 4 was not shown");
    assert_eq!(
        ws.fails("edit_file", all("a.txt", "z", "y")).0,
        ErrorKind::TargetNotFound
    );
    let mut both = all("a.txt", "x", "y");
    both["edits"][0]["line_hint"] = json!(1);
    assert_eq!(ws.fails("edit_file", both).0, ErrorKind::BadArgs);
    let (_, message) = ws.fails("edit_file", edit("a.txt", "x", "y"));
    assert!(message.contains("replace_all"), "{message}");
}

#[test]
fn a_file_keeps_its_encoding_and_what_it_has_not_is_refused_by_name() {
    let ws = Workspace::new();
    let latin = b"# caf\xe9 and cr\xe8me\nname = 'caf\xe9'\n";
    ws.put("l.py", latin);
    let read = ws.call("read_file", json!({"path": "l.py"}));
    assert_eq!(read.content, "# café and crème\nname = 'café'\n");
    assert_eq!(read.metadata["encoding"], "windows-1252");
    let result = ws.call("edit_file", edit("l.py", "'café'", "'thé à 5 €'"));
    assert_eq!(result.metadata["encoding"], "windows-1252");
    let changed = b"# caf\xe9 and cr\xe8me\nname = 'th\xe9 \xe0 5 \x80'\n";
    assert_eq!(ws.get("l.py"), changed);
    for (tool, args) in [
        ("edit_file", edit("l.py", "crème", "日本")),
        (
            "write_file",
            json!({"path": "l.py", "content": "a\n日\n", "overwrite": true}),
        ),
        (
            "apply_patch",
            json!({"patch": "LP1\nF l.py\nT\n日\n.\nEND\n"}),
        ),
    ] {
        let (kind, message) = ws.fails(tool, args);
        assert_eq!(kind, ErrorKind::BadArgs, "{message}");
        assert!(
            message.contains("`日` (U+65E5") && message.contains("windows-1252"),
            "{message}"
        );
        assert_eq!(ws.get("l.py"), changed);
    }
    ws.ok(
        "apply_patch",
        json!({"patch": "LP1\nF l.py\nT\nçà\n.\nEND\n"}),
    );
    assert!(ws.get("l.py").ends_with(b"\n\xe7\xe0\n"));
    ws.ok(
        "file_write",
        json!({"path": "l.py", "content": "der M\u{fc}ller\n"}),
    );
    assert_eq!(ws.get("l.py"), b"der M\xfcller\n");
}

#[test]
fn a_person_sees_the_difference_before() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n2\n3\n");
    let plan = ws.plan("edit_file", edit("./a.txt", "2", "zwei"));
    assert_eq!(
        (plan.decision.action, plan.risk),
        (Action::Ask, Risk::Medium)
    );
    assert_eq!(plan.facts.writes, ["a.txt"]);
    assert_eq!(plan.summary, "Edit ./a.txt (1 edit)");
    assert_eq!(
        plan.preview.unwrap(),
        "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n"
    );
    assert!(plan.rests_on[0].sha256.is_some());
    // What does not fit yet may fit when its turn comes.
    let plan = ws.plan("edit_file", edit("a.txt", "9", "x"));
    assert!(plan.preview.unwrap().contains("this call will fail"));
    let results = ws.batch(vec![
        ("write_file", json!({"path": "n.txt", "content": "one\n"})),
        ("edit_file", edit("n.txt", "one", "two")),
        ("edit_file", edit("n.txt", "two", "three")),
    ]);
    assert!(
        results.iter().all(|result| result.error.is_none()),
        "{results:?}"
    );
    assert_eq!(ws.get("n.txt"), b"three\n");
}

#[test]
fn a_file_that_would_be_too_large_is_not_written() {
    let tools = ToolSettings {
        write: WriteSettings {
            max_file_bytes: 100,
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default()).unchecked();
    ws.put("f.txt", "a\n");
    let (kind, message) = ws.fails("edit_file", edit("f.txt", "a", &"x".repeat(200)));
    assert_eq!(kind, ErrorKind::TooLarge);
    assert!(message.contains("at most 100"), "{message}");
    let args = json!({"path": "g.txt", "content": "x".repeat(101)});
    assert_eq!(ws.fails("write_file", args).0, ErrorKind::TooLarge);
    let patch = format!("LP1\nF f.txt\nT\n{}\n.\nEND\n", "x".repeat(101));
    assert_eq!(
        ws.fails("apply_patch", json!({"patch": patch})).0,
        ErrorKind::TooLarge
    );
    assert_eq!(ws.get("f.txt"), b"a\n");
}
