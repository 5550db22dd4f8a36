//! Connections, and transactions on them.
//!
//! ```text
//! checkout ──▶ BEGIN, tenant ──▶ statements ──▶ COMMIT ──▶ given back
//!                  └──────── in one round trip where there is one statement ────────┘
//! ```
//!
//! A connection that broke is dropped; the next checkout makes a new one. A transaction whose
//! answer is lost is [`FleetError::Lost`]: nobody knows whether it was committed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};

use crate::error::FleetError;
use crate::schema;

/// A value with the type of its column.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// So often a transaction is tried that another one got in the way of.
const TRIES: usize = 5;

/// The connections of one worker.
pub(crate) struct Database {
    config: Config,
    tenant: String,
    statement_timeout: Duration,
    free: Mutex<Vec<Client>>,
    permits: Semaphore,
}

/// A connection that nobody else uses. It is given back when it is whole.
pub(crate) struct Connection<'a> {
    database: &'a Database,
    client: Option<Client>,
    _permit: SemaphorePermit<'a>,
}

impl Connection<'_> {
    fn client(&self) -> Result<&Client, FleetError> {
        self.client.as_ref().ok_or_else(gone)
    }

    /// Gives the connection back: nothing is open on it.
    fn give_back(mut self) {
        if let Some(client) = self.client.take().filter(|client| !client.is_closed()) {
            self.database.lock().push(client);
        }
    }
}

fn gone() -> FleetError {
    FleetError::Unreachable {
        why: "the connection is gone".to_owned(),
    }
}

impl Database {
    pub(crate) fn new(
        config: Config,
        tenant: String,
        statement_timeout: Duration,
        connections: usize,
    ) -> Self {
        Self {
            config,
            tenant,
            statement_timeout,
            free: Mutex::default(),
            permits: Semaphore::new(connections.max(1)),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Client>> {
        // A list of clients is whole whoever panicked.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the tables, or refuses those of a newer version.
    pub(crate) async fn migrate(&self) -> Result<(), FleetError> {
        let connection = self.checkout().await?;
        schema::migrate(connection.client()?).await?;
        connection.give_back();
        Ok(())
    }

    async fn checkout(&self) -> Result<Connection<'_>, FleetError> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|_| FleetError::Unreachable {
            why: "this worker has ended".to_owned(),
        })?;
        let free = {
            let mut free = self.lock();
            free.retain(|client| !client.is_closed());
            free.pop()
        };
        let client = match free {
            Some(client) => client,
            None => self.connect().await?,
        };
        Ok(Connection {
            database: self,
            client: Some(client),
            _permit: permit,
        })
    }

    async fn connect(&self) -> Result<Client, FleetError> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| FleetError::unreachable(&error))?;
        // Its end is seen by whoever waits for an answer.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    /// What each transaction begins with. Nothing of it outlives the transaction.
    fn begin(&self, mode: &str) -> String {
        // A plain name, see `is_tenant`.
        let tenant = &self.tenant;
        let timeout = self.statement_timeout.as_millis();
        format!(
            "BEGIN {mode}; SELECT set_config('toolgate.tenant', '{tenant}', true),
                                  set_config('statement_timeout', '{timeout}', true)"
        )
    }

    /// Runs one statement in a transaction, in one round trip.
    pub(crate) async fn one(
        &self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, FleetError> {
        let begin = self.begin("");
        for _ in 1..TRIES {
            match self.one_try(&begin, statement, values).await? {
                Ok(rows) => return Ok(rows),
                Err(error) if FleetError::is_conflict(&error) => {}
                Err(error) => return Err(FleetError::of(&error)),
            }
        }
        let last = self.one_try(&begin, statement, values).await?;
        last.map_err(|error| FleetError::of(&error))
    }

    /// The inner error is the statement's own: then nothing was changed.
    async fn one_try(
        &self,
        begin: &str,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Result<Vec<Row>, tokio_postgres::Error>, FleetError> {
        let connection = self.checkout().await?;
        let client = connection.client()?;
        let lost = |error: tokio_postgres::Error| FleetError::of(&error);
        // They are sent in the order in which they are polled first.
        let (began, rows, committed) = futures::join!(
            client.batch_execute(begin),
            client.query_typed(statement, values),
            client.batch_execute("COMMIT"),
        );
        match (began, rows, committed) {
            (Ok(()), Ok(rows), Ok(())) => {
                connection.give_back();
                Ok(Ok(rows))
            }
            // The database refused the statement, so the commit rolled back.
            (Ok(()), Err(error), Ok(())) if error.as_db_error().is_some() => {
                connection.give_back();
                Ok(Err(error))
            }
            (Ok(()), Ok(_), Err(error)) => Err(lost(error)),
            (Ok(()), Err(error), _) => Err(match lost(error) {
                // It may have come to the commit.
                FleetError::Refused { why } => FleetError::Lost { why },
                other => other,
            }),
            (Err(error), ..) => Err(lost(error)),
        }
    }

    /// Begins a transaction of several statements.
    pub(crate) async fn transaction(&self) -> Result<Transaction<'_>, FleetError> {
        self.in_mode("").await
    }

    /// Begins a transaction that only reads, all of it at one moment of the database.
    pub(crate) async fn snapshot(&self) -> Result<Transaction<'_>, FleetError> {
        self.in_mode("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
    }

    async fn in_mode(&self, mode: &str) -> Result<Transaction<'_>, FleetError> {
        let mut connection = self.checkout().await?;
        let client = connection.client.take().ok_or_else(gone)?;
        let began = client.batch_execute(&self.begin(mode)).await;
        began.map_err(|error| match FleetError::of(&error) {
            // Nothing was asked for yet.
            FleetError::Lost { why } => FleetError::Unreachable { why },
            other => other,
        })?;
        Ok(Transaction { connection, client })
    }
}

/// Several statements that are done together or not at all. Where it is dropped, the connection
/// ends, and the database rolls back.
pub(crate) struct Transaction<'a> {
    connection: Connection<'a>,
    client: Client,
}

impl Transaction<'_> {
    /// Runs a statement in it.
    pub(crate) async fn query(
        &self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, FleetError> {
        let rows = self.client.query_typed(statement, values).await;
        rows.map_err(|error| FleetError::of(&error))
    }

    /// Commits if all went well, and rolls back if not.
    pub(crate) async fn end<T>(mut self, done: Result<T, FleetError>) -> Result<T, FleetError> {
        let last = match &done {
            Ok(_) => "COMMIT",
            Err(_) => "ROLLBACK",
        };
        let ended = self.client.batch_execute(last).await;
        match (done, ended) {
            (Ok(done), Ok(())) => {
                self.connection.client = Some(self.client);
                self.connection.give_back();
                Ok(done)
            }
            (Ok(_), Err(error)) => Err(FleetError::of(&error)),
            (Err(error), ended) => {
                if ended.is_ok() {
                    self.connection.client = Some(self.client);
                    self.connection.give_back();
                }
                Err(match error {
                    // Without a commit nothing was changed.
                    FleetError::Lost { why } => FleetError::Refused { why },
                    other => other,
                })
            }
        }
    }
}

/// A column of a row.
pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    at: usize,
) -> Result<T, FleetError> {
    row.try_get(at).map_err(|error| FleetError::Damaged {
        why: error.to_string(),
    })
}

/// A number as the database holds it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A column with a number that is never negative.
pub(crate) fn count(row: &Row, at: usize) -> Result<u64, FleetError> {
    let number: i64 = column(row, at)?;
    u64::try_from(number).map_err(|_| FleetError::Damaged {
        why: format!("{number} where a number is never negative"),
    })
}

/// A column with a hash.
pub(crate) fn hash(
    row: &Row,
    at: usize,
) -> Result<toolgate_gate::journal::chain::Hash, FleetError> {
    let bytes: &[u8] = column(row, at)?;
    bytes.try_into().map_err(|_| FleetError::Damaged {
        why: format!("a hash of {} bytes", bytes.len()),
    })
}
