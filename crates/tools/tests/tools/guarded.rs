//! What the file tools do with names and files that the sandbox guards.

use serde_json::json;
use toolgate_model::ErrorKind;

use crate::fixture::Workspace;

#[test]
fn attributes_that_name_a_driver_are_refused_by_every_tool() {
    let ws = Workspace::new().unchecked();
    ws.put(".gitattributes", "* text=auto\n");
    let patch =
        "--- a/.gitattributes\n+++ b/.gitattributes\n@@ -1 +1 @@\n-* text=auto\n+* filter=evil\n";
    for (tool, args) in [
        (
            "write_file",
            json!({"path": ".gitattributes", "content": "* filter=evil\n", "overwrite": true}),
        ),
        (
            "write_file",
            json!({"path": "sub/.gitattributes", "content": "* diff=evil\n"}),
        ),
        (
            "edit_file",
            json!({"path": ".gitattributes", "edits": [{"target": "text=auto", "replacement": "merge=evil"}]}),
        ),
        ("apply_patch", json!({"patch": patch})),
    ] {
        let (kind, message) = ws.fails(tool, args);
        assert_eq!(kind, ErrorKind::ProtectedPath, "{tool}: {message}");
        assert!(message.contains("makes git run"), "{message}");
        assert!(message.contains("\n[[tools.rules]]\n"), "{message}");
    }
    assert_eq!(ws.get(".gitattributes"), b"* text=auto\n");
    ws.ok(
        "write_file",
        json!({"path": ".gitattributes", "content": "*.png binary\n", "overwrite": true}),
    );
}

#[test]
fn a_hard_link_shows_nothing_of_a_denied_file() {
    let ws = Workspace::new().unchecked();
    ws.put(".env", "PASSWORD=canary-7f3a\n");
    ws.put("plain.txt", "canary-of-nobody\n");
    std::fs::hard_link(ws.path(".env"), ws.path("notes.txt")).unwrap();
    std::fs::hard_link(ws.path("plain.txt"), ws.path("same.txt")).unwrap();
    for (tool, args) in [
        ("read_file", json!({"path": "notes.txt"})),
        (
            "edit_file",
            json!({"path": "notes.txt", "edits": [{"target": "canary", "replacement": "x"}]}),
        ),
        (
            "write_file",
            json!({"path": "notes.txt", "content": "x\n", "overwrite": true}),
        ),
    ] {
        let (kind, message) = ws.fails(tool, args);
        assert_eq!(kind, ErrorKind::DeniedPattern, "{tool}: {message}");
        assert!(message.contains("the same file as `.env`"), "{message}");
    }
    let found = ws.ok("grep", json!({"pattern": "canary"}));
    assert!(!found.contains("7f3a"), "{found}");
    assert!(found.contains("same.txt"), "{found}");
    assert_eq!(ws.get(".env"), b"PASSWORD=canary-7f3a\n");
}
