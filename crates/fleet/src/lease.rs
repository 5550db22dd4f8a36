//! Who works on a conversation.
//!
//! ```text
//! enter ──▶ a row in workers, alive until …  ──stay──▶ moved on while it may be
//! claim ──▶ epoch + 1, holder: if nobody who is alive holds it
//! write ──▶ only with that epoch, by that holder, while it is alive
//! ```
//!
//! Times are those of the database. A worker that was silent for too long finds its row dead and
//! never moves it on again: every conversation it held is lost to it.

use std::sync::Weak;

use tokio_postgres::types::Type;
use toolgate_gate::journal::chain::NOTHING;
use toolgate_model::ConversationId;

use crate::database::{column, count, hash, signed};
use crate::error::FleetError;
use crate::hand::{Hand, Slot, not_sent};
use crate::journal::Inner;
use crate::text::stored;

/// So many signs are given in the time of one lease.
const SIGNS: u32 = 4;

/// This worker, as the database knows it.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Different for each worker that ever was.
    pub(crate) token: String,
    pid: u32,
    node: String,
}

impl Worker {
    pub(crate) fn new(random: u128, node: &str) -> Self {
        Self {
            token: format!("{random:032x}"),
            pid: std::process::id(),
            node: node.to_owned(),
        }
    }
}

fn lease_ms(inner: &Inner) -> i64 {
    i64::try_from(inner.options.lease.as_millis()).unwrap_or(i64::MAX)
}

/// Enters this worker. Rows of workers that have been gone for long go too.
pub(crate) async fn enter(inner: &Inner) -> Result<(), FleetError> {
    let worker = &inner.worker;
    inner
        .database
        .one(
            "WITH gone AS (DELETE FROM toolgate_workers
                           WHERE alive_until < clock_timestamp() - interval '1 day')
             INSERT INTO toolgate_workers(token, node, pid, alive_until)
             VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')",
            &[
                (&worker.token, Type::TEXT),
                (&stored(&worker.node).as_ref(), Type::TEXT),
                (&i64::from(worker.pid), Type::INT8),
                (&lease_ms(inner), Type::INT8),
            ],
        )
        .await
        .map_err(not_sent)?;
    Ok(())
}

/// Gives signs of life as long as there is somebody to give them for.
pub(crate) async fn stay(inner: Weak<Inner>) {
    loop {
        let Some(pause) = inner.upgrade().map(|inner| inner.options.lease / SIGNS) else {
            return;
        };
        tokio::time::sleep(pause).await;
        let Some(inner) = inner.upgrade() else { return };
        // Where this fails it is tried again; the lease says how long.
        if let Ok(false) = sign(&inner).await {
            for slot in inner.known() {
                *slot.lock().await = Slot::Lost;
            }
            return;
        }
        crate::anchors::add(&inner).await.ok();
    }
}

/// Moves the life of this worker on. False if it is over.
async fn sign(inner: &Inner) -> Result<bool, FleetError> {
    let rows = inner
        .database
        .one(
            "UPDATE toolgate_workers
             SET alive_until = clock_timestamp() + $2 * interval '1 millisecond'
             WHERE token = $1 AND alive_until > clock_timestamp() RETURNING 1",
            &[
                (&inner.worker.token, Type::TEXT),
                (&lease_ms(inner), Type::INT8),
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Gives everything back.
pub(crate) async fn leave(inner: &Inner) -> Result<(), FleetError> {
    // A last anchor while the conversations are still this worker's.
    crate::anchors::add(inner).await.ok();
    inner
        .database
        .one(
            "WITH gone AS (DELETE FROM toolgate_workers WHERE token = $1)
             UPDATE toolgate_conversations SET holder = NULL WHERE tenant = $2 AND holder = $1",
            &[
                (&inner.worker.token, Type::TEXT),
                (&inner.options.tenant, Type::TEXT),
            ],
        )
        .await?;
    Ok(())
}

/// Gives one conversation back.
pub(crate) async fn release(
    inner: &Inner,
    conversation: &ConversationId,
) -> Result<(), FleetError> {
    let place = inner.slot(conversation);
    let mut slot = place.lock().await;
    give_back(inner, conversation, &mut slot).await?;
    inner.forget(conversation);
    Ok(())
}

/// Ends the hold of a conversation.
pub(crate) async fn give_back(
    inner: &Inner,
    conversation: &ConversationId,
    slot: &mut Slot,
) -> Result<(), FleetError> {
    if matches!(slot, Slot::Held(_)) {
        inner
            .database
            .one(
                "UPDATE toolgate_conversations SET holder = NULL
                 WHERE tenant = $1 AND id = $2 AND holder = $3",
                &[
                    (&inner.options.tenant, Type::TEXT),
                    (&stored(conversation.as_str()).as_ref(), Type::TEXT),
                    (&inner.worker.token, Type::TEXT),
                ],
            )
            .await?;
    }
    *slot = Slot::Free;
    Ok(())
}

/// Takes a conversation, and makes it where there is none.
pub(crate) async fn begin(
    inner: &Inner,
    conversation: &ConversationId,
    workspace: Option<&str>,
) -> Result<(), FleetError> {
    let slot = inner.slot(conversation);
    let mut slot = slot.lock().await;
    // Whoever opens it anew reads it anew, so a loss is over.
    if matches!(*slot, Slot::Lost) {
        *slot = Slot::Free;
    }
    let now_ms = signed(inner.options.clock.now_ms());
    inner
        .database
        .one(
            "INSERT INTO toolgate_conversations(tenant, id, workspace, started_ms, hash, last_ms)
             SELECT $1, $2, $3, $4, $5, $4
             WHERE NOT EXISTS (SELECT FROM toolgate_conversations WHERE tenant = $1 AND id = $2)
             ON CONFLICT DO NOTHING",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&stored(conversation.as_str()).as_ref(), Type::TEXT),
                (&workspace.map(|at| stored(at).into_owned()), Type::TEXT),
                (&now_ms, Type::INT8),
                (&NOTHING.as_slice(), Type::BYTEA),
            ],
        )
        .await
        .map_err(not_sent)?;
    claim(inner, conversation, &mut slot).await?;
    if workspace.is_some() {
        inner
            .database
            .one(
                "UPDATE toolgate_conversations SET workspace = $3
                 WHERE tenant = $1 AND id = $2 AND workspace IS NULL AND holder = $4",
                &[
                    (&inner.options.tenant, Type::TEXT),
                    (&stored(conversation.as_str()).as_ref(), Type::TEXT),
                    (&workspace.map(|at| stored(at).into_owned()), Type::TEXT),
                    (&inner.worker.token, Type::TEXT),
                ],
            )
            .await?;
    }
    Ok(())
}

/// Makes sure that this worker holds a conversation. Returns false where there is none.
pub(crate) async fn claim(
    inner: &Inner,
    conversation: &ConversationId,
    slot: &mut Slot,
) -> Result<bool, FleetError> {
    let fenced = || FleetError::Fenced {
        conversation: conversation.to_string(),
    };
    match slot {
        Slot::Lost => return Err(fenced()),
        Slot::Held(hand) if hand.unsure => {
            if !hand.look_again(inner, conversation.as_str()).await? {
                *slot = Slot::Lost;
                return Err(fenced());
            }
            return Ok(true);
        }
        Slot::Held(_) => return Ok(true),
        Slot::Free => {}
    }
    let of = stored(conversation.as_str());
    let taken = inner
        .database
        .one(
            "UPDATE toolgate_conversations c SET epoch = epoch + 1, holder = $3
             WHERE tenant = $1 AND id = $2
               AND (holder IS NULL OR holder = $3 OR NOT EXISTS (
                 SELECT FROM toolgate_workers w
                 WHERE w.token = c.holder AND w.alive_until > clock_timestamp()))
               AND EXISTS (SELECT FROM toolgate_workers w
                           WHERE w.token = $3 AND w.alive_until > clock_timestamp())
             RETURNING epoch, seq, hash",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&of.as_ref(), Type::TEXT),
                (&inner.worker.token, Type::TEXT),
            ],
        )
        .await
        .map_err(not_sent)?;
    if let Some(row) = taken.first() {
        *slot = Slot::Held(Hand::new(count(row, 0)?, count(row, 1)?, hash(row, 2)?));
        return Ok(true);
    }
    let rows = inner
        .database
        .one(
            "SELECT w.node, w.pid, w.token = $3 FROM toolgate_conversations c
             LEFT JOIN toolgate_workers w ON w.token = c.holder
             WHERE c.tenant = $1 AND c.id = $2",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&of.as_ref(), Type::TEXT),
                (&inner.worker.token, Type::TEXT),
            ],
        )
        .await
        .map_err(not_sent)?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let (node, pid): (Option<String>, Option<i64>) = (column(row, 0)?, column(row, 1)?);
    match (node, pid) {
        (Some(node), Some(pid)) => Err(FleetError::InUse {
            conversation: conversation.to_string(),
            holder: format!("process {pid} on {}", crate::text::restored(&node)),
        }),
        // Nobody holds it, so this worker is the one that is not alive.
        _ => Err(fenced()),
    }
}
