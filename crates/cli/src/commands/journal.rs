//! `toolgate journal`: what is on record.

use std::path::Path;

use serde_json::{Value, json};
use toolgate_gate::journal::{
    Anchor, Body, Conversation, ConversationFilter, Coverage, Filter, JournalError, Line, Prune,
    PruneJournal, ReadJournal, State, Verified, VerifyJournal,
};
use toolgate_gate::output::{Redactor, whole_value};
use toolgate_journal::{Options, SqliteError, SqliteJournal, SqliteReader};

use crate::args::{Common, ExportFormat, JournalCommand};
use crate::clean::style::{BOLD, DIM, GREEN, RED};
use crate::clean::{Clean, say};
use crate::configured::{configuration, workspace};
use crate::export::{self, Transcript};
use crate::failure::CliError;
use crate::home::Home;
use crate::out::Out;
use crate::{clock, record, secrets};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    command: JournalCommand,
) -> Result<u8, CliError> {
    let home = Home::find()?;
    let config = configuration(common, &home, &workspace(common)?)?;
    let path = record::path(common, &config, &home);
    // What is on record is exact; what is shown of it has no secrets, like any result.
    let redactor = Redactor::new(secrets::of_environment(&config))
        .map_err(|error| CliError::internal(error.to_string()))?;
    match command {
        JournalCommand::List => list(&path, out).await,
        JournalCommand::Show {
            conversation,
            call,
            kind,
        } => {
            let filter = Filter {
                conversation: Some(conversation.as_str().into()),
                call: call.map(Into::into),
                kind,
                ..Filter::default()
            };
            show(&path, filter, &conversation, &redactor, out).await
        }
        JournalCommand::Export {
            conversation,
            format,
            output,
        } => {
            let page = export(&path, &conversation, format, &redactor).await?;
            written(&page, output.as_deref(), out)
        }
        JournalCommand::Verify { against } => verify(&path, against.as_deref(), out).await,
        JournalCommand::Prune {
            older_than_days,
            to_bytes,
        } => {
            let days = older_than_days.map(|days| days.saturating_mul(DAY_MS));
            let what = Prune {
                before_ms: days.map(|age| clock::now_ms().saturating_sub(age)),
                to_bytes,
            };
            prune(&path, what, out).await
        }
    }
}

/// A record that cannot be used is trouble of this machine, not a mistake in usage.
fn failed(trouble: SqliteError) -> CliError {
    CliError::internal(trouble.to_string())
}

fn unread(error: JournalError) -> CliError {
    CliError::internal(error.message)
}

/// The journal for reading only: no file is made, and none is changed.
fn reader(path: &Path) -> Result<Box<dyn VerifyJournal>, CliError> {
    let reader = SqliteReader::open(path).map_err(failed)?;
    Ok(Box::new(reader))
}

async fn list(path: &Path, out: &Out) -> Result<u8, CliError> {
    let reader = reader(path)?;
    let all = reader.conversations(ConversationFilter::default()).await;
    let all = all.map_err(unread)?;
    for conversation in &all {
        if out.json {
            out.json_line(&listed(conversation))?;
        } else {
            out.text(pictured(conversation))?;
        }
    }
    out.remark(say!("{} conversations in {}", all.len(), path));
    Ok(0)
}

fn listed(conversation: &Conversation) -> Value {
    json!({
        "conversation": conversation.id,
        "workspace": conversation.workspace,
        "started_ms": conversation.started_ms,
        "last_ms": conversation.last_ms,
        "entries": conversation.entries,
        "calls": counted(&conversation.calls),
        "bytes": conversation.bytes,
        "held_by": conversation.held_by,
    })
}

fn counted(calls: &std::collections::BTreeMap<State, u64>) -> Value {
    let counts = calls
        .iter()
        .map(|(state, count)| (state.as_str().to_owned(), json!(count)));
    Value::Object(counts.collect())
}

fn pictured(conversation: &Conversation) -> Clean {
    let calls: u64 = conversation.calls.values().sum();
    let noun = if calls == 1 { "call" } else { "calls" };
    let finished = conversation.calls.get(&State::Finished);
    let open = calls - finished.copied().unwrap_or(0);
    let open = if open == 0 {
        Clean::default()
    } else {
        say!(", {}", RED.on(say!("{} without a result", open)))
    };
    let held = conversation
        .held_by
        .map(|process| say!(", in use by process {}", process));
    say!(
        "{}  {}  {} {}{}{}  {}",
        BOLD.on(&conversation.id),
        clock::shown(conversation.started_ms),
        calls,
        noun,
        open,
        held,
        DIM.on(conversation.workspace.as_deref())
    )
}

async fn show(
    path: &Path,
    filter: Filter,
    conversation: &str,
    redactor: &Redactor,
    out: &Out,
) -> Result<u8, CliError> {
    let reader = reader(path)?;
    let reader: &dyn ReadJournal = &*reader;
    let (mut count, mut stopped) = (0_u64, None);
    let each = |line: Line| {
        count += 1;
        let written = if out.json {
            out.json_line(&entry(&line, redactor))
        } else {
            out.text(entry_pictured(&line, redactor))
        };
        stopped = written.err();
        stopped.is_none()
    };
    reader.each(filter, each).await.map_err(unread)?;
    match (stopped, count) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Err(CliError::internal(format!(
            "nothing is on record of {conversation:?}; `toolgate journal list` shows what is"
        ))),
        (None, _) => Ok(0),
    }
}

fn said(body: &Body, redactor: &Redactor) -> Value {
    match body {
        Body::Kept(record) => {
            let mut record = serde_json::to_value(record).unwrap_or_default();
            redactor.redact_value(&mut record);
            record
        }
        Body::Pruned => json!({"pruned": true}),
        Body::Unreadable(why) => json!({"unreadable": why}),
    }
}

fn entry(line: &Line, redactor: &Redactor) -> Value {
    json!({
        "conversation": line.conversation,
        "seq": line.seq,
        "kind": line.kind,
        "call": line.call,
        "nth": line.nth,
        "at_ms": line.at_ms,
        "hash": line.hash,
        "body": said(&line.body, redactor),
    })
}

/// An entry for a person: what it is in a line, and all that it says below.
fn entry_pictured(line: &Line, redactor: &Redactor) -> Clean {
    let mut shown = say!(
        "{}  {}  {}",
        DIM.on(say!("{:>5}  {}", line.seq, clock::shown(line.at_ms))),
        BOLD.on(&line.kind),
        line.call
    );
    for text in whole_value(&said(&line.body, redactor)).lines() {
        shown.push(say!("\n       {}", DIM.on(Clean::lines(text))));
    }
    shown
}

async fn export(
    path: &Path,
    conversation: &str,
    format: ExportFormat,
    redactor: &Redactor,
) -> Result<String, CliError> {
    let reader = reader(path)?;
    let reader: &dyn ReadJournal = &*reader;
    let kept = reader.conversation(&conversation.into()).await;
    let kept = kept.map_err(unread)?;
    let kept = kept.ok_or_else(|| {
        CliError::internal(format!(
            "nothing is on record of {conversation:?}; `toolgate journal list` shows what is"
        ))
    })?;
    let mut transcript = Transcript::of(&kept);
    let each = |line| {
        transcript.take(line);
        true
    };
    let walked = reader.each(Filter::of(&kept.id), each).await;
    walked.map_err(unread)?;
    transcript.close();
    transcript.redact(redactor);
    Ok(export::render(&transcript, format))
}

fn written(page: &str, output: Option<&Path>, out: &Out) -> Result<u8, CliError> {
    let Some(file) = output else {
        return out.raw(Clean::lines(page)).map(|()| 0);
    };
    std::fs::write(file, page).map_err(|error| CliError::internal(say!("{}: {}", file, error)))?;
    out.remark(say!("Written to {}", file));
    Ok(0)
}

async fn verify(path: &Path, against: Option<&Path>, out: &Out) -> Result<u8, CliError> {
    let against = against.map(anchor_from).transpose()?;
    let found = reader(path)?.verify(against).await.map_err(unread)?;
    if out.json {
        out.json_line(&verdict(&found))?;
    } else {
        for problem in &found.problems {
            out.text(say!("{} {}", RED.on("✗"), problem.to_string()))?;
        }
        if found.more_problems > 0 {
            out.text(say!("and {} more", found.more_problems))?;
        }
        let word = if found.is_sound() {
            GREEN.on("sound")
        } else {
            RED.on("not as it was written")
        };
        out.text(say!(
            "{}: {} conversations, {} entries, {} commits, {} contents pruned",
            BOLD.on(word),
            found.conversations,
            found.entries,
            found.commits,
            found.pruned
        ))?;
        if let Some(remark) = covered(found.coverage) {
            out.remark(remark);
        }
        if let Some(anchor) = &found.anchor {
            out.remark(say!(
                "A cut-off end is only found by comparing with an anchor kept elsewhere. The present one, for --against:\n{}",
                serde_json::to_string(anchor).unwrap_or_default()
            ));
        }
    }
    Ok(u8::from(!found.is_sound()))
}

/// What the commits do not cover, if anything.
fn covered(coverage: Coverage) -> Option<String> {
    let what = "Workspaces, start times and stored values";
    match coverage {
        Coverage::Whole => None,
        Coverage::Since { commit } => Some(format!(
            "{what} are covered from commit {commit} on; an older version wrote the rest, taken over as found."
        )),
        Coverage::Not => Some(format!(
            "{what} are not covered: an older version wrote this file. The next command that writes to it covers them from there on."
        )),
    }
}

fn verdict(found: &Verified) -> Value {
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    json!({
        "sound": found.is_sound(),
        "conversations": found.conversations,
        "entries": found.entries,
        "commits": found.commits,
        "pruned": found.pruned,
        "covered_from_commit": match found.coverage {
            Coverage::Whole => Some(1),
            Coverage::Since { commit } => Some(commit),
            Coverage::Not => None,
        },
        "calls": counted(&found.calls),
        "anchor": found.anchor,
        "problems": problems,
        "more_problems": found.more_problems,
    })
}

fn anchor_from(file: &Path) -> Result<Anchor, CliError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("{}: {error}", file.display())))?;
    serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("{} is no anchor: {error}", file.display())))
}

async fn prune(path: &Path, what: Prune, out: &Out) -> Result<u8, CliError> {
    let journal = SqliteJournal::open(path, Options::default()).map_err(failed)?;
    let journal: &dyn PruneJournal = &journal;
    let pruned = journal.prune(what).await.map_err(unread)?;
    if out.json {
        out.json_line(&json!({
            "bodies": pruned.bodies,
            "images": pruned.images,
            "bytes": pruned.bytes,
            "before_ms": pruned.before_ms,
        }))?;
    } else {
        out.text(say!(
            "Let go of what {} entries said and of {} contents of files, {} bytes together.",
            pruned.bodies,
            pruned.images,
            pruned.bytes
        ))?;
    }
    Ok(0)
}
