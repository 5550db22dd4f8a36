//! A thread swaps files, directories and links as fast as it can while the sandbox works.
//!
//! The test ends by count: `TOOLGATE_RACES` accesses (default 20 000), split over both
//! ways of resolving. Whatever the swapper does, nothing outside is read, written,
//! made or removed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use place::{CANARY, METHODS, Place, WRITTEN, options};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with};
use toolgate_model::Access;
use toolgate_sandbox::paths::{Flow, Method, PathError, PathSandbox, Visit, WalkOptions};

fn count() -> usize {
    std::env::var("TOOLGATE_RACES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20_000)
}

/// The workspace at the beginning. The accesses name `dir` and `file`;
/// the others take their places in turns.
fn populate(place: &Place) {
    for line in [
        "file dir/canary.txt",
        "file dir/deep/canary.txt",
        "link dir_out -> $OUT",
        "link dir_out_relative -> ../out",
        "file other/canary.txt",
        "file other/deep/canary.txt",
        "file file",
        "link file_out -> $OUT/canary.txt",
        "file file_other",
        "link flip -> other",
        "link through -> dir",
        "file nest/a/b/canary.txt",
        "link nest/out -> ../../out",
    ] {
        place.make(line);
    }
}

fn exchange(ws: &Path, a: &str, b: &str) {
    // A write may just have replaced one of the two; the next turn finds it again.
    let _ = renameat_with(CWD, ws.join(a), CWD, ws.join(b), RenameFlags::EXCHANGE);
}

fn relink(ws: &Path, name: &str, target: impl AsRef<Path>) {
    let _ = std::fs::remove_file(ws.join(name));
    let _ = symlink(target, ws.join(name));
}

/// Puts back what deletes took away, by handles of the two real directories: by name this
/// could itself go through a link.
fn restore(real: &[OwnedFd]) {
    for directory in real {
        let _ = mkdirat(directory, "deep", Mode::from_raw_mode(0o755));
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(fd) = openat(directory, "canary.txt", flags, Mode::from_raw_mode(0o644)) {
            let _ = rustix::io::write(&fd, b"safe\n");
        }
    }
}

fn swap(place: &Place, real: &[OwnedFd], stop: &AtomicBool) {
    let (ws, out) = (place.ws(), place.out());
    while !stop.load(Ordering::Relaxed) {
        exchange(&ws, "dir", "dir_out");
        exchange(&ws, "file", "file_out");
        relink(&ws, "flip", &out);
        exchange(&ws, "dir", "dir_out");
        exchange(&ws, "nest/a", "nest/out");
        exchange(&ws, "dir", "other");
        relink(&ws, "flip", "other");
        exchange(&ws, "file", "file_out");
        exchange(&ws, "dir", "dir_out_relative");
        exchange(&ws, "nest/a", "nest/out");
        exchange(&ws, "file", "file_other");
        relink(&ws, "flip", "../out");
        // Gone, made by a write, or a link out, just when a write makes it.
        let _ = std::fs::remove_dir_all(ws.join("grow"));
        relink(&ws, "grow", &out);
        let _ = std::fs::remove_file(ws.join("grow"));
        exchange(&ws, "dir", "dir_out_relative");
        // A commit may have replaced the link itself when it stood in the file's place.
        if !ws.join("file").is_symlink() && !ws.join("file_out").is_symlink() {
            relink(&ws, "file_out", out.join("canary.txt"));
        }
        restore(real);
    }
}

fn read(sandbox: &PathSandbox, path: &str) -> Result<(), PathError> {
    let content = sandbox.open_read(path)?.read_all(1 << 16)?;
    assert_ne!(content, CANARY.as_bytes(), "{path} gave the canary away");
    Ok(())
}

fn write(sandbox: &PathSandbox, path: &str, overwrite: bool) -> Result<(), PathError> {
    let mut staged = sandbox.stage(path, options(overwrite))?;
    staged.write_all(WRITTEN.as_bytes())?;
    staged.commit().map(drop)
}

fn list(sandbox: &PathSandbox, path: &str) -> Result<(), PathError> {
    for entry in sandbox.read_dir(path)? {
        assert_ne!(entry.name, "only-outside", "{path} listed the outside");
    }
    Ok(())
}

fn walk(sandbox: &PathSandbox, path: &str) -> Result<(), PathError> {
    let options = WalkOptions {
        hidden: true,
        ..WalkOptions::default()
    };
    sandbox.walk(path, &options, &mut |visit| {
        if let Visit::Entry(entry) = visit {
            assert_ne!(
                entry.name, "only-outside",
                "the walk went out at {:?}",
                entry.path
            );
            if let Ok(mut file) = entry.open()
                && let Ok(content) = file.read_all(1 << 16)
            {
                assert_ne!(
                    content,
                    CANARY.as_bytes(),
                    "{:?} gave the canary away",
                    entry.path
                );
            }
        }
        Flow::Continue
    })
}

fn access(sandbox: &PathSandbox, turn: usize) -> Result<(), PathError> {
    match turn % 25 {
        0 | 8 | 16 => read(sandbox, "dir/canary.txt"),
        1 | 9 => read(sandbox, "file"),
        2 | 10 => read(sandbox, "flip/canary.txt"),
        3 => read(sandbox, "through/deep/canary.txt"),
        4 => read(sandbox, "nest/a/b/canary.txt"),
        5 => list(sandbox, "dir"),
        6 => list(sandbox, "flip"),
        7 => walk(sandbox, "."),
        11 => write(sandbox, "dir/new.txt", true),
        12 => write(sandbox, "dir/made/for/it.txt", true),
        13 => write(sandbox, "file", true),
        14 => write(sandbox, "flip/fresh.txt", false),
        15 => sandbox.delete("dir/new.txt").map(drop),
        17 => sandbox.delete("flip/fresh.txt").map(drop),
        18 => sandbox.delete("dir/canary.txt").map(drop),
        19 => write(sandbox, "dir/canary.txt", true),
        20 => sandbox
            .rename("dir/new.txt", "flip/moved.txt", true)
            .map(drop),
        21 => walk(sandbox, "dir"),
        22 => write(sandbox, "grow/up/x.txt", true),
        23 => sandbox
            .preflight("flip/deep/canary.txt", Access::Read)
            .map(drop),
        _ => sandbox.remove_empty_directory("dir/made/for").map(drop),
    }
}

fn race(method: Method, turns: usize) {
    let place = Place::in_memory();
    populate(&place);
    std::fs::write(place.out().join("only-outside"), CANARY).unwrap();
    let outside = (place.outside(), place.stamps());
    let real = ["dir", "other"].map(|name| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, place.ws().join(name), flags, Mode::empty()).unwrap()
    });
    let sandbox = place.sandbox(method);
    let stop = AtomicBool::new(false);
    let mut done = 0_usize;
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&place, &real, &stop));
        // The swapper has to end even if an assertion here fails.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for turn in 0..turns {
                if access(&sandbox, turn).is_ok() {
                    done += 1;
                }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    let after = (place.outside(), place.stamps());
    assert_eq!(after, outside, "the outside was touched");
    // A sandbox that refuses everything would pass the rest.
    assert!(
        done > turns / 20,
        "only {done} of {turns} accesses went through"
    );
    assert!(done < turns, "the swapper never got in the way");
}

#[test]
fn nothing_outside_is_touched_while_the_kernel_resolves() {
    race(METHODS[0], count() / 2);
}

#[test]
fn nothing_outside_is_touched_while_the_walk_resolves() {
    race(METHODS[1], count() / 2);
}
