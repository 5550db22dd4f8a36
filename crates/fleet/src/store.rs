//! What tools keep.

use futures::future::BoxFuture;
use tokio_postgres::types::Type;
use toolgate_gate::store::{Change, Edit, Space, Store, StoreError, check_size};

use crate::database::{Transaction, Value, column};
use crate::error::FleetError;
use crate::journal::PostgresJournal;
use crate::text::{restored, stored};

/// A key as it is stored, with its tenant.
struct Place {
    tenant: String,
    workspace: String,
    space: String,
    key: String,
}

impl Place {
    fn of(journal: &PostgresJournal, space: &Space, key: &str) -> Self {
        Self {
            tenant: journal.inner.options.tenant.clone(),
            workspace: stored(&space.workspace).into_owned(),
            space: stored(&space.name).into_owned(),
            key: stored(key).into_owned(),
        }
    }

    fn values(&self) -> [Value<'_>; 4] {
        [
            (&self.tenant, Type::TEXT),
            (&self.workspace, Type::TEXT),
            (&self.space, Type::TEXT),
            (&self.key, Type::TEXT),
        ]
    }
}

const FIND: &str = "SELECT value FROM toolgate_store
    WHERE tenant = $1 AND workspace = $2 AND space = $3 AND key = $4";

/// One worker after the other, also where there is no row yet to wait for.
const ALONE: &str = "SELECT pg_advisory_xact_lock(hashtextextended(
    $1 || chr(31) || $2 || chr(31) || $3 || chr(31) || $4, 0))";

/// Reads, changes and writes in the transaction.
async fn change(
    on: &Transaction<'_>,
    place: &Place,
    key: &str,
    change: &Change,
) -> Result<Option<String>, FleetError> {
    on.query(ALONE, &place.values()).await?;
    let rows = on.query(FIND, &place.values()).await?;
    let before = rows.first().map(|row| column::<&str>(row, 0)).transpose()?;
    let before = before.map(restored);
    let edit = change(before.as_deref())?;
    check_size(key, &edit).map_err(FleetError::NotStored)?;
    match edit {
        Edit::Keep => {}
        Edit::Set(value) => {
            let value = stored(&value).into_owned();
            let [tenant, workspace, space, key] = place.values();
            let put = "INSERT INTO toolgate_store(tenant, workspace, space, key, value)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (tenant, workspace, space, key) DO UPDATE SET value = excluded.value";
            let values = [tenant, workspace, space, key, (&value, Type::TEXT)];
            on.query(put, &values).await?;
        }
        Edit::Delete => {
            let delete = "DELETE FROM toolgate_store
                 WHERE tenant = $1 AND workspace = $2 AND space = $3 AND key = $4";
            on.query(delete, &place.values()).await?;
        }
    }
    Ok(before)
}

impl Store for PostgresJournal {
    fn get(&self, space: &Space, key: &str) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let place = Place::of(self, space, key);
        let found = self.ask(|inner| async move {
            let rows = inner.database.one(FIND, &place.values()).await?;
            let value = rows.first().map(|row| column::<&str>(row, 0)).transpose()?;
            Ok(value.map(restored))
        });
        Box::pin(async move { Ok(found.await?) })
    }

    fn list(&self, space: &Space) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        let place = Place::of(self, space, "");
        let found = self.ask(|inner| async move {
            let [tenant, workspace, space, _] = place.values();
            let list = "SELECT key, value FROM toolgate_store
                        WHERE tenant = $1 AND workspace = $2 AND space = $3";
            let rows = inner
                .database
                .one(list, &[tenant, workspace, space])
                .await?;
            let pair = |row: &tokio_postgres::Row| -> Result<_, FleetError> {
                Ok((restored(column(row, 0)?), restored(column(row, 1)?)))
            };
            let mut pairs = rows.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
            pairs.sort();
            Ok(pairs)
        });
        Box::pin(async move { Ok(found.await?) })
    }

    fn update(
        &self,
        space: &Space,
        key: &str,
        edit: Change,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let (place, key) = (Place::of(self, space, key), key.to_owned());
        let done = self.ask(|inner| async move {
            let transaction = inner.database.transaction().await?;
            let done = change(&transaction, &place, &key, &edit).await;
            transaction.end(done).await
        });
        Box::pin(async move { Ok(done.await?) })
    }
}
