//! `run_command` in process: the laws of the specification, streaming, and every way to give up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::execute::EventSink;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Call, ErrorKind, Event, EventKind, Stream, ToolCall, ToolResult};
use toolgate_sandbox::command::{self, CommandSandbox, SandboxRules};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::{CommandSettings, ToolSettings, register_all};

type Trial = (&'static str, fn());

const TRIALS: &[Trial] = &[
    (
        "property_25_shell_command_execution",
        property_25_shell_command_execution,
    ),
    (
        "property_26_shell_output_streaming",
        property_26_shell_output_streaming,
    ),
    (
        "property_27_shell_timeout_enforcement",
        property_27_shell_timeout_enforcement,
    ),
    (
        "property_28_shell_working_directory",
        property_28_shell_working_directory,
    ),
    (
        "ac_15_bash_returns_output_and_exit_code",
        ac_15_bash_returns_output_and_exit_code,
    ),
    (
        "ac_16_an_exit_code_is_an_error",
        ac_16_an_exit_code_is_an_error,
    ),
    ("ac_17_bash_times_out", ac_17_bash_times_out),
    (
        "chunks_come_while_the_command_runs_and_in_order",
        chunks_come_while_the_command_runs_and_in_order,
    ),
    (
        "a_slow_listener_loses_nothing",
        a_slow_listener_loses_nothing,
    ),
    (
        "a_listener_that_never_listens_does_not_hold_the_deadline",
        a_listener_that_never_listens_does_not_hold_the_deadline,
    ),
    (
        "a_dropped_call_ends_its_command",
        a_dropped_call_ends_its_command,
    ),
    (
        "a_secret_is_hidden_in_output_and_chunks",
        a_secret_is_hidden_in_output_and_chunks,
    ),
    (
        "silent_commands_hold_no_threads",
        silent_commands_hold_no_threads,
    ),
    (
        "background_commands_hold_no_threads_and_leave_no_descriptors",
        background_commands_hold_no_threads_and_leave_no_descriptors,
    ),
    (
        "a_cancelled_command_ends_while_it_is_silent",
        a_cancelled_command_ends_while_it_is_silent,
    ),
    (
        "a_file_that_a_command_of_the_batch_changed_is_said_to_be_changed_by_it",
        a_file_that_a_command_of_the_batch_changed_is_said_to_be_changed_by_it,
    ),
    (
        "without_a_sandbox_nothing_runs",
        without_a_sandbox_nothing_runs,
    ),
];

fn main() -> ExitCode {
    command::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in TRIALS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let filter = filter.map_or("", String::as_str);
    let mut failed = 0;
    for (name, trial) in TRIALS.iter().filter(|(name, _)| name.contains(filter)) {
        let passed = catch_unwind(AssertUnwindSafe(trial)).is_ok();
        println!("{name} … {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    ExitCode::from(u8::from(failed > 0))
}

/// A gate over a temporary workspace with commands behind a real sandbox.
struct Bench {
    directory: TempDir,
    runtime: Runtime,
    gate: Gate,
    session: Arc<Session>,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {}, &[])
    }

    fn with(change: impl FnOnce(&mut CommandSettings), secrets: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let paths = PathSandbox::open(&PathRules::new(&root)).unwrap();
        let sandbox = CommandSandbox::start(&SandboxRules::new(paths.clone())).unwrap();
        let mut commands = CommandSettings {
            sandbox: Ok(sandbox).into(),
            roots: vec![root],
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            ..CommandSettings::default()
        };
        change(&mut commands);
        let registry = Registry::new();
        let settings = ToolSettings {
            commands: Arc::new(commands),
            ..ToolSettings::default()
        };
        register_all(&registry, &settings).unwrap();
        let redactor = toolgate_gate::output::Redactor::new(secrets.iter().copied()).unwrap();
        let gate = Gate::builder(
            Arc::new(registry),
            toolgate_gate::Rules::default(),
            paths,
            Arc::new(MemoryJournal::new()),
        )
        .settings(Settings {
            command_sandbox: true,
            max_commands: SILENT,
            ..Settings::default()
        })
        .redactor(redactor)
        .build()
        .unwrap();
        Self {
            directory,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_time()
                .build()
                .unwrap(),
            gate,
            session: Arc::new(Session::new("test")),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn passage(&self, events: EventSink) -> BatchContext {
        BatchContext {
            approver: Some(Arc::new(ApproveAll)),
            events,
            ..BatchContext::default()
        }
    }

    fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.runtime
            .block_on(self.calling(tool, args, self.passage(EventSink::none())))
    }

    fn calling(
        &self,
        tool: &str,
        args: Value,
        passage: BatchContext,
    ) -> impl Future<Output = ToolResult> + Send + 'static {
        self.calling_in(&self.session, tool, args, passage)
    }

    fn calling_in(
        &self,
        session: &Arc<Session>,
        tool: &str,
        args: Value,
        passage: BatchContext,
    ) -> impl Future<Output = ToolResult> + Send + 'static {
        let Value::Object(args) = args else {
            panic!("arguments are an object")
        };
        let call = Call::Whole(ToolCall::new("call_1", tool, args));
        let (gate, session) = (self.gate.clone(), Arc::clone(session));
        async move { gate.run(&session, vec![call], &passage).await.remove(0) }
    }
}

fn a_file_that_a_command_of_the_batch_changed_is_said_to_be_changed_by_it() {
    let bench = Bench::new();
    let batch = |calls: Vec<(&str, Value)>| {
        let calls = calls.into_iter().enumerate().map(|(n, (tool, args))| {
            let args = args.as_object().unwrap().clone();
            Call::Whole(ToolCall::new(format!("call_{n}"), tool, args))
        });
        let passage = bench.passage(EventSink::none());
        let run = bench.gate.run(&bench.session, calls.collect(), &passage);
        bench.runtime.block_on(run)
    };
    let edit =
        |path: &str| json!({"path": path, "edits": [{"target": "one", "replacement": "two"}]});
    for name in ["a.txt", "b.txt"] {
        std::fs::write(bench.path(name), "one\n").unwrap();
    }
    batch(vec![(
        "read_many_files",
        json!({"paths": ["a.txt", "b.txt"]}),
    )]);
    let results = batch(vec![
        ("run_command", json!({"command": "echo more >> a.txt"})),
        ("edit_file", edit("a.txt")),
        ("edit_file", edit("b.txt")),
    ]);
    assert_eq!(results[0].error, None);
    let stale = results[1].error.clone().unwrap();
    assert_eq!(stale.kind, ErrorKind::StaleFile);
    assert!(
        stale
            .message
            .contains("the command of call `call_0` changed the file"),
        "{stale}"
    );
    assert_eq!(results[2].error, None, "it touched nothing of that file");
    // Also where the change was not shown before: in the next batch.
    let later = batch(vec![("edit_file", edit("a.txt"))])
        .remove(0)
        .error
        .unwrap();
    assert!(
        later
            .message
            .contains("The command of call `call_0` changed it"),
        "{later}"
    );
    // Somebody else's change is nobody's call's.
    batch(vec![("read_file", json!({"path": "a.txt"}))]);
    let file = std::fs::File::options()
        .append(true)
        .open(bench.path("a.txt"))
        .unwrap();
    std::io::Write::write_all(&mut &file, b"x\n").unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
    let other = batch(vec![("edit_file", edit("a.txt"))])
        .remove(0)
        .error
        .unwrap();
    assert!(!other.message.contains("command of call"), "{other}");
    let plan = bench.gate.plan(
        &bench.session,
        vec![Call::Whole(ToolCall::new(
            "c",
            "run_command",
            json!({"command": "ls", "cwd": "."})
                .as_object()
                .unwrap()
                .clone(),
        ))],
    );
    let planned = bench.runtime.block_on(plan);
    let record = planned.plans().find_map(|plan| plan.record()).unwrap();
    assert_eq!(record.locations[0], ".", "the directory it runs in");
}

fn law<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..toolgate_testkit::laws(256)
    };
    TestRunner::new(config).run(strategy, test).unwrap();
}

fn property_25_shell_command_execution() {
    let bench = Bench::new();
    law(
        &("[a-zA-Z0-9 äö%\\n]{0,60}", "[a-z]{0,20}", 0..=255_i32),
        |(out, err, code)| {
            let line = format!(
                "printf %s {}; printf %s {err} >&2; exit {code}",
                quoted(&out)
            );
            let result = bench.call("run_command", json!({"command": line}));
            let content = &result.content;
            prop_assert!(content.starts_with(&out), "{content:?}");
            prop_assert_eq!(
                content.contains(&format!("[stderr]\n{err}")),
                !err.is_empty()
            );
            prop_assert_eq!(&result.metadata["exit_code"], &json!(code));
            let expected = (code != 0).then_some(ErrorKind::ExitStatus);
            prop_assert_eq!(result.kind(), expected);
            prop_assert_eq!(content.contains(&format!("[exit code {code}]")), code != 0);
            Ok(())
        },
    );
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn property_26_shell_output_streaming() {
    let bench = Bench::new();
    law(
        &prop::collection::vec(("[a-z]{1,12}", any::<bool>()), 1..6),
        |pieces| {
            let words = pieces
                .iter()
                .map(|(word, err)| format!("echo {word}{}", if *err { " >&2" } else { "" }));
            let line = words.collect::<Vec<_>>().join("; ");
            let (events, mut arriving) = EventSink::channel(64);
            let work = bench.calling(
                "run_command",
                json!({"command": line}),
                bench.passage(events),
            );
            let (result, seen) = bench.runtime.block_on(async {
                let result = tokio::spawn(work);
                let mut seen = Vec::new();
                while let Some(event) = arriving.recv().await {
                    seen.push(event);
                }
                (result.await.unwrap(), seen)
            });
            prop_assert!(result.error.is_none(), "{result:?}");
            let place = |wanted: fn(&Event) -> bool| seen.iter().position(wanted);
            let started = place(|event| {
                matches!(
                    event,
                    Event {
                        kind: EventKind::CallStarted { .. },
                        ..
                    }
                )
            });
            let first = place(|event| {
                matches!(
                    event,
                    Event {
                        kind: EventKind::OutputChunk { .. },
                        ..
                    }
                )
            });
            let last = seen.iter().rposition(|event| {
                matches!(
                    event,
                    Event {
                        kind: EventKind::OutputChunk { .. },
                        ..
                    }
                )
            });
            let finished = place(|event| {
                matches!(
                    event,
                    Event {
                        kind: EventKind::CallFinished { .. },
                        ..
                    }
                )
            });
            prop_assert!(started < first && first.is_some() && last < finished);
            for wanted in [Stream::Stdout, Stream::Stderr] {
                let shown: String = seen
                    .iter()
                    .filter_map(|event| match event {
                        Event {
                            kind: EventKind::OutputChunk { stream, text, .. },
                            ..
                        } if *stream == wanted => Some(text.as_str()),
                        _ => None,
                    })
                    .collect();
                let said: String = pieces
                    .iter()
                    .filter(|(_, err)| *err == (wanted == Stream::Stderr))
                    .map(|(word, _)| format!("{word}\n"))
                    .collect();
                prop_assert_eq!(shown, said);
            }
            Ok(())
        },
    );
}

fn property_27_shell_timeout_enforcement() {
    let bench = Bench::new();
    law(&(5..60_u64, any::<bool>()), |(millis, deaf)| {
        let trap = if deaf { "trap '' TERM INT HUP; " } else { "" };
        let line = format!("{trap}echo begun; sleep 1000");
        let began = Instant::now();
        let result = bench.call(
            "run_command",
            json!({"command": line, "timeout_ms": millis}),
        );
        prop_assert_eq!(result.kind(), Some(ErrorKind::Timeout));
        let words = format!("timed out after {millis} ms");
        prop_assert!(result.content.contains(&words), "{}", result.content);
        let took = began.elapsed();
        prop_assert!(took < Duration::from_millis(millis + 1000), "{took:?}");
        Ok(())
    });
}

fn property_28_shell_working_directory() {
    let bench = Bench::new();
    law(
        &prop::collection::vec("[a-z][a-z0-9 ]{0,6}[a-z]", 0..4),
        |names| {
            let cwd = names.join("/");
            std::fs::create_dir_all(bench.path(&cwd)).unwrap();
            let result = bench.call("run_command", json!({"command": "pwd -P", "cwd": cwd}));
            let expected = bench.path(&cwd).canonicalize().unwrap();
            prop_assert_eq!(result.content, format!("{}\n", expected.display()));
            Ok(())
        },
    );
}

fn ac_15_bash_returns_output_and_exit_code() {
    let result = Bench::new().call("bash", json!({"command": "echo hello"}));
    assert!(result.content.contains("hello") && result.error.is_none());
    assert_eq!(result.metadata["exit_code"], 0);
}

fn ac_16_an_exit_code_is_an_error() {
    let result = Bench::new().call("bash", json!({"command": "exit 42"}));
    assert_eq!(result.kind(), Some(ErrorKind::ExitStatus));
    assert_eq!(result.metadata["exit_code"], 42);
}

fn ac_17_bash_times_out() {
    let began = Instant::now();
    let result = Bench::new().call("bash", json!({"command": "sleep 300", "timeout": 1}));
    assert_eq!(result.kind(), Some(ErrorKind::Timeout));
    assert!(result.content.contains("timed out after 1 s"));
    assert!(began.elapsed() < Duration::from_secs(4));
}

/// The command waits for what the listener does when it sees a chunk.
fn chunks_come_while_the_command_runs_and_in_order() {
    let bench = Bench::new();
    let line = "echo one; until [ -e go ]; do :; done; echo two >&2; until [ -e on ]; do :; done; echo three";
    let (events, mut arriving) = EventSink::channel(4);
    let work = bench.calling(
        "run_command",
        json!({"command": line}),
        bench.passage(events),
    );
    let (go, on) = (bench.path("go"), bench.path("on"));
    let (result, order) = bench.runtime.block_on(async {
        let result = tokio::spawn(work);
        let mut order = Vec::new();
        while let Some(event) = arriving.recv().await {
            if let Event {
                kind: EventKind::OutputChunk { text, stream, .. },
                ..
            } = event
            {
                match text.as_str() {
                    "one\n" => std::fs::write(&go, "").unwrap(),
                    "two\n" => std::fs::write(&on, "").unwrap(),
                    _ => {}
                }
                order.push((stream, text));
            }
        }
        (result.await.unwrap(), order)
    });
    assert_eq!(result.content, "one\nthree\n\n[stderr]\ntwo\n");
    let expected = [
        (Stream::Stdout, "one\n".to_owned()),
        (Stream::Stderr, "two\n".to_owned()),
        (Stream::Stdout, "three\n".to_owned()),
    ];
    assert_eq!(order, expected);
}

fn a_slow_listener_loses_nothing() {
    let bench = Bench::new();
    let (events, mut arriving) = EventSink::channel(1);
    let line = "seq 1 300000";
    let work = bench.calling(
        "run_command",
        json!({"command": line}),
        bench.passage(events),
    );
    let shown = bench.runtime.block_on(async {
        let result = tokio::spawn(work);
        let mut shown = String::new();
        while let Some(event) = arriving.recv().await {
            if let Event {
                kind: EventKind::OutputChunk { text, .. },
                ..
            } = event
            {
                shown.push_str(&text);
                tokio::task::yield_now().await;
            }
        }
        result.await.unwrap();
        shown
    });
    let expected: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    assert!(
        shown == expected,
        "{} of {} bytes",
        shown.len(),
        expected.len()
    );
}

fn a_listener_that_never_listens_does_not_hold_the_deadline() {
    let bench = Bench::new();
    let (events, arriving) = EventSink::channel(1);
    let passage = bench.passage(events);
    let work = bench.calling(
        "run_command",
        json!({"command": "yes", "timeout_ms": 400}),
        passage,
    );
    let began = Instant::now();
    let taken = bench.runtime.block_on(async {
        let mut arriving = arriving;
        let result = tokio::spawn(work);
        // Everything up to the first chunk is taken, then nothing until the time is over.
        loop {
            let event = arriving.recv().await.unwrap();
            if matches!(
                event,
                Event {
                    kind: EventKind::OutputChunk { .. },
                    ..
                }
            ) {
                break;
            }
        }
        tokio::time::sleep_until((began + Duration::from_millis(600)).into()).await;
        let drain = tokio::spawn(async move { while arriving.recv().await.is_some() {} });
        let result = result.await.unwrap();
        drain.await.unwrap();
        result
    });
    assert_eq!(taken.kind(), Some(ErrorKind::Timeout));
    assert!(
        began.elapsed() < Duration::from_millis(2400),
        "{:?}",
        began.elapsed()
    );
}

/// Whether some process has this word as an argument.
fn alive(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .split('\0')
            .any(|part| part == word)
    })
}

fn a_dropped_call_ends_its_command() {
    let bench = Bench::new();
    let word = format!("{}.5", 300_000 + std::process::id());
    let line = format!("touch begun; sleep {word}");
    let work = bench.calling(
        "run_command",
        json!({"command": line}),
        bench.passage(EventSink::none()),
    );
    let task = bench.runtime.spawn(work);
    let began = Instant::now();
    while !alive(&word) {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    task.abort();
    while alive(&word) {
        assert!(began.elapsed() < Duration::from_secs(25), "it lives on");
        std::thread::yield_now();
    }
}

fn a_secret_is_hidden_in_output_and_chunks() {
    let secret = "hunter2hunter2hunter2";
    let bench = Bench::with(|_| {}, &[("DB_PASSWORD", secret)]);
    let line =
        "printf hunter2hunter2; printf 'hunter2 and more\\n'; printf hunter2hunter2hunter2 >&2";
    let (events, mut arriving) = EventSink::channel(64);
    let work = bench.calling(
        "run_command",
        json!({"command": line}),
        bench.passage(events),
    );
    let (result, shown) = bench.runtime.block_on(async {
        let result = tokio::spawn(work);
        let mut shown = String::new();
        while let Some(event) = arriving.recv().await {
            if let Event {
                kind: EventKind::OutputChunk { text, .. },
                ..
            } = event
            {
                shown.push_str(&text);
            }
        }
        (result.await.unwrap(), shown)
    });
    assert!(
        !result.content.contains(secret) && result.content.contains("and more"),
        "{result:?}"
    );
    assert!(
        !shown.contains(secret) && shown.contains("and more"),
        "{shown}"
    );
}

/// How many commands wait at once.
const SILENT: usize = 100;

/// The runtime has fewer blocking threads than there are commands, so commands that held one
/// would never all begin.
fn silent_commands_hold_no_threads() {
    let bench = Bench::new();
    let fifo = bench.path("gate");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .enable_time()
        .build()
        .unwrap();
    let begun = |event: &Event| matches!(&event.kind, EventKind::OutputChunk { text, .. } if text == "begun\n");
    let (threads, results) = runtime.block_on(async {
        let mut running = Vec::new();
        for number in 0..SILENT {
            let (events, arriving) = EventSink::channel(16);
            let session = Arc::new(Session::new(format!("test_{number}")));
            let work = bench.calling_in(
                &session,
                "run_command",
                json!({"command": "echo begun; read -r line < gate; echo done"}),
                bench.passage(events),
            );
            running.push((tokio::spawn(work), arriving, session));
        }
        for (_, arriving, _) in &mut running {
            while !begun(&arriving.recv().await.unwrap()) {}
        }
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        // Opening it for writing lets all readers go on; closing it is their end of file.
        let open = move || drop(std::fs::OpenOptions::new().write(true).open(&fifo));
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let opening = std::thread::spawn(move || {
            while !stopped.load(std::sync::atomic::Ordering::Acquire) {
                open();
            }
        });
        let mut results = Vec::new();
        for (result, mut arriving, session) in running {
            while arriving.recv().await.is_some() {}
            results.push(result.await.unwrap());
            drop(session);
        }
        stop.store(true, std::sync::atomic::Ordering::Release);
        // A last reader, in case the thread waits for one.
        let reader = bench.path("gate");
        while !opening.is_finished() {
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
            drop(rustix::fs::open(&reader, flags, rustix::fs::Mode::empty()));
            tokio::task::yield_now().await;
        }
        opening.join().unwrap();
        (threads, results)
    });
    for result in results {
        assert_eq!(result.content, "begun\ndone\n", "{result:?}");
    }
    assert!(threads < 24, "{threads} threads for {SILENT} commands");
}

/// How many background commands one conversation may have.
const OF_ONE: usize = 16;

/// As above. Every command is seen to write, to wait, and to end with its conversation.
fn background_commands_hold_no_threads_and_leave_no_descriptors() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .enable_time()
        .build()
        .unwrap();
    let count = |of: &str| {
        std::fs::read_dir(format!("/proc/self/{of}"))
            .unwrap()
            .count()
    };
    let sessions: Vec<Arc<Session>> = (0..SILENT.div_ceil(OF_ONE))
        .map(|number| Arc::new(Session::new(format!("back_{number}"))))
        .collect();
    let call = async |session: &Arc<Session>, tool: &str, args: Value| {
        let passage = bench.passage(EventSink::none());
        bench.calling_in(session, tool, args, passage).await
    };
    let line = json!({"command": "echo begun; exec sleep 1000", "background": true});
    // The first command starts what stays: the reactor and the sandboxes that wait.
    let first = Arc::new(Session::new("first"));
    let (before, while_they_ran, after) = runtime.block_on(async {
        assert_eq!(call(&first, "run_command", line.clone()).await.error, None);
        first.end().await;
        let before = count("fd");
        for number in 0..SILENT {
            let session = &sessions[number / OF_ONE];
            let begun = call(session, "run_command", line.clone()).await;
            assert_eq!(begun.error, None, "{begun:?}");
            let handle = begun.metadata["handle"].clone();
            let read = json!({"handle": handle, "wait_seconds": 30});
            let read = call(session, "command_output", read).await;
            assert!(read.content.starts_with("begun\n"), "{read:?}");
        }
        let while_they_ran = (count("task"), count("fd"));
        // One is stopped by itself, the others end with their conversations.
        let stopped = call(&sessions[0], "stop_command", json!({"handle": "cmd_1"})).await;
        assert_eq!(stopped.metadata["running"], json!(false), "{stopped:?}");
        for session in &sessions {
            session.end().await;
        }
        (before, while_they_ran, count("fd"))
    });
    let (threads, descriptors) = while_they_ran;
    assert!(threads < 24, "{threads} threads for {SILENT} commands");
    assert!(descriptors > before + SILENT, "they ran at the same time");
    // A sandbox that was made ahead meanwhile may stay.
    assert!(after <= before + 16, "{before} descriptors, then {after}");
}

fn a_cancelled_command_ends_while_it_is_silent() {
    let bench = Bench::new();
    let (events, mut arriving) = EventSink::channel(16);
    let mut passage = bench.passage(events);
    let cancel = tokio_util::sync::CancellationToken::new();
    passage.cancel = cancel.clone();
    let line = json!({"command": "echo begun; sleep 1000; echo never"});
    let work = bench.calling("run_command", line, passage);
    let result = bench.runtime.block_on(async {
        let result = tokio::spawn(work);
        while let Some(event) = arriving.recv().await {
            if matches!(event.kind, EventKind::OutputChunk { .. }) {
                cancel.cancel();
            }
        }
        result.await.unwrap()
    });
    assert_eq!(result.kind(), Some(ErrorKind::Cancelled));
    assert!(result.content.starts_with("begun\n"), "{result:?}");
}

fn without_a_sandbox_nothing_runs() {
    let bench = Bench::with(
        |commands| commands.sandbox = Err("the kernel is too old".into()).into(),
        &[],
    );
    let result = bench.call("run_command", json!({"command": "touch ran"}));
    assert_eq!(result.kind(), Some(ErrorKind::SandboxUnavailable));
    assert!(
        result
            .error
            .unwrap()
            .message
            .contains("the kernel is too old")
    );
    assert!(!bench.path("ran").exists());
}
