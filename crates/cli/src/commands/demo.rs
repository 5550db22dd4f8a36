//! `toolgate demo`: five calls of a scripted model, stage by stage, through the real line.
//!
//! One is allowed, one is asked, one is denied, one is damaged and one runs out of time.
//! The workspace is thrown away afterwards; nothing of the person's is read or written.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};
use toolgate_gate::execute::EventSink;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Output, typed};
use toolgate_gate::{Gate, Passage};
use toolgate_journal::MemoryJournal;
use toolgate_model::json::JsonLimits;
use toolgate_model::{Action, Call, ErrorKind, Event, Status, ToolResult};
use toolgate_providers::fenced::{Parser, Piece};
use toolgate_sandbox::paths::{PathRules, PathWall};
use toolgate_tools::ToolSettings;

use crate::failure::Failure;
use crate::out::Out;
use crate::out::style::{BOLD, CYAN, DIM, GREEN, RED, RESET, YELLOW};
use crate::signals;

/// What the model says: an answer with tool blocks, one of them damaged.
const ANSWER: &str = r##"I'll look at the notes, write a summary, and check the settings.

```tool
{"name": "read_file", "args": {"path": "notes.txt"}, "reason": "see what is planned"}
```
```tool
{"name": "write_file", "args": {"path": "summary.md", "content": "# Summary\n\nThree things are planned.\n"}, "reason": "keep the result"}
```
```tool
{"name": "read_file", "args": {"path": ".env"}, "reason": "find the database"}
```
```tool
{"name": "read_file", "args": {"path": "notes.txt",
```
```tool
{"name": "wait_for_reply", "args": {"from": "a server that never answers"}}
```
"##;

const NOTES: &str = "buy milk\nship the release\nwater the plants\n";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// Who should reply.
    from: String,
}

/// A person who says yes, so that the demo runs without anybody there.
struct ScriptedYes;

impl Approver for ScriptedYes {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::yes().by("the demo"))))
    }
}

pub(crate) async fn run(out: &Out) -> Result<u8, Failure> {
    let internal = |error: &dyn std::fmt::Display| {
        Failure::internal(format!("the demo cannot start: {error}"))
    };
    let workspace = tempfile::tempdir().map_err(|error| internal(&error))?;
    for (name, text) in [
        ("notes.txt", NOTES),
        (".env", "DATABASE_URL=postgres://demo:demo@localhost/demo\n"),
    ] {
        std::fs::write(workspace.path().join(name), text).map_err(|error| internal(&error))?;
    }
    let registry = Arc::new(Registry::new());
    toolgate_tools::register_all(&registry, &ToolSettings::default())
        .map_err(|error| internal(&error))?;
    let waits = typed(
        "wait_for_reply",
        "Waits for a reply.",
        |_: Wait, cx| async move {
            cx.cancel().cancelled().await;
            Ok(Output::plain("no reply"))
        },
    )
    .summary(|args| format!("Wait for a reply from {}", args.from))
    .timeout(Duration::from_secs(1));
    registry
        .register(Arc::new(waits))
        .map_err(|error| internal(&error))?;
    let wall =
        PathWall::open(&PathRules::new(workspace.path())).map_err(|error| internal(&error))?;
    let gate = Gate::builder(registry, wall, Arc::new(MemoryJournal::new()))
        .build()
        .map_err(|error| internal(&error))?;

    let calls = read_answer();
    intro(out, calls.len())?;
    let (events, mut listening) = EventSink::channel(64);
    let passage = Passage {
        approver: Some(Arc::new(ScriptedYes)),
        events,
        cancel: signals::stop_token()?,
    };
    let session = Arc::new(Session::new("demo"));
    let line = tokio::spawn(async move { gate.run(&session, calls, &passage).await });
    while let Some(event) = listening.recv().await {
        if out.json {
            out.json_line(&event)?;
        } else if !out.quiet
            && let Some(text) = told(&event)
        {
            out.text(&text)?;
        }
    }
    let results = line.await.map_err(|error| internal(&error))?;
    closing(out, &results)
}

/// The answer as it would stream in, in small pieces.
fn read_answer() -> Vec<Call> {
    let mut parser = Parser::new(JsonLimits::default());
    let mut pieces = Vec::new();
    for chunk in ANSWER.as_bytes().chunks(17) {
        pieces.extend(parser.push_bytes(chunk));
    }
    pieces.extend(parser.finish());
    pieces
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Call(call) => Some(call),
            Piece::Text(_) => None,
        })
        .collect()
}

fn intro(out: &Out, calls: usize) -> Result<(), Failure> {
    if out.json || out.quiet {
        return Ok(());
    }
    out.text(&format!(
        "{BOLD}Toolgate stands between a model and your machine.{RESET}\n\
         A scripted model just answered with {calls} tool calls. Each goes through the real line:\n\
         {DIM}assemble → plan (schema, facts, policy, walls) → approve → execute → settle{RESET}\n"
    ))
}

fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::CallReceived { call_id, tool } => {
            let tool = if tool.is_empty() {
                "a damaged block"
            } else {
                tool
            };
            format!("{CYAN}assemble{RESET}  {call_id}  {BOLD}{tool}{RESET}")
        }
        Event::CallPlanned { plan } => {
            let (colour, word) = match plan.decision.action {
                Action::Allow => (GREEN, "allow"),
                Action::Ask => (YELLOW, "ask"),
                Action::Deny => (RED, "deny"),
            };
            format!(
                "{CYAN}plan{RESET}      {}  {}  {colour}{word}{RESET}  {DIM}{}{RESET}",
                plan.call.id, plan.summary, plan.decision.reason
            )
        }
        Event::ApprovalRequested { call_ids, risk, .. } => {
            let ids: Vec<&str> = call_ids
                .iter()
                .map(toolgate_model::CallId::as_str)
                .collect();
            format!(
                "{CYAN}approve{RESET}   {YELLOW}the person is asked{RESET} about {} ({risk} risk)",
                ids.join(", ")
            )
        }
        Event::ApprovalAnswered { approved, .. } => {
            let ids: Vec<&str> = approved
                .iter()
                .map(toolgate_model::CallId::as_str)
                .collect();
            format!(
                "{CYAN}approve{RESET}   {GREEN}yes{RESET} to {} {DIM}(scripted here; on your terminal it is you){RESET}",
                ids.join(", ")
            )
        }
        Event::CallStarted { call_id, tool } => format!("{CYAN}execute{RESET}   {call_id}  {tool}"),
        Event::CallFinished { result } => settled(result),
        _ => return None,
    })
}

fn settled(result: &ToolResult) -> String {
    let (colour, word) = match result.status() {
        Status::Ok => (GREEN, "ok"),
        Status::Error => (RED, "error"),
        Status::Denied => (RED, "denied"),
        Status::Cancelled => (YELLOW, "cancelled"),
    };
    let kind = result
        .kind()
        .map(|kind| format!(" {kind}"))
        .unwrap_or_default();
    let first = result.display.lines().next().unwrap_or_default();
    format!(
        "{CYAN}settle{RESET}    {}  {colour}{word}{kind}{RESET}  {first} {DIM}{} ms{RESET}",
        result.call_id, result.duration_ms
    )
}

fn closing(out: &Out, results: &[ToolResult]) -> Result<u8, Failure> {
    let code = ToolResult::batch_exit_code(results);
    if code == ErrorKind::Cancelled.exit_code() {
        return Ok(code);
    }
    let kinds: Vec<&str> = results
        .iter()
        .map(|result| result.kind().map_or("ok", |kind| kind.as_str()))
        .collect();
    let expected = ["ok", "ok", "denied_pattern", "bad_call", "timeout"];
    if kinds != expected {
        return Err(Failure::internal(format!(
            "the demo went another way: {}",
            kinds.join(", ")
        )));
    }
    if !out.json {
        out.text(&format!(
            "{BOLD}Five calls, exactly five results:{RESET} {GREEN}allowed{RESET}, {GREEN}asked and done{RESET}, {RED}denied{RESET}, {RED}damaged{RESET}, {RED}out of time{RESET}. \
             Nothing outside the throw-away workspace was touched."
        ))?;
    }
    Ok(0)
}
