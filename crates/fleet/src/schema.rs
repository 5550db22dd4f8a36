//! The tables, by version.
//!
//! A migration runs in one transaction under a lock, so that of many workers that start at once
//! one makes the tables and the others find them. A newer version is refused.

use tokio_postgres::Client;

use crate::error::FleetError;

/// The version this program writes: the number of steps.
const STEPS: [&str; 1] = [VERSION_1];

/// Keeps two migrations apart: "toolgate" as a number.
const LOCK: i64 = 0x746f_6f6c_6761_7465;

const VERSION_1: &str = "
-- Who is alive, by the clock of the database.
CREATE TABLE toolgate_workers(
  token text NOT NULL PRIMARY KEY,
  node text NOT NULL,
  pid bigint NOT NULL,
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- One row per conversation: its last entry, and who may write to it.
CREATE TABLE toolgate_conversations(
  tenant text NOT NULL,
  id text NOT NULL,
  workspace text,
  started_ms bigint NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL,
  last_ms bigint NOT NULL,
  anchored_seq bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0,
  holder text,
  PRIMARY KEY(tenant, id)
) WITH (fillfactor = 70);
CREATE INDEX toolgate_conversations_held ON toolgate_conversations(holder)
  WHERE holder IS NOT NULL;

-- What happened, chained: hash covers prev_hash and every other column.
CREATE TABLE toolgate_entries(
  tenant text NOT NULL,
  conversation text NOT NULL,
  seq bigint NOT NULL,
  kind text NOT NULL,
  call text NOT NULL,
  nth bigint NOT NULL,
  at_ms bigint NOT NULL,
  body_hash bytea NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY(tenant, conversation, seq)
);
-- At most one start and one result per call, whatever a worker believes.
CREATE UNIQUE INDEX toolgate_entries_started ON toolgate_entries(tenant, conversation, call, nth)
  WHERE kind = 'started';
CREATE UNIQUE INDEX toolgate_entries_finished ON toolgate_entries(tenant, conversation, call, nth)
  WHERE kind = 'finished';

-- What the entries say, apart, so that it can go without breaking the chain.
CREATE TABLE toolgate_bodies(
  tenant text NOT NULL,
  conversation text NOT NULL,
  seq bigint NOT NULL,
  at_ms bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY(tenant, conversation, seq)
);
CREATE INDEX toolgate_bodies_age ON toolgate_bodies(tenant, at_ms);

-- Files as they were before a change. Never exported.
CREATE TABLE toolgate_images(
  tenant text NOT NULL,
  hash bytea NOT NULL,
  bytes bytea NOT NULL,
  last_ms bigint NOT NULL,
  PRIMARY KEY(tenant, hash)
);

-- How far each call has come. A call is its id and how many times that was received.
CREATE TABLE toolgate_calls(
  tenant text NOT NULL,
  conversation text NOT NULL,
  call text NOT NULL,
  nth bigint NOT NULL,
  state text NOT NULL,
  batch bigint NOT NULL,
  open_intent boolean NOT NULL,
  PRIMARY KEY(tenant, conversation, call, nth)
) WITH (fillfactor = 70);

-- Which batches are on record, by their keys.
CREATE TABLE toolgate_batches(
  tenant text NOT NULL,
  conversation text NOT NULL,
  key text NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY(tenant, conversation, key)
);

-- The last entries of conversations, and what changed besides entries, hashed in a row.
CREATE TABLE toolgate_anchors(
  tenant text NOT NULL,
  number bigint NOT NULL,
  at_ms bigint NOT NULL,
  heads text NOT NULL,
  note text,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY(tenant, number)
);

-- What tools keep: memory, todos.
CREATE TABLE toolgate_store(
  tenant text NOT NULL,
  workspace text NOT NULL,
  space text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY(tenant, workspace, space, key)
);

-- A mistake in a query cannot cross tenants, nor can one that forgets to name them.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['conversations', 'entries', 'bodies', 'images', 'calls', 'batches',
                              'anchors', 'store']
  LOOP
    EXECUTE format('ALTER TABLE toolgate_%s ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE toolgate_%s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY of_the_tenant ON toolgate_%s
                    USING (tenant = current_setting(''toolgate.tenant'', true))', name);
  END LOOP;
END $$;
";

/// Brings the tables to the version of this program, all of it or nothing.
pub(crate) async fn migrate(client: &Client) -> Result<(), FleetError> {
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    if found(client).await? == Some(known) {
        return Ok(());
    }
    let mut steps = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK});");
    let run = |text: String| async move {
        let ran = client.batch_execute(&text).await;
        ran.map_err(|error| FleetError::of(&error))
    };
    run(std::mem::take(&mut steps)).await?;
    // Another worker may have been faster.
    let found = found(client).await?.unwrap_or(0);
    if found > known {
        run("ROLLBACK".to_owned()).await?;
        return Err(FleetError::Newer { found, known });
    }
    let done = usize::try_from(found).unwrap_or(0);
    if done == 0 {
        steps.push_str("CREATE TABLE toolgate_schema(version int NOT NULL);");
        steps.push_str("INSERT INTO toolgate_schema VALUES (0);");
    }
    for step in STEPS.iter().skip(done) {
        steps.push_str(step);
    }
    steps.push_str(&format!(
        "UPDATE toolgate_schema SET version = {known}; COMMIT;"
    ));
    let migrated = run(steps).await;
    if migrated.is_err() {
        // The connection is used again, and the error says what happened.
        let _ = run("ROLLBACK".to_owned()).await;
    }
    migrated
}

/// The version of the tables; nothing where there are none.
async fn found(client: &Client) -> Result<Option<i32>, FleetError> {
    let there = client
        .query_typed(
            // Not by name: the session may remember that there was no such table.
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
                            WHERE relname = 'toolgate_schema' AND pg_table_is_visible(oid))",
            &[],
        )
        .await;
    let there = there.map_err(|error| FleetError::of(&error))?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let version = client
        .query_typed("SELECT version FROM toolgate_schema", &[])
        .await
        .map_err(|error| FleetError::of(&error))?;
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    match version.first().map(|row| row.get(0)) {
        Some(found) if found > known => Err(FleetError::Newer { found, known }),
        found => Ok(found),
    }
}
