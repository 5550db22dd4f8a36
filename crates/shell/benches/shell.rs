//! What it costs to state the facts of a line: one JSON line per case.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_shell::{LineContext, analyse};

const TWENTY: &str = "cd src && git status -s && git diff --stat HEAD~1 | head -20; cargo check --workspace \
    2>&1 | tee ../check.log; rg -n 'fn main' . | sort -u > ../mains.txt; for f in a b c; do wc -l \"$f.rs\"; done; \
    if [ -f ../Cargo.toml ]; then cargo test -p shell -- --nocapture; else echo \"none: $?\"; fi; \
    find . -name '*.orig' -exec rm {} +; sed -i 's/old/new/g' lib.rs; mkdir -p ../out/x; cp lib.rs ../out/x/; \
    curl -fsSL https://example.com/data.json -o ../data.json; jq '.items[]' ../data.json | awk '{print $1}'; \
    tar czf ../src.tgz .; env RUST_LOG=debug timeout 60 cargo run -- --help; echo done";

fn main() {
    let context = LineContext {
        cwd: "",
        home: Some("/home/ann"),
        roots: &["/home/ann/work"],
    };
    let words = format!("cat {}", "a ".repeat(100_000));
    let commands = "cat a | wc -l; ".repeat(200_000 / 15);
    let variables: String = (0..12_000).map(|n| format!("v{n}=a; ls; ")).collect();
    let hidden = format!("{}rm -rf /", "true && ".repeat(50));
    let cases = [
        ("shell_one_command", "git status --short"),
        ("shell_twenty_commands", TWENTY),
        (
            "shell_nested_wrappers",
            "sudo env -i timeout 5 bash -lc \"sh -c 'rm -rf /'\"",
        ),
        ("shell_long_chain", hidden.as_str()),
        ("shell_200_kb_of_words", words.as_str()),
        ("shell_200_kb_of_pipes", commands.as_str()),
        ("shell_200_kb_of_variables", variables.as_str()),
    ];
    for (name, line) in cases {
        let rounds = if line.len() > 10_000 { 20 } else { 2_000 };
        let commands = analyse(line, &context).commands.len();
        let nanoseconds = median(rounds, || {
            black_box(analyse(black_box(line), &context));
        });
        println!("{{\"name\":\"{name}\",\"ours_ns\":{nanoseconds},\"commands\":{commands}}}");
    }
}

/// The median of many short runs, in nanoseconds.
fn median(rounds: usize, mut run: impl FnMut()) -> u128 {
    for _ in 0..rounds / 10 {
        run();
    }
    let mut times: Vec<u128> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
