//! `memory`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;
use toolgate_model::ErrorKind;

use crate::fixture::WorkerState;

/// Names as models choose them, and as they do not.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{1,12}", "[^\\p{Cc}]{1,20}"]
}

/// Texts of every kind. Long hexadecimal ones and the like would be hidden as secrets.
fn values() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,40}",
        "(?s).{0,40}",
        "[ \\t\\n\u{1b}\u{202e}äöü€]{0,20}"
    ]
}

/// A workspace for each case of a law.
fn law<S: Strategy>(cases: S, law: impl Fn(&WorkerState, S::Value)) {
    let desk = WorkerState::new();
    let mut runner = proptest::test_runner::TestRunner::new(toolgate_testkit::laws(256));
    let ran = runner.run(&cases, |case| {
        law(&desk.elsewhere(), case);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn property_50_what_was_stored_comes_back() {
    law(
        (keys(), values(), values()),
        |desk, (key, first, second)| {
            for value in [first, second] {
                desk.ok(
                    "memory",
                    json!({"action": "set", "key": key, "value": value}),
                );
                let back = desk.ok("memory", json!({"action": "get", "key": key}));
                assert_eq!(back, value, "{key:?}");
            }
        },
    );
}

#[test]
fn property_51_what_was_deleted_is_not_found() {
    law((keys(), keys(), values()), |desk, (key, other, value)| {
        let other = format!("{other}{key}");
        for key in [&key, &other] {
            desk.ok(
                "memory",
                json!({"action": "set", "key": key, "value": value}),
            );
        }
        desk.ok("memory", json!({"action": "delete", "key": key}));
        let gone = desk.call("memory", json!({"action": "get", "key": key}));
        assert!(
            gone.content.starts_with("Key not found"),
            "{}",
            gone.content
        );
        assert_eq!(gone.metadata["found"], false);
        assert_eq!(
            desk.ok("memory", json!({"action": "get", "key": other})),
            value
        );
    });
}

#[test]
fn property_52_the_list_is_exactly_the_keys() {
    let steps = prop::collection::vec((keys(), any::<bool>()), 0..10);
    law(steps, |desk, steps| {
        let mut expected = BTreeMap::new();
        for (key, set) in steps {
            if set {
                desk.ok("memory", json!({"action": "set", "key": key, "value": "v"}));
                expected.insert(key, ());
            } else {
                desk.ok("memory", json!({"action": "delete", "key": key}));
                expected.remove(&key);
            }
        }
        let result = desk.call("memory", json!({"action": "list"}));
        assert_eq!(result.metadata["count"], expected.len());
        if expected.is_empty() {
            assert_eq!(result.content, "No keys are stored.");
        } else {
            let listed: Vec<&str> = result.content.split('\n').collect();
            let keys: Vec<&String> = expected.keys().collect();
            assert_eq!(listed, keys);
        }
    });
}

#[test]
fn notes_belong_to_a_workspace_and_outlive_a_conversation() {
    let desk = WorkerState::new();
    desk.ok(
        "memory",
        json!({"action": "set", "key": "k", "value": "here"}),
    );
    assert_eq!(
        desk.again()
            .ok("memory", json!({"action": "get", "key": "k"})),
        "here"
    );
    let elsewhere = desk.elsewhere();
    let missing = elsewhere.ok("memory", json!({"action": "get", "key": "k"}));
    assert_eq!(missing, "Key not found: k");
    assert_eq!(
        elsewhere.ok("memory", json!({"action": "list"})),
        "No keys are stored."
    );
}

#[test]
fn without_a_store_notes_live_as_long_as_the_tools() {
    let desk = WorkerState::without_store();
    desk.ok("memory", json!({"action": "set", "key": "k", "value": "v"}));
    assert_eq!(desk.ok("memory", json!({"action": "get", "key": "k"})), "v");
    desk.ok("memory", json!({"action": "delete", "key": "k"}));
    assert_eq!(
        desk.ok("memory", json!({"action": "list"})),
        "No keys are stored."
    );
    desk.ok("write_todos", json!({"action": "add", "task": "t"}));
    assert_eq!(
        desk.ok("write_todos", json!({"action": "list"})),
        "[ ] 1: t"
    );
    let large = "x".repeat((1 << 20) + 1);
    for desk in [&desk, &WorkerState::new()] {
        let args = json!({"action": "set", "key": "k", "value": large});
        // The arguments of a call are bounded before the store sees them.
        let (kind, _) = desk.fails("memory", args);
        assert_eq!(kind, ErrorKind::LimitExceeded);
        let long = "k".repeat(2000);
        let (kind, _) = desk.fails(
            "memory",
            json!({"action": "set", "key": long, "value": "v"}),
        );
        assert_eq!(kind, ErrorKind::TooLarge);
    }
    // Other tools know nothing of it.
    let other = WorkerState::without_store();
    assert_eq!(
        other.ok("write_todos", json!({"action": "list"})),
        "No todos."
    );
}

#[test]
fn a_missing_key_tells_which_there_are() {
    let desk = WorkerState::new();
    for key in ["a", "b"] {
        desk.ok("memory", json!({"action": "set", "key": key, "value": ""}));
    }
    let told = desk.ok("memory", json!({"action": "get", "key": "c"}));
    assert_eq!(told, "Key not found: c\nKeys there are: a, b");
    let told = desk.ok("memory", json!({"action": "delete", "key": "c"}));
    assert_eq!(told, "Key not found: c");
    assert_eq!(desk.ok("memory", json!({"action": "get", "key": "a"})), "");
}

#[test]
fn arguments_that_do_not_fit_the_action_are_refused() {
    let desk = WorkerState::new();
    for (args, told) in [
        (json!({}), "action"),
        (json!({"action": "clear"}), "action"),
        (json!({"action": "get"}), "get needs key"),
        (json!({"action": "delete"}), "delete needs key"),
        (json!({"action": "set", "key": "k"}), "set needs value"),
        (json!({"action": "set", "value": "v"}), "set needs key"),
        (json!({"action": "get", "key": ""}), "key"),
        (
            json!({"action": "get", "key": "a\nb"}),
            "control characters",
        ),
        (
            json!({"action": "get", "key": "k", "value": "v"}),
            "get takes no value",
        ),
        (json!({"action": "list", "key": "k"}), "list takes no key"),
        (json!({"action": "set", "key": 1, "value": "v"}), "key"),
        (json!({"action": "set", "key": "k", "value": 1}), "value"),
        (json!({"action": "list", "prefix": "k"}), "prefix"),
    ] {
        let (kind, message) = desk.fails("memory", args.clone());
        assert_eq!(kind, ErrorKind::BadArgs, "{args}");
        assert!(message.contains(told), "{args}: {message}");
    }
    assert_eq!(
        desk.ok("memory", json!({"action": "list"})),
        "No keys are stored."
    );
}
