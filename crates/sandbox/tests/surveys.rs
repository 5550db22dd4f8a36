//! A survey shows the entries of a walk, in the same order, for any number of workers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use place::{METHODS, Place};
use proptest::prelude::*;
use toolgate_sandbox::paths::{
    FileKind, Flow, PathError, PathSandbox, Surveyor, Visit, WalkEntry, WalkOptions,
};

/// Notes every path; does not enter directories of one name.
struct Notes {
    avoided: &'static str,
    look_ahead: usize,
}

impl Surveyor for Notes {
    type WorkerState = ();
    type Run = Vec<String>;

    fn state(&self) {}

    fn is_over(&self) -> bool {
        false
    }

    fn enters(&self, directory: &WalkEntry<'_>) -> bool {
        directory.name != self.avoided
    }

    fn look(&self, (): &mut (), entry: &WalkEntry<'_>, run: &mut Vec<String>) {
        assert_ne!(entry.name, "panic");
        let opens = entry.kind == FileKind::File;
        assert_eq!(entry.open().is_ok(), opens, "{:?}", entry.path);
        run.push(entry.path.to_str().unwrap().to_owned());
    }

    fn failed(&self, path: &Path, error: PathError, run: &mut Vec<String>) {
        run.push(format!("{}: {}", path.display(), error.kind()));
    }

    fn results(run: &Vec<String>) -> usize {
        run.len()
    }

    fn look_ahead(&self) -> usize {
        self.look_ahead
    }
}

const NOTES: Notes = Notes {
    avoided: "not-here",
    look_ahead: 1_000,
};

fn surveyed(
    sandbox: &PathSandbox,
    start: &str,
    options: &WalkOptions,
    notes: &Notes,
) -> Vec<String> {
    let mut seen = Vec::new();
    sandbox
        .survey(start, options, notes, &mut |run| {
            seen.extend(run);
            Flow::Continue
        })
        .unwrap();
    seen
}

fn walked(sandbox: &PathSandbox, start: &str, options: &WalkOptions, notes: &Notes) -> Vec<String> {
    let mut seen = Vec::new();
    sandbox
        .walk(start, options, &mut |visit| {
            match visit {
                Visit::Entry(entry) if entry.kind == FileKind::Directory => {
                    if entry.name == notes.avoided {
                        return Flow::SkipDirectory;
                    }
                }
                Visit::Entry(entry) => seen.push(entry.path.to_str().unwrap().to_owned()),
                Visit::Failed { path, error, .. } => {
                    seen.push(format!("{}: {}", path.display(), error.kind()));
                }
            }
            Flow::Continue
        })
        .unwrap();
    seen
}

fn all() -> WalkOptions {
    WalkOptions {
        hidden: true,
        ignored: true,
        ..WalkOptions::default()
    }
}

/// Many directories, one of them large, with ignored, denied and linked things among them.
fn wood() -> Place {
    let place = Place::in_memory();
    for n in 0..600 {
        let directory = format!("d{}/e{}", n % 7, n % 5);
        place.make(&format!("file {directory}/f{n}.txt"));
        place.make(&format!("file large/f{n}.txt"));
        if n % 50 == 0 {
            place.make(&format!("file {directory}/secret{n}.txt"));
            place.make(&format!("file {directory}/x{n}.pem"));
            place.make(&format!("link {directory}/link{n} -> $OUT"));
            place.make(&format!("file {directory}/not-here/x"));
            place.make(&format!("file {directory}-{n}"));
        }
    }
    std::fs::write(place.ws().join(".gitignore"), "d3/\n*7.txt\n").unwrap();
    std::fs::write(place.ws().join("d1/.ignore"), "!f7.txt\ne2\n").unwrap();
    place
}

#[test]
fn a_survey_is_a_walk_by_several() {
    let place = wood();
    for method in METHODS {
        let sandbox = place.sandbox(method);
        for options in [all(), WalkOptions::default()] {
            for start in [".", "d1", "large"] {
                for look_ahead in [0, 1, 1_000] {
                    let notes = Notes {
                        look_ahead,
                        ..NOTES
                    };
                    let seen = surveyed(&sandbox, start, &options, &notes);
                    assert!(seen.len() > 50);
                    assert!(seen.iter().all(|path| !path.contains("secret")));
                    assert_eq!(seen, walked(&sandbox, start, &options, &notes));
                }
            }
        }
    }
}

#[test]
fn a_depth_holds_for_a_survey_too() {
    let place = wood();
    let sandbox = place.sandbox(METHODS[0]);
    for depth in 0..4 {
        let options = WalkOptions {
            max_depth: Some(depth),
            ..all()
        };
        let seen = surveyed(&sandbox, ".", &options, &NOTES);
        assert_eq!(seen, walked(&sandbox, ".", &options, &NOTES), "{depth}");
    }
}

#[test]
fn the_receiver_can_stop_and_has_the_first_runs() {
    let place = wood();
    let sandbox = place.sandbox(METHODS[0]);
    let everything = walked(&sandbox, ".", &all(), &NOTES);
    for enough in [1, 10, 100, 1_000] {
        let mut seen = Vec::new();
        sandbox
            .survey(".", &all(), &NOTES, &mut |run| {
                seen.extend(run);
                if seen.len() >= enough {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            })
            .unwrap();
        assert!(seen.len() >= enough && everything.starts_with(&seen));
    }
}

#[test]
fn files_that_follow_each_other_are_handed_over_in_stretches() {
    let place = Place::in_memory();
    for n in 0..130 {
        place.make(&format!("file f{n}"));
    }
    let mut lengths = Vec::new();
    let sandbox = place.sandbox(METHODS[0]);
    sandbox
        .survey(".", &all(), &NOTES, &mut |run: Vec<String>| {
            lengths.push(run.len());
            Flow::Continue
        })
        .unwrap();
    assert_eq!(lengths, [64, 64, 2]);
}

/// Counts the worker states that are set up.
#[derive(Default)]
struct WorkerStates(AtomicUsize);

impl Surveyor for WorkerStates {
    type WorkerState = ();
    type Run = ();

    fn state(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn is_over(&self) -> bool {
        false
    }

    fn enters(&self, _: &WalkEntry<'_>) -> bool {
        true
    }

    fn look(&self, (): &mut (), _: &WalkEntry<'_>, (): &mut ()) {}

    fn failed(&self, path: &Path, error: PathError, (): &mut ()) {
        panic!("{}: {error}", path.display());
    }

    fn results((): &()) -> usize {
        0
    }

    fn look_ahead(&self) -> usize {
        1_000
    }
}

#[test]
fn there_are_as_many_workers_as_cores_unless_there_is_less_to_do() {
    let files = |count: usize| (0..count).map(|n| format!("file f{n:03}"));
    let directories = |count: usize| (0..count).map(|n| format!("file d{n:03}/x"));
    // The first files that no directory comes before are looked at where the names were
    // read; other workers can do the rest.
    for (tree, for_others) in [
        (files(1).collect::<Vec<_>>(), 0),
        (files(128).collect(), 1),
        (files(129).collect(), 2),
        (directories(1).collect(), 1),
        (directories(1).chain(files(1)).collect(), 2),
        (files(1).chain(["file g/x".to_owned()]).collect(), 1),
        (directories(20).collect(), 20),
    ] {
        let place = Place::in_memory();
        tree.iter().for_each(|line| place.make(line));
        let desks = WorkerStates::default();
        let sandbox = place.sandbox(METHODS[0]);
        sandbox
            .survey(".", &all(), &desks, &mut |()| Flow::Continue)
            .unwrap();
        let cores = std::thread::available_parallelism().unwrap().get();
        let wanted = cores.min(8).min(for_others).max(1);
        assert_eq!(desks.0.into_inner(), wanted, "{}", tree.len());
    }
}

#[test]
fn a_tree_that_is_too_deep_is_reported_and_left() {
    let place = Place::in_memory();
    std::fs::create_dir_all(place.ws().join("d/".repeat(260))).unwrap();
    let seen = surveyed(&place.sandbox(METHODS[0]), ".", &all(), &NOTES);
    assert_eq!(seen.len(), 1);
    assert!(seen[0].ends_with("bad_args"), "{seen:?}");
}

#[test]
fn a_panic_ends_the_survey() {
    let place = wood();
    place.make("file d5/e3/panic");
    let sandbox = place.sandbox(METHODS[0]);
    let survey = || surveyed(&sandbox, ".", &all(), &NOTES);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(survey)).is_err());
}

#[test]
fn a_file_is_read_alike_into_new_and_into_used_memory() {
    let place = Place::in_memory();
    let mut space = Vec::new();
    for length in [3_000, 0, 200_000, 65_536, 1, 65_535, 65_537] {
        std::fs::write(place.ws().join("f"), vec![b'x'; length]).unwrap();
        let sandbox = place.sandbox(METHODS[0]);
        for limit in [0, 1, 65_536, 1_000_000] {
            let (bytes, all) = sandbox.open_read("f").unwrap().read_up_to(limit).unwrap();
            let mut handle = sandbox.open_read("f").unwrap();
            let read = handle.read_into(&mut space, limit).unwrap();
            assert_eq!(read, (bytes.len(), all), "{length} {limit}");
            // The rest can still be read.
            let rest = handle.read_up_to(1_000_000).unwrap().0;
            assert_eq!(bytes.len() + rest.len(), length);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

    #[test]
    fn every_tree_is_surveyed_in_the_order_of_paths(
        names in prop::collection::btree_set("[a-c.-]{1,3}(/[a-c.-]{1,3}){0,2}", 1..12),
    ) {
        let place = Place::in_memory();
        for name in names {
            let path = place.ws().join(&name);
            let dots = name.split('/').any(|part| part == "." || part == "..");
            if !dots && std::fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = std::fs::write(&path, "");
            }
        }
        let sandbox = place.sandbox(METHODS[0]);
        prop_assert_eq!(
            surveyed(&sandbox, ".", &all(), &NOTES),
            walked(&sandbox, ".", &all(), &NOTES)
        );
    }
}
