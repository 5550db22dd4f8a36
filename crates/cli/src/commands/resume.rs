//! `toolgate resume`: what a crash left open gets its one result; nothing is run again.

use serde_json::{Value, json};
use toolgate_gate::journal::JournalError;
use toolgate_model::ErrorKind;

use crate::app::{App, Purpose};
use crate::args::{Common, Resumed};
use crate::cut_off::{Choice, CutOff, Settled};
use crate::failure::CliError;
use crate::home::Home;
use crate::kept::Kept;
use crate::orphans;
use crate::out::Out;

pub(crate) async fn run(common: &Common, out: &Out, resumed: &Resumed) -> Result<u8, CliError> {
    let kept = Kept::find(common, &resumed.conversation).await?;
    kept.nobody_works_on_it()?;
    orphans::end(&Home::find()?.runs(), out);
    let app = App::load(&kept.common(common)?, out, Purpose::Run(""))?;
    let journal = app.record.durable()?;
    let id = &kept.conversation.id;
    // Whoever else takes it up from now on is told that it is in use.
    journal.begin(id, None).await.map_err(failed)?;
    let cut_off = CutOff::look(&**journal, id).await.map_err(failed)?;
    let Some(choice) = choose(resumed, &cut_off, out).await else {
        journal.release(id).await.map_err(failed)?;
        return Ok(ErrorKind::NoApprover.exit_code());
    };
    let sandbox = app.gate.sandbox();
    let settled = cut_off.settle(&**journal, sandbox, Some(choice)).await;
    let settled = settled.map_err(failed)?;
    journal.release(id).await.map_err(failed)?;
    report(&kept, choice, &cut_off, &settled, out)
}

fn failed(error: JournalError) -> CliError {
    CliError::internal(error.message)
}

/// What the person wants; nothing if that cannot be known.
async fn choose(resumed: &Resumed, cut_off: &CutOff, out: &Out) -> Option<Choice> {
    match (resumed.keep, resumed.discard) {
        (true, _) => return Some(Choice::Keep),
        (_, true) => return Some(Choice::Discard),
        _ if cut_off.is_nothing() => return Some(Choice::Keep),
        _ => {}
    }
    let choice = cut_off.ask().await;
    if choice.is_none() {
        for line in cut_off.pictured() {
            out.remark(line);
        }
        out.failure(&CliError::internal(
            "nobody is there to ask; say --keep to go on with what there is, or --discard to give up the results of all these calls",
        ));
    }
    choice
}

fn report(
    kept: &Kept,
    choice: Choice,
    cut_off: &CutOff,
    settled: &[Settled<'_>],
    out: &Out,
) -> Result<u8, CliError> {
    let id = &kept.conversation.id;
    if out.json {
        let calls: Vec<Value> = settled.iter().map(Settled::told).collect();
        out.json_line(&json!({
            "conversation": id,
            "choice": choice.as_str(),
            "turn": cut_off.turn(),
            "calls": calls,
        }))?;
        return Ok(0);
    }
    for line in settled.iter().flat_map(Settled::lines) {
        out.text(line)?;
    }
    if settled.iter().any(Settled::is_unknown) {
        out.remark(
            "Commands that ran then have ended with the program that ran them: the sandbox around them does not outlive it.",
        );
    }
    if let Some(told) = cut_off.given_up(Some(choice)) {
        out.remark(&told);
    }
    if cut_off.waits_for_results() && choice == Choice::Keep {
        out.remark("Its calls wait for results of yours: `toolgate run --results FILE` takes them, --discard gives them up.");
        return Ok(0);
    }
    if settled.is_empty() && cut_off.turn().is_none() {
        out.remark("Nothing was cut off.");
    }
    out.remark(format!(
        "Conversation {id} can go on: `toolgate run --conversation {id} …`"
    ));
    Ok(0)
}
