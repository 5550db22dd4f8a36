//! The full example of the configuration's page works as it is printed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::Bench;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/configuration.md");

fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_example_is_loaded_its_rules_hold_and_its_tools_run() {
    let bench = Bench::new();
    bench.home("config.toml", example());
    // Its own journal is not for tests to write to.
    let run = |args: &[&str]| {
        let journal = bench.home_directory().join("journal.db");
        bench.run(&[args, &["--journal", journal.to_str().unwrap()]].concat())
    };

    let checked = run(&["policy", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let told = format!("{}{}", checked.stdout, checked.stderr);
    assert!(told.contains("0 findings"), "{told}");

    let offered = run(&["tools"]);
    let offered: Vec<Value> = serde_json::from_str(&offered.stdout).unwrap();
    let named = |name: &str| offered.iter().any(|tool| tool["name"] == name);
    assert!(named("bash") && !named("run_command"), "{offered:?}");

    std::fs::create_dir(bench.workspace().join("src")).unwrap();
    bench.write("src/a.txt", "here\n");
    let read = run(&["exec", "file_read", r#"{"path": "src/a.txt"}"#]);
    assert_eq!(read.code, Some(0), "{read:?}");
    for (line, code) in [("cargo test -p x", 0), ("git diff", 0), ("dd if=a of=b", 3)] {
        let args = serde_json::json!({ "command": line }).to_string();
        let explained = run(&["policy", "explain", "bash", &args]);
        assert_eq!(explained.code, Some(code), "{line}: {explained:?}");
    }

    // The recording it speaks of.
    bench.write("demo.toml", "[[steps]]\ntext = \"played\"\n");
    let played = run(&[
        "run",
        "--provider",
        "recorded",
        "--preset",
        "review",
        "hello",
    ]);
    assert_eq!(played.code, Some(0), "{played:?}");
    assert_eq!(played.stdout, "played\n");
}
