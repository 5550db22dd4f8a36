//! Planning a call of any built-in tool has no effect: seen from the system's side.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use program::{Bench, Done, finish};
use serde_json::{Value, json};
use toolgate_tools::{ToolSettings, all};

/// Real arguments for every tool, as a model would give them.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        (
            "apply_patch",
            json!({"patch": "LP1\nF new.txt\nT\nx\n.\nEND\n"}),
        ),
        ("command_output", json!({"handle": "cmd_1"})),
        (
            "edit_file",
            json!({"path": "a.txt", "edits": [{"target": "old", "replacement": "new"}]}),
        ),
        ("glob", json!({"pattern": "**/*.txt"})),
        ("grep", json!({"pattern": "old"})),
        ("list_directory", json!({"path": ".", "recursive": true})),
        ("memory", json!({"action": "set", "key": "k", "value": "v"})),
        ("read_file", json!({"path": "a.txt"})),
        ("read_many_files", json!({"paths": ["a.txt", "deep/b.txt"]})),
        ("read_output", json!({"handle": "out_1"})),
        ("run_command", json!({"command": "touch made && rm a.txt"})),
        ("sanitize", json!({"text": "\u{1b}[31mred"})),
        ("stop_command", json!({"handle": "cmd_1"})),
        ("web_fetch", json!({"url": "https://example.com/page"})),
        ("web_search", json!({"query": "toolgate"})),
        (
            "write_file",
            json!({"path": "deeper/new.txt", "content": "x"}),
        ),
        (
            "write_file",
            json!({"path": "a.txt", "content": "new\n", "overwrite": true}),
        ),
        ("write_todos", json!({"action": "add", "task": "t"})),
    ]
}

/// Everything in a directory: names, and what files hold.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path.clone());
            }
            let content = std::fs::read(&path).ok();
            found.insert(path, content);
        }
    }
    found
}

/// Runs the program under `strace`; what it came to, and the system calls that change a file
/// or reach for the network.
fn traced(bench: &Bench, args: &[&str]) -> (Done, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = bench.command(Path::new("strace"));
    command.args(["-f", "-qqq", "-e", "trace=%file,%network,fchmod,fchown"]);
    command.arg("-o").arg(&log);
    command.arg(env!("CARGO_BIN_EXE_toolgate")).args(args);
    let done = finish(command, b"");
    let log = std::fs::read_to_string(&log).expect("strace is there");
    assert!(log.contains("openat"), "strace saw nothing: {done:?}");
    let effects = log.lines().filter(|line| is_effect(line));
    (done, effects.map(str::to_owned).collect())
}

/// Whether a line of `strace` is about more than looking.
fn is_effect(line: &str) -> bool {
    let called = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let name = called.split('(').next().unwrap_or_default();
    match name {
        "open" | "openat" | "openat2" => {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"];
            writes.iter().any(|flag| called.contains(flag)) && !called.contains("\"/dev/null\"")
        }
        // Nobody reaches a network without a socket; a pair of them leads nowhere else.
        "getsockname" | "getsockopt" | "recvfrom" | "recvmsg" | "sendmsg" | "setsockopt"
        | "shutdown" | "socketpair" => false,
        "access" | "faccessat" | "faccessat2" | "chdir" | "execve" | "getcwd" | "lstat"
        | "newfstatat" | "readlink" | "readlinkat" | "stat" | "statfs" | "statx" | "getxattr"
        | "lgetxattr" => false,
        // Not the rest of a line that another thread interrupted, nor a signal or an end.
        _ => name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
    }
}

/// Whether a line is about a mount that is attached nowhere, or the ids of a child.
fn is_trial_mount(line: &str) -> bool {
    let of_child = ["uid_map\"", "gid_map\"", "setgroups\""];
    (line.contains(" openat(AT_FDCWD, \"/proc/") && of_child.iter().any(|end| line.contains(end)))
        || (line.contains(" open_tree(") && line.contains("OPEN_TREE_CLONE"))
        || (line.contains(" mount_setattr(") && line.contains(", \"\", AT_EMPTY_PATH"))
}

#[test]
fn planning_any_built_in_tool_changes_no_file_and_reaches_for_no_network() {
    let config =
        "search.searxng.url = \"http://127.0.0.1:9\"\n[tools.sandbox]\ncommand_sandbox = \"off\"\n";
    let mut planned = Vec::new();
    for (tool, args) in calls() {
        let bench = Bench::new();
        bench.home("config.toml", config);
        bench.write("a.txt", "old\n");
        std::fs::create_dir(bench.workspace().join("deep")).unwrap();
        bench.write("deep/b.txt", "old too\n");
        let sandbox = bench.home_directory().join("sandbox");
        let everything = || {
            let home = contents(&bench.home_directory()).into_iter();
            let kept = home.filter(|(path, _)| !path.starts_with(&sandbox));
            (contents(&bench.workspace()), kept.collect::<Vec<_>>())
        };
        let before = everything();
        let (done, mut effects) = traced(&bench, &["policy", "explain", tool, &args.to_string()]);
        // Before a command is planned the program finds out how commands run here, and keeps
        // what it needs for that in a directory of its own. That is no part of the plan.
        if tool == "run_command" {
            effects.retain(|line| !line.contains(&format!("\"{}", sandbox.display())));
            // Whether the system can be shown without owners is tried on mounts that are
            // attached nowhere, in a user namespace of a child.
            effects.retain(|line| !is_trial_mount(line));
        }
        assert_eq!(effects, Vec::<String>::new(), "{tool} {args}");
        let page: Value = serde_json::from_str(&done.stdout).unwrap();
        let kind = page.get("kind").and_then(Value::as_str);
        assert_eq!(kind, None, "{tool} is planned: {page}");
        assert_ne!(page["summary"], "", "{tool} is planned: {page}");
        assert_eq!(everything(), before, "{tool} {args}");
        planned.push(tool);
    }
    for tool in all(&ToolSettings::default()) {
        let name = &tool.spec().name;
        assert!(planned.contains(&name.as_str()), "{name} is not planned");
    }
}

#[test]
fn a_call_that_runs_is_seen_to_change_files_and_to_reach_for_the_network() {
    for (tool, args, seen) in [
        (
            "write_file",
            json!({"path": "new.txt", "content": "x"}),
            "rename",
        ),
        (
            "web_fetch",
            json!({"url": "http://127.0.0.1:9/"}),
            "connect(",
        ),
    ] {
        let bench = Bench::new();
        bench.home(
            "config.toml",
            "[tools.web_fetch]\nprivate_hosts = [\"127.0.0.1:9\"]\n",
        );
        let args = args.to_string();
        let (_, effects) = traced(&bench, &["--approve", "all", "exec", tool, &args]);
        let found = effects.iter().any(|line| line.contains(seen));
        assert!(found, "{tool}: {effects:#?}");
    }
}
