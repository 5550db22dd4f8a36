//! Whether the record is what was written.
//!
//! Everything is read in one snapshot, a page at a time: entries with what they say, then calls,
//! images and anchors.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::future::BoxFuture;
use serde::Deserialize;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use toolgate_gate::journal::chain::{Anchor, AnchorLink, Hash, Head, Link, NOTHING, sha256};
use toolgate_gate::journal::{
    JournalError, JournalErrorKind, Problem, State, Verified, VerifyJournal, states,
};
use toolgate_gate::tool::hex;
use toolgate_model::ConversationId;

use crate::database::{Transaction, column, count, hash, signed};
use crate::error::FleetError;
use crate::journal::{Inner, PostgresJournal};
use crate::text::{restored, stored};

/// So many rows are read at once.
const PAGE: i64 = 1_000;

impl VerifyJournal for PostgresJournal {
    fn verify(&self, against: Option<Anchor>) -> BoxFuture<'_, Result<Verified, JournalError>> {
        self.look(|inner| async move {
            // So that everything this worker wrote is in an anchor. Elsewhere it may fail.
            let _ = crate::anchors::add(&inner).await;
            check(&inner, None, against).await
        })
    }

    fn verify_conversation(
        &self,
        conversation: &ConversationId,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.clone();
        let checked = self.ask(|inner| async move { is_as_written(&inner, &conversation).await });
        Box::pin(async move {
            checked.await.map_err(|error| {
                let error = error.into_reading();
                match error.kind {
                    JournalErrorKind::Damaged => JournalError::new(
                        JournalErrorKind::Damaged,
                        format!("{}; no file was changed because of it", error.message),
                    ),
                    _ => error,
                }
            })
        })
    }
}

/// Refuses a conversation whose entries are not what was written.
pub(crate) async fn is_as_written(
    inner: &Inner,
    conversation: &ConversationId,
) -> Result<(), FleetError> {
    let verified = check(inner, Some(conversation.as_str()), None).await?;
    match verified.problems.first() {
        None => Ok(()),
        Some(problem) => Err(FleetError::Damaged {
            why: problem.to_string(),
        }),
    }
}

async fn check(
    inner: &Inner,
    only: Option<&str>,
    against: Option<Anchor>,
) -> Result<Verified, FleetError> {
    let only = only.map(|id| stored(id).into_owned());
    let snapshot = inner.database.snapshot().await?;
    let mut check = Check {
        on: &snapshot,
        tenant: &inner.options.tenant,
        only: only.as_deref(),
        against,
        verified: Verified::default(),
        pruned_before: 0,
        anchored: HashMap::new(),
    };
    let done = check.whole().await;
    let verified = std::mem::take(&mut check.verified);
    snapshot.end(done.map(|()| verified)).await
}

struct Check<'a> {
    on: &'a Transaction<'a>,
    tenant: &'a str,
    only: Option<&'a str>,
    against: Option<Anchor>,
    verified: Verified,
    /// What was mentioned last before this may be gone.
    pruned_before: u64,
    /// What anchors say of entries: the hash, and the number of the anchor.
    anchored: HashMap<String, BTreeMap<u64, (String, u64)>>,
}

/// What an anchor states besides the heads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    pruned: Vec<PruneNote>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PruneNote {
    pruned_before_ms: u64,
    #[serde(rename = "bodies")]
    _bodies: u64,
    #[serde(rename = "images")]
    _images: u64,
}

/// One conversation while its entries go by.
struct Walk {
    id: String,
    seq: u64,
    hash: Hash,
    calls: BTreeMap<(String, u64), Option<State>>,
    batches: BTreeSet<u64>,
}

impl Check<'_> {
    async fn whole(&mut self) -> Result<(), FleetError> {
        self.anchors().await?;
        self.conversations().await?;
        if self.only.is_none() {
            self.images().await?;
        }
        Ok(())
    }

    async fn anchors(&mut self) -> Result<(), FleetError> {
        let (mut last, mut before) = (0_u64, NOTHING);
        let mut found = self.against.is_none();
        loop {
            let rows = self
                .on
                .query(
                    "SELECT number, at_ms, heads, note, prev_hash, hash FROM toolgate_anchors
                 WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&signed(last), Type::INT8),
                        (&PAGE, Type::INT8),
                    ],
                )
                .await?;
            for row in &rows {
                let (number, is) = (count(row, 0)?, hash(row, 5)?);
                if number != last + 1 {
                    self.verified.found(Problem::AnchorGap { number });
                }
                let heads = restored(column(row, 2)?);
                let note: Option<&str> = column(row, 3)?;
                let link = AnchorLink {
                    number,
                    at_ms: count(row, 1)?,
                    heads: &heads,
                    note,
                };
                if hash(row, 4)? != before || link.hash(&before) != is {
                    self.verified.found(Problem::AnchorChanged { number });
                }
                self.states(number, &heads, note);
                let anchor = Anchor::new(number, &is);
                found |= self.against.as_ref() == Some(&anchor);
                self.verified.anchor = Some(anchor);
                self.verified.commits += 1;
                (last, before) = (number, is);
            }
            if rows.is_empty() {
                break;
            }
        }
        if let (false, Some(kept)) = (found, &self.against) {
            let number = kept.number;
            self.verified.found(Problem::NotThatRecord { number });
        }
        Ok(())
    }

    /// Takes in what an anchor states.
    fn states(&mut self, number: u64, heads: &str, note: Option<&str>) {
        let read: Result<Vec<Head>, _> = serde_json::from_str(heads);
        let noted = note.map(serde_json::from_str::<Note>).transpose();
        let (Ok(heads), Ok(noted)) = (read, noted) else {
            self.verified.found(Problem::AnchorChanged { number });
            return;
        };
        for Head(id, seq, hash) in heads {
            let anchored = self.anchored.entry(id).or_default();
            anchored.insert(seq, (hash, number));
        }
        for prune in noted.into_iter().flat_map(|note| note.pruned) {
            self.pruned_before = self.pruned_before.max(prune.pruned_before_ms);
        }
    }

    async fn conversations(&mut self) -> Result<(), FleetError> {
        let mut after = String::new();
        loop {
            let rows = self
                .on
                .query(
                    "SELECT id, seq, hash FROM toolgate_conversations
                 WHERE tenant = $1 AND ($2::text IS NULL OR id = $2) AND id COLLATE \"C\" > $3
                 ORDER BY id COLLATE \"C\" LIMIT $4",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&self.only, Type::TEXT),
                        (&after, Type::TEXT),
                        (&PAGE, Type::INT8),
                    ],
                )
                .await?;
            for row in &rows {
                after = column(row, 0)?;
                self.conversation(&after, count(row, 1)?, hash(row, 2)?)
                    .await?;
            }
            if rows.is_empty() {
                break;
            }
        }
        // What anchors name and no list shows.
        for (conversation, heads) in std::mem::take(&mut self.anchored) {
            if self.only.is_some_and(|only| only != stored(&conversation)) {
                continue;
            }
            for (seq, (_, number)) in heads {
                self.verified.found(Problem::HeadGone {
                    number,
                    conversation: conversation.clone(),
                    seq,
                });
            }
        }
        if self.only.is_none() {
            self.unlisted().await?;
        }
        Ok(())
    }

    async fn unlisted(&mut self) -> Result<(), FleetError> {
        let rows = self
            .on
            .query(
                "SELECT DISTINCT conversation FROM toolgate_entries e
             WHERE tenant = $1 AND NOT EXISTS (SELECT FROM toolgate_conversations c
               WHERE c.tenant = e.tenant AND c.id = e.conversation) LIMIT $2",
                &[(&self.tenant, Type::TEXT), (&PAGE, Type::INT8)],
            )
            .await?;
        for row in &rows {
            let conversation = restored(column(row, 0)?);
            self.verified.found(Problem::NotListed { conversation });
        }
        Ok(())
    }

    async fn conversation(&mut self, of: &str, seq: u64, end: Hash) -> Result<(), FleetError> {
        self.verified.conversations += 1;
        let mut walk = Walk {
            id: restored(of),
            seq: 0,
            hash: NOTHING,
            calls: BTreeMap::new(),
            batches: BTreeSet::new(),
        };
        let mut anchored = self.anchored.remove(&walk.id).unwrap_or_default();
        loop {
            let rows = self.on.query(
                "SELECT e.seq, e.kind, e.call, e.nth, e.at_ms, e.body_hash, e.prev_hash, e.hash,
                   b.bytes
                 FROM toolgate_entries e LEFT JOIN toolgate_bodies b ON b.tenant = e.tenant
                   AND b.conversation = e.conversation AND b.seq = e.seq
                 WHERE e.tenant = $1 AND e.conversation = $2 AND e.seq > $3
                 ORDER BY e.seq LIMIT $4",
                &[
                    (&self.tenant, Type::TEXT),
                    (&of, Type::TEXT),
                    (&signed(walk.seq), Type::INT8),
                    (&PAGE, Type::INT8),
                ],
            )
            .await?;
            for row in &rows {
                self.entry(&mut walk, row)?;
                if let Some((hash, number)) = anchored.remove(&walk.seq)
                    && hash != hex(&walk.hash)
                {
                    self.verified.found(Problem::HeadGone {
                        number,
                        conversation: walk.id.clone(),
                        seq: walk.seq,
                    });
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        for (seq, (_, number)) in anchored {
            self.verified.found(Problem::HeadGone {
                number,
                conversation: walk.id.clone(),
                seq,
            });
        }
        if (walk.seq, walk.hash) != (seq, end) {
            self.verified.found(Problem::NotAnchored {
                conversation: walk.id.clone(),
                seq: walk.seq,
            });
        }
        self.calls(of, &walk).await
    }

    fn entry(&mut self, walk: &mut Walk, row: &Row) -> Result<(), FleetError> {
        self.verified.entries += 1;
        let (seq, kind): (u64, &str) = (count(row, 0)?, column(row, 1)?);
        let (call, nth, at_ms) = (restored(column(row, 2)?), count(row, 3)?, count(row, 4)?);
        let (body_hash, is) = (hash(row, 5)?, hash(row, 7)?);
        let conversation = || walk.id.clone();
        let link = Link {
            conversation: &walk.id,
            seq,
            kind,
            call: &call,
            nth,
            at_ms,
            body_hash: &body_hash,
        };
        let before = hash(row, 6)?;
        let mut problems = Vec::new();
        if seq != walk.seq + 1 {
            problems.push(Problem::Gap {
                conversation: conversation(),
                seq,
            });
        } else if before != walk.hash {
            problems.push(Problem::Unlinked {
                conversation: conversation(),
                seq,
            });
        }
        if link.hash(&before) != is {
            problems.push(Problem::Changed {
                conversation: conversation(),
                seq,
            });
        }
        match column::<Option<&[u8]>>(row, 8)? {
            Some(bytes) if sha256(bytes) != body_hash => {
                problems.push(Problem::BodyChanged {
                    conversation: conversation(),
                    seq,
                });
            }
            Some(_) => {}
            None if at_ms < self.pruned_before => self.verified.pruned += 1,
            None => problems.push(Problem::BodyMissing {
                conversation: conversation(),
                seq,
            }),
        }
        if nth > 0 {
            let state = walk.calls.entry((call.clone(), nth)).or_default();
            match states::replayed(*state, kind) {
                Some(next) => *state = Some(next),
                None => problems.push(Problem::OutOfOrder {
                    conversation: walk.id.clone(),
                    seq,
                    call,
                    kind: kind.to_owned(),
                }),
            }
        }
        walk.batches.insert(seq);
        (walk.seq, walk.hash) = (seq, is);
        problems
            .into_iter()
            .for_each(|problem| self.verified.found(problem));
        Ok(())
    }

    /// Compares the table of calls with what the entries say.
    async fn calls(&mut self, of: &str, walk: &Walk) -> Result<(), FleetError> {
        let rows = self
            .on
            .query(
                "SELECT call, nth, state, batch FROM toolgate_calls
             WHERE tenant = $1 AND conversation = $2",
                &[(&self.tenant, Type::TEXT), (&of, Type::TEXT)],
            )
            .await?;
        let mut calls = walk.calls.clone();
        let wrong =
            |call: &str, nth: u64, listed: &str, entries: Option<State>| Problem::WrongState {
                conversation: walk.id.clone(),
                call: format!("{call} ({nth})"),
                listed: listed.to_owned(),
                entries: entries.map_or("nothing", State::as_str).to_owned(),
            };
        for row in &rows {
            let (call, nth) = (restored(column(row, 0)?), count(row, 1)?);
            let listed: &str = column(row, 2)?;
            let entries = calls.remove(&(call.clone(), nth)).flatten();
            if entries.map(State::as_str) != Some(listed) {
                self.verified.found(wrong(&call, nth, listed, entries));
            }
            if !walk.batches.contains(&count(row, 3)?) {
                self.verified.found(Problem::WrongCall {
                    conversation: walk.id.clone(),
                    call: format!("{call} ({nth})"),
                    column: "batch",
                    listed: column(row, 3)?,
                    entries: "none of that number".to_owned(),
                });
            }
            if let Some(state) = entries {
                *self.verified.calls.entry(state).or_default() += 1;
            }
        }
        for ((call, nth), state) in calls {
            self.verified.found(wrong(&call, nth, "nothing", state));
        }
        Ok(())
    }

    async fn images(&mut self) -> Result<(), FleetError> {
        let mut after = Vec::new();
        loop {
            let rows = self
                .on
                .query(
                    "SELECT hash, bytes FROM toolgate_images WHERE tenant = $1 AND hash > $2
                 ORDER BY hash LIMIT 16",
                    &[(&self.tenant, Type::TEXT), (&after, Type::BYTEA)],
                )
                .await?;
            for row in &rows {
                after = column(row, 0)?;
                if sha256(column(row, 1)?).as_slice() != after {
                    let hash = hex(&after);
                    self.verified.found(Problem::ImageChanged { hash });
                }
            }
            if rows.is_empty() {
                return Ok(());
            }
        }
    }
}
