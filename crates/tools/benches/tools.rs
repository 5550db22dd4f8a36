//! What a call of a file tool costs from one end of the line to the other.
//!
//! Prints the best, the median and the 99th hundredth of each, in microseconds; and for the
//! tools that change files how many times the work that the change itself needs: reading,
//! writing beside, one sync and a rename, as anybody would code it.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Rules};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, Call, ToolCall};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::{ToolSettings, register_all};

/// Changes a file the plain way: read, exchange, write beside it, sync, rename.
fn plainly(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let new = text.replacen(from, to, 1);
    let beside = path.with_extension("tmp");
    let mut file = File::create(&beside).unwrap();
    file.write_all(new.as_bytes()).unwrap();
    file.sync_all().unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// Waits until a directory's entries are on disk.
fn sync_directory(directory: &Path) {
    File::open(directory).unwrap().sync_all().unwrap();
}

/// The same change through the line and plainly, by turns; the ratio of the medians.
fn against(name: &str, rounds: usize, mut ours: impl FnMut(usize), mut plain: impl FnMut(usize)) {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let began = Instant::now();
        ours(round);
        one.push(began.elapsed());
        let began = Instant::now();
        plain(round);
        other.push(began.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        *times.get(times.len() / 2).unwrap()
    };
    let (one, other) = (median(&mut one), median(&mut other));
    println!(
        "{name:<34} {:>7} µs, plainly {:>7} µs: {:.2} times",
        one.as_micros(),
        other.as_micros(),
        one.as_secs_f64() / other.as_secs_f64()
    );
}

/// What changing files costs beside the plain work.
fn changes(registry: &Arc<Registry>, runtime: &tokio::runtime::Runtime, passage: &BatchContext) {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    let gate = |action| {
        let mut rules = Rules::default();
        rules.settings.default_action = Some(action);
        let journal = Arc::new(MemoryJournal::new());
        Gate::builder(Arc::clone(registry), rules, sandbox.clone(), journal)
            .build()
            .unwrap()
    };
    let (asking, allowing) = (gate(Action::Ask), gate(Action::Allow));
    let call = |gate: &Gate, tool: &str, args: Value, session: &Arc<Session>, number: usize| {
        let args = args.as_object().unwrap().clone();
        let call = Call::Whole(ToolCall::new(number.to_string(), tool, args));
        let results = runtime.block_on(gate.run(session, vec![call], passage));
        assert!(
            results.iter().all(|result| result.error.is_none()),
            "{results:?}"
        );
    };
    // A person's own calls: nothing has to be read first.
    let session = Arc::new(Session::new("bench").without_staleness());
    let line = "let answer = compute(&question); // a line of code\n";
    let large = format!(
        "{}let mark = 0;\n{}",
        line.repeat(10_280),
        line.repeat(10_280)
    );
    for name in ["ours.rs", "plain.rs"] {
        std::fs::write(directory.path().join(name), &large).unwrap();
    }
    let mark = |round: usize| format!("let mark = {round};");
    // Asking adds a preview before the question and another look after it.
    for (name, gate, first) in [
        ("edit_file, 1 MiB", &allowing, 0),
        ("edit_file, 1 MiB, asked", &asking, 100),
    ] {
        against(
            name,
            100,
            |round| {
                let round = first + round;
                let edit = json!({"target": mark(round), "replacement": mark(round + 1)});
                let args = json!({"path": "ours.rs", "edits": [edit]});
                call(gate, "edit_file", args, &session, round);
            },
            |round| {
                let round = first + round;
                let path = directory.path().join("plain.rs");
                plainly(&path, &mark(round), &mark(round + 1));
                sync_directory(directory.path());
            },
        );
    }
    for count in [10, 200] {
        let small = format!("{}let mark = 0;\n{}", line.repeat(20), line.repeat(20));
        for side in ["ours", "plain"] {
            let place = directory.path().join(format!("{side}{count}"));
            std::fs::create_dir(&place).unwrap();
            for n in 0..count {
                std::fs::write(place.join(format!("{n}.rs")), &small).unwrap();
            }
        }
        let patch = |round: usize| {
            let sections = (0..count).map(|n| {
                format!(
                    "F ours{count}/{n}.rs\nR\n{}\n.\n{}\n.\n",
                    mark(round),
                    mark(round + 1)
                )
            });
            format!("LP1\n{}END\n", sections.collect::<String>())
        };
        let place = directory.path().join(format!("plain{count}"));
        against(
            &format!("apply_patch, {count} files"),
            if count == 10 { 60 } else { 12 },
            |round| {
                call(
                    &allowing,
                    "apply_patch",
                    json!({"patch": patch(round)}),
                    &session,
                    round,
                )
            },
            |round| {
                for n in 0..count {
                    plainly(
                        &place.join(format!("{n}.rs")),
                        &mark(round),
                        &mark(round + 1),
                    );
                }
                sync_directory(&place);
            },
        );
    }
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let line = "let answer = compute(&question); // a line of code\n";
    put("small.rs", &line.repeat(41));
    put("large.rs", &line.repeat(1_200));
    for n in 0..1_000 {
        put(&format!("tree/d{}/f{n}.rs", n % 20), &line.repeat(20));
    }
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    let passage = BatchContext {
        approver: Some(Arc::new(ApproveAll)),
        ..BatchContext::default()
    };
    let registry = Arc::new(registry);
    for (name, tool, args, rounds) in [
        (
            "read_file, 2 KiB",
            "read_file",
            json!({"path": "small.rs"}),
            2_000,
        ),
        (
            "read_file, 60 KiB",
            "read_file",
            json!({"path": "large.rs"}),
            1_000,
        ),
        (
            "read_file, 10 lines",
            "read_file",
            json!({"path": "large.rs", "offset": 500, "limit": 10}),
            1_000,
        ),
        (
            "list_directory",
            "list_directory",
            json!({"path": "tree"}),
            1_000,
        ),
        (
            "glob, 1,000 files",
            "glob",
            json!({"pattern": "**/f99*.rs"}),
            100,
        ),
        (
            "grep, 1,000 files",
            "grep",
            json!({"pattern": "nothing of this"}),
            50,
        ),
        ("write_file, new", "write_file", Value::Null, 200),
    ] {
        let journal = Arc::new(MemoryJournal::new());
        let gate = Gate::builder(
            Arc::clone(&registry),
            toolgate_gate::Rules::nothing_to_check(),
            sandbox.clone(),
            journal,
        )
        .build()
        .unwrap();
        let session = Arc::new(Session::new("bench"));
        let mut taken: Vec<Duration> = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let args = match &args {
                Value::Object(args) => args.clone(),
                _ => {
                    let args = json!({"path": format!("new/{round}.txt"), "content": line});
                    args.as_object().unwrap().clone()
                }
            };
            let call = Call::Whole(ToolCall::new(round.to_string(), tool, args));
            let began = Instant::now();
            let results = runtime.block_on(gate.run(&session, vec![call], &passage));
            taken.push(began.elapsed());
            assert!(
                results.iter().all(|result| result.error.is_none()),
                "{results:?}"
            );
        }
        taken.sort();
        let at = |hundredth: usize| {
            taken
                .get(taken.len() * hundredth / 100)
                .unwrap()
                .as_micros()
        };
        println!(
            "{name:<22} {:>7} best {:>7} median {:>7} p99 µs",
            at(0),
            at(50),
            at(99)
        );
    }
    changes(&registry, &runtime, &passage);
}
