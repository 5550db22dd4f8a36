//! The journal on PostgreSQL, for many processes on many machines.
//!
//! ```text
//! worker A ─┐                          ┌─ conversations (head, epoch, holder)
//! worker B ─┼─▶ one statement a batch ─┼─ entries ── bodies     PostgreSQL is the only authority:
//! worker C ─┘   with the epoch in it   ├─ calls, batches        time, order and leases are its own
//!                                      └─ anchors, images, store
//! ```
//!
//! A [`PostgresJournal`] is one worker. It holds conversations by a lease with a *fencing
//! token*: the epoch in the conversation's row, raised whenever a worker takes it. Every write
//! names the epoch it was given and changes nothing where that is old, so a worker that was
//! frozen and wakes up late can write nothing. A worker is alive as long as its row says so by
//! the clock of the database; one that was silent for longer gets no second life under its name.
//!
//! It keeps the laws of [`toolgate_gate::journal`], which the SQLite journal and the one in memory
//! keep too; one suite tests all three.
//!
//! It needs no session state, so it works behind a pooler in transaction mode: statements are
//! unnamed, the tenant is set for each transaction, leases are rows.
//!
//! ```no_run
//! use toolgate_fleet::{FleetOptions, PostgresJournal};
//!
//! let journal = PostgresJournal::connect("host=/run/postgresql dbname=toolgate", FleetOptions::default());
//! # drop(journal);
//! ```

mod anchors;
mod append;
mod database;
mod error;
mod hand;
mod journal;
mod lease;
mod options;
mod prune;
mod read;
mod recover;
mod schema;
mod store;
mod text;
mod verify;

pub use error::FleetError;
pub use journal::PostgresJournal;
pub use options::FleetOptions;
