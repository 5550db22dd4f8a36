//! The journal on a real PostgreSQL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod fencing;
mod laws;
mod proxy;
mod server;
mod stored;
mod tampered;
mod tenants;

use std::sync::atomic::{AtomicU64, Ordering};

use toolgate_fleet::{FleetOptions, PostgresJournal};

/// A tenant that no other test has.
pub(crate) fn fresh_tenant() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("test-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A worker of a tenant.
pub(crate) fn worker(tenant: &str) -> PostgresJournal {
    let address = server::Server::shared().address();
    PostgresJournal::connect(&address, FleetOptions::of_tenant(tenant)).unwrap()
}
