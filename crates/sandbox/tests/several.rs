//! Several files that change together, and taking them back.
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

use place::{METHODS, Place, content_of, options};
use toolgate_model::ErrorKind;
use toolgate_sandbox::paths::{RootAccess, RootRule, Staged};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn text(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.ws().join(name)).unwrap()
}

#[test]
fn nothing_is_seen_of_a_staged_file_until_it_stands_by() {
    for method in METHODS {
        let place = Place::new();
        place.make("file a.txt");
        let sandbox = place.sandbox(method);
        for path in ["a.txt", "new.txt", "x/y/z.txt"] {
            let mut staged = sandbox.stage(path, options(true)).unwrap();
            staged.write_all(b"new").unwrap();
            staged.sync().unwrap();
            assert_eq!(names(&place.ws()), ["a.txt"], "{path}");
        }
        assert_eq!(names(&place.ws()), ["a.txt"]);
    }
}

#[test]
fn many_files_are_synced_and_finished_as_one() {
    for count in [1, 5, 40] {
        let place = Place::new();
        place.make("file d/f0.txt");
        let sandbox = place.sandbox(METHODS[0]);
        let directory = |n: usize| ["d", "d/one", "d/two"][n % 3];
        let paths: Vec<String> = (0..count)
            .map(|n| format!("{}/f{n}.txt", directory(n)))
            .collect();
        let mut staged: Vec<Staged> = paths
            .iter()
            .map(|path| {
                let mut staged = sandbox.stage(path, options(true)).unwrap();
                staged.write_all(path.as_bytes()).unwrap();
                staged
            })
            .collect();
        let mut all: Vec<&mut Staged> = staged.iter_mut().collect();
        Staged::sync_all(&mut all).unwrap();
        for one in &mut staged {
            one.place().unwrap();
        }
        let done = Staged::finish_all(staged).unwrap();
        assert!(done.iter().all(|file| file.directory_synced));
        assert_eq!(done.iter().filter(|file| !file.created).count(), 1);
        for path in &paths {
            assert_eq!(text(&place, path), *path);
        }
    }
}

#[test]
fn files_that_are_synced_together_have_their_rights_before_they_have_a_name() {
    for count in [1, 16, 17] {
        let place = Place::in_memory();
        let sandbox = place.sandbox(METHODS[0]);
        let mut staged: Vec<Staged> = (0..count)
            .map(|n| {
                let name = format!("f{n}.sh");
                place.make(&format!("file {name}"));
                let rights = std::fs::Permissions::from_mode(0o751);
                std::fs::set_permissions(place.ws().join(&name), rights).unwrap();
                sandbox.stage(&name, options(true)).unwrap()
            })
            .collect();
        Staged::sync_all(&mut staged.iter_mut().collect::<Vec<_>>()).unwrap();
        for one in &mut staged {
            one.stand_by().unwrap();
            let waiting = place.ws().join(one.temporary()).metadata().unwrap();
            assert_eq!(waiting.mode() & 0o777, 0o751, "{count}");
        }
    }
}

#[test]
fn a_staged_file_knows_which_root_it_will_lie_in() {
    let place = Place::new();
    let other = place.top().join("other");
    std::fs::create_dir(&other).unwrap();
    let sandbox = place.sandbox_with(METHODS[0], |rules| {
        rules.allow_absolute = true;
        rules.roots.push(RootRule {
            path: other.clone(),
            access: RootAccess::ReadWrite,
        });
    });
    for (path, root) in [(place.ws().join("a.txt"), 0), (other.join("a.txt"), 1)] {
        let staged = sandbox.stage(&path, options(false)).unwrap();
        assert_eq!((staged.root(), staged.path()), (root, Path::new("a.txt")));
        assert_eq!(staged.commit().unwrap().root, root);
        assert!(path.exists());
    }
}

#[test]
fn a_new_file_takes_after_another_or_can_be_run() {
    let place = Place::new();
    place.make("file old.sh");
    let old = place.ws().join("old.sh");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o751)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&old, Some(12_345), Some(12_346)).unwrap();
    }
    let sandbox = place.sandbox(METHODS[0]);
    let stat = sandbox.open_read("old.sh").unwrap().stat;
    let mut moved = sandbox.stage("new.sh", options(false)).unwrap();
    moved.takes_after(&stat);
    moved.commit().unwrap();
    let new = place.ws().join("new.sh").metadata().unwrap();
    let before = old.metadata().unwrap();
    assert_eq!(new.mode() & 0o777, 0o751);
    assert_eq!((new.uid(), new.gid()), (before.uid(), before.gid()));
    for (name, executable, mode) in [("old.sh", false, 0o640), ("old.sh", true, 0o750)] {
        let mut staged = sandbox.stage(name, options(true)).unwrap();
        staged.executable(executable);
        staged.commit().unwrap();
        assert_eq!(old.metadata().unwrap().mode() & 0o777 & 0o750, mode);
    }
    let mut fresh = sandbox.stage("fresh.sh", options(false)).unwrap();
    fresh.executable(true);
    fresh.commit().unwrap();
    assert_eq!(
        place.ws().join("fresh.sh").metadata().unwrap().mode() & 0o500,
        0o500
    );
}

#[test]
fn a_placed_file_can_be_taken_back() {
    for method in METHODS {
        let place = Place::new();
        place.make("file a.sh");
        let path = place.ws().join("a.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
        let sandbox = place.sandbox(method);
        let mut replaced = sandbox.stage("a.sh", options(true)).unwrap();
        replaced.write_all(b"new").unwrap();
        replaced.place().unwrap();
        let mut made = sandbox.stage("x/y/z.txt", options(false)).unwrap();
        made.write_all(b"new").unwrap();
        made.place().unwrap();
        assert_eq!(
            (text(&place, "a.sh"), text(&place, "x/y/z.txt")),
            ("new".into(), "new".into())
        );
        made.take_back(b"", 1).unwrap();
        replaced
            .take_back(content_of("a.sh").as_bytes(), 2)
            .unwrap();
        assert_eq!(names(&place.ws()), ["a.sh"]);
        assert_eq!(text(&place, "a.sh"), content_of("a.sh"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o751);
        // A file that was never placed cannot be taken back.
        let staged = sandbox.stage("a.sh", options(true)).unwrap();
        staged.take_back(b"other", 3).unwrap();
        assert_eq!(text(&place, "a.sh"), content_of("a.sh"));
    }
}

#[test]
fn a_file_that_another_process_put_there_is_not_taken_back() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let mut staged = sandbox.stage("a.txt", options(false)).unwrap();
    staged.place().unwrap();
    std::fs::remove_file(place.ws().join("a.txt")).unwrap();
    std::fs::write(place.ws().join("a.txt"), "theirs").unwrap();
    let error = staged.take_back(b"", 1).unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(text(&place, "a.txt"), "theirs");
}

#[test]
fn a_file_is_deleted_only_if_it_is_still_the_same_and_can_come_back() {
    let place = Place::new();
    for name in ["file a.sh", "file b.txt", "dir d", "file out.txt"] {
        place.make(name);
    }
    symlink("a.sh", place.ws().join("link")).unwrap();
    let path = place.ws().join("a.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    let sandbox = place.sandbox(METHODS[0]);
    let kind = |path: &str| sandbox.stage_delete(path).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(kind("link"), Err(ErrorKind::NotAFile));
    assert_eq!(kind("d"), Err(ErrorKind::NotAFile));
    assert_eq!(kind("none"), Err(ErrorKind::NotFound));
    assert_eq!(kind(".git/config"), Err(ErrorKind::DeniedPattern));

    let staged = sandbox.stage_delete("a.sh").unwrap();
    assert_eq!(staged.resolved().path, Path::new("a.sh"));
    staged.remove().unwrap();
    assert!(staged.finish() && !path.exists());
    staged.take_back(content_of("a.sh").as_bytes(), 1).unwrap();
    assert_eq!(text(&place, "a.sh"), content_of("a.sh"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o751);

    let staged = sandbox.stage_delete("b.txt").unwrap();
    std::fs::write(
        place.ws().join("b.txt"),
        "another process saved this, and longer",
    )
    .unwrap();
    assert!(staged.remove().unwrap_err().is_retryable());
    assert!(place.ws().join("b.txt").exists());
}
