//! Laws of reading and writing files.

use proptest::prelude::*;
use serde_json::json;
use toolgate_model::ErrorKind;

use crate::fixture::Workspace;
use crate::tree::Directories;

const CASES: u32 = 256;

/// Runs a law with one gate for all cases.
pub(crate) fn hold<S: Strategy>(
    strategy: S,
    law: impl Fn(&Workspace, &str, S::Value) -> Result<(), TestCaseError>,
) {
    let (ws, directories) = (Workspace::new(), Directories::default());
    let config = ProptestConfig {
        failure_persistence: None,
        ..toolgate_testkit::laws(CASES)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let held = runner.run(&strategy, |value| law(&ws, &directories.next(), value));
    if let Err(error) = held {
        panic!("{error}");
    }
}

/// Any text a file can hold: no NUL, which would make it binary, and no mark, which is not text.
fn texts() -> impl Strategy<Value = String> {
    let c = prop_oneof![
        4 => prop::char::range('a', 'e'),
        2 => prop::sample::select(vec!['\n', '\r', '\t', ' ', '\u{1b}', '"', '\\']),
        1 => any::<char>().prop_filter("no NUL and no mark", |c| !matches!(c, '\0' | '\u{feff}')),
    ];
    prop::collection::vec(c, 0..60).prop_map(|chars| chars.into_iter().collect())
}

#[test]
fn property_06_file_read_round_trip() {
    hold(texts(), |ws, directory, text| {
        let path = format!("{directory}/f.txt");
        ws.ok("write_file", json!({"path": path, "content": text}));
        prop_assert_eq!(ws.get(&path), text.as_bytes());
        prop_assert_eq!(ws.read(&path), text);
        Ok(())
    });
}

#[test]
fn property_07_file_read_line_range_slicing() {
    let lines = prop::collection::vec("[a-c\r]{0,4}", 1..12);
    let strategy = (lines, any::<bool>(), 1_usize..14, 0_usize..14);
    hold(strategy, |ws, directory, (lines, ended, start, more)| {
        let path = format!("{directory}/f.txt");
        let text = lines.join("\n") + if ended { "\n" } else { "" };
        ws.put(&path, &text);
        let end = start + more;
        let parts: Vec<&str> = text.split('\n').collect();
        let total = parts.len() - usize::from(text.ends_with('\n') || text.is_empty());
        let args = json!({"path": path, "start_line": start, "end_line": end});
        let result = ws.call("read_file", args);
        if start > total.max(1) {
            prop_assert_eq!(result.kind(), Some(ErrorKind::BadArgs));
        } else {
            prop_assert_eq!(
                result.content,
                parts[start - 1..end.min(parts.len())].join("\n")
            );
            prop_assert_eq!(&result.metadata["total_lines"], &json!(total));
            let numbered =
                json!({"path": path, "start_line": start, "end_line": end, "line_numbers": true});
            let numbers: Vec<usize> = ws
                .ok("read_file", numbered)
                .lines()
                .filter_map(|line| line.split_once('\t')?.0.trim().parse().ok())
                .collect();
            prop_assert_eq!(numbers, (start..=end.min(total)).collect::<Vec<_>>());
        }
        Ok(())
    });
}

#[test]
fn property_08_file_read_error_handling() {
    hold("[a-z]{1,8}(/[a-z]{1,8}){0,3}", |ws, directory, name| {
        let (kind, message) = ws.fails("read_file", json!({"path": format!("{directory}/{name}")}));
        prop_assert_eq!(kind, ErrorKind::NotFound);
        prop_assert!(message.contains(&name), "{}", message);
        Ok(())
    });
}

#[test]
fn property_09_multiple_file_read_formatting() {
    let names = prop::collection::btree_map("[a-z]{1,6}", prop::option::of(texts()), 1..6);
    hold(names, |ws, directory, files| {
        let mut paths = Vec::new();
        for (name, text) in &files {
            let path = format!("{directory}/{name}");
            if let Some(text) = text {
                ws.put(&path, text);
            }
            paths.push(path);
        }
        let result = ws.call("read_many_files", json!({"paths": paths}));
        let mut expected = Vec::new();
        for (path, text) in paths.iter().zip(files.values()) {
            match text {
                Some(text) if text.is_empty() || text.ends_with('\n') => {
                    let end = if text.is_empty() { "\n" } else { "" };
                    expected.push(format!("=== {path} ===\n{text}{end}"));
                }
                Some(text) => expected.push(format!("=== {path} ===\n{text}\n")),
                None => {
                    let start = format!("=== {path} ===\nError: File not found");
                    prop_assert!(result.content.contains(&start), "{}", result.content);
                }
            }
        }
        for part in expected {
            prop_assert!(result.content.contains(&part), "{:?}", part);
        }
        prop_assert_eq!(result.error.is_some(), files.values().all(Option::is_none));
        Ok(())
    });
}

#[test]
fn property_10_file_write_overwrite_protection() {
    let strategy = (texts(), texts(), any::<bool>());
    hold(strategy, |ws, directory, (old, new, read)| {
        let path = format!("{directory}/f.txt");
        ws.put(&path, &old);
        if read {
            ws.read(&path);
        }
        let (kind, _) = ws.fails("write_file", json!({"path": path, "content": new}));
        prop_assert_eq!(kind, ErrorKind::AlreadyExists);
        prop_assert_eq!(ws.get(&path), old.as_bytes());
        Ok(())
    });
}

#[test]
fn property_11_file_write_overwrite_behavior() {
    hold((texts(), texts()), |ws, directory, (old, new)| {
        let path = format!("{directory}/f.txt");
        ws.put(&path, &old);
        ws.read(&path);
        let args = json!({"path": path, "content": new, "overwrite": true});
        let result = ws.call("write_file", args);
        prop_assert_eq!(result.error, None);
        prop_assert_eq!(&result.metadata["changed"], &json!(old != new));
        prop_assert_eq!(ws.read(&path), new);
        Ok(())
    });
}

#[test]
fn property_12_parent_directory_creation() {
    hold(
        "[a-z]{1,4}(/[a-z]{1,4}){0,4}",
        |ws, directory, directories| {
            let path = format!("{directory}/{directories}/f.txt");
            let result = ws.call("write_file", json!({"path": path, "content": "x"}));
            prop_assert_eq!(result.error, None);
            prop_assert_eq!(ws.get(&path), b"x");
            let made = result.metadata["made_directories"]
                .as_array()
                .unwrap()
                .len();
            prop_assert_eq!(made, directories.split('/').count() + 1);
            Ok(())
        },
    );
}

/// A text with a target that stands in it so many times, apart from each other.
fn around(target: &'static str, times: usize) -> impl Strategy<Value = String> {
    let piece = prop::collection::vec(
        prop::sample::select(vec!["a", "b ", "\n", "$", "ü", ""]),
        0..8,
    );
    prop::collection::vec(piece, times + 1).prop_map(move |pieces| {
        let pieces: Vec<String> = pieces.iter().map(|piece| piece.concat()).collect();
        pieces.join(target)
    })
}

const TARGET: &str = "<T>";

fn edited(path: &str, target: &str, replacement: &str) -> serde_json::Value {
    json!({"path": path, "edits": [{"target": target, "replacement": replacement}]})
}

#[test]
fn property_13_file_edit_target_uniqueness() {
    let strategy = (around(TARGET, 1), "[a-c$&\\\\1 \n]{0,6}");
    hold(strategy, |ws, directory, (text, replacement)| {
        let path = format!("{directory}/f.txt");
        ws.put(&path, &text);
        ws.read(&path);
        let result = ws.call("edit_file", edited(&path, TARGET, &replacement));
        prop_assert_eq!(result.error, None);
        let (before, after) = text.split_once(TARGET).unwrap();
        let expected = format!("{before}{replacement}{after}");
        prop_assert_eq!(ws.get(&path), expected.as_bytes());
        Ok(())
    });
}

#[test]
fn property_14_file_edit_target_not_found() {
    hold(around("T", 1), |ws, directory, text| {
        let path = format!("{directory}/f.txt");
        ws.put(&path, &text);
        ws.read(&path);
        let (kind, message) = ws.fails("edit_file", edited(&path, TARGET, "x"));
        prop_assert_eq!(kind, ErrorKind::TargetNotFound);
        prop_assert!(message.contains("edit 1 of 1"), "{}", message);
        prop_assert_eq!(ws.get(&path), text.as_bytes());
        Ok(())
    });
}

#[test]
fn property_15_file_edit_target_ambiguity() {
    let strategy = (2_usize..5).prop_flat_map(|times| (Just(times), around(TARGET, times)));
    hold(strategy, |ws, directory, (times, text)| {
        let path = format!("{directory}/f.txt");
        ws.put(&path, &text);
        ws.read(&path);
        let (kind, message) = ws.fails("edit_file", edited(&path, TARGET, "x"));
        prop_assert_eq!(kind, ErrorKind::TargetAmbiguous);
        prop_assert!(
            message.contains(&format!("({times} matches)")),
            "{}",
            message
        );
        prop_assert_eq!(ws.get(&path), text.as_bytes());
        Ok(())
    });
}
