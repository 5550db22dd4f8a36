//! Every test that docs/conformance.md names exists.

#![allow(clippy::unwrap_used, clippy::panic, clippy::string_slice)]

use std::path::Path;

#[test]
fn every_test_named_in_the_conformance_table_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_path_buf();
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
            let path = root.join("crates").join(file.trim_end_matches(')'));
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = name.trim_matches('`');
            assert!(
                text.contains(&format!("fn {name}(")),
                "{name} is not in {}",
                path.display()
            );
            named += 1;
        }
    }
    assert!(named > 100, "only {named} tests are named");
}
