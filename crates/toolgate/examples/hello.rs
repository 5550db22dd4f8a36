//! One typed tool, one call, an approver of one's own.
#![allow(clippy::print_stdout)]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolgate::approve::{ApprovalAnswer, ApprovalRequest, Approver, Unanswered};
use toolgate::tool::{Output, typed};
use toolgate::{BatchContext, BoxFuture, Call, Rules, Workspace};

/// The arguments of the tool. Its JSON Schema is made from this.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

/// Shows every question and says yes. A real one waits for a user.
struct Shown;

impl Approver for Shown {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalAnswer, Unanswered>> {
        for item in &request.items {
            println!("{}? ({} risk)", item.summary, item.risk);
        }
        Box::pin(async { Ok(ApprovalAnswer::yes()) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let greet = typed("greet", "Greets somebody.", |args: Greet, _cx| async move {
        Ok(Output::plain(format!("Hello, {}!", args.name)))
    })
    .summary(|args| format!("Greet {}", args.name))
    .side_effects(); // so the default rules ask

    let workspace = Workspace::builder(".", Rules::default())
        .tool(greet)
        .open()?;
    let session = workspace.session("hello");
    let calls = vec![
        Call::new("1", "greet", json!({"name": "Ada"})),
        Call::new("2", "greet", json!({"nam": "Bob"})),
    ];
    let gate = workspace.gate();
    for result in gate
        .run(&session, calls, &BatchContext::asking(Shown))
        .await
    {
        println!("{}: {}", result.call_id, result.content); // one per call, in order
    }
    Ok(())
}
