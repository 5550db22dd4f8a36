//! Letting old things go without breaking the chain.
//!
//! What entries say and what files held goes; that there were entries, in this order and
//! with these hashes, stays. The commit that prunes says so in its anchor, so that a
//! body that merely vanished is still found.

use std::collections::HashSet;

use futures::future::BoxFuture;
use rusqlite::Connection;
use toolgate_gate::journal::{JournalError, Prune, PruneJournal, Pruned, Record};
use toolgate_gate::tool::hex;

use super::SqliteJournal;
use super::lease;
use super::note::PruneNote;
use super::sqlite_error::SqliteError;
use super::work::Work;
use toolgate_gate::journal::chain::Hash;

impl PruneJournal for SqliteJournal {
    fn prune(&self, what: Prune) -> BoxFuture<'_, Result<Pruned, JournalError>> {
        let pruned = self.ask(true, move |work| work.prune(what));
        Box::pin(async move { Ok(pruned.await?) })
    }
}

impl Work<'_> {
    /// Lets old bodies and images go, and makes the file smaller.
    pub(crate) fn prune(&mut self, what: Prune) -> Result<Pruned, SqliteError> {
        self.prune_until(what, u64::MAX)
    }

    /// Prunes a file that has reached its limit to three quarters of it, so that this does not
    /// happen with every commit. Conversations that a process works on stay as they are.
    pub(crate) fn make_room(&mut self, most: u64) -> Result<Pruned, SqliteError> {
        let oldest = lease::oldest_held(self.db, self.now_ms);
        let oldest = oldest.map_err(|error| self.fail(&error))?;
        let what = Prune {
            before_ms: None,
            to_bytes: Some(most / 4 * 3),
        };
        self.prune_until(what, oldest.unwrap_or(u64::MAX))
    }

    /// Prunes nothing that was mentioned at this time or later.
    fn prune_until(&mut self, what: Prune, until_ms: u64) -> Result<Pruned, SqliteError> {
        let pruned = prune(self.db, what, until_ms);
        let (pruned, spared) = pruned.map_err(|error| self.fail(&error))?;
        if pruned.bodies + pruned.images > 0 {
            let heads = self.heads.iter();
            let after = heads.map(|(conversation, (seq, _))| (conversation.clone(), *seq));
            let after = after.collect();
            self.note.pruned.push(PruneNote {
                pruned_before_ms: pruned.before_ms,
                bodies: pruned.bodies,
                images: pruned.images,
                spared: Some(spared),
                after,
            });
            self.shrunk = true;
        }
        Ok(pruned)
    }
}

/// Removes what is to go; returns also what is old enough and stays: hash and last mention.
fn prune(
    db: &Connection,
    what: Prune,
    until_ms: u64,
) -> rusqlite::Result<(Pruned, Vec<(String, u64)>)> {
    let needed = needed(db)?;
    let mut before_ms = what.before_ms.unwrap_or(0);
    if let Some(most) = what.to_bytes {
        before_ms = before_ms.max(cutoff(db, most)?);
    }
    before_ms = before_ms.min(until_ms);
    let mut pruned = Pruned {
        before_ms,
        ..Pruned::default()
    };
    let mut spared = Vec::new();
    for (table, count) in [
        ("bodies", &mut pruned.bodies),
        ("images", &mut pruned.images),
    ] {
        let mut find = db.prepare(&format!(
            "SELECT hash, length(bytes), last_ms FROM {table} WHERE last_ms < ?1"
        ))?;
        let mut remove = db.prepare(&format!("DELETE FROM {table} WHERE hash = ?1"))?;
        let old: Vec<(Hash, u64, u64)> = find
            .query_map([before_ms], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (hash, bytes, last_ms) in old {
            if needed.contains(&hash) {
                spared.push((hex(&hash), last_ms));
            } else {
                remove.execute([hash])?;
                *count += 1;
                pruned.bytes += bytes;
            }
        }
    }
    let mut shrink = db.prepare("PRAGMA incremental_vacuum")?;
    let mut rows = shrink.query([])?;
    while rows.next()?.is_some() {}
    Ok((pruned, spared))
}

/// The hashes of what calls without a result say, and of the images they would go back to.
fn needed(db: &Connection) -> rusqlite::Result<HashSet<Hash>> {
    let mut find = db.prepare(
        "SELECT b.hash, b.bytes, e.kind FROM call_states c
         JOIN entries e ON e.conversation = c.conversation AND e.call = c.call AND e.nth = c.nth
         JOIN bodies b ON b.hash = e.body_hash
         WHERE c.state <> 'finished' OR c.open_intent <> 0",
    )?;
    let mut needed = HashSet::new();
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        needed.insert(row.get(0)?);
        if row.get_ref(2)?.as_str()? != "intended" {
            continue;
        }
        if let Ok(Record::Intended { files }) = serde_json::from_slice(row.get_ref(1)?.as_blob()?) {
            let images = files.into_iter().filter_map(|file| file.before);
            needed.extend(images.filter_map(|image| unhex(&image)));
        }
    }
    Ok(needed)
}

/// The time before which things have to go so that the rest fits.
fn cutoff(db: &Connection, most: u64) -> rusqlite::Result<u64> {
    let pages = "SELECT (SELECT page_count FROM pragma_page_count)
                      - (SELECT freelist_count FROM pragma_freelist_count),
                        (SELECT page_size FROM pragma_page_size)";
    let (pages, page): (u64, u64) =
        db.query_row(pages, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut left = pages.saturating_mul(page);
    let mut before_ms = 0;
    let mut find = db.prepare(
        "SELECT last_ms, sum(bytes) FROM (
           SELECT last_ms, length(bytes) AS bytes FROM bodies UNION ALL
           SELECT last_ms, length(bytes) FROM images)
         GROUP BY last_ms ORDER BY last_ms",
    )?;
    let mut rows = find.query([])?;
    while let (true, Some(row)) = (left > most, rows.next()?) {
        before_ms = row.get::<_, u64>(0)?.saturating_add(1);
        left = left.saturating_sub(row.get(1)?);
    }
    Ok(before_ms)
}

pub(crate) fn unhex(text: &str) -> Option<Hash> {
    toolgate_model::hex::decode(text)?.try_into().ok()
}
