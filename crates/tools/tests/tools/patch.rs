//! `apply_patch`: what it says before and after, what it refuses, what it keeps.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;
use toolgate_gate::Settings;
use toolgate_model::{ErrorKind, Risk, Status};
use toolgate_tools::{PatchSettings, ToolSettings};

use crate::fixture::Workspace;

fn patch(ws: &Workspace, text: &str) -> toolgate_model::ToolResult {
    ws.call("apply_patch", json!({"patch": text}))
}

/// A patch that adds a line to each of these files.
fn appending(names: &[&str]) -> String {
    let sections: String = names
        .iter()
        .map(|name| format!("F {name}\nT\nnew\n.\n"))
        .collect();
    format!("LP1\n{sections}END\n")
}

#[test]
fn t_patch_01_a_failure_yields_no_partial_writes() {
    let ws = Workspace::new();
    let names = ["a.txt", "b.txt", "c.txt"];
    for name in names {
        ws.put(name, "old\n");
        ws.read(name);
    }
    let before = std::fs::metadata(ws.path("a.txt")).unwrap().ino();
    for last in [
        "LP1\nF a.txt\nT\nx\n.\nF new/n.txt\nT\nx\n.\nF b.txt\nE\nmissing\n.\nEND\n",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+x\n*** Add File: new/n.txt\n+x\n*** Update File: b.txt\n@@\n-missing\n+x\n*** End Patch\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+x\n--- /dev/null\n+++ b/new/n.txt\n@@ -0,0 +1 @@\n+x\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-missing\n+x\n",
    ] {
        let result = patch(&ws, last);
        assert_eq!(result.kind(), Some(ErrorKind::PatchFailed));
        assert!(
            result.content.contains("No file was changed"),
            "{}",
            result.content
        );
        for name in names {
            assert_eq!(ws.get(name), b"old\n");
        }
        assert!(!ws.path("new").exists());
    }
    assert_eq!(std::fs::metadata(ws.path("a.txt")).unwrap().ino(), before);
    let left = std::fs::read_dir(ws.path("")).unwrap().count();
    assert_eq!(left, names.len(), "nothing but the files is left");
}

#[test]
fn fr_tool_patch_02a_files_have_to_be_read() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\n");
    ws.put("g.txt", "a\n");
    ws.read("g.txt");
    let unread = "File was not read before patching";
    for text in [
        appending(&["f.txt"]),
        appending(&["g.txt", "f.txt"]),
        "LP1\nF f.txt\nE\nnot there\n.\nEND\n".to_owned(),
        "*** Begin Patch\n*** Delete File: f.txt\n*** End Patch\n".to_owned(),
        "*** Begin Patch\n*** Update File: f.txt\n*** Move to: h.txt\n*** End Patch\n".to_owned(),
        "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
    ] {
        let error = patch(&ws, &text).error.unwrap();
        assert_eq!(error.kind, ErrorKind::StaleFile, "{text}");
        assert!(
            error.message.contains(unread) && error.message.contains("f.txt"),
            "{error}"
        );
    }
    assert_eq!(
        (ws.get("f.txt"), ws.get("g.txt")),
        (b"a\n".to_vec(), b"a\n".to_vec())
    );
    // What does not exist cannot be read first.
    ws.ok("apply_patch", json!({"patch": appending(&["n.txt"])}));
    // A person's one call is not asked.
    let ws = Workspace::new().unchecked();
    ws.put("f.txt", "a\n");
    ws.ok("apply_patch", json!({"patch": appending(&["f.txt"])}));
}

#[test]
fn fr_tool_patch_02b_files_have_to_be_as_they_were_read() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\n");
    ws.read("f.txt");
    ws.put("f.txt", "b\n");
    let error = patch(&ws, &appending(&["f.txt"])).error.unwrap();
    assert_eq!(error.kind, ErrorKind::StaleFile);
    assert!(
        error
            .message
            .contains("File content changed since last read"),
        "{error}"
    );
    assert_eq!(ws.get("f.txt"), b"b\n");
    ws.read("f.txt");
    ws.ok("apply_patch", json!({"patch": appending(&["f.txt"])}));
    // And what a patch wrote is known to the next one.
    ws.ok(
        "apply_patch",
        json!({"patch": "LP1\nF f.txt\nE\nnew\n.\nEND\n"}),
    );
    assert_eq!(ws.get("f.txt"), b"b\n");
}

#[test]
fn fr_tool_patch_02d_the_sandbox_speaks_before_staleness() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\n");
    let result = patch(&ws, &appending(&["f.txt", "../out/x"]));
    assert_eq!(result.kind(), Some(ErrorKind::OutsideSandbox));
    assert_eq!(result.status(), Status::Denied);
}

#[test]
fn lines_that_were_never_shown_cannot_be_patched() {
    let ws = Workspace::new();
    let text: String = (1..=20).map(|n| format!("{n}\n")).collect();
    ws.put("f.txt", &text);
    ws.ok(
        "read_file",
        json!({"path": "f.txt", "start_line": 5, "end_line": 8}),
    );
    let wrong = [
        "LP1\nF f.txt\nE\n12\n.\nEND\n",
        "LP1\nF f.txt\nI\n12\n.\nnew\n.\nEND\n",
        "LP1\nF f.txt\nR\n6\n12\n.\nx\n.\nEND\n",
        "*** Begin Patch\n*** Update File: f.txt\n@@\n-12\n+x\n*** End Patch\n",
        "--- a/f.txt\n+++ b/f.txt\n@@ -12 +12 @@\n-12\n+x\n",
    ];
    for text in wrong {
        let error = patch(&ws, text).error.unwrap();
        if error.kind != ErrorKind::PatchFailed {
            assert_eq!(error.kind, ErrorKind::StaleFile, "{text}");
            assert!(error.message.contains("shown were lines 5-8"), "{error}");
        }
    }
    assert_eq!(ws.get("f.txt"), text.as_bytes());
    // Context may reach further than what changes, and the ends need no neighbour.
    for text in [
        "--- a/f.txt\n+++ b/f.txt\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n",
        "LP1\nF f.txt\nT\nend\n.\nB\nstart\n.\nEND\n",
        "LP1\nF f.txt\nI\n8\n.\nbelow\n.\nEND\n",
    ] {
        let result = patch(&ws, text);
        assert_eq!(result.error, None, "{text}");
    }
    // They are known where they are now, and no others.
    assert_eq!(
        patch(&ws, "LP1\nF f.txt\nE\n12\n.\nEND\n").kind(),
        Some(ErrorKind::StaleFile)
    );
    assert_eq!(
        patch(
            &ws,
            "LP1\nF f.txt\nE\nsix\n.\nE\nbelow\n.\nE\nstart\n.\nEND\n"
        )
        .error,
        None
    );
}

#[test]
fn a_patch_says_what_it_will_touch_before_it_does() {
    let ws = Workspace::new();
    for name in ["f.txt", "g.txt", "h.txt"] {
        ws.put(name, "a\n");
    }
    for (text, writes, deletes, reads, risk, summary) in [
        (
            "LP1\nF f.txt\nT\nb\n.\nF ./f.txt\nT\nc\n.\nF n/m.txt\nT\nx\n.\nEND\n",
            &["f.txt", "n/m.txt"][..],
            &[][..],
            &[][..],
            Risk::Medium,
            "Apply patch to 2 file(s): f.txt, n/m.txt",
        ),
        (
            "*** Begin Patch\n*** Add File: n.txt\n+x\n*** Delete File: g.txt\n*** Update File: f.txt\n*** Move to: d/f.txt\n@@\n-a\n+b\n*** End Patch\n",
            &["n.txt", "d/f.txt"],
            &["g.txt", "f.txt"],
            &[],
            Risk::High,
            "Apply patch to 4 file(s): n.txt, d/f.txt, g.txt, f.txt; deletes g.txt, f.txt",
        ),
        (
            "diff --git a/f.txt b/c.txt\ncopy from f.txt\ncopy to c.txt\ndiff --git a/g.txt b/r.txt\nrename from g.txt\nrename to r.txt\ndiff --git a/h.txt b/h.txt\ndeleted file mode 100644\n--- a/h.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            &["c.txt", "r.txt"],
            &["g.txt", "h.txt"],
            &["f.txt"],
            Risk::High,
            "Apply patch to 5 file(s): f.txt, c.txt, r.txt, g.txt, h.txt; deletes g.txt, h.txt",
        ),
    ] {
        let plan = ws.plan("apply_patch", json!({"patch": text}));
        assert_eq!(plan.facts.writes, writes, "{text}");
        assert_eq!(plan.facts.deletes, deletes, "{text}");
        assert_eq!(plan.facts.reads, reads, "{text}");
        assert!(plan.facts.complete);
        assert_eq!((plan.risk, plan.summary.as_str()), (risk, summary));
    }
}

#[test]
fn a_person_sees_all_differences_before_and_after() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\nb\n");
    ws.put("old.txt", "x\n");
    ws.read("f.txt");
    ws.read("old.txt");
    let text = "*** Begin Patch\n*** Update File: f.txt\n@@\n-b\n+c\n*** Add File: n.txt\n+1\n+2\n*** Delete File: old.txt\n*** End Patch\n";
    let shown = "--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- /dev/null\n+++ n.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n--- old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let plan = ws.plan("apply_patch", json!({"patch": text}));
    assert_eq!(plan.preview.unwrap(), shown);
    assert_eq!(plan.rests_on.len(), 3);
    let result = patch(&ws, text);
    assert_eq!(
        result.content,
        "modified: f.txt\ncreated: n.txt\ndeleted: old.txt"
    );
    assert_eq!(result.display, format!("Patched 3 files (+3 -2)\n{shown}"));
    assert_eq!(result.metadata["format"], "envelope");
    assert_eq!(result.metadata["strategy"], "exact");
    assert_eq!(
        result.metadata["files"][0],
        json!({"path": "f.txt", "added": 1, "removed": 1, "lines": 2})
    );
    let plan = ws.plan(
        "apply_patch",
        json!({"patch": "LP1\nF f.txt\nE\nz\n.\nEND\n"}),
    );
    assert!(plan.preview.unwrap().contains("this call will fail"));
    let nothing = json!({"patch": "LP1\nF f.txt\nEND\n"});
    let plan = ws.plan("apply_patch", nothing.clone());
    assert_eq!(plan.preview.unwrap(), "No changes.\n");
    let result = ws.call("apply_patch", nothing);
    assert_eq!(result.content, "No changes applied.");
    assert_eq!(result.display, "No changes applied.");
}

#[test]
fn patches_that_cannot_be_read_are_refused_before_anybody_is_asked() {
    let ws = Workspace::new();
    for text in [
        "",
        "hello",
        "LP1\n",
        "*** Begin Patch\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/f \"\"\ncopy from f\ncopy to \"\"\n",
        "diff --git a/ b/\nold mode 100644\nnew mode 100755\n",
    ] {
        let result = patch(&ws, text);
        let kind = if text.is_empty() {
            ErrorKind::BadArgs
        } else {
            ErrorKind::PatchFailed
        };
        assert_eq!(result.kind(), Some(kind), "{text:?}");
    }
    for args in [
        json!({}),
        json!({"patch": 1}),
        json!({"patch": "LP1\nEND\n", "dry_run": true}),
    ] {
        assert_eq!(ws.fails("apply_patch", args).0, ErrorKind::BadArgs);
    }
    let (_, message) = ws.fails("apply_patch", json!({"patch": "hello"}));
    for part in ["\"hello\"", "`LP1`", "`*** Begin Patch`", "`--- a/file`"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn fr_lim_04_a_patch_has_its_limit() {
    let tools = ToolSettings {
        patch: PatchSettings {
            max_patch_bytes: 100,
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default());
    let text = |count: usize| format!("LP1\nF f.txt\nT\n{}\n.\nEND\n", "x".repeat(count));
    let most = 100 - text(0).len();
    assert_eq!(patch(&ws, &text(most)).error, None);
    let error = patch(&ws, &text(most + 1)).error.unwrap();
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
    assert!(error.message.contains("101 bytes"), "{error}");
}

#[test]
fn encodings_marks_and_modes_are_kept() {
    let ws = Workspace::new();
    let wide = |text: &str| -> Vec<u8> {
        [0xff, 0xfe]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
            .collect()
    };
    for text in [
        "LP1\nF f.txt\nR\nb\n.\nx\ny\n.\nEND\n",
        "*** Begin Patch\n*** Update File: f.txt\n@@\n a\n-b\n+x\n+y\n*** End Patch\n",
        "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,3 @@\n a\n-b\n+x\n+y\n",
    ] {
        for (before, after) in [
            (
                b"\xef\xbb\xbfa\nb\n".to_vec(),
                b"\xef\xbb\xbfa\nx\ny\n".to_vec(),
            ),
            (
                b"\xef\xbb\xbfa\r\nb".to_vec(),
                b"\xef\xbb\xbfa\r\nx\r\ny".to_vec(),
            ),
            (wide("a\nb\n"), wide("a\nx\ny\n")),
            (wide("a\r\nb\r\n"), wide("a\r\nx\r\ny\r\n")),
        ] {
            ws.put("f.txt", &before);
            std::fs::set_permissions(ws.path("f.txt"), PermissionsExt::from_mode(0o640)).unwrap();
            ws.read("f.txt");
            assert_eq!(patch(&ws, text).error, None, "{text} {before:?}");
            assert_eq!(ws.get("f.txt"), after, "{text}");
            let mode = std::fs::metadata(ws.path("f.txt")).unwrap().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
    }
}

#[test]
fn moves_keep_mode_and_content_and_can_be_of_anything() {
    let ws = Workspace::new();
    ws.put("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(ws.path("run.sh"), PermissionsExt::from_mode(0o750)).unwrap();
    ws.put("b.dat", b"\0\x01\xff");
    ws.read("run.sh");
    ws.read("b.dat");
    let result = patch(
        &ws,
        "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/run.sh\n@@\n+echo\n*** Update File: b.dat\n*** Move to: c.dat\n*** End Patch\n",
    );
    assert_eq!(result.error, None);
    assert_eq!(
        result.content,
        "moved: run.sh -> bin/run.sh\nmoved: b.dat -> c.dat"
    );
    assert_eq!(ws.get("bin/run.sh"), b"#!/bin/sh\necho\n");
    assert_eq!(ws.get("c.dat"), b"\0\x01\xff");
    assert_eq!(
        std::fs::metadata(ws.path("bin/run.sh")).unwrap().mode() & 0o777,
        0o750
    );
    assert!(!ws.path("run.sh").exists() && !ws.path("b.dat").exists());
    // Known under the new name, forgotten under the old one.
    assert_eq!(patch(&ws, &appending(&["bin/run.sh"])).error, None);
    ws.put("run.sh", "#!/bin/sh\n");
    assert_eq!(
        patch(&ws, &appending(&["run.sh"])).kind(),
        Some(ErrorKind::StaleFile)
    );
    let error = patch(&ws, &appending(&["c.dat"])).error.unwrap();
    assert!(error.message.contains("binary"), "{error}");
}

#[test]
fn modes_of_git_are_set() {
    let ws = Workspace::new();
    ws.put("f.sh", "x\n");
    std::fs::set_permissions(ws.path("f.sh"), PermissionsExt::from_mode(0o640)).unwrap();
    ws.read("f.sh");
    let mode = |name: &str| std::fs::metadata(ws.path(name)).unwrap().mode() & 0o777;
    let on = "diff --git a/f.sh b/f.sh\nold mode 100644\nnew mode 100755\n";
    assert_eq!(patch(&ws, on).error, None);
    assert_eq!(mode("f.sh"), 0o750);
    let off = "diff --git a/f.sh b/f.sh\nold mode 100755\nnew mode 100644\n";
    assert_eq!(patch(&ws, off).error, None);
    assert_eq!(mode("f.sh"), 0o640);
    let new = "diff --git a/n.sh b/n.sh\nnew file mode 100755\n--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(patch(&ws, new).error, None);
    assert_eq!(mode("n.sh") & 0o500, 0o500);
}

#[test]
fn links_and_second_names_are_one_file_or_refused() {
    let ws = Workspace::new();
    ws.put("f.txt", "a\n");
    ws.put("other/keep.txt", "");
    symlink("f.txt", ws.path("link.txt")).unwrap();
    symlink("other", ws.path("directory")).unwrap();
    symlink("nowhere", ws.path("dangling.txt")).unwrap();
    ws.read("link.txt");
    // A change through a link changes the file, and the link stays.
    assert_eq!(patch(&ws, &appending(&["link.txt"])).error, None);
    assert_eq!(ws.get("f.txt"), b"a\nnew\n");
    assert!(ws.path("link.txt").is_symlink());
    for names in [["f.txt", "link.txt"], ["link.txt", "f.txt"]] {
        let error = patch(&ws, &appending(&names)).error.unwrap();
        assert_eq!(error.kind, ErrorKind::BadArgs);
        assert!(error.message.contains("are the same file"), "{error}");
    }
    let error = patch(&ws, &appending(&["other/n.txt", "directory/n.txt"]))
        .error
        .unwrap();
    assert!(error.message.contains("are the same file"), "{error}");
    assert_eq!(ws.get("f.txt"), b"a\nnew\n");
    assert!(!ws.path("other/n.txt").exists());
    // Which of the two a deletion of a link would mean is not clear.
    let error = patch(
        &ws,
        "*** Begin Patch\n*** Delete File: link.txt\n*** End Patch\n",
    )
    .error
    .unwrap();
    assert_eq!(error.kind, ErrorKind::NotAFile);
    let error = patch(&ws, &appending(&["dangling.txt"])).error;
    assert!(error.is_some());
    // Hard links are names of their own: one changes, the other keeps its content.
    std::fs::hard_link(ws.path("f.txt"), ws.path("hard.txt")).unwrap();
    ws.read("hard.txt");
    assert_eq!(patch(&ws, &appending(&["hard.txt"])).error, None);
    assert_eq!(ws.get("f.txt"), b"a\nnew\n");
    assert_eq!(ws.get("hard.txt"), b"a\nnew\nnew\n");
}

#[test]
fn a_match_that_was_not_exact_is_told() {
    let ws = Workspace::new();
    ws.put("f.txt", "  a\n  b\n");
    ws.read("f.txt");
    let result = patch(
        &ws,
        "*** Begin Patch\n*** Update File: f.txt\n@@\n a\n-b\n+  c\n*** End Patch\n",
    );
    assert_eq!(result.error, None);
    assert_eq!(result.metadata["strategy"], "blanks");
    assert!(
        result
            .content
            .contains("note: f.txt: hunk 1 did not fit exactly"),
        "{}",
        result.content
    );
    assert_eq!(ws.get("f.txt"), b"  a\n  c\n");
}

#[test]
fn secrets_are_not_shown_by_a_patch_that_fails() {
    let ws = Workspace::new().unchecked();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----";
    ws.put("conf.txt", format!("a\n{key}\nb\n"));
    let near = "LP1\nF conf.txt\nE\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASD\n.\nEND\n";
    let error = patch(&ws, near).error.unwrap();
    assert!(
        !error.message.contains("FAASC") && !error.message.contains("BKcw"),
        "{error}"
    );
    let edit = json!({"path": "conf.txt", "edits": [{"target": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASD", "replacement": ""}]});
    let (_, message) = ws.fails("edit_file", edit);
    assert!(
        !message.contains("FAASC") && !message.contains("BKcw"),
        "{message}"
    );
    // A question about a call that will fail quotes the file as little.
    for (tool, args) in [
        ("apply_patch", json!({"patch": near})),
        (
            "edit_file",
            json!({"path": "conf.txt", "edits": [{"target": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASD", "replacement": ""}]}),
        ),
    ] {
        let shown = ws.plan(tool, args).preview.unwrap();
        assert!(shown.contains("this call will fail"), "{shown}");
        assert!(
            !shown.contains("FAASC") && !shown.contains("BKcw"),
            "{shown}"
        );
    }
}
