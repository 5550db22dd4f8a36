//! Looking at a record, also while another process writes it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row};
use toolgate_gate::journal::{Body, Conversation, ConversationFilter, Filter, Line};
use toolgate_gate::tool::hex;
use toolgate_model::{CallId, ConversationId};

use super::sqlite_error::SqliteError;
use super::{layout, lease, open};
use toolgate_gate::journal::chain::{Anchor, Hash, sha256};
use toolgate_gate::journal::states::State;

/// A record that is only looked at. Contents of files cannot be had from it.
pub struct Reader {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// Why nothing but a check is done with it.
    altered: Option<SqliteError>,
}

/// What a record takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The file.
    pub file: u64,
    /// The log beside it.
    pub log: u64,
    /// What entries say, within the file.
    pub bodies: u64,
    /// Contents of files before changes, within the file.
    pub images: u64,
}

impl Reader {
    /// Opens a record for reading only.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SqliteError> {
        let path = path.into();
        let db = open::readable(&path)?;
        let altered = match layout::check(&db, &path.display().to_string()) {
            Err(trouble @ SqliteError::Altered { .. }) => Some(trouble),
            other => other.map(|_| None)?,
        };
        Ok(Self { db, path, altered })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to read tables that somebody else made. Only a check looks at them.
    fn intact(&self) -> Result<(), SqliteError> {
        self.altered.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn fail(&self, error: &rusqlite::Error) -> SqliteError {
        SqliteError::of(&self.path.display().to_string(), error)
    }

    /// Every conversation, the one that began first first, and who works on it at this
    /// moment, in milliseconds since 1970.
    pub fn conversations(&self, now_ms: u64) -> Result<Vec<Conversation>, SqliteError> {
        self.conversations_of(&ConversationFilter::default(), now_ms)
    }

    /// Those that were asked for.
    pub fn conversations_of(
        &self,
        filter: &ConversationFilter,
        now_ms: u64,
    ) -> Result<Vec<Conversation>, SqliteError> {
        self.intact()?;
        let found = self.find_conversations(filter, now_ms);
        found.map_err(|error| self.fail(&error))
    }

    fn find_conversations(
        &self,
        filter: &ConversationFilter,
        now_ms: u64,
    ) -> rusqlite::Result<Vec<Conversation>> {
        let snapshot = self.db.unchecked_transaction()?;
        let mut find = snapshot.prepare(
            "SELECT c.id, c.workspace, c.started_ms,
                    coalesce(max(e.at_ms), c.started_ms), count(e.seq),
                    coalesce(sum(length(b.bytes)), 0)
             FROM conversations c
             LEFT JOIN entries e ON e.conversation = c.id
             LEFT JOIN bodies b ON b.hash = e.body_hash
             WHERE (?1 IS NULL OR c.id = ?1) AND (?2 IS NULL OR c.workspace = ?2)
               AND (?3 IS NULL OR c.started_ms >= ?3) AND (?4 IS NULL OR c.started_ms < ?4)
             GROUP BY c.id ORDER BY c.started_ms, c.id LIMIT coalesce(?5, -1)",
        )?;
        let mut states = snapshot.prepare(
            "SELECT state, count(*) FROM call_states WHERE conversation = ?1 GROUP BY state",
        )?;
        let mut found = Vec::new();
        let mut rows = find.query((
            filter.id.as_ref().map(ConversationId::as_str),
            filter.workspace.as_deref(),
            filter.from_ms,
            filter.until_ms,
            filter.most,
        ))?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let calls = states
                .query_map([&id], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?
                .filter_map(|row| match row {
                    Ok((name, count)) => State::named(&name).map(|state| Ok((state, count))),
                    Err(error) => Some(Err(error)),
                })
                .collect::<rusqlite::Result<_>>()?;
            found.push(Conversation {
                held_by: lease::holder(&snapshot, &id, now_ms)?,
                id: id.into(),
                workspace: row.get(1)?,
                started_ms: row.get(2)?,
                last_ms: row.get(3)?,
                entries: row.get(4)?,
                calls,
                bytes: row.get(5)?,
            });
        }
        Ok(found)
    }

    /// Hands out entries, by conversation and in order, until `each` has had enough.
    pub fn show(
        &self,
        filter: &Filter,
        mut each: impl FnMut(Line) -> bool,
    ) -> Result<(), SqliteError> {
        let mut walk = || -> rusqlite::Result<()> {
            let mut find = self.db.prepare(
                "SELECT e.conversation, e.seq, e.kind, e.call, e.nth, e.at_ms, e.hash, b.bytes,
                   e.body_hash
                 FROM entries e LEFT JOIN bodies b ON b.hash = e.body_hash
                 WHERE (?1 IS NULL OR e.conversation = ?1) AND (?2 IS NULL OR e.call = ?2)
                   AND (?3 IS NULL OR e.kind = ?3) AND (?4 IS NULL OR e.at_ms >= ?4)
                   AND (?5 IS NULL OR e.at_ms < ?5)
                   AND (?7 IS NULL OR (e.conversation, e.seq) > (?7, ?8))
                 ORDER BY e.conversation, e.seq LIMIT coalesce(?6, -1)",
            )?;
            let mut rows = find.query((
                filter.conversation.as_ref().map(ConversationId::as_str),
                filter.call.as_ref().map(CallId::as_str),
                filter.kind.as_deref(),
                filter.from_ms,
                filter.until_ms,
                filter.most,
                filter.after.as_ref().map(|(of, _)| of.as_str()),
                filter.after.as_ref().map(|(_, seq)| *seq),
            ))?;
            while let Some(row) = rows.next()? {
                if !each(line(row)?) {
                    break;
                }
            }
            Ok(())
        };
        self.intact()?;
        walk().map_err(|error| self.fail(&error))
    }

    /// The last commit: worth keeping elsewhere, for [`Reader::verify`] to compare with.
    pub fn anchor(&self) -> Result<Option<Anchor>, SqliteError> {
        self.intact()?;
        let last = "SELECT number, hash FROM anchors ORDER BY number DESC LIMIT 1";
        self.db
            .query_row(last, [], |row| {
                Ok(Anchor::new(row.get(0)?, &row.get::<_, Hash>(1)?))
            })
            .optional()
            .map_err(|error| self.fail(&error))
    }

    /// What the record takes on disk.
    pub fn size(&self) -> Result<Size, SqliteError> {
        self.intact()?;
        let on_disk = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let inside = "SELECT (SELECT coalesce(sum(length(bytes)), 0) FROM bodies),
                             (SELECT coalesce(sum(length(bytes)), 0) FROM images)";
        let (bodies, images) = self
            .db
            .query_row(inside, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| self.fail(&error))?;
        let log = self
            .path
            .with_file_name(open::with_ending(&self.path, "-wal"));
        Ok(Size {
            file: on_disk(&self.path),
            log: on_disk(&log),
            bodies,
            images,
        })
    }
}

fn line(row: &Row<'_>) -> rusqlite::Result<Line> {
    let body = match row.get_ref(7)?.as_blob_or_null()? {
        None => Body::Pruned,
        Some(bytes) if sha256(bytes) != row.get::<_, Hash>(8)? => {
            Body::Unreadable("it is not what was written".to_owned())
        }
        Some(bytes) => match serde_json::from_slice(bytes) {
            Ok(record) => Body::Kept(record),
            Err(error) => Body::Unreadable(error.to_string()),
        },
    };
    Ok(Line {
        conversation: row.get::<_, String>(0)?.into(),
        seq: row.get(1)?,
        kind: row.get(2)?,
        call: row.get::<_, String>(3)?.into(),
        nth: row.get(4)?,
        at_ms: row.get(5)?,
        hash: hex(&row.get::<_, Hash>(6)?),
        body,
    })
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reader").field(&self.path).finish()
    }
}
