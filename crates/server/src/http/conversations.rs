//! Conversations: begin, list, read, send, cancel, resume, delete.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extracted;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use toolgate_app::export::ExportFormat;
use toolgate_app::listing::{Listed, Which};
use utoipa::{IntoParams, ToSchema};

use super::body::{Args, Body, Id};
use crate::conversations::{NewConversation, Open};
use crate::frames::{ChatMessage, Send};
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::State;

/// The most conversations of one answer.
const MOST: usize = 200;

/// A conversation in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConversationRow {
    /// The conversation.
    conversation_id: String,
    /// The directory it is about.
    workspace: Option<String>,
    /// The user's first words.
    first_words: Option<String>,
    /// When it began, in milliseconds since 1970.
    started_ms: u64,
    /// When something happened last, in milliseconds since 1970.
    last_ms: u64,
    /// How many entries the journal has of it; the last `seq`.
    entries: u64,
    /// Whether a turn runs here.
    busy: bool,
    /// How many of its questions wait.
    waiting: usize,
}

/// Conversations, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConversationList {
    conversations: Vec<ConversationRow>,
}

/// Which conversations are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Words that its first words have, whichever case.
    #[serde(default)]
    query: Option<String>,
    /// The directory it is about.
    #[serde(default)]
    workspace: Option<String>,
    /// In which something happened since, in milliseconds since 1970.
    #[serde(default)]
    since_ms: Option<u64>,
    /// At most so many, up to 200.
    #[serde(default)]
    limit: Option<usize>,
}

/// Lists conversations.
#[utoipa::path(get, path = "/api/conversations", params(ListQuery), responses(
    (status = 200, body = ConversationList), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn list(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Args(query): Args<ListQuery>,
) -> Result<Json<ConversationList>, Problem> {
    if !state.app.journal_file().exists() {
        return Ok(Json(ConversationList {
            conversations: Vec::new(),
        }));
    }
    let words = query.query.as_deref().unwrap_or_default().to_lowercase();
    let which = Which {
        since_ms: query.since_ms,
        workspace: query.workspace.map(PathBuf::from),
        most: None,
    };
    let all = state.app.list(which).await?;
    let is_wanted = |one: &Listed| {
        let workspace = one
            .conversation
            .workspace
            .as_ref()
            .map(std::path::Path::new);
        let first = one.first_words.as_deref().unwrap_or_default();
        (words.is_empty() || first.to_lowercase().contains(&words))
            && state
                .conversations
                .may_read(&principal, &one.conversation.id, workspace)
    };
    let all = all.into_iter().filter(is_wanted);
    let all = all.take(query.limit.unwrap_or(MOST).min(MOST));
    let conversations = all.map(|one| row(&state, one)).collect();
    Ok(Json(ConversationList { conversations }))
}

fn row(state: &State, listed: Listed) -> ConversationRow {
    let one = listed.conversation;
    let live = state.app.live(&one.id);
    ConversationRow {
        conversation_id: one.id.as_str().to_owned(),
        workspace: one.workspace,
        first_words: listed.first_words,
        started_ms: one.started_ms,
        last_ms: one.last_ms,
        entries: one.entries,
        busy: live
            .as_ref()
            .is_some_and(toolgate_app::Conversation::is_busy),
        waiting: live.map_or(0, |live| live.approvals().len()),
    }
}

/// What a conversation is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConversationState {
    /// The conversation.
    conversation_id: String,
    /// The directory it is about.
    workspace: Option<String>,
    /// The last `seq`.
    seq: u64,
    /// The last turn.
    turn: u64,
    /// Whether a turn runs here.
    busy: bool,
    /// Whether the caller may send, cancel and undo.
    may_write: bool,
    /// Whether the caller may answer questions.
    may_approve: bool,
}

async fn described(
    open: &Open,
    who: &crate::auth::Principal,
) -> Result<ConversationState, Problem> {
    Ok(ConversationState {
        conversation_id: open.id.as_str().to_owned(),
        workspace: open
            .subject()
            .workspace
            .map(|path| path.display().to_string()),
        seq: open.conversation.last_seq().await?,
        turn: open.conversation.turns().await?,
        busy: open.conversation.is_busy(),
        may_write: who.may_write(open.subject()),
        may_approve: who.may_approve(open.subject()),
    })
}

/// Begins a conversation.
#[utoipa::path(post, path = "/api/conversations", request_body = NewConversation, responses(
    (status = 201, body = ConversationState), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn create(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Body(new): Body<NewConversation>,
) -> Result<Response, Problem> {
    let token = state.gatekeeper.token(&principal);
    let scope = token.and_then(|token| token.scope);
    let now = state.app.now_ms();
    let open = state
        .conversations
        .create(&principal, scope, new, now)
        .await?;
    let described = described(&open, &principal).await?;
    Ok((StatusCode::CREATED, Json(described)).into_response())
}

/// Describes a conversation.
#[utoipa::path(get, path = "/api/conversations/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = ConversationState), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn show(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<Json<ConversationState>, Problem> {
    let open = state.conversations.find(&principal, &id).await?;
    Ok(Json(described(&open, &principal).await?))
}

/// Deletes a conversation of which the journal has nothing.
#[utoipa::path(delete, path = "/api/conversations/{id}", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn delete(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    state.conversations.delete(&principal, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Its messages, as `journal export --format json` writes them.
#[utoipa::path(get, path = "/api/conversations/{id}/messages", params(("id" = String, Path)), responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn messages(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<Response, Problem> {
    let open = state.conversations.find(&principal, &id).await?;
    if open.conversation.last_seq().await? == 0 {
        let none = serde_json::json!({"conversation": id, "messages": []});
        return Ok(Json(none).into_response());
    }
    let page = open.conversation.export(ExportFormat::Json).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], page).into_response())
}

/// Words of the user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMessage {
    /// The words.
    message: String,
    /// What was said before, where the conversation begins here.
    #[serde(default)]
    history: Vec<ChatMessage>,
    /// Sent again, the request has the same answer and nothing is said twice.
    #[serde(default)]
    request_id: Option<String>,
}

/// The turn that a message began.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Begun {
    /// The conversation.
    conversation_id: String,
    /// The turn.
    turn: u64,
}

/// Says something.
#[utoipa::path(post, path = "/api/conversations/{id}/messages", params(("id" = String, Path)), request_body = NewMessage, responses(
    (status = 202, body = Begun), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn send(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Body(new): Body<NewMessage>,
) -> Result<Response, Problem> {
    let open = state.conversations.find_to_write(&principal, &id).await?;
    let said = Send {
        conversation_id: id.clone(),
        message: new.message,
        history: new.history,
        request_id: new.request_id,
    };
    let turn = open.send(&said).await?;
    let begun = Begun {
        conversation_id: id,
        turn,
    };
    Ok((StatusCode::ACCEPTED, Json(begun)).into_response())
}

/// Stops the turn that runs.
#[utoipa::path(post, path = "/api/conversations/{id}/cancel", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn cancel(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    let open = state.conversations.find_to_write(&principal, &id).await?;
    open.conversation.cancel();
    Ok(StatusCode::NO_CONTENT)
}

/// What becomes of calls that a crash interrupted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeChoice {
    /// `keep` or `discard`; without it, what there is is kept.
    #[serde(default)]
    choice: Option<String>,
}

/// The calls that got a result.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settled {
    /// How many.
    settled: usize,
}

/// Settles what a crash left of the last turn. Nothing runs again.
#[utoipa::path(post, path = "/api/conversations/{id}/resume", params(("id" = String, Path)), request_body = ResumeChoice, responses(
    (status = 200, body = Settled), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn resume(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Body(choice): Body<ResumeChoice>,
) -> Result<Json<Settled>, Problem> {
    let open = state.conversations.find_to_write(&principal, &id).await?;
    let settled = open.resume(choice.choice.as_deref()).await?;
    Ok(Json(Settled { settled }))
}

/// How a conversation is exported.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    /// `json`, `md` or `html` [default: json].
    #[serde(default)]
    format: Option<String>,
}

/// Exports a conversation, as a file to save.
#[utoipa::path(get, path = "/api/conversations/{id}/export", params(("id" = String, Path), ExportQuery), responses(
    (status = 200, body = String), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn export(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Args(query): Args<ExportQuery>,
) -> Result<Response, Problem> {
    let (format, kind) = match query.format.as_deref() {
        None | Some("json") => (ExportFormat::Json, "application/json"),
        Some("md") => (ExportFormat::Md, "text/markdown; charset=utf-8"),
        // Never a page of this origin.
        Some("html") => (ExportFormat::Html, "application/octet-stream"),
        Some(_) => return Err(Problem::bad("format is json, md or html")),
    };
    let open = state.conversations.find(&principal, &id).await?;
    let page = open.conversation.export(format).await?;
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    Ok((headers, page).into_response())
}
