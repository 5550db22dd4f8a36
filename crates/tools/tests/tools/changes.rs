//! Changes of several files that are cut short: every file is what it was.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use toolgate_gate::journal::{Batch, Entry, Image, Journal, JournalError, Record};
use toolgate_journal::MemoryJournal;
use toolgate_model::ErrorKind;

use crate::fixture::Workspace;

type Prank = Box<dyn FnMut(&[PathBuf]) -> Result<(), JournalError> + Send>;

/// A journal that does something to the disk when it is told what is about to happen: after
/// everything is staged, before anything is renamed.
struct Meanwhile {
    journal: MemoryJournal,
    prank: Mutex<Option<Prank>>,
}

impl Journal for Meanwhile {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.journal.append(batch)
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        let Record::Intended { files } = &entry.record else {
            panic!("{entry:?}")
        };
        let places: Vec<PathBuf> = files.iter().map(|file| file.place.clone()).collect();
        let prank = self.prank.lock().unwrap().take();
        if let Some(Err(error)) = prank.map(|mut prank| prank(&places)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.journal.intend(entry, images)
    }
}

/// A workspace in which something happens at the worst moment.
fn workspace() -> (Workspace, Arc<Meanwhile>) {
    let journal = Arc::new(Meanwhile {
        journal: MemoryJournal::new(),
        prank: Mutex::new(None),
    });
    let ws = Workspace::recorded_in(Arc::clone(&journal) as Arc<dyn Journal>);
    (ws, journal)
}

fn on_intent(
    journal: &Meanwhile,
    prank: impl FnMut(&[PathBuf]) -> Result<(), JournalError> + Send + 'static,
) {
    *journal.prank.lock().unwrap() = Some(Box::new(prank));
}

/// Names of everything in the workspace.
fn names(ws: &Workspace) -> Vec<String> {
    let mut names: Vec<String> = walk(ws.path(""))
        .into_iter()
        .map(|path| {
            path.strip_prefix(ws.path(""))
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn walk(directory: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(path.clone()));
        }
        found.push(path);
    }
    found
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Update File: b.sh\n@@\n-old\n+new\n*** Add File: made/deep/n.txt\n+new\n*** Update File: m.txt\n*** Move to: made/m.txt\n*** Delete File: z.txt\n*** End Patch\n";
const FILES: [&str; 4] = ["a.txt", "b.sh", "m.txt", "z.txt"];

fn filled() -> (Workspace, Arc<Meanwhile>) {
    let (ws, journal) = workspace();
    for name in FILES {
        ws.put(name, "old\n");
        ws.read(name);
    }
    std::fs::set_permissions(ws.path("b.sh"), PermissionsExt::from_mode(0o751)).unwrap();
    (ws, journal)
}

#[test]
fn everything_is_staged_and_on_record_before_anything_is_seen() {
    let (ws, journal) = filled();
    let (root, seen) = (ws.path(""), Arc::new(Mutex::new(Vec::new())));
    let into = Arc::clone(&seen);
    on_intent(&journal, move |places| {
        let mut all = walk(root.clone());
        all.sort();
        *into.lock().unwrap() = all;
        assert_eq!(places.len(), 6);
        Ok(())
    });
    let result = ws.call("apply_patch", json!({"patch": PATCH}));
    assert_eq!(result.error, None);
    let before: Vec<PathBuf> = FILES.iter().map(|name| ws.path(name)).collect();
    assert_eq!(
        *seen.lock().unwrap(),
        before,
        "a crash here leaves nothing behind"
    );
    assert_eq!(
        names(&ws),
        [
            "a.txt",
            "b.sh",
            "made",
            "made/deep",
            "made/deep/n.txt",
            "made/m.txt"
        ]
    );
    let entries = journal.journal.entries();
    let intended = entries.iter().find_map(|entry| match &entry.record {
        Record::Intended { files } => Some(files.clone()),
        _ => None,
    });
    let intended = intended.unwrap();
    let file = |path: &str| intended.iter().find(|file| file.path == path).unwrap();
    assert_eq!(file("b.sh").mode.unwrap() & 0o777, 0o751);
    assert!(file("b.sh").staged_beside().is_some());
    assert_eq!(file("made/deep/n.txt").before, None);
    assert_eq!(
        (&file("z.txt").after, &file("z.txt").staged),
        (&None, &None)
    );
    assert_eq!(file("made/m.txt").after, file("m.txt").before);
    assert_eq!(
        file("a.txt").place,
        ws.path("a.txt").canonicalize().unwrap()
    );
}

#[test]
fn a_rename_that_fails_takes_back_those_before_it() {
    // Each of these stands in the way of another step.
    type InTheWay = fn(PathBuf);
    let pranks: [(&str, InTheWay); 5] = [
        ("made/deep/n.txt", |path| {
            std::fs::create_dir_all(path).unwrap();
        }),
        ("made/m.txt", |path| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "theirs").unwrap();
        }),
        ("z.txt", |path| {
            std::fs::write(path, "theirs, and longer").unwrap()
        }),
        ("m.txt", |path| std::fs::remove_file(path).unwrap()),
        ("b.sh", |path| {
            std::fs::write(path, "theirs, and longer").unwrap()
        }),
    ];
    for (name, prank) in pranks {
        let (ws, journal) = filled();
        let path = ws.path(name);
        let at = path.clone();
        on_intent(&journal, move |_| {
            prank(at.clone());
            Ok(())
        });
        let result = ws.call("apply_patch", json!({"patch": PATCH}));
        let error = result.error.unwrap_or_else(|| panic!("{name} went well"));
        assert!(
            matches!(
                error.kind,
                ErrorKind::Failed | ErrorKind::AlreadyExists | ErrorKind::NotAFile
            ),
            "{name}: {error}"
        );
        for file in FILES.into_iter().filter(|file| *file != name) {
            assert_eq!(ws.get(file), b"old\n", "{name}: {file}");
        }
        let mode = std::fs::metadata(ws.path("b.sh")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o751, "{name}");
        let theirs: Vec<String> = names(&ws)
            .into_iter()
            .filter(|left| !FILES.contains(&left.as_str()))
            .collect();
        let kept = |left: &String| name.starts_with(left.as_str());
        assert!(theirs.iter().all(kept), "{name}: {theirs:?}");
        if path.is_file() && name != "b.sh" && name != "z.txt" {
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs", "{name}");
        }
        // The conversation knows what it knew: the files are unchanged.
        if name.starts_with("made") {
            assert!(
                error.message.contains("All files are as they were"),
                "{error}"
            );
            std::fs::remove_dir_all(ws.path("made")).unwrap();
            assert_eq!(
                ws.call("apply_patch", json!({"patch": PATCH})).error,
                None,
                "{name}"
            );
        }
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_change() {
    let (ws, journal) = filled();
    let calls: [(&str, Value); 3] = [
        ("apply_patch", json!({"patch": PATCH})),
        (
            "edit_file",
            json!({"path": "a.txt", "edits": [{"target": "old", "replacement": "new"}]}),
        ),
        (
            "write_file",
            json!({"path": "a.txt", "content": "new\n", "overwrite": true}),
        ),
    ];
    for (tool, args) in calls {
        on_intent(&journal, |_| {
            Err(JournalError::not_written("the disk is full"))
        });
        let (kind, message) = ws.fails(tool, args);
        assert_eq!(kind, ErrorKind::Journal, "{tool}");
        assert!(message.contains("no file was changed"), "{message}");
        assert_eq!(names(&ws), FILES, "{tool}");
        assert_eq!(ws.get("a.txt"), b"old\n", "{tool}");
    }
}

#[test]
fn a_file_that_changes_while_it_is_edited_is_left_alone() {
    for (tool, args) in [
        (
            "edit_file",
            json!({"path": "a.txt", "edits": [{"target": "old", "replacement": "new"}]}),
        ),
        (
            "write_file",
            json!({"path": "a.txt", "content": "new\n", "overwrite": true}),
        ),
    ] {
        let (ws, journal) = filled();
        let path = ws.path("a.txt");
        on_intent(&journal, move |_| {
            std::fs::write(&path, "theirs, and longer").unwrap();
            Ok(())
        });
        ws.fails(tool, args);
        assert_eq!(ws.get("a.txt"), b"theirs, and longer");
        assert_eq!(names(&ws), FILES);
    }
}

#[test]
fn many_files_change_together() {
    let ws = Workspace::new();
    let mut patch = String::from("LP1\n");
    let files: Vec<String> = (0..200).map(|n| format!("d{}/f{n}.txt", n % 7)).collect();
    for (n, name) in files.iter().enumerate() {
        if n % 2 == 0 {
            ws.put(name, "old\n");
            ws.read(name);
        }
        patch.push_str(&format!("F {name}\nT\nnew {n}\n.\nN +\n"));
    }
    patch.push_str("END\n");
    let result = ws.call("apply_patch", json!({"patch": patch}));
    assert_eq!(result.error, None);
    for (n, name) in files.iter().enumerate() {
        let old = if n % 2 == 0 { "old\n" } else { "" };
        assert_eq!(ws.get(name), format!("{old}new {n}\n").as_bytes());
    }
    assert!(names(&ws).iter().all(|name| !name.contains(".toolgate-")));
}
