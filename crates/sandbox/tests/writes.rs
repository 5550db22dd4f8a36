//! The files that a staged write leaves behind, whether it is finished or not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use place::{METHODS, Place, WRITTEN, options, write};
use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::paths::{Failure, PathError, Protection, StageOptions, Staged};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_appears_whole_and_alone() {
    for method in METHODS {
        let place = Place::new();
        let mut staged = place
            .sandbox(method)
            .stage("a/b/new.txt", options(false))
            .unwrap();
        staged.write_all(b"one ").unwrap();
        staged.write_all(b"two").unwrap();
        assert!(
            !place.ws().join("a/b/new.txt").exists(),
            "not before the commit"
        );
        assert!(staged.replaces().is_none());
        let done = staged.commit().unwrap();
        assert!(done.created && done.directory_synced);
        assert_eq!(done.path, Path::new("a/b/new.txt"));
        assert_eq!(done.made_directories, [Path::new("a"), Path::new("a/b")]);
        assert_eq!(done.stat.len, 7);
        assert_eq!(names(&place.ws().join("a/b")), ["new.txt"]);
        assert_eq!(
            std::fs::read(place.ws().join("a/b/new.txt")).unwrap(),
            b"one two"
        );
    }
}

#[test]
fn dropping_a_staged_write_leaves_nothing() {
    for method in METHODS {
        let place = Place::new();
        place.make("file kept/x.txt");
        let sandbox = place.sandbox(method);
        let mut staged = sandbox.stage("kept/a/b/c.txt", options(true)).unwrap();
        staged.write_all(b"half").unwrap();
        staged.stand_by().unwrap();
        assert_eq!(names(&place.ws().join("kept/a/b")), [staged.temporary()]);
        drop(staged);
        assert_eq!(names(&place.ws().join("kept")), ["x.txt"]);
    }
}

#[test]
fn directories_used_by_another_process_stay() {
    let place = Place::new();
    let mut staged = place
        .sandbox(METHODS[0])
        .stage("a/b/c.txt", options(true))
        .unwrap();
    staged.stand_by().unwrap();
    std::fs::write(place.ws().join("a/mine.txt"), "x").unwrap();
    drop(staged);
    assert_eq!(names(&place.ws().join("a")), ["mine.txt"]);
}

#[test]
fn a_replaced_file_keeps_its_mode_and_owner_and_gets_a_new_inode() {
    for old in [0o600, 0o644, 0o755, 0o640, 0o777] {
        let place = Place::new();
        place.make("file a.sh");
        let path = place.ws().join("a.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(old)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12_345), Some(12_346)).unwrap();
        }
        let before = path.metadata().unwrap();
        write(&place.sandbox(METHODS[0]), "a.sh", true).unwrap();
        let after = path.metadata().unwrap();
        assert_eq!(mode(&path), old);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino());
    }
}

#[test]
fn special_bits_are_not_carried_over_to_new_content() {
    let place = Place::new();
    place.make("file a.sh");
    let path = place.ws().join("a.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    write(&place.sandbox(METHODS[0]), "a.sh", true).unwrap();
    assert_eq!(mode(&path), 0o755);
}

#[test]
fn a_temporary_copy_of_a_private_file_is_private() {
    let place = Place::new();
    place.make("file a.txt");
    let path = place.ws().join("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut staged = place
        .sandbox(METHODS[0])
        .stage("a.txt", options(true))
        .unwrap();
    staged.stand_by().unwrap();
    assert_eq!(mode(&place.ws().join(staged.temporary())), 0o600);
}

#[test]
fn a_file_made_read_only_is_not_replaced_behind_its_owners_back() {
    let place = Place::new();
    place.make("file a.txt");
    let path = place.ws().join("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let answer = write(&place.sandbox(METHODS[0]), "a.txt", true);
    if rustix::process::geteuid().is_root() {
        // Root may write it, as with any other program.
        assert_eq!(mode(&path), 0o444);
        answer.unwrap();
    } else {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Permission);
    }
}

#[test]
fn a_place_that_was_taken_meanwhile_is_not_overwritten() {
    for overwrite in [false, true] {
        let place = Place::new();
        let mut staged = place
            .sandbox(METHODS[0])
            .stage("a.txt", options(overwrite))
            .unwrap();
        staged.write_all(b"mine").unwrap();
        std::fs::write(place.ws().join("a.txt"), "theirs").unwrap();
        assert_eq!(
            staged.commit().unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read(place.ws().join("a.txt")).unwrap(), b"theirs");
        assert_eq!(names(&place.ws()), ["a.txt"]);
    }
}

#[test]
fn a_link_that_took_the_place_meanwhile_is_neither_followed_nor_replaced() {
    let place = Place::new();
    let outside = place.outside();
    let staged = place
        .sandbox(METHODS[0])
        .stage("a.txt", options(true))
        .unwrap();
    symlink(place.out().join("made.txt"), place.ws().join("a.txt")).unwrap();
    assert_eq!(
        staged.commit().unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    assert!(place.ws().join("a.txt").is_symlink());
    assert_eq!(place.outside(), outside);
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let place = Place::new();
    place.make("file a.txt");
    let staged = place
        .sandbox(METHODS[0])
        .stage("a.txt", options(true))
        .unwrap();
    std::fs::write(
        place.ws().join("a.txt"),
        "another process saved this, and longer",
    )
    .unwrap();
    let error = staged.commit().unwrap_err();
    assert!(
        matches!(
            error,
            PathError::Failed {
                what: Failure::Busy,
                ..
            }
        ) && error.is_retryable()
    );
    assert!(
        std::fs::read_to_string(place.ws().join("a.txt"))
            .unwrap()
            .starts_with("another")
    );
}

#[test]
fn a_directory_that_was_moved_under_a_protected_name_is_not_written_into() {
    for method in METHODS {
        let place = Place::new();
        place.make("dir work/hooks");
        let staged = place
            .sandbox(method)
            .stage("work/hooks/pre-commit", options(true))
            .unwrap();
        std::fs::rename(place.ws().join("work"), place.ws().join(".git")).unwrap();
        assert_eq!(
            staged.commit().unwrap_err().kind(),
            ErrorKind::ProtectedPath
        );
        assert!(names(&place.ws().join(".git/hooks")).is_empty());
    }
}

#[test]
fn a_directory_that_was_moved_out_is_not_written_into() {
    for method in METHODS {
        let place = Place::new();
        place.make("dir work");
        let staged = place
            .sandbox(method)
            .stage("work/x.txt", options(true))
            .unwrap();
        std::fs::rename(place.ws().join("work"), place.out().join("work")).unwrap();
        assert!(staged.commit().is_err());
        assert!(names(&place.out().join("work")).is_empty());
    }
}

#[test]
fn a_repository_cannot_be_planted_by_staging_its_parts_first() {
    for first in 0..3 {
        let place = Place::new();
        let sandbox = place.sandbox(METHODS[0]);
        let mut staged = Vec::new();
        let mut refused = Vec::new();
        for path in ["HEAD", "objects/x", "refs/x"] {
            match sandbox.stage(path, options(true)) {
                Ok(one) => staged.push(one),
                Err(error) => refused.push(error),
            }
        }
        let length = staged.len().max(1);
        staged.rotate_left(first % length);
        refused.extend(staged.into_iter().filter_map(|one| one.commit().err()));
        assert!(!refused.is_empty());
        for error in refused {
            assert!(matches!(
                error,
                PathError::Protected {
                    why: Protection::Repository { .. },
                    ..
                }
            ));
        }
        let planted = ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| place.ws().join(name).exists());
        assert!(!planted, "with number {first} first");
    }
}

#[test]
fn names_that_make_a_repository_are_protected_everywhere() {
    for method in METHODS {
        for directory in ["", "a/", "a/bb/ccc/"] {
            let place = Place::new();
            let here = place.ws().join(directory);
            std::fs::create_dir_all(here.join("objects")).unwrap();
            std::fs::create_dir_all(here.join("refs")).unwrap();
            let sandbox = place.sandbox(method);
            let refused = |name: &str| {
                let answer = write(&sandbox, &format!("{directory}{name}"), false);
                matches!(
                    answer,
                    Err(PathError::Protected {
                        why: Protection::Repository { .. },
                        ..
                    })
                )
            };
            assert!(
                !refused("config.worktree"),
                "{directory}: no repository yet"
            );
            assert!(refused("HEAD"), "{directory}");
            std::fs::write(here.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            for name in ["config", "Config.lock", "hooks/pre-commit"] {
                assert!(refused(name), "{directory}{name}");
            }
            for name in ["notes.txt", "packed-refs", "con"] {
                assert!(!refused(name), "{directory}{name}");
            }
        }
    }
}

#[test]
fn a_protected_name_says_which_rule_protects_it() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let rule = |name: &str| sandbox.protected_by(0, Path::new(name));
    assert_eq!(rule("src/main.rs"), None);
    for name in [".git/hooks/pre-commit", ".bashrc", ".toolgate/config.toml"] {
        let rule = rule(name).unwrap_or_else(|| panic!("{name} is protected"));
        let first = name.split('/').next().unwrap();
        assert!(rule.contains(first), "{name}: {rule}");
    }
}

#[test]
fn errors_name_the_working_directory_and_the_file_type() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    assert_eq!(sandbox.name(0, Path::new("")), Path::new("."));
    assert_eq!(sandbox.name(0, Path::new("a")), Path::new("a"));
    std::fs::create_dir(place.ws().join("directory")).unwrap();
    std::fs::write(place.ws().join("large"), "0123456789").unwrap();
    let directory = sandbox.open_read("directory").map(|_| ()).unwrap_err();
    assert!(directory.to_string().contains("a directory"), "{directory}");
    let large = sandbox.open_read("large").unwrap().read_all(4).unwrap_err();
    assert!(large.to_string().contains("4 bytes"), "{large}");
    assert!(!directory.is_retryable() && !large.is_retryable());
}

#[test]
fn discarding_several_staged_files_leaves_no_directory_behind() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let mut staged: Vec<_> = ["new/a.txt", "new/deep/b.txt", "new/deep/c.txt"]
        .into_iter()
        .map(|path| sandbox.stage(path, options(true)).unwrap())
        .collect();
    assert!(names(&place.ws()).is_empty(), "nothing is seen of it yet");
    staged
        .iter_mut()
        .for_each(|staged| staged.stand_by().unwrap());
    assert!(place.ws().join("new/deep").is_dir());
    Staged::discard(staged);
    assert!(names(&place.ws()).is_empty());
}

#[test]
fn several_staged_files_can_be_put_in_place_one_after_the_other() {
    let place = Place::new();
    place.make("file old.txt");
    let sandbox = place.sandbox(METHODS[0]);
    let mut staged: Vec<_> = ["old.txt", "new/a.txt", "new/b.txt"]
        .into_iter()
        .map(|path| sandbox.stage(path, options(true)).unwrap())
        .collect();
    for file in &mut staged {
        file.write_all(WRITTEN.as_bytes()).unwrap();
        file.sync().unwrap();
    }
    assert_ne!(
        std::fs::read_to_string(place.ws().join("old.txt")).unwrap(),
        WRITTEN
    );
    for file in staged {
        file.commit().unwrap();
    }
    for name in ["old.txt", "new/a.txt", "new/b.txt"] {
        assert_eq!(
            std::fs::read_to_string(place.ws().join(name)).unwrap(),
            WRITTEN,
            "{name}"
        );
    }
}

#[test]
fn a_temporary_name_that_is_taken_is_not_used() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let nonce = 77;
    let taken = format!(".toolgate-{nonce:032x}.tmp");
    symlink(place.out().join("made.txt"), place.ws().join(&taken)).unwrap();
    let how = StageOptions {
        overwrite: true,
        create_parents: true,
        nonce,
    };
    let staged = sandbox.stage("a.txt", how).unwrap();
    assert_ne!(staged.temporary(), taken);
    staged.commit().unwrap();
    assert!(!place.out().join("made.txt").exists());
}

#[test]
fn missing_directories_are_only_made_when_asked_for() {
    let place = Place::new();
    let how = StageOptions {
        create_parents: false,
        ..options(true)
    };
    let error = place
        .sandbox(METHODS[0])
        .stage("no/a.txt", how)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(names(&place.ws()).is_empty());
}

#[test]
fn planning_changes_nothing_and_reports_the_target() {
    for method in METHODS {
        let place = Place::new();
        place.make("file a.txt");
        place.make("link l -> a.txt");
        let sandbox = place.sandbox(method);
        let new = sandbox.preflight("x/y/z.txt", Access::Write).unwrap();
        assert!(!new.exists());
        let old = sandbox.preflight("l", Access::Write).unwrap();
        assert_eq!((old.path.to_str().unwrap(), old.exists()), ("a.txt", true));
        assert_eq!(names(&place.ws()), ["a.txt", "l"]);
    }
}

#[test]
fn only_empty_directories_are_removed() {
    let place = Place::new();
    for line in [
        "file full/x.txt",
        "dir empty",
        "file a.txt",
        "dir .git",
        "link l -> empty",
    ] {
        place.make(line);
    }
    let sandbox = place.sandbox(METHODS[0]);
    let kind = |path: &str| sandbox.remove_empty_directory(path).map_err(|e| e.kind());
    assert_eq!(kind("full"), Err(ErrorKind::Failed));
    assert_eq!(kind("a.txt"), Err(ErrorKind::NotADirectory));
    assert_eq!(kind("l"), Err(ErrorKind::NotADirectory));
    assert_eq!(kind("none"), Err(ErrorKind::NotFound));
    assert_eq!(kind(".git"), Err(ErrorKind::ProtectedPath));
    assert!(kind("empty").is_ok());
    assert_eq!(names(&place.ws()), [".git", "a.txt", "full", "l"]);
}

#[test]
fn a_rename_reports_the_new_path_and_metadata() {
    for overwrite in [false, true] {
        let place = Place::new();
        place.make("file a.txt");
        if overwrite {
            place.make("file deep/of another length.txt");
        }
        let sandbox = place.sandbox(METHODS[0]);
        let before = sandbox.open_read("a.txt").unwrap().stat;
        let to = "deep/of another length.txt";
        let moved = sandbox.rename("a.txt", to, overwrite).unwrap();
        assert_eq!((moved.root, moved.path.as_path()), (0, Path::new(to)));
        assert_eq!(moved.stat, Some(before));
    }
}

#[test]
fn a_root_that_is_moved_takes_its_accesses_with_it() {
    for method in METHODS {
        let place = Place::new();
        place.make("file a.txt");
        place.make("link l -> a.txt");
        let sandbox = place.sandbox(method);
        std::fs::rename(place.ws(), place.top().join("moved")).unwrap();
        std::fs::create_dir(place.ws()).unwrap();
        assert!(
            place::read(&sandbox, "l")
                .unwrap()
                .starts_with("ok-content")
        );
        write(&sandbox, "b.txt", false).unwrap();
        assert!(place.top().join("moved/b.txt").exists());
        assert!(names(&place.ws()).is_empty());
    }
}
