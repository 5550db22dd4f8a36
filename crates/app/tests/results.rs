//! Calls that are left to the user, whose results begin the next turn.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use toolgate_app::supplied::SuppliedResult;
use toolgate_app::{AppError, Approval, Input, Outcome, StartOptions, ToolsMode};

use support::{Place, played, said, writes};

#[tokio::test]
async fn results_of_the_user_begin_the_next_turn() {
    let place = Place::new();
    let app = place.app(Approval::Nobody);
    let conversation = app
        .start(StartOptions {
            mode: Some(ToolsMode::ParseOnly),
            ..played("c", &writes("a.txt", "x"))
        })
        .unwrap();
    let finished = said(&conversation, "Write.").await;
    assert!(matches!(finished.outcome, Outcome::ResultsWanted(_)));
    assert_eq!(place.read("a.txt"), None);
    let words = conversation
        .send(Input::message("Instead of results."))
        .await;
    assert!(matches!(words, Err(AppError::ResultsWanted(_))));
    let unknown = Input::Results(vec![SuppliedResult::ok("call_9", "done")]);
    let unknown = conversation.send(unknown).await;
    assert!(matches!(unknown, Err(AppError::Result { number: 1, .. })));
    let missing = conversation.send(Input::Results(Vec::new())).await;
    assert!(matches!(missing, Err(AppError::ResultsMissing(_))));
    let given = Input::Results(vec![SuppliedResult::failed("call_1", "the disk is full")]);
    let turn = conversation.send(given).await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text, "It is written.");
}
