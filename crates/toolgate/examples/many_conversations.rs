//! Many conversations in one process: one workspace and one gate, a session each.
#![allow(clippy::print_stdout)]

use serde_json::json;
use tokio::task::JoinSet;
use toolgate::approve::ApproveAll;
use toolgate::{BatchContext, Call, Rules, Workspace};

const CONVERSATIONS: usize = 100;

/// A conversation that writes its own file and reads it back.
async fn converse(workspace: Workspace, number: usize) -> bool {
    let session = workspace.session(format!("conversation-{number}"));
    let path = format!("{number}.txt");
    let passage = BatchContext::asking(ApproveAll);
    for (id, tool, args) in [
        ("1", "write_file", json!({"path": path, "content": path})),
        ("2", "read_file", json!({"path": path})),
    ] {
        let calls = vec![Call::new(id, tool, args)];
        for result in workspace.gate().run(&session, calls, &passage).await {
            if result.error.is_some() || (id == "2" && result.content != path) {
                println!("{number}: {}", result.content);
                return false;
            }
        }
    }
    // What a conversation read, was granted and started ends with it.
    session.end().await;
    true
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let workspace = Workspace::builder(directory.path(), Rules::default()).open()?;
    let mut running = JoinSet::new();
    for number in 0..CONVERSATIONS {
        // Clones of a workspace are one workspace.
        running.spawn(converse(workspace.clone(), number));
    }
    let ended = running.join_all().await;
    let well = ended.iter().filter(|well| **well).count();
    println!("{well} of {CONVERSATIONS} conversations went well");
    Ok(())
}
