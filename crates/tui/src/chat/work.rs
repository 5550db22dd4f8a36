//! Tasks beside the screen: events, questions and turns, as messages.

use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use toolgate_app::{App, AppError, Conversation, Input, Subscription};

use crate::state::Message;

/// How long the events of a turn that ended may take to arrive.
const SETTLED: Duration = Duration::from_secs(2);

/// Passes events on. A screen that is slow is not waited for by the engine: the subscription
/// leaves pieces out, which are on record.
pub(super) fn follow(mut subscription: Subscription, to: Sender<Message>) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let message = match subscription.next().await {
                Ok(Some(event)) => Message::Event(Box::new(event)),
                Ok(None) => return,
                Err(error) => {
                    let _ = to.send(Message::Wrong(error.to_string())).await;
                    return;
                }
            };
            if to.send(message).await.is_err() {
                return;
            }
        }
    })
}

/// Passes on the questions of this app, whenever they change: of the conversation, and of
/// commands of the user.
pub(super) fn ask(app: App, to: Sender<Message>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut shown = Vec::new();
        loop {
            let known = shown.clone();
            let changed = app.approvals().wait_for(|all| {
                let ids: Vec<_> = all.iter().map(|request| request.id).collect();
                (ids != known).then(|| all.to_vec())
            });
            let questions = changed.await;
            shown = questions.iter().map(|request| request.id).collect();
            if to.send(Message::Questions(questions)).await.is_err() {
                return;
            }
        }
    })
}

/// Runs a turn to its end. Words that could not be sent come back.
pub(super) fn turn(
    conversation: Conversation,
    input: Input,
    words: Option<String>,
    number: u64,
    to: Sender<Message>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let turn = match conversation.send(input).await {
            Ok(turn) => turn,
            Err(error) => {
                let why = explained(&error);
                let _ = to
                    .send(Message::Unsent(words.unwrap_or_default(), why))
                    .await;
                return;
            }
        };
        let why = turn.outcome().await.err().map(|error| error.to_string());
        if to.send(Message::TurnOver(why)).await.is_err() {
            return;
        }
        tokio::time::sleep(SETTLED).await;
        let _ = to.send(Message::TurnSettled(number)).await;
    })
}

/// An error with what to do next.
fn explained(error: &AppError) -> String {
    match error {
        AppError::NoProvider => "No provider is configured. Add one to the configuration, or start with --provider NAME --model NAME.".to_owned(),
        AppError::Undecided(_) => "The last turn was cut off: type /keep or /discard first.".to_owned(),
        error => error.to_string(),
    }
}
