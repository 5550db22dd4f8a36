//! A client on a WebSocket.
//!
//! ```text
//! handshake: Host, Origin, ticket or token ─▶ Session
//!   reader  ── frames of the client ──▶ what they ask for
//!   follow  ── one task per conversation: journal, then live ──┐
//!   inbox   ── the questions of all conversations ─────────────┼─▶ bounded queue ─▶ writer
//! ```
//!
//! Nothing waits for a client. A task that cannot put its frame into the queue stops reading its
//! subscription, which then loses streamed pieces and reads the journal again; the client gets
//! a snapshot. A client that does not read for `Limits::write` is disconnected. Conversations go
//! on without it.

mod follow;
mod inbox;
mod session;
mod view;
mod writer;

use std::sync::Arc;

use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State as Extracted};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;

use crate::auth::Principal;
use crate::guard::{caller, unauthorized};
use crate::problem::Problem;
use crate::state::State;
pub(crate) use inbox::list as waiting;

/// The query of a handshake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Handshake {
    ticket: Option<String>,
}

/// Opens a socket, by a ticket or by a token in the header.
pub(crate) async fn open(
    Extracted(state): Extracted<Arc<State>>,
    query: Result<Query<Handshake>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let Query(Handshake { ticket }) = query.map_err(|_| Problem::bad("send ticket alone"))?;
    let principal: Principal = match ticket {
        Some(ticket) => state.gatekeeper.of_ticket(&ticket).ok_or_else(|| {
            state.counters.refused();
            unauthorized()
        })?,
        None if headers.contains_key(header::AUTHORIZATION) => caller(&headers, &state)?,
        None => {
            state.counters.refused();
            return Err(unauthorized());
        }
    };
    if state.stopping.is_cancelled() {
        return Err(crate::guard::paced(&principal, &state)
            .err()
            .unwrap_or_else(unauthorized));
    }
    let upgrade = upgrade.map_err(|error| Problem::bad(error.to_string()))?;
    let most = state.options.limits.body_bytes;
    Ok(upgrade
        .max_message_size(most)
        .max_frame_size(most)
        .write_buffer_size(0)
        .on_upgrade(move |socket: WebSocket| session::run(socket, principal, state)))
}
