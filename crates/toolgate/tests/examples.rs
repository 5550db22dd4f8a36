//! Every example runs, says what it should, and is short enough to read.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]
#![cfg(all(feature = "providers", feature = "sandbox", feature = "tools"))]

use std::path::{Path, PathBuf};
use std::process::Command;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The example that Cargo built beside this test, from the sources as they are now.
///
/// Building it here would build everything again with other features.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let build = "build it with `cargo test --package toolgate`";
    let written = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified());
    let built = written(&program).unwrap_or_else(|_| panic!("{name} is missing; {build}"));
    let sources = std::fs::read_to_string(program.with_extension("d")).unwrap();
    let (_, sources) = sources.trim().split_once(": ").unwrap();
    let sources = sources.replace("\\ ", "\0");
    for source in sources.split(' ').map(|source| source.replace('\0', " ")) {
        let changed = written(Path::new(&source)).unwrap();
        assert!(changed <= built, "{name} is older than {source}; {build}");
    }
    program
}

fn source(name: &str) -> String {
    std::fs::read_to_string(here().join("examples").join(format!("{name}.rs"))).unwrap()
}

const EXAMPLES: [(&str, &[&str]); 7] = [
    (
        "hello",
        &[
            "Greet Ada? (medium risk)",
            "1: Hello, Ada!",
            "2: greet failed",
        ],
    ),
    (
        "agent",
        &[
            "ask write_file",
            "deny read_file",
            "write_file Ok",
            "run_command Ok",
            "Done(EndTurn): The greeting is written.",
        ],
    ),
    (
        "policy_only",
        &[
            "allow cargo test --workspace",
            "Open a pull request instead.",
            "ask   make",
            "deny  sudo make install",
            "deny  rm -rf ~",
        ],
    ),
    ("budget", &["first: 3 of 5 ran", "second: 3 of 5 ran"]),
    (
        "own_journal",
        &["Ok", "1 started", "1 intended", "1 finished"],
    ),
    ("own_provider", &["Done(EndTurn): 3 words"]),
    (
        "many_conversations",
        &["100 of 100 conversations went well"],
    ),
];

#[test]
fn examples_run_and_say_what_they_should() {
    for (name, lines) in EXAMPLES {
        let output = Command::new(program(name)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}{errors}");
        let mut rest = &*said;
        for line in lines {
            let (_, after) = rest
                .split_once(line)
                .unwrap_or_else(|| panic!("{name} does not say {line:?} in its place:\n{said}"));
            rest = after;
        }
    }
}

#[test]
fn every_example_is_tested_and_under_80_lines() {
    let mut names: Vec<String> = std::fs::read_dir(here().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut tested = EXAMPLES.map(|(name, _)| name);
    tested.sort_unstable();
    assert_eq!(names, tested);
    for name in names {
        let lines = source(&name).lines().count();
        assert!(lines < 80, "{name} has {lines} lines");
    }
}

#[test]
fn the_readme_shows_the_first_example() {
    let readme = std::fs::read_to_string(here().join("../../README.md")).unwrap();
    let section = readme.split("## As a library").nth(1).unwrap();
    let block = section.split("```rust\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    // The description and the lints at the top are for this repository.
    let hello = source("hello");
    let (_, code) = hello.split_once("\n\n").unwrap();
    assert_eq!(block, code, "copy examples/hello.rs into README.md");
}
