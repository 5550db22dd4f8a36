//! `toolgate demo`: a scripted model mends a small program, stage by stage.
//!
//! ```text
//! script.toml ──▶ engine ──▶ the real line, sandboxes and journal ──▶ what happened, told as it happens
//! ```
//!
//! In: nothing of the person's; configuration, record and workspace are made for the demo and
//! thrown away. Seven calls: some are allowed, some are asked, one is denied, one is damaged
//! and one runs out of time. What can go wrong: the calls do not end as they should here,
//! which is a mistake of ours and said so; a machine without a command sandbox refuses commands,
//! which is as it should be.

mod told;

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use toolgate_app::approvals::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_app::journal::Verified;
use toolgate_app::{
    App, Approval, Asked, Home, Input, Listen, Outcome, ScriptText, SendOptions, StartOptions, Turn,
};
use toolgate_model::{ErrorKind, EventKind, ToolResult};

use crate::args::Common;
use crate::clean::style::{BOLD, DIM, GREEN, RED};
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::out::Out;
use crate::{assembly, signals};

/// What the model says and does.
const SCRIPT: &str = include_str!("script.toml");

/// The files of the throw-away workspace.
const FILES: [(&str, &str); 4] = [
    ("total.sh", include_str!("project/total.sh")),
    ("test.sh", include_str!("project/test.sh")),
    ("prices.txt", include_str!("project/prices.txt")),
    (".env", "DATABASE_URL=postgres://demo:demo@localhost/demo\n"),
];

const QUESTION: &str = "The test fails. Find out why and mend it.";

/// A person who says yes, so that the demo runs without anybody there.
struct ScriptedYes;

impl Approver for ScriptedYes {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::yes().by("the demo"))))
    }
}

fn cannot(error: &dyn std::fmt::Display) -> CliError {
    CliError::internal(format!("the demo cannot go on: {error}"))
}

pub(crate) async fn run(out: &Out) -> Result<u8, CliError> {
    let place = tempfile::tempdir().map_err(|error| cannot(&error))?;
    let done = work_in(place.path(), out).await;
    // Whatever happened, nothing stays behind without a word; what happened comes first.
    let closed = place.close().map_err(|error| cannot(&error));
    done.and_then(|code| closed.map(|()| code))
}

async fn work_in(place: &Path, out: &Out) -> Result<u8, CliError> {
    let (workspace, kept) = (place.join("workspace"), place.join("kept"));
    for directory in [&workspace, &kept] {
        std::fs::create_dir(directory).map_err(|error| cannot(&error))?;
    }
    for (name, text) in FILES {
        std::fs::write(workspace.join(name), text).map_err(|error| cannot(&error))?;
    }
    let home = Home::at(kept);
    let common = Common {
        workspace: Some(workspace.clone()),
        ..Common::default()
    };
    let options = assembly::options(home, &common, out);
    let app = App::open(options.approval(Approval::Ask(Arc::new(ScriptedYes))))?;
    let conversation = app.start(StartOptions {
        id: Some("demo".into()),
        asked: Asked {
            model: Some("a script".to_owned()),
            ..Asked::default()
        },
        provider_name: Some("demo".to_owned()),
        script: Some(ScriptText {
            path: "script.toml".into(),
            text: SCRIPT.into(),
        }),
        ..StartOptions::default()
    })?;
    intro(out)?;
    let options = SendOptions {
        listen: Listen::Caller,
        cancel: Some(signals::stop_token()?),
    };
    let turn = conversation.send_with(Input::message(QUESTION), options);
    let mut turn = turn.await?;
    let seen = watch(&mut turn, out).await;
    let finished = turn.outcome().await?;
    let sandboxed = conversation.has_command_sandbox().await;
    conversation.end().await;
    let results = seen?;
    if matches!(finished.outcome, Outcome::Cancelled) {
        return Ok(ErrorKind::Cancelled.exit_code());
    }
    let expected = Expected {
        sandboxed,
        mended: std::fs::read_to_string(workspace.join("total.sh"))
            .is_ok_and(|text| text.contains("sum=0")),
    };
    expected.check(&results)?;
    let record = app.verify_journal(None).await;
    let record = record.map_err(|error| cannot(&error))?;
    closing(out, &finished.text, &record, expected.sandboxed)
}

/// Shows events until there are no more, and collects the results.
async fn watch(turn: &mut Turn, out: &Out) -> Result<Vec<ToolResult>, CliError> {
    let mut results = Vec::new();
    let mut shown = Ok(());
    let mut words = String::new();
    while let Some(event) = turn.next_event().await {
        if out.json {
            shown = shown.and_then(|()| out.json_line(&event));
        } else if let EventKind::TextDelta { text, .. } = &event.kind {
            words.push_str(text);
        } else if !out.quiet && !matches!(event.kind, EventKind::AssistantMessage { .. }) {
            // The last words are the answer, which comes at the end.
            let said = std::mem::take(&mut words);
            if !said.is_empty() && !matches!(event.kind, EventKind::TurnFinished { .. }) {
                shown = shown.and_then(|()| {
                    out.text(say!("\n{} {}", DIM.on("the model:"), Clean::output(&said)))
                });
            }
            if let Some(line) = told::told(&event) {
                shown = shown.and_then(|()| out.text(line));
            }
        }
        if let EventKind::CallFinished { result } = event.kind {
            results.push(*result);
        }
    }
    shown.map(|()| results)
}

fn intro(out: &Out) -> Result<(), CliError> {
    if out.json || out.quiet {
        return Ok(());
    }
    out.text(say!(
        "{}\n\
         A scripted model works on a throw-away project. It was asked: {QUESTION}\n\
         Every call it makes goes through the real line:\n\
         {}",
        BOLD.on("Toolgate stands between a model and your machine."),
        DIM.on("assemble → plan (schema, facts, policy, sandbox) → approve → execute → settle")
    ))
}

/// How the demo ends where everything is as it should be.
struct Expected {
    /// Whether commands run here.
    sandboxed: bool,
    mended: bool,
}

impl Expected {
    fn check(&self, results: &[ToolResult]) -> Result<(), CliError> {
        let mut kinds: Vec<(&str, &str)> = results
            .iter()
            .map(|result| {
                let kind = result.kind().map_or("ok", |kind| kind.as_str());
                (result.call_id.as_str(), kind)
            })
            .collect();
        kinds.sort_unstable();
        let command = |kind| {
            if self.sandboxed {
                kind
            } else {
                ErrorKind::SandboxUnavailable.as_str()
            }
        };
        let expected = [
            ("call_1", "ok"),
            ("call_2", command("exit_status")),
            ("call_3", "ok"),
            ("call_4", "denied_pattern"),
            ("call_5", "bad_call"),
            ("call_6", command("timeout")),
            ("call_7", command("ok")),
        ];
        if kinds == expected && self.mended {
            return Ok(());
        }
        let told: Vec<String> = kinds
            .iter()
            .map(|(call, kind)| format!("{call} {kind}"))
            .collect();
        let mended = if self.mended { "" } else { ", nothing mended" };
        Err(CliError::internal(format!(
            "the demo went another way: {}{mended}",
            told.join(", ")
        )))
    }
}

fn closing(out: &Out, answer: &str, record: &Verified, sandboxed: bool) -> Result<u8, CliError> {
    if !record.is_sound() {
        return Err(CliError::internal(
            "the demo's record is not as it was written",
        ));
    }
    if out.json {
        return Ok(0);
    }
    let commands = if sandboxed {
        say!("{}; commands ran in the sandbox", RED.on("out of time"))
    } else {
        say!(
            "{}, because no sandbox stands here (`toolgate doctor` says why)",
            RED.on("commands refused")
        )
    };
    out.text(say!(
        "\n{}\n\n{} {}, {}, {}, {}, {}.\n\
         {} entries are on record, and its chain verifies. Nothing outside the throw-away workspace was touched.",
        BOLD.on(Clean::output(answer.trim_end())),
        BOLD.on("Seven calls, exactly seven results:"),
        GREEN.on("allowed"),
        GREEN.on("asked and done"),
        RED.on("denied"),
        RED.on("damaged"),
        commands,
        record.entries
    ))?;
    Ok(0)
}
