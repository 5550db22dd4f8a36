//! Middleware with a budget: each conversation may run three calls.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use toolgate::call::PlanRecord;
use toolgate::middleware::{Denied, Middleware};
use toolgate::session::Resource;
use toolgate::{BatchContext, Call, Rules, Session, Workspace};

/// How many calls a conversation may run.
struct Budget(u32);

/// How many calls of one conversation have started. It lives as long as its session.
#[derive(Default)]
struct Started(AtomicU32);

impl Resource for Started {}

impl Middleware for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    /// Calls start one after the other, and what is denied or cancelled never gets here.
    fn before_start(&self, session: &Session, _plan: &PlanRecord) -> Result<(), Denied> {
        let started = session.resource::<Started>();
        if started.0.fetch_add(1, Ordering::Relaxed) < self.0 {
            return Ok(());
        }
        let reason = format!("The budget of {} calls is spent.", self.0);
        Err(Denied { reason })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let workspace = Workspace::builder(directory.path(), Rules::default())
        .middleware(Budget(3))
        .open()?;
    for conversation in ["first", "second"] {
        let list =
            |id: usize| Call::new(id.to_string(), "glob", json!({"pattern": format!("{id}*")}));
        let calls = (1..=5).map(list).collect();
        let session = workspace.session(conversation);
        let passage = BatchContext::default();
        let results = workspace.gate().run(&session, calls, &passage).await;
        let ran = results.iter().filter(|result| result.error.is_none());
        println!("{conversation}: {} of {} ran", ran.count(), results.len());
    }
    Ok(())
}
