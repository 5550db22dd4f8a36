//! Anchors: the ends of conversations, hashed in a row.
//!
//! One row that every write changes would be a point that everybody waits for. So each worker
//! anchors the conversations it holds, many at once, with its signs of life and when it leaves;
//! whoever takes a conversation over anchors what its last holder did not. An anchor that is kept
//! elsewhere finds a cut-off end up to the commit it names.

use serde_json::json;
use tokio_postgres::types::Type;
use toolgate_gate::journal::chain::{AnchorLink, Hash, Head, NOTHING};
use toolgate_gate::tool::hex;

use crate::database::{Transaction, Value, column, count, hash, signed};
use crate::error::FleetError;
use crate::journal::Inner;
use crate::text::restored;

/// At most so many conversations are in one anchor.
const MOST_HEADS: i64 = 1_000;

/// Makes the anchors of one tenant wait for each other.
const ALONE: &str = "SELECT pg_advisory_xact_lock(hashtextextended('anchors ' || $1, 0))";

/// Anchors what this worker wrote since the last one.
pub(crate) async fn add(inner: &Inner) -> Result<(), FleetError> {
    let transaction = inner.database.transaction().await?;
    let done = heads(&transaction, inner).await;
    transaction.end(done).await
}

async fn heads(on: &Transaction<'_>, inner: &Inner) -> Result<(), FleetError> {
    let tenant: Value<'_> = (&inner.options.tenant, Type::TEXT);
    let due = "SELECT FROM toolgate_conversations
               WHERE tenant = $1 AND holder = $2 AND seq > anchored_seq LIMIT 1";
    let me: Value<'_> = (&inner.worker.token, Type::TEXT);
    if on
        .query(due, &[tenant.clone(), me.clone()])
        .await?
        .is_empty()
    {
        return Ok(());
    }
    on.query(ALONE, std::slice::from_ref(&tenant)).await?;
    let rows = on
        .query(
            "WITH due AS (
           SELECT tenant, id FROM toolgate_conversations
           WHERE tenant = $1 AND holder = $2 AND seq > anchored_seq
           ORDER BY id LIMIT $3 FOR UPDATE)
         UPDATE toolgate_conversations c SET anchored_seq = c.seq FROM due
         WHERE c.tenant = due.tenant AND c.id = due.id RETURNING c.id, c.seq, c.hash",
            &[tenant, me, (&MOST_HEADS, Type::INT8)],
        )
        .await?;
    let mut heads = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = restored(column(row, 0)?);
        heads.push(Head(id, count(row, 1)?, hex(&hash(row, 2)?)));
    }
    heads.sort_by(|a, b| a.0.cmp(&b.0));
    let at_ms = inner.options.clock.now_ms();
    append(on, &inner.options.tenant, at_ms, &heads, None).await
}

/// Puts down what was pruned.
pub(crate) async fn pruned(
    on: &Transaction<'_>,
    inner: &Inner,
    before_ms: u64,
    bodies: u64,
    images: u64,
) -> Result<(), FleetError> {
    let tenant = &inner.options.tenant;
    on.query(ALONE, &[(tenant, Type::TEXT)]).await?;
    let note = json!({"pruned": [{
        "pruned_before_ms": before_ms, "bodies": bodies, "images": images,
    }]});
    let at_ms = inner.options.clock.now_ms();
    append(on, tenant, at_ms, &[], Some(note.to_string())).await
}

async fn append(
    on: &Transaction<'_>,
    tenant: &str,
    at_ms: u64,
    heads: &[Head],
    note: Option<String>,
) -> Result<(), FleetError> {
    let heads = serde_json::to_string(heads).map_err(|error| FleetError::Unwritable {
        why: error.to_string(),
    })?;
    let last = on.query(
        "SELECT number, hash FROM toolgate_anchors WHERE tenant = $1 ORDER BY number DESC LIMIT 1",
        &[(&tenant, Type::TEXT)],
    )
    .await?;
    let (last, before): (u64, Hash) = match last.first() {
        Some(row) => (count(row, 0)?, hash(row, 1)?),
        None => (0, NOTHING),
    };
    let link = AnchorLink {
        number: last + 1,
        at_ms,
        heads: &heads,
        note: note.as_deref(),
    };
    let hash = link.hash(&before);
    on.query(
        "INSERT INTO toolgate_anchors(tenant, number, at_ms, heads, note, prev_hash, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            (&tenant, Type::TEXT),
            (&signed(link.number), Type::INT8),
            (&signed(at_ms), Type::INT8),
            (&crate::text::stored(&heads).as_ref(), Type::TEXT),
            (&note, Type::TEXT),
            (&before.as_slice(), Type::BYTEA),
            (&hash.as_slice(), Type::BYTEA),
        ],
    )
    .await?;
    Ok(())
}
