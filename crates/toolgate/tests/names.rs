//! One meaning per name: no two modules of the library re-export different things as one name.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

/// The re-exports of a source file: the name and the item it stands for.
fn re_exports(source: &str) -> Vec<(String, String)> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join(" ");
    let mut found = Vec::new();
    for statement in code.split(';') {
        if let Some((_, tree)) = statement.split_once("pub use ") {
            expand("", tree.trim(), &mut found);
        }
    }
    found
}

/// Adds every item of a tree such as `a::{b, c::{D as E}}`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let inside = rest.strip_suffix('}').unwrap();
        let mut depth = 0;
        for part in inside.split(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        }) {
            if !part.trim().is_empty() {
                expand(&format!("{prefix}{head}"), part, found);
            }
        }
        return;
    }
    let (path, name) = match tree.split_once(" as ") {
        Some((path, name)) => (path.trim(), name.trim()),
        None => (tree, tree.rsplit("::").next().unwrap()),
    };
    let path = format!("{prefix}{path}").replace("workspace::", "toolgate::");
    found.push((name.to_owned(), path));
}

/// The crate and the last word of a path: crates re-export their own items at several places.
fn item(path: &str) -> String {
    let words: Vec<&str> = path.split("::").collect();
    format!("{}…{}", words.first().unwrap(), words.last().unwrap())
}

#[test]
fn every_name_has_one_meaning() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut meanings: BTreeMap<String, String> = BTreeMap::new();
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        for (name, from) in re_exports(&std::fs::read_to_string(&path).unwrap()) {
            assert!(!name.contains('*'), "{from} in {}", path.display());
            let meaning = item(&from);
            let known = meanings.entry(name.clone()).or_insert(meaning.clone());
            assert_eq!(*known, meaning, "{name} in {}", path.display());
        }
    }
    assert!(meanings.len() > 150, "only {} names found", meanings.len());
    // These mean different things in different crates.
    for name in [
        "Settings",
        "Mode",
        "Answer",
        "Definition",
        "Outcome",
        "Step",
        "Entry",
        "Limits",
        "Options",
        "Network",
        "Resolved",
        "Text",
        "Seen",
        "Conversation",
        "Context",
    ] {
        assert!(!meanings.contains_key(name), "{name} says too little");
    }
}

#[test]
fn re_exports_are_read_from_source() {
    let found = re_exports("pub use a::b::{C, D as E, f::{G, H as I}};\npub use x::Y;");
    let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
    let expected = [
        ("C", "a::b::C"),
        ("E", "a::b::D"),
        ("G", "a::b::f::G"),
        ("I", "a::b::f::H"),
        ("Y", "x::Y"),
    ];
    assert_eq!(found, expected);
}
