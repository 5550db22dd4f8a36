//! What is on record, for whoever looks at it. Reading waits for no writer.

use futures::future::BoxFuture;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use toolgate_gate::journal::chain::sha256;
use toolgate_gate::journal::{
    Body, Conversation, ConversationFilter, Filter, JournalError, Line, ReadJournal, State,
};
use toolgate_gate::tool::hex;

use crate::database::{column, count, hash, signed};
use crate::error::FleetError;
use crate::journal::{Inner, PostgresJournal};
use crate::text::{restored, stored};

impl ReadJournal for PostgresJournal {
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, JournalError>> {
        self.look(|inner| async move { conversations(&inner, &filter).await })
    }

    fn entries(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        self.look(|inner| async move { entries(&inner, &filter).await })
    }

    fn image(&self, sha256: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        let wanted = sha256.to_owned();
        self.look(|inner| async move { image(&inner, &wanted).await })
    }
}

fn number(number: Option<u64>) -> Option<i64> {
    number.map(signed)
}

async fn conversations(
    inner: &Inner,
    filter: &ConversationFilter,
) -> Result<Vec<Conversation>, FleetError> {
    let id = filter
        .id
        .as_ref()
        .map(|id| stored(id.as_str()).into_owned());
    let workspace = filter
        .workspace
        .as_deref()
        .map(|at| stored(at).into_owned());
    let rows = inner
        .database
        .one(
            "SELECT c.id, c.workspace, c.started_ms, c.last_ms, c.seq, w.pid,
               (SELECT coalesce(sum(length(b.bytes)), 0)::bigint FROM toolgate_bodies b
                WHERE b.tenant = c.tenant AND b.conversation = c.id),
               ARRAY(SELECT s.state || ' ' || count(*) FROM toolgate_calls s
                     WHERE s.tenant = c.tenant AND s.conversation = c.id GROUP BY s.state)
             FROM toolgate_conversations c
             LEFT JOIN toolgate_workers w
               ON w.token = c.holder AND w.alive_until > clock_timestamp()
             WHERE c.tenant = $1 AND ($2::text IS NULL OR c.id = $2)
               AND ($3::text IS NULL OR c.workspace = $3)
               AND ($4::bigint IS NULL OR c.started_ms >= $4)
               AND ($5::bigint IS NULL OR c.started_ms < $5)
             ORDER BY c.started_ms, c.id COLLATE \"C\" LIMIT $6",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&id, Type::TEXT),
                (&workspace, Type::TEXT),
                (&number(filter.from_ms), Type::INT8),
                (&number(filter.until_ms), Type::INT8),
                (&number(filter.most), Type::INT8),
            ],
        )
        .await?;
    rows.iter().map(conversation).collect()
}

fn conversation(row: &Row) -> Result<Conversation, FleetError> {
    let listed: Vec<String> = column(row, 7)?;
    let mut calls = std::collections::BTreeMap::new();
    for state in listed {
        let counted = state
            .split_once(' ')
            .and_then(|(state, count)| Some((State::named(state)?, count.parse().ok()?)));
        let (state, count) = counted.ok_or_else(|| FleetError::Damaged {
            why: format!("calls have the state {state:?}, which does not exist"),
        })?;
        calls.insert(state, count);
    }
    let pid: Option<i64> = column(row, 5)?;
    Ok(Conversation {
        id: restored(column(row, 0)?).into(),
        workspace: column::<Option<&str>>(row, 1)?.map(restored),
        started_ms: count(row, 2)?,
        last_ms: count(row, 3)?,
        entries: count(row, 4)?,
        calls,
        bytes: count(row, 6)?,
        held_by: pid.and_then(|pid| u32::try_from(pid).ok()),
    })
}

async fn entries(inner: &Inner, filter: &Filter) -> Result<Vec<Line>, FleetError> {
    let of = |id: &str| stored(id).into_owned();
    let only = filter.conversation.as_ref().map(|id| of(id.as_str()));
    let after = filter.after.as_ref();
    let rows = inner
        .database
        .one(
            "SELECT e.conversation, e.seq, e.kind, e.call, e.nth, e.at_ms, e.hash, b.bytes,
               e.body_hash
             FROM toolgate_entries e
             LEFT JOIN toolgate_bodies b ON b.tenant = e.tenant
               AND b.conversation = e.conversation AND b.seq = e.seq
             WHERE e.tenant = $1 AND ($2::text IS NULL OR e.conversation = $2)
               AND ($3::text IS NULL OR e.call = $3) AND ($4::text IS NULL OR e.kind = $4)
               AND ($5::bigint IS NULL OR e.at_ms >= $5) AND ($6::bigint IS NULL OR e.at_ms < $6)
               AND ($7::text IS NULL OR e.conversation COLLATE \"C\" > $7
                    OR (e.conversation = $7 AND e.seq > $8))
             ORDER BY e.conversation COLLATE \"C\", e.seq LIMIT $9",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&only, Type::TEXT),
                (&filter.call.as_ref().map(|id| of(id.as_str())), Type::TEXT),
                (&filter.kind, Type::TEXT),
                (&number(filter.from_ms), Type::INT8),
                (&number(filter.until_ms), Type::INT8),
                (&after.map(|(id, _)| of(id.as_str())), Type::TEXT),
                (&after.map(|(_, seq)| signed(*seq)), Type::INT8),
                (&number(filter.most), Type::INT8),
            ],
        )
        .await?;
    rows.iter().map(line).collect()
}

fn line(row: &Row) -> Result<Line, FleetError> {
    let body = match column::<Option<&[u8]>>(row, 7)? {
        None => Body::Pruned,
        Some(bytes) if sha256(bytes) != hash(row, 8)? => {
            Body::Unreadable("it is not what was written".to_owned())
        }
        Some(bytes) => match serde_json::from_slice(bytes) {
            Ok(record) => Body::Kept(record),
            Err(error) => Body::Unreadable(error.to_string()),
        },
    };
    Ok(Line {
        conversation: restored(column(row, 0)?).into(),
        seq: count(row, 1)?,
        kind: column(row, 2)?,
        call: restored(column(row, 3)?).into(),
        nth: count(row, 4)?,
        at_ms: count(row, 5)?,
        hash: hex(&hash(row, 6)?),
        body,
    })
}

async fn image(inner: &Inner, wanted: &str) -> Result<Option<Vec<u8>>, FleetError> {
    let rows = inner
        .database
        .one(
            "SELECT bytes FROM toolgate_images
             WHERE tenant = $1 AND encode(hash, 'hex') = $2 AND hash = decode($3, 'hex')",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&wanted, Type::TEXT),
                (&even_hex(wanted), Type::TEXT),
            ],
        )
        .await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let bytes: Vec<u8> = column(row, 0)?;
    if hex(&sha256(&bytes)) != wanted {
        return Err(FleetError::Damaged {
            why: format!("the image {wanted} is not what was written"),
        });
    }
    Ok(Some(bytes))
}

/// The text if it is one that the database decodes; else that of no bytes.
fn even_hex(text: &str) -> &str {
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { text } else { "" }
}
