//! A process that was killed while a question waited, and the next one.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use toolgate_app::interrupted::Choice;
use toolgate_app::{AppError, Approval, Input};

use support::{Place, app_at, played, question, said, writes};

const HOME: &str = "TOOLGATE_TEST_HOME";
const WORKSPACE: &str = "TOOLGATE_TEST_WORKSPACE";

/// Kills the child however the test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
#[ignore = "started by the tests below, as a process of its own"]
#[allow(clippy::print_stdout)]
async fn child_waits_for_an_answer() {
    let Some((home, workspace)) = std::env::var_os(HOME).zip(std::env::var_os(WORKSPACE)) else {
        return;
    };
    let app = app_at(
        home.as_ref(),
        workspace.as_ref(),
        Approval::Pending,
        &Arc::default(),
    );
    let conversation = app.start(played("c", &writes("a.txt", "x"))).unwrap();
    let turn = conversation.send(Input::message("Write.")).await.unwrap();
    question(&app, conversation.id()).await;
    println!("the question waits");
    turn.outcome().await.unwrap();
}

/// A conversation whose process was killed while its question waited.
fn killed() -> Place {
    let place = Place::new();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_waits_for_an_answer", "--ignored"])
        .arg("--nocapture")
        .env(HOME, place.home.path())
        .env(WORKSPACE, place.workspace.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let waits = lines
        .map_while(Result::ok)
        .any(|line| line.contains("the question waits"));
    assert!(waits);
    drop(child);
    place
}

#[tokio::test]
async fn an_interrupted_conversation_is_resumed_and_goes_on() {
    let script = "[[steps]]\ntext = \"I see.\"\n";
    for (choice, told) in [
        (Choice::Keep, "not started"),
        (Choice::Discard, "discarded"),
    ] {
        let place = killed();
        let app = place.app(Approval::Nobody);
        let conversation = app.conversation(&"c".into()).await.unwrap();
        conversation.configure(played("c", script)).await.unwrap();
        let undecided = conversation.send(Input::message("Go on.")).await;
        assert!(matches!(undecided, Err(AppError::Undecided(_))));
        let interrupted = conversation.interrupted().await.unwrap();
        assert_eq!(interrupted.turn(), Some(1));
        assert!(interrupted.is_undecided());
        assert_eq!(interrupted.calls()[0].call.as_str(), "call_1");
        let settled = conversation
            .resume(&interrupted, Some(choice))
            .await
            .unwrap();
        let result = settled[0].result.as_ref().unwrap();
        let content = result.content.to_lowercase();
        assert!(
            content.contains(told) || choice == Choice::Keep,
            "{content}"
        );
        assert_eq!(result.metadata["resumed"], choice.as_str());
        assert_eq!(said(&conversation, "Go on.").await.text, "I see.");
        assert_eq!(place.read("a.txt"), None);
        conversation.end().await;
        assert!(app.verify_journal(None).await.unwrap().is_sound());
    }
}

#[tokio::test]
async fn an_interrupted_conversation_is_settled_without_a_model() {
    let place = killed();
    let app = place.app(Approval::Nobody);
    let conversation = app.conversation(&"c".into()).await.unwrap();
    let interrupted = conversation.interrupted().await.unwrap();
    assert!(!interrupted.is_nothing());
    let settled = conversation
        .resume(&interrupted, Some(Choice::Keep))
        .await
        .unwrap();
    assert_eq!(settled.len(), 1);
    let other = place.app(Approval::Nobody);
    let again = other.conversation(&"c".into()).await.unwrap();
    let left = again.interrupted().await.unwrap();
    assert!(
        left.is_nothing(),
        "the lease was given back, and nothing is left: {left:?}"
    );
    again.end().await;
}
