//! Middleware with a budget: each conversation may run three calls.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;
use toolgate::call::{ConversationId, ErrorKind, PlanRecord, Status};
use toolgate::middleware::Middleware;
use toolgate::policy::Decision;
use toolgate::{Call, Passage, Rules, ToolResult, Workspace};

/// How many calls each conversation has left.
struct Budget {
    calls: u32,
    spent: Mutex<HashMap<ConversationId, u32>>,
}

impl Budget {
    fn spent(&self) -> MutexGuard<'_, HashMap<ConversationId, u32>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Middleware for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    /// A whole batch is reviewed before anything of it runs, so the price is taken here.
    fn review(&self, plan: &PlanRecord) -> Option<Decision> {
        let mut spent = self.spent();
        let spent = spent.entry(plan.conversation.clone()).or_default();
        *spent += 1;
        let reason = format!("The budget of {} calls is spent.", self.calls);
        (*spent > self.calls).then(|| Decision::denied(ErrorKind::LimitExceeded, "budget", reason))
    }

    /// A call that was denied did not run: its price is given back.
    fn after(&self, plan: Option<&PlanRecord>, result: ToolResult) -> ToolResult {
        if let Some(plan) = plan.filter(|_| result.status() == Status::Denied)
            && let Some(spent) = self.spent().get_mut(&plan.conversation)
        {
            *spent = spent.saturating_sub(1);
        }
        result
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let budget = Budget {
        calls: 3,
        spent: Mutex::default(),
    };
    let workspace = Workspace::builder(directory.path(), Rules::default())
        .middleware(budget)
        .open()?;
    for conversation in ["first", "second"] {
        let list =
            |id: usize| Call::new(id.to_string(), "glob", json!({"pattern": format!("{id}*")}));
        let calls = (1..=5).map(list).collect();
        let session = workspace.session(conversation);
        let passage = Passage::default();
        let results = workspace.gate().run(&session, calls, &passage).await;
        let ran = results.iter().filter(|result| result.error.is_none());
        println!("{conversation}: {} of {} ran", ran.count(), results.len());
    }
    Ok(())
}
