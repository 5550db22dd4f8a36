//! Files that change between question, approval and run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolgate_gate::approve::Answer;
use toolgate_gate::middleware::Middleware;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Facts;
use toolgate_model::{Action, ErrorKind};
use toolgate_policy::RuleSpec;
use toolgate_testkit::{
    Act, Bench, Rig, Scripted, ScriptedApprover, Workspace, asking, call, paused,
};

fn editing(before: &str, after: &str) -> Bench {
    let write = Act::Write {
        path: "a.txt".into(),
        content: after.into(),
    };
    Rig::new()
        .workspace(Workspace::new().file("a.txt", before))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .facts(Facts::writing("a.txt"))
                .does(write),
        )
        .build()
}

#[test]
fn a_file_that_changes_during_the_question_needs_approval_again() {
    paused(async {
        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver =
            ScriptedApprover::new([Answer::yes(), Answer::yes()]).before(move |request| {
                if request.items[0].preview.as_deref() == Some("one") {
                    std::fs::write(&path, "two").unwrap();
                }
            });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), None, "{}", results[0].content);
        let asked = approver.asked();
        let shown: Vec<_> = asked
            .iter()
            .map(|request| request.items[0].preview.clone().unwrap())
            .collect();
        assert_eq!(shown, ["one", "two"]);
        assert_ne!(asked[0].id, asked[1].id, "two questions never share an id");
        assert_ne!(asked[0].items[0].plan_hash, asked[1].items[0].plan_hash);
        assert_eq!(bench.workspace.read("a.txt").as_deref(), Some("done"));
        assert_eq!(
            bench.journal.of("1"),
            [
                "received", "planned", "asked", "answered", "planned", "asked", "answered",
                "started", "finished"
            ]
        );
    });
}

#[test]
fn preconditions_that_keep_changing_end_after_three_questions() {
    paused(async {
        let bench = editing("0", "done");
        let path = bench.workspace.path().join("a.txt");
        let turn = std::sync::atomic::AtomicUsize::new(1);
        let approver = ScriptedApprover::new(vec![Answer::yes(); 5]).before(move |_| {
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::fs::write(&path, turn.to_string()).unwrap();
        });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::StaleFile));
        assert_eq!(approver.asked().len(), 3);
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("3"),
            "nothing was run"
        );
    });
}

#[test]
fn only_changed_calls_need_approval_again_and_a_second_no_counts() {
    paused(async {
        let bench = Rig::new()
            .workspace(Workspace::new().file("a.txt", "one"))
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .tool(Scripted::new("other").side_effects())
            .build();
        let path = bench.workspace.path().join("a.txt");
        let approver = ScriptedApprover::new([Answer::yes(), Answer::no()])
            .before(move |_| std::fs::write(&path, "two").unwrap());
        let calls = vec![call("1", "edit", json!({})), call("2", "other", json!({}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(results[1].kind(), None);
        assert_eq!(approver.asked()[1].items.len(), 1);
    });
}

#[test]
fn a_changed_call_is_decided_by_the_policy_of_that_moment() {
    paused(async {
        // The tool is gone when the plan is made again.
        let bench = editing("one", "done");
        let (path, registry) = (
            bench.workspace.path().join("a.txt"),
            Arc::clone(&bench.registry),
        );
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::write(&path, "two").unwrap();
            registry.unregister("edit").unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UnknownTool));

        // It needs no yes any more.
        let bench = editing("one", "done");
        let (path, registry) = (
            bench.workspace.path().join("a.txt"),
            Arc::clone(&bench.registry),
        );
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::write(&path, "two").unwrap();
            registry
                .replace(Scripted::new("edit").gives("harmless now").into())
                .unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(results[0].content, "harmless now");
    });
}

struct ChangesBeforeRun(std::path::PathBuf, &'static str);

impl ChangesBeforeRun {
    /// Writes when the first call of the batch has run.
    fn act(&self) {
        std::fs::write(&self.0, self.1).unwrap();
    }
}

impl Middleware for ChangesBeforeRun {
    fn name(&self) -> &str {
        "changes"
    }

    fn after(
        &self,
        ended: &toolgate_gate::middleware::Ended<'_>,
        result: toolgate_model::ToolResult,
    ) -> toolgate_model::ToolResult {
        if ended.plan.is_some_and(|plan| plan.tool == "first") {
            self.act();
        }
        result
    }
}

fn between(change: &'static str) -> Bench {
    let workspace = Workspace::new().file("a.txt", "shown");
    let changes = ChangesBeforeRun(workspace.path().join("a.txt"), change);
    let write = |content: &str| Act::Write {
        path: "a.txt".into(),
        content: content.into(),
    };
    Rig::new()
        .workspace(workspace)
        .middleware(Arc::new(changes))
        .tool(Scripted::new("first"))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .does(write("edited")),
        )
        .tool(
            Scripted::new("again")
                .side_effects()
                .shows("a.txt")
                .does(write("edited again")),
        )
        .build()
}

#[test]
fn a_file_that_changes_between_approval_and_run_is_stale() {
    paused(async {
        let bench = between("somebody else");
        let calls = vec![call("1", "first", json!({})), call("2", "edit", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(
            results[1].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            results[1].content
        );
        assert!(
            results[1].content.contains("a.txt"),
            "{}",
            results[1].content
        );
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("somebody else")
        );
    });
}

#[test]
fn toolgates_own_write_in_the_batch_does_not_invalidate() {
    paused(async {
        let bench = between("never");
        let calls = vec![call("1", "edit", json!({})), call("2", "again", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(results[1].kind(), None, "{}", results[1].content);
        assert_eq!(
            bench.workspace.read("a.txt").as_deref(),
            Some("edited again")
        );
    });
}

#[test]
fn an_own_write_from_before_the_question_does_not_count() {
    paused(async {
        // Toolgate wrote "edited" once; another program then wrote "shown", which the question
        // showed, and while the batch runs the file goes back to "edited".
        let bench = between("edited");
        bench
            .run_asked(vec![call("0", "edit", json!({}))], Answer::yes())
            .await;
        assert_eq!(bench.workspace.read("a.txt").as_deref(), Some("edited"));
        bench.workspace.write("a.txt", "shown");
        let calls = vec![call("1", "first", json!({})), call("2", "again", json!({}))];
        let results = bench.run_asked(calls, Answer::yes()).await;
        assert_eq!(
            results[1].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            results[1].content
        );
    });
}

#[test]
fn a_missing_or_unreadable_file_is_no_precondition() {
    paused(async {
        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver =
            ScriptedApprover::new([Answer::yes(), Answer::no()]).before(move |request| {
                if request.items[0].preview.as_deref() == Some("one") {
                    std::fs::remove_file(&path).unwrap();
                }
            });
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(approver.asked().len(), 2);

        let bench = editing("one", "done");
        let path = bench.workspace.path().join("a.txt");
        let approver = ScriptedApprover::new([Answer::yes()]).before(move |_| {
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
        });
        let results = bench
            .run_through(vec![call("1", "edit", json!({}))], &asking(approver))
            .await;
        assert_eq!(
            results[0].kind(),
            Some(ErrorKind::NotAFile),
            "{}",
            results[0].content
        );
    });
}

#[test]
fn a_file_that_changes_while_a_call_waits_for_its_paths_is_stale() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    paused(async {
        let workspace = Workspace::new().file("a.txt", "shown");
        let path = workspace.path().join("a.txt");
        let holds = toolgate_gate::tool::typed(
            "holds",
            "Changes the file at last.",
            move |_: Nothing, _| {
                let path = path.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    std::fs::write(path, "changed").unwrap();
                    Ok(toolgate_gate::tool::Output::plain("changed"))
                }
            },
        )
        .facts(|_| Facts::writing("a.txt"))
        .side_effects();
        let edit = Scripted::new("edit")
            .side_effects()
            .shows("a.txt")
            .facts(Facts::writing("a.txt"));
        let ran = edit.ran();
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Arc::new(holds) as Arc<dyn toolgate_gate::tool::Tool>)
            .tool(edit)
            .rule(RuleSpec::new("holds", Action::Allow))
            .build();
        let other = Arc::new(Session::new("other"));
        let passage = asking(ScriptedApprover::new([Answer::yes()]));
        let (first, second) = futures::join!(
            bench.run(vec![call("1", "holds", json!({}))]),
            bench
                .gate
                .run(&other, vec![call("1", "edit", json!({}))], &passage),
        );
        assert_eq!(first[0].kind(), None);
        assert_eq!(
            second[0].kind(),
            Some(ErrorKind::StaleFile),
            "{}",
            second[0].content
        );
        assert_eq!(ran.get(), 0);
    });
}
