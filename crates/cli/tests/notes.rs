//! Eight programs at once on one memory and one list of tasks: nothing is lost, nothing doubled.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeSet;

use program::{Bench, Done, finish};
use serde_json::{Value, json};

const PROGRAMS: usize = 8;

/// How many calls all of them make together; more in `cargo xtask soak`.
fn operations() -> usize {
    let given = std::env::var("TOOLGATE_NOTES").ok();
    given.map_or(320, |count| count.parse().unwrap())
}

/// One program that makes all of these calls.
fn batch(bench: &Bench, calls: &[Value]) -> Done {
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let mut command = bench.toolgate();
    command.args(["batch", "--unlimited", "--approve", "all"]);
    finish(command, lines.as_bytes())
}

fn results(done: &Done) -> Vec<Value> {
    let lines = done.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn eight_programs_lose_nothing_of_each_others_notes() {
    let bench = Bench::new();
    // Of every four calls two add, one changes what it added, one removes it.
    let rounds = operations() / PROGRAMS / 4;
    let made: Vec<Done> = std::thread::scope(|scope| {
        let programs: Vec<_> = (0..PROGRAMS)
            .map(|program| {
                let bench = &bench;
                scope.spawn(move || {
                    let calls: Vec<Value> = (0..rounds)
                        .flat_map(|round| {
                            let key = format!("k{program}_{round}");
                            let value = format!("v{program}_{round}");
                            let gone = format!("g{program}_{round}");
                            [
                                ("memory", json!({"action": "set", "key": key, "value": value})),
                                ("memory", json!({"action": "set", "key": gone, "value": "x"})),
                                ("memory", json!({"action": "delete", "key": gone})),
                                ("write_todos", json!({"action": "add", "task": value})),
                            ]
                        })
                        .enumerate()
                        .map(|(n, (name, args))| json!({"id": format!("c{n}"), "name": name, "args": args}))
                        .collect();
                    batch(bench, &calls)
                })
            })
            .collect();
        programs
            .into_iter()
            .map(|program| program.join().unwrap())
            .collect()
    });
    for done in &made {
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert_eq!(results(done).len(), rounds * 4);
    }
    let mut numbers = BTreeSet::new();
    for result in made.iter().flat_map(results) {
        assert_eq!(result["status"], "ok", "{result}");
        if result["tool"] == "write_todos" {
            let id = result["metadata"]["id"].to_string();
            assert!(numbers.insert(id), "a number twice: {result}");
        }
    }
    let all: Vec<(usize, usize)> = (0..PROGRAMS)
        .flat_map(|program| (0..rounds).map(move |round| (program, round)))
        .collect();
    let mut look = vec![
        json!({"id": "keys", "name": "memory", "args": {"action": "list"}}),
        json!({"id": "tasks", "name": "write_todos", "args": {"action": "list"}}),
    ];
    look.extend(all.iter().map(|(program, round)| {
        let key = format!("k{program}_{round}");
        json!({"id": key, "name": "memory", "args": {"action": "get", "key": key}})
    }));
    let looked = results(&batch(&bench, &look));
    for listed in &looked[..2] {
        assert_eq!(listed["metadata"]["count"], all.len(), "{listed}");
    }
    assert_eq!(numbers.len(), all.len());
    for ((program, round), got) in all.iter().zip(&looked[2..]) {
        assert_eq!(got["content"], format!("v{program}_{round}"), "{got}");
    }
    let verified = bench.run(&["journal", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
