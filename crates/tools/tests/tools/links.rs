//! Rules about files hold for every tool that reaches them through a link.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_gate::registry::Registry;
use toolgate_gate::{Rules, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, ErrorKind};
use toolgate_policy::{LayerSpec, LayerTrust, RuleSpec};
use toolgate_tools::{ToolSettings, register_all};

use crate::fixture::Workspace;

fn patterns(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|&pattern| pattern.to_owned()).collect())
}

fn linked() -> Workspace {
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let mut private = RuleSpec::new("*", Action::Deny);
    private.reads = patterns(&["private/**", "half/inner/**"]);
    let mut migrations = RuleSpec::new("*", Action::Deny);
    migrations.writes = patterns(&["migrations/**"]);
    migrations.deletes = patterns(&["migrations/**"]);
    let mut everything = RuleSpec::new("*", Action::Allow);
    everything.writes = patterns(&["**"]);
    everything.deletes = patterns(&["**"]);
    let list = vec![private, migrations, everything];
    let rules = Rules {
        layers: vec![LayerSpec::new("user", LayerTrust::Trusted, list)],
        ..Rules::default()
    };
    let journal = Arc::new(MemoryJournal::new());
    let ws = Workspace::ruled(Arc::new(registry), Settings::default(), journal, rules).unchecked();
    for file in [
        "private/x",
        "half/inner/y",
        "half/open.txt",
        "migrations/1.sql",
    ] {
        ws.put(file, "canary\n");
    }
    for (link, to) in [
        ("p", "private"),
        ("px", "private/x"),
        ("pp", "p"),
        ("h", "half"),
        ("m", "migrations"),
        ("one", "migrations/1.sql"),
        ("half/up", ".."),
    ] {
        symlink(to, ws.path(link)).unwrap();
    }
    ws
}

#[test]
fn no_tool_reaches_a_denied_file_through_a_link() {
    let ws = linked();
    let add = |path: &str| format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch");
    let delete = |path: &str| format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
    let copy = |from: &str| {
        format!(
            "diff --git a/{from} b/stolen\nsimilarity index 100%\ncopy from {from}\ncopy to stolen\n"
        )
    };
    let cases: Vec<(&str, Value)> = vec![
        ("read_file", json!({"path": "p/x"})),
        ("read_file", json!({"path": "px"})),
        ("read_file", json!({"path": "pp/x"})),
        ("read_file", json!({"path": "half/up/private/x"})),
        ("read_file", json!({"path": "h/inner/y"})),
        ("read_file", json!({"path": ws.path("px")})),
        ("grep", json!({"pattern": "canary", "directory": "p"})),
        (
            "grep",
            json!({"pattern": "canary", "directory": "half/up/private"}),
        ),
        ("glob", json!({"pattern": "**", "directory": "p"})),
        ("list_directory", json!({"path": "p"})),
        ("list_directory", json!({"path": "pp"})),
        ("list_directory", json!({"path": "h/inner"})),
        ("apply_patch", json!({"patch": copy("p/x")})),
        ("apply_patch", json!({"patch": copy("px")})),
        ("apply_patch", json!({"patch": add("m/9.sql")})),
        ("apply_patch", json!({"patch": delete("m/1.sql")})),
        ("write_file", json!({"path": "m/2.sql", "content": "x"})),
        (
            "write_file",
            json!({"path": "half/up/m/2.sql", "content": "x"}),
        ),
        (
            "write_file",
            json!({"path": "one", "content": "x", "overwrite": true}),
        ),
        (
            "edit_file",
            json!({"path": "one", "edits": [{"target": "canary", "replacement": "x"}]}),
        ),
    ];
    for (tool, args) in cases {
        let shown = args.to_string();
        let result = ws.call(tool, args);
        let kind = result.error.as_ref().map(|error| error.kind);
        assert_eq!(
            kind,
            Some(ErrorKind::PolicyDenied),
            "{tool} {shown}: {}",
            result.content
        );
    }
    assert_eq!(ws.get("migrations/1.sql"), b"canary\n");
    assert!(!ws.path("migrations/2.sql").exists() && !ws.path("stolen").exists());
}

#[test]
fn a_search_through_a_link_leaves_out_what_rules_hide_by_its_real_name() {
    let ws = linked();
    for directory in ["h", "half", "half/up/half", "half/up", "half/up/h"] {
        for (tool, args) in [
            ("grep", json!({"pattern": "canary", "directory": directory})),
            ("glob", json!({"pattern": "**/*", "directory": directory})),
            (
                "list_directory",
                json!({"path": directory, "recursive": true, "include_dirs": false}),
            ),
        ] {
            let content = ws.ok(tool, args);
            assert!(
                content.contains("open.txt"),
                "{tool} {directory}: {content}"
            );
            for hidden in ["inner/y", "private/x"] {
                assert!(!content.contains(hidden), "{tool} {directory}: {content}");
            }
        }
    }
}

struct Never;

impl Approver for Never {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(async { Err(Unanswered::NobodyThere) })
    }
}

#[test]
fn files_behind_links_without_strict_rules_are_used_without_a_question() {
    let ws = linked().asking(Never);
    ws.put("src/a.rs", "a\n");
    symlink("src", ws.path("s")).unwrap();
    assert!(ws.read("s/a.rs").contains('a'));
    assert!(ws.read("h/open.txt").contains("canary"));
    ws.ok("write_file", json!({"path": "s/b.rs", "content": "b\n"}));
    assert_eq!(ws.get("src/b.rs"), b"b\n");
}
