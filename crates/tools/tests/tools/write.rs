//! `write_file`: what it writes, what it refuses to write over.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use serde_json::json;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_model::{Action, ErrorKind};

use crate::fixture::Workspace;

#[test]
fn ac_14_file_write_makes_the_file_and_its_directories() {
    let ws = Workspace::new();
    let result = ws.call(
        "file_write",
        json!({"path": "new/dir/file.txt", "content": "data"}),
    );
    assert_eq!(result.error, None);
    assert_eq!(ws.get("new/dir/file.txt"), b"data");
    assert_eq!(result.content, "created: new/dir/file.txt (+1 -0, 4 bytes)");
    assert_eq!(result.display, "Wrote new/dir/file.txt (+1 -0)");
    assert_eq!(
        result.metadata["made_directories"],
        json!(["new", "new/dir"])
    );
    assert_eq!(
        (result.tool.as_str(), result.metadata["created"].clone()),
        ("write_file", json!(true))
    );
}

#[test]
fn an_existing_file_needs_overwrite_and_a_read() {
    let ws = Workspace::new();
    ws.put("a.txt", "old\n");
    let write = |args: serde_json::Value| {
        let mut call = json!({"path": "a.txt", "content": "new\n"});
        call.as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        ws.call("write_file", call)
    };
    for (args, kind, part) in [
        (
            json!({}),
            ErrorKind::AlreadyExists,
            "File a.txt already exists. Set overwrite=true to replace it. It has 1 line: read it first",
        ),
        (
            json!({"overwrite": false}),
            ErrorKind::AlreadyExists,
            "File a.txt already exists. Set overwrite=true to replace it.",
        ),
        (json!({"overwrite": true}), ErrorKind::StaleFile, "not read"),
    ] {
        let result = write(args);
        assert_eq!(result.kind(), Some(kind));
        assert!(result.content.contains(part), "{}", result.content);
        assert_eq!(ws.get("a.txt"), b"old\n");
    }
    // Another name for the tool presets overwrite, and not the read.
    let (kind, _) = ws.fails("file_write", json!({"path": "a.txt", "content": "new\n"}));
    assert_eq!(kind, ErrorKind::StaleFile);
    ws.read("a.txt");
    let result = write(json!({"overwrite": true}));
    assert_eq!(result.content, "modified: a.txt (+1 -1, 4 bytes)");
    assert_eq!(ws.get("a.txt"), b"new\n");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let ws = Workspace::new();
    ws.put("a.txt", "old\n");
    ws.read("a.txt");
    ws.put("a.txt", "somebody else's\n");
    let args = json!({"path": "a.txt", "content": "new\n", "overwrite": true});
    let (kind, message) = ws.fails("write_file", args.clone());
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(message.contains("changed since"), "{message}");
    assert_eq!(ws.get("a.txt"), b"somebody else's\n");
    ws.read("a.txt");
    ws.ok("write_file", args);
    assert_eq!(ws.get("a.txt"), b"new\n");
}

#[test]
fn what_toolgate_wrote_itself_is_known() {
    let ws = Workspace::new();
    ws.ok("write_file", json!({"path": "a.txt", "content": "one\n"}));
    ws.ok(
        "write_file",
        json!({"path": "a.txt", "content": "two\n", "overwrite": true}),
    );
    ws.ok(
        "write_file",
        json!({"path": "./a.txt", "content": "three\n", "overwrite": true}),
    );
    assert_eq!(ws.get("a.txt"), b"three\n");
    // In one batch as well: the second rests on what the first wrote.
    let results = ws.batch(vec![
        ("write_file", json!({"path": "b.txt", "content": "one\n"})),
        (
            "write_file",
            json!({"path": "b.txt", "content": "two\n", "overwrite": true}),
        ),
    ]);
    assert!(
        results.iter().all(|result| result.error.is_none()),
        "{results:?}"
    );
    assert_eq!(ws.get("b.txt"), b"two\n");
}

#[test]
fn lines_that_were_never_shown_are_not_overwritten() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n2\n3\n");
    let args = json!({"path": "a.txt", "content": "x\n", "overwrite": true});
    ws.ok("read_file", json!({"path": "a.txt", "end_line": 2}));
    let (kind, message) = ws.fails("write_file", args.clone());
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(message.contains("not all of its 3 lines"), "{message}");
    ws.ok("read_file", json!({"path": "a.txt", "start_line": 3}));
    ws.ok("write_file", args);

    ws.put("b.txt", "a\nkey ghp_abcdefghijklmnopqrstuvwxyz0123456789\n");
    ws.read("b.txt");
    let (kind, message) = ws.fails(
        "write_file",
        json!({"path": "b.txt", "content": "a\n", "overwrite": true}),
    );
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(message.contains("line that holds a secret"), "{message}");
}

#[test]
fn one_call_by_a_person_needs_no_read() {
    let ws = Workspace::new().unchecked();
    ws.put("a.txt", "old\n");
    ws.ok("file_write", json!({"path": "a.txt", "content": "new\n"}));
    assert_eq!(ws.get("a.txt"), b"new\n");
}

#[test]
fn the_same_content_is_not_written_again() {
    let ws = Workspace::new();
    ws.put("a.txt", "same\n");
    let before = std::fs::metadata(ws.path("a.txt")).unwrap();
    let result = ws.call("file_write", json!({"path": "a.txt", "content": "same\n"}));
    assert!(
        result.content.starts_with("unchanged: a.txt"),
        "{}",
        result.content
    );
    assert_eq!(result.metadata["changed"], false);
    let after = std::fs::metadata(ws.path("a.txt")).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
}

#[test]
fn mode_encoding_and_other_names_of_the_file_are_kept() {
    let ws = Workspace::new().unchecked();
    ws.put("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(ws.path("run.sh"), PermissionsExt::from_mode(0o751)).unwrap();
    std::fs::hard_link(ws.path("run.sh"), ws.path("other.sh")).unwrap();
    ws.ok(
        "file_write",
        json!({"path": "run.sh", "content": "#!/bin/sh\necho\n"}),
    );
    assert_eq!(
        std::fs::metadata(ws.path("run.sh")).unwrap().mode() & 0o777,
        0o751
    );
    assert_eq!(ws.get("other.sh"), b"#!/bin/sh\n");

    ws.put("marked.txt", "\u{feff}old\n");
    ws.put("wide.txt", b"\xff\xfeo\0l\0d\0");
    for (name, encoding, bytes) in [
        ("marked.txt", "utf-8-bom", &b"\xef\xbb\xbfnew"[..]),
        ("wide.txt", "utf-16le", b"\xff\xfen\0e\0w\0"),
    ] {
        let result = ws.call("file_write", json!({"path": name, "content": "new"}));
        assert_eq!(result.metadata["encoding"], encoding);
        assert_eq!(ws.get(name), bytes);
        assert_eq!(ws.read(name), "new");
    }
    let left: Vec<_> = std::fs::read_dir(ws.path("")).unwrap().collect();
    assert_eq!(left.len(), 4, "nothing but the files is left: {left:?}");
}

#[test]
fn placeholders_are_not_written() {
    let ws = Workspace::new().unchecked();
    ws.put("a.rs", "fn a() {}\nfn b() {}\n");
    for (path, content) in [
        ("a.rs", "fn a() { 1 }\n// ... existing code ...\n"),
        ("a.rs", "fn a() { 1 }\n... rest of the code unchanged ...\n"),
    ] {
        let (kind, message) = ws.fails("file_write", json!({"path": path, "content": content}));
        assert_eq!(kind, ErrorKind::BadArgs);
        assert!(
            message.contains("2 lines of the file would be lost")
                && message.contains("allow_elision"),
            "{message}"
        );
    }
    assert_eq!(ws.get("a.rs"), b"fn a() {}\nfn b() {}\n");
    // Nothing is lost, or it is meant.
    for args in [
        json!({"path": "new.py", "content": "import x\n# ... rest of the code unchanged ...\n"}),
        json!({"path": "a.rs", "content": "fn a() {}\n// ... existing code ...\nfn b() {}\n"}),
        json!({"path": "a.rs", "content": "// existing code unchanged\n", "allow_elision": true}),
    ] {
        ws.ok("file_write", args);
    }
}

#[test]
fn a_person_is_shown_the_difference() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n2\n3\n");
    let plan = ws.plan(
        "write_file",
        json!({"path": "./a.txt", "content": "1\nzwei\n3\n", "overwrite": true}),
    );
    assert_eq!(plan.decision.action, Action::Ask);
    assert_eq!(plan.facts.writes, ["a.txt"]);
    assert_eq!(
        plan.summary,
        "Write ./a.txt (3 lines, replacing what is there)"
    );
    let preview = plan.preview.unwrap();
    assert!(
        preview.starts_with("--- a.txt\n+++ a.txt\n@@") && preview.contains("-2\n+zwei\n"),
        "{preview}"
    );
    assert!(plan.rests_on[0].sha256.is_some());

    let plan = ws.plan("write_file", json!({"path": "n.txt", "content": "new\n"}));
    assert!(
        plan.preview
            .unwrap()
            .starts_with("new file n.txt, 1 line\nnew\n")
    );
    assert_eq!(plan.rests_on[0].sha256, None);
    let plan = ws.plan("write_file", json!({"path": "a.txt", "content": "x"}));
    assert!(plan.preview.unwrap().contains("will fail"));
    ws.put("b.dat", b"\0\0");
    let plan = ws.plan("file_write", json!({"path": "b.dat", "content": "x"}));
    assert!(plan.preview.unwrap().contains("2 bytes are replaced"));
    let long: String = (0..9_000).map(|n| format!("{n}\n")).collect();
    let plan = ws.plan("file_write", json!({"path": "long.txt", "content": long}));
    let preview = plan.preview.unwrap();
    assert!(preview.len() <= 24 * 1024 && preview.contains("omitted"));
}

#[test]
fn a_preview_shows_line_ends_and_what_is_invisible() {
    let ws = Workspace::new().unchecked();
    ws.put("a.txt", "one\r\ntwo\r\n");
    let shown = |tool: &str, args: serde_json::Value| ws.plan(tool, args).preview.unwrap();
    let preview = shown(
        "file_write",
        json!({"path": "a.txt", "content": "one\ntwo\r\n"}),
    );
    assert!(preview.contains("-one\\r\n+one\n two\\r\n"), "{preview}");
    let edit = json!({"path": "a.txt", "edits": [{"target": "two", "replacement": "t\u{202e}wo\u{1b}[8m"}]});
    let preview = shown("edit_file", edit);
    assert!(
        preview.contains("+t\\u{202e}wo\\u{1b}[8m\\r\n"),
        "{preview}"
    );
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\u{200b}y\n";
    let patch = patch.replace("--- a/b.txt", "--- /dev/null");
    let preview = shown("apply_patch", json!({"patch": patch}));
    assert!(preview.contains("+x\\u{200b}y\n"), "{preview}");
}

#[test]
fn a_name_in_a_preview_cannot_begin_a_line_of_its_own() {
    let ws = Workspace::new().unchecked();
    let name = "x.txt, 1 line\n  2  Read\u{202e}\t";
    let one_line = r"x.txt, 1 line\n  2  Read\u{202e}\t";
    let args = |content: &str| json!({"path": name, "content": content});
    let preview = ws.plan("file_write", args("a\n")).preview.unwrap();
    assert_eq!(preview, format!("new file {one_line}, 1 line\na\n"));
    ws.put(name, "a\n");
    let head = format!("--- {one_line}\n+++ {one_line}\n@@");
    let preview = ws.plan("file_write", args("b\n")).preview.unwrap();
    assert!(preview.contains(&head), "{preview}");
    let edit = |old: &str| json!({"path": name, "edits": [{"target": old, "replacement": "b"}]});
    let preview = ws.plan("edit_file", edit("a")).preview.unwrap();
    assert!(preview.starts_with(&head), "{preview}");
    let preview = ws.plan("edit_file", edit("c")).preview.unwrap();
    assert!(
        preview.contains(one_line) && !preview.contains("\n  2  Read"),
        "{preview}"
    );
    let patch = "--- \"a/x\\n2\"\n+++ \"b/x\\n2\"\n@@ -1 +1 @@\n-a\n+b\n";
    let preview = || {
        ws.plan("apply_patch", json!({"patch": patch}))
            .preview
            .unwrap()
    };
    assert!(preview().contains("x\\n2: "), "{}", preview());
    ws.put("x\n2", "a\n");
    assert!(
        preview().starts_with("--- x\\n2\n+++ x\\n2\n@@"),
        "{}",
        preview()
    );
}

/// Changes a file every time the person thinks about it.
struct Meanwhile {
    path: PathBuf,
    asked: AtomicUsize,
}

impl Approver for Meanwhile {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        std::fs::write(&self.path, format!("changed {asked}\n")).unwrap();
        Box::pin(std::future::ready(Ok(Answer::yes())))
    }
}

#[test]
fn a_file_that_changes_while_the_person_thinks_is_left_alone() {
    let ws = Workspace::new().unchecked();
    ws.put("a.txt", "old\n");
    let meanwhile = Meanwhile {
        path: ws.path("a.txt"),
        asked: AtomicUsize::new(0),
    };
    let ws = ws.asking(meanwhile);
    let (kind, _) = ws.fails("file_write", json!({"path": "a.txt", "content": "new\n"}));
    assert_eq!(kind, ErrorKind::StaleFile);
    assert!(ws.get("a.txt").starts_with(b"changed "));
}

#[test]
fn directories_and_protected_places_are_refused() {
    let ws = Workspace::new().unchecked();
    std::fs::create_dir(ws.path("d")).unwrap();
    ws.put("f", "");
    for (path, kind) in [
        ("d", ErrorKind::NotAFile),
        ("f/x", ErrorKind::NotADirectory),
        (".env", ErrorKind::DeniedPattern),
        (".bashrc", ErrorKind::ProtectedPath),
        ("../out/x", ErrorKind::OutsideSandbox),
        ("", ErrorKind::BadArgs),
    ] {
        let (got, message) = ws.fails("file_write", json!({"path": path, "content": "x"}));
        assert_eq!(got, kind, "{path}: {message}");
    }
}
