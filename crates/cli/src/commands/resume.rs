//! `toolgate resume`: what a crash left open gets its one result; nothing is run again.

use serde_json::{Value, json};
use toolgate_app::interrupted::{Choice, Interrupted, SettledCall};
use toolgate_model::{ConversationId, ErrorKind};

use crate::args::{Common, Resumed};
use crate::assembly;
use crate::failure::CliError;
use crate::interrupted;
use crate::out::Out;

pub(crate) async fn run(common: &Common, out: &Out, resumed: &Resumed) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    let id = app.find_id(&resumed.conversation).await?;
    let conversation = app.conversation(&id).await?;
    // Another process that takes it up from now on is told that it is in use.
    let cut_off = conversation.interrupted().await?;
    let Some(choice) = choose(resumed, &cut_off, out).await else {
        conversation.end().await;
        return Ok(ErrorKind::NoApprover.exit_code());
    };
    let settled = conversation.resume(&cut_off, Some(choice)).await?;
    report(&id, choice, &cut_off, &settled, out)
}

/// What the user wants; nothing if that cannot be known.
async fn choose(resumed: &Resumed, cut_off: &Interrupted, out: &Out) -> Option<Choice> {
    match (resumed.keep, resumed.discard) {
        (true, _) => return Some(Choice::Keep),
        (_, true) => return Some(Choice::Discard),
        _ if cut_off.is_nothing() => return Some(Choice::Keep),
        _ => {}
    }
    let choice = interrupted::ask(cut_off).await;
    if choice.is_none() {
        for line in interrupted::pictured(cut_off) {
            out.remark(line);
        }
        out.failure(&CliError::internal(
            "nobody is there to ask; say --keep to go on with what there is, or --discard to give up the results of all these calls",
        ));
    }
    choice
}

fn report(
    id: &ConversationId,
    choice: Choice,
    cut_off: &Interrupted,
    settled: &[SettledCall],
    out: &Out,
) -> Result<u8, CliError> {
    if out.json {
        let calls: Vec<Value> = settled.iter().map(SettledCall::to_json).collect();
        out.json_line(&json!({
            "conversation": id,
            "choice": choice.as_str(),
            "turn": cut_off.turn(),
            "calls": calls,
        }))?;
        return Ok(0);
    }
    for line in settled.iter().flat_map(interrupted::lines) {
        out.text(line)?;
    }
    if settled.iter().any(SettledCall::is_unknown) {
        out.remark(
            "Commands that ran then have ended with the program that ran them: the sandbox around them does not outlive it.",
        );
    }
    if let Some(told) = interrupted::given_up(id, cut_off, Some(choice)) {
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
