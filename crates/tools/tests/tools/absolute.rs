//! Absolute paths into the workspace are its relative ones, for policy, journal and tools.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::registry::Registry;
use toolgate_gate::{Rules, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, ErrorKind};
use toolgate_policy::{Condition, LayerSpec, LayerTrust, Operator, RuleSpec, Values};
use toolgate_tools::{ToolSettings, register_all};

use crate::fixture::Workspace;

/// Calls with `ROOT` for a name of the workspace, and the path that policy sees.
fn calls() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    vec![
        (
            "read_file",
            json!({"path": "ROOT/d/a.txt"}),
            vec!["d/a.txt"],
        ),
        (
            "read_file",
            json!({"path": "ROOT//d/./a.txt"}),
            vec!["d/a.txt"],
        ),
        (
            "read_many_files",
            json!({"paths": ["ROOT/d/a.txt", "b.txt"]}),
            vec!["d/a.txt", "b.txt"],
        ),
        ("list_directory", json!({"path": "ROOT"}), vec!["."]),
        ("list_directory", json!({"path": "ROOT/d"}), vec!["d"]),
        (
            "glob",
            json!({"pattern": "*", "directory": "ROOT/d"}),
            vec!["d"],
        ),
        ("grep", json!({"pattern": "one", "path": "ROOT"}), vec!["."]),
        (
            "write_file",
            json!({"path": "ROOT/d/new.txt", "content": "x"}),
            vec!["d/new.txt"],
        ),
        (
            "edit_file",
            json!({"path": "ROOT/d/a.txt", "edits": [{"target": "one", "replacement": "two"}]}),
            vec!["d/a.txt"],
        ),
        (
            "apply_patch",
            json!({"patch": "LP1\nF ROOT/d/a.txt\nT\nend\n.\nEND\n"}),
            vec!["d/a.txt"],
        ),
    ]
}

fn with_root(args: &Value, root: &str) -> Value {
    serde_json::from_str(&args.to_string().replace("ROOT", root)).unwrap()
}

#[test]
fn every_name_of_the_workspace_means_its_relative_paths() {
    for alias in [false, true] {
        for (tool, args, canonical) in calls() {
            let ws = Workspace::new();
            ws.put("d/a.txt", "one\n");
            ws.put("b.txt", "one\n");
            ws.ok("read_many_files", json!({"paths": ["d/a.txt", "b.txt"]}));
            let root = if alias {
                symlink(ws.path(""), ws.path("../alias")).unwrap();
                ws.path("").parent().unwrap().join("alias")
            } else {
                ws.path("")
            };
            let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
            let args = with_root(&args, &root);
            let plan = ws.plan(tool, args.clone());
            let paths: Vec<&str> = plan.facts.paths().map(|(_, path)| path).collect();
            assert_eq!(paths, canonical, "{tool} {args}");
            assert_eq!(plan.leads_to, [], "a name of the root is no link");
            if tool != "apply_patch" {
                let shown = serde_json::to_string(&plan.call.args).unwrap();
                assert!(!shown.contains(&root), "{shown}");
            }
            assert_eq!(ws.call(tool, args).error, None, "{tool}");
        }
    }
}

#[test]
fn rules_about_relative_paths_hold_for_absolute_ones() {
    let mut of_facts = RuleSpec::new("*", Action::Deny);
    of_facts.writes = Some(vec!["d/**".to_owned()]);
    let mut of_args = RuleSpec::new("read_file", Action::Deny);
    of_args.when = vec![Condition {
        param: "path".to_owned(),
        operator: Operator::StartsWith,
        value: Values::One("d/".to_owned()),
    }];
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let rules = Rules {
        layers: vec![LayerSpec::new(
            "user",
            LayerTrust::Trusted,
            vec![of_facts, of_args],
        )],
        ..Rules::default()
    };
    let journal = Arc::new(MemoryJournal::new());
    let ws = Workspace::ruled(Arc::new(registry), Settings::default(), journal, rules);
    ws.put("d/a.txt", "one\n");
    let root = ws
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    for (tool, args, _) in calls() {
        let denied = matches!(
            tool,
            "read_file" | "write_file" | "edit_file" | "apply_patch"
        );
        if denied {
            let (kind, _) = ws.fails(tool, with_root(&args, &root));
            assert_eq!(kind, ErrorKind::PolicyDenied, "{tool}");
        }
    }
}

#[test]
fn absolute_paths_to_other_places_are_refused() {
    let ws = Workspace::new();
    std::fs::write(ws.path("../out/a.txt"), "secret").unwrap();
    let root = ws
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    let out = root.replace("/ws", "/out");
    for path in [
        "/etc/passwd".to_owned(),
        "/".to_owned(),
        format!("{out}/a.txt"),
        format!("{root}/../out/a.txt"),
        format!("{root}x/a.txt"),
        format!("/proc/self/root{root}/a.txt"),
    ] {
        let (kind, _) = ws.fails("read_file", json!({"path": path}));
        assert_eq!(kind, ErrorKind::OutsideSandbox, "{path}");
    }
}
