//! What a worker knows of a conversation that it holds, so that a batch is one statement.
//!
//! It is a copy of rows that nobody else may write while the epoch stands. After an error whose
//! outcome nobody knows it is thrown away and read again.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use toolgate_gate::journal::calls::Call;
use toolgate_gate::journal::chain::Hash;
use toolgate_gate::journal::states::{Standing, State};

use crate::database::{column, count};
use crate::error::FleetError;
use crate::journal::Inner;
use crate::text::{restored, stored};

/// More ids of calls than this are not kept: they are read again when they are needed.
const MOST_IDS: usize = 512;

/// A conversation as this worker knows it.
#[derive(Debug, Default)]
pub(crate) enum Slot {
    /// This worker does not hold it.
    #[default]
    Free,
    /// This worker holds it.
    Held(Hand),
    /// This worker held it and was too late. It has to be opened anew.
    Lost,
}

/// The end of a conversation that this worker holds.
#[derive(Debug)]
pub(crate) struct Hand {
    /// The fencing token.
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
    /// All calls of the ids that were needed.
    pub(crate) calls: HashMap<String, Vec<Call>>,
    /// Whether an answer was lost since: then the rows are read before anything is written.
    pub(crate) unsure: bool,
}

impl Hand {
    pub(crate) fn new(epoch: u64, seq: u64, hash: Hash) -> Self {
        Self {
            epoch,
            seq,
            hash,
            calls: HashMap::new(),
            unsure: false,
        }
    }

    /// Takes what a statement moved.
    pub(crate) fn moved(&mut self, seq: u64, hash: Hash, calls: HashMap<String, Vec<Call>>) {
        self.seq = seq;
        self.hash = hash;
        if self.calls.len() + calls.len() > MOST_IDS {
            self.calls.clear();
        }
        self.calls.extend(calls);
    }

    /// Makes sure that the calls of these ids are known.
    pub(crate) async fn know(
        &mut self,
        inner: &Inner,
        conversation: &str,
        ids: &[&str],
    ) -> Result<(), FleetError> {
        let unknown = ids.iter().filter(|id| !self.calls.contains_key(**id));
        let unknown: Vec<String> = unknown.map(|id| stored(id).into_owned()).collect();
        if unknown.is_empty() || self.seq == 0 {
            return Ok(());
        }
        let of = stored(conversation);
        let rows = inner
            .database
            .one(
                "SELECT call, nth, state, batch, open_intent FROM toolgate_calls
                 WHERE tenant = $1 AND conversation = $2 AND call = ANY($3) ORDER BY call, nth",
                &[
                    (&inner.options.tenant, Type::TEXT),
                    (&of.as_ref(), Type::TEXT),
                    (&unknown, Type::TEXT_ARRAY),
                ],
            )
            .await
            .map_err(not_sent)?;
        for id in unknown {
            self.calls.entry(restored(&id)).or_default();
        }
        for row in &rows {
            let id: &str = column(row, 0)?;
            self.calls
                .entry(restored(id))
                .or_default()
                .push(call(row, 1)?);
        }
        Ok(())
    }

    /// Reads the end of the conversation again, if this worker still holds it.
    pub(crate) async fn look_again(
        &mut self,
        inner: &Inner,
        conversation: &str,
    ) -> Result<bool, FleetError> {
        let of = stored(conversation);
        let epoch = crate::database::signed(self.epoch);
        let rows = inner
            .database
            .one(
                "SELECT seq, hash FROM toolgate_conversations
                 WHERE tenant = $1 AND id = $2 AND epoch = $3 AND holder = $4",
                &[
                    (&inner.options.tenant, Type::TEXT),
                    (&of.as_ref(), Type::TEXT),
                    (&epoch, Type::INT8),
                    (&inner.worker.token, Type::TEXT),
                ],
            )
            .await
            .map_err(not_sent)?;
        let Some(row) = rows.first() else {
            return Ok(false);
        };
        *self = Self::new(self.epoch, count(row, 0)?, crate::database::hash(row, 1)?);
        Ok(true)
    }
}

/// Nothing was to be written yet, so nothing is unknown.
pub(crate) fn not_sent(error: FleetError) -> FleetError {
    match error {
        FleetError::Lost { why } => FleetError::Unreachable { why },
        other => other,
    }
}

/// Reads `nth, state, batch, open_intent`.
pub(crate) fn call(row: &tokio_postgres::Row, at: usize) -> Result<Call, FleetError> {
    let state: &str = column(row, at + 1)?;
    let state = State::named(state).ok_or_else(|| FleetError::Damaged {
        why: format!("a call has the state {state:?}, which does not exist"),
    })?;
    Ok(Call {
        standing: Standing {
            nth: count(row, at)?,
            state,
            open_intent: column(row, at + 3)?,
        },
        batch: count(row, at + 2)?,
    })
}
