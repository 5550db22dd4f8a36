//! The house: who depends on whom, and who may touch the world.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// Every crate with the crates it may use, as the table in ARCHITECTURE.md says.
fn layout() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(crates().join("../ARCHITECTURE.md")).unwrap();
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| crate | job | may use |"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let cells: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [name, _, may_use] = cells[..] else {
                panic!("{row} has not three cells")
            };
            (name.trim_matches('`').to_owned(), may_use.to_owned())
        })
        .collect();
    let all: BTreeSet<String> = cells.iter().map(|(name, _)| name.clone()).collect();
    let may_use = |cell: &str| {
        let named = |cell: &str| -> BTreeSet<String> {
            let words = cell.split(", ").filter(|word| !word.is_empty());
            words
                .map(|word| word.trim_matches('`').to_owned())
                .collect()
        };
        match cell.strip_prefix("all but ") {
            Some(cell) => all.difference(&named(cell)).cloned().collect(),
            None => named(cell),
        }
    };
    let layout: BTreeMap<_, _> = cells
        .iter()
        .map(|(name, cell)| (name.clone(), may_use(cell)))
        .collect();
    for name in layout.values().flatten() {
        assert!(
            all.contains(name),
            "the table names `{name}`, which is no crate"
        );
    }
    layout
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
    let allowed = layout();
    let mut rooms = Vec::new();
    for entry in std::fs::read_dir(crates()).unwrap() {
        let room = entry.unwrap().file_name().into_string().unwrap();
        let manifest = std::fs::read_to_string(crates().join(&room).join("Cargo.toml")).unwrap();
        let may = allowed
            .get(room.as_str())
            .unwrap_or_else(|| panic!("{room} is not in the table of ARCHITECTURE.md"));
        for name in uses(&manifest) {
            let other = name.strip_prefix("toolgate-");
            if let Some(other) = other.or((name == "toolgate").then_some("toolgate")) {
                assert!(may.contains(other), "{room} must not use {other}");
            }
        }
        rooms.push(room);
    }
    rooms.sort();
    let known: Vec<String> = allowed.into_keys().collect();
    assert_eq!(rooms, known);
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
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
    let libraries = layout().into_keys();
    for room in libraries.filter(|room| !["cli", "testkit"].contains(&room.as_str())) {
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

/// The Rust files under a directory of every crate that have more lines than `most`.
fn longer_than(most: usize, directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for room in layout().into_keys() {
        let directory = crates().join(room).join(directory);
        if directory.is_dir() {
            sources(&directory, &mut found);
        }
    }
    assert!(
        found.len() > 50,
        "only {} files in {directory}",
        found.len()
    );
    let long = found.iter().filter_map(|path| {
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        (lines > most).then(|| format!("{} {lines}", path.display()))
    });
    long.collect()
}

#[test]
fn a_module_stays_small_enough_to_read() {
    let long = longer_than(500, "src");
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_test_file_has_at_most_a_thousand_lines() {
    let long = longer_than(1_000, "tests");
    assert!(long.is_empty(), "{long:#?}");
}

/// The documents of the repository, from its root.
fn documents() -> Vec<PathBuf> {
    let root = crates().parent().unwrap().to_path_buf();
    let mut found = Vec::new();
    for directory in [root.clone(), root.join("docs"), root.join(".github")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The headings of a document, as links name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    titles
        .map(|title| {
            let letters = title.chars().map(|c| if c == ' ' { '-' } else { c });
            letters
                .filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c))
                .collect()
        })
        .collect()
}

#[test]
fn links_between_documents_lead_to_files_and_headings() {
    let documents = documents();
    assert!(documents.len() > 8, "{documents:?}");
    let mut broken = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let leads = match anchor {
                "" => target.exists(),
                anchor => std::fs::read_to_string(&target)
                    .is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
