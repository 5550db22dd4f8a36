//! Conversations through the app: turns, events, approvals, undo, export and resume.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use toolgate_app::approvals::Answer;
use toolgate_app::export::ExportFormat;
use toolgate_app::undo::{Scope, Undo};
use toolgate_app::{AppError, Approval, Input, Outcome, StartOptions};

use support::{Place, all, kinds, numbers, played, question, said, words, writes};

const TURN: [&str; 11] = [
    "turn_started",
    "user_message",
    "assistant_message",
    "call_received",
    "call_planned",
    "approval_requested",
    "approval_answered",
    "call_started",
    "call_finished",
    "assistant_message",
    "turn_finished",
];

#[tokio::test]
async fn a_turn_runs_is_journaled_exported_and_undone() {
    let place = Place::new().file("a.txt", "old\n");
    let app = place.app(Approval::Everything);
    let script = writes("b.txt", "new\n");
    let conversation = app.start(played("c", &script)).unwrap();
    assert!(!app.journal_file().exists() || app.conversations().await.unwrap().is_empty());
    let finished = said(&conversation, "Write b.").await;
    assert_eq!(finished.text, "It is written.");
    assert!(matches!(finished.outcome, Outcome::Done(_)));
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    let listed = app.conversations().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id.as_str(), "c");
    let page = conversation.export(ExportFormat::Md).await.unwrap();
    assert!(
        page.contains("Write b.") && page.contains("It is written."),
        "{page}"
    );
    let Undo::Planned(plan) = conversation.undo(&Scope::All).await.unwrap() else {
        panic!("nothing to undo");
    };
    assert!(plan.differences().await.unwrap()[0].starts_with("b.txt: is removed"));
    let results = plan.apply("a test", Default::default()).await.unwrap();
    assert!(results[0].error.is_none(), "{results:?}");
    assert_eq!(place.read("b.txt"), None);
    let again = conversation.undo(&Scope::All).await.unwrap();
    assert!(matches!(again, Undo::Nothing { .. }), "{again:?}");
    conversation.end().await;
    assert!(app.verify_journal(None).await.unwrap().is_sound());
}

#[tokio::test]
async fn an_approval_is_listed_and_answered_by_id() {
    let place = Place::new();
    let app = place.app(Approval::Pending);
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    let asked = question(&app, conversation.id()).await;
    assert_eq!(asked.items[0].tool, "write_file");
    assert_eq!(conversation.approvals(), std::slice::from_ref(&asked));
    assert!(matches!(
        conversation.send(Input::message("More.")).await,
        Err(AppError::Busy(_))
    ));
    let foreign = app
        .approvals()
        .answer(&"other".into(), asked.id, Answer::yes());
    assert!(matches!(foreign, Err(AppError::Answer(_))));
    conversation
        .answer(asked.id, Answer::yes().by("a face"))
        .unwrap();
    let late = conversation.answer(asked.id, Answer::no());
    assert!(matches!(late, Err(AppError::Answer(_))));
    turn.outcome().await.unwrap();
    assert_eq!(place.read("a.txt").as_deref(), Some("x"));
    assert!(app.approvals().list().is_empty());
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    let place = Place::new();
    let app = place.app(Approval::Pending);
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    let asked = question(&app, conversation.id()).await;
    conversation.answer(asked.id, Answer::no()).unwrap();
    assert_eq!(turn.outcome().await.unwrap().text, "It is written.");
    assert_eq!(place.read("a.txt"), None);
}

#[tokio::test]
async fn a_question_that_nobody_answers_expires() {
    let place = Place::new().configured("[tools.approval]\ntimeout_seconds = 1\n");
    let app = place.app(Approval::Pending);
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    let asked = question(&app, conversation.id()).await;
    assert!(asked.expires_after.is_some());
    turn.outcome().await.unwrap();
    assert_eq!(place.read("a.txt"), None);
    assert!(app.approvals().list().is_empty());
    let late = conversation.answer(asked.id, Answer::yes());
    assert!(matches!(late, Err(AppError::Answer(_))));
}

#[tokio::test]
async fn a_cancelled_turn_takes_its_question_back() {
    let place = Place::new();
    let app = place.app(Approval::Pending);
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    question(&app, conversation.id()).await;
    conversation.cancel();
    let finished = turn.outcome().await.unwrap();
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert!(app.approvals().list().is_empty());
    assert!(!conversation.is_busy());
    assert_eq!(place.read("a.txt"), None);
    // The conversation goes on: the script has one more answer.
    assert_eq!(said(&conversation, "Go on.").await.text, "It is written.");
}

#[tokio::test]
async fn subscribers_see_every_entry_once_whenever_they_begin() {
    let place = Place::new();
    let app = place.app(Approval::Pending);
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let early = conversation.subscribe(0).await.unwrap();
    let early = tokio::spawn(all(early));
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    let asked = question(&app, conversation.id()).await;
    let middle = conversation.subscribe(0).await.unwrap();
    let middle = tokio::spawn(all(middle));
    conversation.answer(asked.id, Answer::yes()).unwrap();
    turn.outcome().await.unwrap();
    let mut late = conversation.subscribe(0).await.unwrap();
    let replayed = late.replay().await.unwrap();
    // A replay in the middle loses nothing that was read ahead.
    let mut begun = conversation.subscribe(0).await.unwrap();
    let mut mixed = vec![begun.next().await.unwrap().unwrap()];
    mixed.extend(begun.replay().await.unwrap());
    assert_eq!(mixed, replayed);
    conversation.end().await;
    let (early, middle) = (early.await.unwrap(), middle.await.unwrap());
    let late = all(late).await;
    assert!(late.is_empty(), "{late:?}");
    for seen in [&early, &middle, &replayed] {
        assert_eq!(kinds(seen), TURN);
        assert_eq!(words(seen), "I write it.It is written.");
        let numbered: Vec<_> = seen.iter().filter(|event| event.seq.is_some()).collect();
        assert_eq!(numbered, replayed.iter().collect::<Vec<_>>());
        let numbers = numbers(seen);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    }
    for at in 0..replayed.len() {
        let Some(seq) = replayed[at].seq else {
            continue;
        };
        let mut rest = conversation.subscribe(seq).await.unwrap();
        assert_eq!(
            rest.replay().await.unwrap(),
            replayed[at + 1..],
            "after {seq}"
        );
    }
}

#[tokio::test]
async fn two_conversations_run_at_once_and_share_nothing() {
    let place = Place::new();
    let app = place.app(Approval::Pending);
    let one = app.start(played("one", &writes("1.txt", "1"))).unwrap();
    let two = app.start(played("two", &writes("2.txt", "2"))).unwrap();
    let seen = (
        tokio::spawn(all(one.subscribe(0).await.unwrap())),
        tokio::spawn(all(two.subscribe(0).await.unwrap())),
    );
    let first = one.send(Input::message("Write 1.")).await.unwrap();
    let second = two.send(Input::message("Write 2.")).await.unwrap();
    let (of_one, of_two) = (
        question(&app, one.id()).await,
        question(&app, two.id()).await,
    );
    assert_eq!(app.approvals().list().len(), 2);
    two.answer(of_two.id, Answer::yes()).unwrap();
    second.outcome().await.unwrap();
    assert_eq!(
        (place.read("1.txt"), place.read("2.txt").as_deref()),
        (None, Some("2"))
    );
    one.answer(of_one.id, Answer::yes()).unwrap();
    first.outcome().await.unwrap();
    assert_eq!(place.read("1.txt").as_deref(), Some("1"));
    app.close().await;
    for seen in [seen.0.await.unwrap(), seen.1.await.unwrap()] {
        assert_eq!(kinds(&seen), TURN);
    }
    assert!(place.notices.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_conversation_goes_on_in_another_app() {
    let place = Place::new();
    let script = "[[steps]]\ntext = \"One.\"\n";
    let app = place.app(Approval::Nobody);
    let conversation = app.start(played("c", script)).unwrap();
    said(&conversation, "First.").await;
    let other = place.app(Approval::Nobody);
    let held = other.conversation(conversation.id()).await.unwrap();
    held.configure(played("c", script)).await.unwrap();
    assert!(
        held.send(Input::message("x")).await.is_err(),
        "it is in use"
    );
    conversation.end().await;
    let again = other.conversation(conversation.id()).await.unwrap();
    again
        .configure(played("c", "[[steps]]\ntext = \"Two.\"\n"))
        .await
        .unwrap();
    let turn = again.send(Input::message("Second.")).await.unwrap();
    assert_eq!(turn.number(), 2);
    assert_eq!(turn.outcome().await.unwrap().text, "Two.");
    let page = again.export(ExportFormat::Json).await.unwrap();
    assert!(page.contains("First.") && page.contains("Second."));
}

#[tokio::test]
async fn mistakes_are_errors_before_anything_is_journaled() {
    let place = Place::new();
    let app = place.app(Approval::Nobody);
    let none = app.start(StartOptions::default());
    assert!(matches!(none, Err(AppError::NoProvider)));
    let preset = app.start(StartOptions {
        preset: Some("nothing".to_owned()),
        ..played("c", "[[steps]]\ntext = \"One.\"\n")
    });
    assert!(matches!(preset, Err(AppError::Usage(_))));
    let script = app.start(played("c", "steps = 1"));
    assert!(matches!(script, Err(AppError::Script { .. })));
    let conversation = app
        .start(played("c", "[[steps]]\ntext = \"One.\"\n"))
        .unwrap();
    let empty = conversation.send(Input::message("  ")).await;
    assert!(matches!(empty, Err(AppError::EmptyPrompt)));
    conversation.end().await;
    assert!(app.conversations().await.unwrap().is_empty());
    let missing = app.conversation(&"missing".into()).await;
    assert!(matches!(missing, Err(AppError::NotFound(_))));
}
