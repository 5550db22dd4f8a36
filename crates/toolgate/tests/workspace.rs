//! A workspace: what it allows, refuses and records.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]
#![cfg(all(feature = "sandbox", feature = "sqlite", feature = "tools"))]

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate::approve::{ApprovalAnswer, ApprovalRequest, ApproveAll, Approver, Unanswered};
use toolgate::call::ErrorKind;
use toolgate::journal::{MemoryJournal, SqliteJournal, SqliteOptions};
use toolgate::policy::{Action, RuleSpec};
use toolgate::tool::{Output, typed};
use toolgate::{BatchContext, BoxFuture, Call, Rules, ToolResult, Workspace, WorkspaceError};

async fn run(workspace: &Workspace, tool: &str, args: Value, passage: &BatchContext) -> ToolResult {
    let session = workspace.session("c");
    let calls = vec![Call::new("1", tool, args)];
    let mut results = workspace.gate().run(&session, calls, passage).await;
    assert_eq!(results.len(), 1);
    results.remove(0)
}

/// Fails instead of answering.
struct Broken;

impl Approver for Broken {
    fn ask<'a>(
        &'a self,
        _: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalAnswer, Unanswered>> {
        Box::pin(async { std::panic::resume_unwind(Box::new("broken")) })
    }
}

#[tokio::test]
async fn an_approver_that_fails_is_said_to_have_failed() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let write = json!({"path": "a.txt", "content": "x"});
    let asking = BatchContext::asking(Arc::new(Broken));
    let result = run(&workspace, "write_file", write, &asking).await;
    assert_eq!(
        result.error.as_ref().map(|error| error.kind),
        Some(ErrorKind::NoApprover)
    );
    assert!(
        result.content.contains("asking for it failed"),
        "{result:?}"
    );
    assert!(!directory.path().join("a.txt").exists());
}

#[test]
fn a_rule_that_denies_in_vain_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let word = |word: &str| RuleSpec::new("run_command", Action::Deny).with_command([word]);
    for (rule, says) in [
        (
            RuleSpec::new("run_comand", Action::Deny),
            "`run_command` is the nearest name",
        ),
        (word("git push"), r#"write ["git","push"]"#),
    ] {
        let opened = Workspace::builder(directory.path(), Rules::user(vec![rule])).open();
        let error = opened.unwrap_err();
        assert!(matches!(error, WorkspaceError::Rule(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let rules = vec![RuleSpec::new("later", Action::Deny), word("git")];
    let builder = Workspace::builder(directory.path(), Rules::user(rules));
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let later = typed("later", "Comes with the program.", |_: Nothing, _| async {
        Ok(Output::plain("done"))
    });
    assert!(builder.tool(later).open().is_ok());
}

#[test]
fn a_program_that_never_called_init_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let why = workspace.command_sandbox().unwrap_err();
    assert!(why.contains("toolgate::sandbox::init()"), "{why}");
}

#[tokio::test]
async fn the_default_rules_ask_before_side_effects() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let write = json!({"path": "a.txt", "content": "x"});
    for (tool, args, passage, kind) in [
        (
            "glob",
            json!({"pattern": "*"}),
            BatchContext::default(),
            None,
        ),
        (
            "write_file",
            write.clone(),
            BatchContext::default(),
            Some(ErrorKind::NoApprover),
        ),
        ("write_file", write, BatchContext::asking(ApproveAll), None),
        (
            "read_file",
            json!({"path": "../outside"}),
            BatchContext::asking(ApproveAll),
            Some(ErrorKind::OutsideSandbox),
        ),
        // This program never called `init`.
        (
            "run_command",
            json!({"command": "true"}),
            BatchContext::asking(ApproveAll),
            Some(ErrorKind::SandboxUnavailable),
        ),
    ] {
        let result = run(&workspace, tool, args, &passage).await;
        assert_eq!(result.kind(), kind, "{tool}: {}", result.content);
    }
}

#[tokio::test]
async fn rules_path_rules_and_tools_of_ones_own_count() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("prices.csv"), "1\n").unwrap();
    let rule = RuleSpec::new("now", Action::Deny).with_message("Look at the sun.");
    let now = typed("now", "Tells the time.", |_: Nothing, _cx| async {
        Ok(Output::plain("noon"))
    });
    let workspace = Workspace::builder(directory.path(), Rules::user(vec![rule]))
        .tool(now)
        .path_rules(|rules| rules.deny("*.csv"))
        .open()
        .unwrap();
    let denied = run(&workspace, "now", json!({}), &BatchContext::default()).await;
    assert!(
        denied.content.contains("Look at the sun."),
        "{}",
        denied.content
    );
    let csv = json!({"path": "prices.csv"});
    let hidden = run(&workspace, "read_file", csv, &BatchContext::default()).await;
    assert!(hidden.error.is_some() && !hidden.content.contains('1'));

    let bare = Workspace::builder(directory.path(), Rules::default()).without_builtin_tools();
    assert!(bare.open().unwrap().registry().list().is_empty());
}

#[tokio::test]
async fn what_happens_is_in_the_journal() {
    let (directory, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = MemoryJournal::new();
    let file = home.path().join("journal.sqlite");
    let sqlite = SqliteJournal::open(&file, SqliteOptions::default()).unwrap();
    let journals: [Arc<dyn toolgate::journal::Journal>; 2] =
        [Arc::new(memory.clone()), Arc::new(sqlite)];
    for journal in journals {
        let workspace = Workspace::builder(directory.path(), Rules::default())
            .journal(journal)
            .open()
            .unwrap();
        let args = json!({"pattern": "*"});
        let result = run(&workspace, "glob", args, &BatchContext::default()).await;
        assert!(result.error.is_none(), "{}", result.content);
    }
    let entries = memory.entries();
    assert_eq!(entries.last().unwrap().record.kind(), "finished");
    assert!(file.exists());
}

#[test]
fn a_workspace_that_cannot_be_made_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = Workspace::open(directory.path().join("missing"));
    assert!(matches!(missing, Err(WorkspaceError::Paths(_))));
    let broken = RuleSpec::new("*", Action::Deny).with_writes(Vec::<String>::new());
    let broken = Workspace::builder(directory.path(), Rules::user(vec![broken])).open();
    assert!(matches!(broken, Err(WorkspaceError::Gate(_))));
    let read_file = typed("read_file", "Another one.", |_: (), _cx| async {
        Ok(Output::plain(""))
    });
    let taken = Workspace::builder(directory.path(), Rules::default()).tool(read_file);
    assert!(matches!(taken.open(), Err(WorkspaceError::Registry(_))));
}
