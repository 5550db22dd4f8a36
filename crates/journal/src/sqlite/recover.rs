//! After a crash: which calls have no result, and what they were about to do to files.

use futures::future::BoxFuture;
use rusqlite::OptionalExtension;
use toolgate_gate::journal::chain::{Hash, sha256};
use toolgate_gate::journal::{
    Entry, IntendedFile, JournalError, Record, RecoverJournal, State, Unfinished,
};
use toolgate_gate::tool::hex;
use toolgate_model::ConversationId;

use super::SqliteJournal;
use super::lease;
use super::prune::unhex;
use super::sqlite_error::SqliteError;
use super::verify::is_as_written;
use super::work::{About, Work};

impl RecoverJournal for SqliteJournal {
    fn unfinished(
        &self,
        conversation: Option<&ConversationId>,
    ) -> BoxFuture<'_, Result<Vec<Unfinished>, JournalError>> {
        let only = conversation.map(|id| id.as_str().to_owned());
        let found = self.ask(true, move |work| work.unfinished(only.as_deref()));
        Box::pin(async move { Ok(found.await?) })
    }

    fn intent(&self, call: &Unfinished) -> BoxFuture<'_, Result<Vec<IntendedFile>, JournalError>> {
        let call = call.clone();
        let found = self.ask(true, move |work| work.intent(&call));
        Box::pin(async move { Ok(found.await?) })
    }

    fn put(&self, call: &Unfinished, record: Record) -> BoxFuture<'_, Result<(), JournalError>> {
        let nth = About::Nth(call.nth);
        let entry = Entry {
            conversation: call.conversation.clone(),
            call: call.call.clone(),
            at_ms: self.inner.clock.now_ms(),
            record,
        };
        let put = self.ask(true, move |work| work.append(&[entry], nth));
        Box::pin(async move { Ok(put.await?) })
    }
}

impl Work<'_> {
    fn unfinished(&self, only: Option<&str>) -> Result<Vec<Unfinished>, SqliteError> {
        let found = || -> rusqlite::Result<Vec<Unfinished>> {
            let mut find = self.db.prepare_cached(
                "SELECT c.conversation, c.call, c.nth, c.state, c.open_intent,
                   (SELECT min(at_ms) FROM entries e WHERE e.conversation = c.conversation
                     AND e.call = c.call AND e.nth = c.nth),
                   (SELECT b.bytes FROM entries e JOIN bodies b ON b.hash = e.body_hash
                     WHERE e.conversation = c.conversation AND e.call = c.call AND e.nth = c.nth
                       AND e.kind = 'planned' ORDER BY e.seq DESC LIMIT 1),
                   (SELECT workspace FROM conversations WHERE id = c.conversation)
                 FROM call_states c
                 WHERE (c.state <> 'finished' OR c.open_intent <> 0)
                   AND (?1 IS NULL OR c.conversation = ?1)
                 ORDER BY c.conversation, c.batch, c.call, c.nth",
            )?;
            let mut rows = find.query([only])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(state) = State::named(row.get_ref(3)?.as_str()?) else {
                    continue;
                };
                let plan = row.get_ref(6)?.as_blob_or_null()?;
                let tool = plan.and_then(|bytes| match serde_json::from_slice(bytes) {
                    Ok(Record::Planned { plan }) => Some(plan.tool.clone()),
                    _ => None,
                });
                found.push(Unfinished {
                    conversation: row.get::<_, String>(0)?.into(),
                    call: row.get::<_, String>(1)?.into(),
                    nth: row.get(2)?,
                    state,
                    half_changed: row.get(4)?,
                    tool,
                    received_ms: row.get::<_, Option<u64>>(5)?.unwrap_or(0),
                    workspace: row.get(7)?,
                });
            }
            Ok(found)
        };
        let mut found = found().map_err(|error| self.fail(&error))?;
        let mut elsewhere = Vec::new();
        for call in &found {
            let conversation = call.conversation.as_str();
            if lease::held_elsewhere(self.db, self.me, conversation, self.now_ms)
                .map_err(|error| self.fail(&error))?
            {
                elsewhere.push(call.conversation.clone());
            }
        }
        found.retain(|call| !elsewhere.contains(&call.conversation));
        Ok(found)
    }

    /// What a call was about to do to files; its conversation is taken for that.
    fn intent(&mut self, call: &Unfinished) -> Result<Vec<IntendedFile>, SqliteError> {
        self.hold(call.conversation.as_str())?;
        is_as_written(self.db, self.path, call.conversation.as_str())?;
        let body: Option<(Option<Vec<u8>>, Hash)> = self
            .db
            .prepare_cached(
                "SELECT b.bytes, e.body_hash FROM call_states c
                 JOIN entries e ON e.conversation = c.conversation AND e.call = c.call AND e.nth = c.nth
                 LEFT JOIN bodies b ON b.hash = e.body_hash
                 WHERE c.conversation = ?1 AND c.call = ?2 AND c.nth = ?3
                   AND c.open_intent <> 0 AND e.kind = 'intended'
                 ORDER BY e.seq DESC LIMIT 1",
            )
            .and_then(|mut find| {
                let id = (call.conversation.as_str(), call.call.as_str(), call.nth);
                find.query_row(id, |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|error| self.fail(&error))?;
        let bytes = match body {
            Some((Some(bytes), hash)) => Some(self.written(bytes, &hash)?),
            _ => None,
        };
        let read = bytes.map(|bytes| serde_json::from_slice(&bytes));
        match read {
            Some(Ok(Record::Intended { files })) => Ok(files),
            _ => Err(SqliteError::OutOfOrder {
                conversation: call.conversation.to_string(),
                call: call.call.to_string(),
                standing: "without a change of files that is open".to_owned(),
                kind: "recovered",
            }),
        }
    }

    pub(crate) fn image(&self, hash: &str) -> Result<Option<Vec<u8>>, SqliteError> {
        let Some(hash) = unhex(hash) else {
            return Ok(None);
        };
        let found = self
            .db
            .prepare_cached("SELECT bytes FROM images WHERE hash = ?1")
            .and_then(|mut find| find.query_row([hash], |row| row.get(0)).optional())
            .map_err(|error| self.fail(&error))?;
        found.map(|bytes| self.written(bytes, &hash)).transpose()
    }

    /// Bytes that decide what files become, if they are those that were written.
    fn written(&self, bytes: Vec<u8>, hash: &Hash) -> Result<Vec<u8>, SqliteError> {
        if sha256(&bytes) == *hash {
            return Ok(bytes);
        }
        Err(SqliteError::Damaged {
            path: self.path.to_owned(),
            why: format!("the content {} is not what was written", hex(hash)),
        })
    }
}
