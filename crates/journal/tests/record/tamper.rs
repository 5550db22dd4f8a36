//! Every change of the file is found, with its place.

use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use rusqlite::types::Value;
use toolgate_gate::journal::{JournalErrorKind, ReadJournal, RecoverJournal};
use toolgate_journal::{Body, Filter, Line, Options, Reader, SqliteError, SqliteJournal};
use toolgate_sandbox::paths::{PathRules, PathSandbox};

use crate::changes::{CHANGES, SCHEMAS};
use crate::full::{COVERED, Copy, columns, full, rows, set};

/// Values that differ a little, and a lot, from one.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![Value::Text(String::new()), Value::Text("/x".into())],
        Value::Integer(number) => [number + 1, number - 1, 1 - number, -7, i64::MAX]
            .map(Value::Integer)
            .into(),
        Value::Real(_) => vec![Value::Real(0.5)],
        Value::Text(text) => vec![
            Value::Text(format!("{text} ")),
            Value::Text(format!("{text}\0")),
            Value::Text(String::new()),
            Value::Text(text.to_uppercase()),
            Value::Text("\u{202e}x".into()),
            Value::Null,
        ],
        Value::Blob(bytes) => {
            let mut flipped = bytes.clone();
            if let Some(first) = flipped.first_mut() {
                *first ^= 1;
            }
            let longer = [bytes.as_slice(), b"x"].concat();
            [flipped, longer, Vec::new()].map(Value::Blob).into()
        }
    }
}

#[test]
fn a_change_of_any_column_is_found() {
    let original = Copy::new();
    let db = original.db();
    let mut tried = 0;
    for table in COVERED {
        let all = rows(&db, table);
        assert!(all.len() > 1, "{table} has rows");
        for at in [0, all.len() / 2, all.len() - 1] {
            for (column, (name, _)) in columns(&db, table).iter().enumerate() {
                let value = &all[at][column];
                for other in others(value) {
                    let copy = Copy::new();
                    if other == *value || !set(&copy.db(), table, &all[at], column, &other) {
                        continue;
                    }
                    tried += 1;
                    let told = copy.told();
                    assert!(!told.is_empty(), "{table}.{name}: {value:?} to {other:?}");
                }
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn swapped_columns_of_two_rows_are_found() {
    let original = Copy::new();
    let db = original.db();
    for table in COVERED {
        let all = rows(&db, table);
        for (column, (name, key)) in columns(&db, table).iter().enumerate() {
            let first = &all[0];
            let other = all.iter().find(|row| row[column] != first[column]);
            let Some(second) = other.filter(|_| !key) else {
                continue;
            };
            let copy = Copy::new();
            let db = copy.db();
            assert!(set(&db, table, first, column, &second[column]));
            assert!(set(&db, table, second, column, &first[column]));
            drop(db);
            assert!(!copy.told().is_empty(), "{table}.{name}");
        }
    }
}

#[test]
fn a_removed_row_is_found_whichever_it_is() {
    let original = Copy::new();
    let db = original.db();
    for table in COVERED {
        for at in 0..rows(&db, table).len() {
            let copy = Copy::new();
            let keys: Vec<String> = columns(&db, table)
                .into_iter()
                .filter_map(|(name, key)| key.then_some(name))
                .collect();
            let keys = keys.join(", ");
            let remove = format!(
                "DELETE FROM {table} WHERE ({keys}) =
                   (SELECT {keys} FROM {table} ORDER BY {keys} LIMIT 1 OFFSET {at})"
            );
            assert_eq!(copy.db().execute(&remove, []).unwrap(), 1);
            assert!(!copy.told().is_empty(), "{table}, row {at}");
        }
    }
}

fn changed(steps: &[&str]) -> Copy {
    let copy = Copy::new();
    for step in steps {
        copy.db().execute_batch(step).unwrap();
    }
    copy
}

#[test]
fn a_change_is_told_with_its_place() {
    let mut wrong = Vec::new();
    for (what, steps, part) in CHANGES {
        let told = changed(steps).told();
        if !told.iter().any(|problem| problem.contains(part)) {
            wrong.push((what, told));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_foreign_schema_is_reported_and_the_file_is_not_used() {
    for (change, part) in SCHEMAS {
        let copy = Copy::new();
        let db = copy.db();
        if change.contains(" ON v ") {
            db.execute_batch("CREATE VIEW v AS SELECT 1 AS x").unwrap();
        }
        db.execute_batch(change).unwrap();
        drop(db);
        let told = copy.told();
        assert!(
            told.iter().any(|told| told.contains(part)),
            "{change}: {told:?}"
        );
        let before = std::fs::read(copy.file()).unwrap();
        let opened = SqliteJournal::open(copy.file(), Options::default()).map(|_| ());
        let refused = |result: Result<(), SqliteError>| match result {
            Err(SqliteError::Altered { .. }) => true,
            Err(SqliteError::Damaged { .. }) => *part == "malformed",
            _ => false,
        };
        assert!(refused(opened.clone()), "{change}: {opened:?}");
        assert_eq!(std::fs::read(copy.file()).unwrap(), before, "{change}");
        let reader = match Reader::open(copy.file()) {
            Ok(reader) => reader,
            Err(trouble) => {
                assert!(refused(Err(trouble)), "{change}");
                continue;
            }
        };
        assert!(refused(reader.conversations(0).map(|_| ())), "{change}");
        assert!(
            refused(reader.show(&Filter::default(), |_| true)),
            "{change}"
        );
        assert!(refused(reader.anchor().map(|_| ())), "{change}");
        assert!(refused(reader.size().map(|_| ())), "{change}");
    }
}

#[test]
fn an_untouched_copy_is_sound_and_works() {
    let copy = Copy::new();
    assert_eq!(copy.told(), Vec::<String>::new());
    drop(SqliteJournal::open(copy.file(), Options::default()).unwrap());
    let reader = Reader::open(copy.file()).unwrap();
    let verified = reader.verify(Some(&full().anchor)).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(verified.coverage, toolgate_journal::Coverage::Whole);
}

#[test]
fn a_live_lease_is_no_problem() {
    let copy = Copy::new();
    let db = copy.db();
    db.execute_batch("INSERT INTO leases VALUES ('a', 't', 77, 'boot 5', 1, 1)")
        .unwrap();
    assert_eq!(copy.told(), Vec::<String>::new());
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn any_change_of_any_cell_is_found(
        table in prop::sample::select(&COVERED[..]),
        row: prop::sample::Index,
        column: prop::sample::Index,
        how in 0_u8..6,
        number: i64,
        near in -300_i64..300,
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        text in ".{0,40}",
        at: prop::sample::Index,
    ) {
        let copy = Copy::new();
        let db = copy.db();
        let all = rows(&db, table);
        let row = &all[row.index(all.len())];
        let column = column.index(row.len());
        let value = match (&row[column], how) {
            (Value::Integer(_), 0) => Value::Integer(number),
            (Value::Integer(before), _) => Value::Integer(before.wrapping_add(near)),
            (Value::Blob(_), 0) => Value::Blob(bytes),
            (Value::Blob(before), _) => {
                let mut changed = before.clone();
                if !changed.is_empty() {
                    let at = at.index(changed.len());
                    changed[at] ^= 1 << how;
                }
                Value::Blob(changed)
            }
            (_, 0) => Value::Null,
            // A value of another row of the same column.
            (_, 1 | 2) => all[at.index(all.len())][column].clone(),
            (_, _) => Value::Text(text),
        };
        prop_assume!(value != row[column]);
        prop_assume!(set(&db, table, row, column, &value));
        drop(db);
        let name = &columns(&copy.db(), table)[column].0;
        prop_assert!(!copy.told().is_empty(), "{}.{}: {:?} became {:?}", table, name, row, value);
    }
}

#[test]
fn a_changed_content_is_not_used() {
    let copy = Copy::new();
    let db = copy.db();
    let hash: String = db
        .query_row(
            "SELECT lower(hex(hash)) FROM images WHERE last_ms < 150",
            [],
            |row| row.get(0),
        )
        .unwrap();
    db.execute_batch("UPDATE images SET bytes = x'00'; UPDATE bodies SET bytes = x'7b7d'")
        .unwrap();
    drop(db);
    let journal = SqliteJournal::open(copy.file(), Options::default()).unwrap();
    let image = block_on(journal.image(&hash));
    assert_eq!(image.unwrap_err().kind, JournalErrorKind::Damaged);
    let open = block_on(journal.unfinished(Some(&"b".into()))).unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(copy.directory.path())).unwrap();
    let recovered = block_on(journal.recover(&open[0], Arc::new(sandbox)));
    assert_eq!(recovered.unwrap_err().kind, JournalErrorKind::Damaged);
    let reader = Reader::open(copy.file()).unwrap();
    let each = |line: Line| {
        assert!(!matches!(line.body, Body::Kept(_)), "{line:?}");
        true
    };
    reader.show(&Filter::default(), each).unwrap();
}
