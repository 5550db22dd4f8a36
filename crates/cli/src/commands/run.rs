//! `toolgate run`: one turn without a screen.

mod asker;
mod before;
mod carried;
mod prepare;
mod shown;
mod supplied;
mod taken_up;

use tokio::sync::mpsc;
use toolgate_engine::{Finished, Outcome, Turn, run_turn};
use toolgate_gate::execute::EventSink;
use toolgate_gate::output::approval_text;
use toolgate_model::Event;

use crate::args::{Common, RunArgs};
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::out::Out;
use prepare::Prepared;
use shown::Progress;

/// How many events wait for the screen.
const EVENTS: usize = 256;

pub(crate) async fn run(common: &Common, out: &Out, args: &RunArgs) -> Result<u8, CliError> {
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
    let mut progress = Progress::new(out);
    let shown = show(listening, &mut progress, out).await;
    let finished = work
        .await
        .map_err(|error| CliError::internal(format!("the turn broke off: {error}")))?;
    app.end(&session, out).await;
    drop(noted);
    shown?;
    if let Some(trouble) = recorded.and_then(|recorded| recorded.trouble()) {
        out.remark(trouble);
    }
    let id = session.id();
    if app.record.durable().is_ok() {
        // A script has come to its end; somebody else has to answer from here on.
        let asked = args.script.as_ref().map_or("", |_| "--provider NAME ");
        out.remark(format!(
            "conversation {id}: go on with `toolgate run --conversation {id} {asked}…`"
        ));
    } else {
        out.remark("nothing of this conversation is on record; it cannot be gone on with");
    }
    ended(&finished, progress.has_shown_the_answer(), out)
}

/// Shows events until nobody sends any more. A reader that is gone does not stop the turn.
async fn show(
    mut listening: mpsc::Receiver<Event>,
    progress: &mut Progress,
    out: &Out,
) -> Result<(), CliError> {
    let mut shown = Ok(());
    while let Some(event) = listening.recv().await {
        if out.json {
            shown = shown.and_then(|()| out.json_line(&event));
        } else {
            shown = shown.and(progress.take(&event, out));
        }
    }
    shown
}

fn ended(finished: &Finished, seen: bool, out: &Out) -> Result<u8, CliError> {
    let text = toolgate_gate::output::sanitize(&finished.text);
    // Half an answer is not what was asked for.
    let is_answer = !matches!(finished.outcome, Outcome::Cancelled | Outcome::Failed(_));
    if is_answer && !seen && !out.json && !text.trim().is_empty() {
        out.raw(say!("{}\n", Clean::lines(text.trim_end())))?;
    }
    Ok(match &finished.outcome {
        Outcome::Done(stop) => {
            if stop.is_cut_short() {
                out.remark(format!("the answer breaks off: {}", stop.as_str()));
            }
            0
        }
        Outcome::ResultsWanted(calls) => {
            for call in calls {
                out.remark(format!(
                    "your result is wanted for {} ({})",
                    approval_text(call.id.as_str()),
                    approval_text(&call.name)
                ));
            }
            out.remark(
                "supply them with --results FILE: JSON lines {\"call_id\": …, \"content\": …}, or \"error\" where a call failed",
            );
            4
        }
        Outcome::MaxIterations => {
            out.remark("the model went on calling tools after the last round it was allowed");
            1
        }
        Outcome::Cancelled => {
            out.remark("cancelled");
            130
        }
        Outcome::Failed(fault) => {
            // Whoever is not quiet was told when it happened.
            if out.quiet {
                out.failure(&CliError::internal(approval_text(&fault.to_string())));
            }
            1
        }
    })
}
