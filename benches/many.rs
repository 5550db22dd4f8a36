//! Many conversations in one process: reads and commands in turn through one gate, with the
//! journal in SQLite and the command sandbox up.
//!
//! One line of JSON per number of conversations. `--test` runs a short version.
//! Arguments that are numbers replace the numbers of conversations, and `--commands=N` the
//! number of commands that may run at once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Rules, Settings};
use toolgate_journal::{Options, SqliteJournal};
use toolgate_model::{Args, Call, ToolCall};
use toolgate_sandbox::command::{self, CommandSandbox, SandboxRules};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::{CommandSettings, ToolSettings, register_all};

/// Calls of one conversation.
const CALLS: usize = 20;
/// Idle conversations whose memory is measured.
const IDLE: usize = 10_000;

fn main() {
    command::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--test");
    let asked: Vec<usize> = arguments.iter().filter_map(|n| n.parse().ok()).collect();
    let max_commands = arguments.iter().find_map(|argument| {
        let number = argument.strip_prefix("--commands=")?;
        number.parse().ok()
    });
    let max_commands = max_commands.unwrap_or(Settings::default().max_commands);
    let sizes = match (quick, asked.is_empty()) {
        (_, false) => asked,
        (true, true) => vec![1, 4],
        (false, true) => vec![1, 10, 100, 1_000],
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let workspace = directory.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let text = "0123456789abcdef0123456789abcde\n".repeat(64);
    std::fs::write(workspace.join("two.txt"), text).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let paths = PathSandbox::open(&PathRules::new(&workspace)).unwrap();
    let registry = Arc::new(registry(&workspace, &paths));
    idle(&runtime, if quick { 100 } else { IDLE });
    for conversations in sizes {
        let database = directory.path().join(format!("{conversations}.db"));
        let journal = Arc::new(SqliteJournal::open(database, Options::default()).unwrap());
        let gate = Gate::builder(
            Arc::clone(&registry),
            Rules::nothing_to_check(),
            paths.clone(),
            journal,
        )
        .settings(Settings {
            command_sandbox: true,
            max_commands,
            ..Settings::default()
        })
        .build()
        .unwrap();
        measure(&runtime, &gate, conversations);
    }
}

fn registry(workspace: &Path, paths: &PathSandbox) -> Registry {
    let sandbox = CommandSandbox::start(&SandboxRules::new(paths.clone())).unwrap();
    let commands = CommandSettings {
        sandbox: Ok(sandbox).into(),
        roots: vec![workspace.to_owned()],
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        ..CommandSettings::default()
    };
    let registry = Registry::new();
    let settings = ToolSettings {
        commands: Arc::new(commands),
        ..ToolSettings::default()
    };
    register_all(&registry, &settings).unwrap();
    registry
}

/// What conversations cost in which nothing happens.
fn idle(runtime: &Runtime, count: usize) {
    let _inside = runtime.enter();
    let name = |number: usize| Session::new(format!("idle_{number}"));
    let (memory, before) = (resident(), (threads(), descriptors("self")));
    let sessions: Vec<Session> = (0..count).map(name).collect();
    let bytes = resident().saturating_sub(memory) / count;
    let after = (threads(), descriptors("self"));
    println!(
        "{}",
        json!({
            "name": format!("{count} idle conversations"),
            "bytes_each": bytes,
            "struct_bytes": size_of::<Session>(),
            "bound": "at most 65536 bytes",
            "threads": after.0 - before.0,
            "descriptors": after.1 - before.1,
        })
    );
    drop(sessions);
}

#[derive(Default)]
struct Taken {
    reads: Vec<Duration>,
    commands: Vec<Duration>,
    errors: BTreeMap<String, usize>,
}

async fn converse(gate: Gate, number: usize) -> Taken {
    let session = Arc::new(Session::new(format!("many_{number}")));
    let passage = BatchContext {
        approver: Some(Arc::new(ApproveAll)),
        ..BatchContext::default()
    };
    let args =
        |key: &str, value: &str| -> Args { [(key.to_owned(), value.into())].into_iter().collect() };
    let mut taken = Taken::default();
    for index in 0..CALLS {
        let reads = index.is_multiple_of(2);
        let call = if reads {
            ToolCall::new(
                format!("call_{index}"),
                "read_file",
                args("path", "two.txt"),
            )
        } else {
            ToolCall::new(
                format!("call_{index}"),
                "run_command",
                args("command", "true"),
            )
        };
        let began = Instant::now();
        let results = gate.run(&session, vec![Call::Whole(call)], &passage).await;
        let side = if reads {
            &mut taken.reads
        } else {
            &mut taken.commands
        };
        side.push(began.elapsed());
        if let Some(error) = &results[0].error {
            let what: String = error.message.chars().take(120).collect();
            *taken
                .errors
                .entry(format!("{}: {what}", error.kind.as_str()))
                .or_default() += 1;
        }
    }
    session.end().await;
    taken
}

fn measure(runtime: &Runtime, gate: &Gate, conversations: usize) {
    let over = Arc::new(AtomicBool::new(false));
    let most: Arc<[AtomicUsize; 3]> = Arc::default();
    let watch = {
        let (over, most) = (Arc::clone(&over), Arc::clone(&most));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let warden = warden().map_or(0, |pid| descriptors(&pid));
                for (most, now) in most.iter().zip([threads(), descriptors("self"), warden]) {
                    most.fetch_max(now, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let began = Instant::now();
    let gate = gate.clone();
    let all = runtime.spawn(async move {
        let tasks: Vec<_> = (0..conversations)
            .map(|number| tokio::spawn(converse(gate.clone(), number)))
            .collect();
        let mut all = Taken::default();
        for task in tasks {
            let taken = task.await.unwrap();
            all.reads.extend(taken.reads);
            all.commands.extend(taken.commands);
            for (kind, count) in taken.errors {
                *all.errors.entry(kind).or_default() += count;
            }
        }
        all
    });
    let mut all = runtime.block_on(all).unwrap();
    let took = began.elapsed();
    over.store(true, Ordering::Relaxed);
    watch.join().unwrap();
    let calls = conversations * CALLS;
    let most = |index: usize| most[index].load(Ordering::Relaxed);
    println!(
        "{}",
        json!({
            "name": format!("{conversations} conversations"),
            "calls_per_second": (calls as f64 / took.as_secs_f64()).round(),
            "read_p50_us": part(&mut all.reads, 50),
            "read_p99_us": part(&mut all.reads, 99),
            "command_p50_us": part(&mut all.commands, 50),
            "command_p99_us": part(&mut all.commands, 99),
            "most_threads": most(0),
            "most_descriptors": most(1),
            "most_descriptors_of_warden": most(2),
            "resident_mib": resident() >> 20,
            "errors": all.errors,
        })
    );
}

fn part(taken: &mut [Duration], percent: usize) -> u128 {
    taken.sort_unstable();
    let last = taken.len().saturating_sub(1);
    taken[(taken.len() * percent / 100).min(last)].as_micros()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn descriptors(of: &str) -> usize {
    std::fs::read_dir(format!("/proc/{of}/fd")).map_or(0, Iterator::count)
}

/// The one child that stays: the process that makes sandboxes.
fn warden() -> Option<String> {
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let children = std::fs::read_to_string(task.ok()?.path().join("children")).ok();
        let first = children.and_then(|all| all.split_whitespace().next().map(str::to_owned));
        if first.is_some() {
            return first;
        }
    }
    None
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
