//! The house: who depends on whom, and who may touch the world.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every crate with the crates it may use.
const HOUSE: [(&str, &[&str]); 12] = [
    ("model", &[]),
    ("shell", &["model"]),
    ("policy", &["model", "shell"]),
    ("sandbox", &["model"]),
    ("providers", &["model"]),
    ("gate", &["model", "shell", "policy", "sandbox"]),
    ("journal", &["gate", "model"]),
    ("tools", &["gate", "model", "sandbox", "shell"]),
    ("engine", &["gate", "model", "providers"]),
    ("config", &["gate", "model", "policy", "sandbox"]),
    (
        "testkit",
        &[
            "gate",
            "journal",
            "model",
            "policy",
            "providers",
            "sandbox",
            "shell",
            "tools",
            "config",
        ],
    ),
    (
        "cli",
        &[
            "engine",
            "gate",
            "journal",
            "model",
            "policy",
            "providers",
            "sandbox",
            "shell",
            "tools",
            "config",
        ],
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// The names under `[dependencies]`, not those for tests.
fn uses(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside && let Some((name, _)) = line.split_once('=') {
            names.push(name.trim().trim_end_matches(".workspace").to_owned());
        }
    }
    names
}

#[test]
fn the_crate_graph_points_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = HOUSE.into_iter().collect();
    let mut rooms = Vec::new();
    for entry in std::fs::read_dir(crates()).unwrap() {
        let room = entry.unwrap().file_name().into_string().unwrap();
        let manifest = std::fs::read_to_string(crates().join(&room).join("Cargo.toml")).unwrap();
        let may = allowed
            .get(room.as_str())
            .unwrap_or_else(|| panic!("{room} is not in the house"));
        for name in uses(&manifest) {
            if let Some(other) = name.strip_prefix("toolgate-") {
                assert!(may.contains(&other), "{room} must not use {other}");
            }
        }
        rooms.push(room);
    }
    rooms.sort();
    let mut known: Vec<&str> = allowed.keys().copied().collect();
    known.sort_unstable();
    assert_eq!(rooms, known);
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The warden is this very program under another name, and knows itself by it.
const KNOWS_ITS_NAME: (&str, &str) = ("sandbox/src/command/mod.rs", "env::args");

#[test]
fn libraries_never_print_never_look_at_the_environment_and_never_exit() {
    for (room, _) in HOUSE
        .iter()
        .filter(|(room, _)| !["cli", "testkit"].contains(room))
    {
        let mut found = Vec::new();
        sources(&crates().join(room).join("src"), &mut found);
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for word in [
                "env::var",
                "env::args",
                "env::current_dir",
                "env::temp_dir",
                "println!(",
                "eprintln!(",
                "process::exit",
                "std::process::Command",
            ] {
                let used = code
                    .lines()
                    .any(|line| line.contains(word) && !line.trim_start().starts_with("//"));
                let excused = word == KNOWS_ITS_NAME.1 && path.ends_with(KNOWS_ITS_NAME.0);
                assert!(!used || excused, "{} uses {word}", path.display());
            }
        }
    }
}

/// The modules of the program that write to a terminal, and the one that makes what they take.
const PRINT: [&str; 3] = ["cli/src/out.rs", "cli/src/tty.rs", "cli/src/clean.rs"];

#[test]
fn the_program_prints_clean_text_through_one_door() {
    let mut found = Vec::new();
    sources(&crates().join("cli/src"), &mut found);
    for path in found {
        if PRINT.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in [
            "print!(",
            "println!(",
            "dbg!(",
            "io::stdout",
            "io::stderr",
            " stdout()",
            " stderr()",
            "(stdout()",
            "(stderr()",
            "/dev/tty",
            "/dev/std",
            "/dev/fd",
            "/proc/self/fd",
            "anstream",
            "Clean::said",
            "clean::Said",
            ".leak(",
            "Style(",
            "\\x1b",
            "\\u{1b}[",
        ] {
            // Keys that a terminal sends are no output.
            let excused = path.ends_with("cli/src/pages.rs") && word == "\\u{1b}[";
            assert!(
                excused || !code.contains(word),
                "{} has {word}: print through `Out` or `Tty`",
                path.display()
            );
        }
    }
}

#[test]
fn a_module_stays_small_enough_to_read() {
    let mut long = Vec::new();
    for (room, _) in HOUSE {
        let mut found = Vec::new();
        sources(&crates().join(room).join("src"), &mut found);
        for path in found {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            if lines > 500 {
                long.push(format!("{} {lines}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
