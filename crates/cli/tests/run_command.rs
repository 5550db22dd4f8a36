//! Commands as a model runs them: results, ends, handles, grants.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::Bench;
use serde_json::{Value, json};

fn exec(bench: &Bench, tool: &str, args: Value) -> (Value, Option<i32>) {
    let done = bench.run(&["--approve", "all", "exec", tool, &args.to_string()]);
    let result = serde_json::from_str(&done.stdout);
    (
        result.unwrap_or_else(|error| panic!("{error}: {done:?}")),
        done.code,
    )
}

fn batch(bench: &Bench, calls: &[(&str, Value)]) -> Vec<Value> {
    let lines: Vec<String> = calls
        .iter()
        .map(|(name, args)| json!({"name": name, "args": args}).to_string())
        .collect();
    let done = bench.feed(
        &["--approve", "all", "batch", "--unlimited"],
        lines.join("\n").as_bytes(),
    );
    let results = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let results: Vec<Value> = results.collect();
    assert_eq!(results.len(), calls.len(), "{done:?}");
    results
}

#[test]
fn a_result_holds_output_then_errors_then_the_end() {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace().join("sub")).unwrap();
    for (args, code, kind, content) in [
        (json!({"command": "echo hi"}), 0, Value::Null, "hi\n"),
        (json!({"command": "true"}), 0, Value::Null, ""),
        (
            json!({"command": "printf hi; printf err >&2"}),
            0,
            Value::Null,
            "hi\n\n[stderr]\nerr",
        ),
        (
            json!({"command": "echo hi; echo err >&2"}),
            0,
            Value::Null,
            "hi\n\n[stderr]\nerr\n",
        ),
        (
            json!({"command": "echo err >&2"}),
            0,
            Value::Null,
            "[stderr]\nerr\n",
        ),
        (
            json!({"command": "exit 3"}),
            1,
            json!("exit_status"),
            "[exit code 3]\n",
        ),
        (
            json!({"command": "printf x; exit 1"}),
            1,
            json!("exit_status"),
            "x\n[exit code 1]\n",
        ),
        (
            json!({"command": "kill -9 $$"}),
            1,
            json!("exit_status"),
            "[ended by signal 9 (SIGKILL)]\n",
        ),
        (
            json!({"command": "no-such-program-here; echo done"}),
            0,
            Value::Null,
            "done\n\n[stderr]\n/bin/bash: line 1: no-such-program-here: command not found\n",
        ),
        (
            json!({"command": "printf '\\033[31mred\\033[0m'"}),
            0,
            Value::Null,
            "red",
        ),
        (
            json!({"command": "basename $PWD", "cwd": "sub"}),
            0,
            Value::Null,
            "sub\n",
        ),
        (
            json!({"command": "basename $PWD", "cwd": "./sub/../sub"}),
            0,
            Value::Null,
            "sub\n",
        ),
        (json!({"command": "cat; echo eof"}), 0, Value::Null, "eof\n"),
        (
            json!({"command": "sleep 60", "timeout_ms": 300}),
            1,
            json!("timeout"),
            "[the command timed out after 300 ms and was ended]\n",
        ),
        (
            json!({"command": "echo a; sleep 60", "idle_timeout_seconds": 1}),
            1,
            json!("idle_timeout"),
            "a\n[the command wrote nothing for 1 s and was ended]\n",
        ),
    ] {
        let began = Instant::now();
        let (result, exit) = exec(&bench, "run_command", args.clone());
        assert_eq!(result["content"], content, "{args}: {result}");
        assert_eq!(
            result.pointer("/error/kind").cloned().unwrap_or_default(),
            kind,
            "{args}"
        );
        assert_eq!(exit, Some(code), "{args}");
        assert_eq!(result["tool"], "run_command");
        assert_eq!(
            result["metadata"]["sandbox"], "namespaces+landlock+seccomp",
            "{result}"
        );
        assert!(began.elapsed() < Duration::from_secs(15), "{args}");
    }
    let (result, _) = exec(&bench, "run_command", json!({"command": "exit 7"}));
    assert_eq!(result["metadata"]["exit_code"], 7);
    let (result, _) = exec(&bench, "run_command", json!({"command": "kill -TERM $$"}));
    assert_eq!(result["metadata"]["signal"], 15);
}

#[test]
fn arguments_that_cannot_be_meant_are_refused_before_anything_runs() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("/etc", bench.workspace().join("link")).unwrap();
    bench.write("file.txt", "x");
    for (tool, args, kind) in [
        (
            "run_command",
            json!({"command": "touch ran", "timeout_seconds": 0}),
            "bad_args",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "timeout_ms": -1}),
            "bad_args",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "timeout_seconds": 1, "timeout_ms": 1}),
            "bad_args",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "timeout": 5}),
            "bad_args",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "idle_timeout_seconds": 0}),
            "bad_args",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "timeout_seconds": 1_000_000}),
            "bad_args",
        ),
        ("run_command", json!({"command": ""}), "bad_args"),
        ("run_command", json!({"command": "touch ran\0"}), "bad_args"),
        ("run_command", json!({"cmd": "touch ran"}), "bad_args"),
        (
            "run_command",
            json!({"command": "touch ran", "cwd": ".."}),
            "outside_sandbox",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "cwd": "/etc"}),
            "outside_sandbox",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "cwd": "link"}),
            "outside_sandbox",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "cwd": "missing"}),
            "not_found",
        ),
        (
            "run_command",
            json!({"command": "touch ran", "cwd": "file.txt"}),
            "not_a_directory",
        ),
        (
            "bash",
            json!({"command": "touch ran", "timeout": 0}),
            "bad_args",
        ),
        (
            "shell",
            json!({"command": "touch ran", "timeout": -5}),
            "bad_args",
        ),
        ("command_output", json!({"handle": "cmd_1"}), "not_found"),
        ("stop_command", json!({"handle": "cmd_1"}), "not_found"),
    ] {
        let (result, _) = exec(&bench, tool, args.clone());
        assert_eq!(result["error"]["kind"], kind, "{tool} {args}: {result}");
        assert!(!bench.workspace().join("ran").exists(), "{tool} {args}");
    }
}

#[test]
fn where_a_command_may_not_run_is_told_before_anybody_is_asked() {
    let bench = Bench::new();
    let (inside, outside) = (bench.workspace(), bench.home_directory());
    std::os::unix::fs::symlink(outside, inside.join("out")).unwrap();
    std::fs::create_dir(inside.join(".ssh")).unwrap();
    std::os::unix::fs::symlink(".ssh", inside.join("hidden")).unwrap();
    std::fs::create_dir(inside.join("sub")).unwrap();
    for (cwd, kind) in [
        ("out", Some("outside_sandbox")),
        (".ssh", Some("denied_pattern")),
        ("hidden", Some("denied_pattern")),
        ("sub", None),
    ] {
        let args = json!({"command": "make", "cwd": cwd}).to_string();
        let done = bench.run(&["policy", "explain", "run_command", &args, "--json"]);
        let explained: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(explained["kind"].as_str(), kind, "{cwd}: {explained}");
        let code = if kind.is_some() { 3 } else { 4 };
        assert_eq!(done.code, Some(code), "{cwd}: {done:?}");
    }
}

#[test]
fn a_bare_timeout_means_what_its_name_means() {
    let bench = Bench::new();
    for (tool, timeout, words) in [("bash", 1, "after 1 s"), ("shell", 900, "after 900 ms")] {
        let began = Instant::now();
        let (result, _) = exec(
            &bench,
            tool,
            json!({"command": "sleep 60", "timeout": timeout}),
        );
        assert_eq!(result["error"]["kind"], "timeout");
        assert_eq!(result["tool"], "run_command");
        assert!(
            result["content"].as_str().unwrap().contains(words),
            "{result}"
        );
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn commands_ask_unless_a_rule_allows_every_one_of_them() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[[tools.rules]]\ntool = 'run_command'\naction = 'allow'\ncommand = ['echo']\n",
    );
    let decided = |line: &str| {
        let args = json!({"command": line}).to_string();
        let done = bench.run(&["policy", "explain", "run_command", &args]);
        let page: Value = serde_json::from_str(&done.stdout).unwrap();
        page["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(decided("echo hi"), "allow");
    assert_eq!(decided("echo hi; touch x"), "ask");
    assert_eq!(decided("echo hi > x"), "ask");
    assert_eq!(decided("rm -rf /"), "deny");
    let nobody = bench.run(&["exec", "run_command", r#"{"command":"touch x"}"#]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    assert!(!bench.workspace().join("x").exists());
    let allowed = bench.run(&["exec", "run_command", r#"{"command":"echo hi"}"#]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
}

#[test]
fn a_cut_output_can_be_read_to_its_end() {
    let bench = Bench::new();
    let results = batch(
        &bench,
        &[
            ("run_command", json!({"command": "seq 1 200000"})),
            (
                "read_output",
                json!({"handle": "out_1", "start_line": 100_000, "end_line": 100_001}),
            ),
            (
                "read_output",
                json!({"handle": "out_1", "pattern": "^199999$"}),
            ),
        ],
    );
    assert_eq!(results[0]["truncated"], true);
    assert_eq!(results[0]["output_handle"], "out_1");
    let content = results[0]["content"].as_str().unwrap();
    assert!(
        content.len() <= 64 * 1024
            && content.starts_with("1\n2\n")
            && content.ends_with("\n200000\n")
    );
    assert!(content.contains("out_1"), "the marker names the handle");
    assert_eq!(results[1]["content"], "100000\n100001");
    assert_eq!(results[1]["metadata"]["total_lines"], 200_000);
    assert_eq!(results[2]["content"], "199999: 199999");
}

#[test]
fn a_command_that_floods_its_output_is_ended_and_says_so() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[tools.output]\nkeep_bytes = 1048576\nkeep_total_bytes = 2097152\n",
    );
    for command in ["yes", "yes >&2"] {
        let calls = [(
            "run_command",
            json!({"command": command, "timeout_seconds": 100}),
        )];
        let result = &batch(&bench, &calls)[0];
        assert_eq!(result["error"]["kind"], "limit_exceeded", "{result}");
        let content = result["content"].as_str().unwrap();
        assert!(content.contains("many times what is kept"), "{content}");
        let metadata = &result["metadata"];
        let wrote = |name: &str| metadata[name].as_u64().unwrap();
        let wrote = wrote("stdout_bytes") + wrote("stderr_bytes");
        assert!(((16 << 20)..(64 << 20)).contains(&wrote), "{wrote}");
    }
    let results = batch(
        &bench,
        &[
            ("run_command", json!({"command": "yes", "background": true})),
            (
                "command_output",
                json!({"handle": "cmd_1", "from": 16 << 20, "wait_seconds": 60}),
            ),
            (
                "command_output",
                json!({"handle": "cmd_1", "from": 64 << 20, "wait_seconds": 60}),
            ),
            ("stop_command", json!({"handle": "cmd_1"})),
        ],
    );
    assert_eq!(
        results[3]["metadata"]["ended"], "limit_exceeded",
        "{results:?}"
    );
}

#[test]
fn beyond_the_quota_the_middle_is_dropped_and_counted() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[tools.output]\nkeep_bytes = 1048576\nkeep_total_bytes = 2097152\n",
    );
    let results = batch(
        &bench,
        &[
            ("run_command", json!({"command": "seq 1 1000000"})),
            (
                "read_output",
                json!({"handle": "out_1", "pattern": "missing"}),
            ),
        ],
    );
    let bytes = 6_888_896;
    let metadata = &results[0]["metadata"];
    assert_eq!(metadata["stdout_bytes"], bytes);
    assert_eq!(metadata["stdout_bytes_dropped"], bytes - (1 << 20));
    let found = results[1]["content"].as_str().unwrap();
    assert!(
        found.contains(&format!("[{} bytes are missing here", bytes - (1 << 20))),
        "{found}"
    );
}

#[test]
fn a_background_command_is_read_from_where_one_left_off_and_stopped() {
    let bench = Bench::new();
    let results = batch(
        &bench,
        &[
            (
                "run_command",
                json!({"command": "echo one; read x < gate; echo two >&2; sleep 1000", "background": true, "cwd": "."}),
            ),
            (
                "command_output",
                json!({"handle": "cmd_1", "wait_seconds": 20}),
            ),
            ("command_output", json!({"handle": "cmd_1"})),
            ("command_output", json!({"handle": "cmd_1", "from": 0})),
            ("stop_command", json!({"handle": "cmd_1"})),
            ("command_output", json!({"handle": "cmd_1"})),
            ("command_output", json!({"handle": "cmd_2"})),
        ],
    );
    assert_eq!(results[0]["metadata"]["handle"], "cmd_1", "{}", results[0]);
    // There is no file called gate: the command says so and goes on.
    let first = results[1]["content"].as_str().unwrap();
    assert!(first.starts_with("one\n"), "{first}");
    assert_eq!(results[1]["metadata"]["running"], true);
    let all = results[3]["content"].as_str().unwrap();
    assert!(all.starts_with("one\n"), "{all}");
    assert_eq!(results[4]["metadata"]["running"], false, "{}", results[4]);
    assert_eq!(results[4]["metadata"]["ended"], "cancelled");
    assert_eq!(results[5]["status"], "ok");
    assert_eq!(results[6]["error"]["kind"], "not_found");
    assert!(
        results[6]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("known are cmd_1")
    );
}

/// The processes whose command line holds a word that only this test uses.
fn alive(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .split('\0')
                .any(|part| part == word)
        })
        .count()
}

#[test]
fn background_commands_end_with_their_conversation() {
    let bench = Bench::new();
    let word = format!("{}.25", 100_000 + std::process::id());
    let line = format!("sleep {word} & setsid sleep {word} & sleep {word}");
    let results = batch(
        &bench,
        &[
            ("run_command", json!({"command": line, "background": true})),
            ("run_command", json!({"command": "echo meanwhile"})),
        ],
    );
    assert_eq!(results[0]["status"], "ok", "{}", results[0]);
    assert_eq!(results[1]["content"], "meanwhile\n");
    assert_eq!(alive(&word), 0);
}

#[test]
fn what_a_background_command_left_is_reported_when_nobody_read_its_end() {
    let plant = json!({"name": "run_command", "args": {
        "command": "bash plant.sh; sleep 1000", "background": true,
    }});
    let wait = json!({"name": "command_output", "args": {"handle": "cmd_1", "wait_seconds": 20}});
    let read = json!({"name": "stop_command", "args": {"handle": "cmd_1"}});
    for (calls, unread) in [
        (vec![&plant, &wait], true),
        (vec![&plant, &wait, &read], false),
    ] {
        let bench = Bench::new();
        let script = "mkdir sub; echo x > sub/.envrc; echo planted";
        std::fs::write(bench.workspace().join("plant.sh"), script).unwrap();
        let lines: Vec<String> = calls.iter().map(ToString::to_string).collect();
        let input = lines.join("\n");
        let done = bench.feed(&["--approve", "all", "batch"], input.as_bytes());
        let said = done.stderr.contains("sub/.envrc") && done.stderr.contains("moved to");
        assert_eq!(said, unread, "{done:?}");
        assert!(!bench.workspace().join("sub/.envrc").exists());
    }
}

#[test]
fn an_interrupt_ends_the_command_and_settles_the_call() {
    let bench = Bench::new();
    let word = format!("{}.75", 200_000 + std::process::id());
    let mut command = bench.toolgate();
    let args = json!({"command": format!("echo started > flag; sleep {word}")}).to_string();
    command.args(["--approve", "all", "exec", "run_command", &args]);
    let mut child = command
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !bench.workspace().join("flag").exists() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let asked = Instant::now();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let result: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(result["status"], "cancelled", "{result}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(alive(&word), 0);
}

#[test]
fn a_granted_directory_is_readable_and_nothing_else_outside_is() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(outside.path().join("lib.txt"), "from outside\n").unwrap();
    let file = outside.path().join("lib.txt").display().to_string();
    let read = json!({"command": format!("cat {file}")});
    let (refused, _) = exec(&bench, "run_command", read.clone());
    assert_eq!(refused["error"]["kind"], "exit_status", "{refused}");
    assert!(!refused.to_string().contains("from outside"));
    bench.home(
        "config.toml",
        &format!(
            "[tools.sandbox]\ngrants = ['{}']\n",
            outside.path().display()
        ),
    );
    let (granted, _) = exec(&bench, "run_command", read);
    assert_eq!(granted["content"], "from outside\n");
    let write = json!({"command": format!("echo x > {file}")});
    let (refused, _) = exec(&bench, "run_command", write);
    assert_eq!(refused["status"], "error", "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "from outside\n");
}

#[test]
fn without_sandboxes_every_command_is_asked_about_and_says_so() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[tools.sandbox]\ncommand_sandbox = 'off'\n[[tools.rules]]\ntool = '*'\naction = 'allow'\n",
    );
    let nobody = bench.run(&["exec", "run_command", r#"{"command":"echo hi"}"#]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    let (result, _) = exec(&bench, "run_command", json!({"command": "echo hi"}));
    assert_eq!(result["content"], "hi\n", "{result}");
    assert_eq!(result["metadata"]["sandbox"], "none");
}

#[test]
fn doctor_says_what_stands_and_exits_by_it() {
    let bench = Bench::new();
    let done = bench.run(&["--json", "doctor"]);
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (done.code, &page["refused"]),
        (Some(0), &json!(false)),
        "{page}"
    );
    assert_eq!(page["commands"], "sandboxed");
    let names: Vec<&str> = page["protections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sandbox| sandbox["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "namespaces",
            "masks",
            "landlock",
            "seccomp",
            "process limit",
            "memory"
        ]
    );
    let text = bench.run(&["doctor"]);
    let verdict = "Commands run in the sandbox, without these limits: memory.";
    assert!(text.stdout.contains(verdict), "{text:?}");
    bench.home(
        "config.toml",
        "[tools.sandbox]\ngrants = ['/no/such/directory']\n",
    );
    let told = bench.run(&["doctor"]);
    assert_eq!(told.code, Some(0), "commands run without it: {told:?}");
    assert!(told.stdout.contains("left out"), "{told:?}");
    assert!(told.stdout.contains("/no/such/directory"), "{told:?}");
    assert!(!told.stdout.contains("  granted  "), "{told:?}");
}

/// What a person can do in a checkout, inside the sandbox.
#[test]
fn ordinary_work_goes_through() {
    let bench = Bench::new();
    bench.write("Makefile", "all: out\nout: in\n\tcp in out\n");
    bench.write("in", "made\n");
    let mut git = bench.command(Path::new("git"));
    git.args(["-c", "init.defaultBranch=main", "init", "-q", "."]);
    assert!(git.status().unwrap().success());
    for (line, wanted) in [
        (
            "git add -A && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline | wc -l",
            "1",
        ),
        ("git status --short", ""),
        ("make -s && cat out", "made"),
        ("python3 -c 'print(6*7)'", "42"),
        ("node -e 'console.log(6*7)'", "42"),
        (
            "seq 100 | sort -n | uniq | head -50 | tail -40 | grep 1 | tr 1 2 | cut -c1 | sort | wc -l",
            "12",
        ),
        ("t=$(mktemp) && echo kept > $t && cat $t", "kept"),
        ("(sleep 0.1; echo later > job) & wait; cat job", "later"),
        (
            "d=$(mktemp -d) && cd $d && printf 'int main(){return 0;}' > a.c && cc a.c -o a && ./a && echo built",
            "built",
        ),
    ] {
        let (result, _) = exec(&bench, "run_command", json!({"command": line}));
        let content = result["content"].as_str().unwrap_or_default().trim();
        assert_eq!(result["status"], "ok", "{line}: {result}");
        assert_eq!(content, wanted, "{line}: {result}");
    }
}

/// Runs a program and prints the most memory that it had, in KiB, on standard error.
const MEASURED: &str = "import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print('KiB', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)";

#[test]
fn a_flood_is_read_in_bounded_memory_and_kept_within_its_quota() {
    let bench = Bench::new();
    let mut command = bench.command(Path::new("python3"));
    let args = json!({"command": "head -c 300M /dev/zero | tr '\\0' 'x'", "timeout_seconds": 120});
    command.args(["-c", MEASURED, env!("CARGO_BIN_EXE_toolgate")]);
    command.args(["--approve", "all", "exec", "run_command", &args.to_string()]);
    let done = program::finish(command, b"");
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    let metadata = &result["metadata"];
    assert_eq!(metadata["stdout_bytes"], 300 << 20, "{metadata}");
    assert_eq!(metadata["stdout_bytes_dropped"], (300 << 20) - (64 << 20));
    let memory = done
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("KiB "));
    let memory: u64 = memory.unwrap().parse().unwrap();
    assert!(memory <= 64 << 10, "{memory} KiB, at most 64 MiB");
    let kept = bytes_beneath(&bench.home_directory().join("outputs"));
    assert!(
        (64 << 20..(64 << 20) + 1024).contains(&kept),
        "{kept} bytes on disk"
    );
}

fn bytes_beneath(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            stat if stat.is_dir() => bytes_beneath(&entry.path()),
            stat => stat.len(),
        })
        .sum()
}

#[test]
fn a_new_repository_needs_a_grant_and_the_denial_names_it() {
    let bench = Bench::new();
    let init = json!({"command": "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo made"});
    let (refused, _) = exec(&bench, "run_command", init.clone());
    assert_eq!(refused["error"]["kind"], "exit_status", "{refused}");
    let line = "grants = [{ path = \".git\", access = \"write\" }]";
    let content = refused["content"].as_str().unwrap();
    assert!(content.contains(line), "{content}");
    assert!(!bench.workspace().join(".git").exists());
    bench.home("config.toml", &format!("[tools.sandbox]\n{line}\n"));
    let (made, _) = exec(&bench, "run_command", init);
    assert_eq!(made["content"], "made\n", "{made}");
}

#[test]
fn only_an_answer_that_says_so_opens_a_directory_to_a_command() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("lib.txt"), "from outside\n").unwrap();
    let file = outside.path().join("lib.txt").display().to_string();
    for (typed, opened, code) in [
        ("o\n", true, 0),
        ("oc\n", true, 0),
        ("y\n", false, 1),
        // Such a yes cannot be remembered, so it is not offered and no answer.
        ("c\n", false, 3),
    ] {
        let bench = Bench::new();
        let line = format!(
            "{} exec run_command '{{\"command\":\"cat {file}\"}}' < /dev/null",
            env!("CARGO_BIN_EXE_toolgate")
        );
        let mut command = bench.command(Path::new("script"));
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        let done = program::answer(command, [typed]);
        let offer = format!("would open for reading: {}", outside.path().display());
        assert!(done.stdout.contains(&offer), "{done:?}");
        assert_eq!(done.code, Some(code), "{typed:?}: {done:?}");
        assert_eq!(done.stdout.contains("from outside"), opened, "{done:?}");
    }
}

/// The directories a toolchain needs, as the person who runs the tests has them.
fn toolchain() -> (PathBuf, PathBuf, PathBuf) {
    let directory = |name: &str, rest: &str| {
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        std::env::var_os(name).map_or_else(|| home.join(rest), PathBuf::from)
    };
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    (
        directory("CARGO_HOME", ".cargo"),
        directory("RUSTUP_HOME", ".rustup"),
        sysroot.trim().into(),
    )
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

#[test]
fn cargo_builds_this_project_offline_behind_the_sandbox() {
    let bench = Bench::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["Cargo.toml", "Cargo.lock", "benches", "crates", "xtask"] {
        copy(&project.join(name), &bench.workspace().join(name));
    }
    let (cargo_home, rustup_home, sysroot) = toolchain();
    let args = json!({"command": "cargo build --offline --quiet -p toolgate-model && echo built", "timeout_seconds": 400}).to_string();
    let line = ["--approve", "all", "exec", "run_command", &args];
    let mut command = bench.toolgate();
    command
        .args(line)
        .env("CARGO_HOME", &cargo_home)
        .env("RUSTUP_HOME", &rustup_home);
    let done = program::finish(command, b"");
    let refused: Value = serde_json::from_str(&done.stdout).unwrap();
    let visible = sysroot.starts_with("/usr") && cargo_home.starts_with("/usr");
    assert!(
        visible || refused["content"].as_str().unwrap().contains("grants = ["),
        "{refused}"
    );
    let grants = [&cargo_home, &rustup_home, &sysroot];
    let grants = grants.iter().filter(|directory| directory.is_dir());
    let grants: Vec<String> = grants
        .map(|directory| format!("'{}'", directory.display()))
        .collect();
    bench.home(
        "config.toml",
        &format!("[tools.sandbox]\ngrants = [{}]\n", grants.join(", ")),
    );
    let mut command = bench.toolgate();
    command
        .args(line)
        .env("CARGO_HOME", &cargo_home)
        .env("RUSTUP_HOME", &rustup_home);
    let done = program::finish(command, b"");
    let built: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(built["content"], "built\n", "{built}");
}

#[test]
fn a_key_that_the_configuration_names_is_kept_from_commands_and_results() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[providers.mine]\nkind = 'anthropic'\nmodel = 'm'\napi_key_env = 'ODD_NAME'\n",
    );
    let value = "plain-looking-value-1234567890";
    bench.write("note.txt", &format!("the key is {value}\n"));
    for (tool, args) in [
        ("run_command", json!({"command": "env; echo END"})),
        ("run_command", json!({"command": "cat note.txt; echo END"})),
        ("read_file", json!({"path": "note.txt"})),
    ] {
        let mut command = bench.toolgate();
        command.args(["--approve", "all", "exec", tool, &args.to_string()]);
        command.env("ODD_NAME", value);
        let done = program::finish(command, b"");
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(!done.stdout.contains(value), "{done:?}");
        assert!(!done.stdout.contains("ODD_NAME="), "{done:?}");
    }
}
