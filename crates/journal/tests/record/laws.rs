//! What holds for every record: commits are whole, calls go one way, every later change is found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use rusqlite::Connection;
use toolgate_gate::journal::{Entry, Record};
use toolgate_journal::{Anchor, Problem, Reader, SqliteJournal, State};
use toolgate_model::{ApprovalId, ErrorKind};

use crate::fixture::{
    Place, commit, entry, failed, finished, planned, received, start, together, whole,
};

fn record(step: u8, call: &str) -> Record {
    let approval_id = ApprovalId::from_bits(7);
    match step {
        0 => received(call),
        1 => planned(call),
        2 => Record::Asked {
            approval_id,
            plan_hash: "h".into(),
            question: None,
        },
        3 => Record::Answered {
            approval_id,
            approved: true,
            scope: "once".into(),
            by: "me".into(),
            reason: None,
            opened: Vec::new(),
            lasting: Box::default(),
            outcome: None,
        },
        4 => Record::Started,
        _ => finished(call),
    }
}

/// The way of a call, told in another way than the program tells it: by listing it.
fn follows(from: Option<State>, step: u8) -> Option<State> {
    use State::{Answered, Asked, Finished, Planned, Received, Started};
    Some(match (from, step) {
        (_, 0) => Received,
        (Some(Received | Answered), 1) => Planned,
        (Some(Planned), 2) => Asked,
        (Some(Asked), 3) => Answered,
        (Some(Planned | Answered), 4) => Started,
        (Some(Received | Planned | Asked | Answered | Started), 5) => Finished,
        _ => return None,
    })
}

type Steps = Vec<(u8, u8, u8)>;

fn commits() -> impl Strategy<Value = Vec<Steps>> {
    // Mostly steps that can follow: the likely ones are the first of a call.
    let step = (
        0_u8..2,
        0_u8..3,
        prop_oneof![Just(0_u8), 0_u8..2, 0_u8..6, Just(5_u8)],
    );
    prop::collection::vec(prop::collection::vec(step, 1..5), 1..10)
}

/// What the steps make of the calls, if all of them can follow; an id comes in once per commit.
fn applied(calls: &BTreeMap<(u8, u8), State>, steps: &Steps) -> Option<BTreeMap<(u8, u8), State>> {
    let mut next = calls.clone();
    for &(conversation, call, step) in steps {
        let id = (conversation, call);
        next.insert(id, follows(next.get(&id).copied(), step)?);
    }
    Some(next)
}

fn receives_twice(steps: &Steps) -> bool {
    steps.iter().enumerate().any(|(n, a)| {
        a.2 == 0
            && steps
                .iter()
                .skip(n + 1)
                .any(|b| (a.0, a.1, a.2) == (b.0, b.1, b.2))
    })
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn commits_are_whole_or_nothing_and_calls_go_one_way(
        commits in commits(),
    ) {
        let place = Place::quick();
        let journal = SqliteJournal::open(place.file(), place.options()).unwrap();
        let (mut calls, mut kept, mut finals) = (BTreeMap::new(), BTreeMap::new(), 0);
        for (at, steps) in commits.iter().enumerate() {
            prop_assume!(!receives_twice(steps));
            // One batch per conversation, offered at once: none shares another's fate.
            let batches: Vec<(Steps, Vec<Entry>)> = (0..2).map(|of| {
                let steps: Steps = steps.iter().filter(|step| step.0 == of).copied().collect();
                let entries = steps.iter().map(|&(conversation, call, step)| {
                    let call = call.to_string();
                    entry(&format!("c{conversation}"), &call, at as u64, record(step, &call))
                }).collect();
                (steps, entries)
            }).collect();
            let entries = batches.iter().map(|(_, entries)| entries.clone()).collect();
            for (written, (steps, entries)) in together(&journal, entries).into_iter().zip(batches) {
                let expected = applied(&calls, &steps);
                prop_assert_eq!(written.is_ok(), expected.is_some());
                if let Some(next) = expected {
                    calls = next;
                    finals += steps.iter().filter(|step| step.2 == 5).count() as u64;
                    for entry in entries {
                        kept.entry(entry.conversation.clone()).or_insert_with(Vec::new).push(entry);
                    }
                }
            }
        }
        let kept: Vec<Entry> = kept.into_values().flatten().collect();
        prop_assert_eq!(place.entries(), kept);
        let verified = place.verify();
        prop_assert_eq!(&verified.problems, &[]);
        prop_assert_eq!(verified.calls.get(&State::Finished).copied().unwrap_or(0), finals);
    }
}

/// A record with everything in it, made once and copied for every case.
struct Original {
    bytes: Vec<u8>,
    anchors: Vec<Anchor>,
}

impl Original {
    /// A copy of it in a directory.
    fn copied(&self, directory: &Path) -> PathBuf {
        let copy = directory.join("copy.db");
        std::fs::write(&copy, &self.bytes).unwrap();
        copy
    }
}

fn original() -> &'static Original {
    static MADE: OnceLock<Original> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = Place::quick();
        let journal = place.open();
        let mut anchors = Vec::new();
        for round in 0..4_u64 {
            for conversation in ["a", "b", "c"] {
                let call = format!("call {round}");
                whole(&journal, conversation, &call, 10 * round);
                anchors.push(place.reader().anchor().unwrap().unwrap());
            }
            let both = ["a", "b"].map(|of| start(of, &format!("second {round}"), 10 * round + 5));
            for written in together(&journal, both.into()) {
                written.unwrap();
            }
            let refused = failed("x", ErrorKind::PolicyDenied);
            let both = vec![
                entry("c", "x", 10 * round, received("x")),
                entry("c", "x", 10 * round, refused),
            ];
            commit(&journal, both).unwrap();
            anchors.push(place.reader().anchor().unwrap().unwrap());
        }
        drop(journal);
        assert!(place.verify().is_sound());
        let bytes = std::fs::read(place.file()).unwrap();
        Original { bytes, anchors }
    })
}

/// A way to falsify a record.
#[derive(Clone, Debug)]
enum Tamper {
    EntryColumn { at: u64, column: usize },
    EntryRemoved { at: u64 },
    EntriesSwapped { at: u64 },
    BodyChanged { at: u64 },
    BodyRemoved { at: u64 },
    BodiesSwapped { at: u64 },
    ConversationRemoved { which: usize },
    ConversationRenamed { which: usize },
    ConversationUnlisted { which: usize },
    EndRemoved { which: usize },
    AnchorColumn { at: u64, column: usize },
    AnchorRemoved { at: u64 },
    AnchorsSwapped { at: u64 },
    StateChanged { at: u64 },
    StateRemoved { at: u64 },
    EntryAdded { which: usize },
}

fn tamper() -> impl Strategy<Value = Tamper> {
    let at = 0_u64..20;
    prop_oneof![
        (at.clone(), 0_usize..8).prop_map(|(at, column)| Tamper::EntryColumn { at, column }),
        at.clone().prop_map(|at| Tamper::EntryRemoved { at }),
        at.clone().prop_map(|at| Tamper::EntriesSwapped { at }),
        at.clone().prop_map(|at| Tamper::BodyChanged { at }),
        at.clone().prop_map(|at| Tamper::BodyRemoved { at }),
        at.clone().prop_map(|at| Tamper::BodiesSwapped { at }),
        (0_usize..3).prop_map(|which| Tamper::ConversationRemoved { which }),
        (0_usize..3).prop_map(|which| Tamper::ConversationRenamed { which }),
        (0_usize..3).prop_map(|which| Tamper::ConversationUnlisted { which }),
        (0_usize..3).prop_map(|which| Tamper::EndRemoved { which }),
        (at.clone(), 0_usize..5).prop_map(|(at, column)| Tamper::AnchorColumn { at, column }),
        at.clone().prop_map(|at| Tamper::AnchorRemoved { at }),
        at.clone().prop_map(|at| Tamper::AnchorsSwapped { at }),
        at.clone().prop_map(|at| Tamper::StateChanged { at }),
        at.prop_map(|at| Tamper::StateRemoved { at }),
        (0_usize..3).prop_map(|which| Tamper::EntryAdded { which }),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Tamper {
    fn apply(&self, db: &Connection) {
        let pick = |table: &str, key: &str, at: &u64| -> Vec<rusqlite::types::Value> {
            let columns = key.split(", ").count();
            let find = format!("SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET ?1");
            let row = |row: &rusqlite::Row<'_>| (0..columns).map(|n| row.get(n)).collect();
            db.query_row(&find, [at], row).unwrap()
        };
        let run = |text: &str, with: &[rusqlite::types::Value]| {
            let with = rusqlite::params_from_iter(with);
            let changed = db.execute(text, with).unwrap();
            assert!(changed > 0, "{text} did nothing");
        };
        match self {
            Self::EntryColumn { at, column } => {
                let key = pick("entries", "conversation, seq", at);
                let (name, value) = [
                    ("kind", "kind || 'x'"),
                    ("call", "call || ' '"),
                    ("nth", "nth + 1"),
                    ("at_ms", "at_ms + 1"),
                    ("body_hash", "zeroblob(32)"),
                    ("prev_hash", "randomblob(32)"),
                    ("hash", "randomblob(32)"),
                    ("seq", "seq + 1000"),
                ][*column];
                run(
                    &format!(
                        "UPDATE entries SET {name} = {value} WHERE conversation = ?1 AND seq = ?2"
                    ),
                    &key,
                );
            }
            Self::EntryRemoved { at } => {
                let key = pick("entries", "conversation, seq", at);
                run(
                    "DELETE FROM entries WHERE conversation = ?1 AND seq = ?2",
                    &key,
                );
            }
            Self::EntriesSwapped { at } => {
                let key = pick("entries", "conversation, seq", &(at / 2));
                for (to, from) in [("9000", "?2"), ("?2", "?2 + 1"), ("?2 + 1", "9000")] {
                    run(
                        &format!(
                            "UPDATE entries SET seq = {to} WHERE conversation = ?1 AND seq = {from} AND ?2"
                        ),
                        &key,
                    );
                }
            }
            Self::BodyChanged { at } => {
                let key = pick("bodies", "hash", at);
                run(
                    "UPDATE bodies SET bytes = CAST(bytes || x'20' AS BLOB) WHERE hash = ?1",
                    &key,
                );
            }
            Self::BodyRemoved { at } => {
                let key = pick("bodies", "hash", at);
                run("DELETE FROM bodies WHERE hash = ?1", &key);
            }
            Self::BodiesSwapped { at } => {
                let mut key = pick("bodies", "hash", at);
                key.extend(pick("bodies", "hash", &(at + 1)));
                run(
                    "UPDATE bodies SET bytes = CASE hash
                       WHEN ?1 THEN (SELECT bytes FROM bodies WHERE hash = ?2)
                       ELSE (SELECT bytes FROM bodies WHERE hash = ?1) END
                     WHERE hash IN (?1, ?2)",
                    &key,
                );
            }
            Self::ConversationRemoved { which } => {
                let name = [NAMES[*which].to_owned().into()];
                for table in ["entries", "call_states"] {
                    run(
                        &format!("DELETE FROM {table} WHERE conversation = ?1"),
                        &name,
                    );
                }
                run("DELETE FROM conversations WHERE id = ?1", &name);
            }
            Self::ConversationUnlisted { which } => {
                let name = [NAMES[*which].to_owned().into()];
                run("DELETE FROM conversations WHERE id = ?1", &name);
            }
            Self::ConversationRenamed { which } => {
                let name = [NAMES[*which].to_owned().into()];
                for table in ["entries", "call_states"] {
                    run(
                        &format!("UPDATE {table} SET conversation = 'z' WHERE conversation = ?1"),
                        &name,
                    );
                }
            }
            Self::EndRemoved { which } => {
                let name = [NAMES[*which].to_owned().into()];
                run(
                    "DELETE FROM entries WHERE conversation = ?1 AND seq =
                       (SELECT max(seq) FROM entries WHERE conversation = ?1)",
                    &name,
                );
            }
            Self::AnchorColumn { at, column } => {
                let key = pick("anchors", "number", at);
                let (name, value) = [
                    ("at_ms", "at_ms + 1"),
                    ("heads", "'[]'"),
                    (
                        "note",
                        "'{\"pruned_before_ms\":999999,\"bodies\":0,\"images\":0}'",
                    ),
                    ("prev_hash", "randomblob(32)"),
                    ("hash", "randomblob(32)"),
                ][*column];
                run(
                    &format!("UPDATE anchors SET {name} = {value} WHERE number = ?1"),
                    &key,
                );
            }
            Self::AnchorRemoved { at } => {
                let key = pick("anchors", "number", at);
                run("DELETE FROM anchors WHERE number = ?1", &key);
            }
            Self::AnchorsSwapped { at } => {
                let key = pick("anchors", "number", at);
                for (to, from) in [("9000", "?1"), ("?1", "?1 + 1"), ("?1 + 1", "9000")] {
                    run(
                        &format!("UPDATE anchors SET number = {to} WHERE number = {from} AND ?1"),
                        &key,
                    );
                }
            }
            Self::StateChanged { at } => {
                let key = pick("call_states", "conversation, call, nth", at);
                run(
                    "UPDATE call_states SET state = CASE state WHEN 'finished' THEN 'started' ELSE 'finished' END
                     WHERE conversation = ?1 AND call = ?2 AND nth = ?3",
                    &key,
                );
            }
            Self::StateRemoved { at } => {
                let key = pick("call_states", "conversation, call, nth", at);
                run(
                    "DELETE FROM call_states WHERE conversation = ?1 AND call = ?2 AND nth = ?3",
                    &key,
                );
            }
            Self::EntryAdded { which } => {
                let name = [NAMES[*which].to_owned().into()];
                run(
                    "INSERT INTO entries SELECT conversation, seq + 1, kind, call, nth, at_ms, body_hash, hash, randomblob(32)
                     FROM entries WHERE conversation = ?1 ORDER BY seq DESC LIMIT 1",
                    &name,
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn every_change_removal_and_reordering_is_found(tamper in tamper()) {
        let directory = tempfile::tempdir().unwrap();
        let copy = original().copied(directory.path());
        let db = Connection::open(&copy).unwrap();
        db.pragma_update(None, "synchronous", "OFF").unwrap();
        tamper.apply(&db);
        drop(db);
        let verified = Reader::open(&copy).unwrap().verify(None).unwrap();
        prop_assert!(!verified.is_sound(), "{:?} was not found", tamper);
    }
}

#[test]
fn a_cut_off_end_is_found_with_an_anchor_kept_elsewhere_and_only_so() {
    let directory = tempfile::tempdir().unwrap();
    let copy = original().copied(directory.path());
    let db = Connection::open(&copy).unwrap();
    // The last commit was a call of `c` that arrived and was refused at once.
    db.execute_batch(
        "DELETE FROM anchors WHERE number = (SELECT max(number) FROM anchors);
         DELETE FROM entries WHERE conversation = 'c' AND seq > (SELECT max(seq) FROM entries WHERE conversation = 'c') - 2;
         DELETE FROM call_states WHERE conversation = 'c' AND call = 'x' AND nth = 4;
         UPDATE bodies SET last_ms = 20 WHERE last_ms = 30 AND hash IN
           (SELECT body_hash FROM entries WHERE conversation = 'c' AND call = 'x');",
    )
    .unwrap();
    drop(db);
    let reader = Reader::open(&copy).unwrap();
    assert_eq!(reader.verify(None).unwrap().problems, []);
    let (last, earlier) = original().anchors.split_last().unwrap();
    let verified = reader.verify(Some(last)).unwrap();
    let number = last.number;
    assert_eq!(verified.problems, [Problem::NotThatRecord { number }]);
    for anchor in earlier {
        assert_eq!(
            reader.verify(Some(anchor)).unwrap().problems,
            [],
            "{anchor:?}"
        );
        let another = Anchor {
            hash: last.hash.clone(),
            ..anchor.clone()
        };
        assert!(!reader.verify(Some(&another)).unwrap().is_sound());
    }
    let whole = tempfile::tempdir().unwrap();
    let whole = Reader::open(original().copied(whole.path())).unwrap();
    assert_eq!(whole.verify(Some(last)).unwrap().problems, []);
}

#[test]
fn an_anchor_survives_json() {
    let anchor = original().anchors.last().unwrap();
    let text = serde_json::to_string(anchor).unwrap();
    assert_eq!(&serde_json::from_str::<Anchor>(&text).unwrap(), anchor);
    assert!(serde_json::from_str::<Anchor>(r#"{"number":1,"hash":"x","more":1}"#).is_err());
}
