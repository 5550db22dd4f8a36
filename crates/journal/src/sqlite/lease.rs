//! Which process works on a conversation.
//!
//! A lease is free when its holder is gone. Where the holder can be seen (same machine
//! start, same process namespace) that is a fact: the process is there, or not. Where it
//! cannot, a holder that has not given a sign for a while counts as gone; should it come
//! back, its next write finds that the lease is no longer its own and fails.

use rusqlite::{Connection, OptionalExtension};

use super::sqlite_error::SqliteError;
use crate::process::{self, Process};

/// How often a holder gives a sign.
pub(crate) const BEAT_MS: u64 = 30_000;
/// A holder that cannot be seen counts as gone after this long without a sign.
const SILENCE_MS: u64 = 4 * BEAT_MS;

/// Who writes.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    /// Different for each opened journal.
    pub(crate) token: String,
    pub(crate) pid: u32,
    /// What tells this process from another with the same number.
    pub(crate) process: String,
}

impl Holder {
    /// This process, with a random number of its own.
    pub(crate) fn this(random: u128) -> Self {
        let pid = std::process::id();
        Self {
            token: format!("{random:032x}"),
            pid,
            process: format!("{} {}", machine(), began(pid).unwrap_or_default()),
        }
    }
}

/// This start of this machine, as seen from this process namespace.
fn machine() -> String {
    let boot = process::boot().unwrap_or_default();
    format!("{boot} {}", process::namespace().unwrap_or_default())
}

/// When a process began; nothing if it is not there.
fn began(pid: u32) -> Option<String> {
    Process::of(pid).map(|process| process.began.to_string())
}

struct Lease {
    token: String,
    pid: u32,
    process: String,
    since_ms: u64,
    beat_ms: u64,
}

impl Lease {
    /// Reads `token, pid, process, since_ms, beat_ms`.
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            token: row.get(0)?,
            pid: row.get(1)?,
            process: row.get(2)?,
            since_ms: row.get(3)?,
            beat_ms: row.get(4)?,
        })
    }

    fn is_held(&self, me: &Holder, now_ms: u64) -> bool {
        let (theirs, their_start) = self.process.rsplit_once(' ').unwrap_or_default();
        let (mine, _) = me.process.rsplit_once(' ').unwrap_or_default();
        let seen = theirs == mine && !their_start.is_empty();
        if seen {
            return began(self.pid).as_deref() == Some(their_start);
        }
        now_ms.saturating_sub(self.beat_ms) < SILENCE_MS
    }
}

/// Makes sure that this process holds the conversation, inside a transaction.
/// `fresh`: whether it may be taken now; else it must have been held all along.
pub(crate) fn hold(
    db: &Connection,
    path: &str,
    me: &Holder,
    conversation: &str,
    now_ms: u64,
    fresh: bool,
) -> Result<(), SqliteError> {
    let fail = |error: rusqlite::Error| SqliteError::of(path, &error);
    match find(db, conversation).map_err(fail)? {
        Some(lease) if lease.token == me.token => return Ok(()),
        other if !fresh => {
            return Err(SqliteError::TakenOver {
                conversation: conversation.to_owned(),
                by: match other {
                    Some(lease) => format!("process {}", lease.pid),
                    None => "a process that has ended since".to_owned(),
                },
            });
        }
        Some(lease) if lease.is_held(me, now_ms) => {
            return Err(SqliteError::InUse {
                conversation: conversation.to_owned(),
                pid: lease.pid,
                since_ms: lease.since_ms,
            });
        }
        Some(_) | None => {}
    }
    db.prepare_cached(
        "INSERT OR REPLACE INTO leases(conversation, token, pid, process, since_ms, beat_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
    )
    .and_then(|mut put| put.execute((conversation, &me.token, me.pid, &me.process, now_ms)))
    .map_err(fail)?;
    Ok(())
}

/// Whether another process, that lives, works on the conversation.
pub(crate) fn held_elsewhere(
    db: &Connection,
    me: &Holder,
    conversation: &str,
    now_ms: u64,
) -> rusqlite::Result<bool> {
    let lease = find(db, conversation)?;
    Ok(lease.is_some_and(|lease| lease.token != me.token && lease.is_held(me, now_ms)))
}

/// The process that works on a conversation: whoever would be refused it now is told the same.
pub(crate) fn holder(
    db: &Connection,
    conversation: &str,
    now_ms: u64,
) -> rusqlite::Result<Option<u32>> {
    let lease = find(db, conversation)?;
    let held = lease.filter(|lease| lease.is_held(&Holder::this(0), now_ms));
    Ok(held.map(|lease| lease.pid))
}

/// A process that works on any conversation.
pub(crate) fn any_holder(db: &Connection, now_ms: u64) -> rusqlite::Result<Option<u32>> {
    let mut find = db.prepare("SELECT token, pid, process, since_ms, beat_ms FROM leases")?;
    let mut rows = find.query([])?;
    let me = Holder::this(0);
    while let Some(row) = rows.next()? {
        let lease = Lease::read(row)?;
        if lease.is_held(&me, now_ms) {
            return Ok(Some(lease.pid));
        }
    }
    Ok(None)
}

/// When the oldest conversation began that a process works on.
pub(crate) fn oldest_held(db: &Connection, now_ms: u64) -> rusqlite::Result<Option<u64>> {
    let mut find = db.prepare(
        "SELECT l.token, l.pid, l.process, l.since_ms, l.beat_ms,
           min(c.started_ms, coalesce((SELECT min(at_ms) FROM entries e
             WHERE e.conversation = c.id), c.started_ms))
         FROM leases l JOIN conversations c ON c.id = l.conversation",
    )?;
    let mut rows = find.query([])?;
    let me = Holder::this(0);
    let mut oldest: Option<u64> = None;
    while let Some(row) = rows.next()? {
        if Lease::read(row)?.is_held(&me, now_ms) {
            let began = row.get(5)?;
            oldest = Some(oldest.map_or(began, |oldest| oldest.min(began)));
        }
    }
    Ok(oldest)
}

fn find(db: &Connection, conversation: &str) -> rusqlite::Result<Option<Lease>> {
    let mut find = db.prepare_cached(
        "SELECT token, pid, process, since_ms, beat_ms FROM leases WHERE conversation = ?1",
    )?;
    find.query_row([conversation], Lease::read).optional()
}

/// Gives a sign for everything this process holds.
pub(crate) fn beat(db: &Connection, me: &Holder, now_ms: u64) -> rusqlite::Result<usize> {
    db.execute(
        "UPDATE leases SET beat_ms = ?2 WHERE token = ?1",
        (&me.token, now_ms),
    )
}

/// Gives one conversation, or everything, back.
pub(crate) fn release(
    db: &Connection,
    me: &Holder,
    conversation: Option<&str>,
) -> rusqlite::Result<usize> {
    db.execute(
        "DELETE FROM leases WHERE token = ?1 AND conversation = coalesce(?2, conversation)",
        (&me.token, conversation),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(me: &Holder, change: impl FnOnce(&mut Lease)) -> Lease {
        let mut lease = Lease {
            token: "t".into(),
            pid: me.pid,
            process: me.process.clone(),
            since_ms: 0,
            beat_ms: 0,
        };
        change(&mut lease);
        lease
    }

    #[test]
    fn a_holder_that_can_be_seen_is_there_or_gone_and_another_is_believed_for_a_while() {
        let me = Holder::this(1);
        let late = SILENCE_MS * 10;
        assert!(lease(&me, |_| {}).is_held(&me, late), "it is this process");
        let other_start = |lease: &mut Lease| lease.process.push('1');
        assert!(
            !lease(&me, other_start).is_held(&me, 0),
            "the number was given anew"
        );
        let gone = |lease: &mut Lease| lease.pid = u32::MAX;
        assert!(!lease(&me, gone).is_held(&me, 0));
        let elsewhere = |lease: &mut Lease| lease.process = "other boot 77".into();
        assert!(lease(&me, elsewhere).is_held(&me, SILENCE_MS - 1));
        assert!(!lease(&me, elsewhere).is_held(&me, SILENCE_MS));
    }
}
