//! The entries of a walk, their order, and those that are left out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use place::{METHODS, Place};
use proptest::prelude::*;
use toolgate_sandbox::paths::{FileKind, Flow, PathSandbox, Visit, WalkOptions};

fn paths(sandbox: &PathSandbox, start: &str, options: &WalkOptions) -> Vec<String> {
    let mut seen = Vec::new();
    sandbox
        .walk(start, options, &mut |visit| {
            match visit {
                Visit::Entry(entry) => seen.push(entry.path.to_str().unwrap().to_owned()),
                Visit::Failed { path, error, .. } => {
                    seen.push(format!("{}: {}", path.display(), error.kind()))
                }
            }
            Flow::Continue
        })
        .unwrap();
    seen
}

fn place_with(lines: &[&str]) -> Place {
    let place = Place::new();
    lines.iter().for_each(|line| place.make(line));
    place
}

fn write(place: &Place, name: &str, text: &str) {
    let path = place.ws().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn all() -> WalkOptions {
    WalkOptions {
        hidden: true,
        ignored: true,
        ..WalkOptions::default()
    }
}

#[test]
fn a_walk_is_in_the_byte_order_of_whole_paths() {
    let place = place_with(&[
        "file a/x",
        "file a-b",
        "file a.txt",
        "file a/b/c",
        "file a0",
        "file B",
        "dir e",
        "file \u{e4}",
    ]);
    for method in METHODS {
        let seen = paths(&place.sandbox(method), ".", &all());
        let mut sorted = seen.clone();
        sorted.sort();
        assert_eq!(seen, sorted);
        assert_eq!(
            seen,
            [
                "B", "a", "a-b", "a.txt", "a/b", "a/b/c", "a/x", "a0", "e", "\u{e4}"
            ]
        );
    }
}

#[test]
fn denied_names_never_appear_and_links_are_shown_but_not_followed() {
    let place = place_with(&[
        "file .env",
        "file .ssh/id",
        "file .git/config",
        "file .git/HEAD",
        "file sub/x.pem",
        "file sub/y.txt",
        "link out -> $OUT",
        "link in -> sub",
        "file core",
        "file src/core/m.rs",
    ]);
    for method in METHODS {
        let seen = paths(&place.sandbox(method), ".", &all());
        let wanted = [
            ".git",
            ".git/HEAD",
            "in",
            "out",
            "src",
            "src/core",
            "src/core/m.rs",
            "sub",
            "sub/y.txt",
        ];
        assert_eq!(seen, wanted);
    }
}

#[test]
fn hidden_names_are_left_out_unless_asked_for() {
    let place = place_with(&["file .x", "file .y/z", "file a/.b", "file a/c"]);
    let sandbox = place.sandbox(METHODS[0]);
    assert_eq!(paths(&sandbox, ".", &WalkOptions::default()), ["a", "a/c"]);
    assert_eq!(
        paths(&sandbox, ".", &all()),
        [".x", ".y", ".y/z", "a", "a/.b", "a/c"]
    );
}

#[test]
fn depth_is_counted_from_the_start() {
    let place = place_with(&["file a/b/c/d"]);
    let sandbox = place.sandbox(METHODS[0]);
    for (depth, wanted) in [
        (0, vec![]),
        (1, vec!["a"]),
        (2, vec!["a", "a/b"]),
        (9, vec!["a", "a/b", "a/b/c", "a/b/c/d"]),
    ] {
        let options = WalkOptions {
            max_depth: Some(depth),
            ..all()
        };
        assert_eq!(paths(&sandbox, ".", &options), wanted, "{depth}");
    }
    let options = WalkOptions {
        max_depth: Some(1),
        ..all()
    };
    assert_eq!(paths(&sandbox, "a/b", &options), ["a/b/c"]);
}

#[test]
fn ignore_files_count_at_every_level_and_above_the_start() {
    let place = Place::new();
    for (name, text) in [
        (".gitignore", "*.log\n/top\nbuild/\n!keep.log\n# comment\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("top", ""),
        ("sub/top", ""),
        ("build/x", ""),
        ("sub/.gitignore", "*.tmp\n!b.log\n/only\n"),
        ("sub/b.log", ""),
        ("sub/c.log", ""),
        ("sub/d.tmp", ""),
        ("sub/only", ""),
        ("sub/deep/only", ""),
        ("sub/deep/e.tmp", ""),
        ("d.tmp", ""),
        (".ignore", "!a.log\n"),
        ("sub/.ignore", "b.log\n"),
        (".git/info/exclude", "excluded\n"),
        ("excluded", ""),
        ("mine", ""),
    ] {
        write(&place, name, text);
    }
    for method in METHODS {
        let sandbox = place.sandbox(method);
        let options = WalkOptions {
            global_excludes: Some("mine\n".into()),
            ..WalkOptions::default()
        };
        assert_eq!(
            paths(&sandbox, ".", &options),
            [
                "a.log",
                "d.tmp",
                "keep.log",
                "sub",
                "sub/deep",
                "sub/deep/only",
                "sub/top"
            ],
        );
        assert_eq!(
            paths(&sandbox, "sub", &options),
            ["sub/deep", "sub/deep/only", "sub/top"]
        );
        assert_eq!(paths(&sandbox, "sub/deep", &options), ["sub/deep/only"]);
        // A directory asked for by name is shown, though it is ignored.
        assert_eq!(paths(&sandbox, "build", &options), ["build/x"]);
        let everything = WalkOptions {
            ignored: true,
            ..WalkOptions::default()
        };
        assert!(paths(&sandbox, ".", &everything).contains(&"build/x".to_owned()));
    }
}

#[test]
fn an_ignore_file_above_the_start_counts_from_its_own_directory() {
    let place = place_with(&["file sub/deep/gone", "file sub/deep/kept"]);
    write(&place, "sub/.gitignore", "/deep/gone\n");
    let sandbox = place.sandbox(METHODS[0]);
    let seen = |start| paths(&sandbox, start, &WalkOptions::default());
    assert_eq!(seen("sub/deep"), ["sub/deep/kept"]);
    assert_eq!(seen("sub"), ["sub/deep", "sub/deep/kept"]);
}

#[test]
fn either_ignore_file_counts_without_the_other_and_for_itself() {
    for name in [".ignore", ".gitignore"] {
        let place = place_with(&["file a/x", "file a/y"]);
        write(&place, &format!("a/{name}"), "x\n");
        write(&place, &format!("b/{name}"), "*\n");
        let options = WalkOptions {
            hidden: true,
            ..WalkOptions::default()
        };
        let seen = paths(&place.sandbox(METHODS[0]), ".", &options);
        assert_eq!(seen, ["a", &format!("a/{name}"), "a/y", "b"]);
    }
}

#[test]
fn only_whole_lines_in_the_first_mebibyte_of_an_ignore_file_count() {
    let place = place_with(&["file early", "file late", "file la"]);
    // The mebibyte ends before the bar: the last line that counts is the one that ends there.
    for (end, seen) in [
        ("\nearly|\nlate\n", vec!["la", "late"]),
        ("\nearly\n|late\n", vec!["la", "late"]),
        ("\nearly\nla|te\n", vec!["la", "late"]),
        ("\nearly\nlate|\n", vec!["la"]),
        ("\nearly\nlate|", vec!["la"]),
    ] {
        let (within, beyond) = end.split_once('|').unwrap();
        let mut text = "#".repeat((1 << 20) - within.len());
        text.push_str(within);
        text.push_str(beyond);
        write(&place, ".gitignore", &text);
        let found = paths(&place.sandbox(METHODS[0]), ".", &WalkOptions::default());
        assert_eq!(found, seen, "{end:?}");
    }
}

#[test]
fn an_ignore_file_that_is_a_link_is_not_read() {
    let place = Place::new();
    std::fs::write(place.out().join("rules"), "x\n").unwrap();
    place.make("link .gitignore -> $OUT/rules");
    place.make("file x");
    assert_eq!(
        paths(&place.sandbox(METHODS[0]), ".", &WalkOptions::default()),
        ["x"]
    );
}

#[test]
fn one_directory_that_cannot_be_entered_does_not_end_the_walk() {
    let place = place_with(&["file a/x", "file b/x", "file c/x"]);
    let rights = |mode| {
        let to = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.ws().join("b"), to).unwrap();
    };
    rights(0o000);
    let seen = paths(&place.sandbox(METHODS[0]), ".", &all());
    rights(0o700);
    let b = if rustix::process::geteuid().is_root() {
        "b/x"
    } else {
        "b: permission"
    };
    assert_eq!(seen, ["a", "a/x", "b", b, "c", "c/x"]);
}

#[test]
fn a_visitor_can_skip_directories_and_stop() {
    let place = place_with(&["file a/x", "file a-b", "file b/x", "file c/x"]);
    let mut seen = Vec::new();
    let sandbox = place.sandbox(METHODS[0]);
    sandbox
        .walk(".", &all(), &mut |visit| {
            let Visit::Entry(entry) = visit else { panic!() };
            seen.push(entry.path.to_str().unwrap().to_owned());
            match entry.path.to_str().unwrap() {
                "a" => Flow::SkipDirectory,
                "b/x" => Flow::Stop,
                _ => Flow::Continue,
            }
        })
        .unwrap();
    assert_eq!(seen, ["a", "a-b", "b", "b/x"]);
}

#[test]
fn entries_open_only_as_their_own_type() {
    let place = place_with(&["file a.txt", "link l -> a.txt", "dir d", "fifo p"]);
    for method in METHODS {
        place
            .sandbox(method)
            .walk(".", &all(), &mut |visit| {
                let Visit::Entry(entry) = visit else { panic!() };
                assert_eq!(
                    entry.open().is_ok(),
                    entry.kind == FileKind::File,
                    "{:?}",
                    entry.path
                );
                assert_eq!(entry.stat().unwrap().kind, entry.kind);
                Flow::Continue
            })
            .unwrap();
    }
}

#[test]
fn a_walk_behind_a_link_shows_the_way_that_was_asked_for_and_checks_both() {
    let place = place_with(&["file real/x.txt", "file real/skip/y", "link l -> real"]);
    let sandbox = place.sandbox_with(METHODS[0], |rules| {
        rules.denied_patterns.push("/real/skip".into())
    });
    assert_eq!(paths(&sandbox, "l", &all()), ["l/x.txt"]);
    let sandbox = place.sandbox_with(METHODS[0], |rules| {
        rules.denied_patterns.push("/l/skip".into())
    });
    assert_eq!(paths(&sandbox, "l", &all()), ["l/x.txt"]);
}

#[test]
fn an_entry_knows_how_deep_it_is_and_its_path_from_the_start() {
    let place = place_with(&["file a/b/c"]);
    let sandbox = place.sandbox(METHODS[0]);
    for (start, wanted) in [
        (".", vec![("a", 1), ("a/b", 2), ("a/b/c", 3)]),
        ("a", vec![("b", 1), ("b/c", 2)]),
        ("a/b", vec![("c", 1)]),
    ] {
        let mut seen = Vec::new();
        sandbox
            .walk(start, &all(), &mut |visit| {
                let Visit::Entry(entry) = visit else { panic!() };
                seen.push((entry.beneath().to_str().unwrap().to_owned(), entry.depth));
                Flow::Continue
            })
            .unwrap();
        let wanted = wanted.into_iter().map(|(path, depth)| (path.into(), depth));
        assert_eq!(seen, wanted.collect::<Vec<_>>(), "{start}");
    }
}

#[test]
fn a_file_that_is_found_behind_a_link_knows_its_real_name() {
    let place = place_with(&["file real/a/x.txt", "link l -> real"]);
    let sandbox = place.sandbox(METHODS[0]);
    for start in ["l", "real"] {
        let mut found = Vec::new();
        sandbox
            .walk(start, &all(), &mut |visit| {
                let Visit::Entry(entry) = visit else { panic!() };
                found.extend(entry.open().map(|handle| handle.path));
                Flow::Continue
            })
            .unwrap();
        assert_eq!(found, [Path::new("real/a/x.txt")], "{start}");
    }
}

#[test]
fn a_link_that_takes_the_place_of_a_directory_is_not_entered() {
    let place = place_with(&["file a/b/x", "file a/c"]);
    let mut seen = Vec::new();
    let sandbox = place.sandbox(METHODS[0]);
    sandbox
        .walk(".", &all(), &mut |visit| {
            match visit {
                Visit::Entry(entry) => seen.push(entry.path.to_str().unwrap().to_owned()),
                Visit::Failed { path, depth, error } => {
                    assert!(error.is_retryable(), "{error}");
                    seen.push(format!("{} at {depth}: {}", path.display(), error.kind()));
                }
            }
            if seen.last().is_some_and(|last| last == "a/b") {
                std::fs::remove_dir_all(place.ws().join("a/b")).unwrap();
                place.make("link a/b -> $OUT");
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(seen, ["a", "a/b", "a/b at 2: failed", "a/c"]);
}

#[test]
fn a_tree_that_is_deeper_than_descriptors_reach_is_reported_and_left() {
    let place = Place::in_memory();
    let mut path = place.ws();
    for _ in 0..260 {
        path.push("d");
    }
    std::fs::create_dir_all(&path).unwrap();
    let seen = paths(&place.sandbox(METHODS[0]), ".", &all());
    assert_eq!(seen.len(), 201);
    assert!(
        seen.last().unwrap().ends_with("bad_args"),
        "{:?}",
        seen.last()
    );
}

#[test]
fn only_a_directory_can_be_walked() {
    let place = place_with(&["file a.txt", "link l -> $OUT"]);
    let sandbox = place.sandbox(METHODS[0]);
    for (start, kind) in [
        ("a.txt", "not_a_directory"),
        ("l", "outside_sandbox"),
        ("none", "not_found"),
        (".ssh", "denied_pattern"),
    ] {
        let error = sandbox
            .walk(start, &all(), &mut |_| Flow::Continue)
            .unwrap_err();
        assert_eq!(error.kind().as_str(), kind, "{start}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

    #[test]
    fn every_walk_is_sorted_and_complete(
        names in prop::collection::btree_set("[a-c.-]{1,3}(/[a-c.-]{1,3}){0,2}", 1..12),
    ) {
        let place = Place::in_memory();
        let mut wanted = std::collections::BTreeSet::new();
        for name in names {
            if name.split('/').any(|part| part == "." || part == "..") {
                continue;
            }
            let path = place.ws().join(&name);
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && std::fs::write(&path, "").is_ok() {
                for (at, _) in name.match_indices('/') {
                    wanted.insert(name.get(..at).unwrap().to_owned());
                }
                wanted.insert(name);
            }
        }
        let seen = paths(&place.sandbox(METHODS[0]), ".", &all());
        prop_assert_eq!(seen, wanted.into_iter().collect::<Vec<_>>());
    }
}
