//! What a call of a file tool costs from one end of the line to the other.
//!
//! Prints the best, the median and the 99th hundredth of each, in microseconds.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{Gate, Passage};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Call, ToolCall};
use toolgate_sandbox::paths::{PathRules, PathWall};
use toolgate_tools::{ToolSettings, register_all};

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
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
    let wall = PathWall::open(&PathRules::new(folder.path())).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    let passage = Passage {
        approver: Some(Arc::new(ApproveAll)),
        ..Passage::default()
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
        let gate = Gate::builder(Arc::clone(&registry), wall.clone(), journal)
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
}
