//! Requests: what can be asked for over HTTP, and the document that says so.

mod approvals;
mod body;
mod conversations;
mod entries;
mod events;
mod health;
mod page;
mod project;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{delete, get, post};
use utoipa::OpenApi;

use crate::guard::guard;
use crate::problem::Problem;
use crate::socket;
use crate::state::State;

/// Every way in.
pub(crate) fn router(state: &Arc<State>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/page/{name}", get(page::file))
        .route("/ws", get(socket::open))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/api/ticket", post(health::ticket))
        .route("/api/openapi.json", get(health::openapi))
        .route("/api/frames.schema.json", get(health::frames))
        .route("/api/me", get(project::me))
        .route(
            "/api/conversations",
            get(conversations::list).post(conversations::create),
        )
        .route(
            "/api/conversations/{id}",
            get(conversations::show).delete(conversations::delete),
        )
        .route(
            "/api/conversations/{id}/messages",
            get(conversations::messages).post(conversations::send),
        )
        .route(
            "/api/conversations/{id}/cancel",
            post(conversations::cancel),
        )
        .route(
            "/api/conversations/{id}/resume",
            post(conversations::resume),
        )
        .route("/api/conversations/{id}/export", get(conversations::export))
        .route("/api/conversations/{id}/events", get(events::stream))
        .route("/api/conversations/{id}/calls", get(events::calls))
        .route("/api/conversations/{id}/entries", get(entries::entries))
        .route("/api/conversations/{id}/undo", post(project::undo))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/{id}", post(approvals::answer))
        .route("/api/calls", post(project::call))
        .route("/api/tools", get(project::tools))
        .route("/api/policy/explain", post(project::explain))
        .route("/api/policy/check", get(project::check))
        .route("/api/grants", get(project::grants))
        .route("/api/grants/{id}", delete(project::revoke))
        .route("/api/settings", get(project::settings))
        .fallback(async || Problem::not_found("there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "bad_args",
                "this address takes other methods",
            )
        })
        .layer(middleware::from_fn_with_state(Arc::clone(state), guard))
        .with_state(Arc::clone(state))
}

/// The document of the interface.
#[derive(OpenApi)]
#[openapi(
    info(title = "Toolgate", description = "Conversations, approvals and the journal over HTTP."),
    paths(
        health::health, health::ready, health::metrics, health::ticket,
        project::me, project::tools, project::explain, project::check, project::grants,
        project::revoke, project::settings, project::call, project::undo,
        conversations::list, conversations::create, conversations::show, conversations::delete,
        conversations::messages, conversations::send, conversations::cancel,
        conversations::resume, conversations::export,
        events::stream, events::calls, entries::entries, approvals::list, approvals::answer,
    ),
    modifiers(&Secured)
)]
struct Document;

/// Everything but the health needs a token.
struct Secured;

impl utoipa::Modify for Secured {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{
            Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
        };
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", scheme);
        let none: [&str; 0] = [];
        document.security = Some(vec![SecurityRequirement::new("token", none)]);
    }
}

/// The document as JSON.
pub(crate) fn openapi() -> serde_json::Value {
    serde_json::to_value(Document::openapi()).unwrap_or_default()
}
