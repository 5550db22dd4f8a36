//! Letting old contents go without breaking the chain.

use futures::future::BoxFuture;
use tokio_postgres::types::Type;
use toolgate_gate::journal::{JournalError, Prune, PruneJournal, Pruned, Record};

use crate::anchors;
use crate::database::{Transaction, column, count, signed};
use crate::error::FleetError;
use crate::journal::{Inner, PostgresJournal};

impl PruneJournal for PostgresJournal {
    fn prune(&self, what: Prune) -> BoxFuture<'_, Result<Pruned, JournalError>> {
        self.write(|inner| async move {
            let transaction = inner.database.transaction().await?;
            let done = prune(&transaction, &inner, what).await;
            transaction.end(done).await
        })
    }
}

/// Entries of calls that have no result, or may have half changed files.
const OPEN: &str = "EXISTS (SELECT FROM toolgate_entries e JOIN toolgate_calls s
      ON s.tenant = e.tenant AND s.conversation = e.conversation AND s.call = e.call
      AND s.nth = e.nth
    WHERE e.tenant = b.tenant AND e.conversation = b.conversation AND e.seq = b.seq
      AND (s.state <> 'finished' OR s.open_intent))";

async fn prune(on: &Transaction<'_>, inner: &Inner, what: Prune) -> Result<Pruned, FleetError> {
    let tenant = &inner.options.tenant;
    let mut before_ms = what.before_ms.unwrap_or(0);
    if let Some(most) = what.to_bytes {
        before_ms = before_ms.max(cutoff(on, tenant, most).await?);
    }
    let needed = images_of_open_calls(on, tenant).await?;
    let before = signed(before_ms);
    let bodies = on
        .query(
            &format!(
                "WITH gone AS (DELETE FROM toolgate_bodies b WHERE tenant = $1 AND at_ms < $2
                           AND NOT {OPEN} RETURNING length(bytes) AS bytes)
             SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM gone"
            ),
            &[(tenant, Type::TEXT), (&before, Type::INT8)],
        )
        .await?;
    let images = on
        .query(
            "WITH gone AS (DELETE FROM toolgate_images WHERE tenant = $1 AND last_ms < $2
                       AND NOT encode(hash, 'hex') = ANY($3) RETURNING length(bytes) AS bytes)
         SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM gone",
            &[
                (tenant, Type::TEXT),
                (&before, Type::INT8),
                (&needed, Type::TEXT_ARRAY),
            ],
        )
        .await?;
    let sums = |rows: &[tokio_postgres::Row]| match rows.first() {
        Some(row) => Ok::<_, FleetError>((count(row, 0)?, count(row, 1)?)),
        None => Ok((0, 0)),
    };
    let ((bodies, of_bodies), (images, of_images)) = (sums(&bodies)?, sums(&images)?);
    if bodies + images > 0 {
        anchors::pruned(on, inner, before_ms, bodies, images).await?;
    }
    Ok(Pruned {
        bodies,
        images,
        bytes: of_bodies.saturating_add(of_images),
        before_ms,
    })
}

async fn images_of_open_calls(
    on: &Transaction<'_>,
    tenant: &str,
) -> Result<Vec<String>, FleetError> {
    let rows = on
        .query(
            &format!(
                "SELECT b.bytes FROM toolgate_entries i JOIN toolgate_bodies b
               ON b.tenant = i.tenant AND b.conversation = i.conversation AND b.seq = i.seq
             WHERE i.tenant = $1 AND i.kind = 'intended' AND {OPEN}"
            ),
            &[(&tenant, Type::TEXT)],
        )
        .await?;
    let mut needed = Vec::new();
    for row in &rows {
        if let Ok(Record::Intended { files }) = serde_json::from_slice(column(row, 0)?) {
            needed.extend(files.into_iter().filter_map(|file| file.before));
        }
    }
    Ok(needed)
}

/// The time before which things have to go so that the rest fits.
async fn cutoff(on: &Transaction<'_>, tenant: &str, most: u64) -> Result<u64, FleetError> {
    let rows = on
        .query(
            "WITH sizes AS (
           SELECT at_ms AS at, length(bytes) AS bytes FROM toolgate_bodies WHERE tenant = $1
           UNION ALL SELECT last_ms, length(bytes) FROM toolgate_images WHERE tenant = $1),
         newer AS (
           SELECT at, sum(sum(bytes)) OVER (ORDER BY at DESC) AS kept FROM sizes GROUP BY at)
         SELECT coalesce(max(at) + 1, 0)::bigint FROM newer WHERE kept > $2",
            &[(&tenant, Type::TEXT), (&signed(most), Type::INT8)],
        )
        .await?;
    rows.first().map_or(Ok(0), |row| count(row, 0))
}
