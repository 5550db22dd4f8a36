//! A change of several files, killed after every step: all files agree afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures::executor::block_on;
use toolgate_gate::journal::{RecoverJournal, Recovered};
use toolgate_journal::{Class, State};
use toolgate_sandbox::paths::{PathRules, PathSandbox};

use crate::child::Part;
use crate::fixture::Place;
use crate::parts::intended;

const FILES: usize = 7;

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = std::fs::read_dir(root).unwrap();
    all.map(|found| {
        let path = found.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    })
    .collect()
}

#[test]
fn all_files_of_a_killed_change_agree_after_the_next_start() {
    for stop in 0..=FILES + 1 {
        let place = Place::new();
        let root = place.directory().canonicalize().unwrap().join("work");
        std::fs::create_dir(&root).unwrap();
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        for n in 0..FILES {
            let (file, new) = intended(&root, n);
            if let Some(image) = &file.before {
                std::fs::write(&file.place, &*image.bytes).unwrap();
            }
            before.extend(
                file.before
                    .map(|image| (file.path.clone(), image.bytes.to_vec())),
            );
            after.extend(new.map(|bytes| (file.path, bytes)));
        }
        let words = format!("{} {stop} {FILES}", root.display());
        let mut part = Part::start("patch", &place.file(), &words);
        assert!(part.next().unwrap().starts_with("reached"));
        part.kill();
        let journal = place.open();
        let unfinished = block_on(journal.unfinished(None)).unwrap();
        if stop == FILES + 1 {
            assert!(unfinished.is_empty());
            assert_eq!(files(&root), after);
            continue;
        }
        assert_eq!(unfinished.len(), 1, "after step {stop}");
        let call = &unfinished[0];
        assert_eq!(
            (call.class(), call.half_changed),
            (Class::OutcomeUnknown, true)
        );
        let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
        let recovery = block_on(journal.recover(call, Arc::new(sandbox.clone()))).unwrap();
        let (outcome, expected) = if stop == 0 {
            (Recovered::Back, before)
        } else {
            (Recovered::Forward, after)
        };
        assert_eq!(recovery.outcome, outcome, "after step {stop}: {recovery:?}");
        assert_eq!(files(&root), expected, "after step {stop}");
        block_on(journal.settle(call, call.result(Some(&recovery)))).unwrap();
        let verified = place.verify();
        assert_eq!(verified.problems, []);
        assert_eq!(verified.calls.get(&State::Finished), Some(&1));
    }
}
