//! The events of a conversation as a stream for programs, and its calls.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State as Extracted;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolgate_app::Subscription;
use toolgate_model::{Event, EventKind};
use utoipa::{IntoParams, ToSchema};

use super::body::{Args, Id};
use crate::conversations::Watching;
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::State;

/// From where events are sent.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    /// The last `seq` that is known [default: 0, or `Last-Event-ID`].
    #[serde(default)]
    after: Option<u64>,
}

struct Following {
    events: Subscription,
    closing: CancellationToken,
    heartbeat: Duration,
    _following: Watching,
}

/// Streams events: those of the journal, then those that happen. The `id` of an event is its
/// `seq`; streamed pieces have none.
#[utoipa::path(get, path = "/api/conversations/{id}/events", params(("id" = String, Path), After), responses(
    (status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn stream(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Args(after): Args<After>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let open = state.conversations.find(&principal, &id).await?;
    let last = headers.get("last-event-id");
    let last = last.and_then(|id| id.to_str().ok()?.parse().ok());
    let after = after.after.or(last).unwrap_or_default();
    let following = Following {
        events: open.conversation.subscribe(after).await?,
        closing: state.closing.clone(),
        heartbeat: state.options.limits.heartbeat,
        _following: open.followers.watch(),
    };
    let pieces = stream::unfold(following, |mut following| async move {
        let piece = tokio::select! {
            () = following.closing.cancelled() => return None,
            event = following.events.next() => said(&event.ok()??),
            () = tokio::time::sleep(following.heartbeat) => ": alive\n\n".to_owned(),
        };
        Some((Ok::<_, Infallible>(Bytes::from(piece)), following))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((kind, Body::from_stream(pieces)).into_response())
}

/// An event in the form of an event stream. JSON has no line ends.
fn said(event: &Event) -> String {
    let mut text = String::new();
    if let Some(seq) = event.seq {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "id: {seq}");
    }
    let json = serde_json::to_string(event).unwrap_or_default();
    let _ = write!(text, "data: {json}\n\n");
    text
}

/// A call of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallRow {
    /// The call.
    tool_id: String,
    /// The tool.
    tool_name: String,
    /// `received`, `planned`, `asked`, `running` or `finished`.
    state: &'static str,
    /// The turn it belongs to.
    turn: u64,
    /// What it does, as a title.
    summary: Option<String>,
    /// Its result.
    result: Option<Value>,
}

/// The calls of a conversation, in their order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallList {
    calls: Vec<CallRow>,
}

/// Lists the calls of a conversation.
#[utoipa::path(get, path = "/api/conversations/{id}/calls", params(("id" = String, Path)), responses(
    (status = 200, body = CallList), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn calls(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<Json<CallList>, Problem> {
    let open = state.conversations.find(&principal, &id).await?;
    let mut events = open.conversation.subscribe(0).await?;
    let mut calls: Vec<CallRow> = Vec::new();
    let mut turn = 0;
    for event in events.replay().await? {
        match &event.kind {
            EventKind::TurnStarted { turn: number, .. } => turn = *number,
            EventKind::CallReceived { call_id, tool } => calls.push(CallRow {
                tool_id: call_id.as_str().to_owned(),
                tool_name: tool.clone(),
                state: "received",
                turn,
                summary: None,
                result: None,
            }),
            EventKind::ApprovalRequested { question } => {
                for item in &question.items {
                    change(&mut calls, item.call_id.as_str(), |call| {
                        call.state = "asked"
                    });
                }
            }
            kind => {
                let Some(id) = kind.call_id() else { continue };
                change(&mut calls, id.as_str(), |call| advance(call, kind));
            }
        }
    }
    Ok(Json(CallList { calls }))
}

fn change(calls: &mut [CallRow], id: &str, change: impl FnOnce(&mut CallRow)) {
    // Ids of models repeat in later turns: the last one is meant.
    if let Some(call) = calls.iter_mut().rev().find(|call| call.tool_id == id) {
        change(call);
    }
}

fn advance(call: &mut CallRow, kind: &EventKind) {
    match kind {
        EventKind::CallPlanned { plan } => {
            call.state = "planned";
            call.tool_name.clone_from(&plan.tool);
            call.summary = Some(plan.summary.clone());
        }
        EventKind::CallStarted { .. } => call.state = "running",
        EventKind::CallFinished { result } => {
            call.state = "finished";
            call.result = serde_json::to_value(result).ok();
        }
        _ => {}
    }
}
