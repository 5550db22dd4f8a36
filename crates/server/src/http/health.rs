//! Whether the server is there, what it counts, and the documents of its interface.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extracted;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::auth::TICKET_LIFE;
use crate::frames;
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::State;

/// Says that the server is there. Needs no token.
#[utoipa::path(get, path = "/health", security(()), responses((status = 200, body = Value)))]
pub(crate) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Says whether the server takes requests and its journal can be read. Needs no token.
#[utoipa::path(get, path = "/ready", security(()), responses(
    (status = 200, body = Value), (status = 503, body = ProblemBody)))]
pub(crate) async fn ready(Extracted(state): Extracted<Arc<State>>) -> Result<Json<Value>, Problem> {
    let unavailable =
        |kind, detail: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail);
    if state.stopping.is_cancelled() {
        return Err(unavailable("stopping", "the server is stopping"));
    }
    let is_readable =
        !state.app.journal_file().exists() || state.app.is_on_record(&"ready".into()).await.is_ok();
    if !is_readable {
        return Err(unavailable("journal", "the journal cannot be read"));
    }
    Ok(Json(json!({"status": "ready"})))
}

/// Counts, as text for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, content_type = "text/plain", body = String), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn metrics(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Result<Response, Problem> {
    if !principal.is_operator() && principal.role() != crate::auth::Role::Reader {
        return Err(Problem::forbidden(
            "counts are for the operator and for readers",
        ));
    }
    let questions = state.app.approvals().list().len();
    let own = state
        .counters
        .render(state.conversations.count(), questions);
    let text = state.options.metrics.render() + &own;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// A ticket for a socket.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// Good once.
    ticket: String,
    /// For so long.
    expires_in_ms: u64,
}

/// Gives a ticket, with which a page opens `/ws?ticket=…` once.
#[utoipa::path(post, path = "/api/ticket", responses(
    (status = 200, body = Ticket), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn ticket(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Result<Json<Ticket>, Problem> {
    let ticket = state.gatekeeper.ticket(&principal);
    let ticket = ticket.ok_or_else(|| Problem::internal("the system has no randomness"))?;
    Ok(Json(Ticket {
        ticket,
        expires_in_ms: u64::try_from(TICKET_LIFE.as_millis()).unwrap_or(u64::MAX),
    }))
}

pub(crate) async fn openapi(Caller(_): Caller) -> Json<Value> {
    Json(super::openapi())
}

pub(crate) async fn frames(Caller(_): Caller) -> Json<Value> {
    Json(frames::schema())
}
