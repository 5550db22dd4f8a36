//! Tools, rules, remembered approvals and settings of the server's workspace; calls by hand.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extracted;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolgate_app::undo::{Scope as UndoScope, Undo};
use toolgate_app::{ArgsText, Batch, Purpose};
use toolgate_model::{Args as CallArgs, Call, ToolCall};
use utoipa::ToSchema;

use super::body::{Body, Id};
use crate::auth::Principal;
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::State;

/// The rules and settings of the whole workspace are for the one who started the server.
fn operator(principal: &Principal) -> Result<(), Problem> {
    match principal.is_operator() {
        true => Ok(()),
        false => Err(Problem::forbidden(
            "only the one who started the server may do that",
        )),
    }
}

/// Lists the tools that a model is offered.
#[utoipa::path(get, path = "/api/tools", responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn tools(
    Extracted(state): Extracted<Arc<State>>,
    Caller(_): Caller,
) -> Result<Json<Value>, Problem> {
    let project = state.app.project(Purpose::Look)?;
    let tools = project.definitions()?.into_iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "requires_approval": tool.requires_approval,
        })
    });
    let tools: Vec<Value> = tools.collect();
    Ok(Json(json!({ "tools": tools })))
}

/// A call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCall {
    /// The tool, by name or alias.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    #[schema(value_type = Object)]
    args: CallArgs,
}

/// Says what would be decided about a call, and why. Nothing runs.
#[utoipa::path(post, path = "/api/policy/explain", request_body = NewCall, responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn explain(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Body(call): Body<NewCall>,
) -> Result<Json<Value>, Problem> {
    operator(&principal)?;
    let project = state.app.project(Purpose::Plan(&call.tool))?;
    let args = serde_json::to_vec(&call.args).unwrap_or_default();
    let call = project.call_from("call_1", &call.tool, ArgsText::Whole(args));
    Ok(Json(project.explain(call).await?))
}

/// Runs the rules' examples, and finds rules that can never match.
#[utoipa::path(get, path = "/api/policy/check", responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn check(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Result<Json<Value>, Problem> {
    operator(&principal)?;
    let findings = state.app.project(Purpose::Look)?.check_rules()?;
    let findings = findings.iter().map(|finding| {
        json!({
            "kind": finding.kind.as_str(),
            "mistake": finding.kind.is_mistake(),
            "rule": finding.rule,
            "source": finding.source,
            "message": finding.message,
        })
    });
    let findings: Vec<Value> = findings.collect();
    Ok(Json(json!({ "findings": findings })))
}

/// Lists the remembered approvals of the workspace.
#[utoipa::path(get, path = "/api/grants", responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn grants(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Result<Json<Value>, Problem> {
    operator(&principal)?;
    let grants = state.app.project(Purpose::Look)?.grants().await?;
    let grants = grants
        .iter()
        .map(|grant| json!({"id": grant.id, "at_ms": grant.at_ms, "grants": grant.describe()}));
    let grants: Vec<Value> = grants.collect();
    Ok(Json(json!({ "grants": grants })))
}

/// Takes a remembered approval back.
#[utoipa::path(delete, path = "/api/grants/{id}", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn revoke(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    operator(&principal)?;
    let project = state.app.project(Purpose::Look)?;
    match project.revoke_grant(&id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found("no remembered approval has this id")),
    }
}

/// Shows every setting in force and where it comes from.
#[utoipa::path(get, path = "/api/settings", responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn settings(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Result<Json<Value>, Problem> {
    operator(&principal)?;
    let config = state.app.config();
    let rows = serde_json::to_value(config.show()).unwrap_or_default();
    let ignored: Vec<String> = config.ignored().iter().map(ToString::to_string).collect();
    Ok(Json(json!({
        "workspace": state.app.workspace().display().to_string(),
        "settings": rows,
        "ignored": ignored,
    })))
}

/// Runs one call by hand, through the whole pipeline, in a conversation of its own.
#[utoipa::path(post, path = "/api/calls", request_body = NewCall, responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn call(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Body(call): Body<NewCall>,
) -> Result<Json<Value>, Problem> {
    operator(&principal)?;
    let project = state.app.project(Purpose::Run(&call.tool))?;
    let id = state.app.fresh_id("exec")?;
    let call = Call::Whole(ToolCall::new("call_1", call.tool, call.args));
    let cancel = CancellationToken::new();
    let batch = Batch {
        by_user: true,
        cancel: cancel.clone(),
        ..Batch::new(id.clone(), vec![call])
    };
    // It goes on when the client is gone: its result is in the journal then.
    let stopping = state.stopping.clone();
    let run = tokio::spawn(async move {
        let run = project.run(batch);
        tokio::pin!(run);
        tokio::select! {
            results = &mut run => results,
            () = stopping.cancelled() => {
                cancel.cancel();
                run.await
            }
        }
    });
    let results = run
        .await
        .map_err(|error| Problem::internal(error.to_string()))?;
    let result = results.first().map(serde_json::to_value);
    let result = result.and_then(Result::ok).unwrap_or_default();
    Ok(Json(json!({"conversation_id": id, "result": result})))
}

/// What is undone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUndo {
    /// Only what this call did.
    #[serde(default)]
    call: Option<String>,
    /// Only what the calls of this turn did.
    #[serde(default)]
    turn: Option<u64>,
    /// Whether it is done; without this, it is only shown.
    #[serde(default)]
    apply: bool,
}

/// Shows or does the undo of what a conversation did to files.
#[utoipa::path(post, path = "/api/conversations/{id}/undo", params(("id" = String, Path)), request_body = NewUndo, responses(
    (status = 200, body = Value), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn undo(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Body(new): Body<NewUndo>,
) -> Result<Json<Value>, Problem> {
    let open = state.conversations.find_to_write(&principal, &id).await?;
    let scope = match (new.call, new.turn) {
        (Some(_), Some(_)) => return Err(Problem::bad("send call or turn, not both")),
        (Some(call), None) => UndoScope::Call(call.as_str().into()),
        (None, Some(turn)) => UndoScope::Turn(turn),
        (None, None) => UndoScope::All,
    };
    let plan = match open.conversation.undo(&scope).await? {
        Undo::Planned(plan) => plan,
        Undo::Nothing { result } => {
            return Ok(Json(json!({"state": "nothing", "result": result})));
        }
        Undo::Refused { result } => {
            return Ok(Json(json!({"state": "refused", "result": result})));
        }
    };
    let differences = plan.differences().await?;
    let commands = plan.commands();
    if !new.apply {
        return Ok(Json(json!({
            "state": "planned", "differences": differences, "commands": commands,
        })));
    }
    let name = principal.name().to_owned();
    let results = plan.apply(&name, state.stopping.child_token()).await?;
    Ok(Json(json!({
        "state": "done", "differences": differences, "commands": commands, "results": results,
    })))
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// Whose token this is.
    name: String,
    /// What it may do.
    role: crate::auth::Role,
    /// Whether it is the token of this start.
    operator: bool,
    /// The directories that conversations may be about.
    workspaces: Vec<String>,
}

/// Says whose token this is.
#[utoipa::path(get, path = "/api/me", responses(
    (status = 200, body = Me), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn me(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
) -> Json<Me> {
    let served = state.options.workspaces.iter();
    let usable = served.filter(|path| principal.may_use(path));
    Json(Me {
        name: principal.name().to_owned(),
        role: principal.role(),
        operator: principal.is_operator(),
        workspaces: usable.map(|path| path.display().to_string()).collect(),
    })
}
