//! Laws of taking back, over any history of changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toolgate_gate::journal::{IntendedFile, Record, Recovered};
use toolgate_model::{ErrorKind, ToolError, ToolResult};

use super::*;
use toolgate_gate::journal::{Body, Line};

/// The content of every file that is there, by its name.
type Disk = BTreeMap<PathBuf, String>;

/// How an intended change went.
#[derive(Clone, Copy, Debug)]
enum Went {
    Well,
    Wrong,
    ForwardAfterCrash,
    BackAfterCrash,
}

fn file(place: &str, before: Option<&String>, after: Option<&String>) -> IntendedFile {
    IntendedFile {
        path: place.trim_start_matches('/').to_owned(),
        place: place.into(),
        before: before.cloned(),
        after: after.cloned(),
        mode: before.map(|_| 0o644),
        staged: None,
    }
}

#[derive(Default)]
struct History {
    changes: Changes,
    disk: Disk,
    seq: u64,
}

impl History {
    fn add(&mut self, call: &str, record: Record) {
        self.seq += 1;
        self.changes.take(Line {
            conversation: "c".into(),
            seq: self.seq,
            kind: record.kind().to_owned(),
            call: call.into(),
            nth: 1,
            at_ms: self.seq,
            hash: String::new(),
            body: Body::Kept(Box::new(record)),
        });
    }

    /// A call that wants these files to hold this.
    fn change(&mut self, call: &str, wanted: &[(&str, Option<String>)], went: Went) {
        let files = wanted
            .iter()
            .map(|(place, after)| file(place, self.disk.get(Path::new(place)), after.as_ref()));
        let files = files.collect();
        self.add(call, Record::Intended { files });
        if matches!(went, Went::Well | Went::ForwardAfterCrash) {
            for (place, after) in wanted {
                match after {
                    Some(content) => self.disk.insert(place.into(), content.clone()),
                    None => self.disk.remove(Path::new(place)),
                };
            }
        }
        let failed = |kind| ToolResult::failed(call.into(), "t", ToolError::new(kind, "no"));
        let recovered = |outcome| Record::Recovered {
            outcome,
            files: Vec::new(),
        };
        let result = match went {
            Went::Well => ToolResult::ok(call.into(), "t", ""),
            Went::Wrong => failed(ErrorKind::Failed),
            Went::ForwardAfterCrash => {
                self.add(call, recovered(Recovered::Forward));
                failed(ErrorKind::Interrupted)
            }
            Went::BackAfterCrash => {
                self.add(call, recovered(Recovered::Back));
                failed(ErrorKind::Interrupted)
            }
        };
        let result = Box::new(result);
        self.add(call, Record::Finished { result });
    }

    fn plan(&self, scope: &Scope) -> Result<Vec<Restore>, Refusal> {
        self.changes.plan(scope, &mut |place| {
            let content = self.disk.get(place);
            Ok(Found {
                sha256: content.cloned(),
                mode: content.map(|_| 0o644),
            })
        })
    }

    /// Takes a scope back, as a call of its own.
    fn undo(&mut self, call: &str, scope: &Scope) {
        let restored = self.plan(scope).unwrap();
        let wanted: Vec<(String, Option<String>)> = restored
            .into_iter()
            .map(|file| (file.place.to_str().unwrap().to_owned(), file.back))
            .collect();
        let wanted: Vec<(&str, Option<String>)> = wanted
            .iter()
            .map(|(place, back)| (place.as_str(), back.clone()))
            .collect();
        self.add(call, planned(call, TOOL));
        self.change(call, &wanted, Went::Well);
    }
}

fn planned(call: &str, tool: &str) -> Record {
    let plan = serde_json::json!({
        "conversation": "c",
        "call": {"id": call, "name": tool, "args": {}},
        "tool": tool,
        "summary": "changes",
        "risk": "medium",
        "locations": [],
        "facts": toolgate_model::Facts::reading("a"),
        "decision": {
            "action": "allow",
            "reason": "it may",
            "rule": "default",
            "source": {"layer": "built-in"},
            "atoms": [],
        },
        "plan_hash": "h",
    });
    let plan: toolgate_model::PlanRecord = serde_json::from_value(plan).unwrap();
    Record::Planned { plan: plan.into() }
}

const PLACES: [&str; 3] = ["/a", "/b", "/c"];

/// What a call wants of each place: nothing, that it goes, or one of few contents.
fn wanted() -> impl Strategy<Value = Vec<(&'static str, Option<String>)>> {
    let content = prop::option::of(prop_oneof![Just("x"), Just("y"), Just("z")]);
    prop::collection::vec(prop::option::of(content), PLACES.len()).prop_map(|each| {
        let named = PLACES.into_iter().zip(each);
        let wanted = named.filter_map(|(place, wish)| Some((place, wish?)));
        wanted
            .map(|(place, wish)| (place, wish.map(str::to_owned)))
            .collect()
    })
}

fn went() -> impl Strategy<Value = Went> {
    prop_oneof![
        4 => Just(Went::Well),
        1 => Just(Went::Wrong),
        1 => Just(Went::ForwardAfterCrash),
        1 => Just(Went::BackAfterCrash),
    ]
}

type Calls = Vec<(Vec<(&'static str, Option<String>)>, Went)>;

fn calls() -> impl Strategy<Value = Calls> {
    prop::collection::vec((wanted(), went()), 0..8)
}

fn history(calls: &Calls) -> (History, Disk) {
    let mut history = History::default();
    history.disk.insert("/a".into(), "old".into());
    let before = history.disk.clone();
    for (number, (wanted, went)) in calls.iter().enumerate() {
        history.change(&format!("call_{number}"), wanted, *went);
    }
    (history, before)
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn all_of_a_conversation_comes_back_and_goes_again(calls in calls()) {
        let (mut history, before) = history(&calls);
        let after = history.disk.clone();
        history.undo("undo_1", &Scope::All);
        prop_assert_eq!(&history.disk, &before);
        prop_assert_eq!(history.plan(&Scope::All), Ok(Vec::new()));
        history.undo("undo_2", &Scope::Call("undo_1".into()));
        prop_assert_eq!(&history.disk, &after);
        history.undo("undo_3", &Scope::All);
        prop_assert_eq!(&history.disk, &before);
    }

    #[test]
    fn one_call_after_the_other_from_the_last_on_comes_back(calls in calls()) {
        let (mut history, before) = history(&calls);
        for number in (0..calls.len()).rev() {
            let call = format!("call_{number}");
            history.undo(&format!("undo_{}", calls.len() - number), &Scope::Call(call.as_str().into()));
        }
        prop_assert_eq!(history.disk, before);
    }

    #[test]
    fn changes_of_others_are_never_lost(calls in calls(), place in 0..PLACES.len()) {
        let (mut history, _) = history(&calls);
        let place = PLACES[place];
        history.disk.insert(place.into(), "theirs".into());
        match history.plan(&Scope::All) {
            Ok(planned) => prop_assert!(planned.iter().all(|file| file.place != Path::new(place))),
            Err(Refusal::ChangedSince(files)) => {
                prop_assert_eq!(files.len(), 1);
                prop_assert_eq!(format!("/{}", files[0].path), place);
                prop_assert_eq!(&files[0].by, &None);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn a_change_between_two_calls_is_found_too() {
    let mut history = History::default();
    history.change("1", &[("/a", Some("x".into()))], Went::Well);
    history.disk.insert("/a".into(), "theirs".into());
    history.change("2", &[("/a", Some("y".into()))], Went::Well);
    let Err(Refusal::ChangedSince(files)) = history.plan(&Scope::All) else {
        panic!("it would be lost");
    };
    assert_eq!(files[0].call.as_str(), "1");
    assert!(history.plan(&Scope::Call("2".into())).is_ok());
    let Err(Refusal::ChangedSince(files)) = history.plan(&Scope::Call("1".into())) else {
        panic!("it would be lost");
    };
    assert_eq!(files[0].by, Some("2".into()));
}

#[test]
fn a_call_without_effect_is_not_undone_though_the_files_would_match() {
    let mut history = History::default();
    history.change("failed", &[("/a", Some("x".into()))], Went::Wrong);
    history.change("made", &[("/a", Some("x".into()))], Went::Well);
    assert_eq!(history.plan(&Scope::Call("failed".into())), Ok(Vec::new()));
}

#[test]
fn turns_hold_what_began_in_them_and_no_undo() {
    let mut history = History::default();
    let turn = |turn| Record::TurnStarted {
        turn,
        provider: String::new(),
        model: String::new(),
        preset: None,
        instructions: None,
    };
    history.add("", turn(1));
    history.change("1", &[("/a", Some("x".into()))], Went::Well);
    // The turn was cut off: its end is not on record.
    history.undo("undo_1", &Scope::Turn(1));
    assert!(history.disk.is_empty());
    history.undo("undo_2", &Scope::Call("undo_1".into()));
    history.add("", turn(2));
    history.change("2", &[("/b", Some("x".into()))], Went::Well);
    history.undo("undo_3", &Scope::Turn(1));
    assert_eq!(history.disk.keys().collect::<Vec<_>>(), [Path::new("/b")]);
    let missing = history.plan(&Scope::Turn(7));
    assert!(
        matches!(missing, Err(Refusal::NoSuchTurn { wanted: 7, .. })),
        "{missing:?}"
    );
}

#[test]
fn a_change_named_undo_by_a_model_stays_in_its_turn() {
    let mut history = History::default();
    let turn = Record::TurnStarted {
        turn: 1,
        provider: String::new(),
        model: String::new(),
        preset: None,
        instructions: None,
    };
    history.add("", turn);
    history.add("undo_1", planned("undo_1", "write_file"));
    history.change("undo_1", &[("/a", Some("x".into()))], Went::Well);
    let planned = history.plan(&Scope::Turn(1)).unwrap();
    assert_eq!(planned.len(), 1);
}

#[test]
fn rights_come_back_with_a_file_and_stay_where_it_is() {
    let mut history = History::default();
    history.disk.insert("/a".into(), "x".into());
    history.disk.insert("/b".into(), "x".into());
    history.change("1", &[("/a", Some("y".into()))], Went::Well);
    history.change("2", &[("/b", None)], Went::Well);
    let planned = history.changes.plan(&Scope::All, &mut |place| {
        Ok(match place.to_str() {
            Some("/a") => Found {
                sha256: Some("y".into()),
                mode: Some(0o600),
            },
            _ => Found::default(),
        })
    });
    let modes: Vec<_> = planned.unwrap().iter().map(|file| file.mode).collect();
    assert_eq!(modes, [Some(0o600), Some(0o644)]);
}

#[test]
fn of_calls_with_one_id_the_last_is_taken_back_of_which_something_is_left() {
    let mut history = History::default();
    for (nth, (path, text)) in [("/a", "x"), ("/b", "y"), ("/c", "z")].iter().enumerate() {
        history.change("1", &[(path, Some((*text).into()))], Went::Well);
        history.changes.all[nth].nth = u64::try_from(nth).unwrap() + 1;
    }
    for path in ["/c", "/b", "/a"] {
        let planned = history.plan(&Scope::Call("1".into())).unwrap();
        let places: Vec<_> = planned.iter().map(|file| file.place.as_path()).collect();
        assert_eq!(places, [std::path::Path::new(path)]);
        history.disk.remove(std::path::Path::new(path));
    }
    assert_eq!(history.plan(&Scope::Call("1".into())), Ok(Vec::new()));
}

#[test]
fn what_was_pruned_is_refused() {
    let mut history = History::default();
    history.change("1", &[("/a", Some("x".into()))], Went::Well);
    history.changes.all[0].files = None;
    assert_eq!(history.plan(&Scope::All), Err(Refusal::Pruned("1".into())));
}
