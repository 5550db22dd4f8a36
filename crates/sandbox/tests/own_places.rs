//! Toolgate's own places in a root, and repositories that several writes would plant together.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::path::Path;

use toolgate_model::Access;
use toolgate_sandbox::paths::{
    Flow, OwnPlaces, PathError, PathRules, PathSandbox, Visit, WalkOptions,
};

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in [
        "data/journal.db",
        "data2/x",
        "other/data/x",
        "cfg/config.toml",
        "cfg2/config.toml",
    ] {
        let file = directory.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "x").unwrap();
    }
    directory
}

fn rules(directory: &Path, root: &Path) -> PathRules {
    let directory = directory.canonicalize().unwrap();
    let mut rules = PathRules::new(root);
    rules.own = OwnPlaces {
        closed: vec![directory.join("data"), directory.join("later")],
        kept: vec![directory.join("cfg"), directory.join("soon/cfg")],
    };
    rules
}

#[test]
fn own_places_are_closed_or_kept_where_they_lie_and_nowhere_else() {
    let directory = tree();
    let sandbox = PathSandbox::open(&rules(directory.path(), directory.path())).unwrap();
    for (path, reads, writes) in [
        ("data/journal.db", false, false),
        ("DATA/journal.db", false, false),
        ("data/new", false, false),
        ("later/new", false, false),
        ("data2/x", true, true),
        ("other/data/x", true, true),
        ("cfg/config.toml", true, false),
        ("cfg/new.toml", true, false),
        ("CFG/new.toml", true, false),
        ("soon/cfg/new.toml", true, false),
        ("cfg2/config.toml", true, true),
        ("other/cfg/new.toml", true, true),
    ] {
        let refused = |access| match sandbox.preflight(path, access) {
            Ok(_) => false,
            // A missing file is not refused.
            Err(error) => !matches!(error, PathError::NotFound { .. }),
        };
        assert_eq!(!refused(Access::Read), reads, "read {path}");
        assert_eq!(!refused(Access::Write), writes, "write {path}");
    }
    assert!(sandbox.open_read("data/journal.db").is_err());
    assert!(sandbox.open_read("data2/x").is_ok());
    let listed: Vec<String> = sandbox
        .read_dir(".")
        .unwrap()
        .iter()
        .map(|entry| entry.name.to_string_lossy().into_owned())
        .collect();
    assert!(!listed.contains(&"data".to_owned()), "{listed:?}");
    assert!(listed.contains(&"data2".to_owned()), "{listed:?}");
    assert!(listed.contains(&"cfg".to_owned()), "{listed:?}");
}

#[test]
fn a_walk_comes_across_no_closed_place() {
    let directory = tree();
    let sandbox = PathSandbox::open(&rules(directory.path(), directory.path())).unwrap();
    let mut seen = Vec::new();
    sandbox
        .walk(".", &WalkOptions::default(), &mut |visit| {
            if let Visit::Entry(entry) = visit {
                seen.push(entry.path.to_str().unwrap().to_owned());
            }
            Flow::Continue
        })
        .unwrap();
    let there = [
        "cfg",
        "cfg/config.toml",
        "cfg2",
        "cfg2/config.toml",
        "data2",
        "data2/x",
        "other",
        "other/data",
        "other/data/x",
    ];
    assert_eq!(seen, there);
}

#[test]
fn no_root_lies_in_an_own_place() {
    let directory = tree();
    for (root, opens) in [
        ("data", false),
        ("cfg", false),
        ("data2", true),
        (".", true),
    ] {
        let root = directory.path().join(root);
        let opened = PathSandbox::open(&rules(directory.path(), &root));
        assert_eq!(opened.is_ok(), opens, "{}", root.display());
    }
}

#[test]
fn writes_that_make_a_repository_together_are_refused_together() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("half/objects")).unwrap();
    std::fs::write(directory.path().join("half/HEAD"), "x").unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    for (writes, planted) in [
        (&["x/HEAD", "x/objects/a", "x/refs/a"][..], true),
        (&["x/head", "x/OBJECTS/a", "x/refs/a"], true),
        (&["x/HEAD", "x/objects/a", "x/refs/a", "x/config"], true),
        (&["x/HEAD", "x/objects/a"], false),
        (&["x/HEAD", "x/objects/a", "y/refs/a"], false),
        (&["x/HEAD", "x/objects2/a", "x/refs/a"], false),
        (&["x/HEADER", "x/objects/a", "x/refs/a"], false),
        (&["half/refs/a"], true),
        (&["half/readme", "x/refs/a"], false),
        (&[], false),
    ] {
        let checked = sandbox.check_plants(writes.iter().map(Path::new));
        assert_eq!(checked.is_err(), planted, "{writes:?}: {checked:?}");
        if let Err(error) = checked {
            assert!(matches!(error, PathError::Protected { .. }), "{error:?}");
        }
    }
}

#[test]
fn a_git_directory_is_protected_under_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let make = |names: &[&str]| {
        for name in names {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
    };
    make(&["gd/HEAD", "gd/objects/a", "gd/refs/a"]);
    make(&[
        "deep/x.git/HEAD",
        "deep/x.git/objects/a",
        "deep/x.git/refs/a",
    ]);
    make(&["worktree/HEAD", "worktree/commondir"]);
    make(&["half/HEAD", "half/objects/a", "src/HEAD"]);
    std::os::unix::fs::symlink("gd", directory.path().join("link")).unwrap();
    let obeyed = [
        "rebase-merge/git-rebase-todo",
        "rebase-apply/0001",
        "REBASE-MERGE/done",
        "info/attributes",
        "sequencer/todo",
        "worktrees/q/gitdir",
        "worktrees/q/rebase-merge/git-rebase-todo",
        "modules/m/config",
        "modules/m/hooks/x",
        "objects/info/alternates",
        "config.worktree",
        "hooks/pre-commit",
    ];
    let other = ["notes.txt", "info/exclude", "description", "rebase/x"];
    let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    for (directory, is_git) in [
        ("gd", true),
        ("link", true),
        ("deep/x.git", true),
        ("worktree", true),
        ("half", false),
        ("src", false),
    ] {
        let names = obeyed.map(|name| (name, is_git));
        for (name, refused) in names.into_iter().chain(other.map(|name| (name, false))) {
            let path = format!("{directory}/{name}");
            let checked = sandbox.preflight(&path, Access::Write);
            assert_eq!(checked.is_err(), refused, "{path}: {checked:?}");
            let together = sandbox.check_plants([Path::new(&path)].into_iter());
            assert_eq!(together.is_err(), refused, "{path}: {together:?}");
        }
    }
    // The workspace itself is one.
    let sandbox = PathSandbox::open(&PathRules::new(directory.path().join("gd"))).unwrap();
    assert!(sandbox.preflight("sequencer/todo", Access::Write).is_err());
    assert!(sandbox.preflight("notes.txt", Access::Write).is_ok());
}

#[test]
fn a_hard_link_to_a_file_of_toolgate_is_not_read() {
    let directory = tree();
    let root = directory.path().join("ws");
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(directory.path().join("data/deep")).unwrap();
    std::fs::write(directory.path().join("data/deep/output"), "x").unwrap();
    for (own, name) in [
        ("data/journal.db", "a"),
        ("data/deep/output", "b"),
        ("data2/x", "c"),
    ] {
        std::fs::hard_link(directory.path().join(own), root.join(name)).unwrap();
    }
    let sandbox = PathSandbox::open(&rules(directory.path(), &root)).unwrap();
    for name in ["a", "b"] {
        let error = sandbox.open_read(name).unwrap_err();
        assert!(matches!(error, PathError::Linked { .. }), "{error}");
    }
    // A file outside of every root that is nobody's secret is read like any other.
    assert!(sandbox.open_read("c").is_ok());
}
