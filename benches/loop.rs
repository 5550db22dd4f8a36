//! The loop as a person runs it: the program itself, a provider on loopback that answers at
//! once, the durable journal and the sandbox up.
//!
//! Measured at the provider: from the last byte of an answer with a call to the first byte
//! of the next request.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use toolgate_benches::{Figure, report};
use toolgate_gate::journal::{Entry, Journal, Record};
use toolgate_journal::{Options, SqliteJournal};
use toolgate_model::{ToolCall, ToolResult};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_sandbox::command::{self, CommandSandbox, CommandSpec, Deadlines, SandboxRules};
use toolgate_sandbox::{PathRules, PathSandbox};
use toolgate_testkit::{Loopback, Render, Told};

/// How many calls one turn makes.
const CALLS: usize = 400;
/// How many turns are taken together: twenty calls alone say more about the disk than about us.
const TURNS: usize = 5;
/// How many calls count as the first ones, and as the last ones.
const EDGE: usize = 20;

fn main() {
    command::init();
    let program = program();
    for wire in Wire::ALL {
        for (tool, bound) in [
            ("run_command true", "at most 5 ms"),
            ("read_file 2 KiB", "at most 2 ms"),
        ] {
            // Beside every figure: the machine is not the same from minute to minute.
            let (commits, shell) = (commits(), shell_behind_sandboxes());
            let turns: Vec<Turn> = (0..TURNS)
                .map(|_| Turn::take(&program, wire, tool))
                .collect();
            let name = |what: &str| format!("loop, {wire}, {tool}: {what}");
            let floor = if tool.starts_with("run_command") {
                let ns = commits.ns + shell.ns;
                (
                    "`bash -c true` in the sandbox and the commits",
                    Figure { ns },
                )
            } else {
                ("the commits alone", commits)
            };
            let gaps = |of: fn(&[Duration]) -> &[Duration]| {
                let gaps: Vec<&[Duration]> = turns.iter().map(|turn| of(&turn.gaps)).collect();
                median(&gaps.concat())
            };
            report(&name("median"), gaps(|all| all), Some(floor), Some(bound));
            report(
                &name("last 20 of 400"),
                gaps(|all| &all[all.len() - EDGE..]),
                Some(("the first 20", gaps(|all| &all[..EDGE]))),
                Some("at most 1.2 times"),
            );
            let starts: Vec<Duration> = turns.iter().map(|turn| turn.start).collect();
            report(
                &name("start of the process to first request"),
                median(&starts),
                None,
                Some("at most 30 ms"),
            );
            let peak_kib = turns.iter().map(|turn| turn.peak_kib).max();
            println!(
                "{}",
                serde_json::json!({
                    "name": name("peak resident memory"), "kib": peak_kib, "bound": "at most 32768",
                })
            );
        }
    }
}

/// The program beside this bench, built the same way if it is not there.
fn program() -> PathBuf {
    if let Some(given) = std::env::var_os("TOOLGATE_BIN") {
        return given.into();
    }
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--package",
            "toolgate-cli",
            "--locked",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status()
        .unwrap();
    assert!(built.success());
    let here = std::env::current_exe().unwrap();
    here.ancestors().nth(2).unwrap().join("toolgate")
}

struct Turn {
    gaps: Vec<Duration>,
    start: Duration,
    peak_kib: u64,
}

/// A directory where a project would be: what lies under `/tmp` is shown to commands apart from
/// everything else there, and costs more.
fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

impl Turn {
    fn take(program: &Path, wire: Wire, tool: &str) -> Self {
        let directory = directory();
        let (workspace, home) = (directory.path().join("ws"), directory.path().join("home"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(&home).unwrap();
        let limits = "[tools]\nmax_tool_iterations_per_user_turn = 1000\n";
        std::fs::write(home.join("config.toml"), limits).unwrap();
        let steps: Vec<String> = (0..CALLS)
            .map(|number| {
                let (name, args) = if tool.starts_with("run_command") {
                    // The same call again and again would be stopped, so its timeout differs.
                    let timeout = number + 100;
                    ("run_command", format!("{{ command = \"true\", timeout_seconds = {timeout} }}"))
                } else {
                    let text = format!("{number:031}\n").repeat(64);
                    std::fs::write(workspace.join(format!("{number}.txt")), text).unwrap();
                    ("read_file", format!("{{ path = \"{number}.txt\" }}"))
                };
                format!("[[steps]]\n[[steps.calls]]\nid = \"call_{number}\"\nname = \"{name}\"\nargs = {args}\n")
            })
            .collect();
        let script = format!("{}[[steps]]\ntext = \"done\"\n", steps.concat());
        let script = Script::from_toml(&script).unwrap();
        let answers: Vec<Vec<u8>> = script.steps.iter().map(|step| step.render(wire)).collect();
        let process: Arc<Mutex<(u32, u64)>> = Arc::default();
        let watched = Arc::clone(&process);
        let mut next = 0;
        let server = Loopback::start(move |_| {
            if next == CALLS {
                let mut watched = watched.lock().unwrap();
                watched.1 = peak_kib(watched.0);
            }
            next += 1;
            Told::new(200, wire.stream_type(), answers[next - 1].clone())
        });
        let base = match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses => format!("{}/v1", server.url()),
            Wire::Anthropic | Wire::Ollama => server.url(),
        };
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["run", "--quiet", "--approve", "all", "--model", "m"])
            .args(["--provider", wire.as_str(), "--base-url", &base, "go"])
            .current_dir(&workspace)
            .env("TOOLGATE_HOME", &home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        process.lock().unwrap().0 = child.id();
        assert!(child.wait().unwrap().success());
        let heard = server.heard();
        assert_eq!(heard.len(), CALLS + 1);
        // The last request holds every result: none of them is an error.
        let last = String::from_utf8_lossy(&heard[CALLS].body).into_owned();
        assert!(
            !last.contains("failed:") && !last.contains("repeated"),
            "{tool}"
        );
        let peak_kib = process.lock().unwrap().1;
        Self {
            gaps: server.gaps(),
            start: heard[0].began - began,
            peak_kib,
        }
    }
}

fn peak_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap()
}

/// What two durable commits take on this machine now: one before a call, one after it.
fn commits() -> Figure {
    let directory = directory();
    let journal = SqliteJournal::open(directory.path().join("j.db"), Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let entry = |number: usize, record| Entry {
        conversation: "c".into(),
        call: format!("call_{number}").into(),
        at_ms: 1,
        record,
    };
    let mut taken = Vec::new();
    for number in 0..100 {
        let call = ToolCall::new(format!("call_{number}"), "x", Default::default());
        let result = ToolResult::ok(call.id.clone(), "x", "0".repeat(2048));
        let began = Instant::now();
        runtime.block_on(async {
            let received = entry(number, Record::Received { call });
            journal.commit(vec![received]).await.unwrap();
            let result = Box::new(result);
            let finished = entry(number, Record::Finished { result });
            journal.commit(vec![finished]).await.unwrap();
        });
        taken.push(began.elapsed());
    }
    median(&taken)
}

/// What a shell takes in the sandbox that does nothing.
fn shell_behind_sandboxes() -> Figure {
    let directory = directory();
    let paths = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    let sandbox = CommandSandbox::start(&SandboxRules::new(paths)).unwrap();
    let mut taken = Vec::new();
    for _ in 0..100 {
        let mut spec = CommandSpec::line("true", directory.path());
        spec.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let began = Instant::now();
        let running = sandbox.run(spec).unwrap();
        running.drive(Deadlines::default(), None, |_, _| {});
        taken.push(began.elapsed());
    }
    median(&taken)
}

fn median(taken: &[Duration]) -> Figure {
    let mut taken = taken.to_vec();
    taken.sort_unstable();
    figure(taken[taken.len() / 2])
}

fn figure(taken: Duration) -> Figure {
    Figure {
        ns: taken.as_secs_f64() * 1e9,
    }
}
