//! The sandbox refuses on its own, whatever the rules say.

use serde_json::json;
use toolgate_model::{Action, ErrorKind, Facts, Run, Status};
use toolgate_testkit::{
    Rig, Scripted, ScriptedApprover, Workspace, asking, call, paused, states_facts,
};

use crate::fixture::{autonomous, planned, shell_tool};

#[test]
fn a_link_to_instructions_needs_approval_like_instructions() {
    paused(async {
        let workspace = toolgate_testkit::Workspace::new();
        workspace.write("AGENTS.md", "be kind\n");
        workspace.write("plain.txt", "plain\n");
        for (link, to) in [("notes.txt", "AGENTS.md"), ("same.txt", "plain.txt")] {
            std::os::unix::fs::symlink(to, workspace.path().join(link)).unwrap();
        }
        let bench = Rig::new()
            .workspace(workspace)
            .tool(states_facts("touch").side_effects())
            .without_rules()
            .build();
        for (path, kind) in [
            ("AGENTS.md", Some(ErrorKind::NoApprover)),
            ("notes.txt", Some(ErrorKind::NoApprover)),
            ("same.txt", None),
            ("new/CLAUDE.md", Some(ErrorKind::NoApprover)),
            ("new/README.md", None),
        ] {
            let result = bench.one("touch", json!({"writes": [path]})).await;
            assert_eq!(result.kind(), kind, "{path}");
        }
    });
}

#[test]
fn a_command_without_a_sandbox_is_refused_with_the_reason() {
    paused(async {
        let bench = Rig::new().tool(shell_tool("cargo test")).build();
        let result = bench.one("run_command", json!({})).await;
        assert_eq!(result.kind(), Some(ErrorKind::SandboxUnavailable));
    });
}

#[test]
fn t_sbx_01_reject_traversal() {
    paused(async {
        let bench = autonomous(Rig::new().tool(states_facts("touch")));
        for path in ["../secret", "a/../../b", "..", "a/../b"] {
            let result = bench.one("touch", json!({"reads": [path]})).await;
            assert_eq!(
                result.status(),
                Status::Denied,
                "{path}: {}",
                result.content
            );
        }
    });
}

#[test]
fn t_sbx_02_reject_absolute_paths_when_disallowed() {
    paused(async {
        let workspace = Workspace::new().file("here.txt", "x");
        let inside = workspace
            .path()
            .join("here.txt")
            .to_string_lossy()
            .into_owned();
        let bench = autonomous(Rig::new().workspace(workspace).tool(states_facts("touch")));
        // The key governs what lies elsewhere; what leads into a root is its relative path.
        for (path, kind) in [
            ("/etc/passwd", Some(ErrorKind::OutsideSandbox)),
            (inside.as_str(), None),
        ] {
            let result = bench.one("touch", json!({"reads": [path]})).await;
            assert_eq!(result.kind(), kind, "{path}");
        }
        let allowing = Workspace::with(|rules| rules.allow_absolute = true).file("here.txt", "x");
        let inside = allowing
            .path()
            .join("here.txt")
            .to_string_lossy()
            .into_owned();
        let bench = autonomous(Rig::new().workspace(allowing).tool(states_facts("touch")));
        assert_eq!(
            bench.one("touch", json!({"reads": [inside]})).await.kind(),
            None
        );
    });
}

#[test]
fn t_sbx_03_denied_patterns_are_matched_on_the_resolved_path() {
    paused(async {
        let workspace = Workspace::new().file(".env", "KEY=1").file("real.txt", "x");
        std::os::unix::fs::symlink(".env", workspace.path().join("innocent.txt")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", workspace.path().join("out.txt")).unwrap();
        let bench = autonomous(Rig::new().workspace(workspace).tool(states_facts("touch")));
        for (path, kind) in [
            ("innocent.txt", Some(ErrorKind::DeniedPattern)),
            ("out.txt", Some(ErrorKind::OutsideSandbox)),
            ("real.txt", None),
        ] {
            assert_eq!(
                bench.one("touch", json!({"reads": [path]})).await.kind(),
                kind,
                "{path}"
            );
        }
    });
}

#[test]
fn the_sandbox_refuses_before_any_question() {
    paused(async {
        let approver = ScriptedApprover::new([toolgate_gate::approve::Answer::yes()]);
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .build();
        let calls = vec![call("1", "touch", json!({"writes": ["../x"]}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].status(), Status::Denied);
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn claims_of_a_command_are_not_checked_by_the_path_sandbox() {
    paused(async {
        let facts = Facts {
            reads: vec!["../elsewhere".into()],
            runs: vec![Run {
                words: vec!["ls".into(), "../elsewhere".into()],
                opaque: false,
            }],
            claimed: true,
            ..Facts::none()
        };
        let bench = Rig::new()
            .tool(Scripted::new("run_command").side_effects().facts(facts))
            .settings(|settings| settings.command_sandbox = true)
            .build();
        assert_eq!(
            planned(&bench, "run_command", json!({})).await.0,
            Action::Ask
        );
    });
}

#[test]
fn a_missing_file_is_reported_by_the_tool() {
    paused(async {
        let bench = autonomous(Rig::new().tool(states_facts("touch")));
        assert_eq!(
            bench
                .one("touch", json!({"reads": ["not/there"]}))
                .await
                .kind(),
            None
        );
    });
}
