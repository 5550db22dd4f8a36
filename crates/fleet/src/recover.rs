//! After a crash: which calls have no result, and what they were about to do to files.

use futures::future::BoxFuture;
use tokio_postgres::types::Type;
use toolgate_gate::journal::calls::About;
use toolgate_gate::journal::chain::sha256;
use toolgate_gate::journal::{
    Entry, IntendedFile, JournalError, Record, RecoverJournal, Unfinished,
};
use toolgate_model::ConversationId;

use crate::append::{self, Offer};
use crate::database::{column, hash, signed};
use crate::error::FleetError;
use crate::hand;
use crate::journal::{Inner, PostgresJournal};
use crate::lease;
use crate::text::{restored, stored};

impl RecoverJournal for PostgresJournal {
    fn unfinished(
        &self,
        conversation: Option<&ConversationId>,
    ) -> BoxFuture<'_, Result<Vec<Unfinished>, JournalError>> {
        let only = conversation.map(|id| stored(id.as_str()).into_owned());
        self.look(|inner| async move { unfinished(&inner, only.as_deref()).await })
    }

    fn intent(&self, call: &Unfinished) -> BoxFuture<'_, Result<Vec<IntendedFile>, JournalError>> {
        let call = call.clone();
        self.write(|inner| async move { intent(&inner, &call).await })
    }

    fn put(&self, call: &Unfinished, record: Record) -> BoxFuture<'_, Result<(), JournalError>> {
        let entry = Entry {
            conversation: call.conversation.clone(),
            call: call.call.clone(),
            at_ms: self.inner.options.clock.now_ms(),
            record,
        };
        let about = About::Nth(call.nth);
        self.write(move |inner| async move {
            let offer = Offer {
                entries: &[entry],
                about,
                key: None,
                images: &[],
            };
            append::write(&inner, &offer).await.map(drop)
        })
    }
}

async fn unfinished(inner: &Inner, only: Option<&str>) -> Result<Vec<Unfinished>, FleetError> {
    let rows = inner
        .database
        .one(
            "SELECT s.conversation, s.call, s.nth, s.state, s.batch, s.open_intent,
               (SELECT min(e.at_ms) FROM toolgate_entries e WHERE e.tenant = s.tenant
                  AND e.conversation = s.conversation AND e.call = s.call AND e.nth = s.nth),
               (SELECT b.bytes FROM toolgate_entries e JOIN toolgate_bodies b
                  ON b.tenant = e.tenant AND b.conversation = e.conversation AND b.seq = e.seq
                WHERE e.tenant = s.tenant AND e.conversation = s.conversation
                  AND e.call = s.call AND e.nth = s.nth AND e.kind = 'planned'
                ORDER BY e.seq DESC LIMIT 1),
               c.workspace
             FROM toolgate_calls s
             JOIN toolgate_conversations c ON c.tenant = s.tenant AND c.id = s.conversation
             WHERE s.tenant = $1 AND (s.state <> 'finished' OR s.open_intent)
               AND ($2::text IS NULL OR s.conversation = $2)
               AND (c.holder IS NULL OR c.holder = $3 OR NOT EXISTS (
                 SELECT FROM toolgate_workers w
                 WHERE w.token = c.holder AND w.alive_until > clock_timestamp()))
             ORDER BY s.conversation COLLATE \"C\", s.batch, s.call COLLATE \"C\", s.nth",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&only, Type::TEXT),
                (&inner.worker.token, Type::TEXT),
            ],
        )
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let call = hand::call(row, 2)?;
        let plan: Option<&[u8]> = column(row, 7)?;
        let tool = plan.and_then(|bytes| match serde_json::from_slice(bytes) {
            Ok(Record::Planned { plan }) => Some(plan.tool.clone()),
            _ => None,
        });
        let received: Option<i64> = column(row, 6)?;
        found.push(Unfinished {
            conversation: restored(column(row, 0)?).into(),
            call: restored(column(row, 1)?).into(),
            nth: call.standing.nth,
            state: call.standing.state,
            half_changed: call.standing.open_intent,
            tool,
            received_ms: received.and_then(|at| u64::try_from(at).ok()).unwrap_or(0),
            workspace: column::<Option<&str>>(row, 8)?.map(restored),
        });
    }
    Ok(found)
}

/// What a call was about to do to files; its conversation is taken for that, and checked.
async fn intent(inner: &Inner, call: &Unfinished) -> Result<Vec<IntendedFile>, FleetError> {
    {
        let slot = inner.slot(&call.conversation);
        let mut slot = slot.lock().await;
        lease::claim(inner, &call.conversation, &mut slot).await?;
    }
    crate::verify::is_as_written(inner, &call.conversation).await?;
    let rows = inner
        .database
        .one(
            "SELECT b.bytes, e.body_hash FROM toolgate_calls s
             JOIN toolgate_entries e ON e.tenant = s.tenant AND e.conversation = s.conversation
               AND e.call = s.call AND e.nth = s.nth AND e.kind = 'intended'
             JOIN toolgate_bodies b ON b.tenant = e.tenant AND b.conversation = e.conversation
               AND b.seq = e.seq
             WHERE s.tenant = $1 AND s.conversation = $2 AND s.call = $3 AND s.nth = $4
               AND s.open_intent
             ORDER BY e.seq DESC LIMIT 1",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&stored(call.conversation.as_str()).as_ref(), Type::TEXT),
                (&stored(call.call.as_str()).as_ref(), Type::TEXT),
                (&signed(call.nth), Type::INT8),
            ],
        )
        .await?;
    let mut files = None;
    if let Some(row) = rows.first() {
        let bytes: &[u8] = column(row, 0)?;
        if sha256(bytes) != hash(row, 1)? {
            return Err(FleetError::Damaged {
                why: format!("the intent of call {} is not what was written", call.call),
            });
        }
        if let Ok(Record::Intended { files: intended }) = serde_json::from_slice(bytes) {
            files = Some(intended);
        }
    }
    files.ok_or_else(|| FleetError::OutOfOrder {
        conversation: call.conversation.to_string(),
        call: call.call.to_string(),
        standing: "without a change of files that is open".to_owned(),
        kind: "recovered",
    })
}
