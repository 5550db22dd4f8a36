//! Entries at the end of a conversation, as one statement.
//!
//! ```text
//! entries ──▶ may they follow? ──▶ chain ──▶ UPDATE … WHERE epoch and seq are as known
//!                                              └─▶ entries, bodies, calls, key, images: only if that found its row
//! ```
//!
//! Nothing found means that the conversation is another worker's by now: nothing was written.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use toolgate_gate::journal::calls::{About, Call, advance};
use toolgate_gate::journal::chain::{Hash, Link, NOTHING, sha256};
use toolgate_gate::journal::{Batch, BatchKey, Entry, Image};
use toolgate_model::ConversationId;

use crate::database::{column, count, signed};
use crate::error::FleetError;
use crate::hand::{Hand, Slot, not_sent};
use crate::journal::Inner;
use crate::lease;
use crate::text::stored;

/// Entries of one conversation that are to be written.
pub(crate) struct Offer<'a> {
    pub(crate) entries: &'a [Entry],
    pub(crate) about: About,
    pub(crate) key: Option<&'a BatchKey>,
    pub(crate) images: &'a [Image],
}

/// The rows of an offer, by column, and where the conversation is then.
#[derive(Default)]
struct Rows {
    seqs: Vec<i64>,
    kinds: Vec<&'static str>,
    calls: Vec<String>,
    nths: Vec<i64>,
    times: Vec<i64>,
    body_hashes: Vec<Vec<u8>>,
    before: Vec<Vec<u8>>,
    hashes: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
    moved: HashMap<String, Vec<Call>>,
    /// The calls of those that changed.
    changed: Vec<(String, Call)>,
    last: (u64, Hash),
    last_ms: i64,
}

/// Writes a batch, or finds that it is on record. Returns the number of its first entry.
pub(crate) async fn batch(inner: &Inner, batch: &Batch) -> Result<u64, FleetError> {
    let offer = Offer {
        entries: batch.entries(),
        about: About::Meant,
        key: Some(batch.key()),
        images: &[],
    };
    let conversation = batch.conversation();
    let place = inner.slot(&conversation);
    let mut slot = place.lock().await;
    let was_free = matches!(*slot, Slot::Free);
    let done = once(inner, &conversation, &mut slot, batch, &offer).await;
    refused_takes_nothing(inner, &conversation, &mut slot, was_free, done).await
}

async fn once(
    inner: &Inner,
    conversation: &ConversationId,
    slot: &mut Slot,
    batch: &Batch,
    offer: &Offer<'_>,
) -> Result<u64, FleetError> {
    // Whoever lost the conversation is not told what is in it.
    if batch.is_offered_again()
        && lease::claim(inner, conversation, slot).await?
        && let Some(first) = on_record(inner, batch).await?
    {
        return Ok(first);
    }
    at_the_end(inner, conversation, slot, offer).await
}

/// Writes entries. Returns the number of the first one.
pub(crate) async fn write(inner: &Inner, offer: &Offer<'_>) -> Result<u64, FleetError> {
    let Some(first) = offer.entries.first() else {
        let why = "no entries".to_owned();
        return Err(FleetError::Unwritable { why });
    };
    let conversation = &first.conversation;
    let place = inner.slot(conversation);
    let mut slot = place.lock().await;
    let was_free = matches!(*slot, Slot::Free);
    let done = at_the_end(inner, conversation, &mut slot, offer).await;
    refused_takes_nothing(inner, conversation, &mut slot, was_free, done).await
}

/// Gives back a conversation that was taken for an offer that can never be written.
async fn refused_takes_nothing(
    inner: &Inner,
    conversation: &ConversationId,
    slot: &mut Slot,
    was_free: bool,
    done: Result<u64, FleetError>,
) -> Result<u64, FleetError> {
    let refused = matches!(
        done,
        Err(FleetError::OutOfOrder { .. }
            | FleetError::OtherEntries { .. }
            | FleetError::Unwritable { .. })
    );
    if was_free && refused {
        // Where this fails the lease runs out; the refusal is what matters.
        let _ = lease::give_back(inner, conversation, slot).await;
    }
    done
}

/// Writes entries at the end of a conversation, which is taken for that.
async fn at_the_end(
    inner: &Inner,
    conversation: &ConversationId,
    slot: &mut Slot,
    offer: &Offer<'_>,
) -> Result<u64, FleetError> {
    if lease::claim(inner, conversation, slot).await? {
        return extend(inner, slot, offer).await;
    }
    // Nothing is made before it is known that the entries can stand at the beginning.
    let mut new = Hand::new(1, 0, NOTHING);
    let rows = rows(&new, offer)?;
    if send(inner, &new, offer, &rows, BEGINNING).await? {
        new.moved(rows.last.0, rows.last.1, rows.moved);
        *slot = Slot::Held(new);
        return Ok(1);
    }
    // Another worker began it at this moment.
    if lease::claim(inner, conversation, slot).await? {
        return extend(inner, slot, offer).await;
    }
    Err(FleetError::Fenced {
        conversation: conversation.to_string(),
    })
}

/// Writes entries to a conversation that this worker holds.
async fn extend(inner: &Inner, slot: &mut Slot, offer: &Offer<'_>) -> Result<u64, FleetError> {
    let Some(first) = offer.entries.first() else {
        return Ok(0);
    };
    let conversation = first.conversation.as_str();
    let fenced = || FleetError::Fenced {
        conversation: conversation.to_owned(),
    };
    let Slot::Held(hand) = slot else {
        return Err(fenced());
    };
    let ids: Vec<&str> = offer
        .entries
        .iter()
        .map(|entry| entry.call.as_str())
        .collect();
    hand.know(inner, conversation, &ids).await?;
    let rows = rows(hand, offer)?;
    match send(inner, hand, offer, &rows, FURTHER).await {
        Ok(true) => {
            let first = hand.seq + 1;
            hand.moved(rows.last.0, rows.last.1, rows.moved);
            Ok(first)
        }
        Ok(false) => {
            *slot = Slot::Lost;
            Err(fenced())
        }
        Err(error) => {
            hand.unsure = true;
            Err(error)
        }
    }
}

/// What the entries are as rows, if they can follow.
fn rows(hand: &Hand, offer: &Offer<'_>) -> Result<Rows, FleetError> {
    let mut rows = Rows {
        last: (hand.seq, hand.hash),
        ..Rows::default()
    };
    let batch = hand.seq + 1;
    for entry in offer.entries {
        let id = entry.call.as_str();
        let known = rows.moved.entry(id.to_owned());
        let known = known.or_insert_with(|| hand.calls.get(id).cloned().unwrap_or_default());
        let nth = advance(known, entry, offer.about, batch).map_err(|misplaced| {
            FleetError::OutOfOrder {
                conversation: entry.conversation.to_string(),
                call: id.to_owned(),
                standing: misplaced.standing.to_owned(),
                kind: entry.record.kind(),
            }
        })?;
        if let Some(call) = known.iter().find(|call| call.standing.nth == nth) {
            rows.changed
                .retain(|(of, was)| of != id || was.standing.nth != nth);
            rows.changed.push((id.to_owned(), *call));
        }
        rows.push(entry, nth)?;
    }
    rows.moved.remove("");
    Ok(rows)
}

impl Rows {
    fn push(&mut self, entry: &Entry, nth: u64) -> Result<(), FleetError> {
        let body = serde_json::to_vec(&entry.record).map_err(|error| FleetError::Unwritable {
            why: error.to_string(),
        })?;
        let body_hash = sha256(&body);
        let (seq, before) = (self.last.0 + 1, self.last.1);
        let hash = Link {
            conversation: entry.conversation.as_str(),
            seq,
            kind: entry.record.kind(),
            call: entry.call.as_str(),
            nth,
            at_ms: entry.at_ms,
            body_hash: &body_hash,
        }
        .hash(&before);
        self.seqs.push(signed(seq));
        self.kinds.push(entry.record.kind());
        self.calls.push(stored(entry.call.as_str()).into_owned());
        self.nths.push(signed(nth));
        self.times.push(signed(entry.at_ms));
        self.body_hashes.push(body_hash.to_vec());
        self.before.push(before.to_vec());
        self.hashes.push(hash.to_vec());
        self.bodies.push(body);
        self.last = (seq, hash);
        self.last_ms = self.last_ms.max(signed(entry.at_ms));
        Ok(())
    }
}

/// The conversation goes on, if it is still this worker's and ends where it is known to end.
const FURTHER: &str = "
    UPDATE toolgate_conversations SET seq = $7, hash = $8, last_ms = greatest(last_ms, $9)
    WHERE tenant = $1 AND id = $2 AND epoch = $3 AND holder = $4 AND seq = $5 AND $6 >= 0
      AND EXISTS (SELECT FROM toolgate_workers
                  WHERE token = $4 AND alive_until > clock_timestamp())
    RETURNING 1";

/// The conversation begins, if there is none.
const BEGINNING: &str = "
    INSERT INTO toolgate_conversations(tenant, id, started_ms, seq, hash, last_ms, epoch, holder)
    SELECT $1, $2, $6, $7, $8, $9, $3, $4
    WHERE $5 = 0 AND EXISTS (SELECT FROM toolgate_workers
                             WHERE token = $4 AND alive_until > clock_timestamp())
    ON CONFLICT DO NOTHING RETURNING 1";

const PARTS: &str = ",
  entries AS (
    INSERT INTO toolgate_entries(tenant, conversation, seq, kind, call, nth, at_ms, body_hash,
                                 prev_hash, hash)
    SELECT $1, $2, part.* FROM head, unnest($10::bigint[], $11::text[], $12::text[],
      $13::bigint[], $14::bigint[], $15::bytea[], $16::bytea[], $17::bytea[]) AS part),
  bodies AS (
    INSERT INTO toolgate_bodies(tenant, conversation, seq, at_ms, bytes)
    SELECT $1, $2, part.* FROM head,
      unnest($10::bigint[], $14::bigint[], $18::bytea[]) AS part),
  calls AS (
    INSERT INTO toolgate_calls(tenant, conversation, call, nth, state, batch, open_intent)
    SELECT $1, $2, part.* FROM head, unnest($19::text[], $20::bigint[], $21::text[],
      $22::bigint[], $23::boolean[]) AS part
    ON CONFLICT (tenant, conversation, call, nth)
    DO UPDATE SET state = excluded.state, open_intent = excluded.open_intent),
  batches AS (
    INSERT INTO toolgate_batches(tenant, conversation, key, seq)
    SELECT $1, $2, $24, $5 + 1 FROM head WHERE $24 IS NOT NULL),
  images AS (
    INSERT INTO toolgate_images(tenant, hash, bytes, last_ms)
    SELECT $1, part.hash, part.bytes, $9
    FROM head, unnest($25::bytea[], $26::bytea[]) AS part(hash, bytes)
    ON CONFLICT (tenant, hash) DO UPDATE
    SET last_ms = greatest(toolgate_images.last_ms, excluded.last_ms))
SELECT count(*) FROM head";

/// Sends the statement. False if the conversation was not found as it is known.
async fn send(
    inner: &Inner,
    hand: &Hand,
    offer: &Offer<'_>,
    rows: &Rows,
    head: &str,
) -> Result<bool, FleetError> {
    let Some(first) = offer.entries.first() else {
        return Ok(true);
    };
    let statement = format!("WITH head AS ({head}){PARTS}");
    let conversation = stored(first.conversation.as_str());
    let changed = |of: fn(&Call) -> i64| -> Vec<i64> {
        rows.changed.iter().map(|(_, call)| of(call)).collect()
    };
    let ids: Vec<&str> = rows.changed.iter().map(|(id, _)| id.as_str()).collect();
    let ids: Vec<_> = ids.into_iter().map(stored).collect();
    let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
    let nths = changed(|call| signed(call.standing.nth));
    let batches = changed(|call| signed(call.batch));
    let states = rows
        .changed
        .iter()
        .map(|(_, call)| call.standing.state.as_str());
    let states: Vec<&str> = states.collect();
    let open = rows
        .changed
        .iter()
        .map(|(_, call)| call.standing.open_intent);
    let open: Vec<bool> = open.collect();
    let (image_hashes, images) = image_rows(offer.images)?;
    let rows = inner
        .database
        .one(
            &statement,
            &[
                (&inner.options.tenant, Type::TEXT),
                (&conversation.as_ref(), Type::TEXT),
                (&signed(hand.epoch), Type::INT8),
                (&inner.worker.token, Type::TEXT),
                (&signed(hand.seq), Type::INT8),
                (&signed(first.at_ms), Type::INT8),
                (&signed(rows.last.0), Type::INT8),
                (&rows.last.1.as_slice(), Type::BYTEA),
                (&rows.last_ms, Type::INT8),
                (&rows.seqs, Type::INT8_ARRAY),
                (&rows.kinds, Type::TEXT_ARRAY),
                (&rows.calls, Type::TEXT_ARRAY),
                (&rows.nths, Type::INT8_ARRAY),
                (&rows.times, Type::INT8_ARRAY),
                (&rows.body_hashes, Type::BYTEA_ARRAY),
                (&rows.before, Type::BYTEA_ARRAY),
                (&rows.hashes, Type::BYTEA_ARRAY),
                (&rows.bodies, Type::BYTEA_ARRAY),
                (&ids, Type::TEXT_ARRAY),
                (&nths, Type::INT8_ARRAY),
                (&states, Type::TEXT_ARRAY),
                (&batches, Type::INT8_ARRAY),
                (&open, Type::BOOL_ARRAY),
                (
                    &offer.key.map(|key| stored(key.as_str())).as_deref(),
                    Type::TEXT,
                ),
                (&image_hashes, Type::BYTEA_ARRAY),
                (&images, Type::BYTEA_ARRAY),
            ],
        )
        .await?;
    let found = rows.first().map(|row| column::<i64>(row, 0)).transpose()?;
    Ok(found == Some(1))
}

/// Images by the hash of what they hold, each once and in one order for all workers.
#[allow(clippy::type_complexity)]
fn image_rows(images: &[Image]) -> Result<(Vec<Vec<u8>>, Vec<&[u8]>), FleetError> {
    let mut rows: Vec<(Vec<u8>, &[u8])> = Vec::with_capacity(images.len());
    for image in images {
        let hash = sha256(&image.bytes);
        if toolgate_gate::tool::hex(&hash) != image.sha256 {
            return Err(FleetError::Unwritable {
                why: format!("the image {} holds something else", image.sha256),
            });
        }
        rows.push((hash.to_vec(), image.bytes.as_slice()));
    }
    rows.sort();
    rows.dedup();
    Ok(rows.into_iter().unzip())
}

/// Whether the batch is on record: the number of its first entry. Another one of its key is an
/// error.
async fn on_record(inner: &Inner, batch: &Batch) -> Result<Option<u64>, FleetError> {
    let conversation = batch.conversation();
    let of = stored(conversation.as_str());
    let most = i64::try_from(batch.entries().len()).unwrap_or(i64::MAX);
    let rows = inner
        .database
        .one(
            "SELECT b.seq, e.kind, e.call, e.at_ms, e.body_hash FROM toolgate_batches b
             JOIN toolgate_entries e ON e.tenant = b.tenant AND e.conversation = b.conversation
               AND e.seq >= b.seq AND e.seq < b.seq + $4
             WHERE b.tenant = $1 AND b.conversation = $2 AND b.key = $3 ORDER BY e.seq",
            &[
                (&inner.options.tenant, Type::TEXT),
                (&of.as_ref(), Type::TEXT),
                (&stored(batch.key().as_str()).as_ref(), Type::TEXT),
                (&most, Type::INT8),
            ],
        )
        .await
        .map_err(not_sent)?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let first = count(row, 0)?;
    let same = rows.len() == batch.entries().len();
    let mut pairs = rows.iter().zip(batch.entries());
    let is_same = |(row, entry): (&tokio_postgres::Row, &Entry)| -> Result<bool, FleetError> {
        let body = serde_json::to_vec(&entry.record).map_err(|error| FleetError::Unwritable {
            why: error.to_string(),
        })?;
        Ok(column::<&str>(row, 1)? == entry.record.kind()
            && column::<&str>(row, 2)? == stored(entry.call.as_str())
            && count(row, 3)? == entry.at_ms
            && crate::database::hash(row, 4)? == sha256(&body))
    };
    if same && pairs.try_fold(true, |all, pair| Ok::<_, FleetError>(all && is_same(pair)?))? {
        return Ok(Some(first));
    }
    Err(FleetError::OtherEntries {
        conversation: conversation.to_string(),
        key: batch.key().to_string(),
    })
}
