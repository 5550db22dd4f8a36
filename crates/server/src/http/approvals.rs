//! Questions that wait, and their answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extracted;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::body::{Body, Id};
use crate::frames::ToolApprove;
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::socket;
use crate::state::State;

/// Everything that waits for an answer of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Waiting {
    /// The calls, as in the frame `chat:tool-confirm`.
    #[schema(value_type = Vec<Object>)]
    approvals: Value,
    /// How many there are.
    total: usize,
}

/// Lists what waits for an answer.
#[utoipa::path(get, path = "/api/approvals", responses(
    (status = 200, body = Waiting), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn list(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Json<Waiting> {
    let (approvals, total) = socket::waiting(&state, &principal).await;
    Json(Waiting {
        approvals: serde_json::to_value(approvals).unwrap_or_default(),
        total,
    })
}

/// What became of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnswerTaken {
    /// The conversation.
    conversation_id: String,
    /// The question.
    approval_id: String,
    /// Whether other calls of the question are still to be answered.
    partial: bool,
}

/// Answers a question. The first answer counts; later ones are refused.
#[utoipa::path(post, path = "/api/approvals/{id}", params(("id" = String, Path)), request_body = ToolApprove, responses(
    (status = 200, body = AnswerTaken), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn answer(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Body(mut given): Body<ToolApprove>,
) -> Result<Response, Problem> {
    if given.approval_id.as_ref().is_some_and(|named| *named != id) {
        return Err(Problem::bad("the address names another approval_id"));
    }
    given.approval_id = Some(id);
    let answered = state.conversations.answer(&principal, &given).await?;
    let taken = AnswerTaken {
        conversation_id: answered.conversation_id,
        approval_id: answered.approval_id.to_string(),
        partial: answered.is_partial,
    };
    Ok((StatusCode::OK, Json(taken)).into_response())
}
