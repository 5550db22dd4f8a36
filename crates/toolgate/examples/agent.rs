//! A whole agent: the loop, the built-in tools, the command sandbox, events, an approver.
//! The model is a script, so it runs without a key.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use toolgate::approve::ApproveAll;
use toolgate::events::{EventKind, EventSink};
use toolgate::providers::{Script, ScriptedProvider};
use toolgate::turn::{Prompt, Turn, TurnSettings, run_turn};
use toolgate::{Event, Workspace};

const SCRIPT: &str = r#"
[[steps]]
text = "I write the file and look at it."
[[steps.calls]]
id = "1"
name = "write_file"
args = { path = "greeting.txt", content = "hello\n" }
[[steps.calls]]
id = "2"
name = "run_command"
args = { command = "wc -c greeting.txt" }
[[steps.calls]]
id = "3"
name = "read_file"
args = { path = "../../etc/passwd" }

[[steps]]
text = "The greeting is written."
"#;

/// The command sandbox starts copies of this program, so `init` comes before any thread.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolgate::sandbox::init();
    start()
}

#[tokio::main]
async fn start() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let workspace = Workspace::open(directory.path())?;
    let session = workspace.session("agent");

    let (events, mut listener) = EventSink::channel(256);
    let shown = tokio::spawn(async move {
        while let Some(event) = listener.recv().await {
            match event {
                Event {
                    kind: EventKind::CallPlanned { plan },
                    ..
                } => println!("{} {}", plan.decision.action, plan.tool),
                Event {
                    kind: EventKind::CallFinished { result },
                    ..
                } => {
                    println!("{} {:?}", result.tool, result.status());
                }
                _ => {}
            }
        }
    });

    let mut model = ScriptedProvider::new(Script::from_toml(SCRIPT)?, Default::default());
    let mut context = workspace.turn_context(&session);
    context.approver = Some(Arc::new(ApproveAll));
    context.events = events;
    let turn = Turn::new(1, TurnSettings::default());
    let prompt = Prompt::Message("Write a greeting.".into());
    let end = run_turn(&mut model, &context, turn, prompt).await;

    drop(context); // the last listener's end
    shown.await?;
    session.end().await; // ends background commands
    println!("{:?}: {}", end.outcome, end.text);
    Ok(())
}
