//! `read_many_files`: several files in one result.

use serde_json::json;
use toolgate_gate::registry::Registry;
use toolgate_gate::{Rules, Settings, place};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, ErrorKind};
use toolgate_policy::{LayerSpec, LayerTrust, RuleSpec};
use toolgate_tools::{ToolSettings, register_all};

use crate::fixture::Workspace;

#[test]
fn each_file_stands_under_its_path_and_counts_as_read() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n2\n");
    ws.put("d/b.txt", "no newline");
    ws.put("wide.txt", b"\xff\xfex\0");
    let result = ws.call(
        "read_many_files",
        json!({"paths": ["a.txt", "d/b.txt", "./a.txt", "wide.txt"]}),
    );
    assert_eq!(result.error, None);
    assert_eq!(
        result.content,
        "=== a.txt ===\n1\n2\n\n=== d/b.txt ===\nno newline\n\n=== wide.txt ===\nx\n"
    );
    assert_eq!(result.display, "Read 3 of 3 files (4 lines)");
    assert_eq!(result.metadata["shown"], 3);
    for name in ["a.txt", "d/b.txt"] {
        let edit = json!({"path": name, "content": "new\n", "overwrite": true});
        ws.ok("write_file", edit);
    }
}

#[test]
fn what_is_wrong_with_one_file_leaves_the_others_alone() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n");
    ws.put("b.dat", b"\0\x01");
    ws.put("d/x.txt", "");
    ws.put("long.txt", "x".repeat(400_000));
    let result = ws.call(
        "read_many_files",
        json!({"paths": ["nothing.txt", "d", "b.dat", "long.txt", "a.txt"]}),
    );
    assert_eq!(result.error, None);
    for part in [
        "=== nothing.txt ===\nError: File not found",
        "=== d ===\nError: `d` is a directory",
        "=== b.dat ===\nError: `b.dat` is binary (2 bytes)",
        "=== long.txt ===\nError: `long.txt` has 400000 bytes",
        "=== a.txt ===\n1\n",
    ] {
        assert!(result.content.contains(part), "{part}: {}", result.content);
    }
    let kinds: Vec<_> = result.metadata["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["error"].clone())
        .collect();
    assert_eq!(
        json!(kinds),
        json!(["not_found", "not_a_file", "binary", "too_large", null])
    );
    let (kind, message) = ws.fails("read_many_files", json!({"paths": ["x", "y"]}));
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(message.contains('x'), "{message}");
    for args in [
        json!({"paths": []}),
        json!({"paths": [""]}),
        json!({"paths": "a"}),
        json!({}),
    ] {
        assert_eq!(ws.fails("read_many_files", args).0, ErrorKind::BadArgs);
    }
}

#[test]
fn there_is_one_budget_and_what_was_not_shown_was_not_read() {
    let ws = Workspace::new();
    let names: Vec<String> = (0..20).map(|n| format!("f{n:02}.txt")).collect();
    for name in &names {
        ws.put(name, "0123456789\n".repeat(30));
    }
    for capacity in [200, 1_000, 2_000, 5_000, 50_000] {
        let ws = Workspace::new();
        for name in &names {
            ws.put(name, "0123456789\n".repeat(30));
        }
        ws.session.set_available_capacity(capacity);
        let one = ws.call("read_many_files", json!({"paths": names}));
        assert!(
            one.content.len() <= capacity,
            "{capacity}: {}",
            one.content.len()
        );
        assert!(!one.truncated);
        let mut shown = 0;
        for name in &names {
            let seen = ws.gate.sandbox().open_read(name).unwrap();
            let seen = ws.session.reads(|log| log.seen(&place(&seen)).is_some());
            let text = format!("=== {name} ===\n0123456789\n");
            assert_eq!(one.content.contains(&text), seen, "{capacity} {name}");
            shown += usize::from(seen);
        }
        if one.error.is_none() {
            assert_eq!(one.metadata["shown"], shown);
        }
        assert_eq!(shown == 20, capacity == 50_000, "{capacity}");
        let again = ws.call("read_many_files", json!({"paths": names}));
        assert_eq!(again.content, one.content, "the same every time");
    }
}

#[test]
fn secrets_are_masked_in_every_file() {
    let ws = Workspace::new();
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    ws.put("a.txt", format!("x\n{token}\n"));
    ws.put("b.txt", "y\n");
    let content = ws.ok("read_many_files", json!({"paths": ["a.txt", "b.txt"]}));
    assert!(
        !content.contains(token) && content.contains("[redacted"),
        "{content}"
    );
    let known = place(&ws.gate.sandbox().open_read("a.txt").unwrap());
    let lines = ws
        .session
        .reads(|log| log.seen(&known).unwrap().lines.clone());
    assert_eq!(lines.as_slice(), [(1, 1)]);
}

#[test]
fn a_denied_file_does_not_hide_the_others_and_is_not_shown() {
    let ws = Workspace::new();
    ws.put("a.txt", "plain\n");
    ws.put(".env", "KEY=canary\n");
    ws.put("b.txt", "more\n");
    std::os::unix::fs::symlink(".env", ws.path("innocent.txt")).unwrap();
    let all = json!({"paths": ["a.txt", ".env", "innocent.txt", "../out/x", "b.txt"]});
    let plan = ws.plan("read_many_files", all.clone());
    assert_eq!(plan.facts.reads, ["a.txt", "b.txt"]);
    assert!(
        plan.summary
            .contains("not read, as denied: .env, innocent.txt"),
        "{}",
        plan.summary
    );
    let result = ws.call("read_many_files", all);
    assert_eq!(result.error, None);
    assert!(result.content.contains("plain") && result.content.contains("more"));
    assert!(!result.content.contains("canary"), "{}", result.content);
    let kinds: Vec<_> = result.metadata["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            file.get("error")
                .and_then(|kind| kind.as_str())
                .unwrap_or("read")
                .to_owned()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "read",
            "denied_pattern",
            "denied_pattern",
            "outside_sandbox",
            "read"
        ]
    );
    for paths in [json!([".env"]), json!([".env", "innocent.txt"])] {
        let (kind, _) = ws.fails("read_many_files", json!({"paths": paths}));
        assert_eq!(kind, ErrorKind::DeniedPattern, "all of it is denied");
    }
}

#[test]
fn rules_deny_and_ask_about_single_files_of_a_call() {
    let rule = |action, pattern: &str| {
        let mut rule = RuleSpec::new("*", action);
        rule.reads = Some(vec![pattern.to_owned()]);
        rule
    };
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let rules = Rules {
        layers: vec![LayerSpec::new(
            "user",
            LayerTrust::Trusted,
            vec![
                rule(Action::Deny, "private/**"),
                rule(Action::Ask, "asked/**"),
            ],
        )],
        ..Rules::default()
    };
    let journal = std::sync::Arc::new(MemoryJournal::new());
    let ws = Workspace::ruled(registry.into(), Settings::default(), journal, rules);
    for file in ["a.txt", "private/p.txt", "asked/q.txt"] {
        ws.put(file, "canary\n");
    }
    for (paths, action, reads) in [
        (
            json!(["a.txt", "private/p.txt"]),
            Action::Allow,
            vec!["a.txt"],
        ),
        (
            json!(["a.txt", "private/p.txt", "asked/q.txt"]),
            Action::Ask,
            vec!["a.txt", "asked/q.txt"],
        ),
        (
            json!(["private/p.txt"]),
            Action::Deny,
            vec!["private/p.txt"],
        ),
    ] {
        let plan = ws.plan("read_many_files", json!({"paths": paths}));
        assert_eq!(plan.decision.action, action, "{paths}");
        assert_eq!(plan.facts.reads, reads);
    }
    let result = ws.call(
        "read_many_files",
        json!({"paths": ["a.txt", "private/p.txt"]}),
    );
    assert_eq!(
        result.content.matches("canary").count(),
        1,
        "{}",
        result.content
    );
    assert!(
        result.content.contains("=== private/p.txt ===\nError:"),
        "{}",
        result.content
    );
}
