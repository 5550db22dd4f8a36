//! Names, arguments and files of other agents, through the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::time::{Duration, Instant};

use program::Bench;
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Sent, Told};

/// Runs calls as one conversation; their results.
fn batch(bench: &Bench, calls: &[(&str, Value)]) -> Vec<Value> {
    let lines = calls.iter().map(|(name, args)| {
        let call = json!({"name": name, "args": args});
        format!("{call}\n")
    });
    let input: String = lines.collect();
    let done = bench.feed(&["batch", "--approve", "all"], input.as_bytes());
    let results = done.stdout.lines();
    let results: Vec<Value> = results
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(results.len(), calls.len(), "{done:?}");
    results
}

#[test]
fn tools_work_under_the_names_and_arguments_of_other_agents() {
    let bench = Bench::new();
    bench.write("old.txt", "one\ntwo\nthree\n");
    bench.write("many.txt", "one\nthree\n");
    let absolute = |name: &str| bench.workspace().join(name).display().to_string();
    let done = bench.run(&["--json", "config", "show"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let rows = [
        (
            "Read",
            json!({"file_path": absolute("old.txt"), "offset": 2, "limit": 1}),
            "read_file",
            "two",
        ),
        (
            "Read",
            json!({"file_path": "old.txt"}),
            "read_file",
            "three",
        ),
        (
            "Edit",
            json!({"file_path": absolute("old.txt"), "old_string": "two", "new_string": "2"}),
            "edit_file",
            "2",
        ),
        (
            "Read",
            json!({"file_path": "many.txt"}),
            "read_file",
            "three",
        ),
        (
            "MultiEdit",
            json!({"file_path": "many.txt", "edits": [{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3", "replace_all": true}]}),
            "edit_file",
            "1",
        ),
        (
            "Write",
            json!({"file_path": absolute("new.txt"), "content": "first\n"}),
            "write_file",
            "new.txt",
        ),
        (
            "Write",
            json!({"file_path": "new.txt", "content": "second\n"}),
            "write_file",
            "new.txt",
        ),
        ("Glob", json!({"pattern": "*.txt"}), "glob", "new.txt"),
        (
            "Grep",
            json!({"pattern": "second", "output_mode": "files_with_matches"}),
            "grep",
            "new.txt",
        ),
        (
            "Grep",
            json!({"pattern": "[0-9]", "output_mode": "count", "glob": "old.*", "head_limit": 5}),
            "grep",
            "old.txt: 1",
        ),
        (
            "Grep",
            json!({"pattern": "2", "output_mode": "content", "-A": 1, "-n": true}),
            "grep",
            "old.txt-3- three",
        ),
        (
            "LS",
            json!({"path": absolute(".")}),
            "list_directory",
            "new.txt",
        ),
        (
            "Bash",
            json!({"command": "echo from the shell", "description": "says it", "timeout": 20_000}),
            "run_command",
            "from the shell",
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a task", "status": "pending", "activeForm": "Doing it"}]}),
            "write_todos",
            "a task",
        ),
    ];
    let calls: Vec<(&str, Value)> = rows
        .iter()
        .map(|(name, args, ..)| (*name, args.clone()))
        .collect();
    let results = batch(&bench, &calls);
    for ((name, args, tool, part), result) in rows.iter().zip(&results) {
        assert_eq!(result["status"], "ok", "{name} {args}: {result}");
        assert_eq!(result["tool"], *tool, "{name}");
        let content = format!("{}{}", result["content"], result["display"]);
        assert!(content.contains(part), "{name} {args}: {result}");
    }
    assert_eq!(bench.read("old.txt"), "one\n2\nthree\n");
    assert_eq!(bench.read("many.txt"), "1\n3\n");
    assert_eq!(bench.read("new.txt"), "second\n");
}

#[test]
fn a_rule_about_a_tool_counts_under_every_name_of_it() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[[tools.rules]]\ntool = \"Write\"\naction = \"deny\"\n",
    );
    for name in ["Write", "write_file", "file_write"] {
        let results = batch(&bench, &[(name, json!({"path": "a", "content": "x"}))]);
        assert_eq!(results[0]["status"], "denied", "{name}: {results:?}");
    }
    assert!(bench.listing().is_empty());
}

/// What a model is told first, in a workspace with these files.
fn told(files: &[(&str, &str)]) -> String {
    let server = Loopback::start(|_| {
        let mut script = Script::from_toml("[[steps]]\ntext = \"hi\"\n").unwrap();
        let step = script.steps.remove(0);
        Told::new(200, "text/event-stream", step.render(Wire::OpenAiChat))
    });
    let bench = Bench::new();
    for (name, text) in files {
        bench.write(name, text);
    }
    let url = server.url();
    bench.home(
        "config.toml",
        &format!(
            "[providers.local]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{url}/v1\"\n"
        ),
    );
    let done = bench.run(&["run", "x"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let body = server.heard()[0].json();
    body["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn instructions_of_a_project_are_told_as_the_projects_own_and_within_a_bound() {
    let (agents, claude, gemini) = (
        ("AGENTS.md", "Use tabs in AGENTS.\n"),
        ("CLAUDE.md", "Use tabs in CLAUDE.\n"),
        ("GEMINI.md", "Use tabs in GEMINI.\n"),
    );
    for (files, is_told, is_not) in [
        (
            &[agents, claude, gemini][..],
            "in AGENTS",
            &["in CLAUDE", "in GEMINI"][..],
        ),
        (&[claude, gemini], "in CLAUDE", &["in GEMINI"]),
        (&[gemini], "in GEMINI", &[]),
    ] {
        let system = told(files);
        let (before, _) = system
            .split_once(is_told)
            .unwrap_or_else(|| panic!("{system}"));
        assert!(
            before.contains(files[0].0),
            "it is said whose words these are: {system}"
        );
        for part in is_not {
            assert!(!system.contains(part), "{system}");
        }
    }
    assert!(!told(&[]).contains("AGENTS.md"));
    let long = format!(
        "begins here\n{}ends here\n",
        "a line of it\n".repeat(20_000)
    );
    let system = told(&[("AGENTS.md", &long)]);
    assert!(system.contains("begins here") && !system.contains("ends here"));
}

#[test]
fn web_tools_end_at_the_configured_seconds() {
    let silent = Loopback::start(|_| Told::new(200, "text/html", "").sent(Sent::Hangs(Vec::new())));
    let bench = Bench::new();
    let host = silent.url().replace("http://", "");
    let (address, _) = host.split_once(':').unwrap();
    bench.home(
        "config.toml",
        &format!(
            "search.searxng.url = \"{}\"\n[tools.timeouts]\ndefault_seconds = 2\n[tools.web_fetch]\nprivate_hosts = [\"{address}\"]\n",
            silent.url()
        ),
    );
    let url = format!("{}/page", silent.url());
    for (tool, args) in [
        ("web_fetch", json!({"url": url})),
        ("web_search", json!({"query": "q"})),
    ] {
        let began = Instant::now();
        let done = bench.run(&["--approve", "all", "exec", tool, &args.to_string()]);
        let result: Value = serde_json::from_str(&done.stdout).unwrap();
        assert!(
            matches!(
                result["error"]["kind"].as_str(),
                Some("timeout" | "idle_timeout" | "network")
            ),
            "{done:?}"
        );
        // Without the setting it is 30 seconds.
        assert!(
            began.elapsed() < Duration::from_secs(25),
            "{tool}: {:?}",
            began.elapsed()
        );
        assert!(
            began.elapsed() >= Duration::from_secs(1),
            "{tool}: {done:?}"
        );
    }
    assert_eq!(silent.heard().len(), 2);
}
