//! `toolgate resume`: what a crash left open gets its one result; nothing is run again.

use serde_json::{Value, json};
use toolgate_gate::journal::{Entry, Journal, Record as Noted};
use toolgate_gate::output::approval_text;
use toolgate_journal::{Body, Class, Filter, Reader, Recovery, SqliteJournal, Trouble, Unfinished};
use toolgate_model::{ConversationId, ErrorKind, ToolError, ToolResult};
use toolgate_sandbox::paths::PathWall;

use crate::app::{App, Purpose};
use crate::args::{Common, Resumed};
use crate::failure::Failure;
use crate::kept::Kept;
use crate::out::Out;
use crate::out::style::{BOLD, DIM, GREEN, RESET, YELLOW};
use crate::record::Record;
use crate::{clock, question};

/// How a turn is called whose calls wait for a person: nothing was cut off.
const RESULTS_WANTED: &str = "results_wanted";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Keep,
    Discard,
}

impl Choice {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Discard => "discard",
        }
    }
}

pub(crate) async fn run(common: &Common, out: &Out, resumed: &Resumed) -> Result<u8, Failure> {
    let kept = Kept::find(common, &resumed.conversation)?;
    kept.nobody_works_on_it()?;
    let app = App::load(&kept.common(common)?, out, Purpose::Run(""))?;
    let journal = match &app.record {
        Record::Durable(journal) => journal,
        Record::Broken(why) => return Err(Failure::internal(why.clone())),
        Record::Passing => return Err(Failure::internal("there is no journal")),
    };
    let id = &kept.conversation.id;
    // Whoever else takes it up from now on is told that it is in use.
    journal.begin(id, None).await.map_err(failed)?;
    let turn = Turn::last(&kept, id)?;
    let open = journal.unfinished(Some(id)).await.map_err(failed)?;
    let choice = choose(resumed, &open, &turn, out).await?;
    let Some(choice) = choice else {
        journal.end(id).await.map_err(failed)?;
        return Ok(ErrorKind::NoApprover.exit_code());
    };
    let waiting = turn.waits_for_results && choice == Choice::Keep;
    let mut settled = Vec::new();
    for call in open.iter().filter(|call| !waiting || call.half_changed) {
        let done = settle(journal, app.gate.wall(), call, choice).await;
        settled.push(done.map_err(failed)?);
    }
    if let Some(number) = turn.open {
        let outcome = match choice {
            Choice::Keep => "interrupted",
            Choice::Discard => "discarded",
        };
        mark(journal, id, number, outcome).await?;
    }
    journal.end(id).await.map_err(failed)?;
    report(&kept, choice, &turn, waiting, &settled, out)
}

fn failed(trouble: Trouble) -> Failure {
    Failure::internal(trouble.to_string())
}

/// The last turn of the conversation, where it has turns.
#[derive(Default)]
struct Turn {
    /// Its number, if it has not ended.
    open: Option<u64>,
    waits_for_results: bool,
}

impl Turn {
    fn last(kept: &Kept, id: &ConversationId) -> Result<Self, Failure> {
        let mut turn = Self::default();
        let filter = Filter {
            conversation: Some(id.clone()),
            ..Filter::default()
        };
        let reader = Reader::open(&kept.journal).map_err(failed)?;
        let walked = reader.show(&filter, |line| {
            let Body::Kept(record) = line.body else {
                return true;
            };
            match *record {
                Noted::TurnStarted { turn: number, .. } => {
                    turn = Self {
                        open: Some(number),
                        waits_for_results: false,
                    };
                }
                Noted::TurnFinished { outcome, .. } => {
                    turn = Self {
                        open: None,
                        waits_for_results: outcome == RESULTS_WANTED,
                    };
                }
                _ => {}
            }
            true
        });
        walked.map_err(failed)?;
        Ok(turn)
    }
}

/// What the person wants; nothing if that cannot be known.
async fn choose(
    resumed: &Resumed,
    open: &[Unfinished],
    turn: &Turn,
    out: &Out,
) -> Result<Option<Choice>, Failure> {
    let nothing = open.is_empty() && turn.open.is_none();
    match (resumed.keep, resumed.discard) {
        (true, _) => return Ok(Some(Choice::Keep)),
        (_, true) => return Ok(Some(Choice::Discard)),
        _ if nothing => return Ok(Some(Choice::Keep)),
        _ => {}
    }
    for call in open {
        out.remark(&pictured(call));
    }
    let question = "Keep what there is and tell the model, or discard these calls?";
    match question::choose(question.to_owned(), &["keep", "discard"]).await {
        Some("keep") => Ok(Some(Choice::Keep)),
        Some(_) => Ok(Some(Choice::Discard)),
        None => {
            out.failure(&Failure::internal(
                "nobody is there to ask; say --keep to go on with what there is, or --discard to give the calls up",
            ));
            Ok(None)
        }
    }
}

const fn named(class: Class) -> &'static str {
    match class {
        Class::NotStarted => "not_started",
        Class::Finished => "finished",
        Class::OutcomeUnknown => "outcome_unknown",
    }
}

fn pictured(call: &Unfinished) -> String {
    let class = match call.class() {
        Class::NotStarted => format!("{GREEN}not started{RESET}"),
        Class::Finished => format!("{GREEN}finished{RESET}"),
        Class::OutcomeUnknown => format!("{YELLOW}outcome unknown{RESET}"),
    };
    let half = if call.half_changed {
        ", in the middle of changing files"
    } else {
        ""
    };
    // What a model called a call is not obeyed by a terminal.
    format!(
        "{BOLD}{}{RESET}  {}  {class}{half}  {DIM}{}{RESET}",
        approval_text(call.call.as_str()),
        approval_text(call.tool.as_deref().unwrap_or("not planned")),
        clock::shown(call.received_ms)
    )
}

/// A call that was cut off and what became of it.
struct Settled<'a> {
    call: &'a Unfinished,
    recovery: Option<Recovery>,
    /// Nothing if it had one.
    result: Option<ToolResult>,
}

async fn settle<'a>(
    journal: &SqliteJournal,
    wall: &PathWall,
    call: &'a Unfinished,
    choice: Choice,
) -> Result<Settled<'a>, Trouble> {
    let recovery = if call.half_changed {
        Some(journal.recover(call, wall).await?)
    } else {
        None
    };
    let mut settled = Settled {
        call,
        recovery,
        result: None,
    };
    if call.class() != Class::Finished {
        let result = settled.outcome(choice);
        journal.settle(call, result.clone()).await?;
        settled.result = Some(result);
    }
    Ok(settled)
}

impl Settled<'_> {
    /// The one result: what is known, and what the person decided.
    fn outcome(&self, choice: Choice) -> ToolResult {
        let known = self.call.result(self.recovery.as_ref());
        let mut result = match (choice, self.call.class()) {
            (Choice::Keep, _) => known,
            (Choice::Discard, Class::NotStarted) => {
                let message = "the program ended before this call was started, and the person discarded it; nothing was done";
                let error = ToolError::new(ErrorKind::Cancelled, message);
                ToolResult::failed(self.call.call.clone(), known.tool, error)
            }
            (Choice::Discard, _) => {
                let message = format!("{}; the person discarded the call", known.content);
                let error = ToolError::new(ErrorKind::Interrupted, message);
                ToolResult::failed(self.call.call.clone(), known.tool, error)
            }
        };
        let told = [
            ("resumed", choice.as_str()),
            ("class", named(self.call.class())),
        ];
        for (key, value) in told {
            result.metadata.insert(key.to_owned(), json!(value));
        }
        result
    }

    fn told(&self) -> Value {
        let files = self.recovery.iter().flat_map(|recovery| &recovery.files);
        let files: Vec<Value> = files
            .map(|file| json!({"path": file.path, "note": file.note}))
            .collect();
        json!({
            "call_id": self.call.call,
            "nth": self.call.nth,
            "tool": self.call.tool,
            "class": named(self.call.class()),
            "files": files,
            "result": self.result,
        })
    }
}

/// Puts on record how the turn ended.
async fn mark(
    journal: &SqliteJournal,
    id: &ConversationId,
    turn: u64,
    outcome: &str,
) -> Result<(), Failure> {
    let entry = Entry {
        conversation: id.clone(),
        call: "".into(),
        at_ms: clock::now_ms(),
        record: Noted::TurnFinished {
            turn,
            outcome: outcome.to_owned(),
        },
    };
    let marked = journal.commit(vec![entry]).await;
    marked.map_err(|error| Failure::internal(error.to_string()))
}

fn report(
    kept: &Kept,
    choice: Choice,
    turn: &Turn,
    waiting: bool,
    settled: &[Settled<'_>],
    out: &Out,
) -> Result<u8, Failure> {
    let id = &kept.conversation.id;
    if out.json {
        let calls: Vec<Value> = settled.iter().map(Settled::told).collect();
        out.json_line(&json!({
            "conversation": id,
            "choice": choice.as_str(),
            "turn": turn.open,
            "calls": calls,
        }))?;
        return Ok(0);
    }
    for done in settled {
        out.text(&pictured(done.call))?;
        let files = done.recovery.iter().flat_map(|recovery| &recovery.files);
        for file in files {
            let (path, note) = (approval_text(&file.path), approval_text(&file.note));
            out.text(&format!("    {path}: {note}"))?;
        }
        if let Some(result) = &done.result {
            out.text(&format!(
                "    {DIM}{}{RESET}",
                approval_text(&result.content)
            ))?;
        }
    }
    let unknown = |done: &Settled<'_>| done.call.class() == Class::OutcomeUnknown;
    if settled.iter().any(unknown) {
        out.remark(
            "Commands that ran then have ended with the program that ran them: the wall around them does not outlive it.",
        );
    }
    if waiting {
        out.remark("Its calls wait for results of yours: `toolgate run --results FILE` takes them, --discard gives them up.");
    } else if settled.is_empty() && turn.open.is_none() {
        out.remark("Nothing was cut off.");
    }
    out.remark(&format!(
        "Conversation {id} can go on: `toolgate run --conversation {id} …`"
    ));
    Ok(0)
}
