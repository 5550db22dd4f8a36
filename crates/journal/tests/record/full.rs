//! A record with a row of every kind, and copies of it to change.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use futures::executor::block_on;
use futures::future::join_all;
use rusqlite::Connection;
use rusqlite::types::Value;
use toolgate_gate::journal::{
    Image, Intended, Journal, LeaseJournal, PruneJournal, Record, Recovered,
};
use toolgate_gate::store::{Space, Store};
use toolgate_journal::{Anchor, Prune, Reader};
use toolgate_model::ErrorKind;

use crate::fixture::{Place, commit, entry, failed, finished, received, start, whole};

/// The record's bytes and its last commit.
pub(crate) struct Full {
    bytes: Vec<u8>,
    pub(crate) anchor: Anchor,
}

/// Made once.
pub(crate) fn full() -> &'static Full {
    static MADE: OnceLock<Full> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = Place::quick();
        write(&place);
        let verified = place.verify();
        assert_eq!(verified.problems, []);
        Full {
            bytes: std::fs::read(place.file()).unwrap(),
            anchor: verified.anchor.unwrap(),
        }
    })
}

pub(crate) fn intend(
    journal: &dyn Journal,
    conversation: &str,
    call: &str,
    at_ms: u64,
    before: &[u8],
) {
    let file = Intended {
        path: "a".into(),
        place: "/w/a".into(),
        before: Some(Image::of(before.to_vec())),
        after: None,
        mode: None,
        staged: None,
    };
    let (file, image) = file.split();
    let record = Record::Intended { files: vec![file] };
    let images: Vec<Image> = image.into_iter().collect();
    block_on(journal.intend(entry(conversation, call, at_ms, record), images)).unwrap();
}

/// Everything that a record can hold.
pub(crate) fn write(place: &Place) {
    place.clock.set(1000);
    let journal = place.open();
    block_on(journal.begin(&"a".into(), Some("/w".as_ref()))).unwrap();
    block_on(journal.begin(&"begun".into(), Some("/v".as_ref()))).unwrap();
    whole(&journal, "a", "old", 100);
    whole(&journal, "b", "1", 200);
    // Its workspace is known later.
    block_on(journal.begin(&"b".into(), Some("/b".as_ref()))).unwrap();
    whole(&journal, "c", "1", 205);
    commit(&journal, start("a", "edit", 210)).unwrap();
    intend(&journal, "a", "edit", 210, b"old content");
    commit(&journal, vec![entry("a", "edit", 220, finished("edit"))]).unwrap();
    commit(&journal, start("b", "cut off", 90)).unwrap();
    intend(&journal, "b", "cut off", 90, b"needed");
    // The same content, in a change that was closed and is pruned.
    commit(&journal, start("a", "same", 120)).unwrap();
    intend(&journal, "a", "same", 120, b"needed");
    commit(&journal, vec![entry("a", "same", 121, finished("same"))]).unwrap();
    commit(&journal, start("c", "mended", 230)).unwrap();
    intend(&journal, "c", "mended", 230, b"content of c");
    for outcome in [Recovered::LeftAlone, Recovered::Back] {
        let files = Vec::new();
        let mended = Record::Recovered { outcome, files };
        commit(&journal, vec![entry("c", "mended", 240, mended)]).unwrap();
    }
    let refused = vec![
        entry("a", "x", 300, received("x")),
        entry("a", "x", 300, failed("x", ErrorKind::PolicyDenied)),
    ];
    commit(&journal, refused).unwrap();
    let before = Prune {
        before_ms: Some(150),
        to_bytes: None,
    };
    let pruned = block_on(journal.prune(before)).unwrap();
    assert!(pruned.bodies > 0, "{pruned:?}");
    // What was pruned is said again.
    whole(&journal, "a", "old", 400);
    let together = (0..8).map(|n| {
        let call = format!("t{n}");
        journal.commit(vec![entry("a", &call, 410, received(&call))])
    });
    for done in block_on(join_all(together)) {
        done.unwrap();
    }
    let memory = Space::new("/w", "memory");
    for (key, value) in [("note", "first"), ("note", "kept"), ("other", "kept too")] {
        block_on(journal.set(&memory, key, value.into())).unwrap();
    }
    block_on(journal.set(&memory, "gone", "deleted".into())).unwrap();
    block_on(journal.delete(&memory, "gone")).unwrap();
    block_on(journal.set(&Space::new("/v", "todos"), "list", "[]".into())).unwrap();
    block_on(journal.set(&Space::new("/w", "reads"), "a", "{}".into())).unwrap();
}

/// A copy that can be changed.
pub(crate) struct Copy {
    pub(crate) directory: tempfile::TempDir,
}

impl Copy {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let copy = Self {
            directory: directory.unwrap(),
        };
        std::fs::write(copy.file(), &full().bytes).unwrap();
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(copy.file(), own).unwrap();
        copy
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("copy.db")
    }

    pub(crate) fn db(&self) -> Connection {
        let db = Connection::open(self.file()).unwrap();
        db.pragma_update(None, "synchronous", "OFF").unwrap();
        db
    }

    /// What a check says, in words; nothing if it finds nothing.
    pub(crate) fn told(&self) -> Vec<String> {
        match Reader::open(self.file()).and_then(|reader| reader.verify(None)) {
            Ok(verified) => verified.problems.iter().map(ToString::to_string).collect(),
            Err(trouble) => vec![trouble.to_string()],
        }
    }
}

/// The tables that a check covers: leases are the present, and on no record.
pub(crate) const COVERED: [&str; 7] = [
    "conversations",
    "entries",
    "bodies",
    "images",
    "anchors",
    "call_states",
    "store",
];

/// A column: its name, and whether it is part of the key.
pub(crate) fn columns(db: &Connection, table: &str) -> Vec<(String, bool)> {
    let query = format!("SELECT name, pk > 0 FROM pragma_table_xinfo('{table}')");
    let mut find = db.prepare(&query).unwrap();
    let all = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    all.unwrap().map(Result::unwrap).collect()
}

/// Every row of a table, in the order of its key.
pub(crate) fn rows(db: &Connection, table: &str) -> Vec<Vec<Value>> {
    let columns = columns(db, table);
    let keys: Vec<&str> = columns
        .iter()
        .filter(|(_, key)| *key)
        .map(|(name, _)| name.as_str())
        .collect();
    let query = format!("SELECT * FROM {table} ORDER BY {}", keys.join(", "));
    let mut find = db.prepare(&query).unwrap();
    let all = find.query_map([], |row| (0..columns.len()).map(|at| row.get(at)).collect());
    all.unwrap().map(Result::unwrap).collect()
}

/// Sets one cell; false if SQLite refuses the value there.
pub(crate) fn set(
    db: &Connection,
    table: &str,
    row: &[Value],
    column: usize,
    value: &Value,
) -> bool {
    let columns = columns(db, table);
    let (mut filter, mut with) = (String::from("1"), vec![value.clone()]);
    for ((name, _), value) in columns.iter().zip(row).filter(|((_, key), _)| *key) {
        with.push(value.clone());
        filter.push_str(&format!(" AND {name} = ?{}", with.len()));
    }
    let name = &columns[column].0;
    let change = format!("UPDATE {table} SET {name} = ?1 WHERE {filter}");
    match db.execute(&change, rusqlite::params_from_iter(with)) {
        Ok(changed) => changed == 1,
        Err(error) => {
            assert!(error.to_string().contains("constraint"), "{error}");
            false
        }
    }
}
