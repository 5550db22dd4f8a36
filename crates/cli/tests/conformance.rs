//! Every test that docs/conformance.md names exists and is run.

#![allow(clippy::unwrap_used, clippy::panic, clippy::string_slice)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_path_buf()
}

#[test]
fn every_test_named_in_the_conformance_table_exists_and_is_run() {
    let root = root();
    let table = std::fs::read_to_string(root.join("docs/conformance.md")).unwrap();
    let mut named = 0;
    for row in table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
    {
        let tests = row.split('|').nth(3).unwrap_or_default();
        for cell in tests
            .split(", ")
            .filter(|cell| cell.contains('(') && cell.trim_start().starts_with('`'))
        {
            let (name, file) = cell
                .trim()
                .split_once(" (")
                .unwrap_or_else(|| panic!("{cell}"));
            let (name, file) = (name.trim_matches('`'), file.trim_end_matches(')'));
            let text = std::fs::read_to_string(root.join("crates").join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            if let Err(why) = runs(&text, name, has_own_main(&root, file)) {
                panic!("{name} of {file}: {why}");
            }
            assert!(is_compiled(&root, file), "nothing includes {file}");
            named += 1;
        }
    }
    assert!(named > 100, "only {named} tests are named");
}

/// Whether the function of this name is a test that a run of the file calls.
fn runs(text: &str, name: &str, own_main: bool) -> Result<(), &'static str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = format!("fn {name}(");
    let Some(at) = lines.iter().position(|line| {
        line.strip_prefix("async ")
            .unwrap_or(line)
            .starts_with(&starts)
    }) else {
        return Err("there is no such function");
    };
    if own_main {
        // A program with a `main` of its own runs what its list names.
        let list = text.split_once("const TRIALS: &[Trial] = &[");
        let list = list.and_then(|(_, rest)| rest.split_once("\n];"));
        let list = list.map_or("", |(list, _)| list);
        let code = list.split('"').step_by(2);
        let mut words =
            code.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '_')));
        return match words.any(|word| word == name) {
            true => Ok(()),
            false => Err("the list of the program's own main does not name it"),
        };
    }
    let mut attributes = lines
        .iter()
        .take(at)
        .rev()
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let is_test = |line: &&&str| **line == "#[test]" || line.starts_with("#[tokio::test");
    match attributes.clone().any(|line| line.starts_with("#[ignore")) {
        true => Err("it is ignored"),
        false if attributes.any(|line| is_test(&line)) => Ok(()),
        false => Err("it is no test"),
    }
}

/// Whether a file of tests is a program with a `main` of its own.
fn has_own_main(root: &Path, file: &str) -> bool {
    let Some((room, test)) = file.split_once("/tests/") else {
        return false;
    };
    let manifest = std::fs::read_to_string(root.join("crates").join(room).join("Cargo.toml"));
    let name = format!("name = \"{}\"", test.trim_end_matches(".rs"));
    manifest.unwrap().split("[[").any(|section| {
        section.starts_with("test]]")
            && section.lines().any(|line| line == name)
            && section.lines().any(|line| line == "harness = false")
    })
}

/// Whether a file is a program of tests or part of one: a directory's parts are named in its `main.rs`.
fn is_compiled(root: &Path, file: &str) -> bool {
    let Some((directory, part)) = file.rsplit_once('/') else {
        return false;
    };
    let part = part.trim_end_matches(".rs");
    if directory.ends_with("/tests") || part == "main" || !directory.contains("/tests/") {
        return true;
    }
    let main = std::fs::read_to_string(root.join("crates").join(directory).join("main.rs"));
    main.is_ok_and(|main| main.lines().any(|line| line == format!("mod {part};")))
}

#[test]
fn a_function_is_a_test_only_where_something_runs_it() {
    let program = "const TRIALS: &[Trial] = &[\n    (\"walks\", walks),\n    (\n        \"stands\",\n        sits,\n    ),\n];\nfn walks() {}\nfn sits() {}\nfn stands() {}\n";
    for (text, name, own_main, runs_it) in [
        ("#[test]\nfn holds() {}\n", "holds", false, true),
        (
            "    #[test]\n    fn holds(x in 0..3) {}\n",
            "holds",
            false,
            true,
        ),
        (
            "#[tokio::test]\nasync fn holds() {}\n",
            "holds",
            false,
            true,
        ),
        (
            "/// Why.\n#[test]\n// Where.\n#[cfg(unix)]\nfn holds() {}\n",
            "holds",
            false,
            true,
        ),
        ("fn holds() {}\n", "holds", false, false),
        (
            "#[test]\nfn other() {}\n\nfn holds() {}\n",
            "holds",
            false,
            false,
        ),
        ("#[test]\n#[ignore]\nfn holds() {}\n", "holds", false, false),
        ("// fn holds() {}\n", "holds", false, false),
        ("#[test]\nfn holds_more() {}\n", "holds", false, false),
        (program, "walks", true, true),
        (program, "sits", true, true),
        (program, "stands", true, false),
        ("#[test]\nfn holds() {}\n", "holds", true, false),
    ] {
        assert_eq!(
            runs(text, name, own_main).is_ok(),
            runs_it,
            "{name} in {text}"
        );
    }
}
