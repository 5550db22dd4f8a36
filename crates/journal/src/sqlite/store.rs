//! What tools keep, in the same file.

use futures::future::BoxFuture;
use rusqlite::OptionalExtension;
use toolgate_gate::store::{Change, Edit, Space, Store, StoreError, check_size};

use super::SqliteJournal;
use super::note::{Stored, value_hash};
use super::sqlite_error::SqliteError;
use super::work::Work;

impl Work<'_> {
    fn value(&self, space: &Space, key: &str) -> Result<Option<String>, SqliteError> {
        self.db
            .prepare_cached(
                "SELECT value FROM store WHERE workspace = ?1 AND space = ?2 AND key = ?3",
            )
            .and_then(|mut find| {
                find.query_row((&space.workspace, &space.name, key), |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.fail(&error))
    }

    fn values(&self, space: &Space) -> Result<Vec<(String, String)>, SqliteError> {
        self.db
            .prepare_cached(
                "SELECT key, value FROM store WHERE workspace = ?1 AND space = ?2 ORDER BY key",
            )
            .and_then(|mut find| {
                find.query_map((&space.workspace, &space.name), |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?
                .collect()
            })
            .map_err(|error| self.fail(&error))
    }

    fn edit(&mut self, space: &Space, key: &str, edit: &Edit) -> Result<(), SqliteError> {
        let (workspace, name) = (&space.workspace, &space.name);
        let done = match edit {
            Edit::Keep => Ok(0),
            Edit::Set(value) => self
                .db
                .prepare_cached("INSERT OR REPLACE INTO store VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut put| put.execute((workspace, name, key, value))),
            Edit::Delete => self
                .db
                .prepare_cached(
                    "DELETE FROM store WHERE workspace = ?1 AND space = ?2 AND key = ?3",
                )
                .and_then(|mut put| put.execute((workspace, name, key))),
        };
        if done.map_err(|error| self.fail(&error))? > 0 {
            let hash = match edit {
                Edit::Set(value) => Some(value_hash(value.as_bytes())),
                Edit::Keep | Edit::Delete => None,
            };
            let stored = Stored(workspace.clone(), name.clone(), key.to_owned(), hash);
            self.note.stored.push(stored);
        }
        Ok(())
    }
}

impl Store for SqliteJournal {
    fn get(&self, space: &Space, key: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let (space, key) = (space.clone(), key.to_owned());
        Box::pin(async move { Ok(self.ask(true, move |work| work.value(&space, &key)).await?) })
    }

    fn list(&self, space: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        let space = space.clone();
        Box::pin(async move { Ok(self.ask(true, move |work| work.values(&space)).await?) })
    }

    fn update(
        &self,
        space: &Space,
        key: &str,
        change: Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let (space, key) = (space.clone(), key.to_owned());
        Box::pin(async move {
            let task = move |work: &mut Work<'_>| {
                let before = work.value(&space, &key)?;
                let edit = change(before.as_deref())?;
                check_size(&key, &edit).map_err(SqliteError::Refused)?;
                work.edit(&space, &key, &edit)?;
                Ok(before)
            };
            Ok(self.ask(false, task).await?)
        })
    }
}
