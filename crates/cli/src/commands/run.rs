//! `toolgate run`: one turn without a screen.

mod shown;
mod taken_up;

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use toolgate_app::text::{approval_text, grouped, sanitize};
use toolgate_app::{
    App, AppError, Conversation, Finished, Input, Listen, Outcome, ScriptText, SendOptions,
    StartOptions, Turn, Usage, carried, supplied,
};
use toolgate_model::ConversationId;

use crate::args::{Common, RunArgs};
use crate::clean::style::DIM;
use crate::clean::{Clean, say};
use crate::failure::{CliError, nothing_of};
use crate::out::Out;
use crate::{assembly, input, signals};
use shown::Progress;

/// So often what is waited for is said anew.
const TICK: Duration = Duration::from_millis(200);

/// The most bytes of a prompt, a script or a file of results.
const INPUT: usize = 16 * 1024 * 1024;

pub(crate) async fn run(common: &Common, out: &Out, args: &RunArgs) -> Result<u8, CliError> {
    let app = assembly::app_with_approver(common, out)?;
    let options = start_options(args)?;
    let id = match &args.conversation {
        Some(id) => Some(app.find_id(id).await?),
        None if args.go_on => Some(app.last_here().await?),
        None => None,
    };
    let conversation = match &id {
        None => app.start(options)?,
        Some(id) => {
            let conversation = find(&app, id, args).await?;
            conversation.configure(options).await?;
            conversation.prepare().await?;
            let supplies = args.results.is_some();
            taken_up::take_up(common, &conversation, supplies, out).await?;
            conversation
        }
    };
    let input = read_input(args)?;
    let options = SendOptions {
        listen: match out.quiet && !out.json {
            // Where nothing is shown, nothing is woken for it.
            true => Listen::Subscribers,
            false => Listen::Caller,
        },
        cancel: Some(signals::stop_token()?),
    };
    let turn = conversation.send_with(input, options).await;
    let mut turn = turn.map_err(|error| with_results_file(error, args))?;
    let began = Instant::now();
    let mut progress = Progress::new(conversation.id(), out);
    let shown = show(&mut turn, &mut progress, out).await;
    let finished = turn.outcome().await?;
    let cost = match progress.usage() {
        Some(usage) => Some((usage, conversation.cost(&usage).await)),
        None => None,
    };
    let (trouble, is_journaled) = (
        conversation.recording_error().await,
        conversation.is_journaled().await,
    );
    conversation.end().await;
    shown?;
    if let Some(trouble) = trouble {
        out.remark(trouble);
    }
    if let Some((usage, cost)) = cost
        && !out.json
    {
        out.remark(DIM.on(spent(usage, cost, began.elapsed())));
    }
    let id = conversation.id();
    if is_journaled {
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

/// A script that plays the model.
pub(crate) fn script_text(path: &Path) -> Result<ScriptText, CliError> {
    Ok(ScriptText {
        path: path.to_path_buf(),
        text: input::file(Some(path), INPUT)?,
    })
}

fn start_options(args: &RunArgs) -> Result<StartOptions, CliError> {
    Ok(StartOptions {
        asked: (&args.asked).into(),
        script: args.script.as_deref().map(script_text).transpose()?,
        preset: args.preset.clone(),
        record: args.record.clone(),
        ..StartOptions::default()
    })
}

/// The conversation that goes on. Where the command line does not say who is asked, the journal
/// would have, and the message says that it has nothing.
async fn find(app: &App, id: &ConversationId, args: &RunArgs) -> Result<Conversation, CliError> {
    let is_named = args.script.is_some() || args.asked.provider.is_some();
    match app.conversation(id).await {
        Ok(conversation) => Ok(conversation),
        Err(AppError::NotFound(id)) if is_named => Err(AppError::NoTurns(id).into()),
        Err(AppError::JournalFile(_)) if is_named && !app.journal_file().exists() => {
            Err(AppError::NoTurns(id.clone()).into())
        }
        Err(AppError::NotFound(id)) => Err(CliError::usage(nothing_of(&id))),
        Err(error) => Err(error.into()),
    }
}

/// What the turn begins with.
fn read_input(args: &RunArgs) -> Result<Input, CliError> {
    if let Some(path) = &args.results {
        let text = input::file(Some(path), INPUT)?;
        let results = supplied::read(&text);
        let results = results.map_err(|error| with_results_file(error, args))?;
        return Ok(Input::Results(results));
    }
    let carried = args.history.as_deref().map(carried_in).transpose()?;
    let text = match (&args.prompt, &args.file) {
        (Some(prompt), _) if prompt != "-" => prompt.clone(),
        (_, file) => {
            let bytes = input::file(file.as_deref(), INPUT)?;
            String::from_utf8(bytes)
                .map_err(|error| CliError::usage(format!("the prompt is no text: {error}")))?
        }
    };
    Ok(Input::Message { text, carried })
}

fn carried_in(path: &Path) -> Result<Vec<carried::Message>, CliError> {
    let bytes = input::file(Some(path), INPUT)?;
    carried::read(&bytes).map_err(|why| {
        CliError::usage(format!(
            "{}: {why}; a history is what `toolgate journal export --format json` writes",
            path.display()
        ))
    })
}

/// An error of a result names the file that it comes from.
fn with_results_file(error: AppError, args: &RunArgs) -> CliError {
    match (error, &args.results) {
        (AppError::Result { number, reason }, Some(path)) => {
            CliError::usage(format!("{} line {number}: {reason}", path.display()))
        }
        (error, _) => error.into(),
    }
}

/// Shows events until there are no more. A reader that is gone does not stop the turn.
async fn show(turn: &mut Turn, progress: &mut Progress, out: &Out) -> Result<(), CliError> {
    let mut shown = Ok(());
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let event = tokio::select! {
            biased;
            event = turn.next_event() => event,
            _ = ticks.tick(), if out.status.is_on() => {
                progress.tick(out);
                continue;
            }
        };
        let Some(event) = event else { break };
        if out.json {
            shown = shown.and_then(|()| out.json_line(&event));
        } else {
            shown = shown.and(progress.take(&event, out));
        }
    }
    shown
}

/// What a turn took: tokens, money where prices are configured, time.
fn spent(usage: Usage, cost: Option<u64>, took: Duration) -> Clean {
    let cached = match usage.cache_read_tokens {
        0 => Clean::default(),
        cached => say!(" ({} cached)", grouped(cached)),
    };
    let cost = cost.map(|millionths| {
        let hundredths = millionths.div_ceil(100);
        let dollars = format!("{}.{:04}", hundredths / 10_000, hundredths % 10_000);
        say!(" · ${}", dollars)
    });
    say!(
        "{} tokens in{}, {} out{} · {} s",
        grouped(usage.input_tokens),
        cached,
        grouped(usage.output_tokens),
        cost,
        took.as_secs()
    )
}

fn ended(finished: &Finished, seen: bool, out: &Out) -> Result<u8, CliError> {
    let text = sanitize(&finished.text);
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
