//! The journal of a conversation, entry by entry.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Extracted;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_app::journal::{Filter, ShownEntry};
use utoipa::{IntoParams, ToSchema};

use super::body::{Args, Id};
use crate::guard::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::State;

/// The most entries of one answer.
const MOST: u64 = 1_000;

/// Which entries are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntriesQuery {
    /// The last `seq` that is known [default: 0].
    #[serde(default)]
    after: u64,
    /// At most so many, up to 1,000 [default: 1,000].
    #[serde(default)]
    limit: Option<u64>,
    /// Whether entries come with what they say [default: false].
    #[serde(default)]
    bodies: bool,
}

/// An entry of the journal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryRow {
    /// Its number in the conversation.
    seq: u64,
    /// When it was written, in milliseconds since 1970.
    at_ms: u64,
    /// What it is.
    kind: String,
    /// The call it is about; empty where it is about none.
    tool_id: String,
    /// Its hash, in hexadecimal.
    hash: String,
    /// What it says, without known secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

/// Entries in their order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryList {
    /// The clock of the server, in milliseconds since 1970.
    now_ms: u64,
    /// Whether more follow.
    more: bool,
    /// The entries.
    entries: Vec<EntryRow>,
}

/// Lists the entries of a conversation's journal.
#[utoipa::path(get, path = "/api/conversations/{id}/entries", params(("id" = String, Path), EntriesQuery), responses(
    (status = 200, body = EntryList), (status = "4XX", body = ProblemBody)))]
pub(crate) async fn entries(
    Extracted(state): Extracted<Arc<State>>,
    Caller(principal): Caller,
    Id(id): Id,
    Args(query): Args<EntriesQuery>,
) -> Result<Json<EntryList>, Problem> {
    let open = state.conversations.find(&principal, &id).await?;
    let most = query.limit.unwrap_or(MOST).clamp(1, MOST);
    let filter = Filter {
        after: Some((open.id.clone(), query.after)),
        most: Some(most),
        ..Filter::of(&open.id)
    };
    let mut entries = Vec::new();
    if state.app.journal_file().exists() {
        let each = |ShownEntry { line, body }| {
            entries.push(EntryRow {
                seq: line.seq,
                at_ms: line.at_ms,
                kind: line.kind,
                tool_id: line.call.as_str().to_owned(),
                hash: line.hash,
                body: query.bodies.then_some(body),
            });
            true
        };
        state.app.show_journal(filter, each).await?;
    }
    Ok(Json(EntryList {
        now_ms: state.app.now_ms(),
        more: u64::try_from(entries.len()) == Ok(most),
        entries,
    }))
}
