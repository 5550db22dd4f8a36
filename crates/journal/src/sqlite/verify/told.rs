//! What the commits say that the tables hold, compared with the tables.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use super::each_row;
use crate::sqlite::note::value_hash;
use toolgate_gate::journal::chain::Hash;
use toolgate_gate::journal::{Coverage, Problem, Verified};

/// What the commits say.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) coverage: Coverage,
    /// What each conversation's commits are.
    pub(super) commits: HashMap<String, Commits>,
    /// Each conversation's workspace and start, and the commit that wrote them.
    pub(super) opened: HashMap<String, (Option<String>, u64, u64)>,
    /// The hash of each stored value, and the commit that wrote it.
    pub(super) stored: HashMap<(String, String, String), (String, u64)>,
    /// Every prune, in order.
    pub(super) prunes: Vec<Pruning>,
}

/// The commits of one conversation.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// The last entry of each commit, and the commit.
    ends: Vec<(u64, u64)>,
    /// The first entry of each request.
    starts: Vec<u64>,
    /// Up to here requests are not told apart within a commit.
    pub(super) requests_unknown_until: u64,
}

/// A prune.
#[derive(Debug)]
pub(super) struct Pruning {
    pub(super) commit: u64,
    pub(super) before_ms: u64,
    /// Older contents that stayed, and their time; unknown for version 1.
    pub(super) spared: Option<HashMap<Hash, u64>>,
    /// The last entries of the same commit that were written before.
    pub(super) after: BTreeMap<String, u64>,
}

impl Told {
    /// How many prunes came before an entry.
    pub(super) fn prunes_before(&self, conversation: &str, seq: u64, commit: u64) -> usize {
        self.prunes.partition_point(|prune| {
            let last_before = prune.after.get(conversation).copied();
            // Version 1 does not say which came first within a commit; then the entry did.
            let earlier = prune.spared.is_some() && seq > last_before.unwrap_or(0);
            prune.commit < commit || (prune.commit == commit && earlier)
        })
    }
}

impl Commits {
    pub(super) fn add(&mut self, commit: u64, last: u64) {
        self.starts.push(self.last() + 1);
        self.ends.push((last, commit));
    }

    /// A further request of the commit that was added last.
    pub(super) fn request(&mut self, first: u64) {
        self.starts.push(first);
    }

    /// The last entry.
    pub(super) fn last(&self) -> u64 {
        self.ends.last().map_or(0, |(last, _)| *last)
    }

    /// The commit that wrote an entry.
    pub(super) fn of(&self, seq: u64) -> Option<u64> {
        let at = self.ends.partition_point(|(last, _)| *last < seq);
        self.ends.get(at).map(|(_, commit)| *commit)
    }

    /// Where the request that wrote an entry can have begun: from, to.
    pub(super) fn batch(&self, seq: u64) -> (u64, u64) {
        let after = self.starts.partition_point(|start| *start <= seq);
        let start = after.checked_sub(1).and_then(|at| self.starts.get(at));
        let start = start.copied().unwrap_or(seq);
        let unknown = seq <= self.requests_unknown_until;
        (start, if unknown { seq } else { start })
    }
}

/// Compares the list of conversations.
pub(super) fn conversations(
    db: &Connection,
    told: &Told,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let mut seen = HashSet::new();
    let query = "SELECT id, workspace, started_ms FROM conversations";
    each_row(db, "conversations", 1, query, verified, |row, verified| {
        let conversation: String = row.get(0)?;
        seen.insert(conversation.clone());
        let (workspace, started_ms): (Option<String>, u64) = (row.get(1)?, row.get(2)?);
        let Some((as_written, started, number)) = told.opened.get(&conversation) else {
            verified.found(Problem::NotOpened { conversation });
            return Ok(());
        };
        let mut changed = |column, listed, written| {
            verified.found(Problem::ConversationChanged {
                conversation: conversation.clone(),
                column,
                listed,
                written,
                number: *number,
            });
        };
        if workspace != *as_written {
            let shown = |path: &Option<String>| match path {
                Some(path) => format!("{path:?}"),
                None => "none".to_owned(),
            };
            changed("workspace", shown(&workspace), shown(as_written));
        }
        if started_ms != *started {
            changed("started_ms", started_ms.to_string(), started.to_string());
        }
        Ok(())
    })?;
    // One with entries was found to be missing already.
    let gone = |id: &&String| !seen.contains(*id) && !told.commits.contains_key(*id);
    for conversation in told.opened.keys().filter(gone) {
        verified.found(Problem::NotListed {
            conversation: conversation.clone(),
        });
    }
    Ok(())
}

/// Compares the stored values.
pub(super) fn stored(
    db: &Connection,
    told: &Told,
    verified: &mut Verified,
) -> rusqlite::Result<()> {
    let mut left: HashMap<_, _> = told.stored.iter().collect();
    let problem = |id: &(String, String, String), what: String| Problem::Stored {
        workspace: id.0.clone(),
        space: id.1.clone(),
        key: id.2.clone(),
        what,
    };
    let query = "SELECT workspace, space, key, value FROM store";
    each_row(db, "store", 3, query, verified, |row, verified| {
        let id = (row.get(0)?, row.get(1)?, row.get(2)?);
        match left.remove(&id) {
            Some((hash, _)) if *hash == value_hash(row.get_ref(3)?.as_str()?.as_bytes()) => {}
            Some((_, number)) => {
                let what = format!("is not what commit {number} wrote");
                verified.found(problem(&id, what));
            }
            None => {
                let what = "was written by no commit".to_owned();
                verified.found(problem(&id, what));
            }
        }
        Ok(())
    })?;
    for (id, (_, number)) in left {
        let what = format!("is missing; commit {number} wrote it");
        verified.found(problem(id, what));
    }
    Ok(())
}

/// Leases are the present and on no record; they are at least of conversations that exist.
pub(super) fn leases(db: &Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let query = "SELECT conversation, token, pid, process, since_ms, beat_ms,
                   EXISTS (SELECT 1 FROM conversations c WHERE c.id = l.conversation)
                 FROM leases l";
    each_row(db, "leases", 1, query, verified, |row, verified| {
        let conversation: String = row.get(0)?;
        let (_, _): (String, String) = (row.get(1)?, row.get(3)?);
        let (_, _, _): (u32, u64, u64) = (row.get(2)?, row.get(4)?, row.get(5)?);
        if !row.get::<_, bool>(6)? {
            verified.found(Problem::StrayLease { conversation });
        }
        Ok(())
    })
}
