//! What durability costs: a commit against the bare write and sync of its bytes, commits
//! that wait together, and the check of a long record.
//!
//! Prints one JSON line per case: `{"name": …, "ours_ns": …}`, with `theirs_ns` and `ratio`
//! where there is something to compare with.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    missing_docs
)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use futures::future::join_all;
use toolgate_gate::journal::{Entry, Journal, Record};
use toolgate_journal::{Options, Reader, SqliteJournal};
use toolgate_model::{Args, ToolCall, ToolResult};

fn main() {
    let directory = tempfile::tempdir().unwrap();
    one_entry(directory.path());
    one_call(directory.path());
    together(directory.path());
    verify(directory.path());
}

fn open(path: &Path) -> SqliteJournal {
    SqliteJournal::open(path, Options::default()).unwrap()
}

fn received(conversation: &str, call: &str) -> Entry {
    let mut args = Args::new();
    args.insert("path".into(), "crates/journal/src/lib.rs".into());
    Entry {
        conversation: conversation.into(),
        call: call.into(),
        at_ms: 1_700_000_000_000,
        record: Record::Received {
            call: ToolCall::new(call, "read_file", args),
        },
    }
}

fn finished(conversation: &str, call: &str, bytes: usize) -> Entry {
    let result = ToolResult::ok(call.into(), "read_file", "x".repeat(bytes));
    Entry {
        record: Record::Finished {
            result: Box::new(result),
        },
        ..received(conversation, call)
    }
}

/// A file that is appended to and synced: the least that durability can cost.
struct Plain(File);

impl Plain {
    fn open(path: &Path) -> Self {
        Self(File::create(path).unwrap())
    }

    fn append(&mut self, entries: &[Entry]) {
        let mut bytes = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut bytes, entry).unwrap();
        }
        self.0.write_all(&bytes).unwrap();
        self.0.sync_data().unwrap();
    }
}

/// Measures two things in turn, many times each; the medians.
fn in_turn(rounds: usize, mut ours: impl FnMut(usize), mut theirs: impl FnMut(usize)) -> [f64; 2] {
    let mut taken: [Vec<Duration>; 2] = Default::default();
    for round in 0..rounds {
        let began = Instant::now();
        ours(round);
        let half = Instant::now();
        theirs(round);
        // The first rounds make the files.
        if round >= rounds / 10 {
            taken[0].push(half - began);
            taken[1].push(half.elapsed());
        }
    }
    taken.map(|mut all| {
        all.sort_unstable();
        all[all.len() / 2].as_secs_f64() * 1e9
    })
}

fn compared(name: &str, [ours, theirs]: [f64; 2]) {
    let ratio = ours / theirs;
    println!(
        "{{\"name\":\"{name}\",\"ours_ns\":{ours:.0},\"against\":\"write_and_sync\",\"theirs_ns\":{theirs:.0},\"ratio\":{ratio:.2}}}"
    );
}

fn alone(name: &str, ours: f64) {
    println!("{{\"name\":\"{name}\",\"ours_ns\":{ours:.0}}}");
}

fn one_entry(directory: &Path) {
    for bytes in [100, 4_000, 100_000] {
        let journal = open(&directory.join(format!("entry-{bytes}.db")));
        let mut plain = Plain::open(&directory.join(format!("entry-{bytes}.log")));
        let opening = |n: usize| vec![received("c", &n.to_string())];
        for n in 0..1000 {
            block_on(journal.commit(opening(n))).unwrap();
        }
        let entry = |n: usize| vec![finished("c", &n.to_string(), bytes)];
        let figures = in_turn(
            500,
            |n| block_on(journal.commit(entry(n))).unwrap(),
            |n| plain.append(&entry(n)),
        );
        compared(&format!("commit_one_entry_of_{bytes}_bytes"), figures);
    }
}

/// What a call that runs costs: one commit before the effect, one after.
fn one_call(directory: &Path) {
    let journal = open(&directory.join("call.db"));
    let mut plain = Plain::open(&directory.join("call.log"));
    let commit = |n: usize| {
        let call = (n / 2).to_string();
        if n.is_multiple_of(2) {
            vec![received("c", &call)]
        } else {
            vec![finished("c", &call, 2_000)]
        }
    };
    let figures = in_turn(
        600,
        |n| block_on(journal.commit(commit(n))).unwrap(),
        |n| plain.append(&commit(n)),
    );
    compared("commit_of_a_call", figures);
}

fn together(directory: &Path) {
    for waiting in [1_usize, 8, 64] {
        let journal = open(&directory.join(format!("together-{waiting}.db")));
        let rounds = 100;
        let began = Instant::now();
        for round in 0..rounds {
            let commits = (0..waiting).map(|n| {
                let entry = received(&format!("c{n}"), &round.to_string());
                journal.commit(vec![entry])
            });
            for end in block_on(join_all(commits)) {
                end.unwrap();
            }
        }
        let each = began.elapsed().as_secs_f64() * 1e9 / (rounds * waiting) as f64;
        alone(&format!("commit_with_{waiting}_waiting"), each);
    }
}

fn verify(directory: &Path) {
    let path = directory.join("long.db");
    let journal = open(&path);
    let mut number = 0;
    for commit in 0..100 {
        let conversation = format!("c{}", commit % 10);
        let entries = (0..500).flat_map(|_| {
            number += 1;
            let call = number.to_string();
            [
                received(&conversation, &call),
                finished(&conversation, &call, 300),
            ]
        });
        let entries = entries.collect();
        block_on(journal.commit(entries)).unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    let best = (0..3)
        .map(|_| {
            let began = Instant::now();
            let verified = reader.verify(None).unwrap();
            assert!(verified.is_sound() && verified.entries == 100_000);
            began.elapsed()
        })
        .min()
        .unwrap_or_default();
    alone("verify_100000_entries", best.as_secs_f64() * 1e9);
}
