//! `toolgate run`: one turn without a screen.

mod prepare;
mod shown;
mod taken_up;

use tokio::sync::mpsc;
use toolgate_engine::{Finished, Outcome, Turn, run_turn};
use toolgate_gate::execute::EventSink;
use toolgate_model::Event;

use crate::args::{Common, RunArgs};
use crate::failure::Failure;
use crate::out::Out;
use prepare::Prepared;
use shown::Progress;

/// How many events wait for the screen.
const EVENTS: usize = 256;

pub(crate) async fn run(common: &Common, out: &Out, args: &RunArgs) -> Result<u8, Failure> {
    let Prepared {
        app,
        session,
        mut provider,
        settings,
        turn,
        prompt,
        recorded,
        noted,
    } = prepare::prepare(common, out, args).await?;
    let (mut events, listening) = EventSink::channel(EVENTS);
    if out.quiet && !out.json {
        // Where nothing is shown, nobody is woken for it.
        events = EventSink::none();
    }
    let around = app.around(&session, app.approver(common.approve), events)?;
    let turn = Turn::new(turn, settings);
    let work = tokio::spawn(async move { run_turn(&mut *provider, &around, turn, prompt).await });
    let shown = show(listening, out).await;
    let finished = work
        .await
        .map_err(|error| Failure::internal(format!("the turn broke off: {error}")))?;
    session.end().await;
    app.record.end(&session, &app.workspace, out).await;
    drop(noted);
    shown?;
    if let Some(trouble) = recorded.and_then(|recorded| recorded.trouble()) {
        out.remark(&trouble);
    }
    out.remark(&format!(
        "conversation {}: go on with `toolgate run --conversation {} …`",
        session.id(),
        session.id()
    ));
    ended(&finished, out)
}

/// Shows events until nobody sends any more. A reader that is gone does not stop the turn.
async fn show(mut listening: mpsc::Receiver<Event>, out: &Out) -> Result<(), Failure> {
    let mut progress = Progress::default();
    let mut shown = Ok(());
    while let Some(event) = listening.recv().await {
        if out.json {
            shown = shown.and_then(|()| out.json_line(&event));
        } else {
            progress.take(&event, out);
        }
    }
    shown
}

fn ended(finished: &Finished, out: &Out) -> Result<u8, Failure> {
    let text = toolgate_gate::output::sanitize(&finished.text);
    if !out.json && !text.trim().is_empty() {
        out.raw(&format!("{}\n", text.trim_end()))?;
    }
    Ok(match &finished.outcome {
        Outcome::Done(stop) => {
            if stop.is_cut_short() {
                out.remark(&format!("the answer breaks off: {}", stop.as_str()));
            }
            0
        }
        Outcome::ResultsWanted(calls) => {
            for call in calls {
                let name = call.name().unwrap_or_default();
                out.remark(&format!(
                    "your result is wanted for {} ({})",
                    toolgate_gate::output::approval_text(call.id().as_str()),
                    toolgate_gate::output::approval_text(name)
                ));
            }
            out.remark(
                "supply them with --results FILE: JSON lines {\"call_id\": …, \"content\": …}",
            );
            4
        }
        Outcome::MaxIterations => {
            out.remark("the model went on calling tools after the last round it was allowed");
            1
        }
        Outcome::Cancelled => 130,
        // The event has said why.
        Outcome::Failed(_) => 1,
    })
}
