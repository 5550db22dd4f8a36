//! The same call again and again.
//!
//! Third time in a row with the same arguments, the same result and nothing else
//! in between: the user is asked. Fifth: it settles as `repeated_call`. Calls of
//! one batch count before they have results, so a batch of equal calls is seen too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use sha2::{Digest, Sha256};
use toolgate_model::{Action, CallId, Decision, ErrorKind, PlanRecord, RuleSource, ToolResult};

use super::{Ended, Middleware};
use crate::session::{Resource, Session};
use crate::sync::{Mutex, lock};

const ASKS: u32 = 3;
const SETTLES: u32 = 5;

#[derive(Default)]
struct Streak {
    call: [u8; 32],
    result: Option<[u8; 32]>,
    times: u32,
    counted: Vec<CallId>,
}

/// The streaks of a conversation, one for each guard that watches it.
#[derive(Default)]
struct Streaks(Mutex<HashMap<u64, Streak>>);

impl Resource for Streaks {
    fn end(&self) -> BoxFuture<'_, ()> {
        lock(&self.0).clear();
        Box::pin(std::future::ready(()))
    }
}

/// Stops a model that repeats itself. What it counts belongs to the session.
pub struct RepetitionGuard {
    number: u64,
    exempt: Vec<String>,
}

/// Guards are numbered, so that two of them count for themselves.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Default for RepetitionGuard {
    fn default() -> Self {
        Self::new([])
    }
}

impl RepetitionGuard {
    /// Watches every tool but these, whose purpose is to be asked again.
    pub fn new(exempt: impl IntoIterator<Item = String>) -> Self {
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            exempt: exempt.into_iter().collect(),
        }
    }

    fn watches(&self, plan: &PlanRecord) -> bool {
        !self.exempt.contains(&plan.tool)
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn call_hash(plan: &PlanRecord) -> [u8; 32] {
    let args = serde_json::Value::Object(plan.call.args.clone()).to_string();
    hash(&[plan.tool.as_bytes(), args.as_bytes()])
}

fn result_hash(result: &ToolResult) -> [u8; 32] {
    let kind = result.kind().map_or("ok", ErrorKind::as_str);
    let mut parts = vec![kind.as_bytes(), result.content.as_bytes()];
    let blocks = if result.blocks.is_empty() {
        Vec::new()
    } else {
        serde_json::to_vec(&result.blocks).unwrap_or_default()
    };
    parts.push(&blocks);
    hash(&parts)
}

impl Middleware for RepetitionGuard {
    fn name(&self) -> &str {
        "repetition guard"
    }

    fn review(&self, session: &Session, plan: &PlanRecord) -> Option<Decision> {
        if !self.watches(plan) {
            return None;
        }
        let call = call_hash(plan);
        let streaks = session.resource::<Streaks>();
        let mut streaks = lock(&streaks.0);
        let streak = streaks.entry(self.number).or_default();
        if streak.call != call {
            *streak = Streak {
                call,
                ..Streak::default()
            };
        }
        // A plan that is made again because its ground changed is still the same call.
        if !streak.counted.contains(&plan.call.id) || streak.times == 0 {
            streak.times += 1;
            streak.counted.push(plan.call.id.clone());
        }
        let times = streak.times;
        drop(streaks);
        let told = format!(
            "the same call of {} for the {times}. time in a row",
            plan.tool
        );
        if times >= SETTLES {
            let reason = format!("{told}, with the same result each time; do something else");
            Some(Decision::denied(
                ErrorKind::RepeatedCall,
                "repetition guard",
                reason,
            ))
        } else if times >= ASKS {
            Some(Decision {
                action: Action::Ask,
                kind: None,
                reason: told,
                rule: "repetition guard".into(),
                source: RuleSource {
                    layer: "built-in".into(),
                    ..RuleSource::default()
                },
                atoms: Vec::new(),
            })
        } else {
            None
        }
    }

    fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let Some(plan) = ended.plan.filter(|plan| self.watches(plan)) else {
            return result;
        };
        let streaks = ended.session.resource::<Streaks>();
        let mut streaks = lock(&streaks.0);
        if let Some(streak) = streaks.get_mut(&self.number)
            && streak.call == call_hash(plan)
        {
            streak.counted.retain(|id| *id != plan.call.id);
            // A no is not a result of the tool: it says nothing about whether something moved.
            let refused = matches!(
                result.kind(),
                Some(
                    ErrorKind::RepeatedCall
                        | ErrorKind::NoApprover
                        | ErrorKind::UserDenied
                        | ErrorKind::ApprovalExpired
                )
            );
            if refused {
                return result;
            }
            let now = result_hash(&result);
            match streak.result {
                Some(before) if before != now => {
                    // Another result: something moved, so it was no repetition.
                    streak.times = 1 + u32::try_from(streak.counted.len()).unwrap_or(u32::MAX);
                }
                _ => {}
            }
            streak.result = Some(now);
        }
        drop(streaks);
        result
    }
}
