//! Whoever listens sees no secret of a call; what is on record, what runs and what an approver
//! decides from is exact.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::BatchContext;
use toolgate_gate::approve::{Answer, Remember};
use toolgate_gate::journal::Record;
use toolgate_gate::output::Redactor;
use toolgate_model::{Action, Decision, ErrorKind, Event, EventKind};
use toolgate_policy::{Question, Validator};
use toolgate_testkit::{
    Act, Bench, Collected, Rig, Scripted, ScriptedApprover, call, call_because, states_facts,
};

const REDACTED: &str = include_str!("data/redacted.txt");
const PASSWORD: &str = "correct horse battery";

fn redactor() -> Redactor {
    Redactor::new([("DEPLOY_PASSWORD", PASSWORD)]).unwrap()
}

/// The texts with secrets that redaction itself is tested with, each with the secrets in it.
fn texts() -> Vec<(String, Vec<String>)> {
    let redactor = redactor();
    let rows = REDACTED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("## "))
        .filter_map(|line| line.split_once(" ==> "))
        .map(|(text, _)| text.replace('^', "").replace("\\n", "\n"));
    let texts: Vec<_> = rows
        .map(|text| {
            let spans = redactor.redact(&text).1;
            let secrets = spans
                .iter()
                .map(|span| text[span.start..span.end].to_owned());
            let secrets = secrets.collect::<Vec<_>>();
            (text, secrets)
        })
        .filter(|(_, secrets)| !secrets.is_empty())
        .collect();
    assert!(texts.len() >= 20, "{}", texts.len());
    texts
}

/// The pieces by which a secret would be known again.
fn pieces(secret: &str) -> impl Iterator<Item = &str> {
    secret.split_whitespace().filter(|piece| piece.len() >= 8)
}

fn assert_hidden(shown: &str, secrets: &[String], what: &str) {
    for piece in secrets.iter().flat_map(|secret| pieces(secret)) {
        assert!(!shown.contains(piece), "{what}: {piece:?} is in {shown}");
    }
}

async fn events(bench: &Bench, calls: Vec<toolgate_model::Call>, answer: Answer) -> Vec<Event> {
    let collected = Collected::listen(64);
    let passage = BatchContext {
        approver: Some(Arc::new(ScriptedApprover::new([answer]))),
        events: collected.sink(),
        ..BatchContext::default()
    };
    bench.run_through(calls, &passage).await;
    drop(passage);
    collected.all().await
}

fn plans(bench: &Bench) -> Vec<Arc<toolgate_model::PlanRecord>> {
    let entries = bench.journal.entries().into_iter();
    entries
        .filter_map(|entry| match entry.record {
            Record::Planned { plan } => Some(plan),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn events_carry_no_secret_of_a_call_and_the_record_is_exact() {
    for (text, secrets) in texts() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let bench = Rig::new()
            .settings(|settings| settings.command_sandbox = true)
            .tool(states_facts("act").side_effects())
            .redactor(redactor())
            .build();
        let args = json!({
            "reads": [text], "writes": [text], "deletes": [text], "connects": [text],
            "commands": [words, ["sh", "-c", text]],
        });
        let call = call_because("c", "act", args.clone(), &text);
        let events = events(&bench, vec![call], Answer::yes()).await;
        let planned = events
            .iter()
            .filter_map(|event| match event {
                Event {
                    kind: EventKind::CallPlanned { plan },
                    ..
                } => Some(plan),
                _ => None,
            })
            .collect::<Vec<_>>();
        assert_eq!(planned.len(), 1, "{text}");
        for event in &events {
            let shown = serde_json::to_string(event).unwrap();
            assert_hidden(&shown, &secrets, &text);
        }
        let exact = plans(&bench);
        assert_eq!(Value::Object(exact[0].call.args.clone()), args);
        assert_eq!(exact[0].facts.reads, [text.as_str()]);
        assert_eq!(exact[0].plan_hash, planned[0].plan_hash);
    }
}

#[tokio::test]
async fn a_value_is_known_as_a_secret_by_its_name_and_a_word_by_the_one_before() {
    let value = "Zk3vQ9xT7mB2nL5w";
    let bench = Rig::new()
        .tool(Scripted::new("log_in").spec(|spec| {
            spec.schema = json!({"type": "object"});
        }))
        .tool(states_facts("act"))
        .build();
    let named = [
        json!({"password": value}),
        json!({"login": {"api_key": value, "user": "me"}}),
        json!({"tokens": ["short", value]}),
    ];
    let command = json!({"commands": [["deploy", "--token", value, "--fast"]]});
    let calls = named
        .iter()
        .map(|args| ("log_in", args.clone()))
        .chain([("act", command)]);
    for (tool, args) in calls {
        let events = events(&bench, vec![call("c", tool, args.clone())], Answer::yes()).await;
        let shown = serde_json::to_string(&events).unwrap();
        assert!(!shown.contains(value), "{args}: {shown}");
        assert!(shown.contains("[redacted:assignment]"), "{args}: {shown}");
    }
    // The rest is as it was.
    let harmless =
        json!({"user": value, "text": "a \u{201c}word\u{201d}", "n": 3, "deep": [["x"]]});
    let events = events(
        &bench,
        vec![call("c", "log_in", harmless.clone())],
        Answer::yes(),
    )
    .await;
    let Some(Event {
        kind: EventKind::CallPlanned { plan },
        ..
    }) = events.get(1)
    else {
        panic!("{events:?}")
    };
    assert_eq!(Value::Object(plan.call.args.clone()), harmless);
}

#[tokio::test]
async fn quotes_and_escapes_in_a_value_do_not_hide_that_it_is_a_secret() {
    let bench = Rig::new()
        .tool(Scripted::new("log_in").spec(|spec| {
            spec.schema = json!({"type": "object"});
        }))
        .build();
    let shown = async |args: Value| {
        let events = events(&bench, vec![call("c", "log_in", args)], Answer::yes()).await;
        let Some(Event {
            kind: EventKind::CallPlanned { plan },
            ..
        }) = events.get(1)
        else {
            panic!("{events:?}")
        };
        Value::Object(plan.call.args.clone())
    };
    for value in [
        "Zk3vQ9\"xT7mB2nL5w",
        "Zk3vQ9xT\\7mB2nL5w",
        "\"Zk3vQ9xT7mB2nL5w\"",
    ] {
        let hidden = json!({"password": "[redacted:assignment]"});
        assert_eq!(shown(json!({"password": value})).await, hidden, "{value}");
        let named = json!({"user": value});
        assert_eq!(shown(named.clone()).await, named, "{value}");
    }
    // Of a text with a secret in it, the rest is still shown.
    let text = "let a = \"b\";\npassword = \"Zk3vQ9xT7mB2nL5w\"\n";
    let seen = shown(json!({"content": text})).await["content"].to_string();
    assert!(seen.contains("let a") && !seen.contains("Zk3v"), "{seen}");
}

#[tokio::test]
async fn half_a_secret_is_not_left_where_a_long_atom_is_cut() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(20));
    let bench = Rig::new()
        .settings(|settings| settings.command_sandbox = true)
        .tool(states_facts("act").side_effects())
        .build();
    let args = json!({"commands": [["curl", "-H", format!("Authorization: Bearer {token}")]]});
    let approver = ScriptedApprover::new([Answer::no()]);
    let collected = Collected::listen(64);
    let passage = BatchContext {
        approver: Some(Arc::new(approver.clone())),
        events: collected.sink(),
        ..BatchContext::default()
    };
    let results = bench
        .run_through(vec![call("c", "act", args)], &passage)
        .await;
    drop(passage);
    let shown = format!(
        "{} {}",
        serde_json::to_string(&collected.all().await).unwrap(),
        serde_json::to_string(&results).unwrap(),
    );
    assert!(!shown.contains("a1B2c3D4e5"), "{shown}");
    assert!(shown.contains("command curl"), "{shown}");
}

#[tokio::test]
async fn why_a_yes_is_not_remembered_carries_no_secret_of_the_call() {
    struct Asks;
    impl Validator for Asks {
        fn name(&self) -> &str {
            "asks"
        }
        fn validate(&self, question: &Question<'_>) -> Option<Decision> {
            let words: Vec<&[String]> = question.facts.runs.iter().map(|run| &*run.words).collect();
            let reason = format!("always asks about {}", words.concat().join(" "));
            let mut ask = Decision::denied(ErrorKind::PolicyDenied, "asks", reason);
            ask.action = Action::Ask;
            Some(ask)
        }
    }
    for (text, secrets) in texts() {
        let bench = Rig::new()
            .settings(|settings| settings.command_sandbox = true)
            .tool(states_facts("act").side_effects())
            .rules(|rules| rules.validators.push(Arc::new(Asks)))
            .redactor(redactor())
            .build();
        let args = json!({"commands": [["deploy", "now"], ["sh", "-c", text]]});
        let yes = Answer::yes().remember(Remember::Conversation);
        let events = events(&bench, vec![call("c", "act", args)], yes).await;
        let Some(Event {
            kind: EventKind::CallFinished { result },
            ..
        }) = events.last()
        else {
            panic!("{events:?}")
        };
        let why = result.metadata["not_remembered"].as_str().unwrap();
        assert!(why.contains("always asks about deploy now"), "{why}");
        assert_hidden(why, &secrets, &text);
    }
}

#[tokio::test]
async fn errors_carry_no_secret_of_a_call_and_questions_carry_it_whole() {
    for (text, secrets) in texts() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let failing = Act::Fail(toolgate_model::ToolError::failed(text.clone()));
        let bench = Rig::new()
            .settings(|settings| settings.command_sandbox = true)
            .tool(states_facts("act").side_effects().does(failing))
            .redactor(redactor())
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let args = json!({"connects": [text], "commands": [words, ["sh", "-c", text]]});
        let exact = args.as_object().unwrap().clone();
        let results = bench
            .run_through(
                vec![call_because("c", "act", args, &text)],
                &toolgate_testkit::asking(approver.clone()),
            )
            .await;
        let asked = approver.asked();
        assert_eq!(asked.len(), 1, "{text}");
        assert_eq!(asked[0].items[0].args, exact, "{text}");
        assert_hidden(&serde_json::to_string(&results).unwrap(), &secrets, &text);
    }
}
