//! `write_todos`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;
use toolgate_model::ErrorKind;

use crate::fixture::WorkerState;

fn tasks() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,10}( [a-z]{1,10}){0,4}",
        "[a-z][^\\p{Cc}]{0,30}",
        "[a-z]{1,5}\n[a-z]{1,5}"
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

fn add(desk: &WorkerState, task: &str) -> String {
    let result = desk.call("write_todos", json!({"action": "add", "task": task}));
    assert_eq!(result.error, None, "{task:?}");
    let id = result.metadata["id"].as_str().unwrap().to_owned();
    assert_eq!(result.content, format!("Added todo: {id}"));
    id
}

fn list(desk: &WorkerState) -> String {
    desk.ok("write_todos", json!({"action": "list"}))
}

fn line(id: &str, task: &str, done: bool) -> String {
    let mark = if done { 'x' } else { ' ' };
    format!("[{mark}] {id}: {}", task.replace('\n', "\n      "))
}

#[test]
fn property_53_a_task_that_was_added_is_on_the_list_under_an_id_of_its_own() {
    law(prop::collection::vec(tasks(), 1..6), |desk, tasks| {
        let added: Vec<(String, String)> = tasks
            .into_iter()
            .map(|task| (add(desk, &task), task))
            .collect();
        let ids: std::collections::BTreeSet<&String> = added.iter().map(|(id, _)| id).collect();
        assert_eq!(ids.len(), added.len());
        let lines: Vec<String> = added
            .iter()
            .map(|(id, task)| line(id, task, false))
            .collect();
        assert_eq!(list(desk), lines.join("\n"));
    });
}

#[test]
fn property_54_a_task_that_was_completed_is_done_and_no_other_is() {
    law(
        (
            prop::collection::vec(tasks(), 1..6),
            any::<prop::sample::Index>(),
        ),
        |desk, (tasks, which)| {
            let added: Vec<(String, String)> = tasks
                .into_iter()
                .map(|task| (add(desk, &task), task))
                .collect();
            let (chosen, _) = which.get(&added);
            for _ in 0..2 {
                let told = desk.ok("write_todos", json!({"action": "complete", "id": chosen}));
                assert_eq!(told, format!("Completed todo: {chosen}"));
            }
            let lines: Vec<String> = added
                .iter()
                .map(|(id, task)| line(id, task, id == chosen))
                .collect();
            assert_eq!(list(desk), lines.join("\n"));
        },
    );
}

#[test]
fn property_55_a_task_that_was_removed_is_off_the_list_and_no_other_is() {
    law(
        (
            prop::collection::vec(tasks(), 2..6),
            any::<prop::sample::Index>(),
        ),
        |desk, (tasks, which)| {
            let added: Vec<(String, String)> = tasks
                .into_iter()
                .map(|task| (add(desk, &task), task))
                .collect();
            let (chosen, _) = which.get(&added);
            desk.ok("write_todos", json!({"action": "remove", "id": chosen}));
            let kept = added.iter().filter(|(id, _)| id != chosen);
            let lines: Vec<String> = kept.map(|(id, task)| line(id, task, false)).collect();
            assert_eq!(list(desk), lines.join("\n"));
            // Its id is not given to another.
            assert!(added.iter().all(|(id, _)| *id != add(desk, "another")));
        },
    );
}

#[test]
fn property_56_the_list_is_every_task_as_it_is() {
    let steps = prop::collection::vec((0_u8..3, 1_u64..8, tasks()), 0..16);
    law(steps, |desk, steps| {
        let mut expected: BTreeMap<u64, (String, bool)> = BTreeMap::new();
        for (step, id, task) in steps {
            match step {
                0 => {
                    let id: u64 = add(desk, &task).parse().unwrap();
                    expected.insert(id, (task, false));
                }
                1 => {
                    let args = json!({"action": "complete", "id": id});
                    let result = desk.call("write_todos", args);
                    let there = expected.get_mut(&id).map(|todo| todo.1 = true).is_some();
                    assert_eq!(result.error.is_none(), there);
                }
                _ => {
                    let args = json!({"action": "remove", "id": id.to_string()});
                    let result = desk.call("write_todos", args);
                    let there = expected.remove(&id).is_some();
                    assert_eq!(result.error.is_none(), there);
                }
            }
        }
        let lines: Vec<String> = expected
            .iter()
            .map(|(id, (task, done))| line(&id.to_string(), task, *done))
            .collect();
        let shown = if lines.is_empty() {
            "No todos.".to_owned()
        } else {
            lines.join("\n")
        };
        assert_eq!(list(desk), shown);
    });
}

#[test]
fn more_than_nine_tasks_stay_in_order() {
    let desk = WorkerState::new();
    let ids: Vec<String> = (0..12).map(|n| add(&desk, &format!("task {n}"))).collect();
    let listed: Vec<String> = list(&desk)
        .lines()
        .map(|line| line[4..].split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(listed, ids);
    let result = desk.call("write_todos", json!({"action": "complete", "id": 10}));
    assert_eq!(result.display, "Completed: task 9");
    let result = desk.again().call("write_todos", json!({"action": "list"}));
    assert_eq!(result.display, "12 todos, 1 completed");
}

#[test]
fn a_task_that_is_not_there_tells_which_there_are() {
    let desk = WorkerState::new();
    for action in ["complete", "remove"] {
        let (kind, message) = desk.fails("write_todos", json!({"action": action, "id": "7"}));
        assert_eq!(kind, ErrorKind::NotFound);
        assert_eq!(message, "Todo not found: 7. The list is empty.");
    }
    add(&desk, "a");
    add(&desk, "b");
    let (_, message) = desk.fails("write_todos", json!({"action": "remove", "id": "x"}));
    assert_eq!(message, "Todo not found: x. Ids there are: 1, 2.");
}

#[test]
fn arguments_that_do_not_fit_the_action_are_refused() {
    let desk = WorkerState::new();
    for (args, told) in [
        (json!({}), "action"),
        (json!({"action": "done"}), "action"),
        (json!({"action": "add"}), "add needs task"),
        (json!({"action": "add", "task": ""}), "task"),
        (json!({"action": "add", "task": " \n "}), "add needs task"),
        (
            json!({"action": "add", "task": "a\u{1b}[2J"}),
            "control characters",
        ),
        (
            json!({"action": "add", "task": "a\rb"}),
            "control characters",
        ),
        (
            json!({"action": "add", "task": "t", "id": "1"}),
            "add takes no id",
        ),
        (json!({"action": "complete"}), "complete needs id"),
        (
            json!({"action": "complete", "id": " "}),
            "complete needs id",
        ),
        (
            json!({"action": "complete", "id": "1", "task": "t"}),
            "complete takes no task",
        ),
        (json!({"action": "remove", "id": -1}), "id"),
        (json!({"action": "remove", "id": {}}), "id"),
        (json!({"action": "list", "id": "1"}), "list takes no id"),
        (json!({"action": "add", "task": "t", "done": true}), "done"),
    ] {
        let (kind, message) = desk.fails("write_todos", args.clone());
        assert_eq!(kind, ErrorKind::BadArgs, "{args}");
        assert!(message.contains(told), "{args}: {message}");
    }
    assert_eq!(list(&desk), "No todos.");
}
