//! Which of the configured timeouts reaches which tool.

use std::time::Duration;

use serde_json::json;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::session::Session;
use toolgate_gate::tool::Facts;
use toolgate_model::{Category, ErrorKind};
use toolgate_testkit::{Act, Blocking, Release, Rig, Scripted, Workspace, asking, call};
use toolgate_tools::{ToolSettings, all};

#[test]
fn every_tool_says_what_it_is_about() {
    let tools = all(&ToolSettings::default());
    let mut said: Vec<(&str, Category)> = tools
        .iter()
        .map(|tool| (tool.spec().name.as_str(), tool.spec().category))
        .collect();
    said.sort_by_key(|(name, _)| *name);
    assert_eq!(
        said,
        [
            ("apply_patch", Category::File),
            ("command_output", Category::Exec),
            ("edit_file", Category::File),
            ("glob", Category::File),
            ("grep", Category::File),
            ("list_directory", Category::File),
            ("memory", Category::Other),
            ("read_file", Category::File),
            ("read_many_files", Category::File),
            ("read_output", Category::Other),
            ("run_command", Category::Exec),
            ("sanitize", Category::Other),
            ("stop_command", Category::Exec),
            ("web_fetch", Category::Web),
            ("web_search", Category::Search),
            ("write_file", Category::File),
            ("write_todos", Category::Other),
        ]
    );
}

/// A tool that was given up on keeps the files: another one waits for it as long as it may run.
#[test]
fn cfg_tmo_01a_every_tool_that_works_on_files_has_the_time_of_file_operations() {
    let limit = Duration::from_millis(70);
    let mut tried = Vec::new();
    for (tool, args) in [
        ("read_file", json!({"path": "a.txt"})),
        ("read_many_files", json!({"paths": ["a.txt"]})),
        ("write_file", json!({"path": "new.txt", "content": "x"})),
        (
            "edit_file",
            json!({"path": "a.txt", "edits": [{"target": "old", "replacement": "new"}]}),
        ),
        (
            "apply_patch",
            json!({"patch": "LP1\nF new.txt\nT\nx\n.\nEND\n"}),
        ),
        ("list_directory", json!({})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "old"})),
    ] {
        let release = Release::default();
        let stuck = Scripted::new("stuck")
            .does(Act::Block(Blocking::AThread, release.clone()))
            .facts(Facts::writing("."))
            .call_timeout(Duration::from_millis(10));
        let mut rig = Rig::new()
            .workspace(Workspace::new().file("a.txt", "old\n"))
            .session(Session::new("test").without_staleness())
            .tool(stuck)
            .settings(|settings| settings.timeouts.file = limit);
        for tool in all(&ToolSettings::default()) {
            rig = rig.tool(tool);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let _let_go = release.at_end();
            let bench = rig.build();
            let passage = asking(ApproveAll);
            let stuck = vec![call("1", "stuck", json!({}))];
            let given_up = bench.run_through(stuck, &passage).await.remove(0);
            assert_eq!(given_up.metadata["still_running"], true, "{given_up:?}");
            let calls = vec![call("2", tool, args)];
            let result = bench.run_through(calls, &passage).await.remove(0);
            let kind = result.kind();
            assert_eq!(kind, Some(ErrorKind::Timeout), "{tool}: {result:?}");
            assert!(result.content.contains("waited 70 ms"), "{result:?}");
        });
        tried.push(tool);
    }
    let tools = all(&ToolSettings::default());
    let specs = tools.iter().map(|tool| tool.spec());
    for spec in specs.filter(|spec| spec.category == Category::File) {
        assert!(tried.contains(&spec.name.as_str()), "{}", spec.name);
    }
}
